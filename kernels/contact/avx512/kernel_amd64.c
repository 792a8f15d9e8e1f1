//go:build cgo && !race && !noavx512

#include "../../isa/target_avx512.h"
#define FUSED
#define UNIT contact_kernels_avx512
#include "../include/kernel.h"
#include "../../isa/target_end.h"
