// Distances of boxes by Newton's method, from pose to answer without columns in between. A
// template, float64; included after closed.h.
//
// Half the squared distance from a point t + Rv of B to A is e²/2, where e leads to it from
// its foot on A: a convex function of v, whose gradient is g = Rᵀe and whose Hessian is
// H = RᵀDR, D being 1 for the coordinates in which the point lies outside A. Least it is
// where v is the projection of v − g on B. A step solves that equation for the D and the
// bounds of B that hold at v (a semismooth Newton method, or primal-dual active sets:
// Hintermüller, Ito, Kunisch, SIAM J. Optim. 13, 2003, Algorithm 2.1), and projects once. As
// the function is piecewise quadratic, the step that finds the right pieces ends the row: half
// of all rows need none after two projections, and most others one.
//
// Pieces may recur without end, for 1 to 2 rows of 100. So a row is answered where the plane
// across e proves the distance |e|, and left to the iterated solver where it does not after
// BOX_STEPS.

#define BOX_STEPS 4
// Added to the diagonal of H, whose entries are at most 1, where it may be singular.
#define BOX_PROXIMAL 1e-10

typedef struct {
    VF m[9];    // rotation of B in the frame of A
    V3 t, a, b; // origin of B there, half extents
} box_pair;

ALWAYS V3 clamped3(V3 x, V3 most) { return (V3){clamped(x.x, most.x), clamped(x.y, most.y), clamped(x.z, most.z)}; }
ALWAYS V3 magnitude3(V3 x) { return (V3){magnitude(x.x), magnitude(x.y), magnitude(x.z)}; }

// box_gap is e at the point u of B, seen from A, and writes its gradient.
ALWAYS V3 box_gap(const box_pair *p, V3 u, V3 *g) {
    V3 e = T(sub)(u, clamped3(u, p->a));
    *g = turn_back(p->m, e);
    return e;
}

// box_height is <e, B − A> at its least.
ALWAYS VF box_height(const box_pair *p, V3 e, V3 g) {
    return T(dot)(e, p->t) - (T(dot)(p->a, magnitude3(e)) + T(dot)(p->b, magnitude3(g)));
}

// box_newton is the step from v, projected on B.
ALWAYS V3 box_newton(const box_pair *p, V3 v, V3 e, V3 g) {
    const VF zero = SET1(0), one = SET1(1), proximal = SET1(BOX_PROXIMAL), *m = p->m;
    const VM out[3] = {LT(zero, magnitude(e.x)), LT(zero, magnitude(e.y)), LT(zero, magnitude(e.z))};
    VF h[3][3], r[9];
    for (int i = 0; i < 9; i++) r[i] = SEL(out[i / 3], m[i], zero);
    for (int j = 0; j < 3; j++)
        for (int k = 0; k <= j; k++) h[j][k] = FMA(r[6 + j], m[6 + k], FMA(r[3 + j], m[3 + k], r[j] * m[k]));
    // Coordinates of v at a bound: d takes them there.
    V3 w = T(sub)(v, g), size = magnitude3(w);
    const VM fx = LT(size.x, p->b.x), fy = LT(size.y, p->b.y), fz = LT(size.z, p->b.z);
    V3 d = {SEL(fx, zero, COPYSIGN(p->b.x, w.x) - v.x), SEL(fy, zero, COPYSIGN(p->b.y, w.y) - v.y), SEL(fz, zero, COPYSIGN(p->b.z, w.z) - v.z)};
    VF x = SEL(fx, -FMA(h[2][0], d.z, FMA(h[1][0], d.y, g.x)), d.x);
    VF y = SEL(fy, -FMA(h[2][1], d.z, FMA(h[1][0], d.x, g.y)), d.y);
    VF z = SEL(fz, -FMA(h[2][1], d.y, FMA(h[2][0], d.x, g.z)), d.z);
    // The rows and columns of the others, as L·diag·Lᵀ.
    VF h10 = SEL(MAND(fx, fy), h[1][0], zero), h20 = SEL(MAND(fx, fz), h[2][0], zero), h21 = SEL(MAND(fy, fz), h[2][1], zero);
    VF i0 = RCP(SEL(fx, h[0][0] + proximal, one)), l10 = h10 * i0, l20 = h20 * i0;
    VF i1 = RCP(FNMA(l10, h10, SEL(fy, h[1][1] + proximal, one))), c21 = FNMA(l20, h10, h21), l21 = c21 * i1;
    VF i2 = RCP(FNMA(l21, c21, FNMA(l20, h20, SEL(fz, h[2][2] + proximal, one))));
    y = FNMA(l10, x, y);
    z = FNMA(l21, y, FNMA(l20, x, z)) * i2;
    y = FNMA(l21, z, y * i1);
    x = FNMA(l20, z, FNMA(l10, y, x * i0));
    return clamped3(T(add)(v, (V3){x, y, z}), p->b);
}

// box_load reads rows order[0..n) of the input, relative to lo; lanes beyond n repeat the
// last row. rot is the rotation of A.
typedef struct {
    V3 pos;        // origin of A in the world
    VF rot[9];     // rotation of A
    VF ra, rb, size;
    VM good;       // see good_pose
} box_place;

ALWAYS box_pair box_load(const clr_call *c, int64_t lo, const int32_t *order, int n, box_place *at) {
    const double *pa[W], *qa[W], *pb[W], *qb[W], *sa[W], *sb[W], *warm[W];
    for (int l = 0; l < W; l++) {
        int64_t i = lo + order[l < n ? l : n - 1];
        clr_row r = row_at(c, i);
        pa[l] = r.pa, qa[l] = r.qa, pb[l] = r.pb, qb[l] = r.qb;
        sa[l] = c->shapes[r.shape_a].p, sb[l] = c->shapes[r.shape_b].p;
        warm[l] = c->warm ? c->warm + 3 * i : 0;
    }
    box_pair out;
    VF p[4], q[4], u[4], v[4], rb[9];
    ROWS(p, pa, 7)
    ROWS(q, pb, 7)
    ROWS(u, qa, 15)
    ROWS(v, qb, 15)
    V3 pos = {p[0], p[1], p[2]}, far = {q[0], q[1], q[2]}, ua = {u[1], u[2], u[3]}, ub = {v[1], v[2], v[3]};
    at->good = MAND(good_pose(pos, u[0], ua), good_pose(far, v[0], ub));
    at->pos = pos;
    matrix(u[0], ua, at->rot);
    matrix(v[0], ub, rb);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out.m[3 * i + j] = FMA(at->rot[6 + i], rb[6 + j], FMA(at->rot[3 + i], rb[3 + j], at->rot[i] * rb[j]));
    out.t = turn_back(at->rot, T(sub)(far, pos));
    if (c->warm) { // a first direction is not needed, but refused where any solver refuses it
        ROWS(p, warm, 7)
        at->good = MAND(at->good, LE(FMA(p[2], p[2], FMA(p[1], p[1], p[0] * p[0])), SET1(1e200)));
    }
    ROWS(p, sa, 7)
    ROWS(q, sb, 7)
    out.a = (V3){p[0], p[1], p[2]};
    out.b = (V3){q[0], q[1], q[2]};
    for (int l = 0; l < W; l++) sa[l] += 4, sb[l] += 4;
    ROWS(u, sa, 7)
    ROWS(v, sb, 7)
    at->ra = u[0];
    at->rb = v[0];
    at->size = u[1] + v[1];
    return out;
}

// box_group answers rows order[0..n), at most W, and returns the lanes that it leaves.
ALWAYS unsigned box_group(const clr_call *c, int64_t lo, const int32_t *order, int n) {
    const VF zero = SET1(0), one = SET1(1);
    box_place at;
    const box_pair p = box_load(c, lo, order, n, &at);
    const VF round = SET1(24 * 0x1p-53) * (SQRT(T(dot)(p.t, p.t)) + at.size), tol = SET1(c->tolerance) * at.size; // as prepare
    const VF stop = MAX(tol - SET1(2) * round, round), stop2 = stop * stop, radius = at.ra + at.rb;
    const VF most = MAX((c->has_cut_off ? SET1(c->cut_off) : SET1(1e100)) + radius + round, zero), far2 = most * most;

    // Twice from one box to the other, from the center of B.
    V3 g, e = box_gap(&p, p.t, &g), v = clamped3(T(neg)(g), p.b), u = T(add)(p.t, turn(p.m, v));
    e = box_gap(&p, u, &g);
    v = clamped3(T(sub)(v, g), p.b);
    u = T(add)(p.t, turn(p.m, v));
    e = box_gap(&p, u, &g);
    VF taken = one;
    VM active = at.good;
    for (int step = 0;; step++) {
        VF ee = T(dot)(e, e), low = box_height(&p, e, g), off = ee - low;
        VM close = LE(off * magnitude(off), stop2 * ee), beyond = MAND(LT(zero, low), LT(far2 * ee, low * low));
        active = MANDN(active, MOR(close, beyond));
        if (MBITS(active) == 0 || step == BOX_STEPS) break;
        V3 next = box_newton(&p, v, e, g), ng;
        box_gap(&p, T(add)(p.t, turn(p.m, next)), &ng);
        v = T(sel)(active, clamped3(T(sub)(next, ng), p.b), v);
        u = T(add)(p.t, turn(p.m, v));
        e = box_gap(&p, u, &g);
        taken = SEL(active, taken + one, taken);
    }

    VF ee = T(dot)(e, e), length = SQRT(ee), inv = one / MAX(length, SET1(1e-200));
    V3 normal = T(scale)(inv, e), from = T(sub)(u, e);
    VF distance = length - radius, lower = box_height(&p, normal, T(scale)(inv, g)) - radius - round, upper = distance + round;
    VF gap = MAX(upper - distance, distance - lower);
    VM ok = LE(gap, MAX(tol, SET1(4) * round));
    if (c->has_cut_off) ok = MOR(ok, LT(SET1(c->cut_off), lower));
    ok = MAND(MAND(ok, at.good), MAND(is_unit(normal), LE(lower, upper)));
    unsigned yes = MBITS(ok) & (n < W ? (1u << n) - 1 : LANES);

    double w[12][W] __attribute__((aligned(64))), steps[W] __attribute__((aligned(64)));
    uint16_t count[W];
    STOREU(w[0], distance);
    STOREU(w[1], lower);
    STOREU(w[2], upper);
    T(st3)(w[3], W, turn(at.rot, normal));
    T(st3)(w[6], W, T(add)(turn(at.rot, T(axpy)(at.ra, normal, from)), at.pos));
    T(st3)(w[9], W, T(add)(turn(at.rot, T(axpy)(-at.rb, normal, u)), at.pos));
    STOREU(steps, taken);
    for (int l = 0; l < W; l++) count[l] = (uint16_t)steps[l];
    store_answers(c, lo - c->first, order, yes, (const double(*)[W])w, MBITS(LT(zero, lower)), MBITS(LT(upper, zero)), count, CLR_BY_NEWTON);
    return (n < W ? (1u << n) - 1 : LANES) & ~yes;
}

// boxes_apart answers what it can of rows order[0..n), relative to lo, of two boxes, moves the
// others to the front of order, and returns their number.
static __attribute__((noinline)) int boxes_apart(const clr_call *c, int64_t lo, int32_t *order, int rows) {
    int32_t *rest = order;
    if (!c->closed || c->collide) return rows; // who names a method gets it
    for (int k = 0; k < rows; k += W) {
        int32_t row[W];
        int n = rows - k < W ? rows - k : W;
        for (int l = 0; l < W; l++) row[l] = order[k + (l < n ? l : n - 1)];
        for (unsigned m = box_group(c, lo, row, n); m; m &= m - 1) *rest++ = row[__builtin_ctz(m)];
    }
    return (int)(rest - order);
}
