// What float32 found about depths (epa_sketch.h), proved in float64. Included by epa.h.

// recall rebuilds, in float64, the faces that may be the nearest of the polytopes of `lanes`. It
// returns the lanes whose vertices are where float32 took them to be.
static __attribute__((noinline)) unsigned recall(polytope *p, const T(places) *at, const clr_scratch *s, int k, int ka, int kb, unsigned lanes, VF round) {
    double off[W] __attribute__((aligned(64))), vertex[8][W] __attribute__((aligned(64)));
    const VF span = LOADU(&s->more[CLR_SPAN][k]), error = SET1(SKETCH_ERROR - SKETCH_SPREAD) * span;
    VM good = LE(round, round);
    unmeasured list;
    int most = 0;
    STOREU(off, round);
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m), vertices = s->found[k + l].vertices;
        most = vertices > most ? vertices : most;
        p[l].vertices = 0;
    }
    for (int i = 0; i < most; i++) {
        double d[2][3][W] __attribute__((aligned(64))) = {{{0}}}, w[3][W] __attribute__((aligned(64))) = {{0}}, number[2][W] __attribute__((aligned(64)));
        int32_t index[2][W] = {{0}};
        for (unsigned m = lanes; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            const clr_found *f = s->found + k + l;
            const int v = i < f->vertices ? i : 0;
            for (int j = 0; j < 3; j++) w[j][l] = (double)f->w[v][j];
            for (int side = 0; side < 2; side++)
                if ((side ? kb : ka) >= CLR_SMALL) index[side][l] = f->number[v][side];
                else for (int j = 0; j < 3; j++) d[side][j][l] = (double)f->d[v][side][j];
        }
        for (int l = 0; l < W; l++) number[0][l] = index[0][l], number[1][l] = index[1][l];
        vertices_of v = {.number = {LOADU(number[0]), LOADU(number[1])}};
        V3 b;
        v.w = vertex_of(at, T(ld3)(d[0][0], W), T(ld3)(d[1][0], W), index[0], index[1], ka, kb, &v.a, &b);
        V3 apart = T(axpy)(-span, T(ld3)(w[0], W), v.w);
        good = MAND(good, LE(T(dot)(apart, apart), error * error));
        store_vertices(vertex, v);
        for (unsigned m = lanes; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            if (i < s->found[k + l].vertices) put_vertex(p + l, vertex, l);
        }
    }
    list.count = 0;
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        const clr_found *found = s->found + k + l;
        polytope *q = p + l;
        q->round = off[l];
        q->faces = found->faces;
        q->nearest = 0;
        q->least = INFINITY;
        for (int f = 0; f < q->faces; f++) {
            const uint8_t *c = found->corner[f];
            for (int j = 0; j < 4; j++) q->corner[f][j] = c[j % 3];
            list.a[list.count] = q->w[c[0]], list.b[list.count] = q->w[c[1]], list.c[list.count] = q->w[c[2]];
            list.of[list.count] = q;
            list.face[list.count++] = (uint16_t)f;
        }
    }
    measure_faces(&list);
    return lanes & MBITS(good);
}

// prove answers those of `lanes` that float32 has searched and float64 can confirm: the support
// plane of the nearest face is no higher than the lowest face, those included that float32
// knows to SKETCH_ERROR alone.
static unsigned prove(polytope *p, const T(places) *at, const clr_scratch *s, int k, int ka, int kb, unsigned lanes, VF round, const double *stop, depth_of *out) {
    double h[W] __attribute__((aligned(64)));
    unsigned found = 0;
    for (unsigned m = lanes; m; m &= m - 1)
        if (!s->searched[k + __builtin_ctz(m)]) lanes &= ~(m & -m);
    if (lanes) lanes = recall(p, at, s, k, ka, kb, lanes, round);
    if (!lanes) return 0;
    V3 d;
    VF height;
    highest(p, at, ka, kb, lanes, stop, &d, &height);
    STOREU(h, height);
    lanes &= MBITS(is_unit(d));
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m), f = p[l].nearest;
        double beyond = ((double)s->found[k + l].beyond - SKETCH_ERROR) * s->more[CLR_SPAN][k + l];
        depth_of *o = out + l;
        o->lower = beyond < p[l].key[f] ? beyond : p[l].key[f];
        o->upper = h[l];
        o->steps = 1;
        if (!(o->lower > p[l].round) || !(o->upper - o->lower <= stop[l])) continue;
        o->n[0] = p[l].nx[f], o->n[1] = p[l].ny[f], o->n[2] = p[l].nz[f];
        witnesses(p + l, f, stop[l], o);
        if (o->off <= stop[l]) found |= 1u << l;
    }
    return found;
}
