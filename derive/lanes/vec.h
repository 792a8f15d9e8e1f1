// Vectors of four float64 lanes, by the vector extensions of GCC and Clang. A mask has all bits of a lane set or none.

#ifndef LN_VEC_H
#define LN_VEC_H

#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#else
#include <math.h>
#endif

#define W 4
#define ALL ((1 << W) - 1) // all lanes
#define INLINE static inline __attribute__((always_inline))
#define APART static __attribute__((noinline))

typedef double vd __attribute__((vector_size(8 * W)));
typedef int64_t vm __attribute__((vector_size(8 * W)));
typedef float vf __attribute__((vector_size(4 * W)));

#ifdef __AVX2__
#include <immintrin.h>
INLINE vd pick(vm m, vd a, vd b) { return (vd)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)m); }
INLINE vd root(vd x) { return (vd)_mm256_sqrt_pd((__m256d)x); }
INLINE int bits(vm m) { return _mm256_movemask_pd((__m256d)m); }
INLINE vd lesser(vd a, vd b) { return (vd)_mm256_min_pd((__m256d)a, (__m256d)b); }
INLINE vd greater(vd a, vd b) { return (vd)_mm256_max_pd((__m256d)a, (__m256d)b); }
#else
INLINE vd pick(vm m, vd a, vd b) { return (vd)((m & (vm)a) | (~m & (vm)b)); }
#ifdef __SSE2__
INLINE vd root(vd x) {
    __m128d a = _mm_sqrt_pd((__m128d){x[0], x[1]}), b = _mm_sqrt_pd((__m128d){x[2], x[3]});
    return (vd){a[0], a[1], b[0], b[1]};
}
#else
INLINE vd root(vd x) { return (vd){sqrt(x[0]), sqrt(x[1]), sqrt(x[2]), sqrt(x[3])}; }
#endif
INLINE int bits(vm m) { return (int)((m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8)); }
// As the instructions of x86: b if either is NaN.
INLINE vd lesser(vd a, vd b) { return pick(a < b, a, b); }
INLINE vd greater(vd a, vd b) { return pick(a > b, a, b); }
#endif

// Scalars, without calls of the C library.
#ifdef __SSE2__
INLINE double root1(double x) { return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set_sd(x), _mm_set_sd(x))); }
#else
INLINE double root1(double x) { return sqrt(x); }
#endif
INLINE double least1(double a, double b) { return a < b ? a : b; }
INLINE double most1(double a, double b) { return a > b ? a : b; }

INLINE vd load(const double *from) {
    vd x;
    __builtin_memcpy(&x, from, sizeof x);
    return x;
}
INLINE double dot1(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
INLINE double largest(vd x) {
    double a = x[0] > x[1] ? x[0] : x[1], b = x[2] > x[3] ? x[2] : x[3];
    return a > b ? a : b;
}
INLINE double sum(vd x) { return (x[0] + x[1]) + (x[2] + x[3]); }
INLINE vd all(double x) { return (vd){x, x, x, x}; }
INLINE vm lanes(int b) { return ((vm){b, b, b, b} & (vm){1, 2, 4, 8}) != 0; }
INLINE vm sign_bits(void) { return (vm){INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}; }
INLINE vd magnitude(vd x) { return (vd)((vm)x & ~sign_bits()); }
INLINE vd with_sign(vd x, vd s) { return (vd)(((vm)x & ~sign_bits()) | ((vm)s & sign_bits())); }
INLINE vd where(vm m, vd x) { return (vd)(m & (vm)x); } // 0 in the other lanes
INLINE vm is_finite(vd x) { return magnitude(x) <= 0x1.fffffffffffffp1023; }

typedef struct {
    vd x, y, z;
} v3;

// v2 is a vector of the tangent plane, in the coordinates of a basis.
typedef struct {
    vd x, y;
} v2;

// s2 is a symmetric form on the tangent plane, m2 any: m2 takes its y to x by xy.
typedef struct {
    vd xx, xy, yy;
} s2;
typedef struct {
    vd xx, xy, yx, yy;
} m2;

INLINE v3 add3(v3 a, v3 b) { return (v3){a.x + b.x, a.y + b.y, a.z + b.z}; }
INLINE v3 sub3(v3 a, v3 b) { return (v3){a.x - b.x, a.y - b.y, a.z - b.z}; }
INLINE v3 scale3(vd k, v3 a) { return (v3){k * a.x, k * a.y, k * a.z}; }
INLINE v3 axpy3(vd k, v3 a, v3 b) { return (v3){k * a.x + b.x, k * a.y + b.y, k * a.z + b.z}; }
INLINE v3 neg3(v3 a) { return (v3){-a.x, -a.y, -a.z}; }
INLINE vd dot3(v3 a, v3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
INLINE v3 cross3(v3 a, v3 b) { return (v3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
INLINE v3 pick3(vm m, v3 a, v3 b) { return (v3){pick(m, a.x, b.x), pick(m, a.y, b.y), pick(m, a.z, b.z)}; }
INLINE v3 where3(vm m, v3 a) { return (v3){where(m, a.x), where(m, a.y), where(m, a.z)}; }
INLINE vm is_finite3(v3 a) { return is_finite(a.x) & is_finite(a.y) & is_finite(a.z); }

INLINE vd dot2(v2 a, v2 b) { return a.x * b.x + a.y * b.y; }
INLINE vd length2(v2 a) { return root(a.x * a.x + a.y * a.y); }
INLINE v2 where2(vm m, v2 a) { return (v2){where(m, a.x), where(m, a.y)}; }
INLINE v2 add2(v2 a, v2 b) { return (v2){a.x + b.x, a.y + b.y}; }
INLINE v2 form2(s2 h, v2 v) { return (v2){h.xx * v.x + h.xy * v.y, h.xy * v.x + h.yy * v.y}; }
INLINE v2 times2(m2 m, v2 v) { return (v2){m.xx * v.x + m.xy * v.y, m.yx * v.x + m.yy * v.y}; }
INLINE v2 transposed2(m2 m, v2 v) { return (v2){m.xx * v.x + m.yx * v.y, m.xy * v.x + m.yy * v.y}; }

// Rotations, row by row.
INLINE v3 rotate(const vd *r, v3 v) {
    return (v3){r[0] * v.x + r[1] * v.y + r[2] * v.z, r[3] * v.x + r[4] * v.y + r[5] * v.z,
                r[6] * v.x + r[7] * v.y + r[8] * v.z};
}
INLINE v3 rotate_back(const vd *r, v3 v) {
    return (v3){r[0] * v.x + r[3] * v.y + r[6] * v.z, r[1] * v.x + r[4] * v.y + r[7] * v.z,
                r[2] * v.x + r[5] * v.y + r[8] * v.z};
}

#define FLIPPED_BELOW -0.4 // the constant of package derive of this name

// tangent_basis makes e0 × e1 = n of a unit vector, by [Duff2017, listing 3] with another place of the jump.
INLINE void tangent_basis(v3 n, v3 *e0, v3 *e1) {
    vd s = pick(n.z < FLIPPED_BELOW, all(-1), all(1)), a = -1 / (s + n.z), b = n.x * n.y * a;
    *e0 = (v3){1 + s * n.x * n.x * a, s * b, -s * n.x};
    *e1 = (v3){b, s + n.y * n.y * a, -n.y};
}
INLINE v2 within(v3 e0, v3 e1, v3 v) { return (v2){dot3(e0, v), dot3(e1, v)}; }

#ifdef __clang__
#define shuffle(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define shuffle(a, b, i, j, k, l) __builtin_shuffle(a, b, (vm){i, j, k, l})
#endif

INLINE void transpose(vd r[W]) {
    vd a = shuffle(r[0], r[1], 0, 4, 2, 6), b = shuffle(r[0], r[1], 1, 5, 3, 7);
    vd c = shuffle(r[2], r[3], 0, 4, 2, 6), d = shuffle(r[2], r[3], 1, 5, 3, 7);
    r[0] = shuffle(a, c, 0, 1, 4, 5), r[1] = shuffle(b, d, 0, 1, 4, 5);
    r[2] = shuffle(a, c, 2, 3, 6, 7), r[3] = shuffle(b, d, 2, 3, 6, 7);
}

#endif
