// Do two boxes intersect? By separating axes: two boxes are apart if and only if the
// normal of a face of either, or the cross product of an edge of each, separates
// them (Gottschalk, Lin, Manocha: OBBTree, 1996, sec. 5). A template, float64.
//
// Rounding. An axis is believed to separate only if its plane, evaluated anew at the
// corners that it supports, proves it, as every answer of the iterated solver. That
// none separates is believed only if on all fifteen axes the intervals overlap by
// more than rounding. What is in between goes to the iterated solver.
//
// A cross product of edges that are parallel is zero, or noise, and overlaps by no
// margin. If all cross products are either shorter than NEARLY_PARALLEL or longer than
// CLEARLY_CROSSED, turning B by at most φ = 2·NEARLY_PARALLEL makes the short ones zero,
// and these axes needless. That moves points of B by φ·size, turns the long cross
// products by φ/CLEARLY_CROSSED at most, and so changes the overlap along a unit axis
// by no more than φ·size + 2·size·φ/CLEARLY_CROSSED < 5e-6·size. An overlap of more than
// PARALLEL_MARGIN·size on every unit axis outlasts that.
#define NEARLY_PARALLEL 1e-10
#define CLEARLY_CROSSED 1e-4
#define PARALLEL_MARGIN 1e-5

// The entries of a rotation are off by 8 eps (ref.Pair.Roundoff), so the dot product of
// two axes by 31 eps, and the sums below by less than 75 eps times the lengths in
// them: 96 eps·scale is four times `round`.
#define AXIS_ERROR 4

// boxes answers where one of both is proved. The distance is that of the plane of the
// best axis: where the boxes intersect, that of the best face.
ALWAYS closed_out boxes(const closed_in *in) {
    closed_out o;
    const VF zero = SET1(0), one = SET1(1);
    VF ra[9], rb[9], rotation[9], m[3][3], q[3][3];
    matrix(in->w[0], in->v[0], ra);
    matrix(in->w[1], in->v[1], rb);
    relative(ra, rb, rotation);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            m[i][j] = rotation[3 * i + j];
            q[i][j] = magnitude(m[i][j]);
        }
    const V3 ta = turn_back(ra, in->t), tb = turn_back(rb, in->t);
    const VF t[3] = {ta.x, ta.y, ta.z}, u[3] = {tb.x, tb.y, tb.z};
    const VF a[3] = {in->p[0].x, in->p[0].y, in->p[0].z}, b[3] = {in->p[1].x, in->p[1].y, in->p[1].z};
    const VF error = SET1(AXIS_ERROR) * in->round, radius = in->radius[0] + in->radius[1];

    // Faces. n is the axis, in the frame of A.
    VF best = SET1(-1e300);
    V3 n = {one, zero, zero};
    for (int i = 0; i < 3; i++) {
        VF apart = magnitude(t[i]) - (a[i] + FMA(b[2], q[i][2], FMA(b[1], q[i][1], b[0] * q[i][0])));
        VM more = LT(best, apart);
        VF sign = COPYSIGN(one, t[i]);
        VF axis[3] = {zero, zero, zero};
        axis[i] = sign;
        n = T(sel)(more, (V3){axis[0], axis[1], axis[2]}, n);
        best = SEL(more, apart, best);
    }
    for (int j = 0; j < 3; j++) {
        VF apart = magnitude(u[j]) - (b[j] + FMA(a[2], q[2][j], FMA(a[1], q[1][j], a[0] * q[0][j])));
        VM more = LT(best, apart);
        VF sign = COPYSIGN(one, u[j]);
        n = T(sel)(more, (V3){sign * m[0][j], sign * m[1][j], sign * m[2][j]}, n);
        best = SEL(more, apart, best);
    }
    VM by_face = LT(error + radius, best), overlap = MANDN(LT(one, zero), by_face);
    if (MBITS(by_face) != LANES) {
        // Edges. Of the cross products that separate, the one that does so most per
        // length wins; lengths are compared squared.
        VF most = zero, length2 = one, least = -best; // least overlap along a unit axis
        VM clear = LT(best, -error), parallel = LT(one, zero), doubtful = parallel;
        V3 edge = n;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
                VF x1 = m[i1][j], x2 = m[i2][j], s = FNMA(t[i1], x2, t[i2] * x1); // aᵢ × bⱼ = x1·a₍ᵢ₊₂₎ − x2·a₍ᵢ₊₁₎
                VF apart = magnitude(s) - (FMA(a[i1], q[i2][j], a[i2] * q[i1][j]) + FMA(b[j1], q[i][j2], b[j2] * q[i][j1]));
                VF l2 = FMA(x1, x1, x2 * x2);
                VM is_short = LT(l2, SET1(NEARLY_PARALLEL * NEARLY_PARALLEL)), is_long = LT(SET1(CLEARLY_CROSSED * CLEARLY_CROSSED), l2);
                parallel = MOR(parallel, is_short);
                doubtful = MANDN(MOR(doubtful, MANDN(LE(l2, l2), is_long)), is_short);
                clear = MAND(clear, MOR(LT(apart, -error), is_short));
                // apart/|axis| ≥ apart for negative ones: a bound that needs no root.
                least = SEL(is_long, MIN(least, -apart), least);
                VM more = MAND(LT(error, apart), LT(most * l2, apart * apart * length2));
                most = SEL(more, apart * apart, most);
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
        VM sure = MAND(clear, MOR(MANDN(clear, parallel), MANDN(LT(SET1(PARALLEL_MARGIN) * size, least), doubtful)));
        overlap = MANDN(sure, MOR(by_face, by_edge));
    } else {
        overlap = LT(one, zero);
    }

    // The corners that n supports, and their plane.
    n = unit(n);
    V3 pa = {COPYSIGN(a[0], n.x), COPYSIGN(a[1], n.y), COPYSIGN(a[2], n.z)};
    VF d[3];
    for (int j = 0; j < 3; j++) d[j] = FMA(m[2][j], n.z, FMA(m[1][j], n.y, m[0][j] * n.x));
    V3 cb = {-COPYSIGN(b[0], d[0]), -COPYSIGN(b[1], d[1]), -COPYSIGN(b[2], d[2])};
    V3 pb = T(add)(ta, (V3){FMA(m[0][2], cb.z, FMA(m[0][1], cb.y, m[0][0] * cb.x)), FMA(m[1][2], cb.z, FMA(m[1][1], cb.y, m[1][0] * cb.x)), FMA(m[2][2], cb.z, FMA(m[2][1], cb.y, m[2][0] * cb.x))});
    V3 x = T(sub)(pb, pa);
    VF low = T(dot)(n, x);
    V3 side = T(axpy)(-low, n, x);
    VF slack = in->round + SQRT(T(dot)(side, side));
    o.distance = low - radius;
    o.lower = o.distance - SEL(overlap, slack, in->round);
    o.upper = SEL(overlap, zero - SET1(1e-300), o.distance + slack);
    o.n = turn(ra, n);
    o.a = turn(ra, T(axpy)(in->radius[0], n, pa));
    o.b = turn(ra, T(axpy)(-in->radius[1], n, pb));
    o.ok = MAND(is_unit(n), MOR(LT(zero, o.lower), overlap));
    return o;
}

#undef NEARLY_PARALLEL
#undef CLEARLY_CROSSED
#undef PARALLEL_MARGIN
#undef AXIS_ERROR
