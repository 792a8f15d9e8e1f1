// go:build cgo

#include "api.h"
#define ISA "isa_neon.h"
#define KERNEL clr_run_neon
#include "kernel.h"
