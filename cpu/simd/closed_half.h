// Half-space against any shape with a class. A template, float64.

// half_hull is the vertex of the hull of each lane that is highest along d.
ALWAYS V3 half_hull(const clr_call *c, const closed_in *in, int side, V3 d) {
    T(hulls) hulls;
    T(places) at = {.call = c, .hull = {&hulls, &hulls}, .lanes = MBITS(in->good)};
    VF found;
    for (int l = 0; l < W; l++) T(set_hull)(&hulls, l, in->shape[side][l], CLR_HULL);
    return T(hull_support)(&at, 0, d, inverse_length(d), &found);
}

// half is for a half-space, which is body `side`, and a shape of class k: along the
// outward normal of the plane, the signed distance is the height of the lowest point.
ALWAYS closed_out half(const clr_call *c, const closed_in *in, int side, int k) {
    closed_out o;
    const int other = 1 - side;
    V3 n = axis(in->w[side], in->v[side]);
    VF m[9];
    matrix(in->w[other], in->v[other], m);
    V3 d = T(neg)(turn_back(m, n)), p;
    if (k == CLR_HULL) {
        p = half_hull(c, in, other, d);
    } else {
        double cols[4][W] __attribute__((aligned(64)));
        T(st3)(cols[0], W, in->p[other]);
        for (int l = 0; l < W; l++) cols[3][l] = in->shape[other][l]->erode;
        p = T(core_support)(k, cols[0], W, d, inverse_length(d));
    }
    p = turn(m, p);
    V3 t = side ? T(neg)(in->t) : in->t; // from the plane to the shape
    o.distance = T(dot)(n, T(add)(p, t)) - (in->radius[0] + in->radius[1]);
    o.lower = o.distance - in->round;
    o.upper = o.distance + in->round;
    V3 lowest = T(axpy)(-in->radius[other], n, side ? p : T(add)(p, t)), on_plane = T(axpy)(-o.distance, n, lowest);
    o.n = side ? T(neg)(n) : n;
    o.a = side ? lowest : on_plane;
    o.b = side ? on_plane : lowest;
    o.ok = LE(o.lower, o.upper);
    return o;
}
