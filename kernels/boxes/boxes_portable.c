//go:build cgo && (race || !noportable)

#include "../isa/target_portable.h"
#define CULL clr_cull_portable
#include "cull.h"
#define FIND_ROWS clr_rows_portable
#include "rows.h"
