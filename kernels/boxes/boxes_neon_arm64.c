//go:build cgo && !race && !noneon

#include "../isa/target_neon.h"
#define CULL clr_cull_neon
#include "cull.h"
#define FIND_ROWS clr_rows_neon
#include "rows.h"
