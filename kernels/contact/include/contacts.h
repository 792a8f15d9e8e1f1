// Contacts of the problem of a world from the points of its rows, one after the other in float64: the arithmetic of
// contact.Simulation.addRow and warm, in its order.

#include <math.h>

#include "api.h"
#include "constants.h"
#include "../../isa/scalar64.h"
#include "../../isa/real64.h"

// recovery_speed_of limits the speed at which penetrations of a pair are removed.
ALWAYS double recovery_speed_of(const contact_rules *r, const contact_pair *p) {
    if (r->recovery_speed > 0) return r->recovery_speed;
    return r->gravity > 0 ? sqrt(r->gravity * p->size) : p->size / (40 * r->time_step);
}

// target is the least normal velocity after the step.
ALWAYS double target_of(const contact_rules *r, const contact_pair *p, double gap, double approach) {
    double dt = r->time_step, e = p->restitution;
    if (e > 0 && approach < -r->bounce_speed && gap + dt * approach < 0) return -e * approach;
    if (gap > 0) return -gap / dt;
    double deep = -gap - p->slop, speed = r->correction * (deep > 0 ? deep : 0) / dt;
    double most = recovery_speed_of(r, p);
    return speed < most ? speed : most;
}

// warm is the impulse of that of the n contacts of the last solve that has the features of this one, the i-th of its
// world, else of the nearest one of the same pair; zero if there is none.
ALWAYS V3 warm_of(const contact_id *id, V3 position, const contact_id *ids, const double *positions,
                  const double *impulses, int n, int i, double size) {
    if (i < n && ids[i].pair == id->pair && ids[i].id == id->id) return T(ld3)(impulses + 3 * i, 1);
    double nearest = SAME_CONTACT * size;
    V3 impulse = {0, 0, 0};
    for (int k = 0; k < n; k++) {
        if (ids[k].pair != id->pair) continue;
        if (ids[k].id == id->id) return T(ld3)(impulses + 3 * k, 1);
        V3 d = T(sub)(T(ld3)(positions + 3 * k, 1), position);
        double l = sqrt(T(dot)(d, d));
        if (l < nearest) nearest = l, impulse = T(ld3)(impulses + 3 * k, 1);
    }
    return impulse;
}

// The rotation of the contacts of a pair, see contact.halfRotationOf.
typedef struct {
    double matrix[9];
    int any;
} half_rotation;

ALWAYS half_rotation half_rotation_of(const contact_rules *r, const contact_pair *p, const contact_body *of) {
    half_rotation t = {.any = 0};
    if (p->carrier < 0) return t;
    V3 spin = T(ld3)(of[p->carrier].spin, 1), v = {r->time_step * spin.x, r->time_step * spin.y, r->time_step * spin.z};
    double square = T(dot)(v, v);
    if (!(square > 0 && square <= MOST_CARRIED)) return t;
    double k = 0.5 / (1 + sqrt(1 - 0.25 * square)), x = k * v.x, y = k * v.y, z = k * v.z;
    T(quaternion_matrix)(2 / (1 + x * x + y * y + z * z), 1, (V3){x, y, z}, t.matrix);
    t.any = 1;
    return t;
}

ALWAYS V3 rotated_by_half(const half_rotation *t, V3 v) { return t->any ? T(apply)(t->matrix, v) : v; }

// add_row adds the contact points of a row to the problem, from contact count of the world on.
static void add_row(const contact_rules *rules, const contact_pair *p, const contact_row *row,
                    const contact_points *points, int64_t i, V3 n, const contact_body *of, int64_t first, int count,
                    contact_id *ids, double *positions, const contact_id *old_ids, const double *old_positions,
                    const double *impulses, int old_n, const contact_columns *out) {
    const contact_body *a = of + p->a, *b = of + p->b;
    half_rotation t = half_rotation_of(rules, p, of);
    n = rotated_by_half(&t, n);
    V3 t1, t2;
    T(across)(n, &t1, &t2);
    V3 center_a = T(ld3)(a->center, 1), center_b = T(ld3)(b->center, 1);
    V3 velocity_a = T(ld3)(a->velocity, 1), velocity_b = T(ld3)(b->velocity, 1), spin_a = T(ld3)(a->spin, 1),
       spin_b = T(ld3)(b->spin, 1);
    for (int k = 0; k < row->points; k++) {
        int64_t c = first + count + k, q = 4 * i + k;
        int own = count + k;
        V3 position = T(ld3)(points->position + 3 * q, 1), arm_a = rotated_by_half(&t, T(sub)(position, center_a)),
           arm_b = rotated_by_half(&t, T(sub)(position, center_b));
        out->body_a[c] = p->a, out->body_b[c] = p->b;
        T(st3)(out->frame + 9 * c, 1, t1), T(st3)(out->frame + 9 * c + 3, 1, t2), T(st3)(out->frame + 9 * c + 6, 1, n);
        T(st3)(out->arm_a + 3 * c, 1, arm_a), T(st3)(out->arm_b + 3 * c, 1, arm_b);
        out->friction[c] = p->friction;
        V3 at_a = T(add)(velocity_a, T(cross)(spin_a, arm_a)), at_b = T(add)(velocity_b, T(cross)(spin_b, arm_b));
        double approach = T(dot)(n, T(sub)(at_b, at_a));
        out->target[c] = target_of(rules, p, points->gap[q], approach);
        ids[own] = (contact_id){row->pair, points->id[q]};
        T(st3)(positions + 3 * own, 1, position);
        V3 w = warm_of(&ids[own], position, old_ids, old_positions, impulses, old_n, own, p->size);
        T(st3)(out->warm + 3 * c, 1, (V3){T(dot)(t1, w), T(dot)(t2, w), T(dot)(n, w)});
    }
}

// fetch begins to load the n contacts of the last solve of a world.
ALWAYS void fetch(const contact_id *ids, const double *impulses, int64_t from, int n) {
    const char *a = (const char *)(ids + from), *b = (const char *)(impulses + 3 * from);
    for (int64_t i = 0; i < (int64_t)sizeof *ids * n; i += 64) __builtin_prefetch(a + i);
    for (int64_t i = 0; i < 24 * (int64_t)n; i += 64) __builtin_prefetch(b + i);
}

static CONTACT_ASSEMBLE(assemble_contacts) {
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
            add_row(rules, p, row, &from->points, i, T(ld3)(from->normal + 3 * i, 1), of, world * contacts, count,
                    ids + mine, positions + 3 * mine, ids + old, positions + 3 * old, impulses + 3 * old, old_n, out);
            count += row->points;
        }
        out->count[world] = count;
    }
}
