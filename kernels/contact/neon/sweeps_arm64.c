//go:build cgo

#define ISA "isa_neon.h"
#define FUSED
#define SWEEP contact_sweep_neon
#define SWEEP_SCRATCH contact_sweep_scratch_neon
#include "sweeps.h"
