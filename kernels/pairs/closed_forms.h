// Closed forms: pairs that a formula answers, W rows at a time. A template, float64.
//
// Input: rows of one group (input.h). Output: answers stored by store.h. Spheres and capsules use the
// closest points of points and segments [Ericson2004, sec. 5.1.9], a sphere and a box the projection
// on the box, a half-space the support function of the other shape, and two boxes the separating axis
// test [Gottschalk1996, sec. 5], which decides only whether they intersect.
//
// With the radii R and the rounding bound ρ of ref.Pair.Roundoff:
//
//	two spheres     distance = |t| − R, t from center to center
//	capsules        distance = |x| − R, lower = max over two normals n of min ⟨n, D⟩ − R − ρ
//	sphere and box  distance = |p − q| − R for the projection q of the center p on the box;
//	                inside the box −(least distance to a face) − R
//	half-space      distance = min ⟨n, x⟩ over the shape − R
//	two boxes       separated if |⟨n, t⟩| − w_A(n) − w_B(n) > 4ρ on one of fifteen axes n,
//	                penetrating if it is below −4ρ on all of them
//	bounds          distance ± ρ, if nothing else is said
//
// Rows are loaded and stored by closed_rows.h. A row with a valid pose whose bounds do not meet the tolerance
// goes on to the iterative solvers, so no form has to be accurate everywhere. A row with a pose out of range is
// declined.

#ifndef CLR_CLOSED_FORMS_H
#define CLR_CLOSED_FORMS_H

#include "../isa/real64.h"
#include "box_axes.h"
#include "closed_rows.h"

// meets_tolerance reports whether the bounds meet the tolerance or answer the query.
ALWAYS VM meets_tolerance(const clr_call *c, const closed_in *in, const closed_out *o) {
    VF gap = MAX(o->upper - o->distance, o->distance - o->lower);
    VM ok = LE(gap, MAX(in->tol, SET1(4) * in->rounding));
    if (c->has_cut_off) ok = MOR(ok, LT(SET1(c->cut_off), o->lower));
    if (c->collide) ok = MOR(ok, MOR(LT(SET1(0), o->lower), LT(o->upper, SET1(0))));
    return ok;
}

// Points, segments, and points against boxes.
//
// The distance of the cores minus both radii is the signed distance, also where the shapes intersect
// but the cores do not. Where the cores intersect, it is so only if their Minkowski difference is
// flat, or for a point inside a box, where all six facets of the difference are compared.

// point_distance is the signed distance of two spheres.
ALWAYS closed_out point_distance(const closed_in *in) {
    closed_out o;
    VF tt = T(dot)(in->t, in->t), d = SQRT(tt);
    VM same = LE(tt, SET1(1e-200)); // concentric: every unit vector is a normal
    VF r = SET1(1) / SEL(same, SET1(1), d);
    o.n = T(sel)(same, (V3){SET1(1), SET1(0), SET1(0)}, T(scale)(r, in->t));
    o.distance = d - (in->radius[0] + in->radius[1]);
    o.lower = o.distance - in->rounding;
    o.upper = o.distance + in->rounding;
    o.a = T(scale)(in->radius[0], o.n);
    o.b = T(axpy)(-in->radius[1], o.n, in->t);
    o.ok = LE(o.lower, o.upper);
    return o;
}

// segment_distance is the signed distance of two capsules, or of a capsule and a sphere.
//
// The closest points follow [Ericson2004, sec. 5.1.9]: project on the line of B and clamp, then project on A and clamp.
// The initial parameter s is computed by a formula that does not cancel where the axes are nearly parallel. Its
// rounding error enters the distance to second order.
//
// The normal is the one of two candidates that proves the greater lower bound: the direction between
// the closest points, made orthogonal to a segment whose closest point is in its interior; and the
// direction orthogonal to both axes, the only one with a bound where the segments cross.
ALWAYS closed_out segment_distance(const clr_call *c, const closed_in *in) {
    closed_out o;
    const VF zero = SET1(0), one = SET1(1);
    const V3 t = in->t;
    VF ha = in->p[0].z, hb = in->p[1].z, radius = in->radius[0] + in->radius[1];
    V3 ua = axis(in->w[0], in->v[0]), ub = axis(in->w[1], in->v[1]);
    ua = T(sel)(LT(zero, ha), ua, ub); // a point: use the axis of the other core
    ub = T(sel)(LT(zero, hb), ub, ua);
    VF cos = T(dot)(ua, ub), ta = T(dot)(t, ua), tb = T(dot)(t, ub);
    V3 across = T(axpy)(-cos, ub, ua); // part of ua orthogonal to ub
    VF s = T(dot)(t, across) / MAX(T(dot)(across, across), SET1(1e-30));
    s = MAX(MIN(s, ha), -ha);
    VF r = MAX(MIN(FMA(s, cos, -tb), hb), -hb);
    s = MAX(MIN(FMA(r, cos, ta), ha), -ha);
    V3 pa = T(scale)(s, ua), pb = T(axpy)(r, ub, t), x = T(sub)(pb, pa);
    VM in_a = LT(MAX(s, -s), ha), in_b = LT(MAX(r, -r), hb);

    VF along_a = SEL(MANDN(in_a, in_b), T(dot)(x, ua), zero), along_b = SEL(MANDN(in_b, in_a), T(dot)(x, ub), zero);
    V3 n1 = unit(T(axpy)(-along_b, ub, T(axpy)(-along_a, ua, x)));

    // The cross product of ua with ub − ua or ub + ua is orthogonal to both axes to full precision,
    // however nearly parallel they are. For parallel axes x determines the plane; if x is parallel
    // too, any orthogonal direction is used.
    V3 w = T(axpy)(-COPYSIGN(one, cos), ua, ub), wx = T(cross)(ua, unit(x));
    V3 other = T(sel)(LT(ua.x * ua.x, SET1(0.5)), (V3){one, zero, zero}, (V3){zero, one, zero});
    wx = T(sel)(LT(T(dot)(wx, wx), SET1(1e-20)), other, wx);
    w = T(sel)(LT(T(dot)(w, w), SET1(1e-28)), wx, w);
    V3 n2 = unit(T(cross)(ua, unit(w)));
    n2 = T(scale)(COPYSIGN(one, T(dot)(n2, x)), n2);

    VF a1 = T(dot)(n1, ua), b1 = T(dot)(n1, ub), a2 = T(dot)(n2, ua), b2 = T(dot)(n2, ub);
    VF h1 = T(dot)(n1, t) - ha * MAX(a1, -a1) - hb * MAX(b1, -b1),
       h2 = T(dot)(n2, t) - ha * MAX(a2, -a2) - hb * MAX(b2, -b2);
    VM first = MAND(is_unit(n1), MOR(LE(h2, h1), MANDN(LE(h1, h1), is_unit(n2))));
    o.n = T(sel)(first, n1, n2);
    VF low = SEL(first, h1, h2), length = SQRT(T(dot)(x, x));
    V3 side = T(axpy)(-length, o.n, x); // difference of the witnesses minus distance·normal
    o.distance = length - radius;
    o.upper = o.distance + in->rounding;
    o.lower = low - radius - in->rounding;
    o.a = T(axpy)(in->radius[0], o.n, pa);
    o.b = T(axpy)(-in->radius[1], o.n, pb);
    VF gap = MAX(o.upper - o.distance, o.distance - o.lower);
    o.ok = MAND(MAND(meets_tolerance(c, in, &o), LE(T(dot)(side, side), gap * gap)),
                MAND(is_unit(o.n), LE(o.lower, o.upper)));
    return o;
}

// box_point_distance is the signed distance of a box and a sphere; `flip` says that B is the box.
// Outside the box the normal is the direction from the projection on the box to the point. Inside it
// is the normal of the closest face: the depth is the least of six distances.
ALWAYS closed_out box_point_distance(const closed_in *in, int flip) {
    closed_out o;
    const VF zero = SET1(0), one = SET1(1);
    VF m[9];
    matrix(in->w[flip], in->v[flip], m);
    V3 e = in->p[flip], t = flip ? T(neg)(in->t) : in->t; // from the box to the point
    V3 p = T(apply_transposed)(m, t);
    V3 q = {MAX(MIN(p.x, e.x), -e.x), MAX(MIN(p.y, e.y), -e.y), MAX(MIN(p.z, e.z), -e.z)};
    V3 d = T(sub)(p, q);
    VF dd = T(dot)(d, d), length = SQRT(dd);
    VM out = LT(SET1(1e-200), dd);
    VF r = one / SEL(out, length, one);
    // Distances to the faces, for points inside or on the surface.
    VF fx = e.x - MAX(p.x, -p.x), fy = e.y - MAX(p.y, -p.y), fz = e.z - MAX(p.z, -p.z);
    VM y = LT(fy, fx), z = LT(fz, MIN(fx, fy));
    VF depth = MIN(MIN(fx, fy), fz);
    V3 face_normal = {SEL(MOR(y, z), zero, COPYSIGN(one, p.x)), SEL(MANDN(y, z), COPYSIGN(one, p.y), zero),
                      SEL(z, COPYSIGN(one, p.z), zero)};
    V3 n = T(sel)(out, T(scale)(r, d), face_normal);
    q = T(sel)(out, q, T(axpy)(depth, face_normal, p));
    VF core = SEL(out, length, -depth);
    n = T(apply)(m, n);
    V3 on_box = T(axpy)(in->radius[flip], n, T(apply)(m, q)), on_ball = T(axpy)(-in->radius[1 - flip], n, t);
    o.distance = core - (in->radius[0] + in->radius[1]);
    o.lower = o.distance - in->rounding;
    o.upper = o.distance + in->rounding;
    // In the frame at A, which may be the point.
    o.n = flip ? T(neg)(n) : n;
    o.a = flip ? T(sub)(on_ball, t) : on_box;
    o.b = flip ? T(sub)(on_box, t) : on_ball;
    o.ok = LE(o.lower, o.upper);
    return o;
}

// A half-space and a shape of any class.

// half_space_distance is the signed distance of a half-space, body `side`, and a shape of class k: the
// least value of ⟨n, x⟩ over the shape, n the outward normal of the plane, relative to the plane.
ALWAYS closed_out half_space_distance(const clr_call *c, const closed_in *in, int side, int k) {
    closed_out o;
    const int other = 1 - side;
    V3 n = axis(in->w[side], in->v[side]);
    VF m[9];
    matrix(in->w[other], in->v[other], m);
    V3 p = half_support(c, in, other, k, T(neg)(T(apply_transposed)(m, n)));
    p = T(apply)(m, p);
    V3 t = side ? T(neg)(in->t) : in->t; // from the origin of the half-space to the origin of the shape
    o.distance = T(dot)(n, T(add)(p, t)) - (in->radius[0] + in->radius[1]);
    VF rounding = FMA(SET1(power_units(k) * 0x1p-53), in->size, in->rounding);
    o.lower = o.distance - rounding;
    o.upper = o.distance + rounding;
    V3 lowest = T(axpy)(-in->radius[other], n, side ? p : T(add)(p, t)), on_plane = T(axpy)(-o.distance, n, lowest);
    o.n = side ? T(neg)(n) : n;
    o.a = side ? lowest : on_plane;
    o.b = side ? on_plane : lowest;
    o.ok = LE(o.lower, o.upper);
    return o;
}

// The separating axis test of two boxes [Gottschalk1996, sec. 5]: they are disjoint if and only if one
// of fifteen axes separates them: the face normals of both, and the cross products of their edges.
//
// Rounding. A separating axis is accepted only if its plane, evaluated again at the support vertices,
// proves the separation. Intersection is accepted only if on all fifteen axes the intervals intersect
// by more than the rounding bound. All other rows go on to the iterative solver.
//
// The cross product of parallel edges is zero up to rounding, and proves nothing. Suppose that every
// cross product is either shorter than NEARLY_PARALLEL or longer than CLEARLY_CROSSED. A rotation of B
// by at most φ = 2·NEARLY_PARALLEL makes the short ones zero, so that their axes are not needed. It
// moves points of B by φ·size and rotates the long cross products by at most φ/CLEARLY_CROSSED. The
// penetration along a unit axis therefore changes by at most φ·size + 2·size·φ/CLEARLY_CROSSED <
// 5e-6·size, and one of more than PARALLEL_MARGIN·size on every unit axis remains positive.
#define NEARLY_PARALLEL 1e-10
#define CLEARLY_CROSSED 1e-4
#define PARALLEL_MARGIN 1e-5

// The entries of a rotation have errors of at most 8 eps (ref.Pair.Roundoff), the dot product of two
// axes 31 eps, and the sums below less than 75 eps times the lengths in them: 96 eps·scale is four
// times `rounding`.
#define AXIS_ERROR 4

// box_intersection decides whether two boxes intersect. The distance is the separation along the best
// axis; where the boxes intersect, along the best face normal.
ALWAYS closed_out box_intersection(const closed_in *in) {
    closed_out o;
    const VF zero = SET1(0), one = SET1(1);
    VF ra[9], rb[9], m[9], q[9];
    matrix(in->w[0], in->v[0], ra);
    matrix(in->w[1], in->v[1], rb);
    relative(ra, rb, m);
    for (int i = 0; i < 9; i++) q[i] = magnitude(m[i]);
    const V3 ta = T(apply_transposed)(ra, in->t), tb = T(apply_transposed)(rb, in->t);
    const VF t[3] = {ta.x, ta.y, ta.z}, u[3] = {tb.x, tb.y, tb.z};
    const VF a[3] = {in->p[0].x, in->p[0].y, in->p[0].z}, b[3] = {in->p[1].x, in->p[1].y, in->p[1].z};
    const VF error = SET1(AXIS_ERROR) * in->rounding, radius = in->radius[0] + in->radius[1];

    // Face normals. n is the best axis, in the frame of A.
    VF best = SET1(-1e300);
    V3 n = {one, zero, zero};
    for (int i = 0; i < 3; i++) {
        VF separation = magnitude(t[i]) - T(widths_a)(a, b, q, i);
        VM more = LT(best, separation);
        VF sign = COPYSIGN(one, t[i]);
        VF axis[3] = {zero, zero, zero};
        axis[i] = sign;
        n = T(sel)(more, (V3){axis[0], axis[1], axis[2]}, n);
        best = SEL(more, separation, best);
    }
    for (int j = 0; j < 3; j++) {
        VF separation = magnitude(u[j]) - T(widths_b)(a, b, q, j);
        VM more = LT(best, separation);
        VF sign = COPYSIGN(one, u[j]);
        n = T(sel)(more, (V3){sign * m[j], sign * m[3 + j], sign * m[6 + j]}, n);
        best = SEL(more, separation, best);
    }
    VM by_face = LT(error + radius, best), intersecting = MANDN(LT(one, zero), by_face);
    if (MBITS(by_face) != LANES) {
        // Cross products of edges. The separating one with the greatest separation relative to its
        // length is chosen; the ratios are compared squared.
        VF most = zero, length2 = one, least = -best; // least penetration along a unit axis
        VM clear = LT(best, -error), parallel = LT(one, zero), uncertain = parallel;
        V3 edge = n;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
                VF x1 = m[3 * i1 + j], x2 = m[3 * i2 + j], s = T(along_edges)(t, m, i, j);
                VF separation = magnitude(s) - T(widths_edges)(a, b, q, i, j);
                VF l2 = FMA(x1, x1, x2 * x2);
                VM is_short = LT(l2, SET1(NEARLY_PARALLEL * NEARLY_PARALLEL)),
                   is_long = LT(SET1(CLEARLY_CROSSED * CLEARLY_CROSSED), l2);
                parallel = MOR(parallel, is_short);
                uncertain = MANDN(MOR(uncertain, MANDN(LE(l2, l2), is_long)), is_short);
                clear = MAND(clear, MOR(LT(separation, -error), is_short));
                // |axis| ≤ 1, so separation/|axis| ≤ separation if negative: a bound without a square root.
                least = SEL(is_long, MIN(least, -separation), least);
                VM more = MAND(LT(error, separation), LT(most * l2, separation * separation * length2));
                most = SEL(more, separation * separation, most);
                length2 = SEL(more, l2, length2);
                VF sign = COPYSIGN(one, s);
                VF axis[3];
                axis[i] = zero;
                axis[i1] = -sign * x2;
                axis[i2] = sign * x1;
                edge = T(sel)(more, (V3){axis[0], axis[1], axis[2]}, edge);
            }
        VM by_edge = MANDN(LT(zero, most), by_face);
        n = T(sel)(by_edge, T(scale)(RSQRT(length2), edge), n);
        VF size = SQRT(T(dot)(in->p[0], in->p[0])) + SQRT(T(dot)(in->p[1], in->p[1]));
        VM certain =
            MAND(clear, MOR(MANDN(clear, parallel), MANDN(LT(SET1(PARALLEL_MARGIN) * size, least), uncertain)));
        intersecting = MANDN(certain, MOR(by_face, by_edge));
    } else {
        intersecting = LT(one, zero);
    }

    // The support vertices along n, and their support planes.
    n = unit(n);
    V3 pa = {COPYSIGN(a[0], n.x), COPYSIGN(a[1], n.y), COPYSIGN(a[2], n.z)};
    const V3 d = T(apply_transposed)(m, n);
    V3 cb = {-COPYSIGN(b[0], d.x), -COPYSIGN(b[1], d.y), -COPYSIGN(b[2], d.z)};
    V3 pb = T(add)(ta, T(apply)(m, cb));
    V3 x = T(sub)(pb, pa);
    VF low = T(dot)(n, x);
    V3 side = T(axpy)(-low, n, x);
    VF slack = in->rounding + SQRT(T(dot)(side, side));
    o.distance = low - radius;
    o.lower = o.distance - SEL(intersecting, slack, in->rounding);
    o.upper = SEL(intersecting, zero - SET1(1e-300), o.distance + slack);
    o.n = T(apply)(ra, n);
    o.a = T(apply)(ra, T(axpy)(in->radius[0], n, pa));
    o.b = T(apply)(ra, T(axpy)(-in->radius[1], n, pb));
    o.ok = MAND(is_unit(n), MOR(LT(zero, o.lower), intersecting));
    return o;
}

#undef NEARLY_PARALLEL
#undef CLEARLY_CROSSED
#undef PARALLEL_MARGIN
#undef AXIS_ERROR

CLOSED_LOOP(closed_points, point_distance(&in), CLR_SOLVER_CLOSED_FORM)
CLOSED_LOOP(closed_segments, segment_distance(c, &in), CLR_SOLVER_CLOSED_FORM)
CLOSED_LOOP(closed_box_point, box_point_distance(&in, 0), CLR_SOLVER_CLOSED_FORM)
CLOSED_LOOP(closed_point_box, box_point_distance(&in, 1), CLR_SOLVER_CLOSED_FORM)
CLOSED_LOOP(closed_boxes, box_intersection(&in), CLR_SOLVER_AXES)
#define X(name, ...)                                                                                      \
    CLOSED_LOOP(closed_half_a_##name, half_space_distance(c, &in, 0, CLR_##name), CLR_SOLVER_CLOSED_FORM) \
    CLOSED_LOOP(closed_half_b_##name, half_space_distance(c, &in, 1, CLR_##name), CLR_SOLVER_CLOSED_FORM)
CLR_CLASS_TABLE(X)
#undef X
#undef CLOSED_LOOP

// answer_by_closed_form answers rows order[0..n) of group g; see CLOSED_LOOP. The rows that remain go on to the
// iterative solver of boxes.
static int answer_by_closed_form(const clr_call *c, clr_scratch *s, int64_t lo, int32_t *order, int n, int g,
                                 int *left) {
    switch (g) {
    case CLR_POINTS: return closed_points(c, s, lo, order, n, left);
    case CLR_SEGMENTS: return closed_segments(c, s, lo, order, n, left);
    case CLR_BOX_POINT: return closed_box_point(c, s, lo, order, n, left);
    case CLR_POINT_BOX: return closed_point_box(c, s, lo, order, n, left);
    case CLR_BOXES: return closed_boxes(c, s, lo, order, n, left);
#define X(name, ...)                                                                     \
    case CLR_HALF_A + CLR_##name: return closed_half_a_##name(c, s, lo, order, n, left); \
    case CLR_HALF_B + CLR_##name: return closed_half_b_##name(c, s, lo, order, n, left);
        CLR_CLASS_TABLE(X)
#undef X
    default: return n; // no other group has a closed form
    }
}

#endif
