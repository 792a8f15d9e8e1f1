// Distances of ellipsoids by Newton's method on the sphere. A template, float64; included
// after finish.h.
//
// The distance of the cores is the most, over unit vectors n, of f(n) = min <n, D>, whose
// gradient is the vertex v of D and whose Hessian is that of the support functions, H, both
// smooth for ellipsoids. On the sphere the step solves (H + f·I) t = Pv across n, and goes
// to (n + t)/|n + t|, as the trust region method of paper 002 does for depths (Algorithm 2).
// It is an ascent, since H is positive; a step that lowers f is taken back and shortened.
// f bounds the distance from below and |v| from above, whatever n is, so a row is
// answered where both agree, and left to GJK where they do not.

#define NEWTON_STEPS 12 // most rows need 4 to 7; what needs more is left

typedef struct {
    V3 n, base, step; // where f is looked at next, the best so far, and the step from it
    VF f;             // at base
    unsigned active;
    int taken[W];
} newton_lanes;

// newton_step takes one step of the lanes of rows k, k+1, … that are at work.
ALWAYS void newton_step(newton_lanes *L, const clr_scratch *s, int k) {
    const double *in = &s->in64[0][k];
    const VF stop = LOADU(in + CLR_STOP * CLR_STRIDE64);
    const double *m = in + CLR_ROT * CLR_STRIDE64;
    V3 n = L->n, p, q, t = T(ld3)(in + CLR_TRANS * CLR_STRIDE64, CLR_STRIDE64);
    T(across)(n, &p, &q);
    T(bend) a = T(bend_ellipsoid)(in + CLR_PA * CLR_STRIDE64, CLR_STRIDE64, n, p, q);
    T(bend) b = T(bend_ellipsoid)(in + CLR_PB * CLR_STRIDE64, CLR_STRIDE64, T(rotate_back)(m, CLR_STRIDE64, n), T(rotate_back)(m, CLR_STRIDE64, p), T(rotate_back)(m, CLR_STRIDE64, q));
    VF f = -(a.h + b.h + T(dot)(t, n)), gp = -(a.p + b.p + T(dot)(t, p)), gq = -(a.q + b.q + T(dot)(t, q));
    VM active = MFROM(L->active);
    VM lower = MAND(active, LT(f + LOADU(in + CLR_NOISE * CLR_STRIDE64), L->f)), far = LT(LOADU(in + CLR_FAR * CLR_STRIDE64), f);
    VM close = LE(FMA(gp, gp, gq * gq), SET1(0.25) * stop * stop);
    active = MANDN(active, MANDN(MOR(close, far), lower));
    VF push = MAX(f, stop); // f·I, as far as it helps
    VF pp = a.pp + b.pp + push, pq = a.pq + b.pq, qq = a.qq + b.qq + push;
    VF inv = RCP(FNMA(pq, pq, pp * qq));
    VF tp = FNMA(pq, gq, qq * gp) * inv, tq = FNMA(pq, gp, pp * gq) * inv;
    L->base = T(sel)(lower, L->base, n);
    L->f = SEL(lower, L->f, f);
    L->step = T(sel)(lower, T(scale)(SET1(0.25), L->step), T(axpy)(tq, q, T(scale)(tp, p)));
    V3 next = T(add)(L->base, L->step);
    L->n = T(sel)(active, T(scale)(inverse_length(next), next), n);
    for (unsigned w = L->active; w; w &= w - 1) L->taken[__builtin_ctz(w)]++;
    L->active = MBITS(active);
}

// newton answers rows 0 to n−1 of the group, of two ellipsoids each, and lists those that
// it leaves open in s->list. It returns their number.
static __attribute__((noinline)) int newton(const clr_call *c, clr_scratch *s, int64_t at0, int n) {
    int listed = 0;
    const int most = c->max_steps && c->max_steps <= NEWTON_STEPS ? c->max_steps - 1 : NEWTON_STEPS; // the proof takes one
    for (int k0 = 0; k0 < n; k0 += 2 * W) {
        newton_lanes lanes[2];
        unsigned open[2] = {0};
        for (int j = 0; j < 2; j++) {
            newton_lanes *L = lanes + j;
            const int k = k0 + j * W;
            memset(L, 0, sizeof *L);
            for (int l = 0; l < W && k + l < n; l++) open[j] |= (unsigned)(s->state[k + l] == CLR_OPEN) << l;
            V3 x = T(ld3)(&s->in64[CLR_X][k], CLR_STRIDE64);
            L->n = T(scale)(inverse_length(x), x);
            L->f = SET1(-1e300);
            L->active = open[j];
        }
        for (int i = 0; i < most && (lanes[0].active | lanes[1].active); i++)
            for (int j = 0; j < 2; j++)
                if (lanes[j].active) newton_step(lanes + j, s, k0 + j * W);
        for (int j = 0; j < 2; j++) {
            const int k = k0 + j * W;
            if (!open[j]) continue;
            const double *in = &s->in64[0][k], *more = &s->more[0][k];
            const VF round = LOADU(more + CLR_ROUND_OFF * CLR_STRIDE64), tol = LOADU(more + CLR_TOL * CLR_STRIDE64);
            const VF ra = LOADU(more + CLR_RA * CLR_STRIDE64), rb = LOADU(more + CLR_RB * CLR_STRIDE64), radius = ra + rb, zero = SET1(0);
            T(places) at = {.call = c, .in = in, .stride = CLR_STRIDE64};
            V3 x = lanes[j].n, a, v = T(support)(&at, CLR_ELLIPSOID, CLR_ELLIPSOID, x, SET1(1), &a, 0);
            VF low = T(dot)(x, v), distance = low - radius;
            V3 side = T(axpy)(-low, x, v);
            VF lean = SQRT(T(dot)(side, side)), lower = distance - round, upper = distance + MAX(lean, round);
            VM ok = LE(MAX(lean, round), MAX(tol, SET1(4) * round));
            if (c->has_cut_off) ok = MOR(ok, LT(SET1(c->cut_off), lower));
            VM sure = MAND(LT(round, low), is_unit(x));
            unsigned yes = open[j] & MBITS(MAND(ok, sure));
            V3 normal = T(neg)(x);
            for (unsigned w = open[j]; w; w &= w - 1) s->steps[k + __builtin_ctz(w)] = (uint16_t)lanes[j].taken[__builtin_ctz(w)];
            emit(c, s, at0, k, yes, CLR_BY_NEWTON, distance, lower, upper, LT(zero, lower), LT(upper, zero), normal,
                 T(axpy)(ra, normal, a), T(axpy)(-rb, normal, T(sub)(a, v)));
            for (unsigned w = open[j] & ~yes; w; w &= w - 1) s->list[listed++] = k + __builtin_ctz(w);
        }
    }
    return listed;
}
