//go:build !race

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,popcnt,bmi"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx2,fma,popcnt,bmi")
#endif

#include "passes.h"
#include "api.h"
#include "cull_api.h"
#define ISA "isa_avx2.h"
#define KERNEL clr_run_avx2
#define GROWTH clr_growth_avx2
#define CULL clr_cull_avx2
#include "kernel.h"
#include "growth.h"
#include "cull.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
