//go:build cgo && (race || !noportable)

#include "../../isa/target_portable.h"
#define UNIT clr_derive_portable
#include "../include/kernel.h"
