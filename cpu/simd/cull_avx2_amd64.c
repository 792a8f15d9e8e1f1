// go:build cgo

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,popcnt,bmi"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx2,fma,popcnt,bmi")
#endif

#include "cull_api.h"
#define ISA "isa_avx2.h"
#define CULL clr_cull_avx2
#include "cull.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
