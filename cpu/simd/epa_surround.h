// Depths of cores of revolution: a local minimum of the heights of D (epa_rims.h), a cap of
// directions around it where nothing is lower (epa_caps.h), and a polytope for the others.
// Float64; included by epa.h.
//
// The polytope is that of epa.h with one vertex more that is no point of D, the apex
// a = n·L√(1 + t²), for a cap of size t. Once a ball of radius λ ≤ L is inside, every direction
// has a vertex as high as λ. If it is the apex, the direction is no more than acos(λ/|a|) from n,
// and in the cap; else it is a point of D. So D is as high as λ along all directions. Of the
// 21 steps of EPA for a pair of cylinders or cones this leaves about four: those that come
// close to the nearest point of D, two for every digit, are under the apex.
//
// Where a face finds D lower than L, there is another minimum, which is looked for from there.

#define SURROUND_STEPS 48
#define SURROUND_ROUNDS 3

// What surround is to prove of each lane.
typedef struct {
    double apex[3][W] __attribute__((aligned(64)));
    double low[W] __attribute__((aligned(64)));   // L
    double least[W] __attribute__((aligned(64))); // λ that is enough
    double along[3][W] __attribute__((aligned(64))); // direction along which D is lower
    unsigned refuted;                                // lanes that have one
} surroundings;

// surround expands the polytopes of `lanes` around the apex until no face is below it, and returns
// the lanes where none is.
static __attribute__((noinline)) unsigned surround(polytope *p, const T(places) *at, unsigned lanes, surroundings *s, const double *stop, depth_of *out) {
    unmeasured list;
    double vertex[8][W] __attribute__((aligned(64))) = {{0}}, h[W] __attribute__((aligned(64))), n[3][W] __attribute__((aligned(64)));
    unsigned found = 0;
    list.count = 0;
    memcpy(vertex, s->apex, sizeof s->apex);
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        put_vertex(p + l, vertex, l);
        if (!expand(p + l, &list)) lanes &= ~(1u << l);
    }
    measure_faces(&list);
    for (int step = 0; step < SURROUND_STEPS; step++) {
        for (unsigned m = lanes; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            if (!(p[l].least >= s->low[l])) continue;
            found |= 1u << l;
            lanes &= ~(1u << l);
        }
        if (!lanes) break;
        V3 d;
        VF height;
        store_vertices(vertex, highest(p, at, CLR_ROUND, CLR_ROUND, lanes, stop, &d, &height));
        STOREU(h, height);
        T(st3)(n[0], W, d);
        for (unsigned m = lanes; m; m &= m - 1) {
            int l = __builtin_ctz(m), f = p[l].nearest;
            out[l].steps++;
            if (h[l] < s->least[l]) {
                s->refuted |= 1u << l;
                for (int j = 0; j < 3; j++) s->along[j][l] = n[j][l];
            } else if (h[l] > p[l].top[f]) {
                put_vertex(p + l, vertex, l);
                if (expand(p + l, &list)) continue;
            } else if (p[l].key[f] >= s->least[l]) found |= 1u << l;
            lanes &= ~(1u << l);
        }
        if (list.count > 0) measure_faces(&list);
    }
    return found;
}

// revolved answers the lanes of two cores of revolution that it can, and returns them. The
// polytopes begin with the tetrahedra of `seed`.
static __attribute__((noinline)) unsigned revolved(polytope *p, const T(places) *at, const vertices_of seed[4], unsigned lanes, VF round, const double *stops, depth_of *out) {
    const rim_pair r = rims_at(at);
    const VF stop = LOADU(stops), one = SET1(1), zero = SET1(0);
    rim_place q;
    VM even[2];
    surroundings s;
    int steps[W] = {0};
    unsigned answered = 0;
    q.n = rim_starts(&r, q.face, even);
    for (int turn = 0; turn < SURROUND_ROUNDS && lanes; turn++) {
        unsigned minimal = find_rims(&r, &q, lanes, even, SET1(0.125) * stop, steps);
        VF off = SQRT(flat_dot(q.left, q.left)), inside[2] = {q.r[0] - off, q.r[1] - off};
        VF t = cap_size(&r, &q, inside), bend = SEL(MOR(q.face[0], q.face[1]), zero, off);
        VF high = T(dot)(q.n, pair_vertices(at, CLR_ROUND, CLR_ROUND, q.n, lanes).w);
        VF low = FNMA(bend, t, q.h - q.low) - SET1(4) * round;
        VF t2 = t * t, apex = low * SQRT(FMA(SET1(0.98), t2, one));
        // The points that touch: on circles between the rims, on an end across from the other core's.
        V3 part[2], across = T(axpy)(q.left.x, q.e, T(scale)(q.left.y, q.f));
        for (int i = 0; i < 2; i++) {
            V3 point = T(axpy)(q.sigma[i] * r.core[i].half, r.core[i].axis, T(scale)(q.r[i], q.lateral[i]));
            part[i] = T(sel)(q.face[i], T(sub)(point, across), point);
        }
        V3 near = T(sub)(T(add)(part[0], part[1]), r.origin), side = T(axpy)(-high, q.n, near);
        VF apart = SQRT(T(dot)(side, side));
        VM close = MAND(LE(high - low, stop), LE(apart, stop)), good = MAND(LT(zero, t), MAND(LT(round, low), is_unit(q.n)));
        T(st3)(s.apex[0], W, T(scale)(apex, q.n));
        STOREU(s.low, low);
        STOREU(s.least, MAX(high - stop, apex / SQRT(one + t2)));
        s.refuted = 0;
        unsigned solid = tetrahedra(p, seed, round), ok = surround(p, at, minimal & solid & MBITS(MAND(close, good)), &s, stops, out);
        double v[9][W] __attribute__((aligned(64))), highs[W] __attribute__((aligned(64))), offs[W] __attribute__((aligned(64)));
        T(st3)(v[0], W, q.n);
        T(st3)(v[3], W, part[0]);
        T(st3)(v[6], W, near);
        STOREU(highs, high);
        STOREU(offs, apart);
        for (unsigned m = ok; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            depth_of *o = out + l;
            o->upper = highs[l];
            o->lower = p[l].least < s.low[l] ? p[l].least : s.low[l];
            o->off = offs[l];
            for (int j = 0; j < 3; j++) o->n[j] = v[j][l], o->a[j] = v[3 + j][l], o->near[j] = v[6 + j][l];
        }
        answered |= ok;
        // There are minima still to be reached, and others.
        const VM other = MFROM(s.refuted);
        lanes = s.refuted | (lanes & ~minimal);
        q.n = T(sel)(other, T(ld3)(s.along[0], W), q.n);
        for (int i = 0; i < 2; i++) q.face[i] = LT(one, zero), even[i] = MANDN(even[i], other);
    }
    for (int l = 0; l < W; l++) out[l].steps += steps[l];
    return answered;
}
