//go:build cgo && !race && !noavx512

#define TARGET_AVX512
#include "../isa/target.h"
#define CULL clr_cull_avx512
#include "cull.h"
#define FIND_ROWS clr_rows_avx512
#include "rows.h"
#include "../isa/target.h"
