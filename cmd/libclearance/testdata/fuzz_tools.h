// Tools of fuzz.c: seeded numbers, arrays that end at a page without access, and handles that threads share.
#ifndef CLEARANCE_FUZZ_TOOLS_H
#define CLEARANCE_FUZZ_TOOLS_H

#include "clearance.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Types of handles. A slot k of bodies, rollouts, answers, files and simulations holds one of the sizes sizes[k % 4],
// so that arrays of a call have the length that the header asks for, whichever thread made the handle.
enum kind {
    LIBRARY,
    ENGINE,
    ROLLOUT,
    SCENE,
    JOB,
    BODIES,
    FOUND,
    SIMULATION,
    ANSWERS,
    WORLDFILE,
    TAPE,
    KINDS,
};
enum { SLOTS = 8, SLABS = 192, SLAB = 1 << 16, SHAPES = 5, TABLE = 3 };

struct sizes {
    int worlds, places, pairs, way_points;
};
static const struct sizes sizes[4] = {{3, 3, 2, 2}, {1, 2, 1, 3}, {4, 4, 5, 2}, {2, 1, 0, 2}};

static _Atomic uint64_t pool[KINDS][SLOTS];
static _Atomic uint64_t codes_seen[16];
static _Atomic int64_t panics; // that the library has made errors of
static const char *folder;

// State of a thread.
static __thread uint64_t random_state;
static __thread int corrupt; // the chance that an argument is wrong is 1 in corrupt; 0: none is
static __thread int slab;
static __thread char *slabs[SLABS];
static __thread const char *call; // in progress

static uint64_t number(void) { // SplitMix64
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}
static int64_t below(int64_t n) { return (int64_t)(number() % (uint64_t)n); }
static int one_in(int n) { return below(n) == 0; }
static int bad(void) { return corrupt && one_in(corrupt); }

static void failed(const char *what, int64_t detail) {
    printf("%s: %s (%lld)\n", call, what, (long long)detail);
    fflush(stdout);
    abort();
}

// room returns memory that ends, after so many bytes, at a page without access. It lasts for SLABS calls of room.
static void *room(size_t bytes) {
    if (bytes > SLAB) failed("a buffer of too many bytes", (int64_t)bytes);
    slab = (slab + 1) % SLABS;
    if (!slabs[slab]) {
        long page = sysconf(_SC_PAGESIZE);
        char *at = mmap(NULL, SLAB + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED || mprotect(at + SLAB, (size_t)page, PROT_NONE)) failed("no memory", 0);
        slabs[slab] = at;
    }
    return slabs[slab] + SLAB - bytes;
}

// Arrays. With a small chance one is NULL, or the array before it, where that is long enough: they overlap.
static __thread void *last_array;
static __thread size_t last_bytes;
static void *array(size_t bytes) {
    if (bad() && one_in(2)) return NULL;
    if (bad() && last_bytes >= bytes) return (char *)last_array + (last_bytes - bytes) / 8 * 8;
    last_bytes = bytes;
    return last_array = room(bytes);
}

static double real(void) {
    static const double wild[] = {0,      -0.0,  NAN,    INFINITY, -INFINITY, 1e308, -1e308, 5e-324,
                                  1e-300, 1e150, -1e150, 1e9,      1,         -1,    2e-16,  0x1p53};
    if (bad()) return wild[below(sizeof wild / sizeof *wild)];
    return (double)(number() >> 11) * 0x1p-51 - 2;
}

static int64_t whole(int64_t honest) {
    static const int64_t wild[] = {-1,        0,         1,         2,          3,         7,         64,
                                   INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,  1LL << 31, 1LL << 32, 1LL << 40,
                                   1LL << 60, 1LL << 62, -2,        UINT32_MAX, 1LL << 20, 4097,      65};
    return bad() ? wild[below(sizeof wild / sizeof *wild)] : honest;
}

// code is whole in 32 bits.
static int32_t code32(int64_t honest) { return (int32_t)whole(honest); }

// length is a size of arrays that have n elements: it never states more than there are, unless they are NULL.
static int64_t length(int64_t n) {
    int64_t w = whole(n);
    return w > n ? n : w;
}

static double *reals(int64_t n) {
    double *a = array((size_t)n * 8);
    for (int64_t i = 0; a && i < n; i++) a[i] = real();
    return a;
}
static double *positive(int64_t n) {
    double *a = reals(n);
    for (int64_t i = 0; a && i < n; i++) a[i] = 0.5 + fabs(a[i]);
    return a;
}
static double *poses(int64_t n) {
    double *a = reals(7 * n);
    for (int64_t i = 0; a && i < n; i++)
        if (!corrupt) a[7 * i + 3] = 1, a[7 * i + 4] = a[7 * i + 5] = a[7 * i + 6] = 0;
    return a;
}
static int32_t *indices(int64_t n, int64_t most) {
    int32_t *a = array((size_t)n * 4);
    for (int64_t i = 0; a && i < n; i++) a[i] = code32(most > 0 ? below(most) : 0);
    return a;
}

// text returns a text that ends at the page without access; honest unless it is to be wrong.
static const char *text_of(const char *honest) {
    static const char *const wild[] = {"", "\xff\xfe", "/", ".", "\n", "no such thing", "[]", "{}", "[1e999]", "[{}]"};
    if (bad() && one_in(3)) return NULL;
    if (bad()) honest = wild[below(sizeof wild / sizeof *wild)];
    size_t n = strlen(honest) + 1;
    return memcpy(room(n), honest, n);
}

// path names a file of the folder of the run.
static const char *path(const char *name) {
    static const char *const others[] = {"shapes.json", "pairs.npz",   "worlds.npz",    "motions.npz",
                                         "results.npz", "broken.json", "broken.npz",    "broken.parquet",
                                         "missing.npz", "pairs.txt",   "pairs.parquet", "broken.obj"};
    char full[4096];
    if (bad()) name = others[below(sizeof others / sizeof *others)];
    snprintf(full, sizeof full, "%s/%s", folder, name);
    return text_of(full);
}

// own is a file that this thread alone writes.
static const char *own(const char *name) {
    char full[64];
    snprintf(full, sizeof full, "%lld-%s", (long long)(below(2)), name);
    return path(full);
}

static clearance_error *error_place(void) {
    if (bad()) return NULL;
    clearance_error *e = room(sizeof *e);
    memset(e, 0x5a, sizeof *e);
    return e;
}
static clearance_report *report_place(void) { return one_in(4) ? NULL : room(sizeof(clearance_report)); }

// done checks the result of a call: a code of the header, and an error that says the same in a text.
static int32_t done(int32_t code, const clearance_error *e) {
    if (code < CLEARANCE_OK || code > CLEARANCE_STILL) failed("no code of the header", code);
    if (e && code != CLEARANCE_RUNNING) {
        size_t n = strnlen(e->message, sizeof e->message);
        if (e->code != code || e->reserved != 0) failed("the error has another code", e->code);
        if (n == sizeof e->message || (code != CLEARANCE_OK) != (n > 0)) failed("the error has no text", (int64_t)n);
        if (strncmp(e->message, "panic", 5) == 0 && atomic_fetch_add(&panics, 1) < 100)
            printf("%s: %s\n", call, e->message);
    }
    atomic_fetch_add(&codes_seen[code], 1);
    return code;
}

// Handles.
static __thread int slot_of_last;
static uint64_t handle(enum kind k) {
    slot_of_last = (int)below(SLOTS);
    if (bad()) {
        switch (below(4)) {
        case 0: return 0;
        case 1: return number();
        case 2: return atomic_load(&pool[k][slot_of_last]) + 1;
        default: k = (enum kind)below(KINDS);
        }
    }
    for (int i = 0; i < SLOTS && !atomic_load(&pool[k][slot_of_last]); i++) slot_of_last = (slot_of_last + 1) % SLOTS;
    return atomic_load(&pool[k][slot_of_last]);
}

// handle_at is a handle of a slot with given sizes, which handles of other types there have as well.
static uint64_t handle_at(enum kind k, int at) {
    int slot = at + (one_in(2) ? 4 : 0);
    if (bad()) return one_in(2) ? (uint64_t)below(2) * number() : atomic_load(&pool[below(KINDS)][slot]);
    uint64_t h = atomic_load(&pool[k][slot]);
    return h ? h : atomic_load(&pool[k][(slot + 4) % SLOTS]);
}

// release gives a handle back.
static void release(enum kind k, uint64_t h) {
    clearance_error *e = error_place();
    int32_t code = CLEARANCE_OK;
    switch (k) {
    case LIBRARY: code = clearance_library_free(h, e); break;
    case ENGINE: code = clearance_engine_close(h, e); break;
    case ROLLOUT:
    case SCENE: code = clearance_rollout_close(h, e); break;
    case BODIES: code = clearance_bodies_free(h, e); break;
    case FOUND: code = clearance_found_free(h, e); break;
    case SIMULATION: code = clearance_simulation_close(h, e); break;
    case TAPE: code = clearance_tape_close(h, e); break;
    case ANSWERS: code = clearance_stream_forget(h, e); break;
    case WORLDFILE: code = clearance_worlds_free(h, e); break;
    default: return;
    }
    done(code, e);
}

// keep puts a handle into a slot, and gives the one back that was there; one of four stays in its slot, closed.
static void keep(enum kind k, int slot, uint64_t h) {
    uint64_t old = atomic_exchange(&pool[k][slot], h);
    if (old) release(k, old);
}

// finish waits for a job, looks at its progress, cancels it, or leaves that to other threads. After it nothing is
// written to the arrays of the call.
static void finish(int32_t code, uint64_t job) {
    if (code != CLEARANCE_RUNNING) return;
    atomic_store(&pool[JOB][below(SLOTS)], job);
    const int first = slab; // the arrays of the job are the ones before
    for (int i = 0;; i++) {
        slab = first;
        clearance_error *e = error_place();
        int64_t *total = one_in(4) ? NULL : room(8);
        if (clearance_job_progress(job, total) < -1) failed("a progress below -1", 0);
        if (i > 2 || one_in(4)) done(clearance_job_cancel(job, e), e);
        int32_t c = done(clearance_job_wait(job, below(20), report_place(), e), e);
        if (c != CLEARANCE_RUNNING) return;
    }
}

// Arrays by name.
struct list {
    clearance_array *at;
    int64_t count;
};
static struct list list_of(void) { return (struct list){room(64 * sizeof(clearance_array)), 0}; }
static void *add(struct list *l, const char *name, uint32_t type, int64_t n, void *data) {
    if (bad() && one_in(3)) return data; // missing
    clearance_array *a = &l->at[l->count++];
    *a = (clearance_array){text_of(name), bad() ? (uint32_t)below(10) : type, 0, bad() ? length(n) : n, data};
    return data;
}
static void add_reals(struct list *l, const char *name, int64_t n) { add(l, name, CLEARANCE_FLOAT64, n, reals(n)); }
static void add_number(struct list *l, const char *name, double v) {
    double *a = array(8);
    if (a) *a = bad() ? real() : v;
    add(l, name, CLEARANCE_FLOAT64, 1, a);
}
static void add_whole(struct list *l, const char *name, int64_t v) {
    int64_t *a = array(8);
    if (a) *a = whole(v);
    add(l, name, CLEARANCE_INT64, 1, a);
}
static void add_indices(struct list *l, const char *name, int64_t n, int64_t most) {
    add(l, name, CLEARANCE_INT32, n, indices(n, most));
}
// close_list moves the list to the page without access.
static void close_list(struct list *l) {
    if (bad() && l->count) l->at[l->count - 1] = l->at[0]; // given twice
    size_t bytes = (size_t)l->count * sizeof *l->at;
    l->at = memcpy(room(bytes), l->at, bytes);
    if (bad() && one_in(4)) l->at = NULL;
    if (bad()) l->count = length(l->count);
}

#endif
