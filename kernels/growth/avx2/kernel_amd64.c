//go:build cgo && !race && !noavx2

#define TARGET_AVX2
#include "../../isa/target.h"
#define GROWTH clr_growth_avx2
#include "../../growth/growth.h"
#include "../../isa/target.h"
