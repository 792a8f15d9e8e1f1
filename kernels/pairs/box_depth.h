// Penetration depths of boxes by separating axes, one pair per lane. Float64.
//
// D = A − B of two boxes is the sum of six segments, and the normals of its facets are among the
// fifteen axes of the separating axis test [Gottschalk1996, sec. 5]. So the depth is the least
// penetration along one of these axes: the others never have less, and flat boxes are no exception.
//
// With the half widths w_A and w_B of the boxes and the distance t of their centers, over the fifteen axes n:
//
//	depth = min (w_A(n) + w_B(n) − |⟨n, t⟩|)/|n|
//	upper = h_D(n) for the unit vector n of the best axis, evaluated again
//	lower = min over all axes of their penetration minus its rounding bound: ρ for a face normal, 4ρ/l for a cross
//	        product of length l (closed_forms.h derives the 4)
//
// Input: a box_pair, its rounding bound and the gap `stop` to reach. Output: lane_depths (store.h).
//
// Edges that are parallel up to rounding have no axis. As in closed_forms.h, if every cross product is
// either shorter than ALIGNED or longer than CROSSED, a rotation of B by at most φ = 2·ALIGNED makes
// the short ones zero. It changes the depth and each penetration by at most φ·size·(1 + 2/CROSSED) <
// 5e-13·size.
//
// Lanes are not ok if their gap exceeds `stop`, or if their contact is neither a vertex with a face nor two edges; EPA
// answers them.

#ifndef CLR_BOX_DEPTH_H
#define CLR_BOX_DEPTH_H

#include "../isa/real64.h"
#include "box_axes.h"
#include "box_rows.h"
#include "store.h"
#include "../isa/vec3.h"

#define ALIGNED 1e-14
#define CROSSED 0.1
#define ALIGNED_ERROR 5e-13

// box_contact computes the points a and b, in the frames of the boxes, whose difference is the point `at` of the facet
// of D with normal n. The difference is that of the point of a face of A and a vertex of B where by_a is set, of the
// point where edges e of A and f of B meet where by_edge is set, else of a vertex of A and the point of a face of B.
// They are clamped to the boxes: a point beside that facet is another one of D. d is n in the frame of B.
ALWAYS void box_contact(const box_pair *p, V3 n, V3 d, V3 at, V3 e, V3 f, VM by_a, VM by_edge, V3 *a, V3 *b) {
    const VF one = SET1(1);
    const V3 shift = p->t;
    V3 pa = {COPYSIGN(p->a.x, n.x), COPYSIGN(p->a.y, n.y), COPYSIGN(p->a.z, n.z)};
    V3 pb = {-COPYSIGN(p->b.x, d.x), -COPYSIGN(p->b.y, d.y), -COPYSIGN(p->b.z, d.z)};
    // For a face: the point of it that the other box's vertex touches. For edges: the closest points.
    // With r = at − (pa − pb), taken from the midpoints of the edges, r = x·e − y·f along both.
    V3 world_b = T(add)(T(apply)(p->m, pb), shift);
    V3 on_a = T(add)(at, world_b), on_b = T(apply_transposed)(p->m, T(sub)(T(sub)(pa, at), shift));
    V3 middle_a = {FNMA(e.x, pa.x, pa.x), FNMA(e.y, pa.y, pa.y), FNMA(e.z, pa.z, pa.z)};
    V3 middle_b = {FNMA(f.x, pb.x, pb.x), FNMA(f.y, pb.y, pb.y), FNMA(f.z, pb.z, pb.z)};
    V3 edge_b = T(apply)(p->m, f);
    V3 r = T(add)(T(sub)(at, middle_a), T(add)(T(apply)(p->m, middle_b), shift));
    VF c = T(dot)(e, edge_b), re = T(dot)(r, e), rf = T(dot)(r, edge_b), inv = one / MAX(FNMA(c, c, one), SET1(1e-30));
    VF x = FNMA(c, rf, re) * inv, y = FNMA(rf, one, c * re) * inv;
    pa = T(sel)(by_edge, T(axpy)(x, e, middle_a), T(sel)(by_a, on_a, pa));
    pb = T(sel)(by_edge, T(axpy)(y, f, middle_b), T(sel)(by_a, pb, on_b));
    *a = (V3){clamped(pa.x, p->a.x), clamped(pa.y, p->a.y), clamped(pa.z, p->a.z)};
    *b = (V3){clamped(pb.x, p->b.x), clamped(pb.y, p->b.y), clamped(pb.z, p->b.z)};
}

ALWAYS lane_depths box_depths(const box_pair *p, VF rounding, VF stop) {
    const VF zero = SET1(0), one = SET1(1), error = SET1(4) * rounding;
    const VF a[3] = {p->a.x, p->a.y, p->a.z}, b[3] = {p->b.x, p->b.y, p->b.z}, t[3] = {p->t.x, p->t.y, p->t.z};
    VF q[9], u[3];
    const VF *m = p->m;
    for (int i = 0; i < 9; i++) q[i] = magnitude(m[i]);
    for (int j = 0; j < 3; j++) u[j] = FMA(m[6 + j], t[2], FMA(m[3 + j], t[1], m[j] * t[0]));

    // The best axis n, and its type: a face normal of A, one of B, or the product of edges e of A and f of B.
    VF best = SET1(1e300), low = best;
    V3 n = {one, zero, zero}, e = n, f = n;
    VM by_a = LT(zero, one), by_edge = LT(one, zero), parallel = by_edge, slanted = by_edge;
    for (int i = 0; i < 3; i++) {
        VF o = T(widths_a)(a, b, q, i) - magnitude(t[i]);
        VM less = LT(o, best);
        VF sign = COPYSIGN(one, t[i]);
        n = T(sel)(less, (V3){i == 0 ? sign : zero, i == 1 ? sign : zero, i == 2 ? sign : zero}, n);
        best = MIN(o, best);
    }
    for (int j = 0; j < 3; j++) {
        VF o = T(widths_b)(a, b, q, j) - magnitude(u[j]);
        VM less = LT(o + error, best);
        VF sign = COPYSIGN(one, u[j]);
        n = T(sel)(less, (V3){sign * m[j], sign * m[3 + j], sign * m[6 + j]}, n);
        by_a = MANDN(by_a, less);
        low = MIN(o, low);
        best = SEL(less, o, best);
    }
    low = MIN(low, best) - error;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
            VF x1 = m[3 * i1 + j], x2 = m[3 * i2 + j], dot = T(along_edges)(t, m, i, j);
            VF o = T(widths_edges)(a, b, q, i, j) - magnitude(dot);
            VF l2 = FMA(x1, x1, x2 * x2), r = RSQRT(MAX(l2, SET1(ALIGNED * ALIGNED)));
            VM is_short = LT(l2, SET1(ALIGNED * ALIGNED)), is_long = LT(SET1(CROSSED * CROSSED), l2);
            parallel = MOR(parallel, is_short);
            slanted = MOR(slanted, MANDN(MANDN(LE(l2, l2), is_long), is_short));
            low = SEL(is_short, low, MIN((o - error) * r, low));
            VF unit = o * r;
            VM less = MANDN(LT(FMA(error, r, unit), best), is_short);
            VF sign = COPYSIGN(r, dot);
            VF along[3]; // the unit vector, outward
            along[i] = zero;
            along[i1] = -(sign * x2);
            along[i2] = sign * x1;
            V3 axis = {along[0], along[1], along[2]};
            n = T(sel)(less, axis, n);
            e = T(sel)(less, (V3){i == 0 ? one : zero, i == 1 ? one : zero, i == 2 ? one : zero}, e);
            f = T(sel)(less, (V3){j == 0 ? one : zero, j == 1 ? one : zero, j == 2 ? one : zero}, f);
            by_edge = MOR(by_edge, less);
            best = SEL(less, unit, best);
        }
    VF size = SQRT(FMA(a[2], a[2], FMA(a[1], a[1], a[0] * a[0]))) + SQRT(FMA(b[2], b[2], FMA(b[1], b[1], b[0] * b[0])));
    low = SEL(parallel, FNMA(SET1(ALIGNED_ERROR), size, low), low);

    n = T(scale)(inverse_length(n), n);
    V3 d = T(apply_transposed)(p->m, n), shift = p->t, pa, pb;
    lane_depths out;
    out.high = FMA(a[2], magnitude(n.z), FMA(a[1], magnitude(n.y), a[0] * magnitude(n.x))) +
               FMA(b[2], magnitude(d.z), FMA(b[1], magnitude(d.y), b[0] * magnitude(d.x))) - T(dot)(n, shift);
    V3 projection = T(scale)(out.high, n);
    box_contact(p, n, d, projection, e, f, by_a, by_edge, &pa, &pb);
    out.near = T(sub)(pa, T(add)(T(apply)(p->m, pb), shift));
    V3 side = T(sub)(out.near, projection);
    out.off = SQRT(T(dot)(side, side));
    out.low = low;
    out.n = n;
    out.a = pa;
    out.ok = MAND(MAND(LE(out.high - low, stop), LE(out.off, stop)), MAND(LT(rounding, low), is_unit(n)));
    out.ok = MANDN(out.ok, MAND(parallel, slanted));
    return out;
}

#undef ALIGNED
#undef CROSSED
#undef ALIGNED_ERROR

#endif
