//go:build cgo && !race && !noavx2

#include "../../isa/target_avx2.h"
#define KERNEL clr_run_avx2
#include "../../pairs/kernel.h"
#include "../../isa/target_end.h"
