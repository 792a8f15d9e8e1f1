// A start for bodies that touch only bodies that do not move. If the contacts of such a body stick and stay closed, its
// velocity after the step follows from a system of 6×6: an augmented Lagrangian of the equations Jv = c* with the
// weight κ, of which a round is, with A = M + κJᵀJ and λ of before,
//
//	v ← v − A⁻¹Jᵀκ(Jv − c*),  λ ← λ − κ(Jv − c*), so that v remains v_free + M⁻¹Jᵀλ.
//
// A round leaves 1/(1 + κσ) of Jv − c*, for the eigenvalues σ of JM⁻¹Jᵀ that are not zero. With κ = 10⁴m these are some
// multiples of 1/m. What no velocity meets is left, and adds to internal forces. With a compliance R the equations are
// c = Jv − c* + Rλ = 0, and the weight of an axis is K = 1/(1/κ + R): λ takes the step −Kc, which leaves Kc/κ of c.

enum { ROUNDS = 2 };
static const double weight = 1e4;

INLINE int entry_of(int i, int j) { return i * (i + 1) / 2 + j; }

// jacobian sets the rows of J of one side of a slot.
INLINE void jacobian(const slot *k, int side, int h, VF j[3][6]) {
    VF sign = SET1(side ? 1 : -1), r[3];
    for (int i = 0; i < 3; i++) r[i] = d(side ? k->arm_b[i] : k->arm_a[i], h) * sign;
    for (int i = 0; i < 3; i++) {
        VF x[3] = {d(k->axis[i][0], h), d(k->axis[i][1], h), d(k->axis[i][2], h)};
        CROSS(q, r, x);
        for (int c = 0; c < 3; c++) j[i][c] = x[c] * sign, j[i][3 + c] = q[c];
    }
}

// find_alone sets the weights of half h, and reports whether a world that is not closed has a contact of such a body.
static int find_alone(group *g, int h) {
    VF zero = SET1(0), found = zero;
    double open[W], at[W];
    for (int i = 0; i < W; i++) open[i] = W * h + i < g->o->worlds && !g->closed[W * h + i];
    for (int b = 0; b <= g->o->bodies; b++)
        put_d(g->lones[b].weight, h, SET1(weight) * d(g->bodies[b].mass, h) * LOADU(open));
    for (int s = 0; s < g->n; s++) {
        slot *k = &g->slots[s];
        lone *a = &g->lones[k->a], *b = &g->lones[k->b];
        if (!g->bodies[k->a].moves || !g->bodies[k->b].moves) continue;
        VF n[3] = {d(k->axis[2][0], h), d(k->axis[2][1], h), d(k->axis[2][2], h)};
        VM move = MAND(LT(zero, d(g->bodies[k->a].mass, h)), LT(zero, d(g->bodies[k->b].mass, h)));
        VM both = MAND(LT(zero, DOT(n, n)), move);
        put_d(a->weight, h, SEL(both, zero, d(a->weight, h)));
        put_d(b->weight, h, SEL(both, zero, d(b->weight, h)));
    }
    for (int s = 0; s < g->n; s++) {
        slot *k = &g->slots[s];
        VF n[3] = {d(k->axis[2][0], h), d(k->axis[2][1], h), d(k->axis[2][2], h)};
        found = FMA(DOT(n, n), d(g->lones[k->a].weight, h) + d(g->lones[k->b].weight, h), found);
    }
    STOREU(at, found);
    for (int i = 0; i < W; i++)
        if (at[i] > 0) return 1;
    return 0;
}

// stiffness sets the weights K of the axes of slot s, given κ.
INLINE void stiffness(const group *g, int s, int h, VF kappa, VF k[3]) {
    k[0] = k[1] = k[2] = kappa;
    if (!g->soft) return;
    const compliant *r = &g->compliance[s];
    VF one = SET1(1);
    k[0] = k[1] = kappa / FMA(kappa, d(r->t, h), one), k[2] = kappa / FMA(kappa, d(r->n, h), one);
}

// factor_alone forms A of every body and its factors.
static void factor_alone(group *g, int h) {
    VF zero = SET1(0), one = SET1(1);
    for (int b = 0; b < g->o->bodies; b++) {
        lone *to = &g->lones[b];
        body *m = &g->bodies[b];
        VM moves = LT(zero, d(m->mass, h));
        for (int i = 0; i < 6; i++)
            for (int j = 0; j <= i; j++) put_d(to->factor[entry_of(i, j)], h, i == j ? SEL(moves, zero, one) : zero);
        for (int i = 0; i < 3; i++) {
            double *diagonal = to->factor[entry_of(i, i)], *spun = to->factor[entry_of(3 + i, 3 + i)];
            put_d(diagonal, h, d(diagonal, h) + d(m->mass, h)), put_d(spun, h, d(spun, h) + d(m->inertia[i], h));
        }
        put_d(to->factor[entry_of(4, 3)], h, d(m->inertia[3], h));
        put_d(to->factor[entry_of(5, 3)], h, d(m->inertia[4], h));
        put_d(to->factor[entry_of(5, 4)], h, d(m->inertia[5], h));
    }
    for (int s = 0; s < g->n; s++) {
        slot *k = &g->slots[s];
        for (int side = 0; side < 2; side++) {
            int index = side ? k->b : k->a;
            if (!g->bodies[index].moves) continue;
            lone *to = &g->lones[index];
            VF j[3][6], weights[3];
            stiffness(g, s, h, d(to->weight, h), weights);
            jacobian(k, side, h, j);
            for (int i = 0; i < 6; i++) {
                VF x[3] = {weights[0] * j[0][i], weights[1] * j[1][i], weights[2] * j[2][i]};
                for (int c = 0; c <= i; c++) {
                    VF y[3] = {j[0][c], j[1][c], j[2][c]};
                    put_d(to->factor[entry_of(i, c)], h, d(to->factor[entry_of(i, c)], h) + DOT(x, y));
                }
            }
        }
    }
    for (int b = 0; b < g->o->bodies; b++) {
        if (!g->bodies[b].moves) continue;
        VF l[21];
        for (int i = 0; i < 21; i++) l[i] = d(g->lones[b].factor[i], h);
        for (int c = 0; c < 6; c++) {
            VF inverse = one / l[entry_of(c, c)];
            for (int i = c + 1; i < 6; i++) {
                VF x = l[entry_of(i, c)] * inverse;
                for (int j = c + 1; j <= i; j++) l[entry_of(i, j)] = FNMA(x, l[entry_of(j, c)], l[entry_of(i, j)]);
            }
            for (int i = c + 1; i < 6; i++) l[entry_of(i, c)] *= inverse;
            l[entry_of(c, c)] = inverse;
        }
        for (int i = 0; i < 21; i++) put_d(g->lones[b].factor[i], h, l[i]);
    }
}

// solve_alone adds A⁻¹·change to the velocity of every body.
static void solve_alone(group *g, int h) {
    for (int b = 0; b < g->o->bodies; b++) {
        body *m = &g->bodies[b];
        if (!m->moves) continue;
        lone *of = &g->lones[b];
        VF x[6];
        for (int i = 0; i < 6; i++) x[i] = d(of->change[i], h);
        for (int c = 0; c < 6; c++)
            for (int i = c + 1; i < 6; i++) x[i] = FNMA(d(of->factor[entry_of(i, c)], h), x[c], x[i]);
        for (int c = 5; c >= 0; c--) {
            x[c] *= d(of->factor[entry_of(c, c)], h);
            for (int i = c + 1; i < 6; i++) x[c] = FNMA(d(of->factor[entry_of(i, c)], h), x[i], x[c]);
        }
        for (int i = 0; i < 6; i++) put_d(m->v[i], h, d(m->v[i], h) + x[i]);
    }
}

// keep_alone keeps the impulses of the bodies that have all of theirs in their cones, which solves them, and replaces
// all others by the best ones.
static void keep_alone(group *g, int h) {
    VF zero = SET1(0), part = SET1(1e-3 * g->o->tolerance);
    for (int s = 0; s < g->n; s++) {
        slot *k = &g->slots[s];
        VF x = d(k->lambda[0], h), y = d(k->lambda[1], h), n = d(k->lambda[2], h);
        VF slack = part * d(k->scale, h) * d(k->inverse_height, h); // an impulse of such a residual
        VM in = MAND(LE(-slack, n), LE(SQRT(FMA(x, x, y * y)), FMA(d(k->friction, h), n, slack)));
        for (int side = 0; side < 2; side++) {
            lone *of = &g->lones[side ? k->b : k->a];
            put_d(of->weight, h, SEL(in, d(of->weight, h), zero));
        }
    }
    into_cones(g, h);
    for (int s = 0; s < g->n; s++) {
        slot *k = &g->slots[s];
        VM solved = LT(zero, d(g->lones[k->a].weight, h) + d(g->lones[k->b].weight, h));
        for (int i = 0; i < 3; i++) put_d(k->lambda[i], h, SEL(solved, d(k->lambda[i], h), d(k->best[i], h)));
    }
}

// start_alone sets the impulses of the bodies that touch only bodies that do not move, and whose contacts all stick,
// and reports whether there are bodies to try in a world that is not closed. The impulses must be the best ones, and
// the velocities theirs.
static int start_alone(group *g, int h) {
    if (!find_alone(g, h)) return 0;
    factor_alone(g, h);
    for (int round = 0; round <= ROUNDS; round++) {
        for (int b = 0; b < g->o->bodies; b++) memset(g->lones[b].change, 0, sizeof g->lones[b].change);
        for (int s = 0; s < g->n; s++) {
            slot *k = &g->slots[s];
            VF c[3], weights[3], l[3] = {d(k->lambda[0], h), d(k->lambda[1], h), d(k->lambda[2], h)};
            VF kappa = d(g->lones[k->a].weight, h) + d(g->lones[k->b].weight, h);
            stiffness(g, s, h, kappa, weights);
            relative(g, k, h, c);
            soften(g, s, h, l, c);
            for (int i = 0; i < 3; i++) c[i] *= -weights[i];
            if (round > 0) {
                for (int i = 0; i < 3; i++) put_d(k->lambda[i], h, l[i] + c[i]);
                if (g->soft) // what the step has left of c
                    for (int i = 0; i < 3; i++) c[i] *= SEL(LT(SET1(0), kappa), weights[i] / kappa, SET1(0));
            }
            for (int side = 0; side < 2; side++) {
                lone *to = &g->lones[side ? k->b : k->a];
                VF j[3][6];
                jacobian(k, side, h, j);
                for (int i = 0; i < 6; i++) {
                    VF y[3] = {j[0][i], j[1][i], j[2][i]};
                    put_d(to->change[i], h, d(to->change[i], h) + DOT(y, c));
                }
            }
        }
        if (round < ROUNDS) solve_alone(g, h);
    }
    keep_alone(g, h);
    return 1;
}
