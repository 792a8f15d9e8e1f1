//go:build cgo

#define SWEEP contact_sweep_portable
#define SWEEP_SCRATCH contact_sweep_scratch_portable
#include "sweeps.h"
