// The kernel of one instruction set. The file that includes this sets ISA to its header
// and KERNEL to the name of the function.

#include <math.h>
#include <string.h>

// A sum of products is rounded as it is written (the compilers' default in ISO C, but
// for Clang): where a kernel fuses, it says so.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

// SPECIAL: is this the pair of classes k and k, which has code of its own? With CLR_GENERIC,
// set where compiling takes long, all pairs share one.
#ifdef CLR_GENERIC
#define SPECIAL(ka, kb, k) 0
#else
#define SPECIAL(ka, kb, k) ((ka) == (k) && (kb) == (k))
#endif

#include "rows.h"

#define REAL_BITS 32
#include ISA
#include "vec3.h"
#include "turns.h"
#include "frame.h"
#include "box_axes.h"
#include "boxes_decide.h"
#include "support.h"
#include "first.h"
#include "project.h"
#include "decide_units.h"
#include "foot.h"
#include "first_height.h"
#include "decide32.h"
#include "gjk.h"
#include "epa_sketch.h"
#include "epa_around.h"
#include "isa_undef.h"

#define REAL_BITS 64
#include ISA
#include "vec3.h"
#include "turns.h"
#include "box_axes.h"
#include "support.h"
#include "bend.h"
#include "first.h"
#include "prepare.h"
#include "store.h"
#include "straight.h"
#include "rtr.h"
#include "finish.h"
#include "newton.h"
#include "foot.h"
#include "feet.h"
#include "closed.h"
#include "boxes.h"
#include "rtr_prove.h"
#include "project.h"
#include "gjk.h"
#include "first_height.h"
#include "decide.h"
#include "gather.h"

// one_group says that all rows are of group g.
static void one_group(clr_scratch *s, int n, int g, int32_t *first) {
    for (int k = 0; k <= CLR_GROUPS; k++) first[k] = k > g ? n : 0;
    for (int i = 0; i < n; i++) s->order[i] = i;
}

// all_alike reports whether all rows name shapes of a library in which all are alike.
static int all_alike(const clr_call *c, int64_t lo, int n) {
    uint32_t most = 0; // of all numbers of shapes; what is below zero is large
    if (!c->alike || group_of(c, c->shapes, c->shapes) >= CLR_GROUPS) return 0;
    if (!c->poses) {
        const uint32_t *a = (const uint32_t *)c->shape_a + lo, *b = (const uint32_t *)c->shape_b + lo;
        for (int i = 0; i < n; i++) most = a[i] > most ? a[i] : most;
        for (int i = 0; i < n; i++) most = b[i] > most ? b[i] : most;
    } else {
        for (int i = 0; i < n; i++) {
            const clr_row r = row_at(c, lo + i);
            const uint32_t a = (uint32_t)r.shape_a, b = (uint32_t)r.shape_b;
            most = a > most ? a : most;
            most = b > most ? b : most;
        }
    }
    return most < c->shape_count;
}

// kind_of is all of a shape that group_of looks at, as one number below KINDS.
#define FORMS (CLR_HALF + 1)
#define KINDS ((CLR_CLASSES + 1) * FORMS)
static inline int kind_of(const clr_shape *s) {
    const int class = s->class < CLR_CLASSES ? s->class : CLR_CLASSES;
    return class * FORMS + s->form;
}

// sort puts the rows in the order of their groups, so that a vector runs one support
// function or one closed form. It returns where the groups begin in first; rows of
// shapes without a class, or that name no shape, go to s->left.
static __attribute__((noinline)) int sort(const clr_call *c, clr_scratch *s, int64_t lo, int n, int32_t *first) {
    int32_t at[CLR_GROUPS + 1] = {0};
    int left = 0, others = 0;
    if (all_alike(c, lo, n)) {
        one_group(s, n, group_of(c, c->shapes, c->shapes), first);
        return 0;
    }
    uint8_t known[KINDS][KINDS]; // groups of pairs of kinds, or 255: branches on shapes could not be predicted
    memset(known, 255, sizeof known);
    for (int i = 0; i < n; i++) {
        clr_row r = row_at(c, lo + i);
        int g = CLR_GROUPS;
        if ((uint64_t)(int64_t)r.shape_a < (uint64_t)c->shape_count && (uint64_t)(int64_t)r.shape_b < (uint64_t)c->shape_count) {
            const clr_shape *a = c->shapes + r.shape_a, *b = c->shapes + r.shape_b;
            uint8_t *of = &known[kind_of(a)][kind_of(b)];
            if (*of == 255) *of = (uint8_t)group_of(c, a, b);
            g = *of;
        }
        s->key[i] = (uint8_t)g;
        if (g == CLR_GROUPS) s->left[left++] = i;
    }
    const uint8_t key = s->key[0];
    for (int i = 0; i < n; i++) others |= s->key[i] ^ key;
    if (others == 0) { // one group, and counting would wait for memory at every row
        one_group(s, n, key, first);
        if (key == CLR_GROUPS) first[CLR_GROUPS] = 0;
        return left;
    }
    for (int i = 0; i < n; i++) at[s->key[i]]++;
    int32_t sum = 0;
    for (int g = 0; g < CLR_GROUPS; g++) {
        first[g] = sum;
        sum += at[g];
        at[g] = first[g];
    }
    first[CLR_GROUPS] = sum;
    for (int i = 0; i < n; i++)
        if (s->key[i] < CLR_GROUPS) s->order[at[s->key[i]]++] = i;
    return left;
}

// iterate answers rows order[0..n) of a pair of classes by GJK.
static void iterate(const clr_call *c, clr_scratch *s, int64_t lo, int32_t *order, int rows, int ka, int kb, int *left) {
    if (ka == CLR_BOX && kb == CLR_BOX) rows = two_boxes(c, lo, order, rows);
    if (c->decide) rows = decide(c, s, lo, order, rows, ka, kb);
    rows = smooth(c, s, lo, order, rows, ka, kb);
    waiting deep = {s + 1, 0};
    for (int k = 0; k < rows; k += CLR_CAP) {
        int n = rows - k < CLR_CAP ? rows - k : CLR_CAP;
        const int by_feet = takes_feet(c, ka, kb);
        prepare(c, s, lo, order + k, n, ka, kb, by_feet);
        if (by_feet) {
            int open = feet(c, s, lo - c->first, n, ka, kb);
            if (open > 0) {
                prepare_late(c, s, lo, n, ka, kb);
                first_directions(c, s, n, ka, kb);
                gjk32(c, s, s->list, open, ka, kb);
            }
        } else {
            first_directions(c, s, n, ka, kb);
            gjk32(c, s, 0, n, ka, kb);
            if (last_by_newton(c, ka, kb)) newton(c, s, lo - c->first, n, ka, kb);
        }
        if (!c->collide) gather(c, s, &deep, lo, n, ka, kb, left);
        sketches(c, s, n, ka, kb);
        surround(c, s, n, ka, kb);
        int listed = finish(c, s, lo - c->first, n, ka, kb, 1, left);
        if (listed > 0) {
            gjk64(c, s, s->list, listed, ka, kb);
            surround(c, s, n, ka, kb); // those that float64 found to overlap
            finish(c, s, lo - c->first, n, ka, kb, 0, left);
        }
    }
    if (deep.n > 0) answer_waiting(c, s, &deep, lo, ka, kb, left);
}

int KERNEL(const clr_call *c, clr_scratch *s, int64_t lo, int64_t hi) {
    int32_t first[CLR_GROUPS + 1];
    int left = sort(c, s, lo, (int)(hi - lo), first);
    for (int g = 0; g < CLR_GROUPS; g++) {
        int32_t *order = s->order + first[g];
        int n = first[g + 1] - first[g], ka = g / CLR_CLASSES, kb = g % CLR_CLASSES;
        if (n == 0) continue;
        if (g >= CLR_POINTS) {
            n = closed(c, s, lo, order, n, g, &left);
            ka = kb = CLR_BOX; // points and segments as well
        }
        iterate(c, s, lo, order, n, ka, kb, &left);
    }
    return left;
}
