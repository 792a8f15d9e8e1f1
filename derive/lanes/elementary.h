// Elementary functions, one number per lane, without calls of the C library.

#ifndef LN_ELEMENTARY_H
#define LN_ELEMENTARY_H

#include "vec.h"

// exponential is exp(x) for x in [-700, 700], to a relative error of 1e-14: with x = k·log 2 + r, |r| ≤ 0.35, it is 2ᵏ
// times the Taylor polynomial of degree 11 of r, which errs by r¹²/12!.
INLINE vd exponential(vd x) {
    const double magic = 0x1.8p52; // its sum with k has k in the lowest bits
    vd shifted = x * 0x1.71547652b82fep0 + magic, k = shifted - magic;
    vd r = x - k * 0x1.62e42fefa39efp-1 - k * 0x1.abc9e3b39803fp-56;
    vd r2 = r * r, r4 = r2 * r2, r8 = r4 * r4; // no term depends on the one before
    vd low = (1 + r) + (0.5 + r * (1.0 / 6)) * r2;
    vd middle = (1.0 / 24 + r * (1.0 / 120)) + (1.0 / 720 + r * (1.0 / 5040)) * r2;
    vd high = (1.0 / 40320 + r * (1.0 / 362880)) + (1.0 / 3628800 + r * (1.0 / 39916800)) * r2;
    vd p = low + middle * r4 + high * r8;
    return (vd)((vm)p + ((vm)shifted << 52));
}

// power_of_e is exp(x), of any x up to 700, and below -700 what is negligible beside 1.
INLINE vd power_of_e(vd x) { return exponential(greater(x, all(-700))); }

// logarithm is log(x) of a normal x > 0. With x = 2ᵏ·m, m from √½ to √2, and s = (m - 1)/(m + 1), log m is
// 2·(s + s³/3 + s⁵/5 + …), where s² ≤ 0.0295: the terms from s²³ on are below 1e-18 of it.
INLINE vd logarithm(vd x) {
    const double magic = 0x1p52;
    vm exponent = (vm)x >> 52; // 0 to 2046
    vd k = (vd)(exponent | 0x4330000000000000) - magic - 1023, m = (vd)(((vm)x & 0xfffffffffffff) | 0x3ff0000000000000);
    vm big = m > 0x1.6a09e667f3bcdp0;
    m = pick(big, 0.5 * m, m);
    k = pick(big, k + 1, k);
    vd s = (m - 1) / (m + 1), z = s * s, z2 = z * z, z4 = z2 * z2;
    vd low = (1.0 / 3 + z * (1.0 / 5)) + (1.0 / 7 + z * (1.0 / 9)) * z2;
    vd high = (1.0 / 11 + z * (1.0 / 13)) + (1.0 / 15 + z * (1.0 / 17)) * z2 + (1.0 / 19 + z * (1.0 / 21)) * z4;
    vd tail = 2 * s * z * (low + high * z4);
    return k * 0x1.62e42fefa39efp-1 + (2 * s + (tail + k * 0x1.abc9e3b39803fp-56));
}

#endif
