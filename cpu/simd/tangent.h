// Vectors and symmetric matrices of tangent planes, a pair a lane. Float64.

#ifndef CLR_TANGENT_H
#define CLR_TANGENT_H

#include "real64.h"
#include "vec3.h"

#define WIDEST_CAP 2.5 // a cap of size t are the directions n + y with y across the unit vector n and |y| ≤ t

typedef struct {
    VF x, y;
} flat;
ALWAYS VF flat_dot(flat a, flat b) { return FMA(a.y, b.y, a.x * b.x); }
ALWAYS flat flat_axpy(VF k, flat a, flat b) { return (flat){FMA(k, a.x, b.x), FMA(k, a.y, b.y)}; }

// A symmetric matrix of two rows.
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

// reach is how far a cap reaches beyond the size t at which the height grows by ½·bend·t² at least, above
// what is linear and against a sphere of radius h ≤ bend. That growth is convex along any y, so from there on
// it is ½·bend·t|y|, which is not below h(√(1 + y²) − 1) as far as y/(1 + √(1 + y²)) ≤ ½·bend·t/h: to twice the
// angle of which that is the tangent.
ALWAYS VF reach(VF curvature, VF t, VF h) {
    const VF x = SET1(0.5 * (1 - 1e-6)) * curvature * t / h, rest = FNMA(x, x, SET1(1)), widest = SET1(WIDEST_CAP);
    return MAX(t, SEL(LT(SET1(0.1), rest), MIN((x + x) / MAX(rest, SET1(0.1)), widest), widest));
}

#endif
