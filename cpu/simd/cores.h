// What the lanes of a vector keep of the cores of their pairs. A template, see vec3.h.

#if (REAL_BITS == 32 && !defined(CLR_CORES_32)) || (REAL_BITS == 64 && !defined(CLR_CORES_64))
#if REAL_BITS == 32
#define CLR_CORES_32
#else
#define CLR_CORES_64
#endif

#include "api.h"
#include "vec3.h"

#ifndef CLR_CORES_H
#define CLR_CORES_H

// SPECIAL: is this the pair of classes k and k, which has code of its own? With CLR_GENERIC,
// set where compiling takes long, all pairs share one.
#ifdef CLR_GENERIC
#define SPECIAL(ka, kb, k) 0
#else
#define SPECIAL(ka, kb, k) ((ka) == (k) && (kb) == (k))
#endif

// SURROUNDED tells of a pair of classes whether depth_certificate.h searches its depths.
#define HAS_DEPTH_CERTIFICATE(ka, kb) (((ka) == CLR_ROUND && (kb) == CLR_ROUND) || (HAS_HESSIAN(ka) && HAS_HESSIAN(kb)))

// Rounding error of a support value in the frame that float32 works in, where no
// length is above 1: three rotated components and the sum of both vertices, a few
// units of 6e-8 in all.
#define SUPPORT_ROUNDING32 2.5e-7

// boolean_rounding_units is the number of units of 2⁻²⁴ below which, in the frame of float32, where no
// length is above 1, vertices of D and lower bounds are off, see boolean.h.
ALWAYS int boolean_rounding_units(int ka, int kb) {
    if ((HAS_POWERS(ka) && HAS_VERTICES(ka)) || (HAS_POWERS(kb) && HAS_VERTICES(kb))) return 2048;
    return 128 + (HAS_POWERS(ka) || HAS_POWERS(kb) ? 96 : 0) + (OFF_CENTER(ka) || OFF_CENTER(kb) ? 64 : 0);
}

// takes_rtr tells whether the trust region method begins with pairs of these classes: ellipsoids, all that
// have a bend where it is named, and otherwise those whose distance is asked for.
ALWAYS int takes_rtr(const clr_call *c, int ka, int kb) {
    if (!c->rtr || !HAS_HESSIAN(ka) || !HAS_HESSIAN(kb)) return 0;
    return !c->closed || (ka == CLR_ELLIPSOID && kb == CLR_ELLIPSOID) || (!c->deep && !c->max_steps);
}

#endif

// rotate and rotate_back apply the rotation of B in the frame of A and its transpose.
ALWAYS V3 T(rotate)(const REAL *m, int stride, V3 v) {
    return (V3){FMA(LOADU(m + 2 * stride), v.z, FMA(LOADU(m + stride), v.y, LOADU(m) * v.x)),
                FMA(LOADU(m + 5 * stride), v.z, FMA(LOADU(m + 4 * stride), v.y, LOADU(m + 3 * stride) * v.x)),
                FMA(LOADU(m + 8 * stride), v.z, FMA(LOADU(m + 7 * stride), v.y, LOADU(m + 6 * stride) * v.x))};
}
ALWAYS V3 T(rotate_back)(const REAL *m, int stride, V3 v) {
    return (V3){FMA(LOADU(m + 6 * stride), v.z, FMA(LOADU(m + 3 * stride), v.y, LOADU(m) * v.x)),
                FMA(LOADU(m + 7 * stride), v.z, FMA(LOADU(m + 4 * stride), v.y, LOADU(m + stride) * v.x)),
                FMA(LOADU(m + 8 * stride), v.z, FMA(LOADU(m + 5 * stride), v.y, LOADU(m + 2 * stride) * v.x))};
}

// Columns of a lane: the halves of α2 and α1, then the exponents of the dual norms.
enum { T(ACROSS), T(ALONG), T(DUAL_ACROSS), T(DUAL_ALONG), T(POWERS) };

// Columns of a lane, in place of those of superquadrics: β − 1, 1/β, and γ of a revolution.
enum { T(SHARP), T(ROOT), T(FLATNESS) };

// hulls are the hulls of one side, a lane each, or what the lanes keep of other shapes.
typedef struct {
    REAL power[T(POWERS)][W]; // see support_smooth.h
    REAL extent[3][W];        // see clr_shape
    REAL size[W];
    int32_t cells[W], first[W], count[W];
#if REAL_BITS == 32
    REAL candidate_extent[3][W]; // extents by the grid of the likely cells
    int32_t candidates[W];       // the first of these
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
    if (!IS_HULL(k)) return;
    for (int j = 0; j < 3; j++) h->extent[j][l] = (REAL)s->extent[j];
    h->size[l] = (REAL)s->size;
    h->cells[l] = s->cells;
}
ALWAYS void T(put_hull)(T(hulls) *h, int l, const clr_shape *s, int k) {
    if (k == CLR_SMALL) h->first[l] = s->first, h->count[l] = s->count;
    else if (IN_LANES(k)) T(set_hull)(h, l, s, k);
}

// places is where the lanes find their pairs.
typedef struct {
    const clr_call *call;
    const REAL *in; // input columns, `stride` apart
    int stride;
    const T(hulls) *hull[2];     // of A and B
    const REAL (*copy[2])[3][W]; // of small hulls in float32: their vertices
    int copied[2];               // and how many of them are looked at
    unsigned lanes;              // those whose answer matters
} T(places);

#endif
