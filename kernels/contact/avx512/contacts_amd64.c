//go:build cgo

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt,bmi"))), \
                             apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt,bmi")
#endif

#define LANES_AVX2
#define MANIFOLD contact_manifold_avx512
#define ASSEMBLE contact_assemble_avx512
#include "../include/manifold.h"
#include "../include/contacts.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
