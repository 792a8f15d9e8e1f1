// The instruction set of a unit: its first include, before all functions, and its last one. Before the first one it
// defines TARGET_AVX512, TARGET_AVX2, TARGET_NEON or TARGET_PORTABLE. The compiler may then use these instructions,
// and ISA is the header of their vectors (isa.h).

#ifndef CLR_TARGET_H
#define CLR_TARGET_H

// Two passes of GCC took half of the time of a compilation, since they grow faster than the functions, which are long
// here: the elimination of common subexpressions among registers (gcse), and of loads after registers are assigned
// (gcse-after-reload). The passes over trees have found those that matter before. Neither changes arithmetic: the
// answers have the same bits.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-gcse", "no-gcse-after-reload")
#endif

#if defined(TARGET_AVX512)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt,bmi"))), \
                             apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt,bmi")
#endif
#define ISA "isa_avx512.h"

#elif defined(TARGET_AVX2)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,popcnt,bmi"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx2,fma,popcnt,bmi")
#endif
#define ISA "isa_avx2.h"

#elif defined(TARGET_NEON)

#define ISA "isa_neon.h"

#elif defined(TARGET_PORTABLE)

// On these processors the variant is for tests, and for machines of before AVX2.
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(CLR_GENERIC)
#define CLR_GENERIC
#endif
#define ISA "isa_vec.h"

#else
#error "the unit defines no TARGET"
#endif

#elif defined(__clang__) && (defined(TARGET_AVX512) || defined(TARGET_AVX2)) // the end of the unit
#pragma clang attribute pop
#endif
