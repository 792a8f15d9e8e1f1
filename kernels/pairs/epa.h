// Penetration depths by the expanding polytope algorithm [VanDenBergen2001], for rows that no other method has
// answered. Float64.
//
// The polytope of a row is a closed surface of triangles with vertices on D. With the unit normal n of
// a face f and the nearest face f*, the one with the least key,
//
//	key(f) = min ⟨n, w⟩ over the three vertices w of f
//	lower  = key(f*)
//	upper  = h_D(n*)
//	answered iff upper − lower ≤ stop, lower > ρ, and the witnesses differ from upper·n* by at most stop
//
// The polytope starts as the tetrahedron that GJK ended with. A step adds the support vertex along n*.
//
// Why lower is a bound: the surface is closed by construction. If every key is above rounding, the origin lies on
// the inner side of every face, so that the solid angles of the faces have one sign and cannot add up to zero: the
// surface winds around the origin. A ball around the origin that touches no face is then wound around as a whole, hence
// part of the convex hull of the vertices, and of D. Neither bound requires that the polytope is convex. ref.EPA has
// the same bounds.
//
// Each answered row is handed on as a depth_of: both bounds, the normal and the witnesses. A row is declined if its
// initial tetrahedron is flat, its polytope is full, its steps are used up, or rounding keeps a face from being
// expanded. W rows step together, with one support point or one new face per lane; the horizon of each polytope is
// retriangulated in between. The result of a row does not depend on the other rows of the vector.

#ifndef CLR_EPA_H
#define CLR_EPA_H

#include "../isa/real64.h"
#include "../isa/vec3.h"
#include "../shape/support.h"
#include "store.h"
#include "simplex.h"
#include <string.h>

// The polytopes of EPA: closed surfaces of triangles with vertices on D. Float64.
//
// Invariant: every edge belongs to two faces, which have it in opposite directions. Half-edge 4·f + k is edge k of
// face f, and twin has the half-edge on the other side. Faces are stored in columns, so that one sweep finds both the
// faces visible from a new vertex and the nearest of the others.
//
// expand retriangulates the horizon of a new vertex and lists the new faces; measure_faces computes the planes of the
// listed faces, those of several polytopes together, one face per lane, and empties the list. expand declines if a
// vertex of the horizon starts more than one of its edges, or if there is no room.

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

// EPA on this surface.

// root is the square root without errno: it calls no library.
ALWAYS double root(double x) {
#if defined(__SSE2__)
    return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set_sd(x), _mm_set_sd(x)));
#elif defined(__aarch64__)
    return vget_lane_f64(vsqrt_f64(vdup_n_f64(x)), 0);
#else
    return sqrt(x);
#endif
}

ALWAYS double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// small_hull returns the number of the support vertex of a hull of at most CLR_SMALL_VERTICES vertices.
ALWAYS int small_hull(const clr_call *c, int first, int count, double dx, double dy, double dz) {
    const double *x = c->vx + first, *y = c->vy + first, *z = c->vz + first;
    double support_value;
    if (count > W) return T(scan)(x, y, z, count, dx, dy, dz, &support_value);
    VF h = FMA(SET1(dz), LOADU(z), FMA(SET1(dy), LOADU(y), SET1(dx) * LOADU(x)));
    unsigned equal = MBITS(LE(SET1(HMAX(h)), h)); // zero only if there is a NaN
    int found = equal ? __builtin_ctz(equal) : 0;
    return found < count ? found : count - 1;
}

// hull_lists finds for each lane the list of candidate vertices of the direction cell of d.
ALWAYS void hull_lists(const T(places) *at, int side, V3 d, unsigned lanes, const float *list[W], int32_t blocks[W]) {
    const clr_call *c = at->call;
    int32_t cell[W];
    T(cell)(T(ld3)(at->hull[side]->extent[0], W), d, cell);
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        const int32_t *s = c->starts + at->hull[side]->cells[l] + cell[l];
        list[l] = c->lists + (size_t)s[0] * (4 * W32);
        blocks[l] = s[1] - s[0];
        __builtin_prefetch(list[l]);
        __builtin_prefetch(list[l] + 2 * W32);
    }
}

// hull_vertices returns the support vertices of the hulls of `lanes` along the unit vectors d, in the hulls' frames.
// For large hulls they are found in float32: another vertex may have a slightly greater support value.
static V3 hull_vertices(const T(places) *at, int kind, int side, V3 d, unsigned lanes, VF *number) {
    const clr_call *c = at->call;
    const T(hulls) *h = at->hull[side];
    double u[3][W] __attribute__((aligned(64))), found[W] __attribute__((aligned(64))) = {0};
    int32_t index[W] = {0}, blocks[W];
    T(st3)(u[0], W, d);
    if (kind == CLR_SMALL) {
        for (unsigned m = lanes; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            index[l] = small_hull(c, h->first[l], h->count[l], u[0][l], u[1][l], u[2][l]);
        }
        return T(pick)(at, side, index);
    }
    const float *list[W];
    hull_lists(at, side, d, lanes, list, blocks);
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        found[l] = scan_list32(list[l], blocks[l], (float)u[0][l], (float)u[1][l], (float)u[2][l])[3 * W32];
        index[l] = (int)found[l];
    }
    *number = LOADU(found);
    return T(pick)(at, side, index);
}

// pair_vertices returns the support vertices of D along the unit vectors d, in `lanes`, with those of large hulls as
// hull_vertices finds them.
static vertices_of pair_vertices(const T(places) *at, int ka, int kb, V3 d, unsigned lanes) {
    const VF one = SET1(1);
    const double *m = at->in + CLR_ROT * at->stride;
    V3 e = T(neg)(T(rotate_back)(m, at->stride, d)), b;
    vertices_of v = {.number = {one, one}};
    v.a = IS_HULL(ka) ? hull_vertices(at, ka, 0, d, lanes, &v.number[0]) : T(side_support)(at, ka, 0, d, one, 0);
    b = IS_HULL(kb) ? hull_vertices(at, kb, 1, e, lanes, &v.number[1]) : T(side_support)(at, kb, 1, e, one, 0);
    b = T(add)(T(rotate)(m, at->stride, b), T(ld3)(at->in + CLR_TRANS * at->stride, at->stride));
    v.w = T(sub)(v.a, b);
    return v;
}

// most_accurate_support replaces the vertices of large hulls in v by support vertices along d that are proved in
// float64. The candidates to beat are the corners of the nearest face, whose support values along d are nearly the
// greatest.
static __attribute__((noinline)) vertices_of most_accurate_support(const T(places) *at, const polytope *p, int ka,
                                                                   int kb, V3 d, unsigned lanes, vertices_of v) {
    const clr_call *c = at->call;
    const double *m = at->in + CLR_ROT * at->stride;
    V3 b = T(rotate_back)(m, at->stride, T(sub)(T(sub)(v.a, v.w), T(ld3)(at->in + CLR_TRANS * at->stride, at->stride)));
    for (int side = 0; side < 2; side++) {
        if ((side ? kb : ka) != CLR_HULL) continue;
        const T(hulls) *h = at->hull[side];
        int32_t cell[W], index[W] = {0};
        double u[3][W] __attribute__((aligned(64))), number[W] __attribute__((aligned(64))) = {0};
        V3 e = side ? T(neg)(T(rotate_back)(m, at->stride, d)) : d;
        T(st3)(u[0], W, e);
        T(cell)(T(ld3)(h->extent[0], W), e, cell);
        for (unsigned k = lanes; k; k &= k - 1) {
            int l = __builtin_ctz(k);
            const uint16_t *corner = p[l].corner[p[l].nearest];
            int32_t known[3];
            double high = -INFINITY;
            const double x[3] = {u[0][l], u[1][l], u[2][l]};
            for (int j = 0; j < 3; j++) {
                known[j] = (int32_t)(side ? p[l].a : p[l].w)[corner[j]][3];
                const double *v = c->corners + 4 * (size_t)(h->first[l] + known[j]);
                double t = x[0] * v[0] + x[1] * v[1] + x[2] * v[2];
                index[l] = t > high ? known[j] : index[l];
                high = t > high ? t : high;
            }
            T(hull_best)(at, side, l, cell[l], x, x, high, known, &index[l]);
            number[l] = index[l];
        }
        *(side ? &b : &v.a) = T(pick)(at, side, index);
        v.number[side] = LOADU(number);
    }
    b = T(add)(T(rotate)(m, at->stride, b), T(ld3)(at->in + CLR_TRANS * at->stride, at->stride));
    v.w = T(sub)(v.a, b);
    return v;
}

// How many faces of one row may be unexpandable because of rounding. More indicate a flat D.
#define EPA_STUCK 16

// depth_of is the answer for one row, in the frame of the pair.
typedef struct {
    double upper, lower;        // of the depth of the cores
    double off;                 // |near − upper·n|: how far the difference of the witnesses is from upper·n
    double n[3], a[3], near[3]; // outward normal of D, point of A, point of D
    int steps;
} depth_of;

// put_depth stores d like store_depths, with a distance of stride between the columns.
ALWAYS void put_depth(double *out, int stride, const depth_of *d) {
    out[0] = d->upper, out[stride] = d->lower, out[2 * stride] = d->off;
    for (int j = 0; j < 3; j++)
        out[(3 + j) * stride] = d->n[j], out[(6 + j) * stride] = d->a[j], out[(9 + j) * stride] = d->near[j];
}

// polytopes_in returns the polytopes of a scratch, one per lane.
ALWAYS polytope *polytopes_in(clr_scratch *s) {
    _Static_assert(W * sizeof(polytope) + 64 <= sizeof s->depths, "CLR_DEPTH_BYTES is too small");
    return (polytope *)(((uintptr_t)s->depths + 63) & ~(uintptr_t)63);
}

// closest finds the barycentric coordinates l of the point of face f that is closest to q, and returns its distance
// [Ericson2004, sec. 5.1.5].
static double closest(const polytope *p, int f, const double *q, double l[3]) {
    const double *a = p->w[p->corner[f][0]], *b = p->w[p->corner[f][1]], *c = p->w[p->corner[f][2]];
    double ab[3], ac[3], aq[3], bq[3], cq[3], d[3];
    for (int j = 0; j < 3; j++)
        ab[j] = b[j] - a[j], ac[j] = c[j] - a[j], aq[j] = q[j] - a[j], bq[j] = q[j] - b[j], cq[j] = q[j] - c[j];
    double d1 = dot3(ab, aq), d2 = dot3(ac, aq), d3 = dot3(ab, bq), d4 = dot3(ac, bq), d5 = dot3(ab, cq),
           d6 = dot3(ac, cq);
    double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    l[0] = l[1] = l[2] = 0;
    if (d1 <= 0 && d2 <= 0) l[0] = 1;
    else if (d3 >= 0 && d4 <= d3) l[1] = 1;
    else if (d6 >= 0 && d5 <= d6) l[2] = 1;
    else if (vc <= 0 && d1 >= 0 && d3 <= 0) l[1] = d1 / (d1 - d3), l[0] = 1 - l[1];
    else if (vb <= 0 && d2 >= 0 && d6 <= 0) l[2] = d2 / (d2 - d6), l[0] = 1 - l[2];
    else if (va <= 0) l[2] = (d4 - d3) / ((d4 - d3) + (d5 - d6)), l[1] = 1 - l[2];
    else {
        double sum = va + vb + vc;
        l[1] = vb / sum, l[2] = vc / sum, l[0] = 1 - l[1] - l[2];
    }
    for (int j = 0; j < 3; j++) d[j] = q[j] - (l[0] * a[j] + l[1] * b[j] + l[2] * c[j]);
    return root(dot3(d, d));
}

// lowest_corner bounds the distance of face f from the origin from below. With q the point of barycentric coordinates
// l, it is the least ⟨q/|q|, w⟩ of the corners w. This is a bound for every q; rounding of the coordinates of a thin
// face only makes it smaller.
static double lowest_corner(const polytope *p, int f, const double l[3]) {
    double q[3], low = INFINITY;
    for (int j = 0; j < 3; j++) {
        q[j] = 0;
        for (int k = 0; k < 3; k++) q[j] += l[k] * p->w[p->corner[f][k]][j];
    }
    const double far = root(dot3(q, q));
    for (int k = 0; k < 3; k++) {
        double h = dot3(q, p->w[p->corner[f][k]]) / far;
        low = h >= low ? low : h; // also if h is NaN
    }
    return low;
}

// witnesses finds the point of the surface that is closest to the projection of the origin onto the plane of face f.
// Of coplanar faces, the projection lies in one.
static __attribute__((noinline)) void witnesses(const polytope *p, int f, double gap, depth_of *out) {
    double projection[3], l[3], best[3];
    for (int j = 0; j < 3; j++) projection[j] = p->key[f] * out->n[j];
    int at = f;
    double off = closest(p, f, projection, best);
    for (int g = 0; g < p->faces && off > 0.5 * gap; g++) {
        if (g == f || !(p->key[g] <= p->key[f] + gap)) continue;
        double d = closest(p, g, projection, l);
        if (d < off) off = d, at = g, memcpy(best, l, sizeof l);
    }
    double side[3];
    for (int j = 0; j < 3; j++) {
        out->near[j] = out->a[j] = 0;
        for (int k = 0; k < 3; k++) {
            out->near[j] += best[k] * p->w[p->corner[at][k]][j];
            out->a[j] += best[k] * p->a[p->corner[at][k]][j];
        }
        side[j] = out->near[j] - out->upper * out->n[j];
    }
    out->off = root(dot3(side, side));
}

enum { DEPTH_OPEN, DEPTH_FOUND, DEPTH_NONE };

// depth_step takes one step with the vertex of lane `lane` of v, whose support value along the normal of the nearest
// face is h. It stores the answer if the bounds differ by at most stop, and otherwise expands the polytope.
ALWAYS int depth_step(polytope *p, unmeasured *list, int *stuck, double h, const double v[8][W], int lane, int unit,
                      double stop, depth_of *out) {
    static const double origin[3] = {0, 0, 0};
    int f = p->nearest;
    double key = p->key[f], l[3];
    if (h - key <= stop && key > p->rounding && unit) {
        out->n[0] = p->nx[f], out->n[1] = p->ny[f], out->n[2] = p->nz[f];
        out->upper = h;
        out->lower = key;
        witnesses(p, f, stop, out);
        if (out->off <= stop) return DEPTH_FOUND;
    } else if (h > p->top[f]) {
        if (p->vertices == EPA_VERTICES) return DEPTH_NONE;
        put_vertex(p, v, lane);
        return expand(p, list) ? DEPTH_OPEN : DEPTH_NONE;
    }
    // The face cannot be expanded. If it is thin, the triangle itself gives a greater lower bound than its plane.
    closest(p, f, origin, l);
    key = lowest_corner(p, f, l);
    if (++*stuck > EPA_STUCK || !(p->key[f] > p->rounding) || !(key > p->key[f] + stop)) return DEPTH_NONE;
    p->key[f] = key;
    find_nearest(p);
    return DEPTH_OPEN;
}

// nearest_supports finds the support vertices of D along the normals d of the nearest faces, and their support values
// h. Those of large hulls are found in float32, and again in float64 where the first does not expand the face.
ALWAYS vertices_of nearest_supports(const polytope *p, const T(places) *at, int ka, int kb, unsigned lanes,
                                    const double *stop, V3 *d, VF *h) {
    double n[3][W] __attribute__((aligned(64))) = {{0}}, top[W] __attribute__((aligned(64))) = {0};
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m), f = p[l].nearest;
        n[0][l] = p[l].nx[f], n[1][l] = p[l].ny[f], n[2][l] = p[l].nz[f];
        top[l] = p[l].top[f];
    }
    *d = T(ld3)(n[0], W);
    vertices_of v = pair_vertices(at, ka, kb, *d, lanes);
    if (ka == CLR_HULL || kb == CLR_HULL) {
        VM low = MAND(LE(T(dot)(*d, v.w), LOADU(top) + LOADU(stop)), MFROM(lanes));
        if (MBITS(low)) v = select_vertices(low, most_accurate_support(at, p, ka, kb, *d, MBITS(low), v), v);
    }
    *h = T(dot)(*d, v.w);
    return v;
}

// depths expands the polytopes of `lanes` and returns the lanes that have an answer in out. No lane takes more than
// `most` steps.
static __attribute__((noinline)) unsigned depths(polytope *p, const T(places) *at, int ka, int kb, unsigned lanes,
                                                 const double *stop, const int *most, depth_of *out) {
    unmeasured list;
    int stuck[W] = {0};
    unsigned found = 0;
    double vertex[8][W] __attribute__((aligned(64))), h[W] __attribute__((aligned(64)));
    list.count = 0;
    while (lanes) {
        V3 d;
        VF support_value;
        store_vertices(vertex, nearest_supports(p, at, ka, kb, lanes, stop, &d, &support_value));
        STOREU(h, support_value);
        unsigned unit = MBITS(is_unit(d));
        for (unsigned m = lanes; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            out[l].steps++;
            int next = depth_step(p + l, &list, stuck + l, h[l], vertex, l, unit >> l & 1, stop[l], out + l);
            if (next != DEPTH_OPEN || out[l].steps >= most[l]) lanes &= ~(1u << l);
            if (next == DEPTH_FOUND) found |= 1u << l;
        }
        if (list.count > 0) measure_faces(&list);
    }
    return found;
}

// expand_rows answers the rows of the lanes `in`, whose columns are those of `at`, by polytopes that start from the
// simplices that GJK ended with. It returns the lanes that have an answer in out.
static __attribute__((noinline)) unsigned expand_rows(const clr_call *c, clr_scratch *s, const int32_t row[W],
                                                      unsigned in, T(places) *at, int ka, int kb, VF rounding, VF stop,
                                                      depth_of out[W]) {
    polytope *p = polytopes_in(s);
    double gap[W] __attribute__((aligned(64)));
    vertices_of v[4];
    int most[W]; // steps left under the iteration limit; storing the answer counts one more
    unsigned may = 0;
    STOREU(gap, stop);
    at->lanes = in;
    for (int l = 0; l < W; l++) {
        out[l].steps = 0;
        most[l] = c->max_steps ? c->max_steps - 1 - s->steps[row[l]] : INT32_MAX;
        may |= (unsigned)(most[l] > 0) << l;
    }
    if (!(in & may)) return 0;
    for (int j = 0; j < 4; j++) {
        double from[3][W] __attribute__((aligned(64))), number[2][W] __attribute__((aligned(64)));
        int32_t number_a[W], number_b[W];
        V3 b;
        for (int l = 0; l < W; l++) {
            for (int i = 0; i < 3; i++) from[i][l] = s->more[CLR_SEED + 3 * j + i][row[l]];
            number[0][l] = number_a[l] = s->seed_a[j][row[l]];
            number[1][l] = number_b[l] = s->seed_b[j][row[l]];
        }
        const V3 d = T(ld3)(from[0], W), e = T(rotate_back)(at->in + CLR_ROT * at->stride, at->stride, d);
        v[j].w = vertex_of(at, d, e, number_a, number_b, ka, kb, &v[j].a, &b);
        v[j].number[0] = LOADU(number[0]);
        v[j].number[1] = LOADU(number[1]);
    }
    const unsigned found = depths(p, at, ka, kb, in & may & tetrahedra(p, v, rounding), gap, most, out);
    for (unsigned m = in; m; m &= m - 1) s->steps[row[__builtin_ctz(m)]] += (uint16_t)out[__builtin_ctz(m)].steps;
    return found;
}

#endif
