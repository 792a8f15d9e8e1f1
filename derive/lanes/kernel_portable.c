//go:build cgo

#define KERNEL ln_run_portable
#define VALUES ln_values_portable
#include "kernel.h"
