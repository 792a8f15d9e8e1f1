//go:build cgo && !race && !noavx2

#define TARGET_AVX2
#include "../isa/target.h"
#define CULL clr_cull_avx2
#include "cull.h"
#define FIND_ROWS clr_rows_avx2
#include "rows.h"
#include "../isa/target.h"
