// Contacts of the problem of a world from the points of its rows, one after the other in float64: the arithmetic of
// contact.Simulation.addRow and warm, in its order. The including file defines ASSEMBLE, the name of the function.

#include <math.h>

#include "api.h"
#include "vec3.h"

// recovery_speed_of limits the speed at which penetrations of a pair are removed.
INLINE double recovery_speed_of(const contact_rules *r, const contact_pair *p) {
    if (r->recovery_speed > 0) return r->recovery_speed;
    return r->gravity > 0 ? sqrt(r->gravity * p->size) : p->size / (40 * r->time_step);
}

// target is the least normal velocity after the step.
INLINE double target_of(const contact_rules *r, const contact_pair *p, double gap, double approach) {
    double dt = r->time_step, e = p->restitution;
    if (e > 0 && approach < -r->bounce_speed && gap + dt * approach < 0) return -e * approach;
    if (gap > 0) return -gap / dt;
    double deep = -gap - p->slop, speed = r->correction * (deep > 0 ? deep : 0) / dt;
    double most = recovery_speed_of(r, p);
    return speed < most ? speed : most;
}

// warm is the impulse of that of the n contacts of the last solve that has the features of this one, the i-th of its
// world, else of the nearest one of the same pair; zero if there is none.
INLINE vec warm_of(const contact_id *id, vec position, const contact_id *ids, const double *positions,
                   const double *impulses, int n, int i, double size) {
    if (i < n && ids[i].pair == id->pair && ids[i].id == id->id) return vec_at(impulses + 3 * i);
    double nearest = 0.02 * size;
    vec impulse = {0, 0, 0};
    for (int k = 0; k < n; k++) {
        if (ids[k].pair != id->pair) continue;
        if (ids[k].id == id->id) return vec_at(impulses + 3 * k);
        vec d = sub(vec_at(positions + 3 * k), position);
        double l = sqrt(dot(d, d));
        if (l < nearest) nearest = l, impulse = vec_at(impulses + 3 * k);
    }
    return impulse;
}

#define MOST_CARRIED 4 // of contact.mostCarried

// The rotation of the contacts of a pair, see contact.halfRotationOf.
typedef struct {
    double matrix[9];
    int any;
} half_rotation;

INLINE half_rotation half_rotation_of(const contact_rules *r, const contact_pair *p, const contact_body *of) {
    half_rotation t = {.any = 0};
    if (p->carrier < 0) return t;
    vec spin = vec_at(of[p->carrier].spin), v = {r->time_step * spin.x, r->time_step * spin.y, r->time_step * spin.z};
    double square = dot(v, v);
    if (!(square > 0 && square <= MOST_CARRIED)) return t;
    double k = 0.5 / (1 + sqrt(1 - 0.25 * square)), x = k * v.x, y = k * v.y, z = k * v.z;
    double s = 2 / (1 + x * x + y * y + z * z), *m = t.matrix;
    m[0] = 1 - s * (y * y + z * z), m[1] = s * (x * y - z), m[2] = s * (x * z + y);
    m[3] = s * (x * y + z), m[4] = 1 - s * (x * x + z * z), m[5] = s * (y * z - x);
    m[6] = s * (x * z - y), m[7] = s * (y * z + x), m[8] = 1 - s * (x * x + y * y);
    t.any = 1;
    return t;
}

INLINE vec rotated_by_half(const half_rotation *t, vec v) {
    if (!t->any) return v;
    const double *m = t->matrix;
    return (vec){m[0] * v.x + m[1] * v.y + m[2] * v.z, m[3] * v.x + m[4] * v.y + m[5] * v.z,
                 m[6] * v.x + m[7] * v.y + m[8] * v.z};
}

// add_row adds the contact points of a row to the problem, from contact count of the world on.
static void add_row(const contact_rules *rules, const contact_pair *p, const contact_row *row,
                    const contact_points *points, int64_t i, vec n, const contact_body *of, int64_t first, int count,
                    contact_id *ids, double *positions, const contact_id *old_ids, const double *old_positions,
                    const double *impulses, int old_n, const contact_columns *out) {
    const contact_body *a = of + p->a, *b = of + p->b;
    half_rotation t = half_rotation_of(rules, p, of);
    n = rotated_by_half(&t, n);
    double sign = copysign(1, n.z), f = -1 / (sign + n.z), g = n.x * n.y * f; // contact.Tangents
    vec t1 = {1 + sign * n.x * n.x * f, sign * g, -sign * n.x}, t2 = {g, sign + n.y * n.y * f, -n.y};
    vec center_a = vec_at(a->center), center_b = vec_at(b->center);
    vec velocity_a = vec_at(a->velocity), velocity_b = vec_at(b->velocity), spin_a = vec_at(a->spin),
        spin_b = vec_at(b->spin);
    for (int k = 0; k < row->points; k++) {
        int64_t c = first + count + k, q = 4 * i + k;
        int own = count + k;
        vec position = vec_at(points->position + 3 * q), arm_a = rotated_by_half(&t, sub(position, center_a)),
            arm_b = rotated_by_half(&t, sub(position, center_b));
        out->body_a[c] = p->a, out->body_b[c] = p->b;
        put(out->frame + 9 * c, t1), put(out->frame + 9 * c + 3, t2), put(out->frame + 9 * c + 6, n);
        put(out->arm_a + 3 * c, arm_a), put(out->arm_b + 3 * c, arm_b);
        out->friction[c] = p->friction;
        double approach = dot(n, sub(add(velocity_b, cross(spin_b, arm_b)), add(velocity_a, cross(spin_a, arm_a))));
        out->target[c] = target_of(rules, p, points->gap[q], approach);
        ids[own] = (contact_id){row->pair, points->id[q]};
        put(positions + 3 * own, position);
        vec w = warm_of(&ids[own], position, old_ids, old_positions, impulses, old_n, own, p->size);
        put(out->warm + 3 * c, (vec){dot(t1, w), dot(t2, w), dot(n, w)});
    }
}

// fetch begins to load the n contacts of the last solve of a world.
INLINE void fetch(const contact_id *ids, const double *impulses, int64_t from, int n) {
    const char *a = (const char *)(ids + from), *b = (const char *)(impulses + 3 * from);
    for (int64_t i = 0; i < (int64_t)sizeof *ids * n; i += 64) __builtin_prefetch(a + i);
    for (int64_t i = 0; i < 24 * (int64_t)n; i += 64) __builtin_prefetch(b + i);
}

CONTACT_ASSEMBLE(ASSEMBLE) {
    int64_t contacts = rules->contacts;
    const uint8_t *sides = state->sides;
    contact_id *ids = from->ids;
    double *positions = from->positions, *impulses = state->world_impulse;
    for (int32_t l = 0; l < n; l++) {
        int32_t world = list[l], old_n = from->old_n[world];
        int64_t old = (2 * (int64_t)world + sides[world]) * contacts;
        int64_t mine = (2 * (int64_t)world + 1 - sides[world]) * contacts;
        int count = 0;
        if (l + 1 < n)
            fetch(ids, impulses, (2 * (int64_t)list[l + 1] + sides[list[l + 1]]) * contacts, from->old_n[list[l + 1]]);
        for (int64_t i = from->first[world]; i < from->first[world + 1]; i++) {
            const contact_row *row = from->rows + i;
            if (row->points == 0) continue;
            const contact_pair *p = from->pairs + row->pair;
            const contact_body *of = state->bodies + (int64_t)world * rules->bodies;
            add_row(rules, p, row, &from->points, i, vec_at(from->normal + 3 * i), of, world * contacts, count,
                    ids + mine, positions + 3 * mine, ids + old, positions + 3 * old, impulses + 3 * old, old_n, out);
            count += row->points;
        }
        out->count[world] = count;
    }
}
