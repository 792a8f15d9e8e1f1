// Vectors of 8 float32 and 4 float64 lanes by the vector extensions of GCC and Clang. AVX2 is used where the including
// file is compiled for it; elsewhere the compiler splits the vectors.

#ifndef CONTACT_LANES_VECTORS_H
#define CONTACT_LANES_VECTORS_H

#include <stdint.h>
#include <string.h>
#ifdef LANES_AVX2
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

typedef float vf __attribute__((vector_size(32)));
typedef int32_t vfm __attribute__((vector_size(32)));
typedef double vd __attribute__((vector_size(32)));
typedef int64_t vdm __attribute__((vector_size(32)));
typedef float vh __attribute__((vector_size(16)));

INLINE vf set_f(float x) { return (vf){x, x, x, x, x, x, x, x}; }
INLINE vd set_d(double x) { return (vd){x, x, x, x}; }

#ifdef LANES_AVX2
INLINE vf choose_f(vfm m, vf x, vf y) { return (vf)_mm256_blendv_ps((__m256)y, (__m256)x, (__m256)m); }
INLINE vd choose_d(vdm m, vd x, vd y) { return (vd)_mm256_blendv_pd((__m256d)y, (__m256d)x, (__m256d)m); }
INLINE vf sqrt_f(vf x) { return (vf)_mm256_sqrt_ps((__m256)x); }
INLINE vd sqrt_d(vd x) { return (vd)_mm256_sqrt_pd((__m256d)x); }
#else
#include <math.h>
INLINE vf choose_f(vfm m, vf x, vf y) { return (vf)((m & (vfm)x) | (~m & (vfm)y)); }
INLINE vd choose_d(vdm m, vd x, vd y) { return (vd)((m & (vdm)x) | (~m & (vdm)y)); }
INLINE vf sqrt_f(vf x) {
    for (int i = 0; i < 8; i++) x[i] = sqrtf(x[i]);
    return x;
}
INLINE vd sqrt_d(vd x) {
    for (int i = 0; i < 4; i++) x[i] = sqrt(x[i]);
    return x;
}
#endif
INLINE vf max_f(vf x, vf y) { return choose_f(x > y, x, y); }
INLINE vd abs_d(vd x) { return (vd)((vdm)x & INT64_MAX); }

// max_nan is the larger one, and NaN if either is NaN.
INLINE vd max_nan(vd x, vd y) { return choose_d((x > y) | (x != x), x, y); }

// bits has the bit of each lane of a mask.
INLINE unsigned bits(vdm m) {
#ifdef LANES_AVX2
    return (unsigned)_mm256_movemask_pd((__m256d)m);
#else
    return (unsigned)((m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8));
#endif
}

INLINE vd widen(const float *p) {
    vh x;
    memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, vd);
}
INLINE void narrow(float *p, vd x) {
    vh y = __builtin_convertvector(x, vh);
    memcpy(p, &y, sizeof y);
}

#endif
