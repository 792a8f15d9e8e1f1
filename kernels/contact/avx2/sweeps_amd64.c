//go:build cgo

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,popcnt,bmi"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx2,fma,popcnt,bmi")
#endif

#define ISA "isa_avx2.h"
#define FUSED
#define SWEEP contact_sweep_avx2
#define SWEEP_SCRATCH contact_sweep_scratch_avx2
#include "sweeps.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
