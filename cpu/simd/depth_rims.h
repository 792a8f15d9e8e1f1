// Local minima of the heights of D = A − B for cores of revolution with two rims: cylinders,
// cones, frusta. Float64, a pair a lane. What is found here is proved
// in depth_rims.h.
//
// Along n, with the axis u of a core, c = <u, n> and q = |n − c·u|, its rims have heights
// ∓half·c + r·q, so the core has the height mean·q + |d|, d = half·c + slant·q, with the mean
// of both radii and half their difference. Of the kink |d| any σ·d with |σ| ≤ 1 is a bound
// from below, which is the height of the circle that far between the rims; where d is zero,
// one σ makes it smooth at the minimum. B adds with its axis turned around, and its origin.
//
// Minima are found by steps of sequential quadratic programming on the sphere: the heights
// to second order, the kinks kept. A step y in the tangent plane minimises
//
//     g·y + Σ |dᵢ + sᵢ·y| + ½ yᵀHy,   H = Σ rᵢ/qᵢ·wᵢwᵢᵀ − h·I,
//
// where rᵢ is the radius at σᵢ, wᵢ the direction along the circle, and h the height, which the
// sphere bends away. Its dual is a quadratic program for σ in the square [−1, 1]².

#ifndef CLR_DEPTH_RIMS_H
#define CLR_DEPTH_RIMS_H

#include "real64.h"
#include "hessian.h"
#include "tangent.h"
#include "support.h"

typedef struct {
    V3 axis; // of B turned around
    VF half, mean, slant;
    VF along, across; // c and q of directions along which both rims are as high
} rim_core;
typedef struct {
    rim_core core[2];
    V3 origin; // of B
} rim_pair;

ALWAYS rim_pair rims_at(const T(places) *at) {
    const VF one = SET1(1), none = SET1(0), half = SET1(0.5);
    const double *in = at->in;
    const int n = at->stride;
    rim_pair r = {.origin = T(ld3)(in + CLR_TRANS * n, n)};
    for (int i = 0; i < 2; i++) {
        const double *p = in + (i ? CLR_PB : CLR_PA) * n;
        VF below = LOADU(p), above = LOADU(p + n);
        VF length = LOADU(p + 2 * n), slant = half * (above - below),
           inv = one / SQRT(FMA(length, length, slant * slant));
        r.core[i] = (rim_core){{none, none, one}, length, half * (above + below), slant, -slant * inv, length * inv};
    }
    r.core[1].axis =
        (V3){-LOADU(in + (CLR_ROT + 2) * n), -LOADU(in + (CLR_ROT + 5) * n), -LOADU(in + (CLR_ROT + 8) * n)};
    return r;
}

// rim_place is where a search stands.
typedef struct {
    V3 n, e, f;          // unit direction, and the tangent plane there
    VF h;                // height of D along n
    VF sigma[2], low;    // of the kinks, and how much less the heights with them are, see depth_rims.h
    VF d[2], q[2], r[2]; // see above; radius at σ
    V3 lateral[2];       // unit, from the axis along n; zero where n is the axis
    flat w[2], s[2], g;
    flat left;  // gradient with the kinks: what is missing at a minimum
    VM face[2]; // n is the axis of this core: all points of an end are as high
} rim_place;

// measure_rims computes what does not depend on σ, for n, e, f and face.
ALWAYS void measure_rims(const rim_pair *r, rim_place *p) {
    V3 g = T(neg)(r->origin);
    p->h = T(dot)(g, p->n);
    for (int i = 0; i < 2; i++) {
        const rim_core *k = &r->core[i];
        const VF c = T(dot)(k->axis, p->n), none = SET1(0);
        V3 out = T(axpy)(-c, k->axis, p->n);
        out = T(sel)(p->face[i], (V3){none, none, none}, out);
        VF inv = inverse_length(out);
        p->q[i] = T(dot)(out, out) * inv;
        p->lateral[i] = out = T(scale)(inv, out);
        p->d[i] = FMA(k->half, c, k->slant * p->q[i]);
        p->h = p->h + FMA(k->mean, p->q[i], MAX(p->d[i], -p->d[i]));
        g = T(axpy)(k->mean, out, g);
        V3 kink = T(axpy)(k->slant, out, T(scale)(k->half, k->axis)), along = T(cross)(k->axis, out);
        p->s[i] = (flat){T(dot)(kink, p->e), T(dot)(kink, p->f)};
        p->w[i] = (flat){T(dot)(along, p->e), T(dot)(along, p->f)};
    }
    p->g = (flat){T(dot)(g, p->e), T(dot)(g, p->f)};
}

// rim_support_value is the height of one core along a unit vector, c and q as above.
ALWAYS VF rim_support_value(const rim_core *k, VF c, VF q) {
    VF d = FMA(k->half, c, k->slant * q);
    return FMA(k->mean, q, MAX(d, -d));
}
ALWAYS VF sine(VF cosine) { return SQRT(MAX(FNMA(cosine, cosine, SET1(1)), SET1(0))); }

// rim_starts finds the lowest of some directions: the axes both ways, the origin of B, and six
// directions along which both rims of a core are as high. It says of which core it is the axis,
// and of which it has both rims `even`.
ALWAYS V3 rim_starts(const rim_pair *r, VM face[2], VM tied[2]) {
    static const double around[3][2] = {{1, 0}, {0.5, 0.8660254037844386}, {-0.5, 0.8660254037844386}};
    const VF one = SET1(1), zero = SET1(0), turn = T(dot)(r->core[0].axis, r->core[1].axis), slope = sine(turn);
    V3 best = T(scale)(inverse_length(r->origin), r->origin);
    VF low = -T(dot)(r->origin, best);
    for (int i = 0; i < 2; i++) {
        VF c = T(dot)(r->core[i].axis, best);
        low = low + rim_support_value(&r->core[i], c, sine(c));
    }
    low = SEL(is_unit(best), low, SET1(INFINITY));
    face[0] = face[1] = tied[0] = tied[1] = LT(one, zero);
    for (int i = 0; i < 2; i++) {
        const rim_core *k = &r->core[i], *other = &r->core[1 - i];
        VF shift = T(dot)(r->origin, k->axis);
        for (int side = 0; side < 2; side++) {
            VF sign = SET1(side ? -1 : 1), h = k->half + rim_support_value(other, sign * turn, slope) - sign * shift;
            VM lower = LT(h, low);
            best = T(sel)(lower, T(scale)(sign, k->axis), best);
            low = SEL(lower, h, low);
            face[i] = MOR(face[i], lower);
            face[1 - i] = MANDN(face[1 - i], lower);
        }
    }
    for (int i = 0; i < 2; i++) {
        const rim_core *k = &r->core[i], *other = &r->core[1 - i];
        V3 e, f, middle = T(scale)(k->along, k->axis);
        T(across)(k->axis, &e, &f);
        for (int j = 0; j < 6; j++) {
            const double sign = j < 3 ? 1 : -1;
            V3 n = T(axpy)(k->across * SET1(sign * around[j % 3][0]), e,
                           T(axpy)(k->across * SET1(sign * around[j % 3][1]), f, middle));
            VF c = T(dot)(other->axis, n),
               h = FMA(k->mean, k->across, rim_support_value(other, c, sine(c))) - T(dot)(r->origin, n);
            VM lower = LT(h, low);
            best = T(sel)(lower, n, best);
            low = SEL(lower, h, low);
            tied[i] = MOR(tied[i], lower);
            tied[1 - i] = MANDN(tied[1 - i], lower);
        }
    }
    for (int i = 0; i < 2; i++) face[i] = MANDN(face[i], MOR(tied[0], tied[1]));
    return best;
}

// best_kinks solves the dual: least ½ σᵀKσ + k·σ in the square, on one of its edges or within.
ALWAYS void best_kinks(flat_matrix m, VF k0, VF k1, VF sigma[2]) {
    const VF one = SET1(1), tiny = SET1(1e-100), half = SET1(0.5);
    VF best = SET1(INFINITY), by_x = one / MAX(m.xx, tiny), by_y = one / MAX(m.yy, tiny);
    for (int edge = 0; edge < 4; edge++) {
        VF end = SET1(edge & 1 ? 1 : -1), x = end, y = end;
        if (edge < 2) y = MAX(MIN(-FMA(m.xy, x, k1) * by_y, one), -one);
        else x = MAX(MIN(-FMA(m.xy, y, k0) * by_x, one), -one);
        VF value = FMA(x, FMA(half, FMA(m.xx, x, m.xy * y), k0), y * FMA(half, FMA(m.xy, x, m.yy * y), k1));
        VM lower = LT(value, best);
        best = SEL(lower, value, best);
        sigma[0] = SEL(lower, x, sigma[0]);
        sigma[1] = SEL(lower, y, sigma[1]);
    }
    VF det = FNMA(m.xy, m.xy, m.xx * m.yy), inv = one / MAX(det, tiny);
    VF x = FNMA(m.yy, k0, m.xy * k1) * inv, y = FNMA(m.xx, k1, m.xy * k0) * inv;
    VM within = MAND(MAND(LE(MAX(x, -x), one), LE(MAX(y, -y), one)), LT(SET1(1e-14) * m.xx * m.yy, det));
    sigma[0] = SEL(within, x, sigma[0]);
    sigma[1] = SEL(within, y, sigma[1]);
}

// in_use says of which kinks both sides are: the minimum is to have the rims of core i as high.
ALWAYS VM in_use(const rim_place *p, int i) { return LT(MAX(p->sigma[i], -p->sigma[i]), SET1(1)); }

// settle computes what depends on σ: how much lower than h the heights are with multipliers in place
// of the kinks, wherever these are moved by as much as they may be; the radii; the gradient.
ALWAYS void settle(const rim_pair *r, rim_place *p) {
    p->low = SET1(0);
    p->left = p->g;
    for (int i = 0; i < 2; i++) {
        VF sigma = p->sigma[i], d = MAX(p->d[i], -p->d[i]);
        p->low = p->low + FNMA(sigma, p->d[i], d) + (SET1(1) - MAX(sigma, -sigma)) * d;
        p->r[i] = FMA(sigma, r->core[i].slant, r->core[i].mean);
        p->left = flat_axpy(sigma, p->s[i], p->left);
    }
}

ALWAYS flat flat_sel(VM m, flat a, flat b) { return (flat){SEL(m, a.x, b.x), SEL(m, a.y, b.y)}; }

// select_place is p = to in lanes m.
ALWAYS void select_place(rim_place *p, VM m, const rim_place *to) {
    p->n = T(sel)(m, to->n, p->n), p->e = T(sel)(m, to->e, p->e), p->f = T(sel)(m, to->f, p->f);
    p->h = SEL(m, to->h, p->h), p->low = SEL(m, to->low, p->low);
    p->g = flat_sel(m, to->g, p->g), p->left = flat_sel(m, to->left, p->left);
    for (int i = 0; i < 2; i++) {
        p->sigma[i] = SEL(m, to->sigma[i], p->sigma[i]), p->d[i] = SEL(m, to->d[i], p->d[i]);
        p->q[i] = SEL(m, to->q[i], p->q[i]), p->r[i] = SEL(m, to->r[i], p->r[i]);
        p->lateral[i] = T(sel)(m, to->lateral[i], p->lateral[i]);
        p->w[i] = flat_sel(m, to->w[i], p->w[i]), p->s[i] = flat_sel(m, to->s[i], p->s[i]);
        p->face[i] = MOR(MAND(m, to->face[i]), MANDN(p->face[i], m));
    }
}

// rim_step finds the multipliers of the kinks at p, and the step from there. H is made positive
// definite, first across the kinks that are in use, where the minimum does not depend on it.
ALWAYS flat rim_step(const rim_pair *r, rim_place *p) {
    const VF one = SET1(1), zero = SET1(0);
    flat_matrix m = {-p->h, zero, -p->h};
    for (int i = 0; i < 2; i++) {
        VF radius = FMA(p->sigma[i], r->core[i].slant, r->core[i].mean);
        add_square(&m, radius / MAX(p->q[i], SET1(1e-3)), p->w[i]);
        add_square(&m, SEL(in_use(p, i), SET1(4) * p->h / MAX(flat_dot(p->s[i], p->s[i]), SET1(TINY)), zero), p->s[i]);
    }
    VF more = MAX(SET1(0.02) * p->h - least_eigenvalue(m), zero);
    m.xx = m.xx + more;
    m.yy = m.yy + more;
    VF inv = one / FNMA(m.xy, m.xy, m.xx * m.yy);
    flat_matrix back = {m.yy * inv, -m.xy * inv, m.xx * inv};
    flat t[2];
    for (int i = 0; i < 2; i++)
        t[i] = (flat){FMA(back.xx, p->s[i].x, back.xy * p->s[i].y), FMA(back.xy, p->s[i].x, back.yy * p->s[i].y)};
    flat_matrix k = {flat_dot(p->s[0], t[0]), flat_dot(p->s[0], t[1]), flat_dot(p->s[1], t[1])};
    best_kinks(k, flat_dot(p->g, t[0]) - p->d[0], flat_dot(p->g, t[1]) - p->d[1], p->sigma);
    settle(r, p);
    flat y = {-FMA(back.xx, p->left.x, back.xy * p->left.y), -FMA(back.xy, p->left.x, back.yy * p->left.y)};
    VF limit = MIN(SET1(0.5) * RSQRT(MAX(flat_dot(y, y), SET1(TINY))), one);
    return (flat){limit * y.x, limit * y.y};
}

// moved is the direction of p after step y. Where the rims of one core are to be as high, they are
// made so, since to second order they would not: then h would be higher for the step.
ALWAYS V3 moved(const rim_pair *r, const rim_place *p, flat y) {
    V3 n = T(axpy)(y.x, p->e, T(axpy)(y.y, p->f, p->n));
    n = T(scale)(inverse_length(n), n);
    for (int i = 0; i < 2; i++) {
        const rim_core *k = &r->core[i];
        VF reach2 = flat_dot(p->s[i], p->s[i]) * flat_dot(y, y);
        VM tied = MANDN(MAND(in_use(p, i), LE(p->d[i] * p->d[i], reach2)), in_use(p, 1 - i));
        V3 out = T(axpy)(-T(dot)(k->axis, n), k->axis, n);
        V3 tie_direction = T(axpy)(k->across * inverse_length(out), out, T(scale)(k->along, k->axis));
        n = T(sel)(tied, tie_direction, n);
    }
    return n;
}

#define RIM_STEPS 6

// find_rims goes down from p->n towards a local minimum of the heights, and returns the lanes that
// reach one, with no more than `close` left of the gradient. There p->face is an axis that n
// is, and even[i] the rims of core i that are as high; the others say where they stopped.
ALWAYS unsigned find_rims(const rim_pair *r, rim_place *p, unsigned lanes, VM tied[2], VF close, int *steps) {
    const VF one = SET1(1), zero = SET1(0);
    T(across)(p->n, &p->e, &p->f);
    measure_rims(r, p);
    for (int i = 0; i < 2; i++) p->sigma[i] = SEL(MANDN(tied[i], p->face[i]), zero, COPYSIGN(one, p->d[i]));
    settle(r, p);
    // An end is a minimum if the point across is on its disc. From others, go down.
    VM face = MOR(p->face[0], p->face[1]);
    VF disc = SEL(p->face[0], p->r[0], p->r[1]), off = SQRT(flat_dot(p->left, p->left));
    unsigned found = lanes & MBITS(MAND(face, LT(off, disc))), active = lanes & ~found;
    VM better = MANDN(MFROM(active), face);
    VF back = SET1(-0.2) / MAX(off, SET1(TINY));
    flat y = {back * p->left.x, back * p->left.y};
    p->h = SEL(MAND(face, MFROM(active)), SET1(INFINITY), p->h);
    for (int step = 0; active; step++) {
        rim_place to = *p;
        flat next = rim_step(r, &to);
        select_place(p, better, &to);
        y = flat_sel(better, next, y);
        unsigned now =
            active & MBITS(MAND(better, MAND(LE(flat_dot(p->left, p->left), close * close), LE(p->low, close))));
        found |= now;
        active &= ~now;
        if (!active || step == RIM_STEPS) break;
        for (unsigned m = active; m; m &= m - 1) steps[__builtin_ctz(m)]++;
        const VM on = MFROM(active);
        for (int i = 0; i < 2; i++) to.face[i] = MANDN(p->face[i], on);
        to.n = moved(r, p, y);
        T(across)(to.n, &to.e, &to.f);
        measure_rims(r, &to);
        better = MAND(LE(to.h, FMA(SET1(1e-3), close, p->h)), on); // above rounding
        select_place(p, better, &to);
        y = (flat){SET1(0.25) * y.x, SET1(0.25) * y.y};
    }
    for (int i = 0; i < 2; i++) tied[i] = in_use(p, i);
    return found;
}

// Around a local minimum h of the heights of D, along n, second derivatives prove that they are
// not lower anywhere in a cap of directions. Float64, a pair a lane, and
// depth_certificate.h has the directions outside.
//
// With the names of depth_rims.h, for y in the tangent plane, |y| ≤ t, a circle of
// radius r has along n + y the height r|p + z|, p and z the parts of n and y across its axis,
// |p| = q. With z split along p and along w,
//
//     |p + z| ≥ |p| + z₁ + z₂²/(2|p + z|) ≥ q + z₁ + (w·y)²/(2(q + t)).
//
// A kink is at least σ·d for all |σ| ≤ 1, so also for σ moved by μ ≤ 1 − |σ| either way, whichever
// is more: that adds μ|s·y| ≥ μ(s·y)²/(|s|t), with the least radius of both. μ = KINK·h·t/|s|, where
// that is less, makes as much of it as 2·KINK·h, against the −h across the kink and what the two
// directions share; more would only cost radius, of which the ends of cones have none to spare.
// Where n is the axis, the end's disc has the point across from the other core in its interior,
// b from the border: it adds b|y| ≥ b|y|²/t. So the height along n + y, of length √(1 + y²) ≤ 1 + y²/2, is at least
//
//     L + ½ yᵀMy,   L = h − low − |g|t,
//
// g what is left of the gradient and low of the kinks, and where M ≥ L·I at least L a unit. So it is
// beyond t, as far as reach says; at y = 0 what grows is low already, so that counts |y|/t times.

#define CAP_RATIO 0.7
#define KINK 8
#define CAP_SIZES 16                                                       // each CAP_RATIO of the one before
static const double cap_shrink[4] = {0.05764801, 0.2401, 0.49, CAP_RATIO}; // its powers 8, 4, 2 and 1

// cap_curvature is the lowest eigenvalue of M for caps of size t around p, with `inside` for b.
ALWAYS VF cap_curvature(const rim_pair *r, const rim_place *p, const VF inside[2], VF t) {
    const VF one = SET1(1), inv = one / t;
    flat_matrix m = {SET1(0), SET1(0), SET1(0)};
    for (int i = 0; i < 2; i++) {
        const VF sigma = p->sigma[i], slant = r->core[i].slant, across = flat_dot(p->s[i], p->s[i]),
                 r_s = RSQRT(MAX(across, SET1(TINY)));
        const VF moved = MIN(one - MAX(sigma, -sigma), SET1(KINK) * p->h * t * r_s);
        const VF radius = FNMA(moved, MAX(slant, -slant), p->r[i]);
        add_square(&m, SEL(p->face[i], SET1(0), radius / (p->q[i] + t)), p->w[i]);
        add_square(&m, SET1(2) * moved * inv * r_s, p->s[i]);
        VF disc = SEL(p->face[i], SET1(2) * inside[i] * inv, SET1(0));
        m.xx = m.xx + disc;
        m.yy = m.yy + disc;
    }
    return least_eigenvalue(m);
}

// cap_size is how far the largest of CAP_SIZES sizes of caps reaches that hold, M ≥ h·I with more than
// rounding, or zero, and times is that over the size.
ALWAYS VF cap_size(const rim_pair *r, const rim_place *p, const VF inside[2], VF *times) {
    const VF need = SET1(1 + 1e-6) * p->h;
    VF size = SET1(WIDEST_CAP / CAP_RATIO);
    for (int j = 0; j < 4; j++) { // the least that does not, by halves
        VF lower = size * SET1(cap_shrink[j]);
        size = SEL(LE(need, cap_curvature(r, p, inside, lower)), size, lower);
    }
    size = size * SET1(CAP_RATIO);
    const VF curvature = cap_curvature(r, p, inside, size), far = reach(curvature, size, p->h);
    *times = far / size;
    return SEL(LE(need, curvature), far, SET1(0));
}

#endif
