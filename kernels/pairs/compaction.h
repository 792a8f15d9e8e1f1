// Compaction of penetrating rows. Where only some rows of a group penetrate, the vectors that search and prove their
// depths would have few active lanes. So these rows are copied to the second scratch memory, and answered when it is
// full or the group ends. Declined rows are appended to s->left. Float64.

#ifndef CLR_COMPACTION_H
#define CLR_COMPACTION_H

#include "../isa/real64.h"
#include "certify.h"
#include "depth_certificate.h"
#include "lanes.h"
#include <string.h>

// compacted_rows are n rows that were copied to *s.
typedef struct {
    clr_scratch *s;
    int n;
} compacted_rows;

// FEW is true if so few rows of n penetrate that copying them pays.
#define FEW(rows, n) ((rows) > 0 && 4 * (rows) < 3 * (n))

// PICK copies the listed rows of a column to the end of another.
#define PICK(to, from) \
    for (int i = 0; i < n; i++) (to)[i] = (from)[list[i]]

// answer_compacted answers the compacted rows. Declined rows are appended to s->left.
static void answer_compacted(const clr_call *c, clr_scratch *s, compacted_rows *w, int64_t lo, int ka, int kb,
                             int *left) {
    clr_scratch *penetrating = w->s;
    int more = 0;
    for (int i = w->n; i % W != 0; i++) { // lanes without a row
        penetrating->shape_a[i] = penetrating->shape_a[0], penetrating->shape_b[i] = penetrating->shape_b[0];
        for (int j = 0; j < 4; j++) penetrating->seed_a[j][i] = penetrating->seed_b[j][i] = 0;
    }
    search_depths32(c, penetrating, w->n, ka, kb);
    certify_depths(c, penetrating, w->n, ka, kb);
    certify_rows(c, penetrating, lo - c->first, w->n, ka, kb, 0, &more);
    memcpy(s->left + *left, penetrating->left, (size_t)more * sizeof *penetrating->left);
    *left += more;
    w->n = 0;
}

// compact_penetrating copies the rows among 0 to count−1 of the group whose cores intersect to *w, unless most do;
// these as well with `always`, for groups that are small.
static __attribute__((noinline)) void compact_penetrating(const clr_call *c, clr_scratch *s, compacted_rows *w,
                                                          int64_t lo, int count, int ka, int kb, int always,
                                                          int *left) {
    int32_t list[CLR_GROUP_ROWS];
    clr_scratch *penetrating = w->s;
    int n = 0;
    for (int i = 0; i < count; i++)
        if (s->state[i] == CLR_INSIDE) list[n++] = i;
    if (n == 0 || (!always && !FEW(n, count))) return;
    if (w->n + n > CLR_GROUP_ROWS) answer_compacted(c, s, w, lo, ka, kb, left);
    const int at = w->n;
    for (int j = 0; j < CLR_STOP; j++) PICK(penetrating->in64[j] + at, s->in64[j]);
    for (int j = 0; j < CLR_SEED; j++) PICK(penetrating->more[j] + at, s->more[j]);
    PICK(penetrating->more[CLR_SPAN] + at, s->more[CLR_SPAN]);
    if (!IS_HULL(ka) || !IS_HULL(kb))
        for (int j = CLR_SEED; j < CLR_SPAN; j++) PICK(penetrating->more[j] + at, s->more[j]);
    if ((!IS_CURVED(ka) && !IS_CURVED(kb)) || HAS_DEPTH_CERTIFICATE(ka, kb))
        for (int j = 0; j < CLR_IN; j++) PICK(penetrating->in32[j] + at, s->in32[j]);
    if (KEEPS_SIMPLEX(ka, kb))
        for (int i = 0; i < n; i++) memcpy(penetrating->simplex[at + i], s->simplex[list[i]], sizeof *s->simplex);
    for (int j = 0; j < 4; j++) {
        if (IS_HULL(ka)) PICK(penetrating->seed_a[j] + at, s->seed_a[j]);
        if (IS_HULL(kb)) PICK(penetrating->seed_b[j] + at, s->seed_b[j]);
    }
    PICK(penetrating->shape_a + at, s->shape_a);
    PICK(penetrating->shape_b + at, s->shape_b);
    PICK(penetrating->row + at, s->row);
    PICK(penetrating->steps + at, s->steps);
    for (int i = 0; i < n; i++) penetrating->state[at + i] = CLR_INSIDE, s->state[list[i]] = CLR_DONE;
    w->n += n;
}
#undef PICK
#undef FEW

#endif
