// What a step does with the bodies of worlds, a world in each lane of float64: their state before the solve, and after
// it the audit of the energy and the integration. The arithmetic is that of package contact (Simulation.place, advance,
// energy), in its order but for the sums of the audit over contacts, and fuses nothing.

#include <math.h>
#include <stddef.h>

#include "api.h"
#include "arithmetic.h"
#include "constants.h"

#define SUMS 4 // partial sums of the audit of a world

typedef struct {
    VF x, y, z;
} vec;

typedef struct {
    VF w, x, y, z;
} quat;

INLINE VM is_finite(VF x) { return equal(x - x, SET1(0)); }
INLINE vec splat(const double *p) { return (vec){SET1(p[0]), SET1(p[1]), SET1(p[2])}; }
INLINE vec add(vec a, vec b) { return (vec){a.x + b.x, a.y + b.y, a.z + b.z}; }
INLINE vec sub(vec a, vec b) { return (vec){a.x - b.x, a.y - b.y, a.z - b.z}; }
INLINE vec add_scaled(vec a, VF f, vec b) { return (vec){a.x + f * b.x, a.y + f * b.y, a.z + f * b.z}; }
INLINE vec scale(VF f, vec a) { return (vec){f * a.x, f * a.y, f * a.z}; }
INLINE VF dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
INLINE VF vec_length(vec a) { return SQRT(dot(a, a)); }
INLINE VF taxicab(vec a) { return abs_d(a.x) + abs_d(a.y) + abs_d(a.z); }
INLINE VM finite_vec(vec a) { return MAND(MAND(is_finite(a.x), is_finite(a.y)), is_finite(a.z)); }
INLINE VM is_zero(vec a) { return MAND(MAND(equal(a.x, SET1(0)), equal(a.y, SET1(0))), equal(a.z, SET1(0))); }
INLINE vec choose_vec(VM m, vec a, vec b) { return (vec){SEL(m, a.x, b.x), SEL(m, a.y, b.y), SEL(m, a.z, b.z)}; }
INLINE vec symmetric(const VF *s, vec v) {
    return (vec){s[0] * v.x + s[3] * v.y + s[4] * v.z, s[3] * v.x + s[1] * v.y + s[5] * v.z,
                 s[4] * v.x + s[5] * v.y + s[2] * v.z};
}
INLINE vec times(const VF *m, vec v) {
    return (vec){m[0] * v.x + m[1] * v.y + m[2] * v.z, m[3] * v.x + m[4] * v.y + m[5] * v.z,
                 m[6] * v.x + m[7] * v.y + m[8] * v.z};
}
INLINE vec times_transposed(const VF *m, vec v) {
    return (vec){m[0] * v.x + m[3] * v.y + m[6] * v.z, m[1] * v.x + m[4] * v.y + m[7] * v.z,
                 m[2] * v.x + m[5] * v.y + m[8] * v.z};
}
INLINE quat product(quat a, quat b) {
    return (quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                  a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
INLINE VF square_of(quat q) { return q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z; }

// The rotation of a body in a step at a constant angular momentum, a world in each lane: the arithmetic of
// contact.rotate, in its order, whose comments have the equations.

INLINE vec cross(vec a, vec b) { return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
INLINE quat normalized(quat q) {
    VF f = SET1(1) / SQRT(square_of(q));
    return (quat){f * q.w, f * q.x, f * q.y, f * q.z};
}

// exponential is the quaternion of the rotation by |v| radians about v.
INLINE quat exponential(vec v) {
    VF one = SET1(1), two = SET1(2), square = SET1(0.25) * dot(v, v), part = SET1(0.5);
    VF doubled = SET1(0);
    for (VM big = LE(SET1(SMALL_ANGLE), square); MBITS(big); big = LE(SET1(SMALL_ANGLE), square)) {
        square = SEL(big, SET1(0.25) * square, square), part = SEL(big, SET1(0.5) * part, part);
        doubled = SEL(big, doubled + one, doubled);
    }
    VF sinc =
        one - square * SET1(1. / 6) *
                  (one - square * SET1(1. / 20) * (one - square * SET1(1. / 42) * (one - square * SET1(1. / 72))));
    VF cosine =
        one - square * SET1(1. / 2) *
                  (one - square * SET1(1. / 12) * (one - square * SET1(1. / 30) * (one - square * SET1(1. / 56))));
    VF k = part * sinc;
    quat q = {cosine, k * v.x, k * v.y, k * v.z};
    for (VF i = SET1(0); MBITS(LT(i, doubled)); i += one) {
        VM more = LT(i, doubled);
        VF twice = two * q.w, w = q.w * q.w - q.x * q.x - q.y * q.y - q.z * q.z;
        q = (quat){SEL(more, w, q.w), SEL(more, twice * q.x, q.x), SEL(more, twice * q.y, q.y),
                   SEL(more, twice * q.z, q.z)};
    }
    return q;
}

// rotate_steady rotates by the vector v, in world axes. Lanes that are not finite or too fast keep their rotation.
INLINE VM rotate_steady(quat q, vec v, quat *next, VF *angle) {
    *angle = vec_length(v);
    VM ok = LE(*angle, SET1(MOST_ANGLE));
    *next = normalized(product(exponential(choose_vec(ok, v, (vec){SET1(0), SET1(0), SET1(0)})), q));
    return ok;
}

INLINE VF series(const double *c, VF x, VF z) {
    VF xx = x * x, xz = x * z, zz = z * z;
    VF a = SET1(c[0]) + SET1(c[2]) * x + SET1(c[3]) * z + SET1(c[5]) * xx + SET1(c[6]) * xz + SET1(c[7]) * zz;
    VF b = SET1(c[1]) + SET1(c[4]) * z + SET1(c[8]) * zz;
    return x * a + z * b;
}

INLINE vec moser_veselov(vec w, vec g) {
    VF one = SET1(1), two = SET1(2), more = one + dot(w, w);
    vec c = {more * w.x - g.x * w.y * w.z, more * w.y - g.y * w.z * w.x, more * w.z - g.z * w.x * w.y};
    VM left = MFROM(LANES);
    for (int i = 0; i < TURN_ITERATIONS; i++) {
        VF square = one + dot(c, c);
        vec f = {c.x - square * w.x + g.x * c.y * c.z, c.y - square * w.y + g.y * c.z * c.x,
                 c.z - square * w.z + g.z * c.x * c.y};
        vec u = {one - two * w.x * c.x, g.y * c.z - two * w.y * c.x, g.z * c.y - two * w.z * c.x};
        vec v = {g.x * c.z - two * w.x * c.y, one - two * w.y * c.y, g.z * c.x - two * w.z * c.y};
        vec t = {g.x * c.y - two * w.x * c.z, g.y * c.x - two * w.y * c.z, one - two * w.z * c.z};
        vec vt = cross(v, t);
        VF r = one / dot(u, vt);
        vec change = {r * dot(f, vt), r * dot(f, cross(t, u)), r * dot(f, cross(u, v))};
        c = choose_vec(left, sub(c, change), c);
        left = MANDN(left, LE(dot(change, change), SET1(TURN_CONVERGED * TURN_CONVERGED) * dot(c, c)));
        if (!MBITS(left)) break;
    }
    return c;
}

// rotate finds the rotation of a movable body after a step, and says which lanes are not too fast.
INLINE VM rotate(const contact_fixed *f, quat q, const VF *m, vec l, VF dt, quat *next, VF *angle) {
    const double *a = f->turn, *b = f->spread;
    if (f->round != 0) return rotate_steady(q, scale(dt, scale(SET1(a[1]), l)), next, angle);
    VF one = SET1(1), two = SET1(2), half = SET1(0.5), zero = SET1(0), axes[9];
    for (int i = 0; i < 9; i++) axes[i] = SET1(f->axes[i]);
    vec y = times_transposed(axes, times_transposed(m, l));
    vec yy = {y.x * y.x, y.y * y.y, y.z * y.z};
    VF square = half * (yy.x + yy.y + yy.z), above = half * (SET1(b[2]) * yy.x + SET1(b[1]) * yy.y);
    *angle = dt * SQRT(two * (SET1(a[0]) * above + SET1(a[2]) * (above + SET1(a[2]) * square)));
    VM ok = LE(*angle, SET1(TURN_ANGLE * MOST_TURNS));
    y = choose_vec(ok, y, (vec){zero, zero, zero});
    double steps[W];
    STOREU(steps, SEL(ok, *angle, zero) * SET1(1 / TURN_ANGLE));
    for (int k = 0; k < W; k++) steps[k] = 1 + (double)(int)steps[k];
    VF turns = LOADU(steps), h = dt / turns;
    VF x = h * SET1(a[0]) * (h * (half * (SET1(b[0]) * yy.x - SET1(b[1]) * yy.z)));
    VF z = h * SET1(a[1]) * (h * SET1(a[1]) * square);
    VF s = one + series(f->series, x, z), d = SET1(a[1]) * series(f->series + 9, x, z);
    vec i = {SET1(a[0]) * s + d, SET1(a[1]) * s + d, SET1(a[2]) * s + d};
    vec g = {s * SET1(b[1]) * i.x / (i.y * i.z), -(s * SET1(b[2]) * i.y / (i.x * i.z)),
             s * SET1(b[0]) * i.z / (i.x * i.y)};
    i = scale(half * h, i);
    quat p = {one, zero, zero, zero};
    for (VF done = zero; MBITS(LT(done, turns)); done += one) {
        VM more = LT(done, turns);
        vec c = moser_veselov((vec){i.x * y.x, i.y * y.y, i.z * y.z}, g);
        VF norm = one + dot(c, c);
        vec t = cross(c, y);
        y = choose_vec(more, add_scaled(y, two / norm, sub(cross(c, t), t)), y);
        VF r = one / SQRT(norm);
        quat n = product(p, (quat){r, r * c.x, r * c.y, r * c.z});
        p = (quat){SEL(more, n.w, p.w), SEL(more, n.x, p.x), SEL(more, n.y, p.y), SEL(more, n.z, p.z)};
    }
    vec v = times(axes, (vec){p.x, p.y, p.z});
    *next = normalized(product(q, (quat){p.w, v.x, v.y, v.z}));
    return ok;
}

INLINE void matrix(quat q, VF *m) {
    VF one = SET1(1), w = q.w, x = q.x, y = q.y, z = q.z, s = SET1(2) / square_of(q);
    m[0] = one - s * (y * y + z * z), m[1] = s * (x * y - w * z), m[2] = s * (x * z + w * y);
    m[3] = s * (x * y + w * z), m[4] = one - s * (x * x + z * z), m[5] = s * (y * z - w * x);
    m[6] = s * (x * z - w * y), m[7] = s * (y * z + w * x), m[8] = one - s * (x * x + y * y);
}

// rotated is m·a·mᵀ.
INLINE void rotated(const VF *m, const VF *a, VF *out) {
    vec r[3] = {{m[0], m[1], m[2]}, {m[3], m[4], m[5]}, {m[6], m[7], m[8]}};
    vec x = symmetric(a, r[0]), y = symmetric(a, r[1]), z = symmetric(a, r[2]);
    out[0] = dot(r[0], x), out[1] = dot(r[1], y), out[2] = dot(r[2], z);
    out[3] = dot(r[1], x), out[4] = dot(r[2], x), out[5] = dot(r[2], y);
}

// spin_of is the angular velocity of a rotation and an angular momentum.
INLINE vec spin_of(const VF *m, const VF *inverse, vec momentum) {
    return times(m, symmetric(inverse, times_transposed(m, momentum)));
}

// gather reads a column of each world, which is at offset at of rows of so many numbers.
INLINE VF gather(const double *p, const int64_t *row, int64_t width, int at) {
    double x[W];
    for (int l = 0; l < W; l++) x[l] = p[row[l] * width + at];
    return LOADU(x);
}
INLINE void gather4(VF out[4], const double *p, const int64_t *row, int64_t width, int at) {
    const double *from[W];
    for (int l = 0; l < W; l++) from[l] = p + row[l] * width + at;
    ROWS(out, from, 15);
}
INLINE vec gather_vec(const double *p, const int64_t *row, int64_t width, int at) {
    const double *from[W];
    VF out[4];
    for (int l = 0; l < W; l++) from[l] = p + row[l] * width + at;
    ROWS(out, from, 7);
    return (vec){out[0], out[1], out[2]};
}
INLINE quat gather_quat(const double *p, const int64_t *row, int64_t width, int at) {
    VF q[4];
    gather4(q, p, row, width, at);
    return (quat){q[0], q[1], q[2], q[3]};
}
INLINE void scatter4(double *p, const int64_t *row, int64_t width, int at, VF a, VF b, VF c, VF d) {
    double x[4][W];
    STOREU(x[0], a), STOREU(x[1], b), STOREU(x[2], c), STOREU(x[3], d);
    for (int l = 0; l < W; l++)
        for (int i = 0; i < 4; i++) p[row[l] * width + at + i] = x[i][l];
}
INLINE void scatter2(double *p, const int64_t *row, int64_t width, int at, VF a, VF b) {
    double x[2][W];
    STOREU(x[0], a), STOREU(x[1], b);
    for (int l = 0; l < W; l++) p[row[l] * width + at] = x[0][l], p[row[l] * width + at + 1] = x[1][l];
}
INLINE void scatter(double *p, const int64_t *row, int64_t width, int at, VF a) {
    double x[W];
    STOREU(x, a);
    for (int l = 0; l < W; l++) p[row[l] * width + at] = x[l];
}

#define BODY ((int64_t)(sizeof(contact_body) / sizeof(double)))
#define FIELD(name) ((int)(offsetof(contact_body, name) / sizeof(double)))

// A group is up to W worlds of a list; lanes beyond repeat the last one.
INLINE int take_worlds(const int32_t *list, int32_t n, int32_t i, int32_t *world) {
    int used = n - i < W ? (int)(n - i) : W;
    for (int l = 0; l < W; l++) world[l] = list[i + (l < used ? l : used - 1)];
    return used;
}

static CONTACT_PREPARE(prepare_bodies) {
    int32_t left = 0;
    const contact_fixed *fixed = state->fixed;
    const double *force = state->force;
    double *out = (double *)state->bodies, *inertias = c->inertia, *free_velocities = c->velocity;
    VF dt = SET1(s->time_step);
    for (int32_t i = 0; i < n; i += W) {
        int32_t world[W];
        int used = take_worlds(list, n, i, world);
        VM valid = MFROM(LANES);
        for (int b = 0; b < s->bodies; b++) {
            int64_t k[W];
            for (int l = 0; l < W; l++) k[l] = (int64_t)world[l] * s->bodies + b;
            vec position = gather_vec(state->pose, k, 7, 0), velocity = gather_vec(state->velocities, k, 3, 0);
            vec momentum = gather_vec(state->momenta, k, 3, 0), spin = momentum, after = momentum;
            quat q = gather_quat(state->pose, k, 7, 3);
            VM is_unit = LE(abs_d(square_of(q) - SET1(1)), SET1(UNIT_ERROR));
            VM is_near = LE(taxicab(position), SET1(s->most_length));
            valid = MAND(valid, MAND(is_unit, is_near));
            valid = MAND(valid, MAND(finite_vec(velocity), finite_vec(momentum)));
            VF m[9], inertia[6], inverse[6];
            matrix(q, m);
            vec center = add(position, times(m, splat(fixed[b].center)));
            vec free = velocity, free_spin = spin;
            int movable = fixed[b].mass - fixed[b].mass == 0;
            if (movable) {
                for (int j = 0; j < 6; j++) {
                    inertia[j] = SET1(fixed[b].inertia[j]);
                    inverse[j] = SET1(fixed[b].inverse[j]);
                }
                spin = spin_of(m, inverse, momentum);
                free = add_scaled(free, dt, splat(s->gravity));
                free_spin = spin;
                if (force) {
                    after = add_scaled(momentum, dt, gather_vec(force, k, 6, 3));
                    free = add_scaled(free, SET1(s->time_step / fixed[b].mass), gather_vec(force, k, 6, 0));
                    free_spin = spin_of(m, inverse, after);
                }
                VF turned[6];
                rotated(m, inertia, turned);
                scatter4(inertias, k, 6, 0, turned[0], turned[1], turned[2], turned[3]);
                scatter2(inertias, k, 6, 4, turned[4], turned[5]);
            }
            valid = MAND(valid, MAND(finite_vec(free), finite_vec(free_spin)));
            VF rim = SET1(0);
            if (fixed[b].radius - fixed[b].radius == 0) rim = SET1(2 * fixed[b].radius) * vec_length(spin);
            scatter4(out, k, BODY, FIELD(position), position.x, position.y, position.z, q.w);
            scatter4(out, k, BODY, FIELD(position) + 4, q.x, q.y, q.z, m[0]);
            scatter4(out, k, BODY, FIELD(matrix) + 1, m[1], m[2], m[3], m[4]);
            scatter4(out, k, BODY, FIELD(matrix) + 5, m[5], m[6], m[7], m[8]);
            scatter4(out, k, BODY, FIELD(center), center.x, center.y, center.z, velocity.x);
            scatter4(out, k, BODY, FIELD(velocity) + 1, velocity.y, velocity.z, spin.x, spin.y);
            scatter4(out, k, BODY, FIELD(spin) + 2, spin.z, rim, after.x, after.y);
            scatter(out, k, BODY, FIELD(momentum) + 2, after.z);
            scatter4(free_velocities, k, 6, 0, free.x, free.y, free.z, free_spin.x);
            scatter2(free_velocities, k, 6, 4, free_spin.y, free_spin.z);
        }
        unsigned good = MBITS(valid);
        for (int l = 0; l < used; l++)
            if (!(good >> l & 1)) list[left++] = world[l];
    }
    return left;
}

// The sums of the audit: the error of the identity, and the magnitudes of its terms.
typedef struct {
    VF defect, size;
} sums;

INLINE void add_term(sums *t, VF x) {
    t->defect += x;
    t->size += abs_d(x);
}

// advance finds where the velocities of the solve take a body, and whether its state is finite then, and it is not too
// fast.
INLINE VM advance(const contact_scene *s, const contact_state *state, int b, const int64_t *k, vec v, vec w,
                  vec free_spin, const VF *inertia, VF *change, VM *slow) {
    const contact_fixed *fixed = state->fixed;
    const double *pose = state->pose;
    VF dt = SET1(s->time_step), zero = SET1(0);
    double *body = (double *)state->bodies;
    vec before = gather_vec(pose, k, 7, 0), momentum = gather_vec(body, k, BODY, FIELD(momentum));
    VM valid = MAND(MAND(finite_vec(v), finite_vec(w)), finite_vec(add_scaled(before, dt, v)));
    quat q = gather_quat(body, k, BODY, FIELD(rotation));
    int movable = fixed[b].mass - fixed[b].mass == 0;
    VF angle, reach = zero;
    quat r;
    if (movable) {
        VF m[9];
        gather4(m, body, k, BODY, FIELD(matrix)), gather4(m + 4, body, k, BODY, FIELD(matrix) + 4);
        m[8] = gather(body, k, BODY, FIELD(matrix) + 8);
        momentum = add(momentum, symmetric(inertia, sub(w, free_spin)));
        *slow = MAND(*slow, rotate(fixed + b, q, m, momentum, dt, &r, &angle));
    } else {
        *slow = MAND(*slow, rotate_steady(q, scale(dt, w), &r, &angle));
    }
    if (fixed[b].arm - fixed[b].arm == 0) reach = angle * SET1(fixed[b].arm);
    else reach = SEL(equal(angle, zero), zero, SET1(fixed[b].arm));
    vec position = add_scaled(gather_vec(body, k, BODY, FIELD(center)), dt, v);
    const double *center = fixed[b].center;
    if (center[0] != 0 || center[1] != 0 || center[2] != 0) {
        VF m[9];
        matrix(r, m);
        position = sub(position, times(m, splat(center)));
    }
    if (!movable) { // what rests keeps its bits
        VM rests = MAND(is_zero(v), is_zero(w));
        quat old = gather_quat(pose, k, 7, 3);
        position = choose_vec(rests, before, position);
        r.w = SEL(rests, old.w, r.w), r.x = SEL(rests, old.x, r.x);
        r.y = SEL(rests, old.y, r.y), r.z = SEL(rests, old.z, r.z);
    }
    vec changed = sub(v, gather_vec(body, k, BODY, FIELD(velocity)));
    VF more = vec_length(changed) + reach / dt - gather(body, k, BODY, FIELD(rim));
    *change = max_nan(more, *change);
    scatter4(body, k, BODY, FIELD(next_position), position.x, position.y, position.z, r.w);
    scatter4(body, k, BODY, FIELD(next_rotation) + 1, r.x, r.y, r.z, v.x);
    scatter4(body, k, BODY, FIELD(next_velocity) + 1, v.y, v.z, momentum.x, momentum.y);
    scatter2(body, k, BODY, FIELD(next_momentum) + 2, momentum.z, angle);
    scatter(body, k, BODY, FIELD(reach), reach);
    return valid;
}

// The velocity of the point of a body at an arm.
INLINE vec point_velocity(const double *solved, const int64_t *body, vec r) {
    vec v = gather_vec(solved, body, 6, 0), w = gather_vec(solved, body, 6, 3);
    return (vec){v.x + w.y * r.z - w.z * r.y, v.y + w.z * r.x - w.x * r.z, v.z + w.x * r.y - w.y * r.x};
}

// audit_contacts adds the terms of the contacts of a world, W at a time, and writes their impulses in world axes. The
// terms are summed in four partial sums, by the index of the contact modulo 4, so that the bits are the same for any W.
INLINE void audit_contacts(const contact_scene *s, const contact_fixed *fixed, const contact_columns *c, int32_t world,
                           double *world_impulse, double *left, double *size) {
    const double *solved = c->solved;
    int n = c->count[world];
    int64_t first = (int64_t)world * s->contacts, first_body = (int64_t)world * s->bodies;
    double defect[SUMS] = {0}, sizes[SUMS] = {0};
    for (int i = 0; i < n; i += W) {
        int64_t k[W], a[W], b[W];
        double fixed_a[W], fixed_b[W], in[W];
        for (int l = 0; l < W; l++) {
            k[l] = first + (i + l < n ? i + l : i);
            in[l] = i + l < n ? 1 : 0;
            int32_t ba = c->body_a[k[l]], bb = c->body_b[k[l]];
            a[l] = first_body + ba, b[l] = first_body + bb;
            fixed_a[l] = fixed[ba].mass - fixed[ba].mass != 0, fixed_b[l] = fixed[bb].mass - fixed[bb].mass != 0;
        }
        VF used = LOADU(in), fa = LOADU(fixed_a), fb = LOADU(fixed_b);
        vec t1 = gather_vec(c->frame, k, 9, 0), t2 = gather_vec(c->frame, k, 9, 3), nn = gather_vec(c->frame, k, 9, 6);
        vec l = scale(used, gather_vec(c->impulse, k, 3, 0));
        vec p = add_scaled(add_scaled(scale(l.x, t1), l.y, t2), l.z, nn);
        double px[W], py[W], pz[W];
        STOREU(px, p.x), STOREU(py, p.y), STOREU(pz, p.z);
        for (int j = 0; j < W && i + j < n; j++) {
            double *to = world_impulse + 3 * (i + j);
            to[0] = px[j], to[1] = py[j], to[2] = pz[j];
        }
        vec of_a = point_velocity(solved, a, gather_vec(c->arm_a, k, 3, 0));
        vec of_b = point_velocity(solved, b, gather_vec(c->arm_b, k, 3, 0));
        double term[5][W];
        int terms = 3;
        STOREU(term[0], -fa * dot(p, of_a)); // the work of bodies that do not move
        STOREU(term[1], fb * dot(p, of_b));
        STOREU(term[2], -(l.z * gather(c->target, k, 1, 0)));
        vec u = sub(of_b, of_a);
        VF x = dot(t1, u), y = dot(t2, u);
        if (c->compliance) {
            VF rt = gather(c->compliance, k, 2, 0), rn = gather(c->compliance, k, 2, 1);
            STOREU(term[terms++], rt * (l.x * l.x + l.y * l.y) + rn * (l.z * l.z)); // λᵀRλ
            x += rt * l.x, y += rt * l.y;
        }
        if (!s->convex) STOREU(term[terms++], gather(c->friction, k, 1, 0) * l.z * SQRT(x * x + y * y));
        for (int l0 = 0; l0 < W; l0 += SUMS < W ? SUMS : W)
            for (int j = 0; j < terms; j++)
                for (int m = 0; m < (SUMS < W ? SUMS : W); m++) {
                    defect[(i + l0 + m) % SUMS] += term[j][l0 + m];
                    sizes[(i + l0 + m) % SUMS] += __builtin_fabs(term[j][l0 + m]);
                }
    }
    *left += defect[0] + defect[1] + (defect[2] + defect[3]);
    *size += sizes[0] + sizes[1] + (sizes[2] + sizes[3]);
}

static CONTACT_MOVE(move_bodies) {
    const contact_fixed *fixed = state->fixed;
    for (int32_t i = 0; i < n; i += W) {
        int32_t world[W];
        int used = take_worlds(list, n, i, world);
        VM valid = MFROM(LANES), slow = valid;
        VF most = SET1(0);
        sums t = {SET1(0), SET1(0)};
        for (int b = 0; b < s->bodies; b++) {
            int64_t k[W];
            for (int l = 0; l < W; l++) k[l] = (int64_t)world[l] * s->bodies + b;
            vec v = gather_vec(c->solved, k, 6, 0), w = gather_vec(c->solved, k, 6, 3);
            vec free_spin = gather_vec(c->velocity, k, 6, 3);
            VF inertia[6] = {SET1(0), SET1(0), SET1(0), SET1(0), SET1(0), SET1(0)};
            if (fixed[b].mass - fixed[b].mass == 0) {
                gather4(inertia, c->inertia, k, 6, 0);
                inertia[4] = gather(c->inertia, k, 6, 4), inertia[5] = gather(c->inertia, k, 6, 5);
                VF mass = SET1(fixed[b].mass);
                vec dv = sub(v, gather_vec(c->velocity, k, 6, 0));
                vec dw = sub(w, free_spin);
                add_term(&t, mass * dot(v, dv));
                add_term(&t, dot(w, symmetric(inertia, dw)));
                t.size += mass * dot(v, v) + dot(w, symmetric(inertia, w));
            }
            valid = MAND(valid, advance(s, state, b, k, v, w, free_spin, inertia, &most, &slow));
        }
        unsigned good = MBITS(valid), calm = MBITS(slow);
        double defect[W], sizes[W], speeds[W];
        STOREU(defect, t.defect), STOREU(sizes, t.size), STOREU(speeds, most);
        for (int l = 0; l < used; l++) {
            int32_t at = world[l];
            double left = defect[l], size = sizes[l];
            int64_t side = 2 * (int64_t)at + (state->sides[at] ? 0 : 1); // the one that is not in use
            audit_contacts(s, fixed, c, at, state->world_impulse + 3 * s->contacts * side, &left, &size);
            state->energy[at] = left;
            state->allowed[at] = (double)c->count[at] * c->complementarity[at] + AUDIT_ROUNDING * size;
            state->change[at] = !(good >> l & 1) ? NOT_FINITE : !(calm >> l & 1) ? TOO_FAST : speeds[l];
        }
    }
}
