// Support functions of superquadrics [RTR, eq. 16], smooth hulls [RTR, eq. 17] and smooth revolutions
// [RTR, eq. 19], in the parametrizations of geom.Superquadric, geom.SmoothHull and geom.SmoothRevolution.
// A template, see vec3.h.
//
//	superquadric        h(d) = ‖(‖(a|d.x|, b|d.y|)‖_p, c|d.z|)‖_q,  p = 2/(2 − α2), q = 2/(2 − α1)
//	smooth hull         h(d) = <center, d> + (Σ max(<x, d>, 0)^β)^(1/β) over its points x
//	smooth revolution   h(d) = F(ρ, d.z), ρ = √(d.x² + d.y² + γ·d.z²), F as for hulls, over its profile
//
// The support point is the gradient of h. Powers are exponentials of logarithms (elementary.h), of arguments
// in [0, 1] only: each norm is relative to its greatest term. The input is a direction of any length, the output a
// support point, whose rounding error is bounded below (power_units in input.h). No row is declined here; shapes
// of more than CLR_SMOOTH_VERTICES points have no class.

#if (REAL_BITS == 32 && !defined(CLR_SUPPORT_SMOOTH_32)) || (REAL_BITS == 64 && !defined(CLR_SUPPORT_SMOOTH_64))
#if REAL_BITS == 32
#define CLR_SUPPORT_SMOOTH_32
#else
#define CLR_SUPPORT_SMOOTH_64
#endif

#include "cores.h"
#include "../isa/elementary.h"
#include <string.h>

// Rounding of superquadrics, u = 2⁻⁵³. The errors of the ratio of the arguments and of its power are those of
// a perturbed direction: a few units of each component, however large the exponent, since |x|·2^x < 1
// for the exponents x ≤ 0. The support point of the perturbed direction lies on the surface, and its support value
// along d is the greatest up to those units times the size. Both coordinates are computed from one q, so
// the point is off the surface only by the rounding of its factors: each is a power of two with an exponent in
// [-1, 0], with an error below 6 u; two of them and their products have an error below 14 u of the size.

// split is the e-norm of two numbers u, v ≥ 0, e = 2/(2 − α), with its gradient (gu, gv). The
// powers that it is made of are kept for second derivatives.
typedef struct {
    VF norm, gu, gv;
    VF log2q, q; // q = (min/max)^e
    VM swapped;  // u < v
} T(split);

// A number below LEAST_RATIO of the larger one counts as zero, so that the ratio is a normal number.
#if REAL_BITS == 32
#define LEAST_RATIO 1e-30f
#else
#define LEAST_RATIO 1e-280
#endif

// norm_of computes a split; `half` is α/2. All powers are of base 2 and at most 1.
ALWAYS T(split) T(norm_of)(VF u, VF v, VF e, VF half) {
    T(split) s;
    const VF one = SET1(1);
    s.swapped = LT(u, v);
    VF high = MAX(u, v), ratio = MIN(u, v) / MAX(high, SET1(LEAST_RATIO));
    VM none = LT(ratio, SET1(LEAST_RATIO));
    s.log2q = MIN(e * T(log2)(MIN(MAX(ratio, SET1(LEAST_RATIO)), one)), SET1(0));
    s.q = SEL(none, SET1(0), T(exp2)(s.log2q));
    VF first = T(exp2)(-(half * T(log2_1p)(s.q)));
    VF second = SEL(none, SET1(0), first * T(exp2)(half * s.log2q));
    s.norm = FMA(high, s.q, high) * first;
    s.gu = SEL(s.swapped, second, first);
    s.gv = SEL(s.swapped, first, second);
    return s;
}
#undef LEAST_RATIO

// superquadric_support is the support point in direction d, for the semi-axes e.
ALWAYS V3 T(superquadric_support)(V3 e, const REAL (*power)[W], V3 d) {
    V3 s = {e.x * MAX(d.x, -d.x), e.y * MAX(d.y, -d.y), e.z * MAX(d.z, -d.z)};
    T(split) across = T(norm_of)(s.x, s.y, LOADU(power[T(DUAL_ACROSS)]), LOADU(power[T(ACROSS)]));
    T(split) along = T(norm_of)(across.norm, s.z, LOADU(power[T(DUAL_ALONG)]), LOADU(power[T(ALONG)]));
    return (V3){COPYSIGN(e.x * along.gu * across.gu, d.x), COPYSIGN(e.y * along.gu * across.gv, d.y),
                COPYSIGN(e.z * along.gv, d.z)};
}

// Smooth hulls and revolutions: pairs are processed one after the other, one vertex per lane. Vertices are
// padded with the center, whose support value is 0 and which contributes nothing.
//
// Rounding, u = 2⁻⁵³. The weights w = t^(β−1) of the support values t, relative to the greatest, are the exact
// weights of perturbed support values. This moves the point along the surface and lowers its support value by at
// most the error of a support value times the sum of the weights, some ten units of the size. That S = Σ w·t is not
// exactly the sum of the powers, the root of S, and the products move the point off the surface, by
// less than 32 u of the size in all, and the sums by one unit for each vertex that a lane adds.

// Support values below LEAST_SUPPORT_VALUE of the greatest, and negative ones, are replaced by it: its power
// of exponent β − 1 > 1 is negligible beside 1.
#if REAL_BITS == 32
#define LEAST_SUPPORT_VALUE 1e-30f
#else
#define LEAST_SUPPORT_VALUE 1e-280
#endif

// powers_hessian is the gradient of h = (Σ max(<q, d>, 0)^β)^(1/β) over the points q of each lane. Unless
// curvature is null, it writes <e, He>, <e, Hf>, <f, Hf> of the Hessian H. With y = <q, d>/h it is
// (β − 1)/h · (Σ y^(β−2) q·qᵀ − s·sᵀ) for the gradient s.
ALWAYS V3 T(powers_hessian)(const clr_call *c, const T(hulls) *h, unsigned lanes, V3 d, V3 e, V3 f, VF *curvature) {
#if REAL_BITS == 32
    const REAL *x = c->fx, *y = c->fy, *z = c->fz;
#else
    const REAL *x = c->vx, *y = c->vy, *z = c->vz;
#endif
    REAL u[9][W] __attribute__((aligned(64))), sum[8][W] __attribute__((aligned(64)));
    T(st3)(u[0], W, d);
    if (curvature) T(st3)(u[3], W, e), T(st3)(u[6], W, f);
    for (int l = 0; l < W; l++) sum[0][l] = sum[1][l] = sum[2][l] = sum[3][l] = 1;
    if (curvature) memset(sum[4], 0, 4 * sizeof *sum);
    for (unsigned m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m), first = h->first[l], end = first + h->count[l];
        const V3 e = {SET1(u[0][l]), SET1(u[1][l]), SET1(u[2][l])};
        V3 p1, p2, pp = {SET1(0), SET1(0), SET1(0)}; // sums along e and f
        if (curvature)
            p1 = (V3){SET1(u[3][l]), SET1(u[4][l]), SET1(u[5][l])},
            p2 = (V3){SET1(u[6][l]), SET1(u[7][l]), SET1(u[8][l])};
        VF high = SET1(0), s = high, sharp = SET1(h->power[T(SHARP)][l]);
        for (int j = first; j < end; j += W)
            high = MAX(T(dot)(e, ((V3){LOADU(x + j), LOADU(y + j), LOADU(z + j)})), high);
        const VF scale = SET1(1 / (HMAX(high) > (REAL)TINY ? HMAX(high) : (REAL)TINY));
        V3 p = {s, s, s};
        for (int j = first; j < end; j += W) {
            V3 q = {LOADU(x + j), LOADU(y + j), LOADU(z + j)};
            VF t = MAX(T(dot)(e, q) * scale, SET1(LEAST_SUPPORT_VALUE)), w = T(exp2)(sharp * T(log2)(t));
            s = FMA(w, t, s);
            p = T(axpy)(w, q, p);
            if (curvature) {
                VF a = T(dot)(p1, q), b = T(dot)(p2, q), second = w / t;
                pp = (V3){FMA(second * a, a, pp.x), FMA(second * a, b, pp.y), FMA(second * b, b, pp.z)};
            }
        }
        if (curvature) sum[4][l] = HSUM(pp.x), sum[5][l] = HSUM(pp.y), sum[6][l] = HSUM(pp.z), sum[7][l] = HMAX(high);
        sum[0][l] = HSUM(p.x);
        sum[1][l] = HSUM(p.y);
        sum[2][l] = HSUM(p.z);
        sum[3][l] = HSUM(s);
    }
    VF s = MAX(LOADU(sum[3]), SET1(LEAST_SUPPORT_VALUE));
    VF log = T(log2)(s), root = T(exp2)(LOADU(h->power[T(ROOT)]) * log);
    V3 at = T(scale)(root / s, T(ld3)(sum[0], W));
    if (curvature) {
        VF k = LOADU(h->power[T(SHARP)]) / MAX(LOADU(sum[7]) * root, SET1(TINY)), second = root * root / s,
           a = T(dot)(at, e), b = T(dot)(at, f);
        curvature[0] = k * FNMA(a, a, second * LOADU(sum[4]));
        curvature[1] = k * FNMA(a, b, second * LOADU(sum[5]));
        curvature[2] = k * FNMA(b, b, second * LOADU(sum[6]));
    }
    return at;
}
ALWAYS V3 T(powered_support)(const clr_call *c, const T(hulls) *h, unsigned lanes, V3 d) {
    return T(powers_hessian)(c, h, lanes, d, d, d, 0);
}
#undef LEAST_SUPPORT_VALUE

// smooth_support is the support point of a smooth hull or revolution. In float32 it is relative to the
// center and scaled by the fourth parameter.
ALWAYS V3 T(smooth_support)(const clr_call *c, const T(hulls) *h, unsigned lanes, int k, const REAL *p, int stride,
                            V3 d) {
    V3 s;
    if (k == CLR_SMOOTH_HULL) {
        s = T(powered_support)(c, h, lanes, d);
    } else {
        // The chain rule: the profile's support point (r, z) in direction (ρ, d.z) times the gradient of (ρ, d.z).
        VF gamma = LOADU(h->power[T(FLATNESS)]), gz = gamma * d.z;
        VF rr = MAX(FMA(d.x, d.x, FMA(d.y, d.y, gz * d.z)), SET1(TINY)), inv = RSQRT(rr);
        s = T(powered_support)(c, h, lanes, (V3){rr * inv, d.z, SET1(0)});
        VF r = s.x * inv;
        s = (V3){r * d.x, r * d.y, FMA(r, gz, s.y)};
    }
#if REAL_BITS == 32
    return T(scale)(LOADU(p + 3 * stride), s);
#else
    return k == CLR_SMOOTH_HULL ? T(add)(T(ld3)(p, stride), s) : s; // p: the center
#endif
}

#endif
