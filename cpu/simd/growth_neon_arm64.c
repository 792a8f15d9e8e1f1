// go:build cgo

#include "api.h"
#define ISA "isa_neon.h"
#define GROWTH clr_growth_neon
#include "growth.h"
