// Support points of hulls. A template, see vec3.h.

#if REAL_BITS == 32
#define VERTEX(axis) at->call->f##axis
#else
#define VERTEX(axis) at->call->v##axis
#endif

#if REAL_BITS == 32
// copied_support scans small hulls, each lane its own copy, already scaled. Lanes with
// fewer vertices than others have their last one several times, which a strict
// comparison never takes.
ALWAYS V3 T(copied_support)(const T(places) *at, int side, V3 d, VF *found) {
    const REAL (*v)[3][W] = at->copy[side];
    V3 best = {LOADU(v[0][0]), LOADU(v[0][1]), LOADU(v[0][2])};
    VF most = T(dot)(d, best), index = SET1(0);
    for (int j = 1; j < at->copied[side]; j++) {
        V3 u = {LOADU(v[j][0]), LOADU(v[j][1]), LOADU(v[j][2])};
        VF h = T(dot)(d, u);
        VM m = LT(most, h);
        most = SEL(m, h, most);
        index = SEL(m, SET1((REAL)j), index);
        best = T(sel)(m, u, best);
    }
    *found = index;
    return best;
}
#endif

// scan returns a vertex of a hull that is highest along d, one of the machine's lanes a
// vertex, and its height.
ALWAYS int T(scan)(const REAL *x, const REAL *y, const REAL *z, int count, REAL dx, REAL dy, REAL dz, REAL *height) {
    static const REAL ramp[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const VF ux = SET1(dx), uy = SET1(dy), uz = SET1(dz);
    VF most = FMA(uz, LOADU(z), FMA(uy, LOADU(y), ux * LOADU(x))), index = LOADU(ramp), at = index;
    for (int j = W; j < count; j += W) {
        at = at + SET1((REAL)W);
        VF h = FMA(uz, LOADU(z + j), FMA(uy, LOADU(y + j), ux * LOADU(x + j)));
        VM m = LT(most, h);
        most = MAX(h, most); // a shorter chain than a selection by m
        index = SEL(m, at, index);
    }
    REAL i[W] __attribute__((aligned(64)));
    STOREU(i, index);
    *height = HMAX(most);
    unsigned equal = MBITS(LE(SET1(*height), most)); // none only if there is a NaN
    int found = equal ? (int)i[__builtin_ctz(equal)] : 0;
    return found < count ? found : count - 1; // the vertices that fill up are copies of the last
}

// pick loads vertex index[l] of the hull of each lane.
ALWAYS V3 T(pick)(const T(places) *at, int side, const int32_t *index) {
    REAL v[3][W] __attribute__((aligned(64)));
    for (int l = 0; l < W; l++) {
        int i = at->first[side][l] + index[l];
        v[0][l] = VERTEX(x)[i];
        v[1][l] = VERTEX(y)[i];
        v[2][l] = VERTEX(z)[i];
    }
    return T(ld3)(&v[0][0], W);
}

// hull_support scans the hulls of the lanes one after the other.
ALWAYS V3 T(hull_support)(const T(places) *at, int side, V3 d, VF *found) {
    REAL u[3][W] __attribute__((aligned(64))), index[W] __attribute__((aligned(64))) = {0}, height;
    int32_t pick[W] = {0};
    T(st3)(&u[0][0], W, d);
    for (unsigned m = at->lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m), f = at->first[side][l];
        pick[l] = T(scan)(VERTEX(x) + f, VERTEX(y) + f, VERTEX(z) + f, at->count[side][l], u[0][l], u[1][l], u[2][l], &height);
        index[l] = (REAL)pick[l];
    }
    *found = LOADU(index);
    V3 v = T(pick)(at, side, pick);
#if REAL_BITS == 32
    v = T(scale)(LOADU(at->in + ((side ? CLR_PB : CLR_PA) + 3) * at->stride), v);
#endif
    return v;
}

// hull_height is the height of the hulls of the lanes along d.
ALWAYS VF T(hull_height)(const T(places) *at, int side, V3 d) {
    REAL u[3][W] __attribute__((aligned(64))), height[W] __attribute__((aligned(64))) = {0};
    T(st3)(&u[0][0], W, d);
    for (unsigned m = at->lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m), f = at->first[side][l], n = at->count[side][l];
        const REAL *x = VERTEX(x) + f, *y = VERTEX(y) + f, *z = VERTEX(z) + f;
        const VF ux = SET1(u[0][l]), uy = SET1(u[1][l]), uz = SET1(u[2][l]);
        VF most = FMA(uz, LOADU(z), FMA(uy, LOADU(y), ux * LOADU(x)));
        for (int j = W; j < n; j += W) most = MAX(FMA(uz, LOADU(z + j), FMA(uy, LOADU(y + j), ux * LOADU(x + j))), most);
        height[l] = HMAX(most);
    }
    return LOADU(height);
}

#undef VERTEX
