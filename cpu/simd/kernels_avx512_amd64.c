//go:build !race

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt,bmi"))), \
                             apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt,bmi")
#endif

#include "passes.h"
#include "api.h"
#include "cull_api.h"
#define ISA "isa_avx512.h"
#define KERNEL clr_run_avx512
#define GROWTH clr_growth_avx512
#define CULL clr_cull_avx512
#include "kernel.h"
#include "growth.h"
#include "cull.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
