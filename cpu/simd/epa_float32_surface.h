// Polytopes of float32: their vertices and faces, and which faces a new vertex sees.

#ifndef CLR_EPA_FLOAT32_SURFACE_H
#define CLR_EPA_FLOAT32_SURFACE_H

#include "real32.h"
#include "cores.h"
#include "vec3.h"

#define SKETCH_VERTICES 32
#define SKETCH_FACES 64 // at least 2·vertices − 4, and the bits of a word
#define SKETCH_ERROR (64 * 0x1p-24)
#define SKETCH_SPREAD (20 * 0x1p-24) // of it, what is no error of a vertex
#define SKETCH_NOISE (4 * 0x1p-24)   // of a height, most often: what is higher by less is no progress
#define SKETCH_END (16 * 0x1p-24) // and in the end: hulls have few vertices so close to a face, and float64 sees them
#define SKETCH_TINY 1e-30f

typedef struct {
    float nx[SKETCH_FACES], ny[SKETCH_FACES], nz[SKETCH_FACES]; // outward normals, unit
    float key[SKETCH_FACES]; // least height of the corners, infinite where there is no face
#ifdef EXPAND
    float w[3][SKETCH_VERTICES]; // vertices
#else
    float w[SKETCH_VERTICES][4];
    uint8_t left[SKETCH_VERTICES][SKETCH_VERTICES]; // face to the left of a directed edge
#endif
    float d[SKETCH_VERTICES][2][4];     // of boxes: directions they support in the frames of A and B, as GJK has them
    int32_t number[SKETCH_VERTICES][2]; // vertices of hulls that make them
    uint8_t corner[SKETCH_FACES][4];    // three of them
    uint64_t live;                      // places of faces in use
    int vertices, nearest;
    float least;                       // its key
} __attribute__((aligned(64))) sketch; // whole cache lines, so that no vector lies across two

// coordinate is where coordinate j of vertex i is kept.
ALWAYS float *coordinate(sketch *q, int i, int j) {
#ifdef EXPAND
    return &q->w[j][i];
#else
    return &q->w[i][j];
#endif
}

// sketches_in are the polytopes of a scratch, a lane each.
ALWAYS sketch *sketches_in(clr_scratch *s) {
    _Static_assert(W * sizeof(sketch) + 64 <= sizeof s->depths, "CLR_DEPTH_BYTES is too small");
    return (sketch *)(((uintptr_t)s->depths + 63) & ~(uintptr_t)63);
}

// put_point adds a vertex of which no more need be known.
ALWAYS void put_point(sketch *q, float x, float y, float z) {
    const int i = q->vertices++;
    *coordinate(q, i, 0) = x, *coordinate(q, i, 1) = y, *coordinate(q, i, 2) = z;
}

typedef struct {
    V3 n;
    VF low;
} sketch_planes;

ALWAYS sketch_planes sketch_planes_of(V3 a, V3 b, V3 c) {
    V3 n = T(cross)(T(sub)(a, c), T(sub)(b, c));
    n = T(scale)(RSQRT(MAX(T(dot)(n, n), SET1(SKETCH_TINY))), n);
    VF ha = T(dot)(n, a), hb = T(dot)(n, b), hc = T(dot)(n, c);
    return (sketch_planes){n, MIN(MIN(ha, hb), hc)};
}

// sketch_vertices are vertices of D, a pair a lane.
typedef struct {
    V3 w, d[2];
    VF number[2];
} sketch_vertices;

enum { SKETCH_COLUMNS = 11 };

ALWAYS void put_sketch_vertex(sketch *q, const float v[SKETCH_COLUMNS][W], int l, int ka, int kb) {
    int i = q->vertices++;
    for (int j = 0; j < 3; j++) *coordinate(q, i, j) = v[j][l];
    for (int side = 0; side < 2; side++)
        if (IS_HULL(side ? kb : ka)) q->number[i][side] = (int32_t)v[9 + side][l];
        else
            for (int j = 0; j < 3; j++) q->d[i][side][j] = v[3 + 3 * side + j][l];
}

ALWAYS void store_sketch_vertices(float out[SKETCH_COLUMNS][W], sketch_vertices v) {
    T(st3)(out[0], W, v.w);
    for (int side = 0; side < 2; side++) {
        T(st3)(out[3 + 3 * side], W, v.d[side]);
        STOREU(out[9 + side], v.number[side]);
    }
}

ALWAYS sketch_vertices select_sketch(VM m, sketch_vertices a, sketch_vertices b) {
    return (sketch_vertices){T(sel)(m, a.w, b.w),
                             {T(sel)(m, a.d[0], b.d[0]), T(sel)(m, a.d[1], b.d[1])},
                             {SEL(m, a.number[0], b.number[0]), SEL(m, a.number[1], b.number[1])}};
}

// seen_faces are those that the vertex x, y, z sees, and the nearest.
ALWAYS uint64_t seen_faces(const sketch *q, float x, float y, float z) {
    const VF wx = SET1(x), wy = SET1(y), wz = SET1(z), noise = SET1((REAL)SKETCH_NOISE);
    const int end = 64 - __builtin_clzll(q->live);
    uint64_t seen = (uint64_t)1 << q->nearest;
    for (int f = 0; f < end; f += W) {
        VF h = FMA(LOADU(q->nz + f), wz, FMA(LOADU(q->ny + f), wy, LOADU(q->nx + f) * wx));
        seen |= (uint64_t)MBITS(LT(LOADU(q->key + f) + noise, h)) << f;
    }
    return seen;
}

// The corners of the four faces of a tetrahedron whose fourth vertex lies above 0, 1, 2.
static const uint8_t tetrahedron[4][4] = {{0, 2, 1}, {0, 3, 2}, {2, 3, 1}, {1, 3, 0}};

#endif
