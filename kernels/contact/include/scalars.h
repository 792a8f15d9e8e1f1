// Scalars and 3×3 forms of float64. Products are fused with sums only by fused, where the variant fuses at all: the
// including file defines FUSED then.

#ifndef CONTACT_SCALARS_H
#define CONTACT_SCALARS_H

#include <stdint.h>
#include <string.h>

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

#endif
