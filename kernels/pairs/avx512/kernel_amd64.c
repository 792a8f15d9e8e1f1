//go:build cgo && !race && !noavx512

#include "../../isa/target_avx512.h"
#define KERNEL clr_run_avx512
#include "../../pairs/kernel.h"
#include "../../isa/target_end.h"
