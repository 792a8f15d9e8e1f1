// The zone of a minimum of the depth, in which there is no other: minima.go of package derive, whose bounds these are.

#ifndef CLR_DERIVE_MINIMA_H
#define CLR_DERIVE_MINIMA_H

#include "rows.h" // before the headers of kernels/shape

#include "../../shape/hessian.h"
#include "powers.h"
#include "system.h"

ALWAYS int is_powered(int class) {
    return class == CLR_SUPERQUADRIC || class == CLR_SMOOTH_HULL || class == CLR_SMOOTH_REVOLUTION;
}

// rises_up_to is the t up to which the support function of a core rises along y, |y| ≤ t, by at least 1/(1 + q) of
// ½yᵀHy, H its Hessian at the unit direction d of the world.
ALWAYS VF rises_up_to(const side *s, int class, const feature *f, V3 d, VF q) {
    V3 l = apply_transposed64(s->r, d);
    if (class == CLR_ELLIPSOID) {
        V3 x = ellipsoid_point(s->p, l);
        VF value = dot64(x, l), squares = FMA(s->p[2], s->p[2], FMA(s->p[1], s->p[1], s->p[0] * s->p[0]));
        V3 beside = axpy64(-value, l, x);
        VF slope = SQRT(dot64(beside, beside)), trace = MAX(squares - dot64(x, x), SET1(0)) / value;
        return 2 * value * q / (slope + SQRT(FMA(2 * trace * value, q, slope * slope)));
    }
    if (class == CLR_FRUSTUM) return SEL(f->face, SET1(FAR), SEL(f->edge, 0.5 * q, q) * SQRT(FMA(l.y, l.y, l.x * l.x)));
    return SET1(FAR);
}

// side_inside is the distance from the boundary of an edge that counts: the side of a frustum is curved, away from the
// other core.
ALWAYS VF side_inside(const side *s, int class, const feature *f, V3 d, VF inside, VF q) {
    if (class != CLR_FRUSTUM) return inside;
    V3 x = apply_transposed64(s->r, axpy64(-s->radius, d, sub64(f->point, s->position)));
    VF bottom = s->p[0], half = s->p[2], wider = s->p[1] - bottom, z = MAX(-half, MIN(half, x.z));
    VF r = bottom + wider * (z + half) / (2 * half), a = magnitude(wider) / SQRT(FMA(4 * half, half, wider * wider));
    VM bends = MAND(MANDN(f->edge, f->face), LT(SET1(0), a));
    return SEL(bends, MIN(inside, q * r / (12 * SEL(bends, a, SET1(1)))), inside);
}

// zone_of is the zone of the bound κ up to |y| = t, 0 if h does not exceed the bound at half of t.
ALWAYS VF zone_of(VF kappa, VF t, VF depth, VF tolerance) {
    VF bound = depth + tolerance;
    t = MIN(t, SET1(1e3)); // of polytopes, whose curvature is that of balls, it is infinite
    return where(LT(4 * tolerance, 0.5 * (kappa - bound) * t * t), (FMA(0.5 * kappa, t, -(tolerance / t))) / bound);
}

// curvature_of and bound_over are curvature_at and hessian_bound_over of kernels/shape, of any class with powers.
APART curvature_data curvature_of(const T(places) *at, int class, int side, V3 d, V3 a, V3 b) {
    switch (class) {
    case CLR_SUPERQUADRIC: return curvature_at(at, CLR_SUPERQUADRIC, side, d, a, b);
    case CLR_SMOOTH_HULL: return curvature_at(at, CLR_SMOOTH_HULL, side, d, a, b);
    default: return curvature_at(at, CLR_SMOOTH_REVOLUTION, side, d, a, b);
    }
}
APART flat_matrix bound_over(const T(places) *at, int class, int side, const curvature_data *b, VF t, VF most) {
    switch (class) {
    case CLR_SUPERQUADRIC: return hessian_bound_over(at, CLR_SUPERQUADRIC, side, b, t, most);
    case CLR_SMOOTH_HULL: return hessian_bound_over(at, CLR_SMOOTH_HULL, side, b, t, most);
    default: return hessian_bound_over(at, CLR_SMOOTH_REVOLUTION, side, b, t, most);
    }
}

// powered_zone is the first zone that is proved over caps that are halved. most is the reach of the core without
// powers, inside that of a feature with one direction, t. The bound of the Hessian of a core with powers is that of
// kernels/shape, over each cap anew; of others, 1/(1 + q) of the Hessian. Terms above MAX_CURVATURE times what is to be
// proved are cut off, so that their rounding is far below the tolerance of zone_of.
APART VF powered_zone(const pair *p, const linear *s, VF depth, VF tolerance, VF rolling, VF most, VF inside, VM any,
                      flat t, VF q, int active) {
    const derive_call *c = p->call;
    const clr_call library = {.vx = c->vertices[0], .vy = c->vertices[1], .vz = c->vertices[2]};
    const side *of[2] = {&p->a, &p->b};
    const int class[2] = {p->class_a, p->class_b};
    const feature *f[2] = {&s->a, &s->b};
    double in[CLR_PB + 4][W] __attribute__((aligned(64)));
    T(hulls) hull[2];
    const T(places) at = {
        .call = &library, .in = in[0], .stride = W, .hull = {&hull[0], &hull[1]}, .lanes = (unsigned)active};
    curvature_data data[2];
    for (int k = 0; k < 2; k++) {
        if (!is_powered(class[k])) continue;
        for (int i = 0; i < 4; i++) STOREU(in[(k ? CLR_PB : CLR_PA) + i], of[k]->p[i]);
        for (int i = 0; i < W; i++) T(put_hull)(&hull[k], i, of[k]->shape[i], class[k]);
        V3 d = apply_transposed64(of[k]->r, k ? neg64(s->n) : s->n);
        data[k] =
            curvature_of(&at, class[k], k, d, apply_transposed64(of[k]->r, s->e0), apply_transposed64(of[k]->r, s->e1));
    }
    flat across = {-t.y, t.x};
    const VF share = 1 / (1 + q), highest = MAX_CURVATURE * (depth + tolerance + rolling);
    VF zone = SET1(0), size = MIN(SET1(WIDEST_ZONE_CAP), most);
    for (int i = 0; i < ZONE_CAPS && active != 0; i++) {
        flat_matrix k = {SET1(0), SET1(0), SET1(0)};
        for (int j = 0; j < 2; j++) {
            flat_matrix h;
            if (is_powered(class[j])) {
                h = bound_over(&at, class[j], j, &data[j], size, highest);
            } else {
                h = (flat_matrix){f[j]->h.xx - of[j]->radius, f[j]->h.xy, f[j]->h.yy - of[j]->radius};
                h = (flat_matrix){share * h.xx, share * h.xy, share * h.yy};
            }
            k = (flat_matrix){k.xx + h.xx, k.xy + h.xy, k.yy + h.yy};
        }
        VF half = (k.xx - k.yy) * 0.5, least = FMA(k.xx + k.yy, SET1(0.5), -SQRT(FMA(k.xy, k.xy, half * half)));
        flat of_across = form2(k, across);
        VF mixed = MIN(flat_dot(across, of_across), inside / size - magnitude(flat_dot(t, of_across)));
        VF next = zone_of(SEL(any, mixed, least) - rolling, size, depth, tolerance);
        VM proved = MAND(MFROM(active), LT(SET1(0), next));
        zone = SEL(proved, next, zone);
        active &= ~MBITS(proved);
        size *= 0.5;
    }
    return zone;
}

// proved_zone is the tangent of half the angle of the zone at a depth without the balls, 0 if none is proved.
ALWAYS VF proved_zone(const pair *p, const linear *s, VF depth, VF tolerance, VF rolling, int active) {
    VM any = MOR(s->of_a[0], s->of_b[0]), two = MOR(s->of_a[1], s->of_b[1]);
    flat t = s->t[0], across = {-t.y, t.x};
    VF inside = MIN(s->a.inside, s->b.inside), bound = depth + tolerance;
    inside *= SEL(MAND(s->a.edge, s->b.edge), magnitude(FNMA(s->t[1].x, t.y, t.x * s->t[1].y)), SET1(1));
    VF half = (s->k.xx - s->k.yy) * 0.5;
    VF least = FMA(s->k.xx + s->k.yy, SET1(0.5), -SQRT(FMA(s->k.xy, s->k.xy, half * half)));
    flat of_across = form2(s->k, across);
    least = SEL(any, flat_dot(across, of_across), least);
    VF kappa = FMA(SET1(0.5), least, depth), q = 0.5 * least / (kappa + rolling);
    V3 opposite = neg64(s->n);
    VF beside = side_inside(&p->a, p->class_a, &s->a, s->n, inside, q);
    beside = side_inside(&p->b, p->class_b, &s->b, opposite, beside, q);
    VF size = MIN(rises_up_to(&p->a, p->class_a, &s->a, s->n, q), rises_up_to(&p->b, p->class_b, &s->b, opposite, q)),
       curved;
    if (is_powered(p->class_a) || is_powered(p->class_b)) {
        active &= MBITS(MANDN(LT(SET1(0), q), two));
        curved = powered_zone(p, s, depth, tolerance, rolling, size, beside, any, t, q, active);
    } else {
        size = SEL(any, MIN(size, beside / (magnitude(flat_dot(t, of_across)) + kappa)), size);
        curved = where(LT(SET1(0), q), zone_of(kappa, size, depth, tolerance));
    }
    return SEL(two, inside / bound, curved);
}

// Another minimum of the depth: minima.go of package derive, whose method, names and constants these are. Rows whose
// search does not end soon are left to the reference.

#define MAX_JOBS 64 // a multiple of W

// core_support is the support point of a core in a direction of the world, of the lanes in active.
APART V3 core_support(const derive_call *c, const side *s, int class, V3 d, int active) {
    V3 l = apply_transposed64(s->r, d), x = {SET1(0), SET1(0), SET1(0)};
    const exponents e = exponents_of(s);
    if (class != CLR_HULL) x = core_point(c, s, class, &e, l, active);
    else
        for (; active != 0; active &= active - 1) {
            int i = __builtin_ctz((unsigned)active);
            const double one[3] = {l.x[i], l.y[i], l.z[i]};
            double at[3];
            hull_vertex(c, s->shape[i], one, at);
            x.x[i] = at[0], x.y[i] = at[1], x.z[i] = at[2];
        }
    return add64(apply64(s->r, x), s->position);
}

// cone is the hull of the rays p·n + q·(e + m·e') with both pairs of p and q and both m, where e and e' are two
// directions across n, of positive or negative sign.
typedef struct {
    double p[2], q[2], m[2], sign, next; // next is the sign of e'
    double second;                       // 1 if e is the second direction, else 0
} cone;

typedef struct {
    cone cones[MAX_CONES];
    int count;
} stack;

ALWAYS void push(stack *s, cone c) { s->cones[s->count++] = c; }

// push_first pushes the cones that a search starts with, the last of which lie on the boundary of the zone.
ALWAYS void push_first(stack *s, double cosine) {
    double p = 0x1.6a09e667f3bcdp0 * cosine, q = root1(most1(1 - cosine * cosine, 0)), over = 1 / root1(p * p + q * q);
    s->count = 0;
    for (int k = 0; k < 4; k++) {
        cone c = {{0, p * over}, {1, q * over}, {-1, 1}, k < 2 ? 1 : -1, k == 1 || k == 2 ? -1 : 1, k & 1};
        push(s, c);
        c.p[0] = -1, c.p[1] = 0, c.q[0] = 0, c.q[1] = 1;
        push(s, c);
    }
}

// halve pushes both halves of a cone, across m or not; that beyond the middle is the last one if upper.
ALWAYS void halve(stack *s, const cone *c, int across, int upper) {
    cone first = *c, second = *c;
    if (across) {
        first.m[1] = second.m[0] = (c->m[0] + c->m[1]) / 2;
    } else {
        double p = c->p[0] + c->p[1], q = c->q[0] + c->q[1], over = 1 / root1(p * p + q * q);
        first.p[1] = second.p[0] = p * over;
        first.q[1] = second.q[0] = q * over;
    }
    push(s, upper ? first : second);
    push(s, upper ? second : first);
}

#define OF_CONE(i, c, field) (c)[i]->field
#define GATHER(c, field) LANEWISE(OF_CONE, c, field)

// job is a row whose other minima are looked for.
typedef struct {
    double rotation[9], position[3], parameter[4];
    const clr_shape *shape;
} job_side;
typedef struct {
    int64_t row;
    int lane;
    job_side a, b;
    double n[3], e0[3], e1[3]; // normal, and directions across it
    double bound, cosine, apart, rolling;
} job;

// jobs are rows of the same classes.
typedef struct {
    int count;
    job of[MAX_JOBS];
} jobs;

ALWAYS void set3(V3 *v, int i, const double from[3]) { v->x[i] = from[0], v->y[i] = from[1], v->z[i] = from[2]; }

ALWAYS void get3(double to[3], V3 v, int i) { to[0] = v.x[i], to[1] = v.y[i], to[2] = v.z[i]; }

ALWAYS void set_side(side *s, int i, const job_side *from) {
    for (int k = 0; k < 9; k++) s->r[k][i] = from->rotation[k];
    set3(&s->position, i, from->position);
    for (int k = 0; k < 4; k++) s->p[k][i] = from->parameter[k];
    s->shape[i] = from->shape;
}

ALWAYS void get_side(job_side *to, const side *s, int i) {
    for (int k = 0; k < 9; k++) to->rotation[k] = s->r[k][i];
    get3(to->position, s->position, i);
    for (int k = 0; k < 4; k++) to->parameter[k] = s->p[k][i];
    to->shape = s->shape[i];
}

// search_all lists the rows that may have another minimum: it is found, or not ruled out soon. It returns their number.
// Each lane has a row of its own, and considers one of its cones at a time.
APART int search_all(const derive_call *call, int class_a, int class_b, const jobs *todo, int32_t *listed) {
    stack stacks[W];
    int started = 0, ended = 0, rounds[W];
    const job *at[W];
    side a, b;
    V3 n, e0, e1, known[KNOWN_POINTS];
    VF bound, apart, rolling;
    static const cone none = {{0, 1}, {1, 0}, {-1, 1}, 1, 1, 0};
    for (int i = 0; i < W; i++) stacks[i].count = 0, at[i] = 0;
    for (int slot = 0;; slot = (slot + 1) % KNOWN_POINTS) {
        const cone *c[W];
        cone popped[W];
        int active = 0;
        for (int i = 0; i < W; i++) {
            if (stacks[i].count == 0 || rounds[i] == MAX_ROUNDS) {
                if (stacks[i].count > 0) listed[ended++] = (int32_t)at[i]->row;
                stacks[i].count = 0;
                if (started < todo->count || at[i] == 0) {
                    const job *j = at[i] = &todo->of[started < todo->count ? started : 0];
                    set_side(&a, i, &j->a);
                    set_side(&b, i, &j->b);
                    set3(&n, i, j->n), set3(&e0, i, j->e0), set3(&e1, i, j->e1);
                    bound[i] = j->bound, apart[i] = j->apart, rolling[i] = j->rolling;
                    for (int k = 0; k < KNOWN_POINTS; k++) known[k].x[i] = known[k].y[i] = known[k].z[i] = 0;
                    rounds[i] = 0;
                    if (started < todo->count) push_first(&stacks[i], j->cosine);
                    started++;
                }
            }
            c[i] = &none;
            if (stacks[i].count == 0) continue;
            popped[i] = stacks[i].cones[--stacks[i].count];
            c[i] = &popped[i];
            active |= 1 << i;
            rounds[i]++;
        }
        if (active == 0) return ended;
        // The corners, and what products of a point with them are above if it rules out the cone.
        V3 u[4], sum = {SET1(0), SET1(0), SET1(0)};
        VF need[4];
        VM second = LT(SET1(0.5), GATHER(c, second));
        V3 e = scale64(GATHER(c, sign), sel64(second, e1, e0)), next = scale64(GATHER(c, next), sel64(second, e0, e1));
        for (int j = 0; j < 4; j++) {
            VF pj = GATHER(c, p[j & 1]), qj = GATHER(c, q[j & 1]), m = GATHER(c, m[j >> 1]);
            u[j] = axpy64(pj, n, scale64(qj, axpy64(m, next, e)));
            need[j] = bound * SQRT(FMA(qj * qj, FMA(m, m, SET1(1)), pj * pj));
            sum = add64(sum, u[j]);
        }
        // Known points, and points between two of them.
        VF most[4] = {SET1(-FAR), SET1(-FAR), SET1(-FAR), SET1(-FAR)}, x[4] = {SET1(0), SET1(0), SET1(0), SET1(0)};
        VM out = MFROM(0);
        {
            VF h[KNOWN_POINTS][4], best = SET1(-FAR);
            for (int l = 0; l < KNOWN_POINTS; l++) {
                VF least = SET1(FAR);
                for (int j = 0; j < 4; j++) {
                    h[l][j] = dot64(known[l], u[j]) - need[j];
                    least = MIN(least, h[l][j]);
                    most[j] = MAX(most[j], h[l][j]);
                }
                VM better = LT(best, least);
                for (int j = 0; j < 4; j++) x[j] = SEL(better, h[l][j], x[j]);
                best = MAX(best, least);
            }
            out = LT(SET1(0), best);
            VM low[4];
            VF x_low = MIN(MIN(x[0], x[1]), MIN(x[2], x[3])), y_low = SET1(-FAR), y[4] = {x[0], x[1], x[2], x[3]};
            for (int j = 0; j < 4; j++) low[j] = EQ(x[j], x_low);
            for (int l = 0; l < KNOWN_POINTS; l++) {
                VF at = SEL(low[0], h[l][0], SEL(low[1], h[l][1], SEL(low[2], h[l][2], h[l][3])));
                VM better = LT(y_low, at);
                for (int j = 0; j < 4; j++) y[j] = SEL(better, h[l][j], y[j]);
                y_low = MAX(y_low, at);
            }
            // On the way from x to y the least component rises until another is the least.
            VF slope = y_low - x_low, t = SET1(1);
            for (int j = 0; j < 4; j++) {
                VF other = y[j] - x[j];
                t = SEL(LT(other, slope), MIN(t, (x[j] - x_low) / (slope - other)), t);
            }
            VM between = NOT(out);
            for (int j = 0; j < 4; j++) between = MAND(between, LT(SET1(0), FMA(t, y[j] - x[j], x[j])));
            out = MOR(out, between);
            active &= ~MBITS(out);
            if (active == 0) continue;
        }
        // The support point, in the direction of the cone with a weight on the corner where the bounds are least.
        VF least = MIN(MIN(most[0], most[1]), MIN(most[2], most[3]));
        VM at1 = EQ(most[1], least), at2 = EQ(most[2], least), at3 = EQ(most[3], least);
        V3 d = sel64(at3, u[3], sel64(at2, u[2], sel64(at1, u[1], u[0])));
        d = axpy64(SET1(LEAN), d, sum);
        d = scale64(1 / SQRT(dot64(d, d)), d);
        V3 point = sub64(core_support(call, &a, class_a, d, active), core_support(call, &b, class_b, neg64(d), active));
        point = axpy64(-rolling, d, point);
        known[slot] = sel64(MFROM(active), point, known[slot]);
        int found = active & MBITS(MAND(LE(dot64(point, d), bound), LT(dot64(d, n), apart)));
        VF h[4];
        for (int j = 0; j < 4; j++) h[j] = dot64(point, u[j]) - need[j];
        active &= ~found & ~MBITS(LT(SET1(0), MIN(MIN(h[0], h[1]), MIN(h[2], h[3]))));
        // Halves, across the slope of the bound; the longer side counts more.
        VF high = magnitude(FNMA(GATHER(c, p[1]), GATHER(c, q[0]), GATHER(c, p[0]) * GATHER(c, q[1])));
        VF wide = MAX(GATHER(c, q[0]), GATHER(c, q[1])) * (GATHER(c, m[1]) - GATHER(c, m[0]));
        VM across = LT(high * magnitude(h[1] - h[0] + h[3] - h[2]), wide * magnitude(h[2] - h[0] + h[3] - h[1]));
        across = (MOR(MANDN(across, LT(MAX_RATIO * wide, high)), LT(MAX_RATIO * high, wide)));
        int is_across = MBITS(across),
            upper = MBITS(MOR(MAND(across, MOR(at2, at3)), MANDN(MOR(at3, MANDN(at1, at2)), across)));
        for (; active != 0; active &= active - 1) {
            int i = __builtin_ctz((unsigned)active);
            if (stacks[i].count > MAX_CONES - 2) found |= 1 << i;
            else halve(&stacks[i], &popped[i], is_across >> i & 1, upper >> i & 1);
        }
        for (; found != 0; found &= found - 1) {
            int i = __builtin_ctz((unsigned)found);
            listed[ended++] = (int32_t)at[i]->row;
            stacks[i].count = 0;
        }
    }
}

// keep drops the jobs from number first on of lanes that are not in kept.
ALWAYS void keep(jobs *todo, int first, int kept) {
    int n = first;
    for (int i = first; i < todo->count; i++)
        if (kept >> todo->of[i].lane & 1) todo->of[n++] = todo->of[i];
    todo->count = n;
}

// rolling_of is the radius of the ball by which a core may be eroded.
ALWAYS VF rolling_of(const side *s, int class) { return class == CLR_HULL ? SET1(0) : OF_SHAPES(s, erode); }

ALWAYS V3 middle_of(const side *s) {
    return add64(apply64(s->r, (V3){OF_SHAPES(s, center[0]), OF_SHAPES(s, center[1]), OF_SHAPES(s, center[2])}),
                 s->position);
}

// box_minimum returns the lanes of two boxes in which the depth is attained along another normal: those of faces, and
// the products of edges.
APART VM box_minimum(const pair *p, const linear *s, VF bound) {
    VM found = MFROM(0);
    for (int k = 0; k < 15; k++) {
        const side *of = k < 3 ? &p->a : &p->b;
        int i = k < 6 ? k % 3 : (k - 6) / 3, j = (k - 6) % 3;
        V3 d = {of->r[i], of->r[3 + i], of->r[6 + i]};
        VM counts = MFROM(LANES);
        if (k >= 6) {
            d = cross64((V3){p->a.r[i], p->a.r[3 + i], p->a.r[6 + i]}, (V3){p->b.r[j], p->b.r[3 + j], p->b.r[6 + j]});
            VF length = SQRT(dot64(d, d));
            counts = LT(SET1(PARALLEL_SINE), length);
            d = scale64(1 / length, d);
        }
        V3 of_a = apply_transposed64(p->a.r, d), of_b = apply_transposed64(p->b.r, d);
        VF h = dot64(of_a, core_point(p->call, &p->a, CLR_CUBOID_CORE, 0, of_a, 0)) +
               dot64(of_b, core_point(p->call, &p->b, CLR_CUBOID_CORE, 0, of_b, 0));
        VF along = dot64(d, p->b.position), same = dot64(d, s->n);
        counts = MAND(counts, MOR(MANDN(LE(h - along, bound), LT(SET1(1 - 1e-12), same)),
                                  MANDN(LE(h + along, bound), LT(same, SET1(1e-12 - 1)))));
        found = MOR(found, counts);
    }
    return found;
}

// other_minimum returns the lanes that have another minimum or no zone that is proved here, and adds those to the jobs
// that may have one.
APART int other_minimum(const pair *p, const linear *s, int active, const int64_t row[W], jobs *todo) {
    if (p->class_a == CLR_HALF_CORE || p->class_b == CLR_HALF_CORE) return 0;
    VF tolerance = EQUAL_TOLERANCE * p->size;
    VF rolling = rolling_of(&p->a, p->class_a) + rolling_of(&p->b, p->class_b);
    VF depth = -s->value - p->a.radius - p->b.radius - rolling;
    VM open = MAND(MFROM(active), LE(-tolerance, depth));
    if (MBITS(open) == 0) return 0;
    depth = MAX(depth, SET1(0));
    VF bound = depth + tolerance;
    VF zone = proved_zone(p, s, depth, tolerance, rolling, MBITS(open));
    int unproved = MBITS(MANDN(open, LT(SET1(0), zone)));
    open = MAND(open, LT(SET1(0), zone));
    // Balls about the centers.
    V3 c = sub64(middle_of(&p->a), middle_of(&p->b));
    VF r = OF_SHAPES(&p->a, inner) + OF_SHAPES(&p->b, inner) - rolling, along = dot64(c, s->n);
    VF beside = SQRT(MAX(FNMA(along, along, dot64(c, c)), SET1(0))), v = 1 / zone;
    open = MANDN(open, LT(v * (FMA(v, MAX(bound - r - along, SET1(0)), 2 * beside)), r - bound - along));
    if (p->class_a == CLR_CUBOID_CORE && p->class_b == CLR_CUBOID_CORE)
        return unproved | MBITS(MAND(open, box_minimum(p, s, bound)));
    int left = MBITS(open);
    if (left == 0) return unproved;
    zone = MIN(zone, SET1(1));
    VF square = zone * zone, cosine = (1 - square) / (1 + square), apart = (4 - square) / (4 + square);
    // The principal directions of K: half of the angle of (kxx - kyy, 2·kxy).
    VF x = s->k.xx - s->k.yy, y = 2 * s->k.xy, length = SQRT(FMA(y, y, x * x));
    VF k = SEL(LT(SET1(0), length), 0.5 * x / length, SET1(0.5));
    VF c0 = SQRT(MAX(0.5 + k, SET1(0))), s0 = COPYSIGN(SQRT(MAX(0.5 - k, SET1(0))), y);
    V3 e0 = axpy64(s0, s->e1, scale64(c0, s->e0)), e1 = axpy64(c0, s->e1, scale64(-s0, s->e0));
    for (; left != 0; left &= left - 1) {
        int i = __builtin_ctz((unsigned)left);
        job *j = &todo->of[todo->count++];
        j->row = row[i], j->lane = i;
        get_side(&j->a, &p->a, i);
        get_side(&j->b, &p->b, i);
        get3(j->n, s->n, i), get3(j->e0, e0, i), get3(j->e1, e1, i);
        j->bound = bound[i], j->cosine = cosine[i], j->apart = apart[i], j->rolling = rolling[i];
    }
    return unproved;
}

#endif
