// Closed forms of points and segments: spheres, capsules, and spheres against boxes.
// A template, float64.
//
// The distance of the cores minus both radii is the signed distance, in contact as
// well, wherever the difference of the cores is flat or the point is inside the box:
// then every facet of the difference is looked at.

// points is for two spheres.
ALWAYS closed_out points(const closed_in *in) {
    closed_out o;
    VF tt = T(dot)(in->t, in->t), d = SQRT(tt);
    VM same = LE(tt, SET1(1e-200)); // any normal serves
    VF r = SET1(1) / SEL(same, SET1(1), d);
    o.n = T(sel)(same, (V3){SET1(1), SET1(0), SET1(0)}, T(scale)(r, in->t));
    o.distance = d - (in->radius[0] + in->radius[1]);
    o.lower = o.distance - in->round;
    o.upper = o.distance + in->round;
    o.a = T(scale)(in->radius[0], o.n);
    o.b = T(axpy)(-in->radius[1], o.n, in->t);
    o.ok = LE(o.lower, o.upper);
    return o;
}

// unit divides by the length; what is nearly zero comes out as no unit vector.
ALWAYS V3 unit(V3 v) { return T(scale)(inverse_length(v), v); }

// segments is for two capsules, or a capsule and a sphere.
//
// The nearest points are those of Ericson, Real-Time Collision Detection, sec. 5.1.9:
// the foot on the line of B, clamped, then that on A, clamped; but for the first
// guess of s, which is formed so that it does not cancel where the axes are nearly
// parallel. Its rounding is of second order in the distance.
//
// The normal is one of two, whichever proves more: that of the nearest points, made
// orthogonal to the segment that holds its point inside; and the one orthogonal to
// both axes, which alone proves anything where the segments cross.
ALWAYS closed_out segments(const clr_call *c, const closed_in *in) {
    closed_out o;
    const VF zero = SET1(0), one = SET1(1);
    const V3 t = in->t;
    VF ha = in->p[0].z, hb = in->p[1].z, radius = in->radius[0] + in->radius[1];
    V3 ua = axis(in->w[0], in->v[0]), ub = axis(in->w[1], in->v[1]);
    ua = T(sel)(LT(zero, ha), ua, ub); // a point has any axis
    ub = T(sel)(LT(zero, hb), ub, ua);
    VF cos = T(dot)(ua, ub), ta = T(dot)(t, ua), tb = T(dot)(t, ub);
    V3 across = T(axpy)(-cos, ub, ua); // of A's axis, across B's
    VF s = T(dot)(t, across) / MAX(T(dot)(across, across), SET1(1e-30));
    s = MAX(MIN(s, ha), -ha);
    VF r = MAX(MIN(FMA(s, cos, -tb), hb), -hb);
    s = MAX(MIN(FMA(r, cos, ta), ha), -ha);
    V3 pa = T(scale)(s, ua), pb = T(axpy)(r, ub, t), x = T(sub)(pb, pa);
    VM in_a = LT(MAX(s, -s), ha), in_b = LT(MAX(r, -r), hb);

    VF drop_a = SEL(MANDN(in_a, in_b), T(dot)(x, ua), zero), drop_b = SEL(MANDN(in_b, in_a), T(dot)(x, ub), zero);
    V3 n1 = unit(T(axpy)(-drop_b, ub, T(axpy)(-drop_a, ua, x)));

    // Orthogonal to ua and to ub − ua, or ub + ua: to both to the last digit, however
    // nearly parallel they are. If they are parallel, x decides, or else anything.
    V3 w = T(axpy)(-COPYSIGN(one, cos), ua, ub), wx = T(cross)(ua, unit(x));
    V3 other = T(sel)(LT(ua.x * ua.x, SET1(0.5)), (V3){one, zero, zero}, (V3){zero, one, zero});
    wx = T(sel)(LT(T(dot)(wx, wx), SET1(1e-20)), other, wx);
    w = T(sel)(LT(T(dot)(w, w), SET1(1e-28)), wx, w);
    V3 n2 = unit(T(cross)(ua, unit(w)));
    n2 = T(scale)(COPYSIGN(one, T(dot)(n2, x)), n2);

    VF a1 = T(dot)(n1, ua), b1 = T(dot)(n1, ub), a2 = T(dot)(n2, ua), b2 = T(dot)(n2, ub);
    VF h1 = T(dot)(n1, t) - ha * MAX(a1, -a1) - hb * MAX(b1, -b1), h2 = T(dot)(n2, t) - ha * MAX(a2, -a2) - hb * MAX(b2, -b2);
    VM first = MAND(is_unit(n1), MOR(LE(h2, h1), MANDN(LE(h1, h1), is_unit(n2))));
    o.n = T(sel)(first, n1, n2);
    VF low = SEL(first, h1, h2), length = SQRT(T(dot)(x, x));
    V3 side = T(axpy)(-length, o.n, x); // by what the witnesses are not distance·normal apart
    o.distance = length - radius;
    o.upper = o.distance + in->round;
    o.lower = low - radius - in->round;
    o.a = T(axpy)(in->radius[0], o.n, pa);
    o.b = T(axpy)(-in->radius[1], o.n, pb);
    VF gap = MAX(o.upper - o.distance, o.distance - o.lower);
    o.ok = MAND(MAND(meets_tolerance(c, in, &o), LE(T(dot)(side, side), gap * gap)), MAND(is_unit(o.n), LE(o.lower, o.upper)));
    return o;
}

// box_point is for a box and a sphere; `flip` says that B is the box. Outside the
// normal is a combination of those of the faces that the point lies beyond, inside it
// is that of the nearest face: the depth of a point in a box is the least of six.
ALWAYS closed_out box_point(const closed_in *in, int flip) {
    closed_out o;
    const VF zero = SET1(0), one = SET1(1);
    VF m[9];
    matrix(in->w[flip], in->v[flip], m);
    V3 e = in->p[flip], t = flip ? T(neg)(in->t) : in->t; // from the box to the point
    V3 p = turn_back(m, t);
    V3 q = {MAX(MIN(p.x, e.x), -e.x), MAX(MIN(p.y, e.y), -e.y), MAX(MIN(p.z, e.z), -e.z)};
    V3 d = T(sub)(p, q);
    VF dd = T(dot)(d, d), length = SQRT(dd);
    VM out = LT(SET1(1e-200), dd);
    VF r = one / SEL(out, length, one);
    // Inside, or nearly outside.
    VF fx = e.x - MAX(p.x, -p.x), fy = e.y - MAX(p.y, -p.y), fz = e.z - MAX(p.z, -p.z);
    VM y = LT(fy, fx), z = LT(fz, MIN(fx, fy));
    VF depth = MIN(MIN(fx, fy), fz);
    V3 face = {SEL(MOR(y, z), zero, COPYSIGN(one, p.x)), SEL(MANDN(y, z), COPYSIGN(one, p.y), zero), SEL(z, COPYSIGN(one, p.z), zero)};
    V3 n = T(sel)(out, T(scale)(r, d), face);
    q = T(sel)(out, q, T(axpy)(depth, face, p));
    VF core = SEL(out, length, -depth);
    n = turn(m, n);
    V3 on_box = T(axpy)(in->radius[flip], n, turn(m, q)), on_ball = T(axpy)(-in->radius[1 - flip], n, t);
    o.distance = core - (in->radius[0] + in->radius[1]);
    o.lower = o.distance - in->round;
    o.upper = o.distance + in->round;
    // Seen from A, which may be the point.
    o.n = flip ? T(neg)(n) : n;
    o.a = flip ? T(sub)(on_ball, t) : on_box;
    o.b = flip ? T(sub)(on_box, t) : on_ball;
    o.ok = LE(o.lower, o.upper);
    return o;
}
