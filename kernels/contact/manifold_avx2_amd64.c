//go:build cgo

// Without FMA, so that no product and sum are contracted.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx2")
#endif

#define LANES_AVX2
#define MANIFOLD lanes_manifold_avx2
#include "manifold.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
