//go:build cgo

#define KERNEL ln_run_portable
#define VALUES ln_values_portable
#define DISPLACE ln_displace_portable
#define ADD ln_add_portable
#include "kernel.h"
