//go:build cgo

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,popcnt,bmi"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx2,fma,popcnt,bmi")
#endif

#define ISA "isa_avx2.h"
#define FUSED
#define NEWTON contact_newton_avx2
#define NEWTON_SCRATCH contact_newton_scratch_avx2
#define NEWTON_BLOCKS contact_newton_blocks_avx2
#include "newton.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
