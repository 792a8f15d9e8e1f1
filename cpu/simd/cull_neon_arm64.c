// go:build cgo

#include "cull_api.h"
#define ISA "isa_neon.h"
#define CULL clr_cull_neon
#include "cull.h"
