//go:build cgo && !race && !noavx512

#define TARGET_AVX512
#include "../../isa/target.h"
#define KERNEL clr_run_avx512
#include "../../pairs/kernel.h"
#include "../../isa/target.h"
