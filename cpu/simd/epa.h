// Depths: the expanding polytope algorithm, for rows whose cores intersect (van den Bergen,
// Proximity Queries and Penetration Depth Computation on 3D Game Objects, 2001). Float64.
// W pairs take their steps together: support points are found a pair a lane, new faces
// measured a face a lane; each pair's own surface is mended in between. What a pair
// computes depends on none of its neighbours. Included by finish.h.
//
// The bounds are those of ref.EPA. From above, the support plane along the normal of the
// nearest face. From below, the faces: the surface is closed by construction (epa_polytope.h),
// and if every face has its three vertices beyond its own plane at a height above
// rounding, every face is seen from the origin with the same sign, so that the solid angles
// cannot add up to zero: the surface winds around the origin. A ball around the origin that
// touches no face is then wound around as a whole, hence part of the convex hull of the
// vertices, and of D. Neither bound asks that the polytope be convex.
//
// A row is answered, with bounds as close as asked for, or left: where the memory is full,
// where rounding keeps a face from being expanded, and where the tetrahedron that GJK
// found is flat.

#include "epa_polytope.h"
#include "epa_support.h"

// lane_depths are answers for rows, one a lane, in the frames of the pairs.
typedef struct {
    VF high, low, off; // of the depth, and how far off the witnesses are
    V3 n, a, near;     // see depth_of
    VM ok;
} lane_depths;

ALWAYS void store_depths(double out[12][W], lane_depths d) {
    STOREU(out[0], d.high);
    STOREU(out[1], d.low);
    STOREU(out[2], d.off);
    T(st3)(out[3], W, d.n);
    T(st3)(out[6], W, d.a);
    T(st3)(out[9], W, d.near);
}

#include "epa_boxes.h"

// Faces that rounding may set aside in one row; more are a sign of a flat D.
#define EPA_STUCK 16

// depth_of is the answer for one row, in the frame of the pair.
typedef struct {
    double upper, lower;        // of the depth of the cores
    double off;                 // by what the witnesses are not upper·normal apart
    double n[3], a[3], near[3]; // outward normal of D, point of A, point of D
    int steps;
} depth_of;

// put_depth stores d as store_depths does, columns stride apart.
ALWAYS void put_depth(double *out, int stride, const depth_of *d) {
    out[0] = d->upper, out[stride] = d->lower, out[2 * stride] = d->off;
    for (int j = 0; j < 3; j++) out[(3 + j) * stride] = d->n[j], out[(6 + j) * stride] = d->a[j], out[(9 + j) * stride] = d->near[j];
}

// polytopes_in are the polytopes of a scratch, a lane each.
ALWAYS polytope *polytopes_in(clr_scratch *s) {
    _Static_assert(W * sizeof(polytope) + 64 <= sizeof s->depths, "CLR_DEPTH_BYTES is too small");
    return (polytope *)(((uintptr_t)s->depths + 63) & ~(uintptr_t)63);
}

// closest finds the weights of the point of face f closest to q, and its distance (Ericson,
// Real-Time Collision Detection, sec. 5.1.5).
static double closest(const polytope *p, int f, const double *q, double l[3]) {
    const double *a = p->w[p->corner[f][0]], *b = p->w[p->corner[f][1]], *c = p->w[p->corner[f][2]];
    double ab[3], ac[3], aq[3], bq[3], cq[3], d[3];
    for (int j = 0; j < 3; j++) ab[j] = b[j] - a[j], ac[j] = c[j] - a[j], aq[j] = q[j] - a[j], bq[j] = q[j] - b[j], cq[j] = q[j] - c[j];
    double d1 = dot3(ab, aq), d2 = dot3(ac, aq), d3 = dot3(ab, bq), d4 = dot3(ac, bq), d5 = dot3(ab, cq), d6 = dot3(ac, cq);
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

// lowest_corner is how far face f lies from the origin at least: the height of its lowest corner
// along its point with weights l. What rounding does to the weights of a thin face
// makes it less, never more.
static double lowest_corner(const polytope *p, int f, const double l[3]) {
    double q[3], low = INFINITY;
    for (int j = 0; j < 3; j++) {
        q[j] = 0;
        for (int k = 0; k < 3; k++) q[j] += l[k] * p->w[p->corner[f][k]][j];
    }
    const double far = root(dot3(q, q));
    for (int k = 0; k < 3; k++) {
        double h = dot3(q, p->w[p->corner[f][k]]) / far;
        low = h >= low ? low : h; // also if h is not a number
    }
    return low;
}

// witnesses finds the point of the surface that is closest to the foot of the support plane
// found along face f. Of coplanar faces the foot lies in one.
static __attribute__((noinline)) void witnesses(const polytope *p, int f, double gap, depth_of *out) {
    double foot[3], l[3], best[3];
    for (int j = 0; j < 3; j++) foot[j] = p->key[f] * out->n[j];
    int at = f;
    double off = closest(p, f, foot, best);
    for (int g = 0; g < p->faces && off > 0.5 * gap; g++) {
        if (g == f || !(p->key[g] <= p->key[f] + gap)) continue;
        double d = closest(p, g, foot, l);
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

// depth_step takes one step with the vertex of lane l of v, of height h along the normal of
// the nearest face: the answer, where both bounds are closer than stop; or more faces.
ALWAYS int depth_step(polytope *p, unmeasured *list, int *stuck, double h, const double v[8][W], int lane, int unit, double stop, depth_of *out) {
    static const double origin[3] = {0, 0, 0};
    int f = p->nearest;
    double key = p->key[f], l[3];
    if (h - key <= stop && key > p->round && unit) {
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
    // The face cannot be expanded. If it is thin, its plane says less than the triangle
    // itself.
    closest(p, f, origin, l);
    key = lowest_corner(p, f, l);
    if (++*stuck > EPA_STUCK || !(p->key[f] > p->round) || !(key > p->key[f] + stop)) return DEPTH_NONE;
    p->key[f] = key;
    find_nearest(p);
    return DEPTH_OPEN;
}

// highest finds the vertices of D highest along the normals d of the nearest faces, and their heights.
// Those of large hulls are the highest of float32, and where none is higher than the face,
// those of float64.
ALWAYS vertices_of highest(const polytope *p, const T(places) *at, int ka, int kb, unsigned lanes, const double *stop, V3 *d, VF *h) {
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
        if (MBITS(low)) v = select_vertices(low, surest(at, p, ka, kb, *d, MBITS(low), v), v);
    }
    *h = T(dot)(*d, v.w);
    return v;
}

// depths expands the polytopes of `lanes` until their answers are found, and returns the lanes
// where they are. No lane takes more than `most` steps.
static __attribute__((noinline)) unsigned depths(polytope *p, const T(places) *at, int ka, int kb, unsigned lanes, const double *stop, const int *most, depth_of *out) {
    unmeasured list;
    int stuck[W] = {0};
    unsigned found = 0;
    double vertex[8][W] __attribute__((aligned(64))), h[W] __attribute__((aligned(64)));
    list.count = 0;
    while (lanes) {
        V3 d;
        VF height;
        store_vertices(vertex, highest(p, at, ka, kb, lanes, stop, &d, &height));
        STOREU(h, height);
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

// curved says of a class whether its cores are no polytopes.
ALWAYS int curved(int class) { return class != CLR_BOX && class < CLR_SMALL; }

// depth_stop is how close the bounds of a depth are to be, of a pair with gap tol.
ALWAYS VF depth_stop(const clr_call *c, int bent, VF tol, VF round) {
    return MAX(SET1((bent ? c->curved_depth : c->tolerance) / c->tolerance) * tol - SET1(2) * round, round);
}

#include "epa_prove.h"
#include "flat.h"
#include "epa_minima.h"
#include "epa_rims.h"
#include "epa_caps.h"
#include "epa_rim_search.h"
#include "bend_caps.h"
#include "epa_bend_search.h"
#include "epa_surround.h"

// expand_depths answers those of rows k, k+1, … of the group that are in `in` by expanding
// polytopes, from the simplices that GJK ended with.
static __attribute__((noinline)) unsigned expand_depths(const clr_call *c, clr_scratch *s, int k, unsigned in, T(places) *at, int ka, int kb, VF round, VF stop, double answer[12][W]) {
    polytope *p = polytopes_in(s);
    double gap[W] __attribute__((aligned(64)));
    vertices_of v[4];
    depth_of d[W];
    int most[W]; // of a call that caps them: emit counts one more
    unsigned may = 0;
    STOREU(gap, stop);
    at->lanes = in;
    for (int l = 0; l < W; l++) {
        d[l].steps = 0;
        most[l] = c->max_steps ? c->max_steps - 1 - s->steps[k + l] : INT32_MAX;
        may |= (unsigned)(most[l] > 0) << l;
    }
    if (!(in & may)) return 0;
    for (int j = 0; j < 4; j++) {
        V3 dir, b;
        double number[2][W] __attribute__((aligned(64)));
        for (int l = 0; l < W; l++) number[0][l] = s->seed_a[j][k + l], number[1][l] = s->seed_b[j][k + l];
        v[j].w = seed_vertex(at, s, k, j, ka, kb, &dir, &v[j].a, &b);
        v[j].number[0] = LOADU(number[0]);
        v[j].number[1] = LOADU(number[1]);
    }
    const unsigned found = depths(p, at, ka, kb, in & may & tetrahedra(p, v, round), gap, most, d);
    for (unsigned m = in; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        s->steps[k + l] += (uint16_t)d[l].steps;
        if (!(found >> l & 1)) continue;
        put_depth(&answer[0][l], W, d + l);
    }
    return found;
}

// deepen answers rows k, k+1, … of the group that are in `in`, from the simplices that
// GJK ended with. It returns those answered.
static __attribute__((noinline)) unsigned deepen(const clr_call *c, clr_scratch *s, int64_t at0, int k, unsigned in, T(places) *at, int ka, int kb) {
    double answer[12][W] __attribute__((aligned(64)));
    const int bent = curved(ka) || curved(kb);
    const double *more = &s->more[0][k];
    const VF round = LOADU(more + CLR_ROUND_OFF * CLR_STRIDE64);
    const VF stop = depth_stop(c, bent, LOADU(more + CLR_TOL * CLR_STRIDE64), round);
    unsigned by_axes = 0, by_rtr = 0, ok = 0;
    at->lanes = in;
    if (ka == CLR_BOX && kb == CLR_BOX) {
        box_pair p;
        for (int j = 0; j < 9; j++) p.m[j] = LOADU(&s->in64[CLR_ROT + j][k]);
        p.t = T(ld3)(&s->in64[CLR_TRANS][k], CLR_STRIDE64);
        p.a = T(ld3)(&s->in64[CLR_PA][k], CLR_STRIDE64);
        p.b = T(ld3)(&s->in64[CLR_PB][k], CLR_STRIDE64);
        lane_depths d = box_depths(&p, round, stop);
        ok = by_axes = in & MBITS(d.ok);
        store_depths(answer, d);
    } else if (SURROUNDED(ka, kb)) {
        for (unsigned m = in; m; m &= m - 1) {
            const int state = s->minima.state[k + __builtin_ctz(m)];
            ok |= m & -m & -(unsigned)(state >= CLR_MINIMUM_LEAST);
            by_rtr |= m & -m & -(unsigned)(state == CLR_MINIMUM_LEAST && HAS_BEND(ka) && HAS_BEND(kb));
        }
        for (int j = 0; j < 12; j++) STOREU(answer[j], LOADU(&s->minima.answer[j][k]));
    } else {
        ok = prove(at, s, k, ka, kb, in, round, stop, answer);
    }
    if ((in & ~ok) && (c->max_steps || !SURROUNDED(ka, kb))) ok |= expand_depths(c, s, k, in & ~ok, at, ka, kb, round, stop, answer);
    const VF ra = LOADU(more + CLR_RA * CLR_STRIDE64), rb = LOADU(more + CLR_RB * CLR_STRIDE64), radius = ra + rb;
    VF high = LOADU(answer[0]), low = LOADU(answer[1]), off = LOADU(answer[2]);
    V3 n = T(ld3)(answer[3], W), a = T(ld3)(answer[6], W), near = T(ld3)(answer[9], W);
    // As ref has it, the distance is minus the depth that is surely enough.
    VF distance = -high - radius, upper = MAX(-low, off - high) - radius + round, none = SET1(0);
    V3 wa = T(axpy)(ra, n, a), wb = T(axpy)(-rb, n, T(sub)(a, near));
    emit(c, s, at0, k, by_axes, CLR_BY_AXES, distance, distance - round, upper, LT(none, none), LT(upper, none), n, wa, wb);
    emit(c, s, at0, k, by_rtr, CLR_BY_RTR, distance, distance - round, upper, LT(none, none), LT(upper, none), n, wa, wb);
    emit(c, s, at0, k, ok & ~by_axes & ~by_rtr, CLR_BY_EPA, distance, distance - round, upper, LT(none, none), LT(upper, none), n, wa, wb);
    return ok;
}
