// Calls of fuzz.c with files and streams.
#ifndef CLEARANCE_FUZZ_FILES_H
#define CLEARANCE_FUZZ_FILES_H

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

#endif
