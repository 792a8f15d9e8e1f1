// go:build cgo

#include "api.h"
#define ISA "isa_vec.h"
#define GROWTH clr_growth_portable
#include "growth.h"
