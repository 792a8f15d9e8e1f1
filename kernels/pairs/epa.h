// Penetration depths by the expanding polytope algorithm [VanDenBergen2001], for rows that no other method has
// answered. Float64.
//
// The polytope of a row is a closed surface of triangles with vertices on D (epa_surface.h). With the unit normal n of
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
#include "epa_surface.h"
#include "../shape/support.h"
#include "store.h"
#include "simplex.h"
#include <string.h>

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
