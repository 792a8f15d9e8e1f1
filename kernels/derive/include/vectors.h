// What the derivatives need beyond the vectors, tangent planes and rotations of package isa, and exponentials. Float64.
//
// The exponential and the logarithm are not those of isa/elementary.h, which have base 2 and errors of a few units of
// roundoff, in long chains of operations. The polynomials here are as exact as derivatives need, and consist of parts
// that do not depend on one another. With those of isa, derivatives of smooth hulls would have other bits.

#ifndef CLR_DERIVE_VECTORS_H
#define CLR_DERIVE_VECTORS_H

#include "../../isa/tangent.h"

#define APART static __attribute__((noinline))

#define NOT(m) MANDN(MFROM(LANES), m)
#define EQ(a, b) MAND(LE(a, b), LE(b, a))

// LANEWISE is the vector of f(i, …) of the lanes i, f a macro.
#if W == 8
#define LANEWISE(f, ...)                                                                                 \
    ((VF){f(0, __VA_ARGS__), f(1, __VA_ARGS__), f(2, __VA_ARGS__), f(3, __VA_ARGS__), f(4, __VA_ARGS__), \
          f(5, __VA_ARGS__), f(6, __VA_ARGS__), f(7, __VA_ARGS__)})
#elif W == 4
#define LANEWISE(f, ...) ((VF){f(0, __VA_ARGS__), f(1, __VA_ARGS__), f(2, __VA_ARGS__), f(3, __VA_ARGS__)})
#else
#define LANEWISE(f, ...) ((VF){f(0, __VA_ARGS__), f(1, __VA_ARGS__)})
#endif

#define LANE_NUMBER(i, first) (first) + i
#define LISTED_(i, x, k) (x)[(k)[i]]
#define LISTED(x, k) LANEWISE(LISTED_, x, k) // numbers of x, those that k lists

// first_lanes are the first n of the lanes, none or all if n is out of their range.
ALWAYS VM first_lanes(int64_t n) { return MFROM(n >= W ? LANES : n <= 0 ? 0u : (1u << n) - 1); }

// Scalars, without calls of the C library.
#ifdef __SSE2__
ALWAYS double root1(double x) { return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set_sd(x), _mm_set_sd(x))); }
#else
ALWAYS double root1(double x) { return sqrt(x); }
#endif
ALWAYS double least1(double a, double b) { return a < b ? a : b; }
ALWAYS double most1(double a, double b) { return a > b ? a : b; }
ALWAYS double dot1(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

ALWAYS VF where(VM m, VF x) { return SEL(m, x, SET1(0)); }
ALWAYS VM is_finite(VF x) { return LE(magnitude(x), SET1(0x1.fffffffffffffp1023)); }
ALWAYS V3 where3(VM m, V3 a) { return (V3){where(m, a.x), where(m, a.y), where(m, a.z)}; }
ALWAYS VM is_finite3(V3 a) { return MAND(MAND(is_finite(a.x), is_finite(a.y)), is_finite(a.z)); }

// flat_map is any linear map of a tangent plane: it takes its y to x by xy.
typedef struct {
    VF xx, xy, yx, yy;
} flat_map;

ALWAYS VF length2(flat a) { return SQRT(flat_dot(a, a)); }
ALWAYS flat where2(VM m, flat a) { return (flat){where(m, a.x), where(m, a.y)}; }
ALWAYS flat add2(flat a, flat b) { return (flat){a.x + b.x, a.y + b.y}; }
ALWAYS flat form2(flat_matrix h, flat v) { return (flat){FMA(h.xy, v.y, h.xx * v.x), FMA(h.yy, v.y, h.xy * v.x)}; }
ALWAYS flat times2(flat_map m, flat v) { return (flat){FMA(m.xy, v.y, m.xx * v.x), FMA(m.yy, v.y, m.yx * v.x)}; }
ALWAYS flat transposed2(flat_map m, flat v) { return (flat){FMA(m.yx, v.y, m.xx * v.x), FMA(m.yy, v.y, m.xy * v.x)}; }

#define FLIPPED_BELOW -0.4 // the constant of package derive of this name

// tangent_basis makes e0 × e1 = n of a unit vector, by [Duff2017, listing 3]. It jumps elsewhere than across of
// isa/vec3.h, as package derive says.
ALWAYS void tangent_basis(V3 n, V3 *e0, V3 *e1) {
    VF s = SEL(LT(n.z, SET1(FLIPPED_BELOW)), SET1(-1), SET1(1)), a = -1 / (s + n.z), b = n.x * n.y * a;
    *e0 = (V3){FMA(s * n.x * n.x, a, SET1(1)), s * b, -s * n.x};
    *e1 = (V3){b, FMA(n.y * n.y, a, s), -n.y};
}
ALWAYS flat within(V3 e0, V3 e1, V3 v) { return (flat){dot64(e0, v), dot64(e1, v)}; }

#ifndef EXPONENT // of a normal x > 0; see isa/elementary.h
#define EXPONENT(x) (BITS_OR(BITS_DOWN(x), SET1(0x1p52)) - SET1(0x1p52 + 1023))
#define TIMES_POWER(x, k) ((x) * BITS_UP((k) + SET1(0x1.8p52 + 1023))) // an integer k
#define MANTISSA(x) TIMES_POWER(x, -EXPONENT(x))                       // in [1, 2)
#endif

// exponential is exp(x) for x in [-700, 700], to a relative error of 1e-14: with x = k·log 2 + r, |r| ≤ 0.35, it is 2ᵏ
// times the Taylor polynomial of degree 11 of r, which errs by r¹²/12!.
ALWAYS VF exponential(VF x) {
    const VF magic = SET1(0x1.8p52); // adding it rounds to an integer
    VF k = FMA(x, SET1(0x1.71547652b82fep0), magic) - magic;
    VF r = FNMA(k, SET1(0x1.abc9e3b39803fp-56), FNMA(k, SET1(0x1.62e42fefa39efp-1), x));
    VF r2 = r * r, r4 = r2 * r2, r8 = r4 * r4; // no term depends on the one before
    VF low = FMA(FMA(r, SET1(1.0 / 6), SET1(0.5)), r2, 1 + r);
    VF middle = FMA(FMA(r, SET1(1.0 / 5040), SET1(1.0 / 720)), r2, FMA(r, SET1(1.0 / 120), SET1(1.0 / 24)));
    VF high = FMA(FMA(r, SET1(1.0 / 39916800), SET1(1.0 / 3628800)), r2, FMA(r, SET1(1.0 / 362880), SET1(1.0 / 40320)));
    VF p = FMA(high, r8, FMA(middle, r4, low));
    return TIMES_POWER(p, k);
}

// power_of_e is exp(x), of any x up to 700, and below -700 what is negligible beside 1.
ALWAYS VF power_of_e(VF x) { return exponential(MAX(x, SET1(-700))); }

// logarithm is log(x) of a normal x > 0. With x = 2ᵏ·m, m from √½ to √2, and s = (m - 1)/(m + 1), log m is
// 2·(s + s³/3 + s⁵/5 + …), where s² ≤ 0.0295: the terms from s²³ on are below 1e-18 of it.
ALWAYS VF logarithm(VF x) {
    VF k = EXPONENT(x), m = MANTISSA(x);
    VM big = LT(SET1(0x1.6a09e667f3bcdp0), m);
    m = SEL(big, 0.5 * m, m);
    k = SEL(big, k + 1, k);
    VF s = (m - 1) / (m + 1), z = s * s, z2 = z * z, z4 = z2 * z2;
    VF low = FMA(FMA(z, SET1(1.0 / 9), SET1(1.0 / 7)), z2, FMA(z, SET1(1.0 / 5), SET1(1.0 / 3)));
    VF high = FMA(FMA(z, SET1(1.0 / 21), SET1(1.0 / 19)), z4,
                  FMA(FMA(z, SET1(1.0 / 17), SET1(1.0 / 15)), z2, FMA(z, SET1(1.0 / 13), SET1(1.0 / 11))));
    VF tail = 2 * s * z * (FMA(high, z4, low));
    return FMA(k, SET1(0x1.62e42fefa39efp-1), FMA(SET1(2), s, FMA(k, SET1(0x1.abc9e3b39803fp-56), tail)));
}

#endif
