// Half-space against any shape with a class. A template, float64.

// half_scan is the vertex of the hull of each lane that is highest along d.
ALWAYS V3 half_scan(const clr_call *c, const closed_in *in, int side, V3 d) {
    double u[3][W] __attribute__((aligned(64))), p[3][W] __attribute__((aligned(64))), best[W] __attribute__((aligned(64)));
    T(st3)(&u[0][0], W, d);
    for (int l = 0; l < W; l++) {
        const clr_shape *h = in->shape[side][l];
        const double *x = c->vx + h->first, *y = c->vy + h->first, *z = c->vz + h->first;
        const VF ux = SET1(u[0][l]), uy = SET1(u[1][l]), uz = SET1(u[2][l]);
        VF most = SET1(-1e300), found = SET1(0);
        for (int j = 0; j < h->count; j += W) { // filled up with copies of the last vertex
            VF height = FMA(uz, LOADU(z + j), FMA(uy, LOADU(y + j), ux * LOADU(x + j)));
            VM m = LT(most, height);
            most = SEL(m, height, most);
            found = SEL(m, SET1(j), found);
        }
        STOREU(best, found);
        unsigned highest = MBITS(LE(SET1(HMAX(most)), most)); // none only if there is a NaN
        int i = highest ? (int)best[__builtin_ctz(highest)] + __builtin_ctz(highest) : 0;
        p[0][l] = x[i];
        p[1][l] = y[i];
        p[2][l] = z[i];
    }
    return T(ld3)(&p[0][0], W);
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
        p = half_scan(c, in, other, d);
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
