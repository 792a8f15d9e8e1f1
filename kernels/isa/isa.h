// The vectors of the instruction set ISA in the precision REAL_BITS: types, macros, and plain code for the
// macros that an instruction set does not define. real32.h and real64.h include it whenever the precision
// changes, so it has no guard.

#include <math.h>
#include <stdint.h>

// The compiler must not contract a·b + c: only FMA and FNMA fuse. GCC contracts nothing with -std=c11;
// Clang has to be told.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#undef CLR_SCALAR
#undef REAL
#undef W
#undef VF
#undef VM
#undef SET1
#undef FMA
#undef FNMA
#undef LT
#undef LE
#undef SEL
#undef MIN
#undef MAX
#undef SQRT
#undef COPYSIGN
#undef LOADU
#undef STOREU
#undef MSTORE
#undef RCP
#undef EXPAND
#undef SPREAD_INDEX
#undef SPREAD
#undef HMAX
#undef EACH_MAX
#undef HALF
#undef HALF_SUPPORT_VALUES
#undef HALF_MAX
#undef HSUM
#undef RSQRT
#undef MAND
#undef MOR
#undef MANDN
#undef MBITS
#undef MFROM
#undef NARROW
#undef WIDEN
#undef PACK
#undef STORE_TRIPLES32
#undef STORE_TRIPLES64
#undef STORE_SOME64
#undef STORE_SOME32
#undef STORE_SOME16
#undef STORE_SOME8
#undef ROWS
#undef BITS_OR
#undef BITS_UP
#undef BITS_DOWN
#undef EXPONENT
#undef MANTISSA
#undef TIMES_POWER
#undef NARROWED
#undef DIFFERENCES
#undef RUN_NARROWED
#undef RUN_OF_THREE
#undef RUN_OF_FOUR
#undef RUN_DIFFERENCES
#undef IS_RUN
#undef PUT_BYTES
#undef PACK_INTS
#undef HALVES
#undef QUARTERS
#undef SIGN_BIT
#undef MANTISSA_BITS
#undef SET1M
#undef TINY
#undef FLUSH_BEGIN
#undef FLUSH_END

#ifndef ISA
#define ISA "isa_vec.h"
#endif
#include ISA

#define LANES ((1u << W) - 1)

// TINY is a lower bound of squared lengths before a division, which keeps quotients finite. Where it
// applies, the vector is shorter than its root, and the quotient stays inside the core.
#if REAL_BITS == 32
#define TINY 1e-30f
#else
#define TINY 1e-200
#endif

#if REAL_BITS == 32
#ifndef NARROWED // NARROWED and DIFFERENCES: see isa_avx2.h
#ifndef CLR_ISA_NARROWED
#define CLR_ISA_NARROWED
static inline __attribute__((always_inline)) void narrowed32(VF out[4], const double *const *rows) {
    for (int j = 0; j < 4; j++) {
        float v[W];
        for (int l = 0; l < W; l++) v[l] = (float)rows[l][j];
        out[j] = LOADU(v);
    }
}
static inline __attribute__((always_inline)) int differences32(VF out[4], const double *const *to,
                                                               const double *const *from, double most) {
    int far = 0;
    for (int j = 0; j < 3; j++) {
        float v[W];
        for (int l = 0; l < W; l++) {
            v[l] = (float)(to[l][j] - from[l][j]);
            far |= !(fabs(to[l][j]) <= most && fabs(from[l][j]) <= most);
        }
        out[j] = LOADU(v);
    }
    return far;
}
#endif
#define NARROWED(out, rows) narrowed32(out, rows)
#define DIFFERENCES(out, to, from, most) differences32(out, to, from, most)
#endif
#ifndef PACK // stores the lanes of `bits` contiguously; values behind them are undefined
#ifndef CLR_ISA_PACK
#define CLR_ISA_PACK
static inline __attribute__((always_inline)) void pack32(float *p, unsigned bits, VF x) {
    float v[W];
    STOREU(v, x);
    for (int l = 0; l < W; l++) {
        *p = v[l];
        p += bits >> l & 1;
    }
}
#endif
#define PACK(p, bits, x) pack32(p, bits, x)
#endif
#ifndef PACK_INTS
#ifndef CLR_ISA_PACK_INTS
#define CLR_ISA_PACK_INTS
static inline __attribute__((always_inline)) void pack_ints32(int32_t *p, unsigned bits, const int32_t *from) {
    for (int l = 0; l < W; l++) {
        *p = from[l];
        p += bits >> l & 1;
    }
}
#endif
#define PACK_INTS(p, bits, from) pack_ints32(p, bits, from)
#endif
#ifndef PUT_BYTES
#define PUT_BYTES(p, lanes, are, yes, no)                    \
    for (unsigned m_ = lanes; m_; m_ &= m_ - 1) {            \
        const int l_ = __builtin_ctz(m_);                    \
        (p)[l_] = (uint8_t)((are) >> l_ & 1 ? (yes) : (no)); \
    }
#endif
#endif

// Sets of lanes of eight int32, in each instruction set and precision:
//
//	eight_above(x, y)            the lanes of eight numbers that are above another
//	eight_below(x, y)            those that are below
//	eight_have(x, bit)           those that have a bit
//	eight_put(to, x, bits)       stores the numbers of these lanes contiguously, and anything in the rest of eight
//	eight_put_from(to, x, bits)  the same of x, x + 1, …
#if !defined(CLR_ISA_EIGHT) && W > 1 // not for scalar64.h
#define CLR_ISA_EIGHT
#ifdef CLR_ISA_X86_H // which has the first three and eight_pack
static inline __attribute__((always_inline)) void eight_put(int32_t *to, const int32_t *x, unsigned bits) {
    eight_pack(to, eight_load(x), bits);
}
static inline __attribute__((always_inline)) void eight_put_from(int32_t *to, int32_t x, unsigned bits) {
    eight_pack(to, _mm256_add_epi32(_mm256_set1_epi32(x), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)), bits);
}
#else
static inline __attribute__((always_inline)) unsigned eight_above(const int32_t *x, int32_t y) {
    unsigned bits = 0;
    for (int l = 0; l < 8; l++) bits |= (unsigned)(x[l] > y) << l;
    return bits;
}
static inline __attribute__((always_inline)) unsigned eight_below(const int32_t *x, int32_t y) {
    unsigned bits = 0;
    for (int l = 0; l < 8; l++) bits |= (unsigned)(x[l] < y) << l;
    return bits;
}
static inline __attribute__((always_inline)) unsigned eight_have(const int32_t *x, int bit) {
    unsigned bits = 0;
    for (int l = 0; l < 8; l++) bits |= (unsigned)(x[l] >> bit & 1) << l;
    return bits;
}
static inline __attribute__((always_inline)) void eight_put(int32_t *to, const int32_t *x, unsigned bits) {
    for (int l = 0; l < 8; l++) {
        *to = x[l];
        to += bits >> l & 1;
    }
}
static inline __attribute__((always_inline)) void eight_put_from(int32_t *to, int32_t x, unsigned bits) {
    for (int l = 0; l < 8; l++) {
        *to = x + l;
        to += bits >> l & 1;
    }
}
#endif
#endif
