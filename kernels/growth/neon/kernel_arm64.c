//go:build cgo && !race && !noneon

#include "../../isa/target_neon.h"
#define GROWTH clr_growth_neon
#include "../../growth/growth.h"
