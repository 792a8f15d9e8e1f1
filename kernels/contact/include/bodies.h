// What a step does with the bodies of worlds, a world in each lane of float64: their state before the solve, and after
// it the audit of the energy and the integration. The arithmetic is that of package contact (Simulation.place, advance,
// energy), in its order but for the sums of the audit over contacts, and fuses nothing. The including file defines
// PREPARE and MOVE, the names of the functions, and ISA.

#include <math.h>
#include <stddef.h>

#include "api.h"
#include "../../isa/real64.h"
#include "scalars.h"

#define UNIT_ERROR 0x1p-50 // of the squared length of a quaternion that a step leaves
#define ROUNDING 1e-12     // of the audit: sums of some hundred products
#define SUMS 4             // partial sums of the audit of a world

typedef struct {
    VF x, y, z;
} vec;

typedef struct {
    VF w, x, y, z;
} quat;

INLINE VM equal(VF a, VF b) { return MAND(LE(a, b), LE(b, a)); }
INLINE VM is_finite(VF x) { return equal(x - x, SET1(0)); }
INLINE VF abs_d(VF x) { return COPYSIGN(x, SET1(0)); }

// max_nan is the larger one, and NaN if either is NaN.
INLINE VF max_nan(VF x, VF y) { return SEL(LE(x, x), SEL(LT(y, x), x, y), x); }
INLINE vec splat(const double *p) { return (vec){SET1(p[0]), SET1(p[1]), SET1(p[2])}; }
INLINE vec add(vec a, vec b) { return (vec){a.x + b.x, a.y + b.y, a.z + b.z}; }
INLINE vec sub(vec a, vec b) { return (vec){a.x - b.x, a.y - b.y, a.z - b.z}; }
INLINE vec add_scaled(vec a, VF f, vec b) { return (vec){a.x + f * b.x, a.y + f * b.y, a.z + f * b.z}; }
INLINE vec scale(VF f, vec a) { return (vec){f * a.x, f * a.y, f * a.z}; }
INLINE VF dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
INLINE VF length(vec a) { return SQRT(dot(a, a)); }
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

#include "rotation.h"

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
INLINE int take(const int32_t *list, int32_t n, int32_t i, int32_t *world) {
    int used = n - i < W ? (int)(n - i) : W;
    for (int l = 0; l < W; l++) world[l] = list[i + (l < used ? l : used - 1)];
    return used;
}

CONTACT_PREPARE(PREPARE) {
    int32_t left = 0;
    const contact_fixed *fixed = state->fixed;
    const double *force = state->force;
    double *out = (double *)state->bodies, *inertias = c->inertia, *free_velocities = c->velocity;
    VF dt = SET1(s->time_step);
    for (int32_t i = 0; i < n; i += W) {
        int32_t world[W];
        int used = take(list, n, i, world);
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
            if (fixed[b].radius - fixed[b].radius == 0) rim = SET1(2 * fixed[b].radius) * length(spin);
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
    VF more = length(changed) + reach / dt - gather(body, k, BODY, FIELD(rim));
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
        double term[4][W];
        STOREU(term[0], -fa * dot(p, of_a)); // the work of bodies that do not move
        STOREU(term[1], fb * dot(p, of_b));
        STOREU(term[2], -(l.z * gather(c->target, k, 1, 0)));
        if (!s->convex) {
            vec u = sub(of_b, of_a);
            VF x = dot(t1, u), y = dot(t2, u);
            STOREU(term[3], gather(c->friction, k, 1, 0) * l.z * SQRT(x * x + y * y));
        }
        for (int l0 = 0; l0 < W; l0 += SUMS < W ? SUMS : W)
            for (int j = 0; j < (s->convex ? 3 : 4); j++)
                for (int m = 0; m < (SUMS < W ? SUMS : W); m++) {
                    defect[(i + l0 + m) % SUMS] += term[j][l0 + m];
                    sizes[(i + l0 + m) % SUMS] += __builtin_fabs(term[j][l0 + m]);
                }
    }
    *left += defect[0] + defect[1] + (defect[2] + defect[3]);
    *size += sizes[0] + sizes[1] + (sizes[2] + sizes[3]);
}

CONTACT_MOVE(MOVE) {
    const contact_fixed *fixed = state->fixed;
    for (int32_t i = 0; i < n; i += W) {
        int32_t world[W];
        int used = take(list, n, i, world);
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
            state->allowed[at] = (double)c->count[at] * c->complementarity[at] + ROUNDING * size;
            state->change[at] = !(good >> l & 1) ? -1 : !(calm >> l & 1) ? -2 : speeds[l];
        }
    }
}
