// Another minimum of the depth: minima.go of package derive, whose method, names and constants these are. Rows whose
// search does not end soon are left to the reference.

#ifndef LN_MINIMA_H
#define LN_MINIMA_H

#include "zone.h"

#define MAX_ROUNDS 512
#define MAX_CONES 64
#define MAX_JOBS 64 // a multiple of W
#define KNOWN_POINTS 8
#define LEAN 20
#define MAX_RATIO 16

// core_support is the support point of a core in a direction of the world, of the lanes in active.
APART v3 core_support(const ln_call *c, const side *s, int class, v3 d, int active) {
    v3 l = rotate_back(s->r, d), x = {all(0), all(0), all(0)};
    if (class != LN_HULL) x = core_point(c, s, class, l, active);
    else
        for (; active != 0; active &= active - 1) {
            int i = __builtin_ctz((unsigned)active);
            const double one[3] = {l.x[i], l.y[i], l.z[i]};
            double at[3];
            hull_vertex(c, s->shape[i], one, at);
            x.x[i] = at[0], x.y[i] = at[1], x.z[i] = at[2];
        }
    return add3(rotate(s->r, x), s->position);
}

// cone is the hull of the rays p·n + q·(e + m·e') with both pairs of p and q and both m, where e and e' are two
// directions across n, of positive or negative sign.
typedef struct {
    double p[2], q[2], m[2], sign, next; // next is the sign of e'
    int64_t second;                      // all bits if e is the second direction
} cone;

typedef struct {
    cone cones[MAX_CONES];
    int count;
} stack;

INLINE void push(stack *s, cone c) { s->cones[s->count++] = c; }

// push_first pushes the cones that a search starts with, the last of which lie on the boundary of the zone.
INLINE void push_first(stack *s, double cosine) {
    double p = 0x1.6a09e667f3bcdp0 * cosine, q = root1(most1(1 - cosine * cosine, 0)), over = 1 / root1(p * p + q * q);
    s->count = 0;
    for (int k = 0; k < 4; k++) {
        cone c = {{0, p * over}, {1, q * over}, {-1, 1}, k < 2 ? 1 : -1, k == 1 || k == 2 ? -1 : 1, -(k & 1)};
        push(s, c);
        c.p[0] = -1, c.p[1] = 0, c.q[0] = 0, c.q[1] = 1;
        push(s, c);
    }
}

// halve pushes both halves of a cone, across m or not; that beyond the middle is the last one if upper.
INLINE void halve(stack *s, const cone *c, int across, int upper) {
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

#define GATHER(c, field) ((vd){(c)[0]->field, (c)[1]->field, (c)[2]->field, (c)[3]->field})

// job is a row whose other minima are looked for.
typedef struct {
    double rotation[9], position[3], parameter[3];
    const ln_shape *shape;
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

INLINE void set3(v3 *v, int i, const double from[3]) { v->x[i] = from[0], v->y[i] = from[1], v->z[i] = from[2]; }

INLINE void get3(double to[3], v3 v, int i) { to[0] = v.x[i], to[1] = v.y[i], to[2] = v.z[i]; }

INLINE void set_side(side *s, int i, const job_side *from) {
    for (int k = 0; k < 9; k++) s->r[k][i] = from->rotation[k];
    set3(&s->position, i, from->position);
    for (int k = 0; k < 3; k++) s->p[k][i] = from->parameter[k];
    s->shape[i] = from->shape;
}

INLINE void get_side(job_side *to, const side *s, int i) {
    for (int k = 0; k < 9; k++) to->rotation[k] = s->r[k][i];
    get3(to->position, s->position, i);
    for (int k = 0; k < 3; k++) to->parameter[k] = s->p[k][i];
    to->shape = s->shape[i];
}

// search_all lists the rows that may have another minimum: it is found, or not ruled out soon. It returns their number.
// Each lane has a row of its own, and considers one of its cones at a time.
APART int search_all(const ln_call *call, int class_a, int class_b, const jobs *todo, int32_t *listed) {
    stack stacks[W];
    int started = 0, ended = 0, rounds[W];
    const job *at[W];
    side a, b;
    v3 n, e0, e1, known[KNOWN_POINTS];
    vd bound, apart, rolling;
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
        v3 u[4], sum = {all(0), all(0), all(0)};
        vd need[4];
        vm second = {c[0]->second, c[1]->second, c[2]->second, c[3]->second};
        v3 e = scale3(GATHER(c, sign), pick3(second, e1, e0)), next = scale3(GATHER(c, next), pick3(second, e0, e1));
        for (int j = 0; j < 4; j++) {
            vd pj = GATHER(c, p[j & 1]), qj = GATHER(c, q[j & 1]), m = GATHER(c, m[j >> 1]);
            u[j] = axpy3(pj, n, scale3(qj, axpy3(m, next, e)));
            need[j] = bound * root(pj * pj + qj * qj * (1 + m * m));
            sum = add3(sum, u[j]);
        }
        // Known points, and points between two of them.
        vd most[4] = {all(-FAR), all(-FAR), all(-FAR), all(-FAR)}, x[4] = {all(0), all(0), all(0), all(0)};
        vm out = {0};
        {
            vd h[KNOWN_POINTS][4], best = all(-FAR);
            for (int l = 0; l < KNOWN_POINTS; l++) {
                vd least = all(FAR);
                for (int j = 0; j < 4; j++) {
                    h[l][j] = dot3(known[l], u[j]) - need[j];
                    least = lesser(least, h[l][j]);
                    most[j] = greater(most[j], h[l][j]);
                }
                vm better = least > best;
                for (int j = 0; j < 4; j++) x[j] = pick(better, h[l][j], x[j]);
                best = greater(best, least);
            }
            out = best > 0;
            vm low[4];
            vd x_low = lesser(lesser(x[0], x[1]), lesser(x[2], x[3])), y_low = all(-FAR),
               y[4] = {x[0], x[1], x[2], x[3]};
            for (int j = 0; j < 4; j++) low[j] = x[j] == x_low;
            for (int l = 0; l < KNOWN_POINTS; l++) {
                vd at = pick(low[0], h[l][0], pick(low[1], h[l][1], pick(low[2], h[l][2], h[l][3])));
                vm better = at > y_low;
                for (int j = 0; j < 4; j++) y[j] = pick(better, h[l][j], y[j]);
                y_low = greater(y_low, at);
            }
            // On the way from x to y the least component rises until another is the least.
            vd slope = y_low - x_low, t = all(1);
            for (int j = 0; j < 4; j++) {
                vd other = y[j] - x[j];
                t = pick(other < slope, lesser(t, (x[j] - x_low) / (slope - other)), t);
            }
            vm between = ~out;
            for (int j = 0; j < 4; j++) between &= x[j] + t * (y[j] - x[j]) > 0;
            out |= between;
            active &= ~bits(out);
            if (active == 0) continue;
        }
        // The support point, in the direction of the cone with a weight on the corner where the bounds are least.
        vd least = lesser(lesser(most[0], most[1]), lesser(most[2], most[3]));
        vm at1 = most[1] == least, at2 = most[2] == least, at3 = most[3] == least;
        v3 d = pick3(at3, u[3], pick3(at2, u[2], pick3(at1, u[1], u[0])));
        d = axpy3(all(LEAN), d, sum);
        d = scale3(1 / root(dot3(d, d)), d);
        v3 point = sub3(core_support(call, &a, class_a, d, active), core_support(call, &b, class_b, neg3(d), active));
        point = axpy3(-rolling, d, point);
        known[slot] = pick3(lanes(active), point, known[slot]);
        int found = active & bits((dot3(point, d) <= bound) & (dot3(d, n) < apart));
        vd h[4];
        for (int j = 0; j < 4; j++) h[j] = dot3(point, u[j]) - need[j];
        active &= ~found & ~bits(lesser(lesser(h[0], h[1]), lesser(h[2], h[3])) > 0);
        // Halves, across the slope of the bound; the longer side counts more.
        vd high = magnitude(GATHER(c, p[0]) * GATHER(c, q[1]) - GATHER(c, p[1]) * GATHER(c, q[0]));
        vd wide = greater(GATHER(c, q[0]), GATHER(c, q[1])) * (GATHER(c, m[1]) - GATHER(c, m[0]));
        vm across = wide * magnitude(h[2] - h[0] + h[3] - h[1]) > high * magnitude(h[1] - h[0] + h[3] - h[2]);
        across = ((across & ~(high > MAX_RATIO * wide)) | (wide > MAX_RATIO * high));
        int is_across = bits(across), upper = bits((across & (at2 | at3)) | (~across & (at3 | (at1 & ~at2))));
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
INLINE void keep(jobs *todo, int first, int kept) {
    int n = first;
    for (int i = first; i < todo->count; i++)
        if (kept >> todo->of[i].lane & 1) todo->of[n++] = todo->of[i];
    todo->count = n;
}

INLINE v3 middle_of(const side *s) {
    return add3(rotate(s->r, (v3){OF_SHAPES(s, middle[0]), OF_SHAPES(s, middle[1]), OF_SHAPES(s, middle[2])}),
                s->position);
}

// box_minimum returns the lanes of two boxes in which the depth is attained along another normal: those of faces, and
// the products of edges.
APART vm box_minimum(const pair *p, const linear *s, vd bound) {
    vm found = {0};
    for (int k = 0; k < 15; k++) {
        const side *of = k < 3 ? &p->a : &p->b;
        int i = k < 6 ? k % 3 : (k - 6) / 3, j = (k - 6) % 3;
        v3 d = {of->r[i], of->r[3 + i], of->r[6 + i]};
        vm counts = {-1, -1, -1, -1};
        if (k >= 6) {
            d = cross3((v3){p->a.r[i], p->a.r[3 + i], p->a.r[6 + i]}, (v3){p->b.r[j], p->b.r[3 + j], p->b.r[6 + j]});
            vd length = root(dot3(d, d));
            counts = length > PARALLEL_SINE;
            d = scale3(1 / length, d);
        }
        vd h = box_support(p->a.p, rotate_back(p->a.r, d)) + box_support(p->b.p, rotate_back(p->b.r, d));
        vd along = dot3(d, p->b.position), same = dot3(d, s->n);
        counts &= ((h - along <= bound) & ~(same > 1 - 1e-12)) | ((h + along <= bound) & ~(same < 1e-12 - 1));
        found |= counts;
    }
    return found;
}

// other_minimum returns the lanes that have another minimum or no zone that is proved here, and adds those to the jobs
// that may have one.
APART int other_minimum(const pair *p, const linear *s, int active, const int64_t row[W], jobs *todo) {
    if (p->class_a == LN_HALFSPACE || p->class_b == LN_HALFSPACE) return 0;
    vd tolerance = EQUAL_TOLERANCE * p->size;
    vd rolling = OF_SHAPES(&p->a, rolling) + OF_SHAPES(&p->b, rolling);
    vd depth = -s->value - p->a.radius - p->b.radius - rolling;
    vm open = lanes(active) & (depth >= -tolerance);
    if (bits(open) == 0) return 0;
    depth = greater(depth, all(0));
    vd bound = depth + tolerance;
    vd zone = proved_zone(p, s, depth, tolerance, rolling, bits(open));
    int unproved = bits(open & ~(zone > 0));
    open &= zone > 0;
    // Balls about the centers.
    v3 c = sub3(middle_of(&p->a), middle_of(&p->b));
    vd r = OF_SHAPES(&p->a, inner) + OF_SHAPES(&p->b, inner) - rolling, along = dot3(c, s->n);
    vd beside = root(greater(dot3(c, c) - along * along, all(0))), v = 1 / zone;
    open &= ~(r - bound - along > v * (2 * beside + v * greater(bound - r - along, all(0))));
    if (p->class_a == LN_BOX && p->class_b == LN_BOX) return unproved | bits(open & box_minimum(p, s, bound));
    int left = bits(open);
    if (left == 0) return unproved;
    zone = lesser(zone, all(1));
    vd square = zone * zone, cosine = (1 - square) / (1 + square), apart = (4 - square) / (4 + square);
    // The principal directions of K: half of the angle of (kxx - kyy, 2·kxy).
    vd x = s->k.xx - s->k.yy, y = 2 * s->k.xy, length = root(x * x + y * y);
    vd k = pick(length > 0, 0.5 * x / length, all(0.5));
    vd c0 = root(greater(0.5 + k, all(0))), s0 = with_sign(root(greater(0.5 - k, all(0))), y);
    v3 e0 = axpy3(s0, s->e1, scale3(c0, s->e0)), e1 = axpy3(c0, s->e1, scale3(-s0, s->e0));
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
