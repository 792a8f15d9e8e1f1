// The kernel of one instruction set. The file that includes this sets ISA to its header
// and KERNEL to the name of the function.

// From the rows of the input to groups that are answered alike.
#include "input.h"
#include "groups.h"

// Answers without a search: formulas, boxes, and statuses that float32 decides.
#include "closed_forms.h"
#include "box_distance.h"
#include "boolean.h"

// Search: first directions, then one method for distances.
#include "initial_direction.h"
#include "alternating_projection.h"
#include "newton.h"
#include "smooth_pairs.h"
#include "gjk.h"
#include "shared_shapes.h"

// Depths of the pairs whose cores intersect.
#include "compaction.h"
#include "depth_certificate.h"
#include "epa_float32.h"

// Bounds in float64, and the columns of the answer.
#include "certify.h"

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
