// Per-lane parameters of cores, beyond those in columns. A template, see vec3.h.

#if (REAL_BITS == 32 && !defined(CLR_CORES_32)) || (REAL_BITS == 64 && !defined(CLR_CORES_64))
#if REAL_BITS == 32
#define CLR_CORES_32
#else
#define CLR_CORES_64
#endif

#include "api.h"
#include "../isa/vec3.h"

#ifndef CLR_CORES_H
#define CLR_CORES_H

// SPECIAL tells whether both classes are k, which is a copy of the code for this pair alone. With
// CLR_GENERIC, which shortens compilation, all pairs of classes share one copy.
#ifdef CLR_GENERIC
#define SPECIAL(ka, kb, k) 0
#else
#define SPECIAL(ka, kb, k) ((ka) == (k) && (kb) == (k))
#endif

// HAS_DEPTH_CERTIFICATE tells whether depth_certificate.h answers the depths of a pair of classes.
#define HAS_DEPTH_CERTIFICATE(ka, kb) \
    (((ka) == CLR_FRUSTUM && (kb) == CLR_FRUSTUM) || (HAS_HESSIAN(ka) && HAS_HESSIAN(kb)))

// Rounding error of a support value in the float32 frame, where no length exceeds 1: three rotated
// components and the sum of both vertices, a few units of 6e-8.
#define SUPPORT_ROUNDING32 2.5e-7

// boolean_rounding_units bounds the rounding error of vertices of D and of dual bounds in the float32
// frame of boolean.h, where no length exceeds 1, in units of 2⁻²⁴. boolean.h derives it.
#define BOOLEAN_UNITS 128
#define BOOLEAN_POWER_UNITS 96    // more for superquadrics
#define BOOLEAN_OFFSET_UNITS 64   // more for centers off the origins of their shapes
#define BOOLEAN_WEIGHT_UNITS 2048 // for smooth shapes, in all
ALWAYS int boolean_rounding_units(int ka, int kb) {
    if ((HAS_POWERS(ka) && HAS_VERTICES(ka)) || (HAS_POWERS(kb) && HAS_VERTICES(kb))) return BOOLEAN_WEIGHT_UNITS;
    return BOOLEAN_UNITS + (HAS_POWERS(ka) || HAS_POWERS(kb) ? BOOLEAN_POWER_UNITS : 0) +
           (OFF_CENTER(ka) || OFF_CENTER(kb) ? BOOLEAN_OFFSET_UNITS : 0);
}

// The duality gap at which a Boolean query ends (CLR_STOP) is this share of its rounding bound, a power of two. So the
// loop of gjk.h has the bound from the gap, without rounding (status_rounding there), and needs no column for it.
#define STATUS_STOP 0.25

// takes_rtr tells whether pairs of these classes are first given to the Riemannian trust region method:
// ellipsoids; all classes with a Hessian if the caller names RTR; otherwise those whose query is the distance
// without a limit of the iterations.
ALWAYS int takes_rtr(const clr_call *c, int ka, int kb) {
    if (!c->rtr || !HAS_HESSIAN(ka) || !HAS_HESSIAN(kb)) return 0;
    return !c->automatic || (ka == CLR_ELLIPSOID && kb == CLR_ELLIPSOID) || (!c->penetration && !c->max_steps);
}

#endif

// rotate applies the rotation of B in the frame of A, rotate_back its transpose.
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

// Values of a superquadric: α2/2 and α1/2, then the exponents 2/(2 − α2) and 2/(2 − α1) of the dual norms.
enum { T(ACROSS), T(ALONG), T(DUAL_ACROSS), T(DUAL_ALONG), T(POWERS) };

// Values of a smooth hull or revolution, in the same columns: β − 1, 1/β, and γ of a revolution.
enum { T(SHARP), T(ROOT), T(FLATNESS) };

// hulls are the hulls of one side, one per lane, or the exponents of other shapes.
typedef struct {
    REAL power[T(POWERS)][W]; // see support_smooth.h
    REAL extent[3][W];        // see clr_shape
    REAL size[W];
    int32_t cells[W], first[W], count[W];
#if REAL_BITS == 32
    REAL candidate_extent[3][W]; // extents times the grid of the cells with a candidate vertex
    int32_t candidates[W];       // the first of these cells
#endif
} T(hulls);

// set_hull puts shape s, of class k, into lane l. put_hull puts only the vertex range of a small hull,
// which is all that a full scan needs.
ALWAYS void T(set_hull)(T(hulls) *h, int l, const clr_shape *s, int k) {
    if (k == CLR_SUPERQUADRIC) {
        h->power[T(ACROSS)][l] = (REAL)s->extent[0];
        h->power[T(ALONG)][l] = (REAL)s->extent[1];
        h->power[T(DUAL_ACROSS)][l] = (REAL)(1 / (1 - s->extent[0]));
        h->power[T(DUAL_ALONG)][l] = (REAL)(1 / (1 - s->extent[1]));
        return;
    }
    if (k == CLR_SMOOTH_REVOLUTION || k == CLR_SMOOTH_HULL) {
        h->power[T(SHARP)][l] = (REAL)(s->extent[0] - 1);
        h->power[T(ROOT)][l] = (REAL)s->extent[1], h->power[T(FLATNESS)][l] = (REAL)s->extent[2];
    }
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

#ifndef CLR_SHARED_CELLS
// Hulls with more vertices or cells are scanned by their cells, also if all lanes share them.
#define CLR_SHARED_VERTICES 64
#define CLR_SHARED_CELLS 24
#endif

// shared_hulls are the hulls of A and B that all lanes share.
typedef struct {
    const REAL *vertices[2]; // four values of each vertex; in float32 only of hulls with cells, see clr_call.points
    int count[2];
    REAL size[2]; // bounding radius
#if REAL_BITS == 32
    uint64_t listed[2][CLR_SHARED_CELLS]; // vertices in the lists of the direction cells, a bit each
#endif
} T(shared_hulls);

// places points to the data of the pairs of all lanes.
typedef struct {
    const clr_call *call;
    const REAL *in; // input columns, `stride` apart
    int stride;
    const T(hulls) *hull[2];       // of A and B
    const REAL (*copy[2])[3][W];   // of small hulls in float32: their vertices
    int copied[2];                 // and the number of those to scan
    const T(shared_hulls) *shared; // of hulls that all lanes share, or null
    unsigned lanes;                // the active lanes; results of the others are undefined
} T(places);

#endif
