// The growth query of one instruction set [Growth]. The file that includes this sets ISA to its header and GROWTH to
// the name of the function.

// From the rows of the input to groups that are answered alike.
#include "../pairs/input.h"
#include "../isa/real64.h"
#include "growth_input.h"

// Answers without a search, and Newton's method.
#include "growth_closed.h"

// Search, in float32, then in float64 where that was not accurate enough.
#include "../isa/real32.h"
#include "growth_simplex.h"
#include "../isa/real64.h"
#include "growth_simplex.h"

// Bounds in float64, and the columns of the answer.
#include "growth_certify.h"

// grow answers rows order[0..n) of a pair of classes, or of two points.
static void grow(const clr_call *c, clr_scratch *s, int64_t lo, const int32_t *order, int rows, int ka, int kb,
                 int points, int *left) {
    for (int k = 0; k < rows; k += CLR_GROUP_ROWS) {
        const int n = rows - k < CLR_GROUP_ROWS ? rows - k : CLR_GROUP_ROWS;
        prepare(c, s, lo, order + k, n, ka, kb, 1);
        prepare_growth(c, s, n, ka, kb);
        if (points) growth_spheres(c, s, lo - c->first, n);
        else if (HAS_HESSIAN(ka) && HAS_HESSIAN(kb)) growth_newton(c, s, lo - c->first, n, ka, kb);
        int open = 0;
        for (int i = 0; i < n; i++)
            if (s->state[i] == CLR_OPEN) s->list[open++] = i;
        if (open && ka == CLR_HULL && kb == CLR_HULL) growth_starts(c, s, n);
        growth_search32(c, s, open == n ? 0 : s->list, open, ka, kb);
        const int listed = certify_growth(c, s, lo - c->first, n, ka, kb, 1, left);
        if (listed == 0) continue;
        growth_search64(c, s, s->list, listed, ka, kb);
        certify_growth(c, s, lo - c->first, n, ka, kb, 0, left);
    }
}

int GROWTH(const clr_call *c, clr_scratch *s, int64_t lo, int64_t hi) {
    int32_t first[CLR_GROUPS + 1];
    int left = sort(c, s, lo, (int)(hi - lo), first);
    for (int g = 0; g < CLR_GROUPS; g++) {
        int32_t *order = s->order + first[g];
        const int n = first[g + 1] - first[g];
        if (n == 0) continue;
        if (g < CLR_POINTS) grow(c, s, lo, order, n, g / CLR_CLASSES, g % CLR_CLASSES, 0, &left);
        else if (g == CLR_POINTS) grow(c, s, lo, order, n, CLR_BOX, CLR_BOX, 1, &left);
        else if (g == CLR_BOXES) grow(c, s, lo, order, growth_boxes(c, lo, order, n), CLR_BOX, CLR_BOX, 0, &left);
        else growth_half_space(c, s, lo, order, n, g, &left);
    }
    return left;
}
