// go:build cgo

#include "api.h"
#include "cull_api.h"
#define ISA "isa_vec.h"
#define KERNEL clr_run_portable
#define GROWTH clr_growth_portable
#define CULL clr_cull_portable
#include "kernel.h"
#include "growth.h"
#include "cull.h"
