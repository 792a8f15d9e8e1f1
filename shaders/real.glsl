// Numbers. `real` is float, or double where DOUBLE is defined before the include, so that one text of the geometry
// serves both precisions. All sums and products are `precise`: a compiler may not contract or reassociate them, so a
// row has the same bits in every pipeline.

#ifndef CLEARANCE_REAL_GLSL
#define CLEARANCE_REAL_GLSL

#ifdef DOUBLE
#define real double
#define real2 dvec2
#define real3 dvec3
#define real4 dvec4
#define real3x3 dmat3
const double UNIT_ROUNDOFF = 1.1102230246251565e-16lf; // 2^-53
#else
#define real float
#define real2 vec2
#define real3 vec3
#define real4 vec4
#define real3x3 mat3
const float UNIT_ROUNDOFF = 5.9604645e-8; // 2^-24
#endif

// unitScale returns the power of two that scales a length into [1, 2).
float unitScale(float len) {
    uint exponent = floatBitsToUint(len) >> 23;
    return uintBitsToFloat(clamp(254u - exponent, 1u, 254u) << 23);
}

real squaredNorm(real3 v) {
    precise real s = v.x * v.x + v.y * v.y + v.z * v.z;
    return s;
}

real dotProduct(real3 u, real3 v) {
    precise real s = u.x * v.x + u.y * v.y + u.z * v.z;
    return s;
}

// inverseRoot returns 1/√x, of doubles to two units of roundoff, by two Newton steps from what Vulkan promises: the
// first makes it accurate to half of the digits, the residual of the second is off by two units, which count half, and
// its sum by one. GPUs have no quotient of doubles: a compiler makes forty instructions of it.
real inverseRoot(real x) {
    precise real r = inversesqrt(x);
#ifdef DOUBLE
    r *= 1.5lf - 0.5lf * x * r * r;
    r += 0.5lf * r * (1.0lf - x * r * r);
#endif
    return r;
}

// squareRoot returns √x, for doubles to 1.5 units of roundoff: s = x·r of the inverse root r is off by a few, and its
// residual x - s² by one unit of x, since the subtraction is exact.
real squareRoot(real x) {
#ifdef DOUBLE
    precise double r = inverseRoot(x);
    precise double s = x * r;
    s += 0.5lf * r * (x - s * s);
    return x == 0.0lf ? 0.0lf : s; // NaN stays
#else
    return sqrt(x);
#endif
}

real norm(real3 v) { return squareRoot(squaredNorm(v)); }

// inverseNorm returns 1/|v|. Products with it take the place of quotients.
real inverseNorm(real3 v) { return inverseRoot(squaredNorm(v)); }

// sameSign is CompareSigns of [Montanari2017, eq. 22]: false if either is zero.
bool sameSign(real a, real b) { return (a > real(0) && b > real(0)) || (a < real(0) && b < real(0)); }

#endif
