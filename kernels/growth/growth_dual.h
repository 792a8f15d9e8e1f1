// The convex dual of the growth distance of ellipsoids, and Newton's method on it (growth_newton.h has the derivation).
// A template, see vec3.h.

#if (REAL_BITS == 32 && !defined(CLR_GROWTH_DUAL_32)) || (REAL_BITS == 64 && !defined(CLR_GROWTH_DUAL_64))
#if REAL_BITS == 32
#define CLR_GROWTH_DUAL_32
#else
#define CLR_GROWTH_DUAL_64
#endif

#include "../shape/api.h"
#include "../isa/vec3.h"

// dual is F with its gradient and its Hessian.
typedef struct {
    VF f, x, y, xx, xy, yy;
} T(growth_dual);

// stretched is an ellipsoid in the frame of the ray: h(n) = |Mn|, with the first entries of MᵀM.
typedef struct {
    V3 m[3]; // columns
    VF xx, xy, yy;
} T(stretched);

// load_stretched loads the ellipsoid of one side, from columns `stride` apart.
ALWAYS T(stretched) T(load_stretched)(const REAL *in, int stride, int side) {
    const REAL *ray = in + (side ? CLR_RAY_B : CLR_RAY_A) * stride;
    const V3 e = T(ld3)(in + (side ? CLR_PB : CLR_PA) * stride, stride);
    T(stretched) s;
    for (int j = 0; j < 3; j++)
        s.m[j] = (V3){e.x * LOADU(ray + j * stride), e.y * LOADU(ray + (3 + j) * stride),
                      e.z * LOADU(ray + (6 + j) * stride)};
    s.xx = T(dot)(s.m[0], s.m[0]);
    s.xy = T(dot)(s.m[0], s.m[1]);
    s.yy = T(dot)(s.m[1], s.m[1]);
    return s;
}

// add_stretched adds the support function of an ellipsoid.
ALWAYS void T(add_stretched)(T(growth_dual) *d, const T(stretched) *s, VF x, VF y) {
    const V3 u = T(axpy)(x, s->m[0], T(axpy)(y, s->m[1], s->m[2]));
    const VF hh = MAX(T(dot)(u, u), SET1(TINY)), r = RSQRT(hh), p = T(dot)(u, s->m[0]) * r, q = T(dot)(u, s->m[1]) * r;
    d->f = FMA(hh, r, d->f);
    d->x = d->x + p;
    d->y = d->y + q;
    d->xx = FMA(FNMA(p, p, s->xx), r, d->xx);
    d->xy = FMA(FNMA(p, q, s->xy), r, d->xy);
    d->yy = FMA(FNMA(q, q, s->yy), r, d->yy);
}

// add_ball adds the support function of the balls, and the shift.
ALWAYS void T(add_ball)(T(growth_dual) *d, const REAL *in, int stride, VF x, VF y) {
    const VF ball = LOADU(in + CLR_BALL * stride);
    const V3 shift = T(ld3)(in + CLR_SHIFT * stride, stride);
    if (!MBITS(LT(SET1(0), ball))) {
        d->f = d->f + FMA(shift.x, x, FMA(shift.y, y, shift.z));
        d->x = d->x + shift.x;
        d->y = d->y + shift.y;
        return;
    }
    const VF ll = FMA(x, x, FMA(y, y, SET1(1))), r = RSQRT(ll), p = x * r, q = y * r, br = ball * r;
    d->f = d->f + FMA(br, ll, FMA(shift.x, x, FMA(shift.y, y, shift.z)));
    d->x = d->x + FMA(ball, p, shift.x);
    d->y = d->y + FMA(ball, q, shift.y);
    d->xx = FMA(FNMA(p, p, SET1(1)), br, d->xx);
    d->xy = FNMA(p * q, br, d->xy);
    d->yy = FMA(FNMA(q, q, SET1(1)), br, d->yy);
}

// newton_iterate is a point (x, y), the last one at which F was least, with that F, and the number of evaluations.
typedef struct {
    VF x, y, px, py, last, taken;
} T(newton_iterate);

ALWAYS T(newton_iterate) T(newton_from)(VF x, VF y) { return (T(newton_iterate)){x, y, x, y, SET1(INFINITY), SET1(0)}; }

// newton_advance takes a step from the point, at which the dual is d, in the active lanes. The gap of the bounds at
// that point, relative to t, is at most the result over the inradius and F.
ALWAYS VF T(newton_advance)(T(newton_iterate) *p, const T(growth_dual) *d, VF inradius, VM active) {
    const VF side = MAX(d->x, -d->x) + MAX(d->y, -d->y), tilt = MAX(p->x, -p->x) + MAX(p->y, -p->y);
    p->taken = SEL(active, p->taken + SET1(1), p->taken);
    const VF r = RCP(MAX(FNMA(d->xy, d->xy, d->xx * d->yy), SET1(TINY)));
    const VF dx = FNMA(d->yy, d->x, d->xy * d->y) * r, dy = FNMA(d->xx, d->y, d->xy * d->x) * r;
    const VF slope = -FMA(d->x, dx, d->y * dy), length = d->f * RCP(d->f + MAX(slope, SET1(0)));
    const VF quarter = SET1(0.25f), qx = p->x - p->px, qy = p->y - p->py;
    const VM move = MAND(active, LT(d->f, p->last));
    p->px = SEL(move, p->x, p->px);
    p->py = SEL(move, p->y, p->py);
    p->x = SEL(move, FMA(length, dx, p->x), SEL(active, FMA(quarter, qx, p->px), p->x));
    p->y = SEL(move, FMA(length, dy, p->y), SEL(active, FMA(quarter, qy, p->py), p->y));
    p->last = SEL(move, d->f, p->last);
    return side * FMA(inradius, tilt, d->f);
}

// majorant_start is the minimum of the quadratic majorant of F for two ellipsoids.
ALWAYS T(newton_iterate) T(majorant_start)(const T(stretched) *a, const T(stretched) *b, VF ball) {
    const VF tiny = SET1(TINY), wa = RSQRT(MAX(T(dot)(a->m[2], a->m[2]), tiny)),
             wb = RSQRT(MAX(T(dot)(b->m[2], b->m[2]), tiny));
    const VF xx = FMA(wa, a->xx, FMA(wb, b->xx, ball)), xy = FMA(wa, a->xy, wb * b->xy),
             yy = FMA(wa, a->yy, FMA(wb, b->yy, ball));
    const VF gx = FMA(wa, T(dot)(a->m[0], a->m[2]), wb * T(dot)(b->m[0], b->m[2])),
             gy = FMA(wa, T(dot)(a->m[1], a->m[2]), wb * T(dot)(b->m[1], b->m[2]));
    const VF r = RCP(MAX(FNMA(xy, xy, xx * yy), tiny));
    return T(newton_from)(FNMA(yy, gx, xy * gy) * r, FNMA(xx, gy, xy * gx) * r);
}

#endif
