// fuzz FOLDER SEED CALLS THREADS: a caller of libclearance that calls every function of its header with arguments of
// which some are wrong: sizes, NULL, arrays that overlap, codes, texts, files, and handles that were given back, are of
// another type or in use by other threads. Arrays have the lengths that the header asks for, and end at a page without
// access. No call may end the process, panic, or return what the header does not say.
#include "fuzz_tools.h"

// The types of the columns, by code: 0 is real, else a clearance_element. The first ten have no derivatives.
static const struct {
    uint32_t type, width;
} columns[] = {{0, 1},
               {CLEARANCE_FLOAT32, 1},
               {0, 3},
               {0, 3},
               {0, 3},
               {CLEARANCE_UINT8, 1},
               {CLEARANCE_UINT16, 1},
               {CLEARANCE_BITS, 1},
               {CLEARANCE_UINT8, 1},
               {0, 3},
               {0, 12},
               {0, 36},
               {0, 36},
               {0, 36},
               {0, 6},
               {CLEARANCE_UINT8, 1}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static clearance_query *query(uint64_t wanted) {
    if (bad() && one_in(4)) return NULL;
    clearance_query *q = room(sizeof *q);
    memset(q, 0, sizeof *q);
    q->library = handle(LIBRARY);
    q->query = code32(one_in(4) ? below(5) : 0), q->method = code32(0), q->precision = code32(below(2));
    q->derivative = code32(wanted >> 10 ? 1 : 0), q->columns = bad() ? number() : wanted;
    q->tolerance = bad() ? real() : 0, q->cut_off = real(), q->has_cut_off = code32(0);
    q->max_iterations = code32(0), q->epsilon = bad() ? real() : 0, q->seed = number();
    q->samples = code32(0), q->rings = code32(0);
    return q;
}

static uint64_t some_columns(void) {
    return one_in(3) ? 0x3f : (1 + number() % 0x1ff) | (one_in(8) ? 0xfc00 & number() : 0);
}

static clearance_results *results(const clearance_query *q, int64_t rows) {
    if (bad() && one_in(4)) return NULL;
    clearance_results *r = room(sizeof *r);
    uint64_t set = q ? q->columns : number();
    clearance_column list[COLUMNS];
    int64_t n = 0;
    for (uint32_t c = 0; c < COLUMNS; c++) {
        if (!(set >> c & 1) || (bad() && one_in(4))) continue;
        uint32_t real_type = q && q->precision == 1 ? CLEARANCE_FLOAT64 : CLEARANCE_FLOAT32;
        static const size_t bytes_of[] = {0, 4, 8, 1, 2, 8, 4, 8, 8};
        uint32_t type = columns[c].type ? columns[c].type : real_type;
        size_t count = (size_t)(type == CLEARANCE_BITS ? (rows + 63) / 64 : rows * (int64_t)columns[c].width);
        void *data = array(count * bytes_of[type]);
        if (data) memset(data, 0, count * bytes_of[type]);
        list[n++] = (clearance_column){bad() ? (uint32_t)whole(c) : c, bad() ? (uint32_t)below(10) : type, data};
    }
    if (bad() && n) list[n - 1] = list[0];
    r->columns = memcpy(room((size_t)n * sizeof *list), list, (size_t)n * sizeof *list);
    r->rows = length(rows), r->count = length(n);
    if (bad() && one_in(4)) r->columns = NULL, r->count = whole(n);
    return r;
}

static clearance_pairs *pairs(int64_t n) {
    if (bad() && one_in(4)) return NULL;
    clearance_pairs *p = room(sizeof *p);
    p->shape_a = indices(n, SHAPES), p->shape_b = indices(n, SHAPES);
    p->position_a = reals(3 * n), p->position_b = reals(3 * n);
    p->rotation_a = reals(4 * n), p->rotation_b = reals(4 * n);
    p->warm_start = one_in(4) ? reals(3 * n) : NULL;
    p->rows = length(n);
    if (bad() && one_in(4)) memset(p, 0, sizeof *p), p->rows = whole(n);
    return p;
}

static int64_t rows_of_call(void) { return one_in(30) ? 100 : below(9); }

static int64_t wait_ms(void) { return bad() && one_in(2) ? -1 : one_in(2) ? 1000 : 0; }

static clearance_job *job_place(void) {
    if (bad() && one_in(4)) return NULL;
    clearance_job *j = room(sizeof *j);
    *j = 0;
    return j;
}

static void ended(int32_t code, const clearance_error *e, const clearance_job *j) {
    done(code, e);
    if (code == CLEARANCE_RUNNING && !j) failed("a job runs without a place", 0);
    if (j) finish(code, *j);
}

// place is where a handle goes.
static uint64_t *place(void) {
    if (bad() && one_in(4)) return NULL;
    uint64_t *p = room(8);
    *p = 0;
    return p;
}

static void call_check(void) {
    clearance_sizes *s = room(sizeof *s);
    for (size_t i = 0; i < sizeof *s / 4; i++) ((uint32_t *)s)[i] = (uint32_t)whole(64);
    if (one_in(2))
        *s = (clearance_sizes){CLEARANCE_ABI,
                               sizeof(clearance_error),
                               sizeof(clearance_shape),
                               sizeof(clearance_options),
                               sizeof(clearance_query),
                               sizeof(clearance_pairs),
                               sizeof(clearance_worlds),
                               sizeof(clearance_results),
                               sizeof(clearance_report),
                               sizeof(clearance_part),
                               sizeof(clearance_scene),
                               sizeof(clearance_more),
                               sizeof(clearance_motions),
                               sizeof(clearance_contacts),
                               sizeof(clearance_attribute),
                               sizeof(clearance_array),
                               sizeof(clearance_derivatives)};
    clearance_error *e = error_place();
    done(clearance_check(bad() ? NULL : s, e), e);
}

// texts fetches a text that a function writes, at sizes that do not suffice as well.
static void texts(int64_t (*describe)(uint64_t, char *, int64_t), uint64_t h) {
    int64_t size = below(one_in(4) ? 20000 : 300);
    int64_t n = describe(h, bad() ? NULL : room((size_t)size), length(size));
    if (n < -1) failed("a size below -1", n);
}
static int64_t describe_library(uint64_t h, char *out, int64_t size) {
    (void)h;
    return clearance_describe(out, size);
}
static void call_describe(void) { texts(describe_library, 0); }
static void call_engine_describe(void) { texts(clearance_engine_describe, handle(ENGINE)); }
static void call_bodies_describe(void) { texts(clearance_bodies_describe, handle(BODIES)); }

// new_library makes a library of shapes, or of those of another one and more.
static void new_library(int extends) {
    int64_t n = SHAPES;
    clearance_shape *list = room((size_t)n * sizeof *list);
    for (int64_t i = 0; i < n; i++) {
        // Kinds by their numbers of parameters: spheres, boxes, ellipsoids and hulls are among the first.
        int64_t counts = corrupt ? 1 + below(4) : 1, kind = corrupt ? below(16) : 0;
        list[i] = (clearance_shape){code32(kind), code32(0), bad() ? real() : 0, positive(40), {0}, NULL, NULL};
        for (int k = 0; k < 4; k++) list[i].counts[k] = k < counts ? (bad() ? below(11) : 1 + 2 * (kind > 0)) : 0;
        if (!list[i].values) list[i].counts[below(4)] = whole(3);
        if (bad()) {
            clearance_attribute *a = room(sizeof *a);
            a->code = code32(below(3)), a->values = reals(6), a->count = (int32_t)length(one_in(2) ? 1 : 6);
            list[i].attributes = bad() ? NULL : a, list[i].attribute_count = list[i].attributes ? 1 : code32(1);
        }
        list[i].name = one_in(2) ? NULL : text_of("a");
    }
    uint64_t *out = place();
    clearance_error *e = error_place();
    int64_t count = length(n);
    clearance_job *j = job_place();
    uint64_t from = handle(LIBRARY);
    int32_t code = extends ? clearance_library_extend(from, list, count, wait_ms(), out, j, e)
                           : clearance_library_new(list, count, wait_ms(), out, j, e);
    ended(code, e, j);
    if (code == CLEARANCE_RUNNING && out && *out) release(LIBRARY, *out);
    if (code == CLEARANCE_OK) {
        if (count == SHAPES && !extends) keep(LIBRARY, (int)below(SLOTS), *out);
        else release(LIBRARY, *out);
    }
}

static void call_library_new(void) { new_library(0); }
static void call_library_extend(void) { new_library(1); }

static void call_library_read(void) {
    uint64_t *out = place();
    clearance_error *e = error_place();
    if (done(clearance_library_read(path("shapes.json"), out, e), e) == CLEARANCE_OK)
        keep(LIBRARY, (int)below(SLOTS), *out);
}

static void call_library_mesh(void) {
    uint64_t *out = place();
    int64_t n = below(4);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    double tolerance = bad() ? real() : -1;
    int32_t code =
        clearance_library_mesh(path("mesh.obj"), code32(0), tolerance, wait_ms(), out, reals(n), length(n), j, e);
    ended(code, e, j);
    if ((code == CLEARANCE_RUNNING || code == CLEARANCE_OK) && out && *out) release(LIBRARY, *out);
}

static void call_library_write(void) {
    clearance_error *e = error_place();
    done(clearance_library_write(handle(LIBRARY), own("shapes.json"), e), e);
}

static void call_library_count(void) {
    if (clearance_library_count(handle(LIBRARY)) < -1) failed("a number of shapes below -1", 0);
}

static void call_library_shape(void) {
    int64_t n = below(40), size = below(20);
    double *values = reals(n);
    clearance_error *e = error_place();
    done(clearance_library_shape(handle(LIBRARY), whole(below(SHAPES)), bad() ? NULL : room(sizeof(clearance_shape)),
                                 values, values ? length(n) : whole(n), bad() ? NULL : room(8),
                                 bad() ? NULL : room((size_t)size), length(size), e),
         e);
}

static void call_library_attribute(void) {
    int64_t n = below(8);
    double *values = reals(n);
    clearance_error *e = error_place();
    done(clearance_library_attribute(handle(LIBRARY), whole(below(SHAPES)), code32(below(4)), values,
                                     values ? length(n) : whole(n), bad() ? NULL : room(8), e),
         e);
}

static void call_library_support(void) {
    int64_t n = below(9);
    double *d = reals(3 * n), *p = reals(3 * n);
    clearance_error *e = error_place();
    done(clearance_library_support(handle(LIBRARY), whole(below(SHAPES)), d || p ? length(n) : whole(n), d, p, e), e);
}

static void call_library_center(void) {
    clearance_error *e = error_place();
    done(clearance_library_center(handle(LIBRARY), whole(below(SHAPES)), reals(3), e), e);
}

static void call_hull(void) {
    int64_t n = below(30), m = below(60);
    double *points = reals(3 * n);
    if (points && one_in(3))
        for (int64_t i = 0; i < 3 * n; i++) points[i] = (double)below(3); // coplanar and equal ones
    int32_t *triangles = indices(3 * m, 4);
    clearance_error *e = error_place();
    done(clearance_hull(points, points ? length(n) : below(9), triangles, triangles ? length(m) : whole(m),
                        bad() ? NULL : room(8), e),
         e);
}

static void call_library_free(void) { // mostly handles that are in use
    if (one_in(4)) release(LIBRARY, handle(LIBRARY));
}

static void call_engine_open(void) {
    clearance_options *o = room(sizeof *o);
    memset(o, 0, sizeof *o);
    o->backend = text_of(one_in(3) ? "ref" : "cpu"), o->workers = code32(below(3));
    o->simd = bad() ? text_of("portable") : NULL, o->device = bad() ? text_of("0") : NULL;
    uint64_t *out = place();
    clearance_error *e = error_place();
    if (o->backend == NULL || o->backend[0] == 0) o->backend = "cpu"; // others take a second
    if (done(clearance_engine_open(bad() ? NULL : o, out, e), e) == CLEARANCE_OK) keep(ENGINE, (int)below(SLOTS), *out);
}

static void call_engine_close(void) {
    if (one_in(4)) release(ENGINE, handle(ENGINE));
}

static void call_submit(void) {
    int64_t n = rows_of_call();
    clearance_query *q = query(some_columns());
    clearance_results *r = results(q, n);
    clearance_pairs *p = pairs(n);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_submit(handle(ENGINE), q, p, r, wait_ms(), j, report_place(), e), e, j);
}

static void call_trace(void) {
    int64_t n = 1 + below(4), size = below(60000);
    clearance_error *e = error_place();
    clearance_query *q = query(1);
    done(clearance_trace(q, pairs(n), whole(below(n)), bad() ? NULL : room((size_t)size), length(size),
                         bad() ? NULL : room(8), e),
         e);
}

static void call_picture(void) {
    int64_t size = below(60000);
    clearance_error *e = error_place();
    clearance_text *formats[] = {text_of("png"), text_of("gif"), text_of("rgb")};
    clearance_text *document = bad() ? text_of("{}") : text_of("{\"format\":\"clearance scene\",\"version\":1}");
    done(clearance_picture(document, text_of("{\"width\":32,\"height\":24}"), formats[below(3)],
                           bad() ? NULL : room((size_t)size), length(size), bad() ? NULL : room(8), e),
         e);
}

static clearance_derivatives *derivatives(int64_t n, int64_t gradients) {
    clearance_derivatives *d = room(sizeof *d);
    memset(d, 0, sizeof *d);
    d->rows = length(n), d->first_row = whole(0), d->workers = code32(0);
    if (one_in(2)) d->cotangents = reals(10 * n);
    else d->values = reals(n);
    d->gradients = reals(gradients);
    if (bad() || (gradients == 12 * n && one_in(2))) d->twists = reals(gradients), d->tangents = reals(10 * n);
    if (bad()) d->cotangents = reals(10 * n), d->smoothness = array((size_t)n);
    return bad() && one_in(4) ? NULL : d;
}

static void call_derive(void) {
    int64_t n = rows_of_call();
    clearance_query *q = query(0x3f);
    if (q && !bad()) q->derivative = (int32_t)below(4);
    clearance_results *r = results(q, n);
    clearance_pairs *p = pairs(n);
    clearance_derivatives *d = derivatives(n, 12 * n);
    if (d && !bad()) d->smoothness = array((size_t)n);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_derive(handle(ENGINE), q, p, r, d, wait_ms(), j, report_place(), e), e, j);
}

static void call_multiply(void) {
    int64_t n = rows_of_call();
    clearance_query *q = query(0x3f);
    if (q && !bad()) q->derivative = (int32_t)below(4);
    clearance_pairs *p = pairs(n);
    clearance_derivatives *d = derivatives(n, 12 * n);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_multiply(handle(ENGINE), q, p, d, wait_ms(), j, report_place(), e), e, j);
}

// worlds_query has the columns that rollouts of all slots have.
static clearance_query *worlds_query(void) { return query(0x3f); }

static void call_rollout_open(void) {
    int at = (int)below(4);
    const struct sizes *s = &sizes[at];
    clearance_worlds *w = room(sizeof *w);
    *w = (clearance_worlds){length(s->worlds),
                            length(s->places),
                            length(s->pairs),
                            indices(s->places, SHAPES),
                            indices(s->pairs, s->places),
                            indices(s->pairs, s->places),
                            one_in(2) ? NULL : poses(s->worlds * s->places)};
    if (w->poses == NULL && w->shapes == NULL) w->worlds = whole(s->worlds), w->bodies = whole(s->places);
    int good = w->worlds == s->worlds && w->bodies == s->places && w->templates == s->pairs;
    uint64_t *out = place();
    clearance_error *e = error_place();
    if (done(clearance_rollout_open(handle(ENGINE), worlds_query(), bad() ? NULL : w, out, e), e) == CLEARANCE_OK) {
        if (good) keep(ROLLOUT, at + 4 * (int)below(2), *out);
        else release(ROLLOUT, *out);
    }
}

static void call_rollout_submit(void) {
    int at = (int)below(4);
    const struct sizes *s = &sizes[at];
    clearance_query q = {.columns = 0x3f, .precision = (int32_t)below(2)};
    clearance_results *r = results(&q, s->worlds * s->pairs);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    enum kind k = bad() ? SCENE : ROLLOUT;
    ended(clearance_rollout_submit(handle_at(k, at), poses(s->worlds * s->places), r, wait_ms(), j, report_place(), e),
          e, j);
}

static clearance_more *more(int64_t n, int64_t worlds) {
    clearance_more *m = room(sizeof *m);
    memset(m, 0, sizeof *m);
    m->part_a = indices(n, 1), m->part_b = indices(n, 1), m->pair = indices(n, 1), m->contacts = indices(n, 1);
    m->failed = indices(n, 1), m->any = array((size_t)n), m->body_a = indices(n, 1), m->body_b = indices(n, 1);
    if (one_in(2)) m->pair = m->contacts = m->failed = NULL, m->any = NULL;
    if (one_in(2)) m->body_a = m->body_b = NULL;
    m->offsets = array((size_t)(worlds + 1) * 8);
    for (int64_t i = 0; m->offsets && i <= worlds; i++) m->offsets[i] = bad() ? (int64_t)number() : n * i / worlds;
    return bad() && one_in(4) ? NULL : m;
}

static void call_rollout_multiply(void) {
    int at = (int)below(4);
    const struct sizes *s = &sizes[at];
    int64_t rows = one_in(2) ? s->worlds : s->worlds * s->pairs;
    clearance_query *q = query(0x3f);
    if (q && !bad()) q->derivative = (int32_t)below(4);
    clearance_results *r = q && one_in(2) ? results(q, rows) : NULL;
    clearance_more *m = r && one_in(2) ? more(rows, s->worlds) : NULL;
    clearance_derivatives *d = derivatives(rows, 6 * s->worlds * s->places);
    if (d && r && one_in(2)) {
        d->by_row = 1;
        d->gradients = reals(12 * rows);
        if (one_in(2)) {
            d->columns = 3, d->coordinates = 2;
            d->screws = reals(18 * s->worlds), d->coordinate = indices(3, 2), d->gradients = reals(2 * rows);
            d->moves = array((size_t)(3 * s->places));
        }
    }
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_rollout_multiply(handle_at(one_in(2) ? ROLLOUT : SCENE, at), q, poses(s->worlds * s->places), r, m,
                                     d, wait_ms(), j, report_place(), e),
          e, j);
}

static void call_rollout_release(void) {
    clearance_error *e = error_place();
    if (one_in(8)) done(clearance_rollout_release(handle(one_in(2) ? ROLLOUT : SCENE), e), e);
}

static void call_rollout_close(void) {
    if (one_in(4)) release(ROLLOUT, handle(one_in(2) ? ROLLOUT : SCENE));
}

static void call_bodies_new(void) {
    int64_t n = TABLE, m = 4;
    clearance_part *p = array((size_t)m * sizeof *p);
    for (int64_t i = 0; p && i < m; i++) {
        p[i].shape = code32(below(SHAPES)), p[i].reserved = 0;
        for (int k = 0; k < 7; k++) p[i].pose[k] = bad() ? real() : k == 3;
    }
    static const int32_t starts[] = {0, 1, 2, 4};
    int32_t *first = memcpy(room(sizeof starts), starts, sizeof starts);
    if (bad()) first[below(n + 1)] = (int32_t)(p ? below(m + 1) : whole(m)); // never beyond the parts
    clearance_text **names = one_in(2) ? NULL : room((size_t)n * sizeof *names);
    for (int64_t i = 0; names && i < n; i++) names[i] = text_of("body");
    uint64_t *out = place();
    int64_t count = length(n);
    clearance_error *e = error_place();
    if (done(clearance_bodies_new(handle(LIBRARY), p, bad() ? NULL : first, count, names, out, e), e) == CLEARANCE_OK)
        keep(BODIES, (int)below(SLOTS), *out);
}

static void call_scene_read(void) {
    uint64_t *l = place(), *b = place();
    clearance_error *e = error_place();
    if (done(clearance_scene_read(path("scene.json"), l, b, e), e) == CLEARANCE_OK)
        keep(BODIES, (int)below(SLOTS), *b), release(LIBRARY, *l);
}

static void call_scene_write(void) {
    int64_t n = below(3);
    int32_t *a = indices(n, TABLE), *b = indices(n, TABLE);
    clearance_error *e = error_place();
    done(clearance_scene_write(handle(BODIES), a, b, a || b ? length(n) : whole(n), own("scene.json"), e), e);
}

static void call_bodies_physics(void) {
    static const char *const good[] = {"[{},{},{}]",
                                       "[{\"fixed\":true},{\"mass\":1},{\"friction\":0.5}]",
                                       "[{\"mass\":1,\"inertia\":[1,1,1,0,0,0]},{},{\"center_of_mass\":[0,0,0]}]",
                                       "[{\"inertia\":[1]},{},{}]",
                                       "null",
                                       "[null,null,null]"};
    clearance_error *e = error_place();
    done(clearance_bodies_physics(handle(BODIES), text_of(good[below(6)]), e), e);
}

static void call_bodies_surfaces(void) {
    static const char *const good[] = {"[]", "[{\"a\":0,\"part_a\":-1,\"b\":1,\"part_b\":0,\"friction\":0.5}]",
                                       "[{\"a\":2147483647,\"part_a\":9,\"b\":-1}]", "null"};
    clearance_error *e = error_place();
    done(clearance_bodies_surfaces(handle(BODIES), text_of(good[below(4)]), e), e);
}

static void call_bodies_free(void) {
    if (one_in(4)) release(BODIES, handle(BODIES));
}

static void call_bodies_mass(void) {
    clearance_error *e = error_place();
    done(clearance_bodies_mass(handle(BODIES), whole(below(TABLE)), bad() ? real() : 1000, reals(10), e), e);
}

static clearance_scene *scene(int at, int rows_are_worlds, int all_pairs) {
    const struct sizes *s = &sizes[at];
    clearance_scene *c = room(sizeof *c);
    memset(c, 0, sizeof *c);
    c->table = handle(BODIES), c->worlds = length(s->worlds), c->places = length(s->places);
    c->templates = length(s->pairs), c->reduce = code32(rows_are_worlds), c->all_pairs = all_pairs;
    c->bodies = indices(s->places * s->worlds, TABLE), c->per_world = code32(0);
    c->carriers = one_in(4) ? indices(s->places * s->worlds, s->places) : NULL;
    c->template_a = indices(s->pairs, s->places), c->template_b = indices(s->pairs, s->places);
    c->max_distance = real(), c->has_max_distance = code32(0), c->no_culling = code32(0), c->workers = code32(0);
    if (!c->bodies) c->worlds = whole(s->worlds);
    if (!c->template_a && !c->template_b) c->templates = whole(s->pairs);
    return c;
}

static void call_scene_open(void) {
    int at = (int)below(4), by_worlds = (int)below(2), all = (int)below(2);
    clearance_scene *c = scene(at, by_worlds, all);
    int good = c->worlds == sizes[at].worlds && c->places == sizes[at].places && c->templates == sizes[at].pairs;
    uint64_t *out = place();
    clearance_error *e = error_place();
    if (done(clearance_scene_open(handle(ENGINE), worlds_query(), bad() ? NULL : c, out, e), e) == CLEARANCE_OK) {
        if (good) keep(SCENE, at + 4 * (int)below(2), *out);
        else release(SCENE, *out);
    }
}

static void call_scene_submit(void) {
    int at = (int)below(4);
    const struct sizes *s = &sizes[at];
    int64_t rows = one_in(2) ? s->worlds : s->worlds * s->pairs;
    clearance_query q = {.columns = 0x3f, .precision = (int32_t)below(2)};
    clearance_results *r = results(&q, rows);
    clearance_more *m = more(rows, s->worlds);
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_scene_submit(handle_at(bad() ? ROLLOUT : SCENE, at), poses(s->worlds * s->places), r, m, wait_ms(),
                                 j, report_place(), e),
          e, j);
}

static void call_scene_find(void) {
    int at = (int)below(4);
    uint64_t *out = place();
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    int32_t code = clearance_scene_find(handle_at(SCENE, at), poses(sizes[at].worlds * sizes[at].places), out,
                                        wait_ms(), j, report_place(), e);
    ended(code, e, j);
    if (code == CLEARANCE_OK || code == CLEARANCE_RUNNING) keep(FOUND, at + 4 * (int)below(2), *out);
}

static void call_found_read(void) {
    int at = (int)below(4);
    int64_t rows = below(7);
    clearance_query q = {.columns = 0x3f, .precision = (int32_t)below(2)};
    clearance_results *r = results(&q, rows);
    clearance_error *e = error_place();
    done(clearance_found_read(handle_at(FOUND, at), r, more(rows, sizes[at].worlds), e), e);
}

static void call_found_free(void) {
    if (one_in(4)) release(FOUND, handle(FOUND));
}

static clearance_motions *motions(int at, int way_points) {
    const struct sizes *s = &sizes[at];
    clearance_motions *m = room(sizeof *m);
    memset(m, 0, sizeof *m);
    m->table = handle(BODIES), m->worlds = length(s->worlds), m->places = length(s->places);
    m->way_points = length(way_points), m->templates = length(s->pairs), m->per_world = code32(0);
    m->bodies = indices(s->places * s->worlds, TABLE);
    m->template_a = indices(s->pairs, s->places), m->template_b = indices(s->pairs, s->places);
    m->poses = poses(s->worlds * way_points * s->places);
    m->time_tolerance = bad() ? real() : 0, m->tolerance = bad() ? real() : 0;
    m->max_distance = real(), m->has_max_distance = code32(0), m->max_evaluations = code32(0);
    m->workers = code32(0), m->all_pairs = way_points == 1 && one_in(2);
    if (!m->poses && !m->bodies) m->worlds = whole(s->worlds), m->way_points = whole(2);
    return m;
}

static void call_sweep(void) {
    int at = (int)below(4);
    clearance_motions *m = motions(at, sizes[at].way_points);
    int64_t n = sizes[at].worlds * sizes[at].pairs;
    clearance_contacts *c = room(sizeof *c);
    *c = (clearance_contacts){length(n), array((size_t)n), reals(n),      reals(n),      reals(n),
                              reals(n),  reals(n),         indices(n, 1), indices(n, 1), indices(n, 1)};
    clearance_job *j = job_place();
    clearance_error *e = error_place();
    ended(clearance_sweep(handle(ENGINE), bad() ? NULL : m, bad() ? NULL : c, wait_ms(), j, report_place(), e), e, j);
}

#include "fuzz_calls.h"

static void call_job_wait(void) {
    clearance_error *e = error_place();
    done(clearance_job_wait(handle(JOB), wait_ms() ? 1 : whole(0), report_place(), e), e);
}

static void call_job_progress(void) {
    if (clearance_job_progress(handle(JOB), bad() ? NULL : room(8)) < -1) failed("a progress below -1", 0);
}

static void call_job_cancel(void) {
    clearance_error *e = error_place();
    done(clearance_job_cancel(handle(JOB), e), e);
}

static void call_try_device(void) {
    clearance_error *e = error_place();
    done(clearance_try_device(text_of("99"), text_of("no device"), e), e);
}

// The functions of the header, with the share of the calls that each has.
static const struct {
    const char *name;
    void (*make)(void);
    int share;
} calls[] = {
#define CALL(name, share) {"clearance_" #name, call_##name, share}
    CALL(check, 4),
    CALL(describe, 1),
    CALL(library_new, 8),
    CALL(library_extend, 2),
    CALL(library_read, 1),
    CALL(library_mesh, 2),
    CALL(library_write, 1),
    CALL(library_count, 4),
    CALL(library_shape, 8),
    CALL(library_attribute, 8),
    CALL(library_support, 8),
    CALL(library_center, 4),
    CALL(hull, 8),
    CALL(library_free, 2),
    CALL(engine_open, 1),
    CALL(engine_describe, 2),
    CALL(engine_close, 1),
    CALL(submit, 20),
    CALL(picture, 1),
    CALL(trace, 2),
    CALL(derive, 16),
    CALL(multiply, 16),
    CALL(rollout_open, 4),
    CALL(rollout_submit, 12),
    CALL(bodies_new, 6),
    CALL(scene_read, 1),
    CALL(scene_write, 1),
    CALL(bodies_describe, 6),
    CALL(bodies_physics, 6),
    CALL(bodies_surfaces, 6),
    CALL(bodies_free, 2),
    CALL(bodies_mass, 6),
    CALL(scene_open, 6),
    CALL(scene_submit, 12),
    CALL(scene_find, 8),
    CALL(found_read, 8),
    CALL(found_free, 2),
    CALL(sweep, 12),
    CALL(sweep_derive, 6),
    CALL(rollout_multiply, 12),
    CALL(rollout_release, 1),
    CALL(rollout_close, 2),
    CALL(pairs_rows, 2),
    CALL(score, 1),
    CALL(audit, 1),
    CALL(stream, 4),
    CALL(stream_report, 4),
    CALL(stream_forget, 2),
    CALL(worlds_write, 1),
    CALL(worlds_read, 2),
    CALL(worlds_size, 2),
    CALL(worlds_copy, 4),
    CALL(worlds_free, 1),
    CALL(rollout_file, 1),
    CALL(sweep_file, 1),
    CALL(rollout_audit, 1),
    CALL(sweep_audit, 1),
    CALL(job_wait, 6),
    CALL(job_progress, 6),
    CALL(job_cancel, 6),
    CALL(contact_solve, 12),
    CALL(contact_vjp, 12),
    CALL(contact_points, 12),
    CALL(contact_points_vjp, 12),
    CALL(system_solve, 12),
    CALL(system_vjp, 12),
    CALL(simulation_open, 6),
    CALL(simulation_run, 8),
    CALL(simulation_step, 12),
    CALL(simulation_reset, 6),
    CALL(simulation_state, 8),
    CALL(simulation_set_state, 8),
    CALL(simulation_contacts, 8),
    CALL(simulation_close, 1),
    CALL(tape_run, 6),
    CALL(tape_vjp, 6),
    CALL(simulation_smoothed, 4),
    CALL(tape_close, 1),
    CALL(forward, 10),
    CALL(try_device, 1)};
enum { CALLS = sizeof calls / sizeof *calls };

static uint64_t seed;
static int64_t calls_of_a_thread;
static _Atomic int64_t made[CALLS];
static const char *_Atomic in_progress[64]; // by thread

// hung ends a run that no longer goes on, and says where: main sets the time.
static void hung(int signal) {
    (void)signal;
    static const char text[] = "in progress: ";
    for (int i = 0; i < 64; i++) {
        const char *name = atomic_load(&in_progress[i]);
        if (name && write(1, text, sizeof text - 1) > 0 && write(1, name, strlen(name)) > 0) (void)!write(1, "\n", 1);
    }
    _exit(3);
}

static void *run(void *thread) {
    int64_t shares = 0;
    for (int i = 0; i < CALLS; i++) shares += calls[i].share;
    random_state = seed ^ (uint64_t)(uintptr_t)thread * 0xd1342543de82ef95;
    for (int64_t n = 0; n < calls_of_a_thread; n++) {
        int i = 0;
        if (n < CALLS) i = (int)n; // each at least once
        else
            for (int64_t k = below(shares); k >= calls[i].share; i++) k -= calls[i].share;
        corrupt = n < 2 * CALLS || one_in(3) ? 0 : one_in(2) ? 50 : 10;
        call = calls[i].name;
        atomic_store(&in_progress[(uintptr_t)thread - 1], call);
        calls[i].make();
        atomic_fetch_add(&made[i], 1);
    }
    atomic_store(&in_progress[(uintptr_t)thread - 1], NULL);
    return NULL;
}

int main(int count, char **words) {
    if (count != 5) return fprintf(stderr, "fuzz FOLDER SEED CALLS THREADS\n"), 2;
    folder = words[1], seed = strtoull(words[2], NULL, 10);
    int threads = atoi(words[4]);
    calls_of_a_thread = atoll(words[3]) / threads;
    pthread_t list[64];
    signal(SIGALRM, hung);
    signal(SIGTERM, hung);
    alarm(600 + (unsigned)(calls_of_a_thread * threads / 100)); // far beyond what a run takes
    if (threads < 1 || threads > 64) return 2;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&list[i], NULL, run, (void *)(uintptr_t)(i + 1))) return 2;
    for (int i = 0; i < threads; i++) pthread_join(list[i], NULL);
    int64_t all = 0;
    for (int i = 0; i < CALLS; i++) {
        printf("%s %lld\n", calls[i].name, (long long)made[i]);
        all += made[i];
    }
    for (int i = 0; i < 10; i++) printf("code %d %lld\n", i, (long long)codes_seen[i]);
    printf("calls %lld\n", (long long)all);
    return panics > 0;
}
