//go:build cgo && !race && !noneon

#define TARGET_NEON
#include "../isa/target.h"
#define CULL clr_cull_neon
#include "cull.h"
#define FIND_ROWS clr_rows_neon
#include "rows.h"
#include "../isa/target.h"
