//go:build cgo

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt,bmi"))), \
                             apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt,bmi")
#endif

#define ISA "isa_avx512.h"
#define FUSED
#define NEWTON contact_newton_avx512
#define NEWTON_SCRATCH contact_newton_scratch_avx512
#define NEWTON_BLOCKS contact_newton_blocks_avx512
#include "newton.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
