//go:build cgo && (race || !noportable)

#include "../../isa/target_portable.h"
#define GROWTH clr_growth_portable
#include "../../growth/growth.h"
