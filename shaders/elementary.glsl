// Logarithm and exponential. GLSL has them for floats only. For doubles they are series: powers of two reduce the
// argument to a neighbourhood of 1 (of 0) exactly, and the remainder of the series is below 2^-56 of the result.
//
// Errors for arguments in the stated domains, in units of 2^-53 of the result: logOf and log1pOf 3; expOf 2, and at
// most 2^-1021 where the result is flushed to 0.

#ifndef CLEARANCE_ELEMENTARY_GLSL
#define CLEARANCE_ELEMENTARY_GLSL

#include "real.glsl"

#ifdef DOUBLE

// ln 2 as a sum of two numbers. The first has 33 bits, so that small integer multiples of it are exact.
const double LN2_HIGH = 0.6931471806019545lf;
const double LN2_LOW = -4.2009150726810846e-11lf;

// twiceAtanh returns 2·atanh(s) for |s| ≤ 0.1716 = (√2-1)/(√2+1), by its Taylor series.
double twiceAtanh(double s) {
    double z = s * s;
    precise double p = 1.0lf / 21.0lf;
    p = 1.0lf / 19.0lf + z * p;
    p = 1.0lf / 17.0lf + z * p;
    p = 1.0lf / 15.0lf + z * p;
    p = 1.0lf / 13.0lf + z * p;
    p = 1.0lf / 11.0lf + z * p;
    p = 1.0lf / 9.0lf + z * p;
    p = 1.0lf / 7.0lf + z * p;
    p = 1.0lf / 5.0lf + z * p;
    p = 1.0lf / 3.0lf + z * p;
    precise double t = 2.0lf * s;
    precise double r = t + t * (z * p);
    return r;
}

// logOf returns ln x for normal x > 0.
double logOf(double x) {
    uvec2 bits = unpackDouble2x32(x);
    int k = int(bits.y >> 20) - 1023;
    double m = packDouble2x32(uvec2(bits.x, (bits.y & 0x000fffffu) | 0x3ff00000u)); // [1, 2)
    if (m > 1.4142135623730951lf) {
        m *= 0.5lf;
        k++;
    }
    precise double l = twiceAtanh((m - 1.0lf) / (m + 1.0lf));
    precise double r = double(k) * LN2_HIGH + (double(k) * LN2_LOW + l);
    return r;
}

// log1pOf returns ln(1 + q) for q in [0, 1].
double log1pOf(double q) {
    if (q <= 0.41421356237309503lf) return twiceAtanh(q / (2.0lf + q));
    // 1 + q = 2·(1 + (q-1)/2)
    precise double r = LN2_HIGH + (LN2_LOW + twiceAtanh((q - 1.0lf) / (q + 3.0lf)));
    return r;
}

// expOf returns e^x for x ≤ 0, and 0 below -708.
double expOf(double x) {
    if (!(x >= -708.0lf)) return 0.0lf;
    double k = floor(x * 1.4426950408889634lf + 0.5lf);
    precise double r = (x - k * LN2_HIGH) - k * LN2_LOW; // |r| ≤ 0.35
    precise double p = 1.0lf / 6227020800.0lf;           // 1/13!
    p = 1.0lf / 479001600.0lf + r * p;
    p = 1.0lf / 39916800.0lf + r * p;
    p = 1.0lf / 3628800.0lf + r * p;
    p = 1.0lf / 362880.0lf + r * p;
    p = 1.0lf / 40320.0lf + r * p;
    p = 1.0lf / 5040.0lf + r * p;
    p = 1.0lf / 720.0lf + r * p;
    p = 1.0lf / 120.0lf + r * p;
    p = 1.0lf / 24.0lf + r * p;
    p = 1.0lf / 6.0lf + r * p;
    p = 0.5lf + r * p;
    precise double y = 1.0lf + (r + r * r * p);
    return y * packDouble2x32(uvec2(0u, uint(int(k) + 1023) << 20)); // k ≥ -1021: exact
}

#else

float logOf(float x) { return log(x); }
float log1pOf(float q) { return log(1.0 + q); }
float expOf(float x) { return exp(x); }

#endif
#endif
