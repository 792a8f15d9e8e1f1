// Vector extensions of GCC and Clang, 16 bytes: 4 float32 or 2 float64 lanes on any
// processor (NEON, SSE2, or none).

#ifndef CLR_ISA_VEC_H
#define CLR_ISA_VEC_H

#define INLINE static inline __attribute__((always_inline))
#if defined(__SSE2__)
#include <emmintrin.h>
#define VEC_SQRT32(x) _mm_sqrt_ps(x)
#define VEC_SQRT64(x) _mm_sqrt_pd(x)
#elif defined(__aarch64__)
#include <arm_neon.h>
#define VEC_SQRT32(x) vsqrtq_f32(x)
#define VEC_SQRT64(x) vsqrtq_f64(x)
#else
#include <math.h>
#define VEC_SQRT32(x) ((vf32){sqrtf(x[0]), sqrtf(x[1]), sqrtf(x[2]), sqrtf(x[3])})
#define VEC_SQRT64(x) ((vf64){sqrt(x[0]), sqrt(x[1])})
#endif
typedef float vf32 __attribute__((vector_size(16)));
typedef int32_t vm32 __attribute__((vector_size(16)));
typedef double vf64 __attribute__((vector_size(16)));
typedef int64_t vm64 __attribute__((vector_size(16)));
INLINE vf32 set1_32(float x) { return (vf32){x, x, x, x}; }
INLINE vm32 mfrom_32(unsigned b) { return ((vm32){(int)b, (int)b, (int)b, (int)b} & (vm32){1, 2, 4, 8}) != 0; }
INLINE unsigned mbits_32(vm32 m) { return (m[0] & 1u) | (m[1] & 2u) | (m[2] & 4u) | (m[3] & 8u); }
INLINE vf32 sqrt_32(vf32 x) { return (vf32)VEC_SQRT32(x); }
INLINE vf32 loadu_32(const float *p) {
    vf32 x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
INLINE void storeu_32(float *p, vf32 x) { __builtin_memcpy(p, &x, sizeof x); }
INLINE vf64 set1_64(double x) { return (vf64){x, x}; }
INLINE vm64 mfrom_64(unsigned b) { return ((vm64){(int)b, (int)b} & (vm64){1, 2}) != 0; }
INLINE unsigned mbits_64(vm64 m) { return (unsigned)((m[0] & 1) | (m[1] & 2)); }
INLINE vf64 sqrt_64(vf64 x) { return (vf64)VEC_SQRT64(x); }
INLINE vf64 loadu_64(const double *p) {
    vf64 x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
INLINE void storeu_64(double *p, vf64 x) { __builtin_memcpy(p, &x, sizeof x); }
// Volatile, since GCC 12 removes the rounding of a vector to float32 and back.
INLINE vf64 widen_64(const volatile float *p) { return (vf64){p[0], p[1]}; }
INLINE void pack_64(float *p, unsigned bits, vf64 x) {
    p[0] = (float)x[bits == 2];
    p[1] = (float)x[1];
}
#endif

#if REAL_BITS == 32
#define REAL float
#define W 4
#define VF vf32
#define VM vm32
#define SET1(x) set1_32(x)
#define SIGN_BIT INT32_MIN
#define MANTISSA_BITS 23
#define SET1M(x) ((vm32){x, x, x, x})
#define MFROM(b) mfrom_32(b)
#define MBITS(m) mbits_32(m)
#define SQRT(x) sqrt_32(x)
#define HMAX(x) LARGER(LARGER((x)[0], (x)[1]), LARGER((x)[2], (x)[3]))
// EACH_MAX holds in lane i the largest value of the i-th of W vectors.
#define EACH_MAX(v) ((vf32){HMAX((v)[0]), HMAX((v)[1]), HMAX((v)[2]), HMAX((v)[3])})
#define HSUM(x) (((x)[0] + (x)[1]) + ((x)[2] + (x)[3]))
// ROWS loads four values of each of W rows and transposes them into four columns.
#define ROWS(out, rows, mask) \
    for (int j_ = 0; j_ < 4; j_++) (out)[j_] = (vf32){(rows)[0][j_], (rows)[1][j_], (rows)[2][j_], (rows)[3][j_]};
#define LOADU(p) loadu_32(p)
#define STOREU(p, x) storeu_32(p, x)
#else
#define REAL double
#define W 2
#define VF vf64
#define VM vm64
#define SET1(x) set1_64(x)
#define SIGN_BIT INT64_MIN
#define MANTISSA_BITS 52
#define SET1M(x) ((vm64){x, x})
#define MFROM(b) mfrom_64(b)
#define MBITS(m) mbits_64(m)
#define SQRT(x) sqrt_64(x)
#define HMAX(x) LARGER((x)[0], (x)[1])
#define EACH_MAX(v) ((vf64){LARGER((v)[0][0], (v)[0][1]), LARGER((v)[1][0], (v)[1][1])})
#define HSUM(x) ((x)[0] + (x)[1])
#define NARROW(p, x) ((p)[0] = (float)(x)[0], (p)[1] = (float)(x)[1])
#define WIDEN(p) widen_64(p)
// PACK is NARROW of the lanes of `bits`, contiguously; values behind them are undefined.
#define PACK(p, bits, x) pack_64(p, bits, x)
// ROWS loads four (or the first three) values of each of W rows and transposes them into columns.
#define ROWS(out, rows, mask) \
    for (int j_ = 0; j_ < ((mask) > 7 ? 4 : 3); j_++) (out)[j_] = (vf64){(rows)[0][j_], (rows)[1][j_]};
#define LOADU(p) loadu_64(p)
#define STOREU(p, x) storeu_64(p, x)
#endif

#define FMA(a, b, c) ((a) * (b) + (c))
#define FNMA(a, b, c) ((c) - (a) * (b))
#define LT(a, b) ((a) < (b))
#define LE(a, b) ((a) <= (b))
#define MAND(a, b) ((a) & (b))
#define MOR(a, b) ((a) | (b))
#define MANDN(a, b) ((a) & ~(b))
#define SEL(m, a, b) ((VF)(((m) & (VM)(a)) | (~(m) & (VM)(b))))
#define MIN(a, b) SEL(LT(a, b), a, b) // b if either is NaN, as SSE has it
#define MAX(a, b) SEL(LT(b, a), a, b)
#define COPYSIGN(a, s) ((VF)(((VM)(a) & ~SET1M(SIGN_BIT)) | ((VM)(s) & SET1M(SIGN_BIT))))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define MSTORE(p, m, x) STOREU(p, SEL(m, x, LOADU(p)))
#define BITS_OR(a, b) ((VF)((VM)(a) | (VM)(b)))
#define BITS_UP(x) ((VF)((VM)(x) << MANTISSA_BITS))
#define BITS_DOWN(x) ((VF)((VM)(x) >> MANTISSA_BITS))
#define RCP(x) (SET1(1) / (x))
#define RSQRT(x) (SET1(1) / SQRT(x))

#define FLUSH_BEGIN
#define FLUSH_END
