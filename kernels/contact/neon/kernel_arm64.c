//go:build cgo && !race && !noneon

#include "../../isa/target_neon.h"
#define FUSED
#define UNIT contact_kernels_neon
#include "../include/kernel.h"
