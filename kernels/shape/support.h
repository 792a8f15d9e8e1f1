// Support functions of the classes of cores and of D = A − B. A template, see vec3.h.
//
// s_D(−x) = s_A(−x) − s_B(x), evaluated in the frame of A. Each class has a closed form, or a scan
// of vertices. With E = diag(e) and d a direction in the frame of the core:
//
//	box               (±e.x, ±e.y, ±e.z), the signs those of d
//	ellipsoid         E²d/|Ed| − r·d/|d|, eroded by a ball of radius r
//	frustum           the point of the upper or lower rim along the lateral part of d, whichever has the
//	                  greater support value
//	superquadric, smooth hull, smooth revolution: support_smooth.h
//	hull              a vertex of greatest support value: support_hull.h
//
// GJK (gjk.h), EPA (epa.h) and the certificates (certify.h) take support points, vertices of hulls by
// number as well, and support values. No row is declined here.

#if (REAL_BITS == 32 && !defined(CLR_SUPPORT_32)) || (REAL_BITS == 64 && !defined(CLR_SUPPORT_64))
#if REAL_BITS == 32
#define CLR_SUPPORT_32
#else
#define CLR_SUPPORT_64
#endif

#include "cores.h"
#include "support_smooth.h"
#include "support_hull.h"

// core_support is the support point of a core of class k, box, ellipsoid or frustum, in direction d. p are the
// parameters, `stride` apart, and r is 1/|d|.
ALWAYS V3 T(core_support)(int k, const REAL *p, int stride, V3 d, VF r) {
    V3 e = T(ld3)(p, stride);
    if (k == CLR_BOX) return (V3){COPYSIGN(e.x, d.x), COPYSIGN(e.y, d.y), COPYSIGN(e.z, d.z)};
    if (k == CLR_ELLIPSOID) {
        V3 u = {e.x * d.x, e.y * d.y, e.z * d.z};
        VF s = RSQRT(MAX(T(dot)(u, u), SET1(TINY)));
        VF out = LOADU(p + 3 * stride) * r;
        return (V3){FNMA(out, d.x, e.x * (u.x * s)), FNMA(out, d.y, e.y * (u.y * s)), FNMA(out, d.z, e.z * (u.z * s))};
    }
    // CLR_FRUSTUM: e is the lower radius, the upper radius and half the length. The support point is on
    // the upper rim if (upper − lower)·|lateral d| + 2·half·d.z ≥ 0.
    VF l2 = MAX(FMA(d.y, d.y, d.x * d.x), SET1(TINY));
    VF inv = RSQRT(l2);
    VM top = LE(SET1(0), FMA(e.y - e.x, l2 * inv, SET1(2) * e.z * d.z));
    VF k2 = SEL(top, e.y, e.x) * inv;
    return (V3){k2 * d.x, k2 * d.y, SEL(top, e.z, -e.z)};
}

// side_support is the support point of core `side` of class k in direction d of its own frame. Of a hull it
// is a vertex, whose number goes to *found.
ALWAYS V3 T(side_support)(const T(places) *at, int k, int side, V3 d, VF r, VF *found) {
    const REAL *p = at->in + (side ? CLR_PB : CLR_PA) * at->stride;
    if (k == CLR_SUPERQUADRIC) return T(superquadric_support)(T(ld3)(p, at->stride), at->hull[side]->power, d);
    if (k == CLR_SMOOTH_REVOLUTION || k == CLR_SMOOTH_HULL)
        return T(smooth_support)(at->call, at->hull[side], at->lanes, k, p, at->stride, d);
    if (!IS_HULL(k)) return T(core_support)(k, p, at->stride, d, r);
#if REAL_BITS == 32
    if (k == CLR_SMALL) return T(copied_support)(at, side, d, found);
#endif
#if REAL_BITS == 32
    return T(hull_support)(at, side, d, found);
#else
    return T(hull_support)(at, side, d, r, found);
#endif
}

#ifndef CLR_SUPPORTS
#define CLR_SUPPORTS
// How vertices of hulls with direction cells are found: support vertices by the cells, candidate vertices, and support
// vertices of hulls that all lanes share.
enum { BY_CELLS, CANDIDATES, SHARED };
#endif

// support is the support point a − b of D in direction −x, which minimizes <x, a − b>; r is 1/|x|. With CANDIDATES,
// support_or_candidate takes the candidate vertices of hulls with direction cells instead: points of D, which need not
// be support points.
ALWAYS V3 T(support_or_candidate)(const T(places) *at, int ka, int kb, V3 x, VF r, V3 *a, VF found[2], int how) {
    const REAL *m = at->in + CLR_ROT * at->stride;
    const V3 d = T(neg)(x), e = T(rotate_back)(m, at->stride, x);
    V3 b;
#if REAL_BITS == 32
    if (how == SHARED && ka == CLR_HULL) *a = T(shared_support)(at, 0, d, r, &found[0]);
    else if (how == CANDIDATES && ka == CLR_HULL) *a = candidate_support(at, 0, d, found ? &found[0] : 0);
    else
#endif
        *a = T(side_support)(at, ka, 0, d, r, found ? &found[0] : 0);
#if REAL_BITS == 32
    if (how == SHARED && kb == CLR_HULL) b = T(shared_support)(at, 1, e, r, &found[1]);
    else if (how == CANDIDATES && kb == CLR_HULL) b = candidate_support(at, 1, e, found ? &found[1] : 0);
    else
#endif
        b = T(side_support)(at, kb, 1, e, r, found ? &found[1] : 0);
    b = T(add)(T(rotate)(m, at->stride, b), T(ld3)(at->in + CLR_TRANS * at->stride, at->stride));
    return T(sub)(*a, b);
}
ALWAYS V3 T(support)(const T(places) *at, int ka, int kb, V3 x, VF r, V3 *a, VF found[2]) {
    return T(support_or_candidate)(at, ka, kb, x, r, a, found, 0);
}

// shared_by are the hulls of the rows of a group that share their shapes: `vertices` are clr_call.points or corners.
ALWAYS T(shared_hulls) T(shared_by)(const clr_call *c, const clr_scratch *s, const REAL *vertices) {
    T(shared_hulls) h;
    for (int side = 0; side < 2; side++) {
        const clr_shape *shape = c->shapes + (side ? s->shape_b : s->shape_a)[0];
        const int first = shape->first - (REAL_BITS == 32 ? c->scanned : 0); // points lack the hulls without cells
        h.vertices[side] = IS_HULL(shape->class) && first >= 0 ? vertices + 4 * (size_t)first : 0;
        h.count[side] = shape->count;
        h.size[side] = (REAL)shape->size;
    }
    return h;
}

#if REAL_BITS == 64
// known are vertices of the hulls of both sides with their numbers, which hull_best need not scan again.
typedef struct {
    const int32_t *number[2][3];
    V3 a[3], b[3];
} T(known);

// support_value is min over D of <x, ·> = −h_D(−x), for a unit vector x: <x, a − b> for the support point
// of support.
ALWAYS VF T(support_value)(const T(places) *at, int ka, int kb, V3 x, const T(known) *known) {
    V3 d[2] = {T(neg)(x), T(rotate_back)(at->in + CLR_ROT * at->stride, at->stride, x)};
    VF sum = T(dot)(x, T(ld3)(at->in + CLR_TRANS * at->stride, at->stride));
    for (int side = 0; side < 2; side++) {
        int k = side ? kb : ka;
        if (!IS_HULL(k)) {
            sum = sum + T(dot)(d[side], T(side_support)(at, k, side, d[side], SET1(1), 0));
            continue;
        }
        const V3 *v = side ? known->b : known->a;
        VF high = MAX(MAX(T(dot)(d[side], v[0]), T(dot)(d[side], v[1])), T(dot)(d[side], v[2]));
        sum = sum + T(hull_support_value)(at, k, side, d[side], high, (const int32_t **)known->number[side]);
    }
    return -sum;
}

// vertex_of is the support point of D in direction −d. e is d in the frame of B. Of hulls it takes the
// vertices with the given numbers.
ALWAYS V3 vertex_of(const T(places) *at, V3 d, V3 e, const int32_t *number_a, const int32_t *number_b, int ka, int kb,
                    V3 *a, V3 *own_b) {
    const VF one = SET1(1); // only ellipsoids need the length
    *a = IS_HULL(ka) ? T(pick)(at, 0, number_a)
                     : T(side_support)(at, ka, 0, T(neg)(d), ka == CLR_ELLIPSOID ? inverse_length(d) : one, 0);
    V3 b = IS_HULL(kb) ? T(pick)(at, 1, number_b)
                       : T(side_support)(at, kb, 1, e, kb == CLR_ELLIPSOID ? inverse_length(e) : one, 0);
    *own_b = b;
    b = T(add)(T(rotate)(at->in + CLR_ROT * at->stride, at->stride, b),
               T(ld3)(at->in + CLR_TRANS * at->stride, at->stride));
    return T(sub)(*a, b);
}

// seed_vertex recomputes, in float64, vertex j of the simplex that a loop ended with: from its direction,
// and of hulls from its number.
ALWAYS V3 seed_vertex(const T(places) *at, const clr_scratch *s, int k, int j, int ka, int kb, V3 *dir, V3 *a,
                      V3 *own_b) {
    *dir = T(ld3)(&s->more[CLR_SEED + 3 * j][k], CLR_STRIDE64);
    return vertex_of(at, *dir, T(rotate_back)(at->in + CLR_ROT * at->stride, at->stride, *dir), &s->seed_a[j][k],
                     &s->seed_b[j][k], ka, kb, a, own_b);
}

// put_hulls puts the shapes of rows k to k + W − 1 of the group into the lanes.
ALWAYS void put_hulls(const clr_call *c, const clr_scratch *s, int k, int ka, int kb, T(hulls) hull[2]) {
    for (int l = 0; l < W && (IN_LANES(ka) || IN_LANES(kb)); l++) {
        T(put_hull)(&hull[0], l, c->shapes + s->shape_a[k + l], ka);
        T(put_hull)(&hull[1], l, c->shapes + s->shape_b[k + l], kb);
    }
}
#endif

#endif
