// Calls of fuzz.c with arrays by name: contacts, simulations, kinematics.
#ifndef CLEARANCE_FUZZ_CONTACTS_H
#define CLEARANCE_FUZZ_CONTACTS_H

static void add_bytes(struct list *l, const char *name, int64_t n, int64_t most) {
    uint8_t *a = array((size_t)n);
    for (int64_t i = 0; a && i < n; i++) a[i] = (uint8_t)(bad() ? number() : (uint64_t)below(most));
    add(l, name, CLEARANCE_UINT8, n, a);
}

// add_wide adds 64-bit integers of which some are wild.
static void add_wide(struct list *l, const char *name, uint32_t type, int64_t n) {
    int64_t *a = array((size_t)n * 8);
    for (int64_t i = 0; a && i < n; i++) a[i] = whole(below(4));
    add(l, name, type, n, a);
}

// add_inertias adds symmetric matrices that are positive definite, most of them.
static void add_inertias(struct list *l, int64_t n) {
    double *a = reals(6 * n);
    for (int64_t i = 0; a && i < n && !bad(); i++)
        for (int k = 0; k < 6; k++) a[6 * i + k] = k < 3;
    add(l, "inertia", CLEARANCE_FLOAT64, 6 * n, a);
}
static void add_positive(struct list *l, const char *name, int64_t n) {
    add(l, name, CLEARANCE_FLOAT64, n, positive(n));
}
static void add_poses(struct list *l, const char *name, int64_t n) { add(l, name, CLEARANCE_FLOAT64, 7 * n, poses(n)); }

static void call_contact_solve(void) {
    int64_t w = 1 + below(4), b = 1 + below(4), c = below(5);
    struct list l = list_of();
    add_whole(&l, "worlds", w), add_whole(&l, "bodies", b), add_whole(&l, "contacts", c);
    add_positive(&l, "mass", w * b), add_inertias(&l, w * b), add_reals(&l, "velocity", 6 * w * b);
    add_indices(&l, "count", w, c + 1);
    int32_t *a = indices(w * c, b), *o = indices(w * c, b);
    for (int64_t i = 0; a && o && i < w * c && !bad(); i++) o[i] = a[i] == 0 ? -1 : a[i] - 1;
    add(&l, "body_a", CLEARANCE_INT32, w * c, a), add(&l, "body_b", CLEARANCE_INT32, w * c, o);
    add_reals(&l, "arm_a", 3 * w * c), add_reals(&l, "arm_b", 3 * w * c);
    double *f = reals(9 * w * c);
    for (int64_t i = 0; f && i < w * c && !bad(); i++)
        for (int k = 0; k < 9; k++) f[9 * i + k] = k % 4 == 0;
    add(&l, "frame", CLEARANCE_FLOAT64, 9 * w * c, f);
    add_positive(&l, "friction", w * c);
    if (one_in(2)) add_reals(&l, "target", w * c);
    if (one_in(2)) add_positive(&l, "compliance", 2 * w * c);
    if (one_in(2)) add_reals(&l, "warm", 3 * w * c);
    add_whole(&l, "model", below(2)), add_whole(&l, "max_sweeps", 50), add_whole(&l, "max_steps", 10);
    if (bad()) add_number(&l, "tolerance", 1e-6), add_number(&l, "relaxation", 1);
    if (one_in(4)) add_whole(&l, "bound_wanted", 1);
    if (one_in(4)) add_whole(&l, "workers", 2);
    add_reals(&l, "impulse", 3 * w * c), add_reals(&l, "solved_velocity", 6 * w * b);
    static const char *const per_world[] = {"residual", "scale", "primal", "dual", "complementarity", "bound"};
    for (int i = 0; i < 6; i++)
        if (one_in(2)) add_reals(&l, per_world[i], w);
    add_indices(&l, "sweeps", w, 1), add_indices(&l, "steps", w, 1), add_bytes(&l, "status", w, 1);
    close_list(&l);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_contact_solve(l.at, l.count, wait_ms(), j, report_place(), e), e, j);
}

static void call_contact_points(void) {
    int64_t n = rows_of_call();
    clearance_pairs *p = pairs(n);
    struct list l = list_of();
    add_bytes(&l, "status", n, 1), add_indices(&l, "count", n, 1), add_reals(&l, "normal", 3 * n);
    add_reals(&l, "lower", n), add_reals(&l, "position", 12 * n), add_reals(&l, "gap", 4 * n);
    add_wide(&l, "id", CLEARANCE_UINT64, 4 * n);
    close_list(&l);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_contact_points(handle(ENGINE), handle(LIBRARY), p, bad() ? real() : 0.1, l.at, l.count, wait_ms(),
                                   j, report_place(), e),
          e, j);
}

static void call_simulation_open(void) {
    int at = (int)below(4);
    int64_t w = sizes[at].worlds, m = sizes[at].places;
    struct list l = list_of();
    add_whole(&l, "worlds", w), add_whole(&l, "bodies", m), add_indices(&l, "body", m, TABLE);
    double *mass = positive(m);
    if (mass && one_in(2)) mass[below(m)] = INFINITY;
    add(&l, "mass", CLEARANCE_FLOAT64, m, mass);
    add_inertias(&l, m), add_reals(&l, "center", 3 * m), add_positive(&l, "friction", m);
    double *bounce = reals(m);
    for (int64_t i = 0; bounce && i < m && !bad(); i++) bounce[i] = 0.5;
    add(&l, "restitution", CLEARANCE_FLOAT64, m, bounce);
    add_poses(&l, "pose", w * m), add_reals(&l, "velocity", 3 * w * m), add_reals(&l, "spin", 3 * w * m);
    add_number(&l, "time_step", 0.01), add_reals(&l, "gravity", 3);
    if (one_in(3)) add_whole(&l, "skips", 1), add_indices(&l, "skip_a", 1, m), add_indices(&l, "skip_b", 1, m);
    static const char *const options[] = {"model",         "contacts",         "accept",          "workers",
                                          "friction_rule", "restitution_rule", "restitution_law", "skips"};
    if (bad()) add_whole(&l, options[below(8)], below(3));
    static const char *const reals_of[] = {"tolerance", "max_gap", "correction", "recovery_speed", "bounce_speed"};
    if (bad()) add_number(&l, reals_of[below(5)], 0.01);
    if (one_in(4)) add_indices(&l, "friction_parts", 2, 1), add_positive(&l, "friction_part_values", 1);
    if (one_in(4)) add_indices(&l, "restitution_pairs", 4, 1), add_reals(&l, "restitution_pair_values", 1);
    close_list(&l);
    uint64_t *out = place();
    clearance_error *e = error_place();
    if (done(clearance_simulation_open(handle(BODIES), l.at, l.count, out, e), e) == CLEARANCE_OK)
        keep(SIMULATION, at + 4 * (int)below(2), *out);
}

// add_records adds the arrays that steps are recorded in.
static void add_records(struct list *l, int64_t r, int64_t w, int64_t m) {
    if (one_in(2)) add_reals(l, "pose", 7 * r * w * m);
    if (one_in(2)) add_reals(l, "velocity", 3 * r * w * m);
    if (one_in(2)) add_reals(l, "spin", 3 * r * w * m);
    if (one_in(2)) add_reals(l, "contact_force", 6 * r * w * m);
    if (one_in(2)) add_reals(l, "energy", r * w);
    if (one_in(2)) add_reals(l, "residual", r * w);
    if (one_in(2)) add_indices(l, "contacts", r * w, 1);
    if (one_in(2)) add_indices(l, "solves", r * w, 1);
    if (one_in(2)) add_indices(l, "parts", r * w, 1);
    add_bytes(l, "status", r * w, 1);
}

static void call_simulation_run(void) {
    int at = (int)below(4);
    int64_t w = sizes[at].worlds, m = sizes[at].places, steps = below(6), every = 1 + below(3);
    struct list l = list_of();
    add_whole(&l, "step_count", steps), add_whole(&l, "every", every);
    add_records(&l, steps / every, w, m);
    if (one_in(3)) add_reals(&l, "force", 6 * w * m);
    if (one_in(6)) add_reals(&l, "forces", 6 * steps * w * m);
    if (one_in(2)) add_reals(&l, "scale", steps / every * w);
    if (one_in(2)) add_whole(&l, "list_contacts", 1);
    close_list(&l);
    int64_t *steps_made = bad() ? NULL : room(8);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(
        clearance_simulation_run(handle_at(SIMULATION, at), l.at, l.count, steps_made, wait_ms(), j, report_place(), e),
        e, j);
}

static void call_simulation_step(void) {
    int at = (int)below(4);
    int64_t w = sizes[at].worlds, m = sizes[at].places;
    struct list l = list_of();
    int64_t *steps = room(8); // a call that cannot be cancelled makes few
    *steps = bad() ? -below(3) : below(3);
    add(&l, "step_count", CLEARANCE_INT64, 1, steps);
    if (one_in(3)) add_reals(&l, "force", 6 * w * m);
    if (one_in(3)) add_whole(&l, "scalar_last", below(2));
    if (one_in(3)) add_whole(&l, "limit_ms", bad() ? (int64_t)number() : 1 + below(40));
    if (one_in(3)) add_wide(&l, "steps", CLEARANCE_INT64, w);
    add_records(&l, 1, w, m);
    close_list(&l);
    clearance_error *e = error_place();
    done(clearance_simulation_step(handle_at(SIMULATION, at), l.at, l.count, e), e);
}

static void call_simulation_reset(void) {
    int at = (int)below(4);
    int64_t n = below(3), m = sizes[at].places;
    struct list l = list_of();
    add_indices(&l, "which", n, sizes[at].worlds), add_poses(&l, "pose", n * m);
    add_reals(&l, "velocity", 3 * n * m), add_reals(&l, "spin", 3 * n * m);
    close_list(&l);
    clearance_error *e = error_place();
    done(clearance_simulation_reset(handle_at(SIMULATION, at), l.at, l.count, e), e);
}

// state_arrays lists the arrays of a state with up to c contacts of a world.
static struct list state_arrays(int at, int64_t c) {
    int64_t w = sizes[at].worlds, m = sizes[at].places;
    struct list l = list_of();
    add_poses(&l, "pose", w * m), add_reals(&l, "velocity", 3 * w * m), add_reals(&l, "momentum", 3 * w * m);
    add_wide(&l, "steps", CLEARANCE_INT64, w), add_bytes(&l, "status", w, 9), add_indices(&l, "contacts", w, 4);
    add_indices(&l, "solves", w, 4), add_indices(&l, "parts", w, 4), add_reals(&l, "energy", w);
    add_indices(&l, "warm_count", w, c + 1), add_indices(&l, "warm_pair", w * c, 3);
    add_wide(&l, "warm_id", CLEARANCE_UINT64, w * c);
    add_reals(&l, "warm_position", 3 * w * c), add_reals(&l, "warm_impulse", 3 * w * c);
    return l;
}

static void call_simulation_state(void) {
    int at = (int)below(4);
    uint64_t h = handle_at(SIMULATION, at);
    int64_t *contacts = room(8), c = below(4);
    clearance_error *e = error_place();
    if (done(clearance_simulation_state(h, NULL, whole(0), contacts, e), e) == CLEARANCE_OK && *contacts < 100)
        c = *contacts;
    struct list l = state_arrays(at, c);
    close_list(&l);
    done(clearance_simulation_state(h, l.at, l.count, bad() ? NULL : contacts, e), e);
}

static void call_simulation_set_state(void) {
    int at = (int)below(4);
    int64_t c = below(4);
    struct list l = state_arrays(at, c);
    add_whole(&l, "warm_contacts", c);
    close_list(&l);
    clearance_error *e = error_place();
    done(clearance_simulation_set_state(handle_at(SIMULATION, at), l.at, l.count, e), e);
}

static void call_simulation_contacts(void) {
    uint64_t h = handle(SIMULATION);
    int64_t *found = room(8), n = below(4);
    clearance_error *e = error_place();
    struct list l = list_of();
    add_whole(&l, "recorded", 0);
    close_list(&l);
    if (done(clearance_simulation_contacts(h, l.at, l.count, found, e), e) == CLEARANCE_OK && *found < 100) n = *found;
    l = list_of();
    if (one_in(2)) add_whole(&l, "recorded", below(2));
    static const char *const names[] = {"record", "world", "body_a", "body_b", "part_a", "part_b"};
    for (int i = 0; i < 6; i++)
        if (one_in(2)) add_indices(&l, names[i], n, 1);
    add_reals(&l, "position", 3 * n), add_reals(&l, "normal", 3 * n), add_reals(&l, "impulse", 3 * n);
    add_reals(&l, "gap", n), add_wide(&l, "id", CLEARANCE_UINT64, n);
    close_list(&l);
    done(clearance_simulation_contacts(h, l.at, l.count, bad() ? NULL : found, e), e);
}

static void call_simulation_close(void) {
    if (one_in(4)) release(SIMULATION, handle(SIMULATION));
}

static void call_forward(void) {
    int64_t w = below(4), c = 1 + below(5), j = below(4), p = 1 + below(3), m = p + below(2);
    struct list l = list_of();
    add_whole(&l, "worlds", w), add_whole(&l, "coordinates", c), add_whole(&l, "joints", j);
    add_whole(&l, "places", p), add_whole(&l, "bodies", m);
    int32_t *above = indices(j, 1);
    for (int64_t i = 0; above && i < j && !bad(); i++) above[i] = (int32_t)below(i + 1);
    add(&l, "above", CLEARANCE_INT32, j, above), add_indices(&l, "index", j, c), add_bytes(&l, "kind", j, 3);
    add_poses(&l, "place", j), add_reals(&l, "axis", 3 * j), add_reals(&l, "multiplier", j);
    add_reals(&l, "offset", j), add_indices(&l, "frame", p, j + 1), add_poses(&l, "within", p);
    add_reals(&l, "values", w * c), add_reals(&l, "poses", 7 * w * m);
    if (one_in(3)) add_poses(&l, "base", one_in(2) ? 1 : w);
    close_list(&l);
    clearance_error *e = error_place();
    done(clearance_forward(l.at, l.count, e), e);
}

#endif
