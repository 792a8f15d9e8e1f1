// Half-space against any shape with a class. A template, float64.

// half_support is the support point of the core of body `side`, of class k, along d.
ALWAYS V3 half_support(const clr_call *c, const closed_in *in, int side, int k, V3 d) {
    double columns[CLR_PA + 4][W] __attribute__((aligned(64)));
    T(hulls) hulls;
    T(places) at = {.call = c, .in = columns[0], .stride = W, .hull = {&hulls, &hulls}, .lanes = MBITS(in->good)};
    VF found;
    T(st3)(columns[CLR_PA], W, in->p[side]);
    for (int l = 0; l < W; l++) {
        columns[CLR_PA + 3][l] = in->shape[side][l]->erode;
        if (IN_LANES(k)) T(set_hull)(&hulls, l, in->shape[side][l], k);
    }
    return T(side_support)(&at, k, 0, d, inverse_length(d), &found);
}

// half is for a half-space, which is body `side`, and a shape of class k: along the
// outward normal of the plane, the signed distance is the height of the lowest point.
ALWAYS closed_out half(const clr_call *c, const closed_in *in, int side, int k) {
    closed_out o;
    const int other = 1 - side;
    V3 n = axis(in->w[side], in->v[side]);
    VF m[9];
    matrix(in->w[other], in->v[other], m);
    V3 p = half_support(c, in, other, k, T(neg)(turn_back(m, n)));
    p = turn(m, p);
    V3 t = side ? T(neg)(in->t) : in->t; // from the plane to the shape
    o.distance = T(dot)(n, T(add)(p, t)) - (in->radius[0] + in->radius[1]);
    VF round = FMA(SET1(power_units(k) * 0x1p-53), in->size, in->round);
    o.lower = o.distance - round;
    o.upper = o.distance + round;
    V3 lowest = T(axpy)(-in->radius[other], n, side ? p : T(add)(p, t)), on_plane = T(axpy)(-o.distance, n, lowest);
    o.n = side ? T(neg)(n) : n;
    o.a = side ? lowest : on_plane;
    o.b = side ? on_plane : lowest;
    o.ok = LE(o.lower, o.upper);
    return o;
}
