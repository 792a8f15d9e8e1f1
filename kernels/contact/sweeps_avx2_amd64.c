//go:build cgo

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx2,fma")
#endif

#define LANES_AVX2
#define SWEEP lanes_sweep_avx2
#include "sweeps.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
