//go:build cgo && !race && !noneon

#define TARGET_NEON
#include "../../isa/target.h"
#define GROWTH clr_growth_neon
#include "../../growth/growth.h"
#include "../../isa/target.h"
