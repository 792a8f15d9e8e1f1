//go:build cgo

#define KERNEL ln_run_portable
#include "kernel.h"
