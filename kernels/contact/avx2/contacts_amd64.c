//go:build cgo

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,popcnt,bmi"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx2,fma,popcnt,bmi")
#endif

#define LANES_AVX2
#define MANIFOLD contact_manifold_avx2
#define ASSEMBLE contact_assemble_avx2
#include "../include/manifold.h"
#include "../include/contacts.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
