// Support points of the classes of cores. A template, see vec3.h.

// tiny keeps a division by the length of a vector finite. Where it acts, what is
// divided is shorter than its root, and the point stays inside the core.
#if REAL_BITS == 32
#define TINY 1e-30f
#else
#define TINY 1e-200
#endif

#include "elementary.h"
#include "superquadric.h"

// core_support is the point of a core of class k that maximises <d, x>. p are the
// parameters, `stride` apart, r is 1/|d|.
ALWAYS V3 T(core_support)(int k, const REAL *p, int stride, V3 d, VF r) {
    V3 e = T(ld3)(p, stride);
    if (k == CLR_BOX)
        return (V3){COPYSIGN(e.x, d.x), COPYSIGN(e.y, d.y), COPYSIGN(e.z, d.z)};
    if (k == CLR_ELLIPSOID) {
        V3 u = {e.x * d.x, e.y * d.y, e.z * d.z};
        VF s = RSQRT(MAX(T(dot)(u, u), SET1(TINY)));
        VF out = LOADU(p + 3 * stride) * r;
        return (V3){FNMA(out, d.x, e.x * (u.x * s)), FNMA(out, d.y, e.y * (u.y * s)), FNMA(out, d.z, e.z * (u.z * s))};
    }
    // CLR_ROUND: e is the radius below, the radius above, half the length. A point of
    // the upper rim is higher if (above − below)·|lateral d| + 2·half·d.z ≥ 0.
    VF l2 = MAX(FMA(d.y, d.y, d.x * d.x), SET1(TINY));
    VF inv = RSQRT(l2);
    VM top = LE(SET1(0), FMA(e.y - e.x, l2 * inv, SET1(2) * e.z * d.z));
    VF k2 = SEL(top, e.y, e.x) * inv;
    return (V3){k2 * d.x, k2 * d.y, SEL(top, e.z, -e.z)};
}

// rotate and rotate_back apply the rotation of B in the frame of A and its transpose.
ALWAYS V3 T(rotate)(const REAL *m, int stride, V3 v) {
    return (V3){
        FMA(LOADU(m + 2 * stride), v.z, FMA(LOADU(m + stride), v.y, LOADU(m) * v.x)),
        FMA(LOADU(m + 5 * stride), v.z, FMA(LOADU(m + 4 * stride), v.y, LOADU(m + 3 * stride) * v.x)),
        FMA(LOADU(m + 8 * stride), v.z, FMA(LOADU(m + 7 * stride), v.y, LOADU(m + 6 * stride) * v.x))};
}
ALWAYS V3 T(rotate_back)(const REAL *m, int stride, V3 v) {
    return (V3){
        FMA(LOADU(m + 6 * stride), v.z, FMA(LOADU(m + 3 * stride), v.y, LOADU(m) * v.x)),
        FMA(LOADU(m + 7 * stride), v.z, FMA(LOADU(m + 4 * stride), v.y, LOADU(m + stride) * v.x)),
        FMA(LOADU(m + 8 * stride), v.z, FMA(LOADU(m + 5 * stride), v.y, LOADU(m + 2 * stride) * v.x))};
}

// Classes from CLR_SUPERQUADRIC on have more than four parameters: their lanes keep some.
#define IN_LANES(k) ((k) >= CLR_SUPERQUADRIC)
// Those that have vertices, those that take powers, and those whose center may be off their origin.
#define HAS_VERTICES(k) ((k) >= CLR_SMOOTH_REVOLUTION)
#define HAS_POWERS(k) ((k) >= CLR_SUPERQUADRIC && (k) < CLR_SMALL)
#define OFF_CENTER(k) ((k) >= CLR_SMOOTH_HULL)
// Those whose support functions have derivatives that are computed, see bend.h.
#define HAS_BEND(k) ((k) == CLR_ELLIPSOID || HAS_POWERS(k))
// SURROUNDED tells of a pair of classes whether epa_surround.h searches its depths.
#define SURROUNDED(ka, kb) (((ka) == CLR_ROUND && (kb) == CLR_ROUND) || (HAS_BEND(ka) && HAS_BEND(kb)))
#if REAL_BITS == 32
// takes_rtr tells whether the trust region method begins with pairs of these classes: ellipsoids, all that
// have a bend where it is named, and otherwise those whose distance is asked for.
ALWAYS int takes_rtr(const clr_call *c, int ka, int kb) {
    if (!c->rtr || !HAS_BEND(ka) || !HAS_BEND(kb)) return 0;
    return !c->closed || (ka == CLR_ELLIPSOID && kb == CLR_ELLIPSOID) || (!c->deep && !c->max_steps);
}
#endif

// hulls are the hulls of one side, a lane each, or what the lanes keep of other shapes.
typedef struct {
    REAL power[T(POWERS)][W]; // see superquadric.h
    REAL extent[3][W]; // see clr_shape
    REAL size[W];
    int32_t cells[W], first[W], count[W];
#if REAL_BITS == 32
    REAL finer[3][W];  // extents by the grid of the likely cells
    int32_t likely[W]; // the first of these
#endif
} T(hulls);

// set_hull keeps shape s, of class k, in lane l. put_hull keeps less of a small hull: enough to
// scan all of it.
ALWAYS void T(set_hull)(T(hulls) *h, int l, const clr_shape *s, int k) {
    if (k == CLR_SUPERQUADRIC) {
        h->power[T(ACROSS)][l] = (REAL)s->extent[0];
        h->power[T(ALONG)][l] = (REAL)s->extent[1];
        h->power[T(DUAL_ACROSS)][l] = (REAL)(1 / (1 - s->extent[0]));
        h->power[T(DUAL_ALONG)][l] = (REAL)(1 / (1 - s->extent[1]));
        return;
    }
    if (k == CLR_SMOOTH_REVOLUTION || k == CLR_SMOOTH_HULL)
        for (int j = 0; j < 3; j++) h->power[j][l] = (REAL)s->extent[j];
    h->first[l] = s->first;
    h->count[l] = s->count;
    if (k < CLR_SMALL) return;
    for (int j = 0; j < 3; j++) h->extent[j][l] = (REAL)s->extent[j];
    h->size[l] = (REAL)s->size;
    h->cells[l] = s->cells;
}
ALWAYS void T(put_hull)(T(hulls) *h, int l, const clr_shape *s, int k) {
    if (k == CLR_SMALL) h->first[l] = s->first, h->count[l] = s->count;
    else if (IN_LANES(k)) T(set_hull)(h, l, s, k);
}

#include "smooth.h"

// places is where the lanes find their pairs.
typedef struct {
    const clr_call *call;
    const REAL *in; // input columns, `stride` apart
    int stride;
    const T(hulls) *hull[2];    // of A and B
    const REAL (*copy[2])[3][W];        // of small hulls in float32: their vertices
    int copied[2];                      // and how many of them are looked at
    unsigned lanes;                     // those whose answer matters
} T(places);

#include "hull.h"

// side_support is the support point of core `side` of class k along d in its own frame,
// and the vertex that it is of a hull.
ALWAYS V3 T(side_support)(const T(places) *at, int k, int side, V3 d, VF r, VF *found) {
    const REAL *p = at->in + (side ? CLR_PB : CLR_PA) * at->stride;
    if (k == CLR_SUPERQUADRIC) return T(superquadric_support)(T(ld3)(p, at->stride), at->hull[side]->power, d);
    if (k == CLR_SMOOTH_REVOLUTION || k == CLR_SMOOTH_HULL)
        return T(smooth_support)(at->call, at->hull[side], at->lanes, k, p, at->stride, d);
    if (k < CLR_SMALL) return T(core_support)(k, p, at->stride, d, r);
#if REAL_BITS == 32
    if (k == CLR_SMALL) return T(copied_support)(at, side, d, found);
#endif
#if REAL_BITS == 32
    return T(hull_support)(at, side, d, found);
#else
    return T(hull_support)(at, side, d, r, found);
#endif
}

// support is the vertex a − b of D = A − B that minimises <x, a − b>; r is 1/|x|. Where `guess` is set, the
// vertices of hulls with cells are those that most likely do, and their numbers are not asked for.
ALWAYS V3 T(support_or)(const T(places) *at, int ka, int kb, V3 x, VF r, V3 *a, VF found[2], int guess) {
    const REAL *m = at->in + CLR_ROT * at->stride;
    const V3 d = T(neg)(x), e = T(rotate_back)(m, at->stride, x);
    V3 b;
#if REAL_BITS == 32
    if (guess && ka == CLR_HULL) *a = likely_support(at, 0, d, found ? &found[0] : 0); else
#endif
    *a = T(side_support)(at, ka, 0, d, r, found ? &found[0] : 0);
#if REAL_BITS == 32
    if (guess && kb == CLR_HULL) b = likely_support(at, 1, e, found ? &found[1] : 0); else
#endif
    b = T(side_support)(at, kb, 1, e, r, found ? &found[1] : 0);
    b = T(add)(T(rotate)(m, at->stride, b), T(ld3)(at->in + CLR_TRANS * at->stride, at->stride));
    return T(sub)(*a, b);
}
ALWAYS V3 T(support)(const T(places) *at, int ka, int kb, V3 x, VF r, V3 *a, VF found[2]) { return T(support_or)(at, ka, kb, x, r, a, found, 0); }

#if REAL_BITS == 64
// known are vertices of the hulls of both sides whose heights may be taken as they are.
typedef struct { const int32_t *number[2][3]; V3 a[3], b[3]; } T(known);

// height is the least of <x, D> for a unit vector x: <x, a − b> for the vertex that
// [support] finds.
ALWAYS VF T(height)(const T(places) *at, int ka, int kb, V3 x, const T(known) *known) {
    V3 d[2] = {T(neg)(x), T(rotate_back)(at->in + CLR_ROT * at->stride, at->stride, x)};
    VF sum = T(dot)(x, T(ld3)(at->in + CLR_TRANS * at->stride, at->stride));
    for (int side = 0; side < 2; side++) {
        int k = side ? kb : ka;
        if (k < CLR_SMALL) {
            sum = sum + T(dot)(d[side], T(side_support)(at, k, side, d[side], SET1(1), 0));
            continue;
        }
        const V3 *v = side ? known->b : known->a;
        VF high = MAX(MAX(T(dot)(d[side], v[0]), T(dot)(d[side], v[1])), T(dot)(d[side], v[2]));
        sum = sum + T(hull_height)(at, k, side, d[side], high, (const int32_t **)known->number[side]);
    }
    return -sum;
}
#endif
