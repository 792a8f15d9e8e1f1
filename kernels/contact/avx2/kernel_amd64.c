//go:build cgo && !race && !noavx2

#define TARGET_AVX2
#include "../../isa/target.h"
#define FUSED
#define UNIT contact_kernels_avx2
#include "../include/kernel.h"
#include "../../isa/target.h"
