//go:build cgo && !race && !noneon

#define TARGET_NEON
#include "../../isa/target.h"
#define FUSED
#define UNIT contact_kernels_neon
#include "../include/kernel.h"
#include "../../isa/target.h"
