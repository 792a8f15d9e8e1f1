// The surface of the float32 polytope (epa_float32.h): vertices, faces with their keys, the faces that are visible from
// a new vertex, and the retriangulation of their horizon.
//
// expand_polytopes32 takes a step of each polytope with its newest vertex v: the visible faces are removed, and the fan
// from v to their horizon is added. The horizon is the edges that belong to an odd number of the visible faces.
// Invariant: every edge belongs to an even number of faces. A row is declined if there is no room, or if the surface
// does not stay closed.
//
// There are two implementations of the step: one with the vectors of AVX-512 (EXPAND), and a scalar one that loops over
// the edges of all lanes together.

#ifndef CLR_EPA_FLOAT32_SURFACE_H
#define CLR_EPA_FLOAT32_SURFACE_H

#include "../isa/real32.h"
#include "../shape/cores.h"
#include "../isa/vec3.h"
#include <string.h>

#define POLYTOPE32_VERTICES 32
#define POLYTOPE32_FACES 64 // at least 2·vertices − 4, and the bits of a word
#define VERTEX32_UNITS 64   // derived in epa_float32.h
#define VERTEX32_ERROR (VERTEX32_UNITS * 0x1p-24)
#define POLYTOPE32_SPREAD_UNITS 20 // the part of them that is no error of a vertex
#define POLYTOPE32_SPREAD (POLYTOPE32_SPREAD_UNITS * 0x1p-24)
#define POLYTOPE32_ROUNDING (4 * 0x1p-24) // usual error of ⟨n, w⟩: a vertex beyond a face by less is no progress
#define POLYTOPE32_END \
    (16 * 0x1p-24) // the same for termination: hulls have few vertices so close to a face, and float64 finds them
#define POLYTOPE32_TINY 1e-30f

typedef struct {
    float nx[POLYTOPE32_FACES], ny[POLYTOPE32_FACES], nz[POLYTOPE32_FACES]; // outward normals, unit
    float key[POLYTOPE32_FACES]; // least ⟨n, w⟩ of the corners w, infinite where there is no face
#ifdef EXPAND
    float w[3][POLYTOPE32_VERTICES]; // vertices
#else
    float w[POLYTOPE32_VERTICES][4];
    uint8_t left[POLYTOPE32_VERTICES][POLYTOPE32_VERTICES]; // face to the left of a directed edge
#endif
    float d[POLYTOPE32_VERTICES][2][4]; // of boxes: directions of the vertices in the frames of A and B, as in gjk.h
    int32_t number[POLYTOPE32_VERTICES][2]; // numbers of the hull vertices
    uint8_t corner[POLYTOPE32_FACES][4];    // three of them
    uint64_t live;                          // places of faces in use
    int vertices, nearest;
    float nearest_key;                     // its key
} __attribute__((aligned(64))) polytope32; // whole cache lines, so that no vector is in two

// coordinate returns the address of coordinate j of vertex i.
ALWAYS float *coordinate(polytope32 *q, int i, int j) {
#ifdef EXPAND
    return &q->w[j][i];
#else
    return &q->w[i][j];
#endif
}

// polytopes32_in returns the polytopes of a scratch, one per lane.
ALWAYS polytope32 *polytopes32_in(clr_scratch *s) {
    _Static_assert(W * sizeof(polytope32) + 64 <= sizeof s->depths, "CLR_DEPTH_BYTES is too small");
    return (polytope32 *)(((uintptr_t)s->depths + 63) & ~(uintptr_t)63);
}

// put_point adds a vertex without directions and numbers.
ALWAYS void put_point(polytope32 *q, float x, float y, float z) {
    const int i = q->vertices++;
    *coordinate(q, i, 0) = x, *coordinate(q, i, 1) = y, *coordinate(q, i, 2) = z;
}

typedef struct {
    V3 n;
    VF low;
} planes32;

ALWAYS planes32 planes32_of(V3 a, V3 b, V3 c) {
    V3 n = T(cross)(T(sub)(a, c), T(sub)(b, c));
    n = T(scale)(RSQRT(MAX(T(dot)(n, n), SET1(POLYTOPE32_TINY))), n);
    VF ha = T(dot)(n, a), hb = T(dot)(n, b), hc = T(dot)(n, c);
    return (planes32){n, MIN(MIN(ha, hb), hc)};
}

// vertices32 are vertices of D, one pair per lane.
typedef struct {
    V3 w, d[2];
    VF number[2];
} vertices32;

enum { POLYTOPE32_COLUMNS = 11 };

ALWAYS void put_vertex32(polytope32 *q, const float v[POLYTOPE32_COLUMNS][W], int l, int ka, int kb) {
    int i = q->vertices++;
    for (int j = 0; j < 3; j++) *coordinate(q, i, j) = v[j][l];
    for (int side = 0; side < 2; side++)
        if (IS_HULL(side ? kb : ka)) q->number[i][side] = (int32_t)v[9 + side][l];
        else
            for (int j = 0; j < 3; j++) q->d[i][side][j] = v[3 + 3 * side + j][l];
}

ALWAYS void store_vertices32(float out[POLYTOPE32_COLUMNS][W], vertices32 v) {
    T(st3)(out[0], W, v.w);
    for (int side = 0; side < 2; side++) {
        T(st3)(out[3 + 3 * side], W, v.d[side]);
        STOREU(out[9 + side], v.number[side]);
    }
}

ALWAYS vertices32 select_vertices32(VM m, vertices32 a, vertices32 b) {
    return (vertices32){T(sel)(m, a.w, b.w),
                        {T(sel)(m, a.d[0], b.d[0]), T(sel)(m, a.d[1], b.d[1])},
                        {SEL(m, a.number[0], b.number[0]), SEL(m, a.number[1], b.number[1])}};
}

// seen_faces returns the faces that are visible from the vertex x, y, z, and the nearest face.
ALWAYS uint64_t seen_faces(const polytope32 *q, float x, float y, float z) {
    const VF wx = SET1(x), wy = SET1(y), wz = SET1(z), rounding = SET1((REAL)POLYTOPE32_ROUNDING);
    const int end = 64 - __builtin_clzll(q->live);
    uint64_t seen = (uint64_t)1 << q->nearest;
    for (int f = 0; f < end; f += W) {
        VF h = FMA(LOADU(q->nz + f), wz, FMA(LOADU(q->ny + f), wy, LOADU(q->nx + f) * wx));
        seen |= (uint64_t)MBITS(LT(LOADU(q->key + f) + rounding, h)) << f;
    }
    return seen;
}

// The corners of the faces of a tetrahedron whose fourth vertex is above 0, 1, 2.
static const uint8_t tetrahedron[4][4] = {{0, 2, 1}, {0, 3, 2}, {2, 3, 1}, {1, 3, 0}};

// Retriangulation of the horizon.

#ifdef EXPAND

// With AVX-512, a vector has 16 faces of a pair, or all edges of its horizon. There is no table of edges. The corners
// of a face are three bits of a word. This word is added modulo 2 to the words of its three vertices. The sum over all
// visible faces leaves the edges of an odd number of them: the horizon.

// The greatest number of edges of a horizon; a row with more is declined.
#define MOST_EDGES W

// quads hold four numbers per lane, in consecutive places.
typedef struct {
    float of[4][W];
} quads;

// by_lanes transposes four columns into quads.
ALWAYS quads by_lanes(VF a, VF b, VF c, VF d) {
    quads out;
    VF row[4];
    columns32((const VF[4]){a, b, c, d}, row);
    for (int i = 0; i < 4; i++) STOREU(out.of[i], row[i]);
    return out;
}
ALWAYS __m128 quad_of(const quads *q, int l) { return _mm_loadu_ps(q->of[l & 3] + (l & ~3)); }

// put_tetrahedra stores the initial vertices and faces of the polytopes of `lanes`.
ALWAYS void put_tetrahedra(polytope32 *q, unsigned lanes, const vertices32 v[4], const planes32 p[4], int ka, int kb) {
    float d[4][6][W];
#define QUADS(x) by_lanes(v[0].x, v[1].x, v[2].x, v[3].x)
#define PLANES(x) by_lanes(p[0].x, p[1].x, p[2].x, p[3].x)
#define NUMBERS(i) by_lanes(NUMBER(i, 0), NUMBER(i, 1), NUMBER(i + 1, 0), NUMBER(i + 1, 1))
#define NUMBER(i, side) _mm512_castsi512_ps(_mm512_cvtps_epi32(v[i].number[side]))
    const quads x = QUADS(w.x), y = QUADS(w.y), z = QUADS(w.z), number0 = NUMBERS(0), number1 = NUMBERS(2);
    const quads nx = PLANES(n.x), ny = PLANES(n.y), nz = PLANES(n.z), low = PLANES(low);
#undef QUADS
#undef PLANES
#undef NUMBERS
#undef NUMBER
    const int boxes = !IS_HULL(ka) || !IS_HULL(kb);
    for (int i = 0; i < 4 && boxes; i++) T(st3)(d[i][0], W, v[i].d[0]), T(st3)(d[i][3], W, v[i].d[1]);
    for (unsigned m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        polytope32 *s = q + l;
        STOREU(s->key, SET1(INFINITY));
        _mm_storeu_ps(s->key, quad_of(&low, l));
        _mm_storeu_ps(s->nx, quad_of(&nx, l)), _mm_storeu_ps(s->ny, quad_of(&ny, l)),
            _mm_storeu_ps(s->nz, quad_of(&nz, l));
        _mm_storeu_ps(s->w[0], quad_of(&x, l)), _mm_storeu_ps(s->w[1], quad_of(&y, l)),
            _mm_storeu_ps(s->w[2], quad_of(&z, l));
        _mm_storeu_ps((float *)s->number[0], quad_of(&number0, l)),
            _mm_storeu_ps((float *)s->number[2], quad_of(&number1, l));
        memcpy(s->corner, tetrahedron, sizeof tetrahedron);
        s->live = 15;
        s->vertices = 4;
        for (int i = 0; i < 4 && boxes; i++)
            for (int j = 0; j < 6; j++) s->d[i][j / 3][j % 3] = d[i][j][l];
    }
}

// fan_planes are the planes of eight faces.
typedef struct {
    __m256 x, y, z, low;
} fan_planes;
#define LOW8(x) _mm512_castps512_ps256(x)
#define DOT8(a, b) _mm256_fmadd_ps(a##z, b##z, _mm256_fmadd_ps(a##y, b##y, a##x *b##x))
ALWAYS fan_planes fan_planes_of(__m256 ax, __m256 ay, __m256 az, __m256 bx, __m256 by, __m256 bz, __m256 cx, __m256 cy,
                                __m256 cz) {
    const __m256 ux = ax - cx, uy = ay - cy, uz = az - cz, vx = bx - cx, vy = by - cy, vz = bz - cz;
    __m256 nx = _mm256_fnmadd_ps(uz, vy, uy * vz), ny = _mm256_fnmadd_ps(ux, vz, uz * vx),
           nz = _mm256_fnmadd_ps(uy, vx, ux * vy);
    const __m256 nn = _mm256_max_ps(DOT8(n, n), _mm256_set1_ps(POLYTOPE32_TINY)), r = _mm256_rsqrt14_ps(nn);
    const __m256 s = r * _mm256_fnmadd_ps(_mm256_set1_ps(0.5f) * nn, r * r, _mm256_set1_ps(1.5f));
    nx = nx * s, ny = ny * s, nz = nz * s;
    return (fan_planes){nx, ny, nz, _mm256_min_ps(_mm256_min_ps(DOT8(n, a), DOT8(n, b)), DOT8(n, c))};
}

// edge_parity is the set of edges that belong to an odd number of some faces: bit j of word i is edge ij.
typedef struct {
    __m512i low, high;
} edge_parity; // words 0 to 15 and 16 to 31

// add_faces adds n faces to p, the first words of c: four at a time, since the ends of shorter loops are mispredicted.
// Words that fill up the last four only change the bit of an edge from a vertex to itself, which is never read.
ALWAYS edge_parity add_faces(edge_parity p, __m512i c, int n, int vertices) {
    const __m128i one = _mm_set1_epi32(1);
    const __m512i low = _mm512_sllv_epi32(_mm512_set1_epi32(1),
                                          _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)),
                  high = _mm512_slli_epi32(low, W);
    for (; n > 0; n -= 4, c = _mm512_shuffle_i32x4(c, c, 0x39)) {
        const __m128i four = _mm512_castsi512_si128(c);
        const __m128i bits =
            _mm_ternarylogic_epi32(_mm_rolv_epi32(one, four), _mm_rolv_epi32(one, _mm_srli_epi32(four, 8)),
                                   _mm_rolv_epi32(one, _mm_srli_epi32(four, 16)), 0xFE);
        const __m512i face[4] = {_mm512_broadcastd_epi32(bits), _mm512_broadcastd_epi32(_mm_shuffle_epi32(bits, 1)),
                                 _mm512_broadcastd_epi32(_mm_shuffle_epi32(bits, 2)),
                                 _mm512_broadcastd_epi32(_mm_shuffle_epi32(bits, 3))};
        for (int i = 0; i < 4; i++)
            p.low = _mm512_mask_xor_epi32(p.low, _mm512_test_epi32_mask(face[i], low), p.low, face[i]);
        if (vertices <= W) continue;
        for (int i = 0; i < 4; i++)
            p.high = _mm512_mask_xor_epi32(p.high, _mm512_test_epi32_mask(face[i], high), p.high, face[i]);
    }
    return p;
}

// put_horizon writes the edges of n faces that belong to an odd number of visible faces, from a to b as a | b << 8, and
// returns their number.
ALWAYS int put_horizon(__m512i c, int n, edge_parity odd, uint32_t *out) {
    const __m512i ends =
        _mm512_set_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 12, 14, -1, -1, 8, 10,
                        -1, -1, 4, 6, -1, -1, 0, 2, -1, -1, 14, 13, -1, -1, 10, 9, -1, -1, 6, 5, -1, -1, 2, 1, -1, -1,
                        13, 12, -1, -1, 9, 8, -1, -1, 5, 4, -1, -1, 1, 0);
    int edges = 0;
    for (; n > 0; n -= 4, c = _mm512_shuffle_i32x4(c, c, 0x39)) {
        const unsigned four = n < 4 ? (1u << n) - 1 : 15;
        const __m512i edge = _mm512_shuffle_epi8(_mm512_shuffle_i32x4(c, c, 0), ends);
        const __m512i row = _mm512_permutex2var_epi32(odd.low, edge, odd.high),
                      bit = _mm512_rolv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32(edge, 8));
        const VM m = _mm512_mask_test_epi32_mask(MFROM(four * 0x111), row, bit);
        _mm512_storeu_si512(out + edges, _mm512_maskz_compress_epi32(m, edge));
        edges += __builtin_popcount(MBITS(m));
    }
    return edges;
}

// horizon_of writes the horizon of a set of faces. Their corners stay in registers: a load from the place of several
// recent stores is not forwarded.
ALWAYS int horizon_of(const polytope32 *q, uint64_t set, uint32_t *out) {
    const int end = 64 - __builtin_clzll(q->live);
    __m512i c[POLYTOPE32_FACES / W];
    int n[POLYTOPE32_FACES / W], edges = 0;
    edge_parity odd = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    for (int f = 0; f < end; f += W) {
        const unsigned some = (unsigned)(set >> f) & LANES;
        c[f / W] = _mm512_maskz_compress_epi32(MFROM(some), _mm512_loadu_si512(q->corner + f));
        n[f / W] = __builtin_popcount(some);
        odd = add_faces(odd, c[f / W], n[f / W], q->vertices);
    }
    for (int f = 0; f < end; f += W) edges += put_horizon(c[f / W], n[f / W], odd, out + edges);
    return edges;
}

// put_fan stores the faces from the newest vertex of q to the edges of the horizon in the places of the visible faces,
// and in free ones. It reports whether there was room.
ALWAYS int put_fan(polytope32 *q, uint64_t seen, const uint32_t *horizon, int edges) {
    const int v = q->vertices - 1;
    if (edges < 3 || edges > MOST_EDGES) return 0;
    __m512i code = _mm512_loadu_si512(horizon);
    const __m512i next = _mm512_srli_epi32(code, 8);
    const __m256 cx = _mm256_set1_ps(q->w[0][v]), cy = _mm256_set1_ps(q->w[1][v]), cz = _mm256_set1_ps(q->w[2][v]);
#define PERMUTE2(j, i) _mm512_permutex2var_ps(LOADU(q->w[j]), i, LOADU(q->w[j] + W))
    const VF ax = PERMUTE2(0, code), ay = PERMUTE2(1, code), az = PERMUTE2(2, code), bx = PERMUTE2(0, next),
             by = PERMUTE2(1, next), bz = PERMUTE2(2, next);
#undef PERMUTE2
    fan_planes p = fan_planes_of(LOW8(ax), LOW8(ay), LOW8(az), LOW8(bx), LOW8(by), LOW8(bz), cx, cy, cz);
    VF nx = _mm512_castps256_ps512(p.x), ny = _mm512_castps256_ps512(p.y), nz = _mm512_castps256_ps512(p.z),
       low = _mm512_castps256_ps512(p.low);
    if (__builtin_expect(edges > 8, 0)) {
#define HIGH8(x) _mm512_extractf32x8_ps(x, 1)
        p = fan_planes_of(HIGH8(ax), HIGH8(ay), HIGH8(az), HIGH8(bx), HIGH8(by), HIGH8(bz), cx, cy, cz);
        nx = _mm512_insertf32x8(nx, p.x, 1), ny = _mm512_insertf32x8(ny, p.y, 1), nz = _mm512_insertf32x8(nz, p.z, 1),
        low = _mm512_insertf32x8(low, p.low, 1);
#undef HIGH8
    }
    code = _mm512_or_si512(code, _mm512_set1_epi32(v << 16));
    const uint64_t stay = q->live & ~seen;
    const int end = 64 - __builtin_clzll(q->live);
    __m512i number =
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0); // of the next faces to store
    const __m512i behind = _mm512_set1_epi32(edges);
    uint64_t live = stay;
    int rest = edges;
    for (int f = 0;;) {
        const unsigned free = ~(unsigned)(stay >> f) & LANES;
        const __m512i i = _mm512_maskz_expand_epi32(MFROM(free), number);
        const VM put = _mm512_mask_cmplt_epi32_mask(MFROM(free), i, behind);
        STOREU(q->key + f,
               _mm512_mask_permutexvar_ps(SEL(MFROM(free), SET1(INFINITY), LOADU(q->key + f)), put, i, low));
        STOREU(q->nx + f, _mm512_mask_permutexvar_ps(LOADU(q->nx + f), put, i, nx));
        STOREU(q->ny + f, _mm512_mask_permutexvar_ps(LOADU(q->ny + f), put, i, ny));
        STOREU(q->nz + f, _mm512_mask_permutexvar_ps(LOADU(q->nz + f), put, i, nz));
        _mm512_storeu_si512(q->corner + f,
                            _mm512_mask_permutexvar_epi32(_mm512_loadu_si512(q->corner + f), put, i, code));
        live |= (uint64_t)MBITS(put) << f;
        const int taken = __builtin_popcount(free);
        rest -= taken;
        f += W;
        if (f >= end && rest <= 0) break;
        if (f == POLYTOPE32_FACES) return 0;
        number = _mm512_add_epi32(number, _mm512_set1_epi32(taken));
    }
    q->live = live;
    return 1;
}
#undef LOW8
#undef DOT8

// expand_polytopes32 replaces the faces that are visible from the newest vertices of the polytopes of `lanes` by fans.
// It returns the lanes where there was room; the polytopes of the others are unusable.
static __attribute__((noinline)) unsigned expand_polytopes32(polytope32 *q, unsigned lanes) {
    uint64_t seen[W];
    uint32_t horizon[W][3 * POLYTOPE32_FACES + W] __attribute__((aligned(64)));
    int edges[W];
    // Each loop has a dependency chain per pair. The chains are short, so that those of several pairs are in flight.
    for (unsigned m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m), apex = q[l].vertices - 1;
        seen[l] = seen_faces(q + l, q[l].w[0][apex], q[l].w[1][apex], q[l].w[2][apex]);
    }
    for (unsigned m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        edges[l] = horizon_of(q + l, seen[l], horizon[l]);
    }
    for (unsigned m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        lanes &= ~((unsigned)!put_fan(q + l, seen[l], horizon[l], edges[l]) << l);
    }
    return lanes;
}

// is_closed is true for a live polytope: every edge belongs to an even number of faces. A step removes faces and adds
// the fan of all edges that belong to an odd number of them, or declines the row. So nothing remains to be checked.
ALWAYS int is_closed(const polytope32 *q) { return q->live != 0; }

#else

// The scalar implementation has a table of the face to the left of every directed edge, and loops over the faces and
// edges of all pairs together. The horizon is the edges between a visible and an invisible face. These are the edges
// of exactly one visible face, since each edge has one face on either side as long as every vertex of a horizon starts
// only one of its edges. That is checked.

// candidate_faces32 computes the planes of W faces with corners a, b, c, and stores them. The same face may occur
// several times.
ALWAYS void candidate_faces32(const float *const a[W], const float *const b[W], const float *const c[W],
                              polytope32 *const of[W], const uint8_t place[W]) {
    VF va[4], vb[4], vc[4];
    ROWS(va, a, 15)
    ROWS(vb, b, 15)
    ROWS(vc, c, 15)
    planes32 p = planes32_of((V3){va[0], va[1], va[2]}, (V3){vb[0], vb[1], vb[2]}, (V3){vc[0], vc[1], vc[2]});
    float n[3][W] __attribute__((aligned(64))), low[W] __attribute__((aligned(64)));
    T(st3)(n[0], W, p.n);
    STOREU(low, p.low);
    for (int l = 0; l < W; l++) {
        polytope32 *q = of[l];
        int f = place[l];
        q->nx[f] = n[0][l], q->ny[f] = n[1][l], q->nz[f] = n[2][l], q->key[f] = low[l];
    }
}

ALWAYS void put_face32(polytope32 *q, int f, unsigned i, unsigned j, unsigned k) {
    const uint8_t corner[4] = {(uint8_t)i, (uint8_t)j, (uint8_t)k, 0};
    memcpy(q->corner[f], corner, sizeof corner);
    q->left[i][j] = q->left[j][k] = q->left[k][i] = (uint8_t)f;
}

// put_tetrahedra stores the initial vertices and faces of the polytopes of `lanes`.
ALWAYS void put_tetrahedra(polytope32 *q, unsigned lanes, const vertices32 v[4], const planes32 p[4], int ka, int kb) {
    float vertex[4][POLYTOPE32_COLUMNS][W] __attribute__((aligned(64))), plane[4][4][W] __attribute__((aligned(64)));
    for (int f = 0; f < 4; f++) {
        store_vertices32(vertex[f], v[f]);
        T(st3)(plane[f][0], W, p[f].n);
        STOREU(plane[f][3], p[f].low);
    }
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        polytope32 *s = q + l;
        for (int f = 0; f < POLYTOPE32_FACES; f += W) STOREU(s->key + f, SET1(INFINITY));
        s->live = 15;
        s->vertices = 0;
        for (int f = 0; f < 4; f++) {
            put_vertex32(s, (const float (*)[W])vertex[f], l, ka, kb);
            put_face32(s, f, tetrahedron[f][0], tetrahedron[f][1], tetrahedron[f][2]);
            s->nx[f] = plane[f][0][l], s->ny[f] = plane[f][1][l], s->nz[f] = plane[f][2][l];
            s->key[f] = plane[f][3][l];
        }
    }
}

// expand_polytopes32 replaces the faces that are visible from the newest vertices of the polytopes of `lanes` by fans.
// It returns the lanes whose surface stays closed; the polytopes of the others are unusable. The loops run over the
// faces and edges of all lanes together: the ends of loops per lane would be mispredicted.
static __attribute__((noinline)) unsigned expand_polytopes32(polytope32 *q, unsigned lanes) {
    enum { ROOM = 3 * POLYTOPE32_FACES };
    uint64_t seen[W + 1], free_places[W];
    uint32_t starts[W] = {0}, horizon[ROOM * W + W];
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
    // The horizon: edges between a visible and an invisible face.
    int at = 0;
    uint64_t rest = seen[0];
    seen[count] = 1;
    for (int i = 0; i < faces; i++) {
        const unsigned l = lane[at], f = (unsigned)__builtin_ctzll(rest);
        const polytope32 *p = q + l;
        const unsigned a = p->corner[f][0], b = p->corner[f][1], c = p->corner[f][2];
        const uint64_t all = seen[at];
        horizon[edges] = l << 16 | a << 8 | b, edges += !(all >> p->left[b][a] & 1);
        horizon[edges] = l << 16 | b << 8 | c, edges += !(all >> p->left[c][b] & 1);
        horizon[edges] = l << 16 | c << 8 | a, edges += !(all >> p->left[a][c] & 1);
        rest &= rest - 1;
        at += rest == 0;
        rest = rest == 0 ? seen[at] : rest;
    }
    for (int e = 0; e < edges; e += W) {
        const float *a[W], *b[W], *c[W];
        polytope32 *of[W];
        uint8_t place[W];
        int n = edges - e < W ? edges - e : W;
        for (int k = 0; k < n; k++) {
            const uint32_t edge = horizon[e + k], l = edge >> 16, i = edge >> 8 & 0xff, j = edge & 0xff;
            polytope32 *p = q + l;
            const int apex = p->vertices - 1, f = __builtin_ctzll(free_places[l] | (uint64_t)1 << 63);
            free_places[l] &= free_places[l] - 1;
            starts[l] |= (uint32_t)1 << i;
            put_face32(p, f, i, j, (unsigned)apex);
            a[k] = p->w[i], b[k] = p->w[j], c[k] = p->w[apex];
            of[k] = p;
            place[k] = (uint8_t)f;
        }
        for (int k = n; k < W; k++)
            a[k] = a[n - 1], b[k] = b[n - 1], c[k] = c[n - 1], of[k] = of[n - 1], place[k] = place[n - 1];
        candidate_faces32(a, b, c, of, place);
    }
    for (int i = 0; i < count; i++) {
        const int l = lane[i], before = __builtin_popcountll(~q[l].live | seen[i]),
                  after = __builtin_popcountll(free_places[l]);
        q[l].live = ~free_places[l];
        for (uint64_t m = seen[i] & free_places[l]; m; m &= m - 1) q[l].key[__builtin_ctzll(m)] = INFINITY;
        if (after == 0 || after == before || before - after != __builtin_popcount(starts[l])) lanes &= ~(1u << l);
    }
    return lanes;
}

// is_closed reports whether every edge belongs to an even number of faces. The proof needs no more of a surface, since
// it counts windings modulo 2. Bit j of edge[i] is the parity of the number of faces at edge ij.
ALWAYS int is_closed(const polytope32 *q) {
    uint32_t edge[POLYTOPE32_VERTICES] = {0}, odd = 0;
    for (uint64_t m = q->live; m; m &= m - 1) {
        const uint8_t *v = q->corner[__builtin_ctzll(m)];
        const uint32_t all = (uint32_t)1 << v[0] | (uint32_t)1 << v[1] | (uint32_t)1 << v[2];
        edge[v[0]] ^= all, edge[v[1]] ^= all, edge[v[2]] ^= all;
    }
    for (int i = 0; i < POLYTOPE32_VERTICES; i++) odd |= edge[i] & ~((uint32_t)1 << i);
    return odd == 0;
}

#endif

#endif
