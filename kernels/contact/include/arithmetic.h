// Arithmetic that the solvers share: scalars and 3×3 forms of float64, lanes of float64, and the units of a world.
// Products are fused with sums only by fused, where the variant fuses at all: the including file defines FUSED then.

#ifndef CONTACT_ARITHMETIC_H
#define CONTACT_ARITHMETIC_H

#include <limits.h>
#include <math.h>
#include <string.h>

#include "../../isa/real64.h"
#include "constants.h"

#define INLINE static inline __attribute__((always_inline))

// fused is a·b + c, rounded once if the variant fuses, as FMA of isa.h.
INLINE double fused(double a, double b, double c) {
#ifdef FUSED
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

// dot3 is x₀y₀ + x₁y₁ + x₂y₂ of x and y with components i, j and k: the order of the sums of all solvers.
INLINE double dot3(double x0, double y0, double x1, double y1, double x2, double y2) {
    return fused(x2, y2, fused(x0, y0, x1 * y1));
}

// multiply sets out to the product of a symmetric matrix xx, yy, zz, xy, xz, yz and x.
INLINE void multiply(double out[3], const double m[6], const double x[3]) {
    out[0] = dot3(m[0], x[0], m[3], x[1], m[4], x[2]);
    out[1] = dot3(m[3], x[0], m[1], x[1], m[5], x[2]);
    out[2] = dot3(m[4], x[0], m[5], x[1], m[2], x[2]);
}

// invert sets out to the inverse of such a matrix.
INLINE void invert(double out[6], const double s[6]) {
    double xx = fused(s[1], s[2], -(s[5] * s[5])), xy = fused(s[4], s[5], -(s[3] * s[2])),
           xz = fused(s[3], s[5], -(s[1] * s[4]));
    double r = 1 / dot3(s[0], xx, s[3], xy, s[4], xz);
    out[0] = xx * r, out[1] = fused(s[0], s[2], -(s[4] * s[4])) * r, out[2] = fused(s[0], s[1], -(s[3] * s[3])) * r;
    out[3] = xy * r, out[4] = xz * r, out[5] = fused(s[3], s[4], -(s[0] * s[5])) * r;
}

INLINE VF abs_d(VF x) { return COPYSIGN(x, SET1(0)); }
INLINE VM equal(VF x, VF y) { return MAND(LE(x, y), LE(y, x)); }
INLINE VM is_nan(VF x) { return MANDN(MFROM(LANES), LE(x, x)); }

// max_nan is the larger one, and NaN if either is NaN.
INLINE VF max_nan(VF x, VF y) { return SEL(LE(x, x), SEL(LT(y, x), x, y), x); }

// Units in which the kernels solve a world: powers of two near its masses, lengths and speeds, as in package contact
// (units.go). So float32 holds all of its numbers, and scaling masses, lengths or times by powers of two scales the
// answer, bit for bit.
typedef struct {
    double mass, length, speed;
    double impulse, energy, spin, inertia;
} units;

INLINE double power_of_two(int e) {
    if (e > EXPONENT_LIMIT) e = EXPONENT_LIMIT;
    if (e < -EXPONENT_LIMIT) e = -EXPONENT_LIMIT;
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// exponent_of is the exponent e of x = f·2^e, ½ ≤ f < 1, of x > 0.
INLINE int exponent_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int e = (int)(bits >> 52 & 0x7ff);
    if (e != 0) return e - 1022;
    frexp(x, &e);
    return e;
}

// units_of finds the units of a world; target may be NULL.
static units units_of(int bodies, int contacts, const double *mass, const double *inertia, const double *velocity,
                      const double *target) {
    int lightest = INT_MAX, heaviest = INT_MIN, shortest = INT_MAX, longest = INT_MIN;
    double speed = 0, spin = 0;
    for (int b = 0; b < bodies; b++) {
        const double *v = velocity + 6 * (int64_t)b, *i = inertia + 6 * (int64_t)b;
        for (int k = 0; k < 3; k++) {
            double x = fabs(v[k]), y = fabs(v[3 + k]);
            speed = x > speed ? x : speed, spin = y > spin ? y : spin;
        }
        if (mass[b] - mass[b] != 0) continue; // infinite
        int m = exponent_of(mass[b]), l = (exponent_of(i[0] + i[1] + i[2]) - m) >> 1;
        if (m < lightest) lightest = m;
        if (m > heaviest) heaviest = m;
        if (l < shortest) shortest = l;
        if (l > longest) longest = l;
    }
    for (int k = 0; target && k < contacts; k++) {
        double x = fabs(target[k]);
        speed = x > speed ? x : speed;
    }
    units u = {1, 1, 1, 1, 1, 1, 1};
    if (lightest > heaviest) return u;
    int length = (shortest + longest) >> 1;
    u.mass = power_of_two((lightest + heaviest) >> 1), u.length = power_of_two(length);
    if (speed > 0 || spin > 0) {
        int e = speed > 0 ? exponent_of(speed) : INT_MIN, s = spin > 0 ? exponent_of(spin) + length : INT_MIN;
        u.speed = power_of_two(e > s ? e : s);
    }
    u.impulse = u.mass * u.speed, u.energy = u.impulse * u.speed;
    u.spin = u.speed / u.length, u.inertia = u.mass * u.length * u.length;
    return u;
}

// Vectors whose three components are lanes of worlds: cross products, products with symmetric matrices, inner products.

#define FMS(a, b, c) FMA(a, b, -(c))
#define CROSS(out, x, y)                                                                     \
    VF out[3] = {FMS((x)[1], (y)[2], (x)[2] * (y)[1]), FMS((x)[2], (y)[0], (x)[0] * (y)[2]), \
                 FMS((x)[0], (y)[1], (x)[1] * (y)[0])}
#define SYMMETRIC(out, m, x)                                                \
    VF out[3] = {FMA((m)[4], (x)[2], FMA((m)[0], (x)[0], (m)[3] * (x)[1])), \
                 FMA((m)[5], (x)[2], FMA((m)[3], (x)[0], (m)[1] * (x)[1])), \
                 FMA((m)[2], (x)[2], FMA((m)[4], (x)[0], (m)[5] * (x)[1]))}
#define DOT(x, y) FMA((x)[2], (y)[2], FMA((x)[0], (y)[0], (x)[1] * (y)[1]))

#endif
