// Units in which the kernels solve a world: powers of two near its masses, lengths and speeds, as in package contact
// (units.go). So float32 holds all of its numbers, and scaling masses, lengths or times by powers of two scales the
// answer, bit for bit.

#ifndef CONTACT_UNITS_H
#define CONTACT_UNITS_H

#include <limits.h>
#include <math.h>

#include "scalars.h"

typedef struct {
    double mass, length, speed;
    double impulse, energy, spin, inertia;
} units;

enum { EXPONENT_LIMIT = 150 };

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

#endif
