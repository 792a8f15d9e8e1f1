// Surfaces of epa_sketch.h mended a number at a time: a table of the face to the left of every
// directed edge, and loops over the faces and edges of all pairs together. The border are the edges
// of faces seen beyond which is a face that is not: those of one of them, as each edge has one face
// on either side as long as every vertex of a border begins one of its edges only, which is checked.
// Included by epa_sketch.h where there are no vectors to do as epa_mend_wide.h does.

// sketch_faces computes the planes of W faces with corners a, b, c, and puts them in their
// places; the same face may be there several times.
ALWAYS void sketch_faces(const float *const a[W], const float *const b[W], const float *const c[W], sketch *const of[W], const uint8_t place[W]) {
    VF va[4], vb[4], vc[4];
    ROWS(va, a, 15)
    ROWS(vb, b, 15)
    ROWS(vc, c, 15)
    sketch_planes p = sketch_planes_of((V3){va[0], va[1], va[2]}, (V3){vb[0], vb[1], vb[2]}, (V3){vc[0], vc[1], vc[2]});
    float n[3][W] __attribute__((aligned(64))), low[W] __attribute__((aligned(64)));
    T(st3)(n[0], W, p.n);
    STOREU(low, p.low);
    for (int l = 0; l < W; l++) {
        sketch *q = of[l];
        int f = place[l];
        q->nx[f] = n[0][l], q->ny[f] = n[1][l], q->nz[f] = n[2][l], q->key[f] = low[l];
    }
}

ALWAYS void put_sketch_face(sketch *q, int f, unsigned i, unsigned j, unsigned k) {
    const uint8_t corner[4] = {(uint8_t)i, (uint8_t)j, (uint8_t)k, 0};
    memcpy(q->corner[f], corner, sizeof corner);
    q->left[i][j] = q->left[j][k] = q->left[k][i] = (uint8_t)f;
}

// put_tetrahedra gives the polytopes of `lanes` their first vertices and faces.
ALWAYS void put_tetrahedra(sketch *q, unsigned lanes, const sketch_vertices v[4], const sketch_planes p[4], int ka, int kb) {
    float vertex[4][SKETCH_COLUMNS][W] __attribute__((aligned(64))), plane[4][4][W] __attribute__((aligned(64)));
    for (int f = 0; f < 4; f++) {
        store_sketch_vertices(vertex[f], v[f]);
        T(st3)(plane[f][0], W, p[f].n);
        STOREU(plane[f][3], p[f].low);
    }
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        sketch *s = q + l;
        for (int f = 0; f < SKETCH_FACES; f += W) STOREU(s->key + f, SET1(INFINITY));
        s->live = 15;
        s->vertices = 0;
        for (int f = 0; f < 4; f++) {
            put_sketch_vertex(s, (const float(*)[W])vertex[f], l, ka, kb);
            put_sketch_face(s, f, tetrahedron[f][0], tetrahedron[f][1], tetrahedron[f][2]);
            s->nx[f] = plane[f][0][l], s->ny[f] = plane[f][1][l], s->nz[f] = plane[f][2][l];
            s->key[f] = plane[f][3][l];
        }
    }
}

// grow_sketches gives the polytopes of `lanes` their newest vertices: the faces that these see
// are replaced by fans. It returns the lanes whose surface stays closed; the others are spoilt.
// The loops run over the faces and edges of all lanes together, for their ends to be foreseen.
static __attribute__((noinline)) unsigned grow_sketches(sketch *q, unsigned lanes) {
    enum { ROOM = 3 * SKETCH_FACES };
    uint64_t seen[W + 1], free_places[W];
    uint32_t starts[W] = {0}, border[ROOM * W + W];
    uint8_t lane[W + 1] = {0};
    int count = 0, faces = 0, edges = 0;
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        lane[count] = (uint8_t)l;
        const float *apex = q[l].w[q[l].vertices - 1];
        seen[count] = seen_faces(q + l, apex[0], apex[1], apex[2]);
        free_places[l] = ~q[l].live | seen[count];
        faces += __builtin_popcountll(seen[count++]);
    }
    // The border: edges of faces seen with a face beyond that is not.
    int at = 0;
    uint64_t rest = seen[0];
    seen[count] = 1;
    for (int i = 0; i < faces; i++) {
        const unsigned l = lane[at], f = (unsigned)__builtin_ctzll(rest);
        const sketch *p = q + l;
        const unsigned a = p->corner[f][0], b = p->corner[f][1], c = p->corner[f][2];
        const uint64_t all = seen[at];
        border[edges] = l << 16 | a << 8 | b, edges += !(all >> p->left[b][a] & 1);
        border[edges] = l << 16 | b << 8 | c, edges += !(all >> p->left[c][b] & 1);
        border[edges] = l << 16 | c << 8 | a, edges += !(all >> p->left[a][c] & 1);
        rest &= rest - 1;
        at += rest == 0;
        rest = rest == 0 ? seen[at] : rest;
    }
    for (int e = 0; e < edges; e += W) {
        const float *a[W], *b[W], *c[W];
        sketch *of[W];
        uint8_t place[W];
        int n = edges - e < W ? edges - e : W;
        for (int k = 0; k < n; k++) {
            const uint32_t edge = border[e + k], l = edge >> 16, i = edge >> 8 & 0xff, j = edge & 0xff;
            sketch *p = q + l;
            const int apex = p->vertices - 1, f = __builtin_ctzll(free_places[l] | (uint64_t)1 << 63);
            free_places[l] &= free_places[l] - 1;
            starts[l] |= (uint32_t)1 << i;
            put_sketch_face(p, f, i, j, (unsigned)apex);
            a[k] = p->w[i], b[k] = p->w[j], c[k] = p->w[apex];
            of[k] = p;
            place[k] = (uint8_t)f;
        }
        for (int k = n; k < W; k++) a[k] = a[n - 1], b[k] = b[n - 1], c[k] = c[n - 1], of[k] = of[n - 1], place[k] = place[n - 1];
        sketch_faces(a, b, c, of, place);
    }
    for (int i = 0; i < count; i++) {
        const int l = lane[i], before = __builtin_popcountll(~q[l].live | seen[i]), after = __builtin_popcountll(free_places[l]);
        q[l].live = ~free_places[l];
        for (uint64_t m = seen[i] & free_places[l]; m; m &= m - 1) q[l].key[__builtin_ctzll(m)] = INFINITY;
        if (after == 0 || after == before || before - after != __builtin_popcount(starts[l])) lanes &= ~(1u << l);
    }
    return lanes;
}

// is_closed reports whether every edge belongs to an even number of faces, which is all that the
// proof asks of a surface if it counts windings by twos. Bit j of edge[i] is the parity of the
// faces at edge ij.
ALWAYS int is_closed(const sketch *q) {
    uint32_t edge[SKETCH_VERTICES] = {0}, odd = 0;
    for (uint64_t m = q->live; m; m &= m - 1) {
        const uint8_t *v = q->corner[__builtin_ctzll(m)];
        const uint32_t all = (uint32_t)1 << v[0] | (uint32_t)1 << v[1] | (uint32_t)1 << v[2];
        edge[v[0]] ^= all, edge[v[1]] ^= all, edge[v[2]] ^= all;
    }
    for (int i = 0; i < SKETCH_VERTICES; i++) odd |= edge[i] & ~((uint32_t)1 << i);
    return odd == 0;
}
