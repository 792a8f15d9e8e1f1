// Logarithm and exponential of base 2, one number per lane. A template, see vec3.h.
//
// Both are power series after an exact reduction of the argument by a power of two. With u = 2⁻⁵³ or 2⁻²⁴,
// relative errors are below these bounds, from which support_smooth.h derives its own (TestElementary
// measures them):
//
//	log2      6 u   of any normal x > 0
//	log2_1p   6 u   log2(1 + q), 0 ≤ q ≤ 1; 1 + q is not formed where it would lose digits of q
//	exp2      3 u   of any x from LEAST_POWER up to 1; below that it is 2^LEAST_POWER
//
// With float32 reciprocals from estimates, the logarithms have two units more.

#if (REAL_BITS == 32 && !defined(CLR_ELEMENTARY_32)) || (REAL_BITS == 64 && !defined(CLR_ELEMENTARY_64))
#if REAL_BITS == 32
#define CLR_ELEMENTARY_32
#else
#define CLR_ELEMENTARY_64
#endif

#include "vec3.h"

#if REAL_BITS == 32
#define LEAST_POWER -125
#define TO_INTEGER 0x1.8p23f // adding it rounds to an integer
#define LOWEST_BITS 0x1p23f  // the mantissa of a number just above it is an integer
#define EXPONENT_BIAS 127
#else
#define LEAST_POWER -1020
#define TO_INTEGER 0x1.8p52
#define LOWEST_BITS 0x1p52
#define EXPONENT_BIAS 1023
#endif
#define LN2 0.693147180559945309417

#ifndef EXPONENT // of a normal x > 0; BITS_UP and BITS_DOWN shift by the length of the mantissa
#define EXPONENT(x) (BITS_OR(BITS_DOWN(x), SET1(LOWEST_BITS)) - SET1(LOWEST_BITS + EXPONENT_BIAS))
#define TIMES_POWER(x, k) ((x) * BITS_UP((k) + SET1(TO_INTEGER + EXPONENT_BIAS))) // an integer k
#define MANTISSA(x) TIMES_POWER(x, -EXPONENT(x))                                  // in [1, 2)
#endif

#if REAL_BITS == 32
#define QUOTIENT(a, b) ((a) * RCP(b))
#else
#define QUOTIENT(a, b) ((a) / (b))
#endif

// log2_ratio is log2((1 + s)/(1 − s)) = 2/ln 2 · (s + s³/3 + s⁵/5 + …) for |s| ≤ (√2 − 1)/(√2 + 1),
// where s² ≤ 0.0295. The truncation error is below 3e-9 or 1e-18 of the result.
ALWAYS VF T(log2_ratio)(VF s) {
    const VF z = s * s;
#if REAL_BITS == 32
    VF p = SET1(1.0f / 9);
#else
    VF p = SET1(1.0 / 21);
    p = FMA(p, z, SET1(1.0 / 19));
    p = FMA(p, z, SET1(1.0 / 17));
    p = FMA(p, z, SET1(1.0 / 15));
    p = FMA(p, z, SET1(1.0 / 13));
    p = FMA(p, z, SET1(1.0 / 11));
    p = FMA(p, z, SET1(1.0 / 9));
#endif
    p = FMA(p, z, SET1((REAL)(1.0 / 7)));
    p = FMA(p, z, SET1((REAL)(1.0 / 5)));
    p = FMA(p, z, SET1((REAL)(1.0 / 3)));
    return FMA(s * z, p, s) * SET1((REAL)(2 / LN2));
}

ALWAYS VF T(log2)(VF x) {
    const VF one = SET1(1);
    VF k = EXPONENT(x), m = MANTISSA(x);
    VM big = LT(SET1((REAL)1.41421356237309505), m);
    m = SEL(big, SET1((REAL)0.5) * m, m);
    k = SEL(big, k + one, k);
    return k + T(log2_ratio)(QUOTIENT(m - one, m + one));
}

ALWAYS VF T(log2_1p)(VF q) {
    const VF one = SET1(1);
    VM big = LT(SET1((REAL)0.41421356237309505), q); // then 1 + q = 2·(1 + (q − 1)/2)
    VF over = SEL(big, q - one, q), under = q + SEL(big, SET1(3), SET1(2));
    return SEL(big, one, SET1(0)) + T(log2_ratio)(QUOTIENT(over, under));
}

// exp2 takes the series of the exponential for the fraction, at most 0.35 in magnitude. The truncation
// error is below 6e-9 or 5e-18.
ALWAYS VF T(exp2)(VF x) {
    x = MAX(x, SET1(LEAST_POWER));
    VF k = (x + SET1(TO_INTEGER)) - SET1(TO_INTEGER), r = (x - k) * SET1((REAL)LN2);
#if REAL_BITS == 32
    VF p = SET1(1.0f / 5040);
#else
    VF p = SET1(1.0 / 6227020800);
    p = FMA(p, r, SET1(1.0 / 479001600));
    p = FMA(p, r, SET1(1.0 / 39916800));
    p = FMA(p, r, SET1(1.0 / 3628800));
    p = FMA(p, r, SET1(1.0 / 362880));
    p = FMA(p, r, SET1(1.0 / 40320));
    p = FMA(p, r, SET1(1.0 / 5040));
#endif
    p = FMA(p, r, SET1((REAL)(1.0 / 720)));
    p = FMA(p, r, SET1((REAL)(1.0 / 120)));
    p = FMA(p, r, SET1((REAL)(1.0 / 24)));
    p = FMA(p, r, SET1((REAL)(1.0 / 6)));
    p = FMA(p, r, SET1((REAL)0.5));
    return TIMES_POWER(FMA(FMA(p, r, SET1(1)), r, SET1(1)), k);
}

#undef LEAST_POWER
#undef TO_INTEGER
#undef LOWEST_BITS
#undef EXPONENT_BIAS
#undef LN2
#undef QUOTIENT

#endif
