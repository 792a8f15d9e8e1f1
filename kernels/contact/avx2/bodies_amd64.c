//go:build cgo

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,popcnt,bmi"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx2,fma,popcnt,bmi")
#endif

#define ISA "isa_avx2.h"
#define PREPARE contact_prepare_avx2
#define MOVE contact_move_avx2
#include "bodies.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
