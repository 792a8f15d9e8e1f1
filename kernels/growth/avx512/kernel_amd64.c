//go:build cgo && !race && !noavx512

#define TARGET_AVX512
#include "../../isa/target.h"
#define GROWTH clr_growth_avx512
#include "../../growth/growth.h"
#include "../../isa/target.h"
