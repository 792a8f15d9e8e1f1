//go:build cgo && !race && !noavx512

#define TARGET_AVX512
#include "../../isa/target.h"
#define FUSED
#define UNIT contact_kernels_avx512
#include "../include/kernel.h"
#include "../../isa/target.h"
