// The boxes of the parts of two bodies, for the pairs that balls do not rule out: the second step of culling, with one
// pair of parts per lane. The operations are those of package rollout (place.go, bounds.go).

#ifndef CLR_CULL_BOXES_H
#define CLR_CULL_BOXES_H

#include "cull_frame.h"

// A part in the world frame: columns of CLR_CULL_LANES worlds.
enum {
    CULL_AT_CENTER = 0,
    CULL_AT_RADIUS = 3,
    CULL_AT_INRADIUS = 4, // less than 0: the part has a point this close to the center
    CULL_AT_BOX = 5,
    CULL_AT_HALF = 8,
    CULL_AT_AXES = 11,
    CULL_AT_VALUES = CLR_CULL_PART_COLUMNS,
};

// cull_place_part places one part of a body in W worlds. slack is that of the body.
CULL_INLINE void cull_place_part(const cull_frame *f, VF slack, const double *part, double *at) {
    VF p[3];
    cull_point(f, part + CLR_CULL_PART_CENTER, p);
    for (int i = 0; i < 3; i++) STOREU(at + CLR_CULL_LANES * (CULL_AT_CENTER + i), p[i]);
    STOREU(at + CLR_CULL_LANES * CULL_AT_RADIUS, SET1(part[CLR_CULL_PART_RADIUS]) + slack);
    STOREU(at + CLR_CULL_LANES * CULL_AT_INRADIUS,
           cull_inner_radius(part[CLR_CULL_PART_INRADIUS], part[CLR_CULL_PART_SLACK], slack));
    cull_point(f, part + CLR_CULL_PART_BOX, p);
    for (int i = 0; i < 3; i++) STOREU(at + CLR_CULL_LANES * (CULL_AT_BOX + i), p[i]);
    for (int i = 0; i < 3; i++)
        STOREU(at + CLR_CULL_LANES * (CULL_AT_HALF + i), SET1(part[CLR_CULL_PART_HALF + i]) + slack);
    const double *axes = part + CLR_CULL_PART_AXES;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            STOREU(at + CLR_CULL_LANES * (CULL_AT_AXES + 3 * i + j), f->m[3 * i] * SET1(axes[j]) +
                                                                         f->m[3 * i + 1] * SET1(axes[3 + j]) +
                                                                         f->m[3 * i + 2] * SET1(axes[6 + j]));
}

// W pairs of parts: the columns of the first ones, then of the second.
typedef struct {
    double of[2][CULL_AT_VALUES][W];
} cull_items;

CULL_INLINE void cull_add_item(cull_items *t, int64_t slot, const double *a, const double *b) {
    for (int v = 0; v < CULL_AT_VALUES; v++) {
        t->of[0][v][slot] = a[CLR_CULL_LANES * v];
        t->of[1][v][slot] = b[CLR_CULL_LANES * v];
    }
}

CULL_INLINE VF cull_positive(VF x) { return MAX(x, SET1(0)); }

CULL_INLINE VF cull_norm(VF x, VF y, VF z) { return SQRT(x * x + y * y + z * z); }

// cull_box_to_point returns the distance of points from the boxes of parts.
CULL_INLINE VF cull_box_to_point(const double (*part)[W], const double (*center)[W]) {
    VF d[3], e[3];
    for (int i = 0; i < 3; i++) d[i] = LOADU(center[i]) - LOADU(part[CULL_AT_BOX + i]);
    for (int j = 0; j < 3; j++) {
        VF along = LOADU(part[CULL_AT_AXES + j]) * d[0] + LOADU(part[CULL_AT_AXES + 3 + j]) * d[1] +
                   LOADU(part[CULL_AT_AXES + 6 + j]) * d[2];
        e[j] = cull_positive(CULL_ABS(along) - LOADU(part[CULL_AT_HALF + j]));
    }
    return cull_norm(e[0], e[1], e[2]);
}

// cull_boxes bounds the distances of W pairs from below by their boxes: lowerOfBoxes of package rollout.
CULL_INLINE VF cull_boxes(const double (*a)[W], const double (*b)[W]) {
    VF d[3], along_b[3], of_a = SET1(0), of_b = SET1(0);
    for (int i = 0; i < 3; i++) d[i] = LOADU(b[CULL_AT_BOX + i]) - LOADU(a[CULL_AT_BOX + i]), along_b[i] = SET1(0);
    for (int i = 0; i < 3; i++) {
        VF x = LOADU(a[CULL_AT_AXES + i]), y = LOADU(a[CULL_AT_AXES + 3 + i]), z = LOADU(a[CULL_AT_AXES + 6 + i]);
        VF t = CULL_ABS(x * d[0] + y * d[1] + z * d[2]), ea = LOADU(a[CULL_AT_HALF + i]), reach = ea;
        for (int j = 0; j < 3; j++) {
            VF c = CULL_ABS(x * LOADU(b[CULL_AT_AXES + j]) + y * LOADU(b[CULL_AT_AXES + 3 + j]) +
                            z * LOADU(b[CULL_AT_AXES + 6 + j]));
            reach += LOADU(b[CULL_AT_HALF + j]) * c;
            along_b[j] += ea * c;
        }
        VF gap = cull_positive(t - reach);
        of_a += gap * gap;
    }
    for (int j = 0; j < 3; j++) {
        VF u = CULL_ABS(LOADU(b[CULL_AT_AXES + j]) * d[0] + LOADU(b[CULL_AT_AXES + 3 + j]) * d[1] +
                        LOADU(b[CULL_AT_AXES + 6 + j]) * d[2]);
        VF gap = cull_positive(u - LOADU(b[CULL_AT_HALF + j]) - along_b[j]);
        of_b += gap * gap;
    }
    VF boxes = SQRT(MAX(of_a, of_b));
    VF balls = MAX(cull_box_to_point(a, b + CULL_AT_CENTER) - LOADU(b[CULL_AT_RADIUS]),
                   cull_box_to_point(b, a + CULL_AT_CENTER) - LOADU(a[CULL_AT_RADIUS]));
    return MAX(boxes, balls) * SET1(CULL_ROUND_DOWN);
}

// cull_bound_items bounds the distances of W pairs of parts: from below by balls and by boxes, and from above.
CULL_INLINE void cull_bound_items(const cull_items *t, double *balls, double *boxes, double *uppers) {
    const double (*a)[W] = t->of[0], (*b)[W] = t->of[1];
    VF length = cull_norm(LOADU(a[0]) - LOADU(b[0]), LOADU(a[1]) - LOADU(b[1]), LOADU(a[2]) - LOADU(b[2]));
    STOREU(balls, length * SET1(CULL_ROUND_DOWN) - LOADU(a[CULL_AT_RADIUS]) - LOADU(b[CULL_AT_RADIUS]));
    STOREU(uppers, length * SET1(CULL_ROUND_UP) - LOADU(a[CULL_AT_INRADIUS]) - LOADU(b[CULL_AT_INRADIUS]));
    STOREU(boxes, cull_boxes(a, b));
}

// cull_row decides whether n pairs of parts are all beyond what matters, and bounds the least of their distances if so.
CULL_INLINE int cull_row(int64_t n, double beyond, int valued, const double *balls, const double *boxes,
                         const double *uppers, double *lower, double *upper) {
    double low = INFINITY, up = INFINITY;
    for (int64_t k = 0; k < n; k++) up = uppers[k] < up ? uppers[k] : up;
    double least = up > 0 ? up : 0; // a contact is counted, whatever else is nearer
    if (valued && least < beyond) beyond = least;
    for (int64_t k = 0; k < n; k++) {
        double bound = balls[k];
        if (bound <= beyond && boxes[k] > bound) bound = boxes[k];
        if (!(bound > beyond)) return 0;
        low = bound < low ? bound : low;
    }
    *lower = low, *upper = up;
    return 1;
}

// cull_open_pairs culls the open pairs of the valid worlds by the boxes of their parts. bounds is scratch memory of
// three columns.
CULL_INLINE void cull_open_pairs(const clr_cull *c, unsigned valid, const int32_t *a, const int32_t *b,
                                 const int32_t *first, const int32_t *boxed, const double *placed, double *bounds,
                                 int32_t *open, clr_culled *out) {
    int64_t room = c->bounds / 3, n = 0;
    double *balls = bounds, *boxes = bounds + room, *uppers = bounds + 2 * room;
    cull_items items = {0};
    for (int l = 0; l < CLR_CULL_LANES; l++) {
        if (!(valid >> l & 1)) continue;
        for (int32_t q = 0; q < out->count[l]; q++) {
            int32_t p = open[2 * (c->pairs * l + q)];
            if (boxed[p] == 0) continue;
            for (int32_t i = first[a[p]]; i < first[a[p] + 1]; i++)
                for (int32_t j = first[b[p]]; j < first[b[p] + 1]; j++) {
                    const double *s = placed + (int64_t)CLR_CULL_LANES * CULL_AT_VALUES * i + l,
                                 *t = placed + (int64_t)CLR_CULL_LANES * CULL_AT_VALUES * j + l;
                    cull_add_item(&items, n % W, s, t);
                    if (++n % W == 0) cull_bound_items(&items, balls + n - W, boxes + n - W, uppers + n - W);
                }
        }
    }
    int64_t full = n - n % W;
    if (full < n) cull_bound_items(&items, balls + full, boxes + full, uppers + full);
    n = 0;
    for (int l = 0; l < CLR_CULL_LANES; l++) {
        if (!(valid >> l & 1)) continue;
        int32_t kept = 0, *pairs = open + 2 * c->pairs * l;
        for (int32_t q = 0; q < out->count[l]; q++) {
            int32_t p = pairs[2 * q];
            double lower, upper;
            int64_t at = n;
            n += boxed[p];
            if (boxed[p] == 0 ||
                !cull_row(boxed[p], out->beyond[l], c->valued, balls + at, boxes + at, uppers + at, &lower, &upper)) {
                pairs[2 * kept] = p;
                pairs[2 * kept++ + 1] = boxed[p] == 0 ? -1 : (int32_t)at;
                continue;
            }
            if (lower < out->least[l]) out->least[l] = lower;
            if (upper < out->upper[l]) out->upper[l] = upper;
        }
        out->count[l] = kept;
    }
}

#endif
