// Local minima of h_D over the unit sphere for cores of revolution with two rims (cylinders, cones, frusta), and cap
// certificates around them. Float64, one pair per lane.
//
// Support function. Along a unit vector n, with the axis u of a core, c = ⟨u, n⟩ and q = |n − c·u|, the support values
// of its rims are ∓half·c + r·q with their radii r. Hence
//
//	h_core(n) = mean·q + |d|,  d = half·c + slant·q,
//
// with the mean of both radii and half their difference (slant). B contributes with its axis reversed, and with its
// origin.
//
// The kink |d| is at least σ·d for every |σ| ≤ 1; mean·q + σ·d is the support value of the circle at σ between the
// rims. If d = 0 at the minimum, there is a σ for which the function with σ·d in place of |d| is stationary there.
//
// Minima are found by sequential quadratic programming on the sphere [Nocedal2006, sec. 18.1]: h_D to second order, the
// kinks kept. A step y in the tangent plane minimizes
//
//     g·y + Σ |dᵢ + sᵢ·y| + ½ yᵀHy,   H = Σ rᵢ/qᵢ·wᵢwᵢᵀ − h·I,
//
// with rᵢ the radius at σᵢ and wᵢ the direction along the circle; −h·I is due to the curvature of the sphere. The dual
// is a quadratic program for σ in the square [−1, 1]².
//
// Input: the columns of a pair. Output of find_rims: a local minimum, σ, and the remaining gradient; of cap_size: the
// size of a cap around it over which h_D is bounded from below. Lanes without
// a minimum after RIM_STEPS steps are left out; a cap of size zero proves nothing.

#ifndef CLR_DEPTH_RIMS_H
#define CLR_DEPTH_RIMS_H

#include "../isa/real64.h"
#include "../shape/hessian.h"
#include "../isa/tangent.h"
#include "../shape/support.h"

typedef struct {
    V3 axis; // of B reversed
    VF half, mean, slant;
    VF along, across; // c and q of the directions in which the support values of both rims are equal
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

// rim_place is the state of a search.
typedef struct {
    V3 n, e, f;           // unit direction, and the tangent plane there
    VF h;                 // h_D(n)
    VF sigma[2], deficit; // multipliers of the kinks, and the deficit that they cause (apply_multipliers)
    VF d[2], q[2], r[2];  // see above; r is the radius at σ
    V3 lateral[2];        // unit vector of n's part across the axis; zero where n is the axis
    flat w[2], s[2], g;
    flat gradient; // of h_D with σ·d in place of the kinks: zero at a minimum
    VM face[2];    // n is the axis of this core: the exposed face is an end
} rim_place;

// measure_rims computes the fields that do not depend on σ, from n, e, f and face.
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

// rim_support_value is the support value of one core along a unit vector, c and q as above.
ALWAYS VF rim_support_value(const rim_core *k, VF c, VF q) {
    VF d = FMA(k->half, c, k->slant * q);
    return FMA(k->mean, q, MAX(d, -d));
}
ALWAYS VF sine(VF cosine) { return SQRT(MAX(FNMA(cosine, cosine, SET1(1)), SET1(0))); }

// rim_starts finds the direction with the least support value among both directions of each axis, the direction to the
// origin of B, and six per core in which the support values of both its rims are equal. face has the core of which it
// is the axis, tied the core whose rims have equal support values.
ALWAYS V3 rim_starts(const rim_pair *r, VM face[2], VM tied[2]) {
    static const double hexagon[3][2] = {{1, 0}, {0.5, 0.8660254037844386}, {-0.5, 0.8660254037844386}};
    const VF one = SET1(1), zero = SET1(0), cosine = T(dot)(r->core[0].axis, r->core[1].axis), slope = sine(cosine);
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
            VF sign = SET1(side ? -1 : 1), h = k->half + rim_support_value(other, sign * cosine, slope) - sign * shift;
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
            V3 n = T(axpy)(k->across * SET1(sign * hexagon[j % 3][0]), e,
                           T(axpy)(k->across * SET1(sign * hexagon[j % 3][1]), f, middle));
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

// best_kinks solves the dual: it minimizes ½ σᵀKσ + k·σ over the edges and the interior of the square.
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

// kink_active has the lanes with |σ| < 1 for core i: at the minimum, the support values of its rims are equal.
ALWAYS VM kink_active(const rim_place *p, int i) { return LT(MAX(p->sigma[i], -p->sigma[i]), SET1(1)); }

// apply_multipliers computes the fields that depend on σ: the deficit, the radii and the gradient. With σ·d in place of
// the kinks |d|, the function is smaller than h by at most the deficit, for every σ moved by at most 1 − |σ|.
ALWAYS void apply_multipliers(const rim_pair *r, rim_place *p) {
    p->deficit = SET1(0);
    p->gradient = p->g;
    for (int i = 0; i < 2; i++) {
        VF sigma = p->sigma[i], d = MAX(p->d[i], -p->d[i]);
        p->deficit = p->deficit + FNMA(sigma, p->d[i], d) + (SET1(1) - MAX(sigma, -sigma)) * d;
        p->r[i] = FMA(sigma, r->core[i].slant, r->core[i].mean);
        p->gradient = flat_axpy(sigma, p->s[i], p->gradient);
    }
}

ALWAYS flat flat_sel(VM m, flat a, flat b) { return (flat){SEL(m, a.x, b.x), SEL(m, a.y, b.y)}; }

// select_place assigns to to p in lanes m.
ALWAYS void select_place(rim_place *p, VM m, const rim_place *to) {
    p->n = T(sel)(m, to->n, p->n), p->e = T(sel)(m, to->e, p->e), p->f = T(sel)(m, to->f, p->f);
    p->h = SEL(m, to->h, p->h), p->deficit = SEL(m, to->deficit, p->deficit);
    p->g = flat_sel(m, to->g, p->g), p->gradient = flat_sel(m, to->gradient, p->gradient);
    for (int i = 0; i < 2; i++) {
        p->sigma[i] = SEL(m, to->sigma[i], p->sigma[i]), p->d[i] = SEL(m, to->d[i], p->d[i]);
        p->q[i] = SEL(m, to->q[i], p->q[i]), p->r[i] = SEL(m, to->r[i], p->r[i]);
        p->lateral[i] = T(sel)(m, to->lateral[i], p->lateral[i]);
        p->w[i] = flat_sel(m, to->w[i], p->w[i]), p->s[i] = flat_sel(m, to->s[i], p->s[i]);
        p->face[i] = MOR(MAND(m, to->face[i]), MANDN(p->face[i], m));
    }
}

// rim_step finds the multipliers of the kinks at p, and the step from there. H is made positive definite, first across
// the active kinks, where the minimum does not depend on it.
ALWAYS flat rim_step(const rim_pair *r, rim_place *p) {
    const VF one = SET1(1), zero = SET1(0);
    flat_matrix m = {-p->h, zero, -p->h};
    for (int i = 0; i < 2; i++) {
        VF radius = FMA(p->sigma[i], r->core[i].slant, r->core[i].mean);
        add_square(&m, radius / MAX(p->q[i], SET1(1e-3)), p->w[i]);
        add_square(&m, SEL(kink_active(p, i), SET1(4) * p->h / MAX(flat_dot(p->s[i], p->s[i]), SET1(TINY)), zero),
                   p->s[i]);
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
    apply_multipliers(r, p);
    flat y = {-FMA(back.xx, p->gradient.x, back.xy * p->gradient.y),
              -FMA(back.xy, p->gradient.x, back.yy * p->gradient.y)};
    VF limit = MIN(SET1(0.5) * RSQRT(MAX(flat_dot(y, y), SET1(TINY))), one);
    return (flat){limit * y.x, limit * y.y};
}

// next_direction is the direction of p after step y. Where the kink of one core is active, the direction is corrected
// so that the support values of its rims are equal. After the step they are so only to second order, and h would
// increase.
ALWAYS V3 next_direction(const rim_pair *r, const rim_place *p, flat y) {
    V3 n = T(axpy)(y.x, p->e, T(axpy)(y.y, p->f, p->n));
    n = T(scale)(inverse_length(n), n);
    for (int i = 0; i < 2; i++) {
        const rim_core *k = &r->core[i];
        VF reach2 = flat_dot(p->s[i], p->s[i]) * flat_dot(y, y);
        VM tied = MANDN(MAND(kink_active(p, i), LE(p->d[i] * p->d[i], reach2)), kink_active(p, 1 - i));
        V3 out = T(axpy)(-T(dot)(k->axis, n), k->axis, n);
        V3 tie_direction = T(axpy)(k->across * inverse_length(out), out, T(scale)(k->along, k->axis));
        n = T(sel)(tied, tie_direction, n);
    }
    return n;
}

#define RIM_STEPS 6

// find_rims descends from p->n to a local minimum of h_D, and returns the lanes that reach one, with a gradient of at
// most `close`. There p->face has the core whose axis is n, and tied the cores with an active kink. In the other lanes
// p is the last iterate.
ALWAYS unsigned find_rims(const rim_pair *r, rim_place *p, unsigned lanes, VM tied[2], VF close, int *steps) {
    const VF one = SET1(1), zero = SET1(0);
    T(across)(p->n, &p->e, &p->f);
    measure_rims(r, p);
    for (int i = 0; i < 2; i++) p->sigma[i] = SEL(MANDN(tied[i], p->face[i]), zero, COPYSIGN(one, p->d[i]));
    apply_multipliers(r, p);
    // An axis is a minimum if the support point of the other core projects into the disc of the end. Otherwise descend.
    VM face = MOR(p->face[0], p->face[1]);
    VF disc = SEL(p->face[0], p->r[0], p->r[1]), off = SQRT(flat_dot(p->gradient, p->gradient));
    unsigned found = lanes & MBITS(MAND(face, LT(off, disc))), active = lanes & ~found;
    VM better = MANDN(MFROM(active), face);
    VF back = SET1(-0.2) / MAX(off, SET1(TINY));
    flat y = {back * p->gradient.x, back * p->gradient.y};
    p->h = SEL(MAND(face, MFROM(active)), SET1(INFINITY), p->h);
    for (int step = 0; active; step++) {
        rim_place to = *p;
        flat next = rim_step(r, &to);
        select_place(p, better, &to);
        y = flat_sel(better, next, y);
        unsigned now =
            active &
            MBITS(MAND(better, MAND(LE(flat_dot(p->gradient, p->gradient), close * close), LE(p->deficit, close))));
        found |= now;
        active &= ~now;
        if (!active || step == RIM_STEPS) break;
        for (unsigned m = active; m; m &= m - 1) steps[__builtin_ctz(m)]++;
        const VM on = MFROM(active);
        for (int i = 0; i < 2; i++) to.face[i] = MANDN(p->face[i], on);
        to.n = next_direction(r, p, y);
        T(across)(to.n, &to.e, &to.f);
        measure_rims(r, &to);
        better = MAND(LE(to.h, FMA(SET1(1e-3), close, p->h)), on); // by more than rounding
        select_place(p, better, &to);
        y = (flat){SET1(0.25) * y.x, SET1(0.25) * y.y};
    }
    for (int i = 0; i < 2; i++) tied[i] = kink_active(p, i);
    return found;
}

// Derivation of the cap certificate around a local minimum n of h_D with the value h. For y in the tangent plane,
// |y| ≤ t, a circle of radius r has along n + y the support value r|p + z|, with p and z the parts of n and y across
// its axis, |p| = q. With z split along p and along w,
//
//     |p + z| ≥ |p| + z₁ + z₂²/(2|p + z|) ≥ q + z₁ + (w·y)²/(2(q + t)).
//
// A kink is at least σ·d for all |σ| ≤ 1, so also for σ moved by μ ≤ 1 − |σ| either way. The greater of both adds
// μ|s·y| ≥ μ(s·y)²/(|s|t), with the smaller radius of both. The choice μ = KINK·h·t/|s|, if that is less than 1 − |σ|,
// makes this curvature 2·KINK·h, against the −h across the kink and the part that both directions share. A greater μ
// would only reduce the radius, which vanishes at the apex of a cone. Where n is the axis, the disc of the end has the
// point opposite the support point of the other core in its interior, at a distance b from the rim: that adds
// b|y| ≥ b|y|²/t. So the support value along n + y, of length √(1 + y²) ≤ 1 + y²/2, is at least
//
//     L + ½ yᵀMy,   L = h − deficit − |g|t,
//
// with the remaining gradient g and the deficit of the multipliers. If M ≥ L·I, h_D(n + y) ≥ L·|n + y|. By
// convexity along the ray from n, a bound of this form holds beyond t too, as far as reach says. The deficit is a
// constant, already there at y = 0, so that beyond t it counts |y|/t times.

#define CAP_RATIO 0.7
#define KINK 8
#define CAP_SIZES 16                                                       // each is CAP_RATIO times the one before
static const double cap_shrink[4] = {0.05764801, 0.2401, 0.49, CAP_RATIO}; // its powers 8, 4, 2 and 1

// cap_curvature is the smallest eigenvalue of M for caps of size t around p; `inside` is b.
ALWAYS VF cap_curvature(const rim_pair *r, const rim_place *p, const VF inside[2], VF t) {
    const VF one = SET1(1), inv = one / t;
    flat_matrix m = {SET1(0), SET1(0), SET1(0)};
    for (int i = 0; i < 2; i++) {
        const VF sigma = p->sigma[i], slant = r->core[i].slant, across = flat_dot(p->s[i], p->s[i]),
                 r_s = RSQRT(MAX(across, SET1(TINY)));
        const VF mu = MIN(one - MAX(sigma, -sigma), SET1(KINK) * p->h * t * r_s);
        const VF radius = FNMA(mu, MAX(slant, -slant), p->r[i]);
        add_square(&m, SEL(p->face[i], SET1(0), radius / (p->q[i] + t)), p->w[i]);
        add_square(&m, SET1(2) * mu * inv * r_s, p->s[i]);
        VF disc = SEL(p->face[i], SET1(2) * inside[i] * inv, SET1(0));
        m.xx = m.xx + disc;
        m.yy = m.yy + disc;
    }
    return least_eigenvalue(m);
}

// cap_size returns how far the largest proved cap of CAP_SIZES sizes extends, or zero. A cap is proved if M ≥ h·I by
// more than rounding. times is the extent over the size.
ALWAYS VF cap_size(const rim_pair *r, const rim_place *p, const VF inside[2], VF *times) {
    const VF need = SET1(1 + 1e-6) * p->h;
    VF size = SET1(WIDEST_CAP / CAP_RATIO);
    for (int j = 0; j < 4; j++) { // bisection for the smallest size that is not proved
        VF lower = size * SET1(cap_shrink[j]);
        size = SEL(LE(need, cap_curvature(r, p, inside, lower)), size, lower);
    }
    size = size * SET1(CAP_RATIO);
    const VF curvature = cap_curvature(r, p, inside, size), far = reach(curvature, size, p->h);
    *times = far / size;
    return SEL(LE(need, curvature), far, SET1(0));
}

#endif
