//go:build cgo && !race && !noavx2

#define TARGET_AVX2
#include "../../isa/target.h"
#define UNIT clr_derive_avx2
#include "../include/kernel.h"
#include "../../isa/target.h"
