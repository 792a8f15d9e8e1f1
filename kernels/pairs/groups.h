// Groups of rows that are answered by the same code, and a counting sort of the rows by groups.
//
// A group is a pair of classes for the iterative solvers, or a closed form. A counting sort puts the
// rows of a block in the order of their groups, so that all lanes of a vector evaluate the same support
// functions. The order within a group is that of the input. Rows are declined here if a shape has no class, or
// if they name no shape of the library.

#ifndef CLR_GROUPS_H
#define CLR_GROUPS_H

#include "../shape/api.h"
#include "input.h"
#include <string.h>

// Groups: pairs of classes first, for the iterative solvers, then closed forms.
enum {
    CLR_POINTS = CLR_CLASSES * CLR_CLASSES, // two points
    CLR_SEGMENTS,                           // two segments, or a segment and a point
    CLR_BOX_POINT,
    CLR_POINT_BOX,
    CLR_BOXES,  // whether two boxes intersect; the growth factor of two boxes
    CLR_HALF_A, // a half-space and a shape of class g − CLR_HALF_A
    CLR_HALF_B = CLR_HALF_A + CLR_CLASSES,
    CLR_GROUPS = CLR_HALF_B + CLR_CLASSES
};

// is_ellipsoid tells whether a core is an ellipsoid. A point is an ellipsoid with semi-axes 0.
ALWAYS int is_ellipsoid(const clr_shape *s) { return s->form == CLR_POINT || s->class == CLR_ELLIPSOID; }

// group_of is the group of a pair, or CLR_GROUPS if it has none.
ALWAYS int group_of(const clr_call *c, const clr_shape *a, const clr_shape *b) {
    if (a->form == CLR_HALF && b->class < CLR_CLASSES) return CLR_HALF_A + b->class;
    if (b->form == CLR_HALF && a->class < CLR_CLASSES) return CLR_HALF_B + a->class;
    if (a->class >= CLR_CLASSES || b->class >= CLR_CLASSES) return CLR_GROUPS;
    if (c->growth && a->form == CLR_POINT && b->form == CLR_POINT) return CLR_POINTS;
    if (c->growth && a->form == CLR_CUBOID && b->form == CLR_CUBOID) return CLR_BOXES;
    if (c->automatic && a->form && b->form) {
        int boxes = (a->form == CLR_CUBOID) + (b->form == CLR_CUBOID),
            points = (a->form == CLR_POINT) + (b->form == CLR_POINT);
        if (boxes == 0) return points == 2 ? CLR_POINTS : CLR_SEGMENTS;
        if (boxes == 1 && points == 1) return b->form == CLR_POINT ? CLR_BOX_POINT : CLR_POINT_BOX;
        if (boxes == 2 && c->collide && !c->boolean) return CLR_BOXES;
    }
    if (c->rtr && (is_ellipsoid(a) || HAS_HESSIAN(a->class)) && (is_ellipsoid(b) || HAS_HESSIAN(b->class)))
        return (is_ellipsoid(a) ? CLR_ELLIPSOID : a->class) * CLR_CLASSES +
               (is_ellipsoid(b) ? CLR_ELLIPSOID : b->class);
    return a->class * CLR_CLASSES + b->class;
}

// one_group is the result of sort if all rows belong to group g.
static void one_group(clr_scratch *s, int n, int g, int32_t *first) {
    for (int k = 0; k <= CLR_GROUPS; k++) first[k] = k > g ? n : 0;
    for (int i = 0; i < n; i++) s->order[i] = i;
}

// all_alike tells whether all shapes of the library are of one class and form and all rows name shapes of it.
static int all_alike(const clr_call *c, int64_t lo, int n) {
    uint32_t most = 0; // the largest index of a shape; negative ones are large
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

// kind_of is all that group_of reads of a shape, as one number below KINDS.
#define FORMS (CLR_HALF + 1)
#define KINDS ((CLR_CLASSES + 1) * FORMS)
static inline int kind_of(const clr_shape *s) {
    const int class = s->class < CLR_CLASSES ? s->class : CLR_CLASSES;
    return class * FORMS + s->form;
}

// sort writes the rows in the order of their groups to s->order, and the first place of each group
// to first. It writes declined rows to s->left and returns their number.
static __attribute__((noinline)) int sort(const clr_call *c, clr_scratch *s, int64_t lo, int n, int32_t *first) {
    int32_t at[CLR_GROUPS + 1] = {0};
    int left = 0, others = 0;
    if (all_alike(c, lo, n)) {
        one_group(s, n, group_of(c, c->shapes, c->shapes), first);
        return 0;
    }
    uint8_t known[KINDS][KINDS]; // group of each pair of kinds, or 255: avoids unpredictable branches
    memset(known, 255, sizeof known);
    for (int i = 0; i < n; i++) {
        clr_row r = row_at(c, lo + i);
        int g = CLR_GROUPS;
        if ((uint64_t)(int64_t)r.shape_a < (uint64_t)c->shape_count &&
            (uint64_t)(int64_t)r.shape_b < (uint64_t)c->shape_count) {
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
    if (others == 0) { // one group: counting would be a chain of loads and stores of one address
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

#endif
