//go:build cgo

#include "forked.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

// What a guard keeps of a structure that it changes.
typedef struct {
    struct ArrowArrayStream of;
    pid_t owner;
} guarded_stream;

typedef struct {
    void (*release)(struct ArrowArray *);
    void *private_data;
    pid_t owner;
} guarded_array;

typedef struct {
    void (*release)(struct ArrowSchema *);
    void *private_data;
    pid_t owner;
} guarded_schema;

static const char forked[] = "this process was forked after the stream was opened: read it in the process that opened "
                             "it, or start processes with the method 'spawn' or 'forkserver'";

int clr_stream_released(const struct ArrowArrayStream *s) {
    return s->release == NULL || s->get_schema == NULL || s->get_next == NULL || s->get_last_error == NULL;
}

static void array_release(struct ArrowArray *a) {
    guarded_array *g = a->private_data;
    if (getpid() == g->owner) {
        a->private_data = g->private_data, a->release = g->release;
        a->release(a);
        free(g);
    }
    a->release = NULL;
}

static void schema_release(struct ArrowSchema *s) {
    guarded_schema *g = s->private_data;
    if (getpid() == g->owner) {
        s->private_data = g->private_data, s->release = g->release;
        s->release(s);
        free(g);
    }
    s->release = NULL;
}

static int stream_get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    guarded_stream *g = s->private_data;
    if (getpid() != g->owner) return ECHILD;
    guarded_schema *kept = malloc(sizeof *kept);
    if (kept == NULL) return ENOMEM;
    int rc = g->of.get_schema(&g->of, out);
    if (rc != 0 || out->release == NULL) return free(kept), rc;
    *kept = (guarded_schema){out->release, out->private_data, g->owner};
    out->private_data = kept, out->release = schema_release;
    return 0;
}

static int stream_get_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    guarded_stream *g = s->private_data;
    if (getpid() != g->owner) return ECHILD;
    guarded_array *kept = malloc(sizeof *kept);
    if (kept == NULL) return ENOMEM;
    int rc = g->of.get_next(&g->of, out);
    if (rc != 0 || out->release == NULL) return free(kept), rc; // without release: the end
    *kept = (guarded_array){out->release, out->private_data, g->owner};
    out->private_data = kept, out->release = array_release;
    return 0;
}

static const char *stream_get_last_error(struct ArrowArrayStream *s) {
    guarded_stream *g = s->private_data;
    return getpid() == g->owner ? g->of.get_last_error(&g->of) : forked;
}

static void stream_release(struct ArrowArrayStream *s) {
    guarded_stream *g = s->private_data;
    if (getpid() == g->owner) {
        g->of.release(&g->of);
        free(g);
    }
    s->release = NULL;
}

int clr_guard_stream(struct ArrowArrayStream *s) {
    guarded_stream *g = malloc(sizeof *g);
    if (g == NULL) return -1;
    *g = (guarded_stream){*s, getpid()};
    *s = (struct ArrowArrayStream){stream_get_schema, stream_get_next, stream_get_last_error, stream_release, g};
    return 0;
}
