//go:build cgo && !race && !noavx2

#include "../../isa/target_avx2.h"
#define GROWTH clr_growth_avx2
#include "../../growth/growth.h"
#include "../../isa/target_end.h"
