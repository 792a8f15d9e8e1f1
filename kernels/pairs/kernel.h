// The kernel of one instruction set. The file that includes this sets ISA to its header
// and KERNEL to the name of the function.

// From the rows of the input to groups that are answered alike.
#include "input.h"

// Answers without a search: formulas, boxes, and statuses that float32 decides.
#include "closed_forms.h"
#include "box_distance.h"
#include "boolean.h"

// Search: first directions, then one method for distances.
#include "initial_direction.h"
#include "../isa/real64.h"
#include "alternating_projection.h"
#include "smooth_pairs.h"
#include "gjk.h"
#include "shared_shapes.h"

// Depths of the pairs whose cores intersect.
#include "depth_certificate.h"
#include "epa_float32.h"

// Bounds in float64, and the columns of the answer.
#include "certify.h"
#include <string.h>

// Compaction of penetrating rows. Where only some rows of a group penetrate, the vectors that search and prove their
// depths would have few active lanes. So these rows are copied to the second scratch memory, and answered when it is
// full or the group ends. Declined rows are appended to s->left. Float64.

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

_Static_assert(SHARED_ROWS <= PROVED_ROWS, "rows of a group that share their shapes are proved together");

// answer_by_gjk answers rows order[0..n) of a pair of classes by GJK.
static void answer_by_gjk(const clr_call *c, clr_scratch *s, int64_t lo, int32_t *order, int rows, int ka, int kb,
                          int *left) {
    if (ka == CLR_BOX && kb == CLR_BOX) rows = answer_box_pairs(c, lo, order, rows);
    if (c->boolean) rows = answer_statuses(c, s, lo, order, rows, ka, kb);
    rows = answer_smooth(c, s, lo, order, rows, ka, kb);
    compacted_rows penetrating = {s + 1, 0};
    int32_t end[MOST_SHARED_PAIRS];
    const int runs = solves_shared(c, ka, kb) ? sort_by_shapes(c, s, lo, order, rows, end) : 0;
    for (int k = 0, n, run = 0; k < rows; k += n) {
        run += run < runs && k == end[run];
        const int shared = run < runs, last = shared ? end[run] : rows, most = shared ? SHARED_ROWS : CLR_GROUP_ROWS;
        n = last - k < most ? last - k : most;
        const int by_projection = uses_projections(c, ka, kb);
        prepare(c, s, lo, order + k, n, ka, kb, by_projection);
        if (by_projection) {
            int open = project_alternately(c, s, lo - c->first, n, ka, kb);
            if (open > 0) {
                prepare_late(c, s, lo, n, ka, kb);
                initial_directions(c, s, n, ka, kb);
                gjk32(c, s, s->list, open, ka, kb);
            }
        } else {
            initial_directions(c, s, n, ka, kb);
            if (shared) gjk_shared(c, s, n, ka, kb);
            else gjk32(c, s, 0, n, ka, kb);
            if (last_by_newton(c, ka, kb)) newton(c, s, lo - c->first, n, ka, kb);
        }
        if (!c->collide) compact_penetrating(c, s, &penetrating, lo, n, ka, kb, shared, left);
        search_depths32(c, s, n, ka, kb);
        certify_depths(c, s, n, ka, kb);
        if (shared && prove_shared(c, s, lo - c->first, n, ka, kb) == 0) continue;
        int listed = certify_rows(c, s, lo - c->first, n, ka, kb, 1, left);
        if (listed > 0) {
            gjk64(c, s, s->list, listed, ka, kb);
            certify_depths(c, s, n, ka, kb); // those that float64 found to intersect
            certify_rows(c, s, lo - c->first, n, ka, kb, 0, left);
        }
    }
    if (penetrating.n > 0) answer_compacted(c, s, &penetrating, lo, ka, kb, left);
}

int KERNEL(const clr_call *c, clr_scratch *s, int64_t lo, int64_t hi) {
    int32_t first[CLR_GROUPS + 1];
    int left = sort(c, s, lo, (int)(hi - lo), first);
    for (int g = 0; g < CLR_GROUPS; g++) {
        int32_t *order = s->order + first[g];
        int n = first[g + 1] - first[g], ka = g / CLR_CLASSES, kb = g % CLR_CLASSES;
        if (n == 0) continue;
        if (g >= CLR_POINTS) {
            n = answer_by_closed_form(c, s, lo, order, n, g, &left);
            ka = kb = CLR_BOX; // points and segments as well
        }
        answer_by_gjk(c, s, lo, order, n, ka, kb, &left);
    }
    return left;
}
