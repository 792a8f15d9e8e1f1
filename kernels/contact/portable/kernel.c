//go:build cgo && (race || !noportable)

#define TARGET_PORTABLE
#include "../../isa/target.h"
#define UNIT contact_kernels_portable
#include "../include/kernel.h"
#include "../../isa/target.h"
