// The structures of the Arrow C data and stream interfaces (Apache Arrow, "The Arrow C stream interface"), and a guard
// around exported streams: a forked child has none of Go's threads, so that a call into Go would wait for ever.

#ifndef CLR_FORKED_H
#define CLR_FORKED_H

#include <stdint.h>

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
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

// clr_stream_released reports whether a stream has nothing to read: its consumer moves it out of the structure, or
// releases it.
int clr_stream_released(const struct ArrowArrayStream *s);

// clr_guard_stream has every function of an exported stream, of its schema and of its arrays look first whether the
// process is the one that made the stream. In a forked child, reads are errors and releases free nothing. It returns 0,
// or -1 without memory; then the stream is as it was.
int clr_guard_stream(struct ArrowArrayStream *s);

#endif
