// Feet of points on cylinders, cones, frustums, segments and points. A template, see vec3.h.

#if (REAL_BITS == 32 && !defined(CLR_PROJECTION_32)) || (REAL_BITS == 64 && !defined(CLR_PROJECTION_64))
#if REAL_BITS == 32
#define CLR_PROJECTION_32
#else
#define CLR_PROJECTION_64
#endif

#include "cores.h"

#ifndef CLR_HAS_PROJECTION
#define CLR_HAS_PROJECTION
// has_projection reports whether a core of class k may have feet.
ALWAYS int has_projection(int k) { return k == CLR_BOX || k == CLR_ROUND; }
#endif

// profile is a core cut along its axis, in the half plane of z and the distance from the axis:
// below, above: the radii; half: half its length; and the side: its direction and length.
typedef struct {
    VF below, above, half, out, up, length;
} T(profile);

ALWAYS T(profile) T(profile_of)(V3 e) {
    T(profile) f = {.below = e.x, .above = e.y, .half = e.z}; // those of a segment are 0, 0, half
    VF out = e.y - e.x, up = e.z + e.z, square = FMA(out, out, up * up), inv = RSQRT(MAX(square, SET1(TINY)));
    f.out = out * inv, f.up = up * inv, f.length = square * inv;
    return f;
}

// is_segment tells segments from the other cores of class CLR_BOX, which have no profile.
ALWAYS VM T(is_segment)(const T(profile) *f) { return LE(MAX(f->below, f->above), SET1(0)); }

// foot is P(p), the tangents around the axis and along the profile, and their gains.
// A point inside is its own foot, and `deep` below the surface; outside that is negative or 0.
typedef struct {
    V3 at, around, along;
    VF gain_around, gain_along, deep;
} T(projection);

ALWAYS T(projection) T(closest_point)(const T(profile) *f, V3 p) {
    const VF zero = SET1(0), one = SET1(1);
    T(projection) o;
    VF square = FMA(p.y, p.y, p.x * p.x), inv = RSQRT(MAX(square, SET1(TINY))), far = square * inv;
    VM axial = LE(square, SET1(TINY)); // any direction is out
    VF ux = SEL(axial, one, p.x * inv), uy = SEL(axial, zero, p.y * inv);
    VF dr = far - f->below, dz = p.z + f->half, t = FMA(dr, f->out, dz * f->up), on = MIN(MAX(t, zero), f->length);
    VM cap = MOR(MAND(LE(f->half, p.z), LT(far, f->above)), MAND(LE(p.z, -f->half), LT(far, f->below)));
    o.deep = MIN(f->half - MAX(p.z, -p.z), FNMA(dr, f->up, dz * f->out));
    VM inside = LT(zero, o.deep), side = MAND(LT(zero, t), LT(t, f->length));
    VF r = SEL(MOR(cap, inside), far, FMA(on, f->out, f->below));
    VF z = SEL(cap, COPYSIGN(f->half, p.z), SEL(inside, p.z, FMA(on, f->up, -f->half)));
    o.at = (V3){r * ux, r * uy, z};
    o.around = (V3){-uy, ux, zero};
    o.gain_around = SEL(cap, one, MIN(r * inv, one));
    VF out = SEL(cap, one, f->out);
    o.along = (V3){out * ux, out * uy, SEL(cap, zero, f->up)};
    o.gain_along = SEL(MOR(cap, side), one, zero);
    return o;
}

// axis_point is the point of the axis of B nearest to that of A, as in [segments]: u is B's axis.
ALWAYS V3 T(axis_point)(VF half_a, VF half_b, V3 u, V3 t) {
    VF across = FMA(u.x, u.x, u.y * u.y), along = T(dot)(t, u);
    VF s = FNMA(u.z, along, t.z) * RCP(MAX(across, SET1(1e-6)));
    s = MAX(MIN(s, half_a), -half_a);
    return T(axpy)(MAX(MIN(FMA(s, u.z, -along), half_b), -half_b), u, t);
}

#endif
