// The polytopes of EPA (epa.h): closed surfaces of triangles with vertices on D. Float64.
//
// Invariant: every edge belongs to two faces, which have it in opposite directions. Half-edge 4·f + k is edge k of
// face f, and twin has the half-edge on the other side. Faces are stored in columns, so that one sweep finds both the
// faces visible from a new vertex and the nearest of the others.
//
// expand retriangulates the horizon of a new vertex and lists the new faces; measure_faces computes the planes of the
// listed faces, those of several polytopes together, one face per lane, and empties the list. expand declines if a
// vertex of the horizon starts more than one of its edges, or if there is no room.

#ifndef CLR_EPA_SURFACE_H
#define CLR_EPA_SURFACE_H

#include "../isa/real64.h"
#include "../isa/vec3.h"
#include <string.h>

#define EPA_VERTICES 192
#define EPA_FACES 384 // 2·vertices − 4, filled up to whole vectors
#define EPA_WORDS (EPA_FACES / 64)

typedef struct {
    double nx[EPA_FACES], ny[EPA_FACES], nz[EPA_FACES]; // outward normals, unit
    // Least and greatest ⟨n, w⟩ of the three vertices w, infinite where there is no face; the greatest with `rounding`
    // added. The least bounds the distance of the triangle from the origin from below for every unit n, hence also
    // for the inaccurate normal of a thin triangle.
    double key[EPA_FACES], top[EPA_FACES];
    double w[EPA_VERTICES][4];     // vertices a − b of D; the number of a, if it is a vertex of a hull
    double a[EPA_VERTICES][4];     // the points a of A; the number of b
    uint16_t corner[EPA_FACES][4]; // three, and the first again
    uint16_t twin[EPA_FACES][4];   // half-edge on the other side of each edge
    uint16_t fan[EPA_VERTICES];    // new face that starts at a vertex of the horizon
    uint16_t spare[2 * EPA_FACES]; // free places of faces, and room for the list of places in expand
    int spares, faces, vertices;   // free places; places in use, free ones included; vertices
    int nearest;                   // face with the least key
    double nearest_key;            // its key
    double rounding;               // rounding bound of ⟨n, w⟩
} polytope;

// unmeasured lists faces without planes: the addresses of their corners, the polytope, and the number of the face
// there.
#define UNMEASURED 512
typedef struct {
    const double *a[UNMEASURED], *b[UNMEASURED], *c[UNMEASURED];
    polytope *of[UNMEASURED];
    uint16_t face[UNMEASURED];
    int count;
} unmeasured;

// difference is a·b − c·d by Kahan's method: accurate under cancellation if FMA is fused.
ALWAYS VF difference(VF a, VF b, VF c, VF d) {
    VF p = c * d, e = FNMA(c, d, p);
    return FMA(a, b, -p) + e;
}

// Unit normals n of W faces, and the least and greatest ⟨n, w⟩ of their corners w.
typedef struct {
    V3 n;
    VF low, high;
} face_planes;

// planes_of computes them for the faces a, b, c, counter-clockwise seen from outside.
ALWAYS face_planes planes_of(V3 a, V3 b, V3 c) {
    V3 u = T(sub)(a, c), v = T(sub)(b, c);
    V3 n = {difference(u.y, v.z, u.z, v.y), difference(u.z, v.x, u.x, v.z), difference(u.x, v.y, u.y, v.x)};
    n = T(scale)(RSQRT(MAX(T(dot)(n, n), SET1(TINY))), n); // not unit if TINY acts
    VF ha = T(dot)(n, a), hb = T(dot)(n, b), hc = T(dot)(n, c);
    return (face_planes){n, MIN(MIN(ha, hb), hc), MAX(MAX(ha, hb), hc)};
}

// measure_faces computes the planes of the listed faces, and empties the list.
static void measure_faces(unmeasured *list) {
    for (int i = list->count, last = i - 1; i % W != 0; i++) { // fill up the last vector
        list->a[i] = list->a[last], list->b[i] = list->b[last], list->c[i] = list->c[last];
        list->of[i] = list->of[last];
        list->face[i] = list->face[last];
    }
    for (int i = 0; i < list->count; i += W) {
        VF a[4], b[4], c[4];
        ROWS(a, list->a + i, 7)
        ROWS(b, list->b + i, 7)
        ROWS(c, list->c + i, 7)
        face_planes p = planes_of((V3){a[0], a[1], a[2]}, (V3){b[0], b[1], b[2]}, (V3){c[0], c[1], c[2]});
        double n[3][W] __attribute__((aligned(64))), low[W] __attribute__((aligned(64))),
            high[W] __attribute__((aligned(64)));
        T(st3)(n[0], W, p.n);
        STOREU(low, p.low);
        STOREU(high, p.high);
        for (int l = 0; l < W; l++) {
            polytope *q = list->of[i + l];
            int f = list->face[i + l];
            q->nx[f] = n[0][l], q->ny[f] = n[1][l], q->nz[f] = n[2][l];
            q->key[f] = low[l];
            q->top[f] = high[l] + q->rounding;
            int nearer = low[l] < q->nearest_key;
            q->nearest = nearer ? f : q->nearest;
            q->nearest_key = nearer ? low[l] : q->nearest_key;
        }
    }
    list->count = 0;
}

// vertices_of are vertices w = a − b of D, one pair per lane, with the numbers of the hull vertices a and b.
typedef struct {
    V3 w, a;
    VF number[2];
} vertices_of;

ALWAYS void store_vertices(double out[8][W], vertices_of v) {
    T(st3)(out[0], W, v.w);
    STOREU(out[3], v.number[0]);
    T(st3)(out[4], W, v.a);
    STOREU(out[7], v.number[1]);
}

ALWAYS vertices_of select_vertices(VM m, vertices_of a, vertices_of b) {
    return (vertices_of){
        T(sel)(m, a.w, b.w), T(sel)(m, a.a, b.a), {SEL(m, a.number[0], b.number[0]), SEL(m, a.number[1], b.number[1])}};
}

// put_vertex adds the vertex that store_vertices stored for lane l.
ALWAYS void put_vertex(polytope *p, const double v[8][W], int l) {
    for (int j = 0; j < 4; j++) p->w[p->vertices][j] = v[j][l], p->a[p->vertices][j] = v[4 + j][l];
    p->vertices++;
}

// clear_places marks places of faces as free, from `from` to the end of its vector.
ALWAYS void clear_places(polytope *p, int from) {
    for (int f = from; f % W != 0; f++) p->key[f] = p->top[f] = INFINITY, p->nx[f] = p->ny[f] = p->nz[f] = 0;
}

// tetrahedra starts W polytopes with four vertices each. It returns the lanes whose tetrahedra are not flat to
// rounding.
static __attribute__((noinline)) unsigned tetrahedra(polytope *p, const vertices_of s[4], VF rounding) {
    static const uint16_t corner[4][4] = {{0, 2, 1, 0}, {0, 3, 2, 0}, {2, 3, 1, 2}, {1, 3, 0, 1}};
    static const uint16_t twin[4][4] = {{6, 10, 14, 0}, {13, 8, 0, 0}, {5, 12, 1, 0}, {9, 4, 2, 0}};
    V3 e1 = T(sub)(s[1].w, s[0].w), e2 = T(sub)(s[2].w, s[0].w), e3 = T(sub)(s[3].w, s[0].w);
    V3 n = {difference(e1.y, e2.z, e1.z, e2.y), difference(e1.z, e2.x, e1.x, e2.z), difference(e1.x, e2.y, e1.y, e2.x)};
    VF volume = T(dot)(n, e3), size = MAX(volume, -volume);
    unsigned solid = MBITS(LT(SET1(4) * rounding * SQRT(T(dot)(n, n)), size));
    VM flipped = LT(volume, SET1(0)); // swap vertices 1 and 2, so that the fourth is above 0, 1, 2
    vertices_of v[4] = {s[0], select_vertices(flipped, s[2], s[1]), select_vertices(flipped, s[1], s[2]), s[3]};
    double vertex[4][8][W] __attribute__((aligned(64))), plane[4][5][W] __attribute__((aligned(64))),
        off[W] __attribute__((aligned(64)));
    STOREU(off, rounding);
    for (int f = 0; f < 4; f++) {
        face_planes q = planes_of(v[corner[f][0]].w, v[corner[f][1]].w, v[corner[f][2]].w);
        store_vertices(vertex[f], v[f]);
        T(st3)(plane[f][0], W, q.n);
        STOREU(plane[f][3], q.low);
        STOREU(plane[f][4], q.high);
    }
    for (int l = 0; l < W; l++, p++) {
        p->rounding = off[l];
        p->vertices = 0;
        p->faces = 4;
        p->spares = p->nearest = 0;
        memcpy(p->twin, twin, sizeof twin);
        memcpy(p->corner, corner, sizeof corner);
        p->nearest_key = INFINITY;
        for (int f = 0; f < 4; f++) {
            put_vertex(p, vertex[f], l);
            p->nx[f] = plane[f][0][l], p->ny[f] = plane[f][1][l], p->nz[f] = plane[f][2][l];
            p->key[f] = plane[f][3][l];
            p->top[f] = plane[f][4][l] + p->rounding;
            if (p->key[f] < p->nearest_key) p->nearest_key = p->key[f], p->nearest = f;
        }
        clear_places(p, 4);
    }
    return solid;
}

// find_nearest finds the face with the least key.
static void find_nearest(polytope *p) {
    int best = 0;
    for (int f = 1; f < p->faces; f++)
        if (p->key[f] < p->key[best]) best = f;
    p->nearest = best;
    p->nearest_key = p->key[best];
}

// Four words of 16 bits in one of 64, the first in the lowest bits: one load or store for all.
ALWAYS uint64_t load64(const uint16_t *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}
ALWAYS void store64(uint16_t *p, uint64_t x) { memcpy(p, &x, sizeof x); }

// expand_within is expand for polytopes of at most 64·words faces and vertices.
ALWAYS int expand_within(polytope *p, unmeasured *list, const int words) {
    const int apex = p->vertices - 1, faces = p->faces;
    const double *w = p->w[apex];
    const VF wx = SET1(w[0]), wy = SET1(w[1]), wz = SET1(w[2]), none = SET1(INFINITY), step = SET1(W);
    uint64_t seen[EPA_WORDS];
    double lane[W] __attribute__((aligned(64)));
    for (int l = 0; l < W; l++) lane[l] = l;
    VF least = none, which = SET1(0), index = LOADU(lane);
    for (int k = 0; k < words && 64 * k < faces; k++) {
        uint64_t word = 0;
        for (int j = 0; j < 64 && 64 * k + j < faces; j += W) {
            int g = 64 * k + j;
            VF h = FMA(LOADU(p->nz + g), wz, FMA(LOADU(p->ny + g), wy, LOADU(p->nx + g) * wx));
            VM visible = LT(LOADU(p->top + g), h);
            VF key = SEL(visible, none, LOADU(p->key + g));
            VM better = LT(key, least);
            least = SEL(better, key, least);
            which = SEL(better, index, which);
            index = index + step;
            word |= (uint64_t)MBITS(visible) << j;
        }
        seen[k] = word;
    }

    // The horizon: edges between a visible and an invisible face. An entry is the half-edge on the invisible side,
    // with the start and the end of the edge.
    uint64_t horizon[3 * EPA_FACES];
    uint16_t *spare = p->spare;
    int edges = 0, spares = p->spares;
    for (int k = 0; k < words && 64 * k < faces; k++)
        for (uint64_t m = seen[k]; m; m &= m - 1) {
            int f = 64 * k + __builtin_ctzll(m);
            uint64_t corners = load64(p->corner[f]), twins = load64(p->twin[f]);
            spare[spares++] = (uint16_t)f;
            for (int e = 0; e < 3; e++) {
                uint64_t t = twins >> 16 * e & 0xffff, o = t >> 2;
                horizon[edges] = (corners >> 16 * e & 0xffffffff) << 16 | t;
                edges += !((words == 1 ? seen[0] : seen[o / 64]) >> (o & 63) & 1);
            }
        }
    if (edges == 0 || faces + edges - spares > EPA_FACES) return 0;
    // Places of the new faces: first those that became free, then new ones, most often two.
    for (int i = 0; i < 2 || i < edges - spares; i++) spare[spares + i] = (uint16_t)(faces + i);
    p->spares = spares > edges ? spares - edges : 0;
    const uint16_t *put = spare + p->spares;
    for (int i = 0; i < p->spares; i++)
        p->key[spare[i]] = p->top[spare[i]] = INFINITY; // measure_faces sets those of the new faces
    p->faces = spares > edges ? faces : faces + edges - spares;

    const VF low = SET1(-HMAX(-least));
    double found[W] __attribute__((aligned(64))), first[W] __attribute__((aligned(64)));
    STOREU(found, which);
    STOREU(first, low);
    unsigned equal = MBITS(LE(least, low));
    p->nearest = equal ? (int)found[__builtin_ctz(equal)] : 0;
    p->nearest_key = first[0];

    uint64_t starts[(EPA_VERTICES + 63) / 64] = {0}, twice = 0;
    for (int i = 0; i < edges; i++) {
        unsigned a = horizon[i] >> 16 & 0xffff, v = words == 1 ? 0 : a / 64;
        uint64_t bit = (uint64_t)1 << (a & 63);
        twice |= starts[v] & bit;
        starts[v] |= bit;
        p->fan[a] = put[i];
    }
    if (twice) return 0;
    clear_places(p, p->faces);
    if (list->count + edges > UNMEASURED) measure_faces(list);
    for (int i = 0; i < edges; i++) {
        uint64_t edge = horizon[i], a = edge >> 16 & 0xffff, b = edge >> 32, t = edge & 0xffff;
        int f = put[i], next = p->fan[b], k = list->count + i;
        list->a[k] = p->w[a], list->b[k] = p->w[b], list->c[k] = w;
        list->of[k] = p;
        list->face[k] = (uint16_t)f;
        store64(p->corner[f], a | b << 16 | (uint64_t)apex << 32 | a << 48);
        p->twin[f][0] = (uint16_t)t;
        p->twin[t >> 2][t & 3] = (uint16_t)(4 * f);
        p->twin[f][1] = (uint16_t)(4 * next + 2);
        p->twin[next][2] = (uint16_t)(4 * f + 1);
    }
    list->count += edges;
    return 1;
}

// expand replaces the faces that are visible from the newest vertex by the fan from that vertex to their horizon.
// Rounding may change which faces count as visible; the surface stays closed all the same if every vertex of the
// horizon starts only one of its edges. expand returns false, and the polytope is unusable, if that fails or there is
// no room. The new faces are listed, and `nearest` is the nearest of the others until they are measured.
static __attribute__((noinline)) int expand(polytope *p, unmeasured *list) {
    if (p->faces <= 64 && p->vertices <= 64) return expand_within(p, list, 1);
    return expand_within(p, list, EPA_WORDS);
}

#endif
