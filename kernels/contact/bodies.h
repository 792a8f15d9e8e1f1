// What a step does with the bodies of worlds, four worlds in the lanes of vectors of float64: their state before the
// solve, and after it the audit of the energy and the integration. The arithmetic is that of package contact
// (Simulation.place, advance, energy), in its order but for the sums of the audit over contacts. The including file
// defines PREPARE and MOVE, the names of the functions, and LANES_AVX2 where it is compiled for AVX2.

#include <math.h>
#include <stddef.h>

#include "api.h"
#include "vectors.h"

#define LANES 4
#define UNIT_ERROR 0x1p-50 // of the squared length of a quaternion that a step leaves
#define ROUNDING 1e-12     // of the audit: sums of some hundred products

typedef struct {
    vd x, y, z;
} vec;

typedef struct {
    vd w, x, y, z;
} quat;

INLINE vdm equal(vd a, vd b) { return a == b; }
INLINE vdm is_finite(vd x) { return x - x == set_d(0); }
INLINE vec splat(const double *p) { return (vec){set_d(p[0]), set_d(p[1]), set_d(p[2])}; }
INLINE vec add(vec a, vec b) { return (vec){a.x + b.x, a.y + b.y, a.z + b.z}; }
INLINE vec sub(vec a, vec b) { return (vec){a.x - b.x, a.y - b.y, a.z - b.z}; }
INLINE vec add_scaled(vec a, vd f, vec b) { return (vec){a.x + f * b.x, a.y + f * b.y, a.z + f * b.z}; }
INLINE vec scale(vd f, vec a) { return (vec){f * a.x, f * a.y, f * a.z}; }
INLINE vd dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
INLINE vd length(vec a) { return sqrt_d(dot(a, a)); }
INLINE vd taxicab(vec a) { return abs_d(a.x) + abs_d(a.y) + abs_d(a.z); }
INLINE vdm finite_vec(vec a) { return is_finite(a.x) & is_finite(a.y) & is_finite(a.z); }
INLINE vec choose_vec(vdm m, vec a, vec b) {
    return (vec){choose_d(m, a.x, b.x), choose_d(m, a.y, b.y), choose_d(m, a.z, b.z)};
}
INLINE vec symmetric(const vd *s, vec v) {
    return (vec){s[0] * v.x + s[3] * v.y + s[4] * v.z, s[3] * v.x + s[1] * v.y + s[5] * v.z,
                 s[4] * v.x + s[5] * v.y + s[2] * v.z};
}
INLINE vec times(const vd *m, vec v) {
    return (vec){m[0] * v.x + m[1] * v.y + m[2] * v.z, m[3] * v.x + m[4] * v.y + m[5] * v.z,
                 m[6] * v.x + m[7] * v.y + m[8] * v.z};
}
INLINE vec times_transposed(const vd *m, vec v) {
    return (vec){m[0] * v.x + m[3] * v.y + m[6] * v.z, m[1] * v.x + m[4] * v.y + m[7] * v.z,
                 m[2] * v.x + m[5] * v.y + m[8] * v.z};
}
INLINE quat product(quat a, quat b) {
    return (quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                  a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
INLINE vd square_of(quat q) { return q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z; }

#include "rotation.h"

INLINE void matrix(quat q, vd *m) {
    vd one = set_d(1), w = q.w, x = q.x, y = q.y, z = q.z, s = set_d(2) / square_of(q);
    m[0] = one - s * (y * y + z * z), m[1] = s * (x * y - w * z), m[2] = s * (x * z + w * y);
    m[3] = s * (x * y + w * z), m[4] = one - s * (x * x + z * z), m[5] = s * (y * z - w * x);
    m[6] = s * (x * z - w * y), m[7] = s * (y * z + w * x), m[8] = one - s * (x * x + y * y);
}

// rotated is m·a·mᵀ.
INLINE void rotated(const vd *m, const vd *a, vd *out) {
    vec r[3] = {{m[0], m[1], m[2]}, {m[3], m[4], m[5]}, {m[6], m[7], m[8]}};
    vec x = symmetric(a, r[0]), y = symmetric(a, r[1]), z = symmetric(a, r[2]);
    out[0] = dot(r[0], x), out[1] = dot(r[1], y), out[2] = dot(r[2], z);
    out[3] = dot(r[1], x), out[4] = dot(r[2], x), out[5] = dot(r[2], y);
}

// spin_of is the angular velocity of a rotation and an angular momentum.
INLINE vec spin_of(const vd *m, const vd *inverse, vec momentum) {
    return times(m, symmetric(inverse, times_transposed(m, momentum)));
}

// gather reads a column of each world, which is at offset at of rows of so many numbers.
INLINE vd gather(const double *p, const int64_t *row, int64_t width, int at) {
    return (vd){p[row[0] * width + at], p[row[1] * width + at], p[row[2] * width + at], p[row[3] * width + at]};
}
INLINE vec gather_vec(const double *p, const int64_t *row, int64_t width, int at) {
    return (vec){gather(p, row, width, at), gather(p, row, width, at + 1), gather(p, row, width, at + 2)};
}
INLINE void scatter4(double *p, const int64_t *row, int64_t width, int at, vd a, vd b, vd c, vd d) {
    for (int l = 0; l < LANES; l++) {
        vd x = {a[l], b[l], c[l], d[l]};
        memcpy(p + row[l] * width + at, &x, sizeof x);
    }
}
INLINE void scatter2(double *p, const int64_t *row, int64_t width, int at, vd a, vd b) {
    for (int l = 0; l < LANES; l++) p[row[l] * width + at] = a[l], p[row[l] * width + at + 1] = b[l];
}

#define BODY ((int64_t)(sizeof(lanes_body) / sizeof(double)))
#define FIELD(name) ((int)(offsetof(lanes_body, name) / sizeof(double)))

// A group is up to four worlds of a list; lanes beyond repeat the last one.
INLINE int take(const int32_t *list, int32_t n, int32_t i, int32_t *world) {
    int used = n - i < LANES ? (int)(n - i) : LANES;
    for (int l = 0; l < LANES; l++) world[l] = list[i + (l < used ? l : used - 1)];
    return used;
}

LANES_PREPARE(PREPARE) {
    int32_t left = 0;
    vd dt = set_d(s->time_step);
    for (int32_t i = 0; i < n; i += LANES) {
        int32_t world[LANES];
        int used = take(list, n, i, world);
        vdm valid = {-1, -1, -1, -1};
        for (int b = 0; b < s->bodies; b++) {
            int64_t k[LANES];
            for (int l = 0; l < LANES; l++) k[l] = (int64_t)world[l] * s->bodies + b;
            vec position = gather_vec(pose, k, 7, 0), velocity = gather_vec(velocities, k, 3, 0);
            vec momentum = gather_vec(momenta, k, 3, 0), spin = momentum, after = momentum;
            quat q = {gather(pose, k, 7, 3), gather(pose, k, 7, 4), gather(pose, k, 7, 5), gather(pose, k, 7, 6)};
            valid &= abs_d(square_of(q) - set_d(1)) <= set_d(UNIT_ERROR);
            valid &= taxicab(position) <= set_d(s->most_length);
            valid &= finite_vec(velocity) & finite_vec(momentum);
            vd m[9], inertia[6], inverse[6];
            matrix(q, m);
            vec center = add(position, times(m, splat(fixed[b].center)));
            vec free = velocity, free_spin = spin;
            int movable = fixed[b].mass - fixed[b].mass == 0;
            if (movable) {
                for (int j = 0; j < 6; j++) {
                    inertia[j] = set_d(fixed[b].inertia[j]);
                    inverse[j] = set_d(fixed[b].inverse[j]);
                }
                spin = spin_of(m, inverse, momentum);
                free = add_scaled(free, dt, splat(s->gravity));
                free_spin = spin;
                if (force) {
                    after = add_scaled(momentum, dt, gather_vec(force, k, 6, 3));
                    free = add_scaled(free, set_d(s->time_step / fixed[b].mass), gather_vec(force, k, 6, 0));
                    free_spin = spin_of(m, inverse, after);
                }
                vd turned[6];
                rotated(m, inertia, turned);
                scatter4(inertias, k, 6, 0, turned[0], turned[1], turned[2], turned[3]);
                scatter2(inertias, k, 6, 4, turned[4], turned[5]);
            }
            valid &= finite_vec(free) & finite_vec(free_spin);
            vd rim = set_d(0);
            if (fixed[b].radius - fixed[b].radius == 0) rim = set_d(2 * fixed[b].radius) * length(spin);
            double *out = (double *)bodies;
            scatter4(out, k, BODY, FIELD(position), position.x, position.y, position.z, q.w);
            scatter4(out, k, BODY, FIELD(position) + 4, q.x, q.y, q.z, m[0]);
            scatter4(out, k, BODY, FIELD(matrix) + 1, m[1], m[2], m[3], m[4]);
            scatter4(out, k, BODY, FIELD(matrix) + 5, m[5], m[6], m[7], m[8]);
            scatter4(out, k, BODY, FIELD(center), center.x, center.y, center.z, velocity.x);
            scatter4(out, k, BODY, FIELD(velocity) + 1, velocity.y, velocity.z, spin.x, spin.y);
            scatter4(out, k, BODY, FIELD(spin) + 2, spin.z, rim, after.x, after.y);
            for (int l = 0; l < LANES; l++) out[k[l] * BODY + FIELD(momentum) + 2] = after.z[l];
            scatter4(free_velocities, k, 6, 0, free.x, free.y, free.z, free_spin.x);
            scatter2(free_velocities, k, 6, 4, free_spin.y, free_spin.z);
        }
        unsigned good = bits(valid);
        for (int l = 0; l < used; l++)
            if (!(good >> l & 1)) list[left++] = world[l];
    }
    return left;
}

// The sums of the audit: the error of the identity, and the magnitudes of its terms.
typedef struct {
    vd defect, size;
} sums;

INLINE void add_term(sums *t, vd x) {
    t->defect += x;
    t->size += abs_d(x);
}

// advance finds where the velocities of the solve take a body, and whether its state is finite then, and it is not too
// fast.
INLINE vdm advance(const lanes_scene *s, const lanes_fixed *fixed, int b, const int64_t *k, vec v, vec w, vec free_spin,
                   const vd *inertia, lanes_body *bodies, const double *pose, vd *change, vdm *slow) {
    vd dt = set_d(s->time_step), zero = set_d(0);
    double *body = (double *)bodies;
    vec before = gather_vec(pose, k, 7, 0), momentum = gather_vec(body, k, BODY, FIELD(momentum));
    vdm valid = finite_vec(v) & finite_vec(w) & finite_vec(add_scaled(before, dt, v));
    quat q = {gather(body, k, BODY, FIELD(rotation)), gather(body, k, BODY, FIELD(rotation) + 1),
              gather(body, k, BODY, FIELD(rotation) + 2), gather(body, k, BODY, FIELD(rotation) + 3)};
    int movable = fixed[b].mass - fixed[b].mass == 0;
    vd angle, reach = zero;
    quat r;
    if (movable) {
        vd m[9];
        for (int j = 0; j < 9; j++) m[j] = gather(body, k, BODY, FIELD(matrix) + j);
        momentum = add(momentum, symmetric(inertia, sub(w, free_spin)));
        *slow &= rotate(fixed + b, q, m, momentum, dt, &r, &angle);
    } else {
        *slow &= rotate_steady(q, scale(dt, w), &r, &angle);
    }
    if (fixed[b].arm - fixed[b].arm == 0) reach = angle * set_d(fixed[b].arm);
    else reach = choose_d(angle != zero, set_d(fixed[b].arm), zero);
    vec position = add_scaled(gather_vec(body, k, BODY, FIELD(center)), dt, v);
    const double *center = fixed[b].center;
    if (center[0] != 0 || center[1] != 0 || center[2] != 0) {
        vd m[9];
        matrix(r, m);
        position = sub(position, times(m, splat(center)));
    }
    if (!movable) { // what rests keeps its bits
        vdm rests = equal(v.x, zero) & equal(v.y, zero) & equal(v.z, zero) & equal(w.x, zero) & equal(w.y, zero) &
                    equal(w.z, zero);
        position = choose_vec(rests, before, position);
        r.w = choose_d(rests, gather(pose, k, 7, 3), r.w), r.x = choose_d(rests, gather(pose, k, 7, 4), r.x);
        r.y = choose_d(rests, gather(pose, k, 7, 5), r.y), r.z = choose_d(rests, gather(pose, k, 7, 6), r.z);
    }
    vec changed = sub(v, gather_vec(body, k, BODY, FIELD(velocity)));
    vd more = length(changed) + reach / dt - gather(body, k, BODY, FIELD(rim));
    *change = max_nan(more, *change);
    scatter4(body, k, BODY, FIELD(next_position), position.x, position.y, position.z, r.w);
    scatter4(body, k, BODY, FIELD(next_rotation) + 1, r.x, r.y, r.z, v.x);
    scatter4(body, k, BODY, FIELD(next_velocity) + 1, v.y, v.z, momentum.x, momentum.y);
    scatter2(body, k, BODY, FIELD(next_momentum) + 2, momentum.z, angle);
    for (int l = 0; l < LANES; l++) body[k[l] * BODY + FIELD(reach)] = reach[l];
    return valid;
}

// The velocity of the point of a body at an arm.
INLINE vec point_velocity(const double *solved, const int64_t *body, vec r) {
    vec v = gather_vec(solved, body, 6, 0), w = gather_vec(solved, body, 6, 3);
    return (vec){v.x + w.y * r.z - w.z * r.y, v.y + w.z * r.x - w.x * r.z, v.z + w.x * r.y - w.y * r.x};
}

// audit_contacts adds the terms of the contacts of a world, four at a time, and writes their impulses in world axes.
INLINE void audit_contacts(const lanes_scene *s, const lanes_fixed *fixed, const lanes_contacts *c, int32_t world,
                           const double *solved, double *world_impulse, double *left, double *size) {
    int n = c->count[world];
    int64_t first = (int64_t)world * s->contacts, first_body = (int64_t)world * s->bodies;
    sums t = {set_d(0), set_d(0)};
    for (int i = 0; i < n; i += LANES) {
        int64_t k[LANES], a[LANES], b[LANES];
        double fixed_a[LANES], fixed_b[LANES], in[LANES];
        for (int l = 0; l < LANES; l++) {
            k[l] = first + (i + l < n ? i + l : i);
            in[l] = i + l < n ? 1 : 0;
            int32_t ba = c->body_a[k[l]], bb = c->body_b[k[l]];
            a[l] = first_body + ba, b[l] = first_body + bb;
            fixed_a[l] = fixed[ba].mass - fixed[ba].mass != 0, fixed_b[l] = fixed[bb].mass - fixed[bb].mass != 0;
        }
        vd used, fa, fb;
        memcpy(&used, in, sizeof used), memcpy(&fa, fixed_a, sizeof fa), memcpy(&fb, fixed_b, sizeof fb);
        vec t1 = gather_vec(c->frame, k, 9, 0), t2 = gather_vec(c->frame, k, 9, 3), nn = gather_vec(c->frame, k, 9, 6);
        vec l = scale(used, gather_vec(c->impulse, k, 3, 0));
        vec p = add_scaled(add_scaled(scale(l.x, t1), l.y, t2), l.z, nn);
        for (int j = 0; j < LANES && i + j < n; j++) {
            double *to = world_impulse + 3 * (i + j);
            to[0] = p.x[j], to[1] = p.y[j], to[2] = p.z[j];
        }
        vec of_a = point_velocity(solved, a, gather_vec(c->arm_a, k, 3, 0));
        vec of_b = point_velocity(solved, b, gather_vec(c->arm_b, k, 3, 0));
        add_term(&t, -fa * dot(p, of_a)); // the work of bodies that do not move
        add_term(&t, fb * dot(p, of_b));
        add_term(&t, -(l.z * gather(c->target, k, 1, 0)));
        if (!s->convex) {
            vec u = sub(of_b, of_a);
            vd x = dot(t1, u), y = dot(t2, u);
            add_term(&t, gather(c->friction, k, 1, 0) * l.z * sqrt_d(x * x + y * y));
        }
    }
    *left += t.defect[0] + t.defect[1] + (t.defect[2] + t.defect[3]);
    *size += t.size[0] + t.size[1] + (t.size[2] + t.size[3]);
}

LANES_MOVE(MOVE) {
    for (int32_t i = 0; i < n; i += LANES) {
        int32_t world[LANES];
        int used = take(list, n, i, world);
        vdm valid = {-1, -1, -1, -1}, slow = valid;
        vd most = set_d(0);
        sums t = {set_d(0), set_d(0)};
        for (int b = 0; b < s->bodies; b++) {
            int64_t k[LANES];
            for (int l = 0; l < LANES; l++) k[l] = (int64_t)world[l] * s->bodies + b;
            vec v = gather_vec(solved, k, 6, 0), w = gather_vec(solved, k, 6, 3);
            vec free_spin = gather_vec(free_velocities, k, 6, 3);
            vd inertia[6];
            if (fixed[b].mass - fixed[b].mass == 0) {
                for (int j = 0; j < 6; j++) inertia[j] = gather(inertias, k, 6, j);
                vd mass = set_d(fixed[b].mass);
                vec dv = sub(v, gather_vec(free_velocities, k, 6, 0));
                vec dw = sub(w, free_spin);
                add_term(&t, mass * dot(v, dv));
                add_term(&t, dot(w, symmetric(inertia, dw)));
                t.size += mass * dot(v, v) + dot(w, symmetric(inertia, w));
            }
            valid &= advance(s, fixed, b, k, v, w, free_spin, inertia, bodies, pose, &most, &slow);
        }
        unsigned good = bits(valid), calm = bits(slow);
        for (int l = 0; l < used; l++) {
            int32_t at = world[l];
            double left = t.defect[l], size = t.size[l];
            int64_t side = 2 * (int64_t)at + (sides[at] ? 0 : 1); // the one that is not in use
            audit_contacts(s, fixed, c, at, solved, world_impulse + 3 * s->contacts * side, &left, &size);
            energy[at] = left;
            allowed[at] = (double)c->count[at] * complementarity[at] + ROUNDING * size;
            change[at] = !(good >> l & 1) ? -1 : !(calm >> l & 1) ? -2 : most[l];
        }
    }
}
