// go:build cgo

#include "cull_api.h"
#define ISA "isa_vec.h"
#define CULL clr_cull_portable
#include "cull.h"
