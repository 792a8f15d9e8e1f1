//go:build cgo && (race || !noportable)

#define TARGET_PORTABLE
#include "../isa/target.h"
#define CULL clr_cull_portable
#include "cull.h"
#define FIND_ROWS clr_rows_portable
#include "rows.h"
#include "../isa/target.h"
