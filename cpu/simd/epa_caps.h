// Around a local minimum h of the heights of D, along n, second derivatives prove that they are
// not lower anywhere in a cap of directions. Float64, a pair a lane; included by epa.h, and
// epa_surround.h has the directions outside.
//
// With the names of epa_rims.h, for y in the tangent plane, |y| ≤ t, a circle of
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
#define CAP_SIZES 16 // each CAP_RATIO of the one before
static const double cap_shrink[4] = {0.05764801, 0.2401, 0.49, CAP_RATIO}; // its powers 8, 4, 2 and 1

// cap_bend is the lowest eigenvalue of M for caps of size t around p, with `inside` for b.
ALWAYS VF cap_bend(const rim_pair *r, const rim_place *p, const VF inside[2], VF t) {
    const VF one = SET1(1), inv = one / t;
    flat_matrix m = {SET1(0), SET1(0), SET1(0)};
    for (int i = 0; i < 2; i++) {
        const VF sigma = p->sigma[i], slant = r->core[i].slant, across = flat_dot(p->s[i], p->s[i]), r_s = RSQRT(MAX(across, SET1(TINY)));
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
        size = SEL(LE(need, cap_bend(r, p, inside, lower)), size, lower);
    }
    size = size * SET1(CAP_RATIO);
    const VF bend = cap_bend(r, p, inside, size), far = reach(bend, size, p->h);
    *times = far / size;
    return SEL(LE(need, bend), far, SET1(0));
}
