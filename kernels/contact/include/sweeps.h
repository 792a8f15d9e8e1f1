// Sweeps of projected Gauss-Seidel in velocity space with a world in each lane of float32. Products are
// fused with sums only by FMA and FNMA.
//
// A slot is a pair of bodies and the number of a contact of this pair. The slots of a group are the union of those of
// its worlds, ordered by bodies, so that both bodies are the same in all lanes and their velocities are plain loads.
// Where a world lacks the contact of a slot, its lane has axes of length zero: the impulse remains zero and moves
// nothing. The contacts of a world have the same order in every union, so that its impulses do not depend on the other
// worlds.
//
// A block of sweeps changes velocities by dv, in float32. It starts from c, which is formed in float64 from the
// impulses alone and then rounded. So the error of a block is relative to the changes within it, not to the velocities.
//
// Compliances are in a column beside the slots, which the sweeps of a group without any do not read.

#include "api.h"
#include "arithmetic.h"
#include "constants.h"
#include "../../isa/real32.h"

enum { WORLDS = W }; // of a group

#include "../../isa/real64.h"

#define PARTS 2 // of a group, W worlds each in float64

typedef double wide[WORLDS] __attribute__((aligned(4 * WORLDS)));
typedef float slim[WORLDS] __attribute__((aligned(4 * WORLDS)));

// Entry BODIES of the arrays is the world, which does not move.
typedef struct {
    wide v_free[6], v[6];  // linear, angular; v = v_free + M⁻¹Jᵀλ
    wide mass, inertia[6]; // 0 where it does not move
    wide inverse_mass, inverse_inertia[6];
    wide violation, scale; // of its island, see set_scales
    slim dv[6], inverse_mass32, inverse_inertia32[6];
    int moves; // in any lane
} body;

typedef struct {
    int32_t a, b;
    int32_t source[WORLDS]; // contact of each world, -1 for none
    wide axis[3][3];        // t1, t2, n
    wide arm_a[3], arm_b[3];
    wide bias, friction;
    wide lambda[3], best[3];
    wide height, inverse_height; // h of the residual: the trace of the block of G, and 1/h
    wide violation, scale;       // of the island: the largest residual without impulses, and the speed scale
    slim axis32[3][3], arm_a32[3], arm_b32[3], friction32;
    slim c[3], lambda32[3];
    slim step_n, step_t; // equal under the CCP
    slim g_xn, g_yn;
} slot;

// The compliance R of a slot: of both tangential axes, and of the normal. moved is what a block has added to λ so far.
typedef struct {
    wide t, n;
    slim t32, n32, moved[3];
} compliant;

// A body in the start of alone.h. factor is the lower triangle of A, and then its factors LDLᵀ with 1/D; change is
// Jᵀκ(c* − Jv).
typedef struct {
    wide factor[21], change[6];
    wide weight; // κ, 0 where the body touches one that moves, or does not move itself
} lone;

// A contact of a world in the order of slots.
typedef struct {
    uint64_t key;
    int32_t contact;
} entry;

typedef struct {
    const contact_options *o;
    units units[WORLDS]; // of each world
    body *bodies;
    lone *lones; // see alone.h
    slot *slots;
    compliant *compliance;  // of each slot
    int soft;               // a contact of the group has a compliance
    entry *entries[WORLDS]; // [contacts] of each world
    int32_t n;              // slots
    double best[WORLDS];    // least residual of each world, relative to its scale
    double past[2][WORLDS]; // those one and two blocks ago
    int32_t made[WORLDS];   // sweeps
    int closed[WORLDS];     // whether a world is swept no more
    int more[WORLDS];       // blocks of sweeps to make of a world that is solved, see close
    int fresh[PARTS];       // whether v is that of the best impulses of all worlds
} group;

// Vectors of float64, of part h of a group.
INLINE VF d(const wide p, int h) { return LOADU(p + W * h); }
INLINE void put_d(wide p, int h, VF x) { STOREU(p + W * h, x); }

// Bodies are ordered by the larger index, then the smaller one, then by which of them is A; -1 is the world.
static uint64_t key_of(int32_t a, int32_t b) {
    uint64_t hi = (uint64_t)((a > b ? a : b) + 1), lo = (uint64_t)((a > b ? b : a) + 1);
    return hi << 32 | lo << 1 | (a > b);
}

static void load_bodies(group *g, const contact_columns *p, const int32_t *world) {
    int n = g->o->bodies;
    memset(g->bodies, 0, (size_t)(n + 1) * sizeof *g->bodies);
    for (int b = 0; b < n; b++) {
        body *to = &g->bodies[b];
        for (int l = 0; l < g->o->worlds; l++) {
            int64_t k = (int64_t)world[l] * n + b;
            const units *u = &g->units[l];
            double speed = 1 / u->speed, spin = 1 / u->spin, moment = 1 / u->inertia, s[6];
            for (int i = 0; i < 3; i++) {
                to->v_free[i][l] = p->velocity[6 * k + i] * speed;
                to->v_free[3 + i][l] = p->velocity[6 * k + 3 + i] * spin;
            }
            double m = p->mass[k] * (1 / u->mass);
            if (m - m != 0) continue; // infinite
            to->moves = 1;
            to->mass[l] = m, to->inverse_mass[l] = 1 / m;
            for (int i = 0; i < 6; i++) to->inertia[i][l] = s[i] = p->inertia[6 * k + i] * moment;
            double inverse[6];
            invert(inverse, s);
            for (int i = 0; i < 6; i++) to->inverse_inertia[i][l] = inverse[i];
        }
        for (int h = 0; h < PARTS; h++) {
            NARROW(to->inverse_mass32 + W * h, d(to->inverse_mass, h));
            for (int i = 0; i < 6; i++) NARROW(to->inverse_inertia32[i] + W * h, d(to->inverse_inertia[i], h));
        }
    }
}

// list orders the contacts of each world by their bodies.
static void list(group *g, const contact_columns *p, const int32_t *world) {
    int contacts = g->o->contacts;
    for (int l = 0; l < g->o->worlds; l++) {
        entry *e = g->entries[l];
        int64_t first = (int64_t)world[l] * contacts;
        for (int i = 0; i < p->count[world[l]]; i++) {
            entry x = {key_of(p->body_a[first + i], p->body_b[first + i]), i};
            int k = i;
            for (; k > 0 && e[k - 1].key > x.key; k--) e[k] = e[k - 1];
            e[k] = x;
        }
    }
}

static void load_contact(slot *s, compliant *r, const units *u, int l, int64_t k, const contact_columns *p,
                         int world_is_a, int world_is_b) {
    double length = 1 / u->length, impulse = 1 / u->impulse;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) s->axis[i][j][l] = p->frame[9 * k + 3 * i + j];
        s->arm_a[i][l] = world_is_a ? 0 : p->arm_a[3 * k + i] * length;
        s->arm_b[i][l] = world_is_b ? 0 : p->arm_b[3 * k + i] * length;
        s->lambda[i][l] = p->warm ? p->warm[3 * k + i] * impulse : 0;
    }
    s->friction[l] = p->friction[k];
    s->bias[l] = p->target ? -p->target[k] * (1 / u->speed) : 0;
    if (r) r->t[l] = p->compliance[2 * k] * u->mass, r->n[l] = p->compliance[2 * k + 1] * u->mass;
}

// is_soft reports whether a contact of a world of the group has a compliance.
static int is_soft(const contact_options *o, const contact_columns *p, const int32_t *world) {
    if (!p->compliance) return 0;
    for (int l = 0; l < o->worlds; l++) {
        const double *r = p->compliance + 2 * (int64_t)world[l] * o->contacts;
        for (int i = 0; i < 2 * p->count[world[l]]; i++)
            if (r[i] != 0) return 1;
    }
    return 0;
}

static void load_contacts(group *g, const contact_columns *p, const int32_t *world) {
    const int32_t *count = p->count;
    int contacts = g->o->contacts, bodies = g->o->bodies;
    int at[WORLDS] = {0};
    for (g->n = 0;; g->n++) {
        uint64_t least = UINT64_MAX;
        int first = 0;
        for (int l = 0; l < g->o->worlds; l++) {
            if (at[l] < count[world[l]]) {
                uint64_t key = g->entries[l][at[l]].key;
                if (key < least) least = key, first = l;
            }
        }
        if (least == UINT64_MAX) return;
        slot *s = &g->slots[g->n];
        compliant *r = g->soft ? &g->compliance[g->n] : 0;
        memset(s->axis, 0, (char *)s->axis32 - (char *)s->axis);
        if (r) memset(r, 0, sizeof *r);
        int64_t k = (int64_t)world[first] * contacts + g->entries[first][at[first]].contact;
        s->a = p->body_a[k] < 0 ? bodies : p->body_a[k];
        s->b = p->body_b[k] < 0 ? bodies : p->body_b[k];
        for (int l = 0; l < WORLDS; l++) {
            s->source[l] = -1;
            if (l >= g->o->worlds || at[l] >= count[world[l]]) continue;
            entry *e = &g->entries[l][at[l]];
            if (e->key != least) continue;
            at[l]++;
            s->source[l] = e->contact;
            load_contact(s, r, &g->units[l], l, (int64_t)world[l] * contacts + e->contact, p, s->a == bodies,
                         s->b == bodies);
        }
        for (int h = 0; h < PARTS; h++) {
            int o = W * h;
            for (int i = 0; i < 3; i++) {
                for (int j = 0; j < 3; j++) NARROW(s->axis32[i][j] + o, d(s->axis[i][j], h));
                NARROW(s->arm_a32[i] + o, d(s->arm_a[i], h));
                NARROW(s->arm_b32[i] + o, d(s->arm_b[i], h));
                NARROW(s->lambda32[i] + o, d(s->lambda[i], h));
            }
            NARROW(s->friction32 + o, d(s->friction, h));
            if (r) NARROW(r->t32 + o, d(r->t, h)), NARROW(r->n32 + o, d(r->n, h));
        }
    }
}

#include "../../isa/real32.h"

INLINE VF f(const slim p) { return LOADU(p); }
INLINE void put_f(slim p, VF x) { STOREU(p, x); }

// inverse_of is 1/x, and 0 where x is 0.
INLINE VF inverse_of(VF x) { return SEL(LT(SET1(0), x), SET1(1) / x, SET1(0)); }

// largest bounds the largest eigenvalue of G from above, by at most 15 %: (tr(Gτ)⁸)^(1/8)/τ, τ = 1/tr G, and an
// allowance for rounding.
INLINE VF largest(VF g[3][3]) {
    VF trace = g[0][0] + g[1][1] + g[2][2], scale = inverse_of(trace);
    VF x[6] = {g[0][0] * scale, g[1][1] * scale, g[2][2] * scale, g[0][1] * scale, g[0][2] * scale, g[1][2] * scale};
    for (int k = 0; k < 3; k++) { // the squares of symmetric matrices
        VF s = x[3] * x[3], t = x[5] * x[5];
        VF y[6] = {FMA(x[4], x[4], FMA(x[0], x[0], s)),           FMA(x[1], x[1], s) + t,
                   FMA(x[2], x[2], FMA(x[4], x[4], t)),           FMA(x[4], x[5], FMA(x[0], x[3], x[3] * x[1])),
                   FMA(x[4], x[2], FMA(x[0], x[4], x[3] * x[5])), FMA(x[5], x[2], FMA(x[3], x[4], x[1] * x[5]))};
        memcpy(x, y, sizeof x);
    }
    return SET1(1.00001f) * trace * SQRT(SQRT(SQRT(x[0] + x[1] + x[2])));
}

// prepare forms the block of G of every slot and the step sizes.
static void prepare(group *g) {
    VF relaxation = SET1((float)g->o->relaxation);
    for (int s = 0; s < g->n; s++) {
        slot *c = &g->slots[s];
        body *a = &g->bodies[c->a], *b = &g->bodies[c->b];
        VF block[3][3], ma = f(a->inverse_mass32), mb = f(b->inverse_mass32);
        VF ra[3], rb[3], ia[6], ib[6], axis[3][3], qa[3][3], qb[3][3];
        for (int i = 0; i < 3; i++) ra[i] = f(c->arm_a32[i]), rb[i] = f(c->arm_b32[i]);
        for (int i = 0; i < 6; i++) ia[i] = f(a->inverse_inertia32[i]), ib[i] = f(b->inverse_inertia32[i]);
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) axis[i][j] = f(c->axis32[i][j]);
            CROSS(x, ra, axis[i]);
            CROSS(y, rb, axis[i]);
            memcpy(qa[i], x, sizeof x);
            memcpy(qb[i], y, sizeof y);
            SYMMETRIC(ka, ia, x);
            SYMMETRIC(kb, ib, y);
            for (int j = 0; j <= i; j++) {
                VF sum = FMA(ma + mb, DOT(axis[i], axis[j]), DOT(qa[j], ka) + DOT(qb[j], kb));
                block[i][j] = block[j][i] = sum;
            }
        }
        if (g->soft) {
            const compliant *r = &g->compliance[s];
            block[0][0] += f(r->t32), block[1][1] += f(r->t32), block[2][2] += f(r->n32);
        }
        if (g->o->convex) {
            VF step = relaxation * inverse_of(largest(block));
            put_f(c->step_n, step);
            put_f(c->step_t, step);
            continue;
        }
        VF half = SET1(0.5f) * (block[0][0] - block[1][1]);
        VF root = SQRT(FMA(half, half, block[0][1] * block[0][1]));
        VF most = FMA(SET1(0.5f), block[0][0] + block[1][1], root);
        put_f(c->step_n, relaxation * inverse_of(block[2][2]));
        put_f(c->step_t, relaxation * inverse_of(most));
        put_f(c->g_xn, block[0][2]);
        put_f(c->g_yn, block[1][2]);
    }
}

#include "../../isa/real64.h"

// form sets v = v_free + M⁻¹Jᵀλ.
static void form(group *g, int h) {
    for (int k = 0; k <= g->o->bodies; k++)
        for (int i = 0; i < 6; i++) put_d(g->bodies[k].v[i], h, d(g->bodies[k].v_free[i], h));
    for (int s = 0; s < g->n; s++) {
        slot *c = &g->slots[s];
        VF p[3], lx = d(c->lambda[0], h), ly = d(c->lambda[1], h), ln = d(c->lambda[2], h);
        for (int i = 0; i < 3; i++)
            p[i] = FMA(d(c->axis[2][i], h), ln, FMA(d(c->axis[0][i], h), lx, d(c->axis[1][i], h) * ly));
        for (int side = 0; side < 2; side++) {
            body *to = &g->bodies[side ? c->b : c->a];
            if (!to->moves) continue;
            wide *arm = side ? c->arm_b : c->arm_a;
            VF sign = SET1(side ? 1 : -1), m = d(to->inverse_mass, h) * sign, r[3], inertia[6];
            for (int i = 0; i < 3; i++) r[i] = d(arm[i], h) * sign;
            for (int i = 0; i < 6; i++) inertia[i] = d(to->inverse_inertia[i], h);
            CROSS(q, r, p);
            SYMMETRIC(k, inertia, q);
            for (int i = 0; i < 3; i++) {
                put_d(to->v[i], h, FMA(m, p[i], d(to->v[i], h)));
                put_d(to->v[3 + i], h, d(to->v[3 + i], h) + k[i]);
            }
        }
    }
}

// into_cones takes impulses into their cones, which rounding, or a warm start, may leave.
static void into_cones(group *g, int h) {
    VF zero = SET1(0), below = SET1(1 - 0x1p-52);
    for (int s = 0; s < g->n; s++) {
        slot *c = &g->slots[s];
        VF x = d(c->lambda[0], h), y = d(c->lambda[1], h), n = d(c->lambda[2], h);
        VF force = SQRT(FMA(x, x, y * y)), radius = d(c->friction, h) * n;
        VF shrink = SEL(LT(radius, force), radius / force * below, SET1(1));
        VM pushes = LT(zero, n);
        put_d(c->lambda[0], h, SEL(pushes, x * shrink, zero));
        put_d(c->lambda[1], h, SEL(pushes, y * shrink, zero));
        put_d(c->lambda[2], h, SEL(MOR(pushes, is_nan(n)), n, zero));
    }
}

// relative sets c to Jv − c* of a slot.
INLINE void relative(const group *g, const slot *k, int h, VF c[3]) {
    const body *a = &g->bodies[k->a], *b = &g->bodies[k->b];
    VF ra[3], rb[3], wa[3], wb[3], u[3];
    for (int i = 0; i < 3; i++) {
        ra[i] = d(k->arm_a[i], h), rb[i] = d(k->arm_b[i], h);
        wa[i] = d(a->v[3 + i], h), wb[i] = d(b->v[3 + i], h);
    }
    CROSS(xa, wa, ra);
    CROSS(xb, wb, rb);
    for (int i = 0; i < 3; i++) u[i] = d(b->v[i], h) + xb[i] - d(a->v[i], h) - xa[i];
    for (int i = 0; i < 3; i++)
        c[i] = FMA(d(k->axis[i][2], h), u[2], FMA(d(k->axis[i][0], h), u[0], d(k->axis[i][1], h) * u[1]));
    c[2] += d(k->bias, h);
}

// soften adds Rλ of slot s to c.
INLINE void soften(const group *g, int s, int h, const VF l[3], VF c[3]) {
    if (!g->soft) return;
    const compliant *r = &g->compliance[s];
    VF t = d(r->t, h), n = d(r->n, h);
    c[0] = FMA(t, l[0], c[0]), c[1] = FMA(t, l[1], c[1]), c[2] = FMA(n, l[2], c[2]);
}

// present is where a world has the contact of a slot.
INLINE VM present(const slot *k, int h) {
    VF n[3] = {d(k->axis[2][0], h), d(k->axis[2][1], h), d(k->axis[2][2], h)};
    return LT(SET1(0), DOT(n, n));
}

// dual_distance is the distance of c from the dual cone {c_N ≥ μ‖c_T‖}, given slip = ‖c_T‖.
INLINE VF dual_distance(const VF c[3], VF slip, VF mu) {
    VF edge = mu * slip, apex = SQRT(FMA(slip, slip, c[2] * c[2]));
    VF e = SEL(LE(slip, -mu * c[2]), apex, (edge - c[2]) / SQRT(FMA(mu, mu, SET1(1))));
    return SEL(LE(edge, c[2]), SET1(0), e);
}

// natural is the residual h·‖λ − Π_K(λ − (c + Γ)/h)‖ of contact.row.residual; c includes Γ.
INLINE VF natural(const slot *k, int h, const VF l[3], const VF c[3]) {
    VF mu = d(k->friction, h), inverse = d(k->inverse_height, h), x[3], y[3];
    for (int i = 0; i < 3; i++) x[i] = FNMA(c[i], inverse, l[i]);
    VF t = SQRT(FMA(x[0], x[0], x[1] * x[1])), edge = mu * t;
    VF n = (edge + x[2]) / FMA(mu, mu, SET1(1)), shrink = mu * n / t;
    y[0] = FNMA(x[0], shrink, l[0]), y[1] = FNMA(x[1], shrink, l[1]), y[2] = l[2] - n;
    VM in = LE(t, mu * x[2]), out = LE(edge, -x[2]);
    for (int i = 0; i < 3; i++) y[i] = SEL(out, l[i], SEL(in, c[i], y[i]));
    VF length = SQRT(DOT(y, y));
    return SEL(MANDN(in, out), length, d(k->height, h) * length);
}

// ratio_of is the residual r relative to the scale.
INLINE VF ratio_of(const slot *k, int h, VF r) { return SEL(equal(r, SET1(0)), r, r / d(k->scale, h)); }

// measure forms v and c of the impulses and returns the largest residual relative to its scale.
static VF measure(group *g, int h) {
    form(g, h);
    VF most = SET1(0);
    for (int s = 0; s < g->n; s++) {
        slot *k = &g->slots[s];
        VF c[3], l[3];
        for (int i = 0; i < 3; i++) l[i] = d(k->lambda[i], h);
        relative(g, k, h, c);
        soften(g, s, h, l, c);
        for (int i = 0; i < 3; i++) NARROW(k->c[i] + W * h, c[i]);
        if (!g->o->convex) c[2] = FMA(d(k->friction, h), SQRT(FMA(c[0], c[0], c[1] * c[1])), c[2]);
        most = max_nan(ratio_of(k, h, natural(k, h, l, c)), most);
    }
    return most;
}

// The residuals of impulses: those of contact.residuals.
typedef struct {
    VF primal, dual, complementarity, residual, scale, ratio;
} residuals;

// residuals_of finds those of the impulses whose velocities are v.
static residuals residuals_of(const group *g, int h) {
    VF zero = SET1(0);
    residuals e = {zero, zero, zero, zero, zero, SET1(-1)};
    for (int s = 0; s < g->n; s++) {
        const slot *k = &g->slots[s];
        VF c[3], l[3], mu = d(k->friction, h);
        for (int i = 0; i < 3; i++) l[i] = d(k->lambda[i], h);
        relative(g, k, h, c);
        soften(g, s, h, l, c);
        VF slip = SQRT(FMA(c[0], c[0], c[1] * c[1])), force = SQRT(FMA(l[0], l[0], l[1] * l[1]));
        if (!g->o->convex) c[2] += mu * slip;
        e.dual = max_nan(dual_distance(c, slip, mu), e.dual);
        VF edge = mu * l[2], apex = SQRT(FMA(force, force, l[2] * l[2]));
        VF out = SEL(LE(force, edge), zero, (force - edge) / SQRT(FMA(mu, mu, SET1(1))));
        e.primal = max_nan(SEL(LE(mu * force, -l[2]), apex, out), e.primal);
        e.complementarity = max_nan(abs_d(DOT(l, c)), e.complementarity);
        VF r = natural(k, h, l, c), ratio = ratio_of(k, h, r);
        VM larger = MAND(MOR(LT(e.ratio, ratio), is_nan(ratio)), present(k, h));
        e.residual = SEL(larger, r, e.residual), e.scale = SEL(larger, d(k->scale, h), e.scale);
        e.ratio = SEL(larger, ratio, e.ratio);
    }
    return e;
}

INLINE VF length_of(const wide x[3], int h) {
    VF y[3] = {d(x[0], h), d(x[1], h), d(x[2], h)};
    return SQRT(DOT(y, y));
}

// set_traces sets h of the slots: a body of mass m and inertia I adds 3/m + ‖r‖²·tr I⁻¹ − rᵀI⁻¹r, and the compliance
// its trace.
static void set_traces(group *g, int h) {
    for (int s = 0; s < g->n; s++) {
        slot *k = &g->slots[s];
        VF trace = SET1(0);
        for (int side = 0; side < 2; side++) {
            const body *b = &g->bodies[side ? k->b : k->a];
            if (!b->moves) continue;
            VF r[3], inverse[6];
            for (int i = 0; i < 3; i++) r[i] = d(side ? k->arm_b[i] : k->arm_a[i], h);
            for (int i = 0; i < 6; i++) inverse[i] = d(b->inverse_inertia[i], h);
            SYMMETRIC(q, inverse, r);
            trace +=
                FMA(SET1(3), d(b->inverse_mass, h), DOT(r, r) * (inverse[0] + inverse[1] + inverse[2])) - DOT(r, q);
        }
        if (g->soft) trace += SET1(2) * d(g->compliance[s].t, h) + d(g->compliance[s].n, h);
        put_d(k->height, h, trace);
        put_d(k->inverse_height, h, SEL(LT(SET1(0), trace), SET1(1) / trace, SET1(0)));
    }
}

// join sets violation and scale of both bodies of a slot, where both move, to the larger ones, and reports whether that
// changes any.
INLINE int join(group *g, const slot *k, int h) {
    body *a = &g->bodies[k->a], *b = &g->bodies[k->b];
    if (!a->moves || !b->moves) return 0;
    VF zero = SET1(0);
    VM both = MAND(MAND(LT(zero, d(a->mass, h)), LT(zero, d(b->mass, h))), present(k, h)), changed = MFROM(0);
    for (int i = 0; i < 2; i++) {
        double *of_a = i ? a->scale : a->violation, *of_b = i ? b->scale : b->violation;
        VF x = d(of_a, h), y = d(of_b, h);
        VM less = MAND(both, LT(x, y)), more = MAND(both, LT(y, x)); // neither of NaN, so that the passes end
        changed = MOR(changed, MOR(less, more));
        put_d(of_a, h, SEL(less, y, x));
        put_d(of_b, h, SEL(more, x, y));
    }
    return MBITS(changed) != 0;
}

// set_scales sets the speed scales of the slots, see contact.worldSolver.setScales. Islands are found by passes
// forwards and backwards over the slots until no number changes.
static void set_scales(group *g, int h) {
    VF zero = SET1(0), rounding = SET1(g->o->resolved);
    for (int b = 0; b <= g->o->bodies; b++) {
        body *to = &g->bodies[b];
        for (int i = 0; i < 6; i++) put_d(to->v[i], h, d(to->v_free[i], h));
    }
    for (int s = 0; s < g->n; s++) {
        slot *k = &g->slots[s];
        VF c[3], mu = d(k->friction, h), speed = abs_d(d(k->bias, h));
        relative(g, k, h, c);
        VF slip = SQRT(FMA(c[0], c[0], c[1] * c[1]));
        if (!g->o->convex) c[2] += mu * slip;
        VF violation = dual_distance(c, slip, mu);
        for (int side = 0; side < 2; side++) {
            const body *b = &g->bodies[side ? k->b : k->a];
            speed += FMA(length_of(b->v + 3, h), length_of(side ? k->arm_b : k->arm_a, h), length_of(b->v, h));
        }
        VM here = present(k, h);
        violation = SEL(here, violation, zero);
        VF scale = SEL(here, rounding * speed, zero);
        scale = MAX(violation, scale);
        for (int side = 0; side < 2; side++) {
            body *b = &g->bodies[side ? k->b : k->a];
            if (!b->moves) continue;
            VM moves = LT(zero, d(b->mass, h));
            put_d(b->violation, h, SEL(moves, MAX(violation, d(b->violation, h)), d(b->violation, h)));
            put_d(b->scale, h, SEL(moves, MAX(scale, d(b->scale, h)), d(b->scale, h)));
        }
    }
    for (int changed = 1; changed;) {
        changed = 0;
        for (int s = 0; s < g->n; s++) changed |= join(g, &g->slots[s], h);
        for (int s = g->n; changed && s-- > 0;) join(g, &g->slots[s], h);
    }
    for (int s = 0; s < g->n; s++) {
        slot *k = &g->slots[s];
        const body *a = &g->bodies[k->a], *b = &g->bodies[k->b];
        VM moves = LT(zero, d(b->mass, h));
        put_d(k->violation, h, SEL(moves, d(b->violation, h), d(a->violation, h)));
        put_d(k->scale, h, SEL(moves, d(b->scale, h), d(a->scale, h)));
    }
}

#include "../../isa/real32.h"

// push adds to dv of a body the change by the impulse sign·p at the arm r.
INLINE void push(body *to, const VF r[3], const VF p[3], int sign) {
    VF m = f(to->inverse_mass32), inertia[6];
    for (int i = 0; i < 6; i++) inertia[i] = f(to->inverse_inertia32[i]);
    CROSS(q, r, p);
    SYMMETRIC(w, inertia, q);
    for (int i = 0; i < 3; i++) {
        VF v = f(to->dv[i]), spin = f(to->dv[3 + i]);
        put_f(to->dv[i], sign > 0 ? FMA(m, p[i], v) : FNMA(m, p[i], v));
        put_f(to->dv[3 + i], sign > 0 ? spin + w[i] : spin - w[i]);
    }
}

// sweep updates the impulses of every slot, and dv with them. soft: of a group with compliances.
//
// NCP [AGIMUS2023, Contacts, Alg. 5] with the tangential step 1/λ_max(G_TT); CCP [Alg. 2] with a step of all axes.
INLINE void sweep(group *g, int convex, int soft) {
    VF zero = SET1(0), one = SET1(1), tiny = SET1(1e-30f);
    for (int s = 0; s < g->n; s++) {
        slot *k = &g->slots[s];
        body *a = &g->bodies[k->a], *b = &g->bodies[k->b];
        VF ra[3], rb[3], axis[3][3], u[3] = {zero, zero, zero}, c[3], l[3], mu = f(k->friction32);
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) axis[i][j] = f(k->axis32[i][j]);
            ra[i] = f(k->arm_a32[i]), rb[i] = f(k->arm_b32[i]), l[i] = f(k->lambda32[i]);
        }
        if (b->moves) {
            VF w[3] = {f(b->dv[3]), f(b->dv[4]), f(b->dv[5])};
            CROSS(x, w, rb);
            for (int i = 0; i < 3; i++) u[i] = f(b->dv[i]) + x[i];
        }
        if (a->moves) {
            VF w[3] = {f(a->dv[3]), f(a->dv[4]), f(a->dv[5])};
            CROSS(x, w, ra);
            for (int i = 0; i < 3; i++) u[i] -= f(a->dv[i]) + x[i];
        }
        for (int i = 0; i < 3; i++) c[i] = f(k->c[i]) + DOT(axis[i], u);
        if (soft) {
            const compliant *r = &g->compliance[s];
            VF t = f(r->t32);
            c[0] = FMA(t, f(r->moved[0]), c[0]), c[1] = FMA(t, f(r->moved[1]), c[1]);
            c[2] = FMA(f(r->n32), f(r->moved[2]), c[2]);
        }
        VF step_n = f(k->step_n), step_t = f(k->step_t), next[3];
        next[2] = FNMA(c[2], step_n, l[2]);
        if (convex) {
            next[0] = FNMA(c[0], step_t, l[0]);
            next[1] = FNMA(c[1], step_t, l[1]);
            VF t = SQRT(MAX(FMA(next[0], next[0], next[1] * next[1]), tiny));
            VF edge = MAX(FMA(mu, t, next[2]) / FMA(mu, mu, one), zero), k2 = mu * edge / t;
            VM in = LE(t, mu * next[2]);
            for (int i = 0; i < 2; i++) next[i] = SEL(in, next[i], next[i] * k2);
            next[2] = SEL(in, next[2], edge);
        } else {
            next[2] = MAX(next[2], zero);
            VF dn = next[2] - l[2], radius = mu * next[2];
            next[0] = FNMA(FMA(f(k->g_xn), dn, c[0]), step_t, l[0]);
            next[1] = FNMA(FMA(f(k->g_yn), dn, c[1]), step_t, l[1]);
            VF square = FMA(next[0], next[0], next[1] * next[1]);
            VF shrink = SEL(LT(radius * radius, square), radius / SQRT(MAX(square, tiny)), one);
            next[0] *= shrink;
            next[1] *= shrink;
        }
        VF p[3] = {zero, zero, zero};
        for (int i = 0; i < 3; i++) {
            VF step = next[i] - l[i];
            put_f(k->lambda32[i], next[i]);
            if (soft) put_f(g->compliance[s].moved[i], f(g->compliance[s].moved[i]) + step);
            for (int j = 0; j < 3; j++) p[j] = FMA(axis[i][j], step, p[j]);
        }
        if (b->moves) push(b, rb, p, 1);
        if (a->moves) push(a, ra, p, -1);
    }
}

#include "../../isa/real64.h"

#include "alone.h"

// slow reports whether sweeps are left to Newton's method: if two blocks have taken the least residual to more than
// PROGRESS of it, and at this rate four more do not take it to the tolerance.
static int slow(const contact_options *o, double now, double before) {
    double rate = now / before;
    return o->steps > 0 && rate > PROGRESS && now * rate * rate > o->tolerance;
}

// close returns whether the impulses of a world are good enough: within the tolerance, and where o->refine, EXACTLY or
// after the last of so many more blocks of sweeps.
static int close(group *g, int l) {
    if (!(g->best[l] <= g->o->tolerance)) return 0;
    return g->best[l] <= EXACTLY * g->o->tolerance || g->more[l]-- <= 0;
}

// keep measures the impulses and keeps those of the least residual. It returns whether a world is to be swept on.
static int keep(group *g, int sweeps) {
    int open = 0;
    for (int h = 0; h < PARTS; h++) {
        if (W * h >= g->o->worlds) break;
        double e[W];
        unsigned better = 0;
        STOREU(e, measure(g, h));
        g->fresh[h] = 1;
        for (int i = 0; i < W; i++) {
            int l = W * h + i;
            if (l >= g->o->worlds) continue;
            int better_now = 0;
            if (!g->closed[l]) { // else it keeps what it has
                g->made[l] = sweeps;
                better_now = e[i] <= g->best[l];
            }
            if (better_now) g->best[l] = e[i], better |= 1u << i;
            else g->fresh[h] = 0;
            if (!g->closed[l]) g->closed[l] = close(g, l);
            open |= !g->closed[l];
        }
        if (!better) continue;
        VM choice = MFROM(better);
        for (int s = 0; s < g->n; s++) {
            slot *k = &g->slots[s];
            for (int i = 0; i < 3; i++) put_d(k->best[i], h, SEL(choice, d(k->lambda[i], h), d(k->best[i], h)));
        }
    }
    return open;
}

// measure_best sets v to that of the best impulses.
static void measure_best(group *g, int h) {
    if (g->fresh[h]) return;
    for (int s = 0; s < g->n; s++)
        for (int i = 0; i < 3; i++) put_d(g->slots[s].lambda[i], h, d(g->slots[s].best[i], h));
    measure(g, h);
}

// end_slow closes the worlds whose sweeps are slow, and returns whether a world is to be swept on.
static int end_slow(group *g) {
    int open = 0;
    for (int l = 0; l < g->o->worlds; l++) {
        g->closed[l] |= slow(g->o, g->best[l], g->past[1][l]);
        g->past[1][l] = g->past[0][l], g->past[0][l] = g->best[l];
        open |= !g->closed[l];
    }
    return open;
}

// drop_impulses takes away the impulses of islands whose free motion solves the problem, and all of the worlds of drop.
static void drop_impulses(group *g, int h, VM drop) {
    VF zero = SET1(0);
    for (int s = 0; s < g->n; s++) {
        slot *k = &g->slots[s];
        VM none = MOR(drop, equal(d(k->violation, h), zero));
        for (int i = 0; i < 3; i++) put_d(k->lambda[i], h, SEL(none, zero, d(k->lambda[i], h)));
    }
}

// start_from_rest drops impulses to start from that are no better than none, see contact.worldSolver.startFromRest.
static void start_from_rest(group *g) {
    for (int h = 0; h < PARTS; h++) drop_impulses(g, h, MFROM(0));
    keep(g, 0);
    int any = 0;
    for (int h = 0; h < PARTS; h++) {
        unsigned worse = 0;
        for (int i = 0; i < W; i++) {
            int l = W * h + i;
            if (l < g->o->worlds && !(g->best[l] <= 1)) worse |= 1u << i, g->best[l] = __builtin_inf();
        }
        drop_impulses(g, h, MFROM(worse));
        any |= worse != 0;
    }
    if (any) keep(g, 0);
}

// start starts the sweeps of bodies that touch only bodies that do not move, see alone.h, and returns whether a world
// is to be swept. It is for worlds far above the rounding of float64, also within the tolerance: bodies at rest that
// are solved to the tolerance alone would creep with the warm impulses. For the same reason a block of sweeps is made
// of such worlds where o->refine, and MORE_BLOCKS of them follow where sweeps solve a world. The other worlds keep
// their impulses and bits.
static int start(group *g) {
    int open = 0, changed = 0;
    for (int l = 0; l < g->o->worlds; l++) {
        g->closed[l] = !(g->best[l] > EXACTLY * g->o->tolerance);
        open |= !g->closed[l];
    }
    if (!open) return 0;
    for (int h = 0; h < PARTS; h++) changed |= W * h < g->o->worlds && start_alone(g, h);
    if (changed) keep(g, 0);
    for (int h = 0; h < PARTS; h++) {
        if (changed) measure_best(g, h);
        for (int s = 0; s < g->n; s++)
            for (int i = 0; i < 3; i++) NARROW(g->slots[s].lambda32[i] + W * h, d(g->slots[s].lambda[i], h));
    }
    open = 0;
    for (int l = 0; l < g->o->worlds; l++) {
        g->more[l] = !g->o->refine ? 0 : g->best[l] <= g->o->tolerance ? 1 : MORE_BLOCKS;
        g->closed[l] = close(g, l);
        open |= !g->closed[l];
    }
    return open;
}

static int64_t sweep_scratch(int32_t bodies, int64_t contacts) {
    return (int64_t)(sizeof(body) + sizeof(lone)) * (bodies + 1) +
           contacts * (int64_t)(sizeof(slot) + sizeof(compliant) + sizeof(entry));
}

static CONTACT_SWEEP(sweep_worlds) {
    const contact_columns *p = columns;
    const int32_t *count = p->count;
    group g = {.o = o, .bodies = scratch};
    g.slots = (slot *)(g.bodies + o->bodies + 1);
    int64_t total = 0; // contacts of the group: there are as many slots at most
    for (int l = 0; l < o->worlds; l++) total += count[world[l]];
    g.lones = (lone *)(g.slots + total);
    g.compliance = (compliant *)(g.lones + o->bodies + 1);
    g.soft = is_soft(o, p, world);
    entry *entries = (entry *)(g.compliance + total);
    for (int l = 0; l < o->worlds; l++) {
        g.entries[l] = entries;
        entries += count[world[l]];
        int64_t b = (int64_t)world[l] * o->bodies;
        g.units[l] = units_of(o->bodies, count[world[l]], p->mass + b, p->inertia + 6 * b, p->velocity + 6 * b,
                              p->target ? p->target + (int64_t)world[l] * o->contacts : 0);
    }
    load_bodies(&g, p, world);
    list(&g, p, world);
    load_contacts(&g, p, world);
    for (int l = 0; l < WORLDS; l++) g.best[l] = g.past[0][l] = g.past[1][l] = __builtin_inf();
    for (int h = 0; h < PARTS; h++) {
        set_traces(&g, h);
        set_scales(&g, h);
        into_cones(&g, h);
    }
    if (p->warm) start_from_rest(&g);
    else keep(&g, 0);
    int open = start(&g);
    if (open) prepare(&g);
    end_slow(&g);
    for (int k = 0; open && k < o->sweeps && !is_set(stop);) {
        for (int b = 0; b < o->bodies; b++) memset(g.bodies[b].dv, 0, sizeof g.bodies[b].dv);
        for (int s = 0; g.soft && s < g.n; s++) memset(g.compliance[s].moved, 0, sizeof g.compliance[s].moved);
        for (int end = k + SWEEPS_PER_CHECK < o->sweeps ? k + SWEEPS_PER_CHECK : o->sweeps; k < end; k++) {
            if (g.soft) {
                if (o->convex) sweep(&g, 1, 1);
                else sweep(&g, 0, 1);
            } else if (o->convex) sweep(&g, 1, 0);
            else sweep(&g, 0, 0);
        }
        for (int h = 0; h < PARTS; h++) {
            for (int s = 0; s < g.n; s++)
                for (int i = 0; i < 3; i++) put_d(g.slots[s].lambda[i], h, WIDEN(g.slots[s].lambda32[i] + W * h));
            into_cones(&g, h);
        }
        open = keep(&g, k) && end_slow(&g);
    }
    for (int s = 0; s < g.n; s++)
        for (int l = 0; l < o->worlds; l++)
            if (g.slots[s].source[l] >= 0)
                for (int i = 0; i < 3; i++) // and 0 in place of -0, whose sign may depend on other worlds
                    p->impulse[3 * ((int64_t)world[l] * o->contacts + g.slots[s].source[l]) + i] =
                        g.slots[s].best[i][l] * g.units[l].impulse + 0.0;
    uint32_t solved = 0;
    double e[6][W]; // of a half
    for (int l = 0; l < o->worlds; l++) {
        int h = l / W, i = l % W;
        if (i == 0) {
            measure_best(&g, h);
            residuals of = residuals_of(&g, h);
            STOREU(e[0], of.primal), STOREU(e[1], of.dual), STOREU(e[2], of.complementarity);
            STOREU(e[3], of.residual), STOREU(e[4], of.scale), STOREU(e[5], of.ratio);
        }
        const units *u = &g.units[l];
        int32_t w = world[l];
        p->primal[w] = e[0][i] * u->impulse, p->dual[w] = e[1][i] * u->speed;
        p->complementarity[w] = e[2][i] * u->energy;
        p->residual[w] = e[3][i] * u->speed, p->scale[w] = e[4][i] * u->speed;
        p->sweeps[w] = g.made[l];
        if (e[5][i] <= o->tolerance) solved |= (uint32_t)1 << l;
        double *v = p->solved + (int64_t)6 * w * o->bodies;
        for (int b = 0; b < o->bodies; b++)
            for (int k = 0; k < 6; k++) *v++ = g.bodies[b].v[k][l] * (k < 3 ? u->speed : u->spin) + 0.0;
    }
    return solved;
}
