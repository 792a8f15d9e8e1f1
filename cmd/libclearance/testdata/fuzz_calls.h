// Calls of fuzz.c: of files and streams, and of arrays by name (contacts, simulations, kinematics).
#ifndef CLEARANCE_FUZZ_CALLS_H
#define CLEARANCE_FUZZ_CALLS_H

static void call_pairs_rows(void) {
    clearance_error *e = error_place();
    done(clearance_pairs_rows(path("pairs.npz"), bad() ? NULL : room(8), e), e);
}

static void file_ended(int32_t code, const clearance_error *e, const clearance_job *j) {
    if (done(code, e) == CLEARANCE_OK) finish(CLEARANCE_RUNNING, *j);
}

static void call_score(void) {
    clearance_query *q = query(0x3f);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    file_ended(clearance_score(handle(ENGINE), q, one_in(2) ? path("shapes.json") : NULL, path("pairs.npz"), whole(0),
                               whole(-1), own("results.npz"), code32(below(2)), j, e),
               e, j);
}

static void call_audit(void) {
    clearance_query *q = query(0x3f);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    file_ended(clearance_audit(handle(ENGINE), q, path("shapes.json"), path("pairs.npz"), whole(0), whole(-1),
                               own("results.npz"), whole(-1), j, e),
               e, j);
}

static void call_worlds_write(void) {
    int at = (int)below(4);
    clearance_error *e = error_place();
    clearance_motions *m = motions(at, one_in(2) ? 1 : sizes[at].way_points);
    done(clearance_worlds_write(bad() ? NULL : m, own("worlds.npz"), e), e);
}

static void call_worlds_read(void) {
    clearance_motions *about = bad() ? NULL : room(sizeof *about);
    uint64_t *out = place();
    clearance_error *e = error_place();
    if (done(clearance_worlds_read(handle(BODIES), one_in(2) ? path("worlds.npz") : own("worlds.npz"), about, out, e),
             e) != CLEARANCE_OK)
        return;
    for (int at = 0; at < 4; at++)
        if (about->worlds == sizes[at].worlds && about->places == sizes[at].places &&
            about->templates == sizes[at].pairs && about->way_points <= sizes[at].way_points) {
            keep(WORLDFILE, at + 4 * (int)below(2), *out);
            return;
        }
    release(WORLDFILE, *out);
}

static void call_worlds_size(void) {
    clearance_error *e = error_place();
    done(clearance_worlds_size(path(one_in(2) ? "worlds.npz" : "motions.npz"),
                               bad() ? NULL : room(sizeof(clearance_motions)), e),
         e);
}

static void call_worlds_copy(void) {
    int at = (int)below(4);
    const struct sizes *s = &sizes[at];
    clearance_error *e = error_place();
    done(clearance_worlds_copy(handle_at(WORLDFILE, at), indices(s->worlds * s->places, 1), indices(s->pairs, 1),
                               indices(s->pairs, 1), poses(s->worlds * s->way_points * s->places), e),
         e);
}

static void call_worlds_free(void) {
    if (one_in(4)) release(WORLDFILE, handle(WORLDFILE));
}

static void call_rollout_file(void) {
    clearance_query *q = query(0x3f);
    clearance_scene *c = scene(0, (int)below(2), (int)below(2));
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    file_ended(clearance_rollout_file(handle(ENGINE), q, bad() ? NULL : c, path("scene.json"), path("worlds.npz"),
                                      whole(0), whole(-1), own("rollout.npz"), j, e),
               e, j);
}

static void call_sweep_file(void) {
    clearance_motions *m = motions(0, 2);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    file_ended(clearance_sweep_file(handle(ENGINE), bad() ? NULL : m, path("scene.json"), path("motions.npz"), whole(0),
                                    whole(-1), own("sweep.npz"), j, e),
               e, j);
}

static void call_rollout_audit(void) {
    clearance_query *q = query(0x3f);
    clearance_scene *c = scene(0, (int)below(2), (int)below(2));
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    file_ended(clearance_rollout_audit(handle(ENGINE), q, bad() ? NULL : c, path("scene.json"), path("worlds.npz"),
                                       whole(0), whole(-1), own("rollout.npz"), j, e),
               e, j);
}

static void call_sweep_audit(void) {
    clearance_motions *m = motions(0, 2);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    file_ended(clearance_sweep_audit(handle(ENGINE), bad() ? NULL : m, path("scene.json"), path("motions.npz"),
                                     whole(0), whole(-1), own("sweep.npz"), j, e),
               e, j);
}

// The Arrow C data interface, and a stream that has one column of indices, none, or an error.
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

// The columns of pairs: name, format and format of the numbers of a list.
static const char *const pair_columns[][3] = {{"shape_a", "i", NULL},      {"shape_b", "i", NULL},
                                              {"position_a", "+w:3", "g"}, {"position_b", "+w:3", "g"},
                                              {"rotation_a", "+w:4", "g"}, {"rotation_b", "+w:4", "g"}};
enum { PAIR_COLUMNS = 6, STREAM_ROWS = 5 };

static void schema_release(struct ArrowSchema *s) {
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i]->release) s->children[i]->release(s->children[i]);
        free(s->children[i]);
    }
    free(s->children);
    s->release = NULL;
}
static void array_release(struct ArrowArray *a) {
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i]->release) a->children[i]->release(a->children[i]);
        free(a->children[i]);
    }
    if (a->n_buffers > 1) free((void *)a->buffers[1]);
    free(a->children);
    free(a->buffers);
    a->release = NULL;
}
static void fill_schema(struct ArrowSchema *s, const char *format, const char *name, int64_t children) {
    *s = (struct ArrowSchema){format, name, NULL, 0, children, NULL, NULL, schema_release, NULL};
    s->children = calloc((size_t)children + 1, sizeof(void *));
    for (int64_t i = 0; i < children; i++) s->children[i] = calloc(1, sizeof(struct ArrowSchema));
}
static void fill_array(struct ArrowArray *a, int64_t rows, int64_t bytes, int64_t children) {
    *a = (struct ArrowArray){rows,          0,   0, bytes ? 2 : 1, children, calloc(2, sizeof(void *)), NULL, NULL,
                             array_release, NULL};
    if (bytes) a->buffers[1] = calloc(1, (size_t)bytes + 1);
    a->children = calloc((size_t)children + 1, sizeof(void *));
    for (int64_t i = 0; i < children; i++) a->children[i] = calloc(1, sizeof(struct ArrowArray));
}

// What a stream is: bits of faults, and the batches that are left.
struct source {
    int fault, batches;
};
static int stream_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    struct source *of = s->private_data;
    if (of->fault == 1) return 5;
    fill_schema(out, of->fault == 2 ? "i" : "+s", "", of->fault == 2 ? 0 : of->fault == 3 ? 1 : PAIR_COLUMNS);
    for (int64_t i = 0; i < out->n_children; i++) {
        const char *const *c = pair_columns[i];
        fill_schema(out->children[i], of->fault == 4 && i == 2 ? "+w:2" : c[1], c[0], c[2] ? 1 : 0);
        if (c[2]) fill_schema(out->children[i]->children[0], of->fault == 5 ? "q!" : c[2], "item", 0);
    }
    return 0;
}
static int stream_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    struct source *of = s->private_data;
    memset(out, 0, sizeof *out);
    if (of->fault == 6) return 5;
    if (of->batches-- <= 0) return 0;
    int64_t n = STREAM_ROWS, columns_given = of->fault == 7 ? 2 : PAIR_COLUMNS;
    fill_array(out, n, 0, columns_given);
    for (int64_t i = 0; i < columns_given; i++) {
        int64_t rows = of->fault == 8 && i == 3 ? n - 2 : n; // a column shorter than its batch
        struct ArrowArray *c = out->children[i];
        if (!pair_columns[i][2]) {
            fill_array(c, rows, 4 * rows, 0);
            continue;
        }
        int64_t width = i < 4 ? 3 : 4;
        fill_array(c, rows, 0, 1);
        fill_array(c->children[0], (of->fault == 9 ? 1 : rows) * width, 8 * rows * width, 0);
        for (int64_t k = 0; k < rows * width; k++) ((double *)c->children[0]->buffers[1])[k] = k % width == 0;
    }
    if (of->fault == 10) out->length = -1;
    if (of->fault == 11) out->length = INT64_MAX;
    if (of->fault == 12) out->children[0]->offset = -3;
    if (of->fault == 13) out->children[0]->null_count = 2; // without a bitmap
    if (of->fault == 14) free((void *)out->children[0]->buffers[1]), out->children[0]->buffers[1] = NULL;
    if (of->fault == 15) out->children[0]->length = -1;
    return 0;
}
static const char *stream_error(struct ArrowArrayStream *s) {
    return ((struct source *)s->private_data)->fault & 1 ? NULL : "a fault of the source";
}
static void stream_release(struct ArrowArrayStream *s) {
    free(s->private_data);
    s->release = NULL;
}

static void call_stream(void) {
    struct ArrowArrayStream in = {stream_schema, stream_next, stream_error, stream_release, NULL}, out;
    memset(&out, 0, sizeof out);
    struct source *of = calloc(1, sizeof *of);
    of->fault = corrupt && one_in(2) ? 1 + (int)below(15) : 0, of->batches = (int)below(3);
    in.private_data = of;
    if (bad()) free(of), in = (struct ArrowArrayStream){0}; // one that was moved from
    clearance_query *q = query(0x3f);
    uint64_t *p = place();
    clearance_error *e = error_place();
    void *from = bad() ? NULL : &in, *to = bad() ? NULL : &out;
    int32_t code = done(clearance_stream(handle(ENGINE), q, from, to, whole(4), p, e), e);
    if (code == CLEARANCE_OK) {
        keep(ANSWERS, (int)below(SLOTS), *p);
        struct ArrowSchema schema;
        memset(&schema, 0, sizeof schema);
        if (out.get_schema(&out, &schema) == 0 && schema.release) schema.release(&schema);
        for (int i = 0; i < 6 && !one_in(8); i++) {
            struct ArrowArray a;
            memset(&a, 0, sizeof a);
            if (out.get_next(&out, &a)) {
                out.get_last_error(&out);
                break;
            }
            if (!a.release) break;
            a.release(&a);
        }
        out.release(&out);
    } else if (in.release) {
        in.release(&in);
    }
}

static void call_stream_report(void) {
    clearance_error *e = error_place();
    done(clearance_stream_report(handle(ANSWERS), report_place(), e), e);
}

static void call_stream_forget(void) {
    if (one_in(4)) release(ANSWERS, handle(ANSWERS));
}

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

// add_problems adds contact problems.
static void add_problems(struct list *l, int64_t w, int64_t b, int64_t c) {
    add_whole(l, "worlds", w), add_whole(l, "bodies", b), add_whole(l, "contacts", c);
    add_positive(l, "mass", w * b), add_inertias(l, w * b), add_reals(l, "velocity", 6 * w * b);
    add_indices(l, "count", w, c + 1);
    int32_t *a = indices(w * c, b), *o = indices(w * c, b);
    for (int64_t i = 0; a && o && i < w * c && !bad(); i++) o[i] = a[i] == 0 ? -1 : a[i] - 1;
    add(l, "body_a", CLEARANCE_INT32, w * c, a), add(l, "body_b", CLEARANCE_INT32, w * c, o);
    add_reals(l, "arm_a", 3 * w * c), add_reals(l, "arm_b", 3 * w * c);
    double *f = reals(9 * w * c);
    for (int64_t i = 0; f && i < w * c && !bad(); i++)
        for (int k = 0; k < 9; k++) f[9 * i + k] = k % 4 == 0;
    add(l, "frame", CLEARANCE_FLOAT64, 9 * w * c, f);
    add_positive(l, "friction", w * c);
    if (one_in(2)) add_reals(l, "target", w * c);
    if (one_in(2)) add_positive(l, "compliance", 2 * w * c);
}

static void call_contact_vjp(void) {
    int64_t w = 1 + below(4), b = 1 + below(4), c = below(5);
    struct list l = list_of();
    add_problems(&l, w, b, c);
    add_reals(&l, "impulse", 3 * w * c), add_reals(&l, "residual", w), add_bytes(&l, "status", w, 3);
    add_reals(&l, "velocity_bar", 6 * w * b);
    if (one_in(2)) add_reals(&l, "impulse_bar", 3 * w * c);
    add_whole(&l, "model", below(2));
    if (one_in(4)) add_whole(&l, "workers", 2);
    static const struct {
        const char *name;
        int64_t bodies, contacts, worlds;
    } out[] = {
        {"velocity_gradient", 6, 0, 0},   {"mass_gradient", 1, 0, 0},
        {"inertia_gradient", 6, 0, 0},    {"arm_a_gradient", 0, 3, 0},
        {"arm_b_gradient", 0, 3, 0},      {"frame_gradient", 0, 9, 0},
        {"normal_gradient", 0, 3, 0},     {"target_gradient", 0, 1, 0},
        {"friction_gradient", 0, 1, 0},   {"margin", 0, 0, 1},
        {"compliance_gradient", 0, 2, 0}, {"adjoint_residual", 0, 0, 1},
    };
    for (int i = 0; i < 12; i++)
        if (one_in(2)) add_reals(&l, out[i].name, w * (b * out[i].bodies + c * out[i].contacts + out[i].worlds));
    add_indices(&l, "nearest", w, 1), add_bytes(&l, "smoothness", w, 1), add_bytes(&l, "mode", w * c, 1);
    close_list(&l);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_contact_vjp(l.at, l.count, wait_ms(), j, report_place(), e), e, j);
}

static void call_contact_solve(void) {
    int64_t w = 1 + below(4), b = 1 + below(4), c = below(5);
    struct list l = list_of();
    add_problems(&l, w, b, c);
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

static void call_sweep_derive(void) {
    int at = (int)below(4);
    clearance_motions *m = motions(at, sizes[at].way_points);
    int64_t w = sizes[at].worlds, places = sizes[at].places, n = below(4);
    struct list l = list_of();
    int32_t *worlds = indices(n, w);
    for (int64_t i = 1; worlds && i < n && !bad(); i++)
        if (worlds[i] < worlds[i - 1]) worlds[i] = worlds[i - 1];
    add(&l, "world", CLEARANCE_INT32, n, worlds);
    add_indices(&l, "place_a", n, places), add_indices(&l, "place_b", n, places);
    add_indices(&l, "part_a", n, 2), add_indices(&l, "part_b", n, 2);
    add_bytes(&l, "state", n, 4), add_reals(&l, "t1", n), add_reals(&l, "weights", n);
    if (one_in(2)) add_reals(&l, "gradients", 6 * w * sizes[at].way_points * places);
    if (one_in(2)) add_reals(&l, "time", n);
    if (one_in(2)) add_bytes(&l, "smoothness", n, 1);
    close_list(&l);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_sweep_derive(bad() ? NULL : m, l.at, l.count, wait_ms(), j, report_place(), e), e, j);
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

static void call_contact_points_vjp(void) {
    int64_t n = rows_of_call();
    clearance_pairs *p = pairs(n);
    struct list l = list_of();
    add_indices(&l, "count", n, 5), add_wide(&l, "id", CLEARANCE_UINT64, 4 * n);
    if (one_in(2)) add_reals(&l, "normal_bar", 3 * n);
    if (one_in(2)) add_reals(&l, "position_bar", 12 * n);
    if (one_in(2)) add_reals(&l, "gap_bar", 4 * n);
    add_reals(&l, "twists", 12 * n);
    if (one_in(2)) add_bytes(&l, "smoothness", n, 1);
    close_list(&l);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_contact_points_vjp(handle(ENGINE), handle(LIBRARY), p, bad() ? real() : 0.1, l.at, l.count,
                                       wait_ms(), j, report_place(), e),
          e, j);
}

// add_systems adds contact problems of mechanisms.
static void add_systems(struct list *l, int64_t w, int64_t n, int64_t c) {
    add_whole(l, "worlds", w), add_whole(l, "velocities", n), add_whole(l, "contacts", c);
    double *m = reals(w * n * n);
    for (int64_t i = 0; m && i < w * n * n && !bad(); i++) m[i] = i % (n * n) % (n + 1) == 0;
    add(l, "mass", CLEARANCE_FLOAT64, w * n * n, m);
    add_reals(l, "velocity", w * n), add_indices(l, "count", w, c + 1), add_reals(l, "jacobian", 3 * w * c * n);
    add_positive(l, "friction", w * c);
    if (one_in(2)) add_reals(l, "target", w * c);
    if (one_in(2)) add_positive(l, "compliance", 2 * w * c);
    if (one_in(2)) add_reals(l, "offset", 3 * w * c);
    add_whole(l, "model", below(2));
    if (one_in(4)) add_whole(l, "workers", 2);
}

static void call_system_solve(void) {
    int64_t w = 1 + below(4), n = 1 + below(4), c = below(4);
    struct list l = list_of();
    add_systems(&l, w, n, c);
    if (one_in(2)) add_reals(&l, "warm", 3 * w * c);
    add_whole(&l, "max_steps", 10);
    add_reals(&l, "impulse", 3 * w * c), add_reals(&l, "solved_velocity", w * n);
    if (one_in(2)) add_reals(&l, "residual", w), add_reals(&l, "scale", w);
    add_indices(&l, "steps", w, 1), add_bytes(&l, "status", w, 1);
    close_list(&l);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_system_solve(l.at, l.count, wait_ms(), j, report_place(), e), e, j);
}

static void call_system_vjp(void) {
    int64_t w = 1 + below(4), n = 1 + below(4), c = below(4);
    struct list l = list_of();
    add_systems(&l, w, n, c);
    add_reals(&l, "impulse", 3 * w * c), add_reals(&l, "residual", w), add_bytes(&l, "status", w, 3);
    add_reals(&l, "velocity_bar", w * n);
    if (one_in(2)) add_reals(&l, "impulse_bar", 3 * w * c);
    if (one_in(2)) add_reals(&l, "velocity_gradient", w * n), add_reals(&l, "mass_gradient", w * n * n);
    if (one_in(2)) add_reals(&l, "jacobian_gradient", 3 * w * c * n), add_reals(&l, "target_gradient", w * c);
    if (one_in(2)) add_reals(&l, "friction_gradient", w * c), add_reals(&l, "compliance_gradient", 2 * w * c);
    if (one_in(2)) add_reals(&l, "offset_gradient", 3 * w * c);
    if (one_in(2)) add_reals(&l, "margin", w), add_reals(&l, "adjoint_residual", w);
    add_indices(&l, "nearest", w, 1), add_bytes(&l, "smoothness", w, 1), add_bytes(&l, "mode", w * c, 1);
    close_list(&l);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_system_vjp(l.at, l.count, wait_ms(), j, report_place(), e), e, j);
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
    static const char *const reals_of[] = {"tolerance",      "max_gap",      "correction",
                                           "recovery_speed", "bounce_speed", "compliance"};
    if (bad()) add_number(&l, reals_of[below(6)], 0.01);
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

// The steps and records of a tape of a slot follow from the sizes of its slot.
static int64_t steps_of(int at) { return 1 + at; }

static void call_tape_run(void) {
    int at = (int)below(4);
    int64_t w = sizes[at].worlds, m = sizes[at].places, steps = steps_of(at);
    struct list l = list_of();
    add_whole(&l, "step_count", steps), add_whole(&l, "every", 1);
    add_records(&l, steps, w, m);
    if (one_in(3)) add_reals(&l, "force", 6 * w * m);
    close_list(&l);
    int64_t *steps_made = bad() ? NULL : room(8);
    uint64_t *kept = place();
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    if (kept) *kept = 0;
    ended(
        clearance_tape_run(handle_at(SIMULATION, at), l.at, l.count, steps_made, kept, wait_ms(), j, report_place(), e),
        e, j);
    if (kept && *kept) keep(TAPE, at + 4 * (int)below(2), *kept);
}

static void call_tape_vjp(void) {
    int at = (int)below(4);
    int64_t w = sizes[at].worlds, m = sizes[at].places, t = steps_of(at);
    struct list l = list_of();
    if (one_in(2)) add_reals(&l, "pose_bar", 6 * t * w * m);
    if (one_in(2)) add_reals(&l, "velocity_bar", 3 * t * w * m);
    if (one_in(2)) add_reals(&l, "spin_bar", 3 * t * w * m);
    if (one_in(2)) add_whole(&l, "impacts", below(3));
    add_reals(&l, "pose_gradient", 6 * w * m), add_reals(&l, "velocity_gradient", 3 * w * m);
    add_reals(&l, "spin_gradient", 3 * w * m), add_reals(&l, "force_gradient", 6 * w * m);
    if (one_in(2)) add_reals(&l, "mass_gradient", w * m);
    if (one_in(2)) add_reals(&l, "inertia_gradient", 6 * w * m);
    if (one_in(2)) add_reals(&l, "gravity_gradient", 3 * w);
    if (one_in(2)) add_reals(&l, "parts_gradient", 6 * w * m);
    if (one_in(2)) add_bytes(&l, "smoothness", t * w, 1);
    if (one_in(2)) add_reals(&l, "margin", t * w);
    close_list(&l);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_tape_vjp(handle_at(TAPE, at), l.at, l.count, wait_ms(), j, report_place(), e), e, j);
}

static void call_tape_close(void) {
    if (one_in(4)) release(TAPE, handle(TAPE));
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

static void call_simulation_smoothed(void) {
    int at = (int)below(4);
    int64_t w = sizes[at].worlds, m = sizes[at].places;
    struct list l = list_of();
    add_reals(&l, "pose_bar", 6 * w * m), add_reals(&l, "velocity_bar", 3 * w * m);
    if (one_in(2)) add_reals(&l, "spin_bar", 3 * w * m);
    if (one_in(2)) add_reals(&l, "force", 6 * w * m);
    add_whole(&l, "samples", 1 + below(3)), add_whole(&l, "seed", below(9));
    if (one_in(2)) add_whole(&l, "first_world", below(9));
    add_reals(&l, "noise_position", 1), add_reals(&l, "noise_force", 1);
    add_reals(&l, "pose_gradient", 6 * w * m), add_reals(&l, "velocity_gradient", 3 * w * m);
    add_reals(&l, "spin_gradient", 3 * w * m), add_reals(&l, "force_gradient", 6 * w * m);
    if (one_in(2)) add_wide(&l, "answered", CLEARANCE_INT32, w);
    close_list(&l);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_simulation_smoothed(handle_at(SIMULATION, at), l.at, l.count, wait_ms(), j, report_place(), e), e,
          j);
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
    add_wide(&l, "still", CLEARANCE_INT64, 1);
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
