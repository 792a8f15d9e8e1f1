//go:build cgo && (race || !noportable)

#define TARGET_PORTABLE
#include "../../isa/target.h"
#define GROWTH clr_growth_portable
#include "../../growth/growth.h"
#include "../../isa/target.h"
