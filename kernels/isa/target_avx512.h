// What a unit of AVX-512 begins with, before all functions. It ends with target_end.h.

#include "passes.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt,bmi"))), \
                             apply_to = function)
#define CLR_TARGET_PUSHED
#elif defined(__GNUC__)
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt,bmi")
#endif
#define ISA "isa_avx512.h"
