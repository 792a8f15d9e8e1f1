//go:build cgo

#define NEWTON contact_newton_portable
#define NEWTON_SCRATCH contact_newton_scratch_portable
#define NEWTON_BLOCKS contact_newton_blocks_portable
#include "newton.h"
