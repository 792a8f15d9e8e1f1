//go:build cgo && (race || !noportable)

#include "../../isa/target_portable.h"
#define UNIT contact_kernels_portable
#include "../include/kernel.h"
