// Bounds of the growth factor α = |p|/t, and when they suffice. A template, float64.
//
// Everything is in the frame of the ray (growth_input.h): t is the distance at which the z axis leaves D, r a proved
// inradius of D about the origin. Let δ bound the rounding error of p, and η the rounding error of points and of
// support values of D.
//
// With a unit vector n, n.z > 0, the support function h of D, a point s of D at the distance |e| from the axis, and
// η' and g as below:
//
//	α ≥ lower = (n.z·|p| − δ)/(h(n) + η)
//	α ≤ upper = (|p| + δ)·(r + |e| + η')/((s.z − η)·r)
//	α ≤ upper = (|p| + δ)/(s.z − 3·(1 + g)·(|e| + η'))     s well inside a triangle of points of D
//	answered iff upper − lower ≤ tolerance·max(1, upper)   (growth_suffices)
//
// Lower bound [Growth, eq. 13]. A unit vector n with n.z > 0 gives t ≤ h(n)/n.z, hence α ≥ (n.z·|p| − δ)/(h(n) + η).
//
// Upper bound. Let s be a convex combination of points of D, e its part orthogonal to the axis. The hull of s and of
// the ball with radius r meets the axis at the distance s.z·r/(r + |e|) or above. So t ≥ (s.z − η)·r/(r + |e| + η'),
// where η' = η + s.z·δ/|p| counts the rounding of s and of the direction of the axis; and |p| is off by δ.
//
// Where s is inside a triangle of points of D, a second bound does not divide by r, which may be small. Suppose that
// the axis keeps a distance of at least m = CLEARANCE·(|e| + η') from each edge, seen from above. Exact vertices are
// within η' of the computed ones, so their triangle meets the axis too. The point of the computed triangle with the
// same weights as the exact one on the axis is at most η' from the axis, and 2·(|e| + η') from s, in the plane of the
// triangle. With the slope g of that plane, t ≥ s.z − 2·(1 + g)·(|e| + η'). The slope is the length of n across the
// axis over n.z for the computed normal n: since the triangle contains a disk of radius m as seen from above, its
// error is at most a few u·L/m < 0.1·(1 + g) for the edges L ≤ η/(24 u); 3 in place of 2 includes it.

#ifndef CLR_GROWTH_BOUNDS_H
#define CLR_GROWTH_BOUNDS_H

#include "../isa/real64.h"
#include "growth_support.h"

#define CLEARANCE 64

// growth_scales are the numbers of a row that its bounds depend on.
typedef struct {
    VF length, rounding_p, rounding_s, inradius; // |p|, δ, η, r
} growth_scales;

ALWAYS growth_scales load_growth_scales(const double *in) {
    return (growth_scales){LOADU(in + CLR_BETWEEN_CENTERS * CLR_STRIDE64), LOADU(in + CLR_ROUNDING_P * CLR_STRIDE64),
                           LOADU(in + CLR_ROUNDING_S * CLR_STRIDE64), LOADU(in + CLR_INRADIUS * CLR_STRIDE64)};
}

// growth_lower_along is the lower bound from the support value `value` along a unit vector with the coordinate z along
// the ray, or 0 where that proves nothing. proper is false where the vector is not a unit vector. growth_lower takes
// the vector n.
ALWAYS VF growth_lower_along(const growth_scales *g, VF z, VF value, VM proper) {
    const VF zero = SET1(0), low = FMA(z, g->length, -g->rounding_p) * RCP(value + g->rounding_s);
    return SEL(MAND(proper, MAND(LT(zero, value), LT(zero, low))), FNMA(SET1(0x1p-50), low, low), zero);
}
ALWAYS VF growth_lower(const growth_scales *g, V3 n, VF value) { return growth_lower_along(g, n.z, value, is_unit(n)); }

// lateral_rounding is η', at the distance t.
ALWAYS VF lateral_rounding(const growth_scales *g, VF t) {
    return FMA(t * RCP(MAX(g->length, SET1(TINY))), g->rounding_p, g->rounding_s);
}

// growth_upper_beside is the upper bound from a point of D at the distance `side` from the ray, with the coordinate z
// along it, or infinity. growth_upper takes the point s.
ALWAYS VF growth_upper_beside(const growth_scales *g, VF z, VF side) {
    const VF off = side + lateral_rounding(g, z);
    const VF low = z - g->rounding_s, high = (g->length + g->rounding_p) * (g->inradius + off) * RCP(low * g->inradius);
    return SEL(LT(SET1(0), low), FMA(SET1(0x1p-50), high, high), SET1(INFINITY));
}
ALWAYS VF growth_upper(const growth_scales *g, V3 s) {
    return growth_upper_beside(g, s.z, SQRT(FMA(s.x, s.x, s.y * s.y)));
}

// growth_upper_inside is the upper bound from the triangle v with normal n and its point s, or infinity. twice holds
// the doubled areas of the triangles that the axis forms with each edge, seen from above.
ALWAYS VF growth_upper_inside(const growth_scales *g, const V3 v[3], V3 n, V3 s, const VF twice[3]) {
    const VF zero = SET1(0), side = SQRT(FMA(s.x, s.x, s.y * s.y)), off = side + lateral_rounding(g, s.z);
    const VF slope = SQRT(FMA(n.x, n.x, n.y * n.y)) / MAX(n.z, SET1(TINY));
    const VF low = FNMA(SET1(3) * off, SET1(1) + slope, s.z), high = (g->length + g->rounding_p) / low;
    VM clear = MAND(LT(zero, low), LT(zero, n.z));
    for (int j = 0; j < 3; j++) {
        const V3 edge = T(sub)(v[(j + 2) % 3], v[(j + 1) % 3]);
        const VF far = SET1(CLEARANCE) * off * SQRT(FMA(edge.x, edge.x, edge.y * edge.y));
        clear = MAND(clear, LE(far, twice[j]));
    }
    return SEL(clear, FMA(SET1(0x1p-50), high, high), SET1(INFINITY));
}

// growth_suffices tells where bounds answer the query. The gap has to be at most the tolerance, relative to
// max(1, α). If `last` is set, a larger gap is accepted that rounding explains: four times the rounding errors of both
// bounds (growth.floor of ref). For needles and plates it exceeds the gap of the best bounds.
ALWAYS VM growth_suffices(const clr_call *c, const growth_scales *g, VF tolerance, VF lower, VF upper, int last) {
    const VF one = SET1(1), gap = upper - lower;
    const VM decided = MOR(LT(one, lower), LT(upper, one));
    VM ok = LE(gap, tolerance * MAX(one, upper));
    if (last) ok = MOR(ok, LE(gap * g->inradius, SET1(4) * FMA(upper, g->rounding_s, g->rounding_p)));
    if (c->has_cut_off) ok = MOR(ok, MAND(decided, LT(SET1(c->cut_off), lower)));
    if (c->boolean) ok = MOR(ok, decided);
    return MAND(ok, MAND(LE(lower, upper), LT(upper, SET1(INFINITY))));
}

#undef CLEARANCE

#endif
