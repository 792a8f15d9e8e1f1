// The surface of the float32 polytope (epa_float32.h): vertices, faces with their keys, and the faces that are visible
// from a new vertex.

#ifndef CLR_EPA_FLOAT32_SURFACE_H
#define CLR_EPA_FLOAT32_SURFACE_H

#include "real32.h"
#include "cores.h"
#include "vec3.h"

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
    float least;                           // its key
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

#endif
