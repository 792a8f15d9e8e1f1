//go:build cgo && (race || !noportable)

#define TARGET_PORTABLE
#include "../../isa/target.h"
#define UNIT clr_derive_portable
#include "../include/kernel.h"
#include "../../isa/target.h"
