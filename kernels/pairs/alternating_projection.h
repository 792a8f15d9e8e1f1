// Distances of cylinders, cones, frustums, segments and points, by Newton's method on alternating
// projections. The projections are a template, see vec3.h, the method float64.
//
// The projection P(p) of a point p on such a core has a closed form (closest_point). The closest points
// a and b of cores A and B are projections of one another, and alternating projections converge to
// them [Cheney1959, theorem 4], linearly. Newton's method takes two or three iterations. The
// derivative of P is C·G·Cᵀ, with two unit tangents C of the core and gains G: 1 along straight lines;
// ρ'/ρ around the axis, for a point at distance ρ from the axis with a projection at distance ρ'; and
// 0 where edges and vertices fix the projection. With y = P_B(P_A(b)), Newton's step from b to a fixed
// point is
//
//	b + δ = y + C_B·G_B·C_Bᵀ·C_A·u,   (I − G_A·M) u = G_A·C_Aᵀ (y − b),   M = C_Aᵀ·C_B·G_B·C_Bᵀ·C_A.
//
// P is not differentiable where one feature ends, so this is a semismooth Newton method [Qi1993].
//
// With the pair of projections a, b, x = a − b, n = x/|x|, the radii R and the rounding bound ρ:
//
//	distance = |x| − R
//	upper    = |x| − R + ρ
//	lower    = min ⟨n, D⟩ − R − ρ
//
// Input: the columns of prepared rows. Output: answers; the witnesses are the projections. Rows whose bounds do
// not meet the tolerance, and intersecting ones, go on to GJK.

#if (REAL_BITS == 32 && !defined(CLR_PROJECTION_32)) || (REAL_BITS == 64 && !defined(CLR_PROJECTION_64))
#if REAL_BITS == 32
#define CLR_PROJECTION_32
#else
#define CLR_PROJECTION_64
#endif

#include "../shape/cores.h"

// Projections on cylinders, cones, frustums, segments and points.
//
// A core of these kinds is the solid of revolution of a profile: a trapezoid in the half-plane of z
// and the distance ρ from the axis. The projection of a point p lies in the half-plane through p, so
// it is the projection on the profile. It is p itself inside the core, else a point of a flat end, of
// the side, or of a rim. closest_point returns it with the derivative that Newton's method needs
// (below).

#ifndef CLR_HAS_PROJECTION
#define CLR_HAS_PROJECTION
// has_projection reports whether class k has cores with a closed form of the projection. Of CLR_BOX
// these are segments and points.
ALWAYS int has_projection(int k) { return k == CLR_BOX || k == CLR_FRUSTUM; }
#endif

// profile is the section of a core by a half-plane through its axis. below and above are the radii of
// the ends, half is half the length; (out, up) is the unit direction of the side from the lower to the
// upper rim, length its length.
typedef struct {
    VF below, above, half, out, up, length;
} T(profile);

ALWAYS T(profile) T(profile_of)(V3 e) {
    T(profile) f = {.below = e.x, .above = e.y, .half = e.z}; // a segment has e = (0, 0, half)
    VF out = e.y - e.x, up = e.z + e.z, square = FMA(out, out, up * up), inv = RSQRT(MAX(square, SET1(TINY)));
    f.out = out * inv, f.up = up * inv, f.length = square * inv;
    return f;
}

// is_segment reports segments and points. The other cores of class CLR_BOX have no profile.
ALWAYS VM T(is_segment)(const T(profile) *f) { return LE(MAX(f->below, f->above), SET1(0)); }

// projection is P(p) (`at`), the unit tangents around the axis and along the profile, and the gains of
// P along them. A point inside is its own projection, at depth `depth` below the surface; outside,
// `depth` is not positive.
typedef struct {
    V3 at, around, along;
    VF gain_around, gain_along, depth;
} T(projection);

ALWAYS T(projection) T(closest_point)(const T(profile) *f, V3 p) {
    const VF zero = SET1(0), one = SET1(1);
    T(projection) o;
    VF square = FMA(p.y, p.y, p.x * p.x), inv = RSQRT(MAX(square, SET1(TINY))), far = square * inv;
    VM axial = LE(square, SET1(TINY)); // on the axis: any lateral direction
    VF ux = SEL(axial, one, p.x * inv), uy = SEL(axial, zero, p.y * inv);
    VF dr = far - f->below, dz = p.z + f->half, t = FMA(dr, f->out, dz * f->up), on = MIN(MAX(t, zero), f->length);
    VM flat_end = MOR(MAND(LE(f->half, p.z), LT(far, f->above)), MAND(LE(p.z, -f->half), LT(far, f->below)));
    o.depth = MIN(f->half - MAX(p.z, -p.z), FNMA(dr, f->up, dz * f->out));
    VM inside = LT(zero, o.depth), side = MAND(LT(zero, t), LT(t, f->length));
    VF r = SEL(MOR(flat_end, inside), far, FMA(on, f->out, f->below));
    VF z = SEL(flat_end, COPYSIGN(f->half, p.z), SEL(inside, p.z, FMA(on, f->up, -f->half)));
    o.at = (V3){r * ux, r * uy, z};
    o.around = (V3){-uy, ux, zero};
    o.gain_around = SEL(flat_end, one, MIN(r * inv, one));
    VF out = SEL(flat_end, one, f->out);
    o.along = (V3){out * ux, out * uy, SEL(flat_end, zero, f->up)};
    o.gain_along = SEL(MOR(flat_end, side), one, zero);
    return o;
}

// axis_point is the point of B's axis that is closest to A's axis, as in segment_distance
// (closed_forms.h). u is the direction of B's axis.
ALWAYS V3 T(axis_point)(VF half_a, VF half_b, V3 u, V3 t) {
    VF across = FMA(u.x, u.x, u.y * u.y), along = T(dot)(t, u);
    VF s = FNMA(u.z, along, t.z) * RCP(MAX(across, SET1(1e-6)));
    s = MAX(MIN(s, half_a), -half_a);
    return T(axpy)(MAX(MIN(FMA(s, u.z, -along), half_b), -half_b), u, t);
}

#endif

#if REAL_BITS == 64 && !defined(CLR_ALTERNATING_PROJECTION_64)
#define CLR_ALTERNATING_PROJECTION_64

#include "input.h"
#include "store.h"
#include "../shape/support.h"
#include <string.h>

// Newton's method, float64.

// Steps of the first pass, over rows in order. The rows that are still active are then compacted into
// full vectors, and again after every PROJECTION_ROWS steps.
#define PROJECTION_VECTORS(ka, kb) ((ka) == CLR_BOX || (kb) == CLR_BOX ? 1 : 3)
#define PROJECTION_ROWS 2
#define PROJECTION_STEPS 12

// projection_beyond is h(−x) − ⟨−x, a⟩, relative to the length 1/inv of x, for the support function h of the core and
// its point a. The support plane of the other core through the projection of a is exact.
ALWAYS VF projection_beyond(const T(profile) *f, V3 a, V3 x, VF inv) {
    VF across = FMA(x.y, x.y, x.x * x.x), lateral = across * RSQRT(MAX(across, SET1(TINY))), lift = f->half * x.z;
    return (T(dot)(a, x) + MAX(FMA(f->below, lateral, lift), FMA(f->above, lateral, -lift))) * inv;
}

typedef struct {
    T(profile) a, b;
    const double *in;      // columns of the rows
    V3 b_at, at_a, at_b;   // next point of B; the last projections
    unsigned active, done; // active lanes; those that meet the tolerance
    VF taken;
} projection_lanes;

// projection_step takes one step. Lanes that end keep their last projections.
ALWAYS void projection_step(projection_lanes *L, int stride, int first) {
    const VF one = SET1(1);
    const double *in = L->in, *m = in + CLR_ROT * stride;
    const V3 t = T(ld3)(in + CLR_TRANS * stride, stride), b0 = L->b_at;
    VM active = MFROM(L->active);
    T(projection) a = T(closest_point)(&L->a, b0),
                  b = T(closest_point)(&L->b, T(rotate_back)(m, stride, T(sub)(a.at, t)));
    V3 y = T(add)(T(rotate)(m, stride, b.at), t), x = T(sub)(a.at, y);
    VF square = T(dot)(x, x), inv = RSQRT(MAX(square, SET1(TINY)));
    VF beyond = projection_beyond(&L->a, a.at, x, inv);
    L->taken = SEL(active, L->taken + one, L->taken);
    L->at_a = T(sel)(active, a.at, L->at_a);
    L->at_b = T(sel)(active, y, L->at_b);
    VM meet = LT(SET1(0), first ? MAX(a.depth, b.depth) : b.depth); // a point of both cores
    VM done =
        MOR(LE(beyond, LOADU(in + CLR_STOP * stride)), LT(LOADU(in + CLR_FAR * stride), FMA(square, inv, -beyond)));
    done = MANDN(MAND(active, done), meet);
    L->done |= MBITS(done);
    active = MANDN(active, MOR(done, meet));
    L->active = MBITS(active);
    if (!L->active) return;

    V3 e1 = T(rotate)(m, stride, b.around), e2 = T(rotate)(m, stride, b.along), r = T(sub)(y, b0);
    VF k11 = T(dot)(a.around, e1), k12 = T(dot)(a.around, e2), k21 = T(dot)(a.along, e1), k22 = T(dot)(a.along, e2);
    VF l11 = k11 * b.gain_around, l12 = k12 * b.gain_along, l21 = k21 * b.gain_around, l22 = k22 * b.gain_along;
    VF m11 = FMA(l11, k11, l12 * k12), m12 = FMA(l11, k21, l12 * k22), m22 = FMA(l21, k21, l22 * k22);
    VF r1 = a.gain_around * T(dot)(a.around, r), r2 = a.gain_along * T(dot)(a.along, r);
    VF d1 = FNMA(a.gain_around, m11, one), d2 = FNMA(a.gain_along, m22, one), o1 = a.gain_around * m12,
       o2 = a.gain_along * m12;
    // Parallel lines or faces have many pairs of closest points; any of them is accepted.
    VF det = RCP(MAX(FNMA(o1, o2, d1 * d2), SET1(1e-6)));
    VF u1 = FMA(d2, r1, o1 * r2) * det, u2 = FMA(d1, r2, o2 * r1) * det;
    L->b_at = T(axpy)(FMA(l12, u1, l22 * u2), e2, T(axpy)(FMA(l11, u1, l21 * u2), e1, y));
}

// projection_start sets the initial point: on the axis of B.
ALWAYS void projection_start(projection_lanes *L, const double *in, int stride, int ka, int kb, unsigned open) {
    L->in = in;
    L->a = T(profile_of)(T(ld3)(in + CLR_PA * stride, stride));
    L->b = T(profile_of)(T(ld3)(in + CLR_PB * stride, stride));
    const V3 t = T(ld3)(in + CLR_TRANS * stride, stride);
    L->b_at = T(axis_point)(L->a.half, L->b.half,
                            (V3){LOADU(in + 2 * stride), LOADU(in + 5 * stride), LOADU(in + 8 * stride)}, t);
    L->at_a = L->at_b = t;
    L->taken = SET1(0);
    L->active = open;
    L->done = 0;
    if (ka == CLR_BOX) L->active &= MBITS(T(is_segment)(&L->a));
    if (kb == CLR_BOX) L->active &= MBITS(T(is_segment)(&L->b));
}

// projection_emit answers the lanes of rows k, k+1, … whose bounds from the projections a and b meet
// the tolerance.
ALWAYS void projection_emit(const clr_call *c, clr_scratch *s, int64_t at0, int k, unsigned lanes, int ka, int kb, V3 a,
                            V3 b) {
    const double *in = &s->in64[0][k], *more = &s->more[0][k];
    const VF rounding = LOADU(more + CLR_ROUNDING * CLR_STRIDE64), tol = LOADU(more + CLR_TOL * CLR_STRIDE64);
    const VF ra = LOADU(more + CLR_RA * CLR_STRIDE64), rb = LOADU(more + CLR_RB * CLR_STRIDE64), radius = ra + rb,
             zero = SET1(0);
    T(places) at = {.call = c, .in = in, .stride = CLR_STRIDE64};
    V3 x = T(sub)(a, b);
    VF inv = inverse_length(x), length = T(dot)(x, x) * inv;
    x = T(scale)(inv, x);
    VF low = T(support_value)(&at, ka, kb, x, 0), distance = length - radius, lower = low - radius - rounding,
       upper = distance + rounding;
    VM ok = LE(MAX(rounding, distance - lower), most_gap(c, ka, kb, tol, rounding));
    if (c->has_cut_off) ok = MOR(ok, LT(SET1(c->cut_off), lower));
    ok = MAND(MAND(ok, is_unit(x)), MAND(LT(rounding, low), LE(lower, upper)));
    V3 normal = T(neg)(x);
    store_lanes(c, s, at0, k, lanes & MBITS(ok), CLR_SOLVER_NEWTON, distance, lower, upper, LT(zero, lower),
                LT(upper, zero), normal, T(axpy)(ra, normal, a), T(axpy)(-rb, normal, b));
}

// projection_loop answers rows 0 to n−1 of the group with disjoint cores. It writes the rows that stay
// open to s->list, and returns their number.
ALWAYS int projection_loop(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka, int kb) {
    const int together = PROJECTION_VECTORS(ka, kb);
    int unfinished = 0, listed = 0;
    uint8_t ended[CLR_GROUP_ROWS]; // per vector of rows: the lanes that meet the tolerance
    double taken[W] __attribute__((aligned(64)));
    for (int k0 = 0; k0 < n; k0 += 2 * W) {
        projection_lanes lanes[2];
        for (int j = 0; j < 2; j++) {
            const int k = k0 + j * W;
            unsigned open = 0;
            for (int l = 0; l < W && k + l < n; l++) open |= (unsigned)(s->state[k + l] == CLR_OPEN) << l;
            projection_start(lanes + j, &s->in64[0][k0 + (open ? j * W : 0)], CLR_STRIDE64, ka, kb, open);
        }
        for (int i = 0; i < together && (lanes[0].active | lanes[1].active); i++)
            for (int j = 0; j < 2; j++)
                if (lanes[j].active) projection_step(lanes + j, CLR_STRIDE64, i == 0);
        for (int j = 0; j < 2 && k0 + j * W < n; j++) {
            const projection_lanes *L = lanes + j;
            const int k = k0 + j * W;
            STOREU(taken, L->taken);
            for (int l = 0; l < W && k + l < n; l++) s->steps[k + l] = (uint16_t)taken[l];
            ended[k / W] = (uint8_t)L->done;
            T(st3)(&s->in64[CLR_VERT][k], CLR_STRIDE64, L->at_a);
            T(st3)(&s->in64[CLR_VERT + 3][k], CLR_STRIDE64, L->at_b);
            if (L->active) T(st3)(&s->in64[CLR_X][k], CLR_STRIDE64, L->b_at);
            for (unsigned m = L->active; m; m &= m - 1) s->list[unfinished++] = k + __builtin_ctz(m);
        }
    }
    for (int steps = together; unfinished && steps < PROJECTION_STEPS; steps += PROJECTION_ROWS) {
        int still = 0;
        for (int q = 0; q < unfinished; q += W) {
            const int m = unfinished - q < W ? unfinished - q : W;
            int32_t row[W];
            double in[CLR_IN][W] __attribute__((aligned(64))), points[9][W] __attribute__((aligned(64)));
            for (int l = 0; l < W; l++) row[l] = s->list[q + (l < m ? l : m - 1)];
            for (int j = 0; j < CLR_IN; j++)
                for (int l = 0; l < W; l++) in[j][l] = s->in64[j][row[l]];
            projection_lanes L;
            projection_start(&L, &in[0][0], W, ka, kb, m < W ? (1u << m) - 1 : LANES);
            L.b_at = T(ld3)(in[CLR_X], W);
            for (int i = 0; i < PROJECTION_ROWS && L.active; i++) projection_step(&L, W, 0);
            T(st3)(points[0], W, L.at_a);
            T(st3)(points[3], W, L.at_b);
            T(st3)(points[6], W, L.b_at);
            STOREU(taken, L.taken);
            for (int l = 0; l < m; l++) {
                const int i = row[l];
                s->steps[i] += (uint16_t)taken[l];
                for (int j = 0; j < 6; j++) s->in64[CLR_VERT + j][i] = points[j][l];
                for (int j = 0; j < 3; j++) s->in64[CLR_X + j][i] = points[6 + j][l];
                ended[i / W] |= (uint8_t)((L.done >> l & 1) << (i % W));
                s->list[still] = i;
                still += L.active >> l & 1;
            }
        }
        unfinished = still;
    }
    for (int k = 0; k < n; k += W) {
        const double *points = &s->in64[CLR_VERT][k];
        if (ended[k / W])
            projection_emit(c, s, at0, k, ended[k / W], ka, kb, T(ld3)(points, CLR_STRIDE64),
                            T(ld3)(points + 3 * CLR_STRIDE64, CLR_STRIDE64));
        for (int l = 0; l < W && k + l < n; l++)
            if (s->state[k + l] == CLR_OPEN) s->list[listed++] = k + l;
    }
    return listed;
}

// uses_projections reports whether rows of a pair of classes are answered by alternating projections.
ALWAYS int uses_projections(const clr_call *c, int ka, int kb) {
    return c->automatic && !c->collide && !c->max_steps && has_projection(ka) && has_projection(kb) &&
           (ka == CLR_FRUSTUM || kb == CLR_FRUSTUM);
}

// project_alternately is projection_loop for a pair of classes of which one is CLR_FRUSTUM and the other
// CLR_FRUSTUM or CLR_BOX.
static __attribute__((noinline)) int project_alternately(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka,
                                                         int kb) {
    if (kb == CLR_BOX) return projection_loop(c, s, at0, n, CLR_FRUSTUM, CLR_BOX);
    if (ka == CLR_BOX) return projection_loop(c, s, at0, n, CLR_BOX, CLR_FRUSTUM);
    return projection_loop(c, s, at0, n, CLR_FRUSTUM, CLR_FRUSTUM);
}

// prepare_late fills the float32 columns of rows 0 to n−1 of a group, for vectors with unsolved rows. The
// centers have to be the origins of their shapes.
static __attribute__((noinline)) void prepare_late(const clr_call *c, clr_scratch *s, int64_t lo, int n, int ka,
                                                   int kb) {
    for (int k = 0; k < n; k += W) {
        int open = 0;
        for (int l = 0; l < W; l++) open |= s->state[k + l] == CLR_OPEN;
        if (open)
            prepare32(c, s, lo, k, ka, kb, T(neg)(T(ld3)(&s->in64[CLR_TRANS][k], CLR_STRIDE64)),
                      LOADU(&s->more[CLR_SPAN][k]));
    }
}

#endif
