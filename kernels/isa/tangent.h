// Vectors and symmetric matrices of tangent planes, one pair per lane. Float64.

#ifndef CLR_TANGENT_H
#define CLR_TANGENT_H

#include "real64.h"
#include "vec3.h"

// A cap of size t contains the directions n + y with y orthogonal to the unit vector n and |y| ≤ t.
#define WIDEST_CAP 2.5

typedef struct {
    VF x, y;
} flat;
ALWAYS VF flat_dot(flat a, flat b) { return FMA(a.y, b.y, a.x * b.x); }
ALWAYS flat flat_axpy(VF k, flat a, flat b) { return (flat){FMA(k, a.x, b.x), FMA(k, a.y, b.y)}; }

// A symmetric 2×2 matrix.
typedef struct {
    VF xx, xy, yy;
} flat_matrix;
ALWAYS void add_square(flat_matrix *m, VF k, flat w) {
    VF x = k * w.x;
    m->xx = FMA(x, w.x, m->xx);
    m->xy = FMA(x, w.y, m->xy);
    m->yy = FMA(k * w.y, w.y, m->yy);
}
ALWAYS VF least_eigenvalue(flat_matrix m) {
    VF half = SET1(0.5), mid = half * (m.xx + m.yy), d = half * (m.xx - m.yy);
    return mid - SQRT(FMA(d, d, m.xy * m.xy));
}

// reach is the size of a cap to which a bound over the cap of size t ≤ reach extends. Let κ be the curvature
// and g(y) = h_D(n + y) − h_D(n) − ∇h_D(n)·y the growth of the support function above its tangent plane, with
// g(y) ≥ ½κ|y|² for |y| ≤ t. What is to be proved is g(y) ≥ h(√(1 + |y|²) − 1) for a ball of radius h ≤ κ.
// Since g is convex along every ray, g(y) ≥ ½κt|y| for |y| ≥ t. This suffices as long as
// |y|/(1 + √(1 + |y|²)) ≤ ½κt/h, hence up to |y| = tan 2φ with tan φ = ½κt/h.
ALWAYS VF reach(VF curvature, VF t, VF h) {
    const VF x = SET1(0.5 * (1 - 1e-6)) * curvature * t / h, rest = FNMA(x, x, SET1(1)), widest = SET1(WIDEST_CAP);
    return MAX(t, SEL(LT(SET1(0.1), rest), MIN((x + x) / MAX(rest, SET1(0.1)), widest), widest));
}

#endif
