//go:build cgo && !race && !noavx2

#define TARGET_AVX2
#include "../../isa/target.h"
#define KERNEL clr_run_avx2
#include "../../pairs/kernel.h"
#include "../../isa/target.h"
