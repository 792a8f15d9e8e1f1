// Projections on cylinders, cones, frustums, segments and points. A template, see vec3.h.
//
// A core of these kinds is the solid of revolution of a profile: a trapezoid in the half-plane of z
// and the distance ρ from the axis. The projection of a point p lies in the half-plane through p, so
// it is the projection on the profile. It is p itself inside the core, else a point of a flat end, of
// the side, or of a rim. closest_point returns it with the derivative that Newton's method needs
// (alternating_projection.h).

#if (REAL_BITS == 32 && !defined(CLR_PROJECTION_32)) || (REAL_BITS == 64 && !defined(CLR_PROJECTION_64))
#if REAL_BITS == 32
#define CLR_PROJECTION_32
#else
#define CLR_PROJECTION_64
#endif

#include "../shape/cores.h"

#ifndef CLR_HAS_PROJECTION
#define CLR_HAS_PROJECTION
// has_projection reports whether class k has cores with a closed form of the projection. Of CLR_BOX
// these are segments and points.
ALWAYS int has_projection(int k) { return k == CLR_BOX || k == CLR_FRUSTUM; }
#endif

// profile is the section of a core by a half-plane through its axis. below and above are the radii of
// the ends, half is half the length; (out, up) is the unit direction of the side from the lower to the
// upper rim, length its length.
typedef struct {
    VF below, above, half, out, up, length;
} T(profile);

ALWAYS T(profile) T(profile_of)(V3 e) {
    T(profile) f = {.below = e.x, .above = e.y, .half = e.z}; // a segment has e = (0, 0, half)
    VF out = e.y - e.x, up = e.z + e.z, square = FMA(out, out, up * up), inv = RSQRT(MAX(square, SET1(TINY)));
    f.out = out * inv, f.up = up * inv, f.length = square * inv;
    return f;
}

// is_segment reports segments and points. The other cores of class CLR_BOX have no profile.
ALWAYS VM T(is_segment)(const T(profile) *f) { return LE(MAX(f->below, f->above), SET1(0)); }

// projection is P(p) (`at`), the unit tangents around the axis and along the profile, and the gains of
// P along them. A point inside is its own projection, at depth `depth` below the surface; outside,
// `depth` is not positive.
typedef struct {
    V3 at, around, along;
    VF gain_around, gain_along, depth;
} T(projection);

ALWAYS T(projection) T(closest_point)(const T(profile) *f, V3 p) {
    const VF zero = SET1(0), one = SET1(1);
    T(projection) o;
    VF square = FMA(p.y, p.y, p.x * p.x), inv = RSQRT(MAX(square, SET1(TINY))), far = square * inv;
    VM axial = LE(square, SET1(TINY)); // on the axis: any lateral direction
    VF ux = SEL(axial, one, p.x * inv), uy = SEL(axial, zero, p.y * inv);
    VF dr = far - f->below, dz = p.z + f->half, t = FMA(dr, f->out, dz * f->up), on = MIN(MAX(t, zero), f->length);
    VM flat_end = MOR(MAND(LE(f->half, p.z), LT(far, f->above)), MAND(LE(p.z, -f->half), LT(far, f->below)));
    o.depth = MIN(f->half - MAX(p.z, -p.z), FNMA(dr, f->up, dz * f->out));
    VM inside = LT(zero, o.depth), side = MAND(LT(zero, t), LT(t, f->length));
    VF r = SEL(MOR(flat_end, inside), far, FMA(on, f->out, f->below));
    VF z = SEL(flat_end, COPYSIGN(f->half, p.z), SEL(inside, p.z, FMA(on, f->up, -f->half)));
    o.at = (V3){r * ux, r * uy, z};
    o.around = (V3){-uy, ux, zero};
    o.gain_around = SEL(flat_end, one, MIN(r * inv, one));
    VF out = SEL(flat_end, one, f->out);
    o.along = (V3){out * ux, out * uy, SEL(flat_end, zero, f->up)};
    o.gain_along = SEL(MOR(flat_end, side), one, zero);
    return o;
}

// axis_point is the point of B's axis that is closest to A's axis, as in segment_distance
// (closed_forms.h). u is the direction of B's axis.
ALWAYS V3 T(axis_point)(VF half_a, VF half_b, V3 u, V3 t) {
    VF across = FMA(u.x, u.x, u.y * u.y), along = T(dot)(t, u);
    VF s = FNMA(u.z, along, t.z) * RCP(MAX(across, SET1(1e-6)));
    s = MAX(MIN(s, half_a), -half_a);
    return T(axpy)(MAX(MIN(FMA(s, u.z, -along), half_b), -half_b), u, t);
}

#endif
