// go:build cgo

#include "api.h"
#define ISA "isa_vec.h"
#define KERNEL clr_run_portable
#include "kernel.h"
