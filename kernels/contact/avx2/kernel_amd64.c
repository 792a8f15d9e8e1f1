//go:build cgo && !race && !noavx2

#include "../../isa/target_avx2.h"
#define FUSED
#define UNIT contact_kernels_avx2
#include "../include/kernel.h"
#include "../../isa/target_end.h"
