//go:build cgo

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi"))), apply_to = function)
#define __AVX2__ 1
#elif defined(__GNUC__)
#pragma GCC target("avx2,fma,bmi")
#endif

#define KERNEL ln_run_avx2
#define VALUES ln_values_avx2
#define DISPLACE ln_displace_avx2
#define ADD ln_add_avx2
#include "kernel.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
