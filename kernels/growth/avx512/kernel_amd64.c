//go:build cgo && !race && !noavx512

#include "../../isa/target_avx512.h"
#define GROWTH clr_growth_avx512
#include "../../growth/growth.h"
#include "../../isa/target_end.h"
