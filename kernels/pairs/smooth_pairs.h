// Smooth pairs in float64: Newton's method on ellipsoids and spheres, the trust region method on all others, and the
// last digits of GJK's answers by Newton's method.

#ifndef CLR_SMOOTH_PAIRS_H
#define CLR_SMOOTH_PAIRS_H

#include "../isa/real64.h"
#include "trust_region.h"
#include "../shape/hessian.h"
#include "../shape/support.h"
#include "simplex.h"
#include "input.h"
#include "store.h"
#include "../isa/real32.h"
#include "initial_direction.h"
#include "../isa/real64.h"

// Distances of smooth pairs by Newton's method on the sphere. A template, float64.
//
// The distance of the cores is the maximum over unit vectors n of f(n) = min ⟨n, D⟩. The gradient of f
// is the support point v of D, and its Hessian is minus the Hessian H of the support functions; both
// are smooth almost everywhere on smooth cores. The step solves (H + f·I) t = Pv in the tangent plane
// of n and moves to (n + t)/|n + t|, as the Riemannian trust region method does for depths [RTR, Alg.
// 2]. H is positive semidefinite, so it is an ascent direction; a step that lowers f is undone and
// shortened.
//
// With the radii R, v and n as above, s = |v − f·n| and the rounding bound ρ:
//
//	distance = f − R
//	lower    = f − R − ρ
//	upper    = f − R + max(s, min(s, s²/2f) + ρ)     as |v| ≤ f + s²/2f (primal_excess)
//
// Input: prepared rows, from the line of centers for ellipsoids, else from the end of float32 GJK: on
// superquadrics whose support points follow a small power of the direction (exponents below 2/3) long
// steps go much too far. Output: answers. Rows whose bounds do not meet the tolerance go on to GJK.

#define NEWTON_STEPS 12     // most ellipsoids need 4 to 7; rows that need more go on to GJK
#define NEWTON_LAST_STEPS 5 // from where GJK ends; most need 3

typedef struct {
    V3 n, base, step; // direction of the next evaluation; the best so far; the step from it
    V3 at, a, v;      // direction of the last evaluation; points of A and of D there
    VF f;             // at base
    unsigned active;
    int taken[W];
    T(hulls) hull[2];
} newton_lanes;

// newton_step takes one step of the active lanes of rows k, k+1, ….
ALWAYS void newton_step(newton_lanes *L, const clr_call *c, const clr_scratch *s, int k, int ka, int kb) {
    const double *in = &s->in64[0][k];
    const T(places) at = {
        .call = c, .in = in, .stride = CLR_STRIDE64, .hull = {&L->hull[0], &L->hull[1]}, .lanes = L->active};
    const VF stop = LOADU(in + CLR_STOP * CLR_STRIDE64);
    VM active = MFROM(L->active);
    V3 n = L->n, p, q, a, v;
    T(across)(n, &p, &q);
    T(curvature) b = T(pair_hessian)(&at, ka, kb, n, p, q, &a, &v);
    L->at = T(sel)(active, n, L->at);
    L->a = T(sel)(active, a, L->a);
    L->v = T(sel)(active, v, L->v);
    VM lower = MAND(active, LT(b.h + LOADU(in + CLR_SUPPORT_ROUNDING * CLR_STRIDE64), L->f)),
       far = LT(LOADU(in + CLR_FAR * CLR_STRIDE64), b.h);
    VM close = LE(FMA(b.p, b.p, b.q * b.q), SET1(0.25) * stop * stop);
    active = MANDN(active, MANDN(MOR(close, far), lower));
    for (unsigned w = L->active; w; w &= w - 1) L->taken[__builtin_ctz(w)]++;
    L->active = MBITS(active);
    if (!L->active) return;
    VF push = MAX(b.h, stop); // f·I, as far as it helps
    VF pp = b.pp + push, qq = b.qq + push, inv = RCP(FNMA(b.pq, b.pq, pp * qq));
    VF tp = FNMA(b.pq, b.q, qq * b.p) * inv, tq = FNMA(b.pq, b.p, pp * b.q) * inv;
    L->base = T(sel)(lower, L->base, n);
    L->f = SEL(lower, L->f, b.h);
    L->step = T(sel)(lower, T(scale)(SET1(0.25), L->step), T(axpy)(tq, q, T(scale)(tp, p)));
    V3 next = T(add)(L->base, L->step);
    L->n = T(sel)(active, T(scale)(inverse_length(next), next), n);
}

// primal_excess bounds how much the distance of the cores may exceed low = ⟨n, v⟩: |v| is at most low +
// min(tilt, tilt²/(2·low)), where tilt is how far v lies off the normal, and `rounding` covers the rounding
// errors. The witnesses lie off the normal by tilt, so the gap is at least that.
ALWAYS VF primal_excess(VF low, VF tilt, VF rounding) {
    const VF beyond = MIN(tilt, SET1(0.5) * tilt * (tilt / MAX(low, rounding)));
    return MAX(tilt, beyond + rounding);
}

// newton_pairs answers rows 0 to n−1 of the group, of two smooth cores each.
ALWAYS void newton_pairs(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka, int kb) {
    const int from_centers = !HAS_POWERS(ka) && !HAS_POWERS(kb);
    const int most = !from_centers                                  ? NEWTON_LAST_STEPS
                     : c->max_steps && c->max_steps <= NEWTON_STEPS ? c->max_steps - 1
                                                                    : NEWTON_STEPS; // store_lanes counts one more
    for (int k0 = 0; k0 < n; k0 += 2 * W) {
        newton_lanes lanes[2];
        unsigned open[2] = {0};
        for (int j = 0; j < 2; j++) {
            newton_lanes *L = lanes + j;
            const int k = k0 + j * W;
            memset(L, 0, sizeof *L);
            for (int l = 0; l < W && k + l < n; l++) open[j] |= (unsigned)(s->state[k + l] == CLR_OPEN) << l;
            if (!open[j]) continue;
            if (!from_centers)
                for (int l = 0; l < W; l++) {
                    T(put_hull)(&L->hull[0], l, c->shapes + s->shape_a[k + l], ka);
                    T(put_hull)(&L->hull[1], l, c->shapes + s->shape_b[k + l], kb);
                }
            V3 x = T(ld3)(from_centers ? &s->in64[CLR_X][k] : &s->more[CLR_LAST][k], CLR_STRIDE64);
            L->n = T(scale)(inverse_length(x), x);
            L->f = SET1(-1e300);
            L->active = open[j];
        }
        for (int i = 0; i < most && (lanes[0].active | lanes[1].active); i++)
            for (int j = 0; j < 2; j++)
                if (lanes[j].active) newton_step(lanes + j, c, s, k0 + j * W, ka, kb);
        for (int j = 0; j < 2; j++) {
            const int k = k0 + j * W;
            if (!open[j]) continue;
            const double *more = &s->more[0][k];
            const VF rounding = LOADU(more + CLR_ROUNDING * CLR_STRIDE64), tol = LOADU(more + CLR_TOL * CLR_STRIDE64);
            const VF ra = LOADU(more + CLR_RA * CLR_STRIDE64), rb = LOADU(more + CLR_RB * CLR_STRIDE64),
                     radius = ra + rb, zero = SET1(0);
            V3 x = lanes[j].at, a = lanes[j].a, v = lanes[j].v;
            VF low = T(dot)(x, v), distance = low - radius;
            V3 side = T(axpy)(-low, x, v);
            VF excess = primal_excess(low, SQRT(T(dot)(side, side)), rounding), lower = distance - rounding,
               upper = distance + excess;
            VM ok = LE(excess, most_gap(c, ka, kb, tol, rounding));
            if (c->has_cut_off) ok = MOR(ok, LT(SET1(c->cut_off), lower));
            VM certain = MAND(LT(rounding, low), is_unit(x));
            unsigned yes = open[j] & MBITS(MAND(ok, certain));
            V3 normal = T(neg)(x);
            for (unsigned w = open[j]; w; w &= w - 1)
                s->steps[k + __builtin_ctz(w)] += (uint16_t)lanes[j].taken[__builtin_ctz(w)];
            store_lanes(c, s, at0, k, yes, CLR_SOLVER_NEWTON, distance, lower, upper, LT(zero, lower), LT(upper, zero),
                        normal, T(axpy)(ra, normal, a), T(axpy)(-rb, normal, T(sub)(a, v)));
        }
    }
}

// last_by_newton reports whether Newton's method continues from the end of float32 GJK: where the
// tolerance would cost many steps of GJK in float64, and no iteration limit is set.
ALWAYS int last_by_newton(const clr_call *c, int ka, int kb) {
    return c->automatic && !c->collide && !c->max_steps && c->tolerance < FINE_TOLERANCE && HAS_HESSIAN(ka) &&
           HAS_HESSIAN(kb);
}

// newton is newton_pairs with the Hessian of ellipsoids inlined.
static __attribute__((noinline)) void newton(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka, int kb) {
    if (ka == CLR_ELLIPSOID && kb == CLR_ELLIPSOID) newton_pairs(c, s, at0, n, CLR_ELLIPSOID, CLR_ELLIPSOID);
    else newton_pairs(c, s, at0, n, ka, kb);
}

// From directions to certified answers of smooth pairs. A template, float64.
//
// Input: the directions of trust_region.h. Output: answers. If the cores, eroded by their rolling
// balls, are separated along the direction, the support plane and the support points bound the
// distance, or the depth [RTR, Theorem 1]: the minimum is global. Otherwise an ellipsoid inscribed in
// D [Kurzhanski1997] bounds the depth of ellipsoids (ref/rtr.go). With the unit direction x, the support point w
// of D along it, h = ⟨x, w⟩, e = |w − h·x|, the radii R and the rounding bound ρ:
//
//	distance = −h − R
//	lower    = −h − R − ρ
//	upper    = max(|w|, e − h) − R + ρ      separated cores, h < 0
//	upper    = max(−l, e − H) + b − R + ρ   intersecting ellipsoids; H = h + b and the proved lower bound
//	                                        l of the depth (rtr_depth) are those before erosion by b
//
// Rows that neither proves go on to GJK and EPA.

// rtr_stretched is the map from the tangent plane at x, with basis e and f, to the tangent plane at the image s of x,
// with basis a and b.
ALWAYS void rtr_stretched(V3 p, V3 s, V3 e, V3 f, V3 *unit, V3 *a, V3 *b, VF g[2][2]) {
    *unit = T(scale)(SET1(1) / SQRT(MAX(T(dot)(s, s), SET1(TINY))), s);
    T(across)(*unit, a, b);
    V3 u = {p.x * e.x, p.y * e.y, p.z * e.z}, v = {p.x * f.x, p.y * f.y, p.z * f.z};
    g[0][0] = T(dot)(*a, u), g[0][1] = T(dot)(*a, v), g[1][0] = T(dot)(*b, u), g[1][1] = T(dot)(*b, v);
}

// rtr_depth is a lower bound of the depth of the cores, from the inscribed ellipsoid of ref.Pair.innerEllipsoid, whose
// notation this is. x is a unit direction, h > 0 the support value along it. Without a proof the result is at most 0.
// Products and sums are as many as there; the basis of a tangent plane is orthonormal to 16 units of roundoff instead
// of 10, hence twice the rounding bound.
static __attribute__((noinline)) VF rtr_depth(const double *cols, VF x0, VF x1, VF x2, VF h, VF stop, VF scale) {
    const VF one = SET1(1), zero = SET1(0), tiny = SET1(1e-200);
    const double *r = cols + CLR_ROT * CLR_STRIDE64;
    const V3 x = {x0, x1, x2}, p = T(ld3)(cols + CLR_PA * CLR_STRIDE64, CLR_STRIDE64),
             q = T(ld3)(cols + CLR_PB * CLR_STRIDE64, CLR_STRIDE64);
    V3 e, f, u1, u2, a0, a1, b0, b1;
    VF g1[2][2], g2[2][2];
    T(across)(x, &e, &f);
    V3 y = T(rotate_back)(r, CLR_STRIDE64, x);
    V3 f1 = {p.x * x.x, p.y * x.y, p.z * x.z}, f2 = {q.x * y.x, q.y * y.y, q.z * y.z};
    rtr_stretched(p, f1, e, f, &u1, &a0, &a1, g1);
    rtr_stretched(q, f2, T(rotate_back)(r, CLR_STRIDE64, e), T(rotate_back)(r, CLR_STRIDE64, f), &u2, &b0, &b1, g2);
    VF c[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) c[i][j] = FMA(g1[i][0], g2[j][0], g1[i][1] * g2[j][1]);
    // Rotations [cos -sin; sin cos] and reflections [cos sin; sin -cos].
    VF cosine = c[0][0] + c[1][1], sine = c[1][0] - c[0][1], rc = c[0][0] - c[1][1], rs = c[0][1] + c[1][0];
    VM mirror = LT(FMA(cosine, cosine, sine * sine), FMA(rc, rc, rs * rs));
    VF flip = SEL(mirror, -one, one);
    cosine = SEL(mirror, rc, cosine);
    sine = SEL(mirror, rs, sine);
    VF n = FMA(cosine, cosine, sine * sine);
    VM any = LT(tiny, n);
    n = one / SQRT(MAX(n, tiny));
    cosine = SEL(any, cosine * n, one);
    sine = SEL(any, sine * n, zero);
    V3 w0 = T(axpy)(sine, a1, T(scale)(cosine, a0)), w1 = T(scale)(flip, T(axpy)(cosine, a1, T(scale)(-sine, a0)));
    // Columns of M = F₁ + S·F₂: S rotates u₂, b₀, b₁ onto u₁, w₀, w₁.
    V3 m[3] = {{p.x, zero, zero}, {zero, p.y, zero}, {zero, zero, p.z}};
    for (int k = 0; k < 3; k++) {
        // F₂ of the axis k of A, then S.
        V3 v = {LOADU(r + 3 * k * CLR_STRIDE64) * q.x, LOADU(r + (3 * k + 1) * CLR_STRIDE64) * q.y,
                LOADU(r + (3 * k + 2) * CLR_STRIDE64) * q.z};
        m[k] = T(axpy)(T(dot)(u2, v), u1, T(axpy)(T(dot)(b0, v), w0, T(axpy)(T(dot)(b1, v), w1, m[k])));
    }
    VF t = -h * (SQRT(T(dot)(f1, f1)) + SQRT(T(dot)(f2, f2))) * (one - MIN(SET1(0.5), stop / (SET1(4) * h)));
    V3 o = T(neg)(T(ld3)(cols + CLR_TRANS * CLR_STRIDE64, CLR_STRIDE64));
    // The lower factor of Q + tI, and z = L⁻¹c.
    VF d0 = T(dot)(m[0], m[0]) + t, l00 = SQRT(MAX(d0, tiny));
    VF l10 = T(dot)(m[1], m[0]) / l00, l20 = T(dot)(m[2], m[0]) / l00;
    VF d1 = T(dot)(m[1], m[1]) + t - l10 * l10, l11 = SQRT(MAX(d1, tiny));
    VF l21 = (T(dot)(m[2], m[1]) - l20 * l10) / l11;
    VF d2 = T(dot)(m[2], m[2]) + t - l20 * l20 - l21 * l21, l22 = SQRT(MAX(d2, tiny));
    VM ok = MAND(MAND(LT(tiny, d0), LT(tiny, d1)), MAND(LT(tiny, d2), LT(zero, h)));
    VF z0 = o.x / l00, z1 = (o.y - l10 * z0) / l11, z2 = (o.z - l20 * z0 - l21 * z1) / l22;
    VF depth = -t * (one - z0 * z0 - z1 * z1 - z2 * z2);
    ok = MAND(ok, MAND(LT(zero, depth), LT(tiny, -t)));
    depth = SQRT(MAX(depth, zero)) - SET1(256 * 0x1p-53) * scale * scale / SQRT(MAX(-t, tiny));
    return SEL(ok, depth, -one);
}

// rtr_prove answers the open rows of the group whose bounds suffice.
static __attribute__((noinline)) void rtr_prove(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka, int kb) {
    const int ellipsoids = ka == CLR_ELLIPSOID && kb == CLR_ELLIPSOID;
    const VF zero = SET1(0), one = SET1(1);
    const VF curved = SET1(c->curved_depth / c->tolerance);
    for (int k = 0; k < n; k += W) {
        unsigned open = 0;
        for (int l = 0; l < W && k + l < n; l++) open |= (unsigned)(s->state[k + l] == CLR_OPEN) << l;
        if (!open) continue;
        const double *cols = &s->in64[0][k], *more = &s->more[0][k];
        V3 x = T(neg)(T(ld3)(cols + CLR_X * CLR_STRIDE64, CLR_STRIDE64));
        x = T(scale)(one / SQRT(MAX(T(dot)(x, x), SET1(TINY))), x);
        const VF rounding = LOADU(more + CLR_ROUNDING * CLR_STRIDE64), tol = LOADU(more + CLR_TOL * CLR_STRIDE64);
        const VF ra = LOADU(more + CLR_RA * CLR_STRIDE64), rb = LOADU(more + CLR_RB * CLR_STRIDE64), radius = ra + rb;
        T(hulls) hull[2];
        const T(places) at = {
            .call = c, .in = cols, .stride = CLR_STRIDE64, .hull = {&hull[0], &hull[1]}, .lanes = open};
        put_hulls(c, s, k, ka, kb, hull);
        V3 a, w = T(support)(&at, ka, kb, T(neg)(x), one, &a, 0);
        VF h = T(dot)(x, w), length = SQRT(T(dot)(w, w));
        V3 side = T(axpy)(-h, x, w);
        VF off = SQRT(T(dot)(side, side)), distance = -h - radius, lower = distance - rounding,
           upper = MAX(length, off - h) - radius + rounding;
        VM unit = is_unit(x), away = LT(h, zero), close = LE(off, tol), ok;
        VF wanted = most_gap(c, ka, kb, tol, rounding);
        unsigned penetrating = ellipsoids ? open & MBITS(MANDN(MAND(unit, close), away)) : 0;
        if (penetrating) {
            VF balls = LOADU(cols + (CLR_PA + 3) * CLR_STRIDE64) + LOADU(cols + (CLR_PB + 3) * CLR_STRIDE64),
               whole = h + balls;
            VF tolerance = curved * tol, stop = MAX(tolerance - SET1(2) * rounding, rounding);
            VF depth = rtr_depth(cols, x.x, x.y, x.z, whole, stop, rounding * SET1(0x1p53 / 24));
            VM some = MANDN(LT(zero, depth), away);
            upper = SEL(some, MAX(-depth, off - whole) - radius + balls + rounding, SEL(away, upper, SET1(1e300)));
            wanted = SEL(some, MAX(tolerance, SET1(4) * rounding), wanted);
        } else {
            upper = SEL(away, upper, SET1(1e300));
        }
        VF gap = MAX(upper - distance, distance - lower);
        VM apart = LT(zero, lower), inside = LT(upper, zero);
        ok = LE(gap, wanted);
        if (c->has_cut_off) ok = MOR(ok, LT(SET1(c->cut_off), lower));
        if (c->collide) ok = MOR(ok, MOR(apart, inside));
        ok = MAND(MAND(ok, unit), LE(lower, upper));
        unsigned yes = open & MBITS(ok);
        store_lanes(c, s, at0, k, yes, CLR_SOLVER_RTR, distance, lower, upper, apart, inside, x, T(axpy)(ra, x, a),
                    T(axpy)(-rb, x, T(sub)(a, w)));
    }
}

// faster_by_rtr_first moves rows of two soft cores (trust_region.h) to the front of order, and returns their number.
static int faster_by_rtr_first(const clr_call *c, int64_t lo, int32_t *order, int rows) {
    int32_t other[CLR_BLOCK];
    int n = 0, others = 0;
    for (int k = 0; k < rows; k++) {
        const clr_row r = row_at(c, lo + order[k]);
        if (faster_by_rtr(c->shapes + r.shape_a, 0) && faster_by_rtr(c->shapes + r.shape_b, 0)) order[n++] = order[k];
        else other[others++] = order[k];
    }
    memcpy(order + n, other, (size_t)others * sizeof *other);
    return n;
}

// answer_smooth answers rows order[0..n), relative to lo, of pairs of smooth cores and points. If the caller named RTR,
// it runs on all of them. Otherwise separated ellipsoids are answered by Newton's method and soft cores by RTR. The
// rows that remain are moved to the front of order; their number is returned.
static __attribute__((noinline)) int answer_smooth(const clr_call *c, clr_scratch *s, int64_t lo, int32_t *order,
                                                   int rows, int ka, int kb) {
    if (!takes_rtr(c, ka, kb)) return rows;
    const int powers = HAS_POWERS(ka) || HAS_POWERS(kb), all = rows;
    if (powers && c->automatic) rows = faster_by_rtr_first(c, lo, order, rows);
    const int others = all - rows;
    for (int by_rtr = powers || !c->automatic; by_rtr < 2; by_rtr++) {
        int32_t *rest = order;
        for (int k = 0; k < rows; k += CLR_GROUP_ROWS) {
            int n = rows - k < CLR_GROUP_ROWS ? rows - k : CLR_GROUP_ROWS;
            prepare(c, s, lo, order + k, n, ka, kb, 0);
            initial_directions(c, s, n, ka, kb);
            if (by_rtr) {
                rtr_loop(c, s, 0, n, ka, kb);
                rtr_prove(c, s, lo - c->first, n, ka, kb);
                s->rows_rtr += n;
            } else {
                newton(c, s, lo - c->first, n, ka, kb);
            }
            for (int i = 0; i < n; i++) {
                if (s->state[i] != CLR_DONE) *rest++ = s->row[i];
                else if (by_rtr) s->done_rtr++, s->steps_rtr += s->steps[i];
            }
        }
        rows = (int)(rest - order);
    }
    memmove(order + rows, order + all - others, (size_t)others * sizeof *order);
    return rows + others;
}

// Newton's method for the final digits of pairs with a curved core [Nocedal2006, sec. 18.1]. A
// template, float64.
//
// GJK converges linearly there, as the vertices of its simplex move along the same rim. So points of D
// that differ only in their place on a rim, or on an ellipsoid, form one piece, whose point is a
// smooth function v of the direction n; a vertex is a constant piece. At the closest point x = f·n all
// pieces have the same support value along n, and x = Σ λ v. Newton's method for both, in the tangent
// plane of n (sequential quadratic programming), solves
//
//	(Σ λ H + f·I) t = P Σ λ v,   ⟨vⱼ − v₀, n + t⟩ = 0
//
// with the Hessians H of the support functions. Rim points far from each other mean that n is the axis
// of a flat end, where the support function has no Hessian: such rows stay as they are. The result is
// an estimate that certify.h bounds.

typedef struct {
    V3 x, n;
    VF l1, l2;
    VM face;
} clr_projection;

// triangle_projection is the point closest to the origin on the features of the triangle p, q, r that
// contain p, as p + l1·e1 + l2·e2, with e1 = q − p and e2 = r − p. n is the normal of the face, of any
// length.
ALWAYS clr_projection triangle_projection(V3 p, V3 e1, V3 e2) {
    const VF zero = SET1(0), one = SET1(1), tiny = SET1(1e-100);
    clr_projection f;
    VF h1 = -T(dot)(p, e1), h2 = -T(dot)(p, e2);
    VF g11 = T(dot)(e1, e1), g22 = T(dot)(e2, e2), g12 = T(dot)(e1, e2);
    VF t1 = MAX(MIN(h1 / MAX(g11, tiny), one), zero), t2 = MAX(MIN(h2 / MAX(g22, tiny), one), zero);
    VF q1 = h1 * t1, q2 = h2 * t2;
    VM second = LT(q1, q2);
    f.l1 = SEL(second, zero, t1);
    f.l2 = SEL(second, t2, zero);
    f.n = T(cross)(e1, e2);
    VF det = T(dot)(f.n, f.n), u1 = FNMA(g12, h2, g22 * h1), u2 = FNMA(g12, h1, g11 * h2);
    f.face = MAND(MAND(MAND(LT(zero, u1), LT(zero, u2)), LE(u1 + u2, det)), LT(SET1(1e-26) * g11 * g22, det));
    VF inv = one / MAX(det, SET1(1e-200));
    f.l1 = SEL(f.face, u1 * inv, f.l1);
    f.l2 = SEL(f.face, u2 * inv, f.l2);
    f.x = T(axpy)(f.l2, e2, T(axpy)(f.l1, e1, p));
    return f;
}

#define POLISH_STEPS 4

// pieces are the products of three points of a core with d, p and q, and the weighted Hessian of their
// support functions.
typedef struct {
    VF d[3], p[3], q[3], pp, pq, qq;
} pieces;

// rim_point is the support point along d of the upper rim (above) or the lower one; inv is the
// reciprocal of the length of d's lateral part.
ALWAYS V3 rim_point(V3 e, VM above, V3 d, VF inv) {
    VF k = SEL(above, e.y, e.x) * inv;
    return (V3){k * d.x, k * d.y, SEL(above, e.z, -e.z)};
}

ALWAYS VF inverse_lateral(V3 d) { return RSQRT(MAX(FMA(d.x, d.x, d.y * d.y), SET1(TINY))); }

// pieces_of are the pieces of a core of class k along d, from its last points and the weights.
ALWAYS pieces pieces_of(int k, const double *params, V3 d, V3 p, V3 q, const V3 point[3], const VF weight[3]) {
    const VF zero = SET1(0);
    pieces out;
    if (k == CLR_ELLIPSOID) {
        V3 s;
        T(curvature) b = T(ellipsoid_hessian)(params, CLR_STRIDE64, d, p, q, &s);
        for (int j = 0; j < 3; j++) out.d[j] = b.h, out.p[j] = b.p, out.q[j] = b.q;
        out.pp = b.pp, out.pq = b.pq, out.qq = b.qq;
        return out;
    }
    VF curvature = zero, inv = zero;
    V3 e = T(ld3)(params, CLR_STRIDE64);
    if (k == CLR_FRUSTUM) inv = inverse_lateral(d);
    for (int j = 0; j < 3; j++) {
        V3 s = point[j];
        if (k == CLR_FRUSTUM) {
            VM above = LT(zero, s.z);
            s = rim_point(e, above, d, inv);
            curvature = FMA(weight[j], SEL(above, e.y, e.x) * inv, curvature);
        }
        out.d[j] = T(dot)(s, d), out.p[j] = T(dot)(s, p), out.q[j] = T(dot)(s, q);
    }
    VF up = FMA(d.x, p.y, -(d.y * p.x)) * inv, uq = FMA(d.x, q.y, -(d.y * q.x)) * inv; // along the rim
    out.pp = curvature * up * up, out.pq = curvature * up * uq, out.qq = curvature * uq * uq;
    return out;
}

// move_points replaces the points of a core by the support points of their pieces along d.
ALWAYS void move_points(int k, const double *params, V3 d, VM which, V3 point[3]) {
    if (k != CLR_ELLIPSOID && k != CLR_FRUSTUM) return;
    V3 e = T(ld3)(params, CLR_STRIDE64);
    VF inv = k == CLR_FRUSTUM ? inverse_lateral(d) : SET1(0);
    for (int j = 0; j < 3; j++) {
        V3 s = k == CLR_FRUSTUM ? rim_point(e, LT(SET1(0), point[j].z), d, inv)
                                : T(core_support)(k, params, CLR_STRIDE64, d, SET1(1));
        point[j] = T(sel)(which, s, point[j]);
    }
}

// same_piece reports whether two points of a core of class k belong to one piece.
ALWAYS VM same_piece(int k, V3 s, V3 t) {
    if (k == CLR_ELLIPSOID) return LE(SET1(0), SET1(1));
    return k == CLR_FRUSTUM ? MAND(LE(s.z, t.z), LE(t.z, s.z)) : T(same)(s, t);
}

// ends_flat reports whether two points of one rim are so far from each other that its flat end is the
// closest feature.
ALWAYS VM ends_flat(int k, V3 s, V3 t) {
    if (k != CLR_FRUSTUM) return LT(SET1(1), SET1(0));
    V3 e = T(sub)(s, t);
    return LT(SET1(0.0625) * FMA(s.x, s.x, s.y * s.y), T(dot)(e, e));
}

// refine_simplex improves the unit direction x, the points a and b of three vertices and their weights
// in the closest point, in the lanes where the iteration converges.
static __attribute__((noinline)) void refine_simplex(const double *in, int ka, int kb, V3 a[3], V3 b[3],
                                                     clr_projection *f0, V3 *x) {
    const VF zero = SET1(0), one = SET1(1), stop = LOADU(in + CLR_STOP * CLR_STRIDE64),
             small = SET1(0.0625) * stop * stop;
    const double *pa = in + CLR_PA * CLR_STRIDE64, *pb = in + CLR_PB * CLR_STRIDE64, *m = in + CLR_ROT * CLR_STRIDE64;
    const V3 t = T(ld3)(in + CLR_TRANS * CLR_STRIDE64, CLR_STRIDE64);
    V3 n = *x;
    VF w1 = f0->l1, w2 = f0->l2;
    VM use1 = LT(zero, w1), use2 = LT(zero, w2), wide = LT(one, zero);
    VM s1 = MAND(use1, MAND(same_piece(ka, a[0], a[1]), same_piece(kb, b[0], b[1])));
    VM s2 = MAND(use2, MAND(same_piece(ka, a[0], a[2]), same_piece(kb, b[0], b[2])));
    VM s12 = MANDN(MAND(MAND(use1, use2), MAND(same_piece(ka, a[1], a[2]), same_piece(kb, b[1], b[2]))), s1);
    for (int j = 0; j < 3; j++) {
        VM s = j == 0 ? s1 : j == 1 ? s2 : s12;
        int u = j == 2, v = j == 0 ? 1 : 2;
        wide = MOR(wide, MAND(s, MOR(ends_flat(ka, a[u], a[v]), ends_flat(kb, b[u], b[v]))));
    }
    w1 = SEL(s12, w1 + w2, SEL(s1, zero, w1));
    w2 = SEL(MOR(s12, s2), zero, w2);
    use1 = MANDN(use1, s1);
    use2 = MANDN(use2, MOR(s2, s12));
    VM active = MANDN(LE(zero, stop), wide), done = wide;
    done = MANDN(done, done);
    for (int step = 0; MBITS(active); step++) {
        V3 p, q;
        T(across)(n, &p, &q);
        const VF weight[3] = {one - w1 - w2, w1, w2};
        pieces A = pieces_of(ka, pa, T(neg)(n), p, q, a, weight);
        pieces B = pieces_of(kb, pb, T(rotate_back)(m, CLR_STRIDE64, n), T(rotate_back)(m, CLR_STRIDE64, p),
                             T(rotate_back)(m, CLR_STRIDE64, q), b, weight);
        VF f = -(A.d[0] + B.d[0] + T(dot)(t, n)), gp = A.p[0] - B.p[0] - T(dot)(t, p),
           gq = A.q[0] - B.q[0] - T(dot)(t, q);
        VF d1 = SEL(use1, A.d[0] + B.d[0] - A.d[1] - B.d[1], zero),
           d2 = SEL(use2, A.d[0] + B.d[0] - A.d[2] - B.d[2], zero);
        VF p1 = A.p[1] - A.p[0] - B.p[1] + B.p[0], q1 = A.q[1] - A.q[0] - B.q[1] + B.q[0];
        VF p2 = A.p[2] - A.p[0] - B.p[2] + B.p[0], q2 = A.q[2] - A.q[0] - B.q[2] + B.q[0];
        VF sp = FMA(w2, p2, FMA(w1, p1, gp)), sq = FMA(w2, q2, FMA(w1, q1, gq));
        VM close = LE(MAX(FMA(sp, sp, sq * sq), MAX(d1 * d1, d2 * d2)), small);
        done = MOR(done, MAND(active, close));
        active = MANDN(active, close);
        if (step == POLISH_STEPS || !MBITS(active)) break;

        VF pp = A.pp + B.pp + f, pq = A.pq + B.pq, qq = A.qq + B.qq + f, inv = RCP(FNMA(pq, pq, pp * qq));
        VF tp = FNMA(pq, gq, qq * gp) * inv, tq = FNMA(pq, gp, pp * gq) * inv, n1 = zero, n2 = zero;
        VM both = MAND(use1, use2), some = MANDN(MOR(use1, use2), both);
        if (MBITS(some)) {
            VF ep = SEL(use1, p1, p2), eq = SEL(use1, q1, q2);
            VF zp = FNMA(pq, eq, qq * ep) * inv, zq = FNMA(pq, ep, pp * eq) * inv;
            VF l = -(SEL(use1, d1, d2) + FMA(ep, tp, eq * tq)) * RCP(FMA(ep, zp, eq * zq));
            tp = SEL(some, FMA(l, zp, tp), tp);
            tq = SEL(some, FMA(l, zq, tq), tq);
            n1 = SEL(MAND(some, use1), l, zero);
            n2 = SEL(MAND(some, use2), l, zero);
        }
        if (MBITS(both)) {
            VF r = RCP(FNMA(q1, p2, p1 * q2));
            VF up = FNMA(d1, q2, d2 * q1) * r, uq = FNMA(d2, p1, d1 * p2) * r;
            VF rp = FMA(pp, up, pq * uq) - gp, rq = FMA(pq, up, qq * uq) - gq;
            tp = SEL(both, up, tp);
            tq = SEL(both, uq, tq);
            n1 = SEL(both, FNMA(rq, p2, rp * q2) * r, n1);
            n2 = SEL(both, FNMA(q1, rp, p1 * rq) * r, n2);
        }
        w1 = SEL(active, n1, w1);
        w2 = SEL(active, n2, w2);
        V3 next = T(axpy)(tq, q, T(axpy)(tp, p, n));
        n = T(sel)(active, T(scale)(inverse_length(next), next), n);
    }
    done = MAND(done, MAND(MAND(LE(zero, w1), LE(zero, w2)), LE(w1 + w2, one)));
    move_points(ka, pa, T(neg)(n), done, a);
    move_points(kb, pb, T(rotate_back)(m, CLR_STRIDE64, n), done, b);
    f0->l1 = SEL(done, w1, f0->l1);
    f0->l2 = SEL(done, w2, f0->l2);
    V3 v[3];
    for (int j = 0; j < 3; j++) v[j] = T(sub)(a[j], T(add)(T(rotate)(m, CLR_STRIDE64, b[j]), t));
    f0->x = T(sel)(done, T(axpy)(w2, T(sub)(v[2], v[0]), T(axpy)(w1, T(sub)(v[1], v[0]), v[0])), f0->x);
    *x = T(sel)(done, n, *x);
}

#endif
