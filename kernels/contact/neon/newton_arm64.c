//go:build cgo

#define ISA "isa_neon.h"
#define FUSED
#define NEWTON contact_newton_neon
#define NEWTON_SCRATCH contact_newton_scratch_neon
#define NEWTON_BLOCKS contact_newton_blocks_neon
#include "newton.h"
