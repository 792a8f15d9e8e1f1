// Culling of pairs of bodies in CLR_CULL_LANES worlds, as in package rollout (place.go, cull.go), with its operations
// and its rounding bounds. Float64. The file that includes this sets CULL to the name of the function.
//
// With the centers c and the radii R of balls that contain the bodies (or parts), the radii r of balls within them, and
// factors 1 ± 8·2⁻⁵³ for rounding:
//
//	balls  lower = |c_A − c_B|·(1 − 8·2⁻⁵³) − R_A − R_B
//	       upper = |c_A − c_B|·(1 + 8·2⁻⁵³) − r_A − r_B
//	planes of a half-space with normal n through p and a margin m
//	       lower = n·(c − p) − m − R
//	       upper = n·(c − p) − m − r
//	boxes  lower = the largest of four bounds: the distance of the boxes along the axes of A, the same
//	               along the axes of B, and the distance of each ball from the box of the other
//	culled iff lower > beyond
//	beyond = threshold; where only the least distance of a world is wanted, min(threshold, max(upper, 0)) over all
//	pairs
//
// First the balls of the bodies are compared, one world per lane. Then the parts of the pairs that are left, by balls
// and boxes, one pair of parts per lane; a pair is culled if all its pairs of parts are.

#include "api.h"
#include "../isa/real64.h"

#ifndef CULL
#error "CULL is the name of the function, of one instruction set"
#endif

// Placement.

// The constants roundDown, roundUp and placeSlack of package rollout.
#define CULL_ROUND_DOWN (1 - 8 * 0x1p-53)
#define CULL_ROUND_UP (1 + 8 * 0x1p-53)
#define CULL_PLACE_SLACK 0x1p-46

#define CULL_INLINE static inline __attribute__((always_inline))
#undef CULL_ABS
#define CULL_ABS(x) MAX(x, SET1(0) - (x))

// The rotation of a body at W worlds, row by row, and its position.
typedef struct {
    VF m[9], v[3];
} cull_frame;

// cull_point places a point of a body.
CULL_INLINE void cull_point(const cull_frame *f, const double *p, VF out[3]) {
    VF x = SET1(p[0]), y = SET1(p[1]), z = SET1(p[2]);
    for (int i = 0; i < 3; i++) out[i] = f->m[3 * i] * x + f->m[3 * i + 1] * y + f->m[3 * i + 2] * z + f->v[i];
}

// cull_inner_radius is innerRadius of package rollout.
CULL_INLINE VF cull_inner_radius(double inradius, double off, VF slack) {
    VF in = SET1(inradius) - slack;
    return SEL(LT(SET1(0), in), in, SET1(0) - SET1(off) - slack);
}

// Boxes of the parts of two bodies, one pair of parts per lane.

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

// cull_place_part places one part of a body in W worlds; slack bounds the rounding error of its points.
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

// cull_row reports whether the lower bounds of n pairs of parts all exceed `beyond`. If so, it bounds the least of
// their distances from both sides.
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

// Balls of the bodies, one world per lane.

// cull_place places the balls of one body in W worlds, from lane `lane` on, and its n parts. It returns the lanes whose
// pose is valid and has a quaternion that need not be scaled first.
CULL_INLINE unsigned cull_place(const clr_cull *c, const double *poses, const double *body, const double *parts,
                                int32_t n, double *at, double *parts_at, int lane) {
    double raw[7][W];
    for (int l = 0; l < W; l++)
        for (int k = 0; k < 7; k++) raw[k][l] = poses[(lane + l) * c->stride + k];
    VF w = LOADU(raw[3]), x = LOADU(raw[4]), y = LOADU(raw[5]), z = LOADU(raw[6]);
    cull_frame f;
    for (int i = 0; i < 3; i++) f.v[i] = LOADU(raw[i]);
    VF norm = w * w + x * x + y * y + z * z;
    VF a0 = CULL_ABS(f.v[0]), a1 = CULL_ABS(f.v[1]), a2 = CULL_ABS(f.v[2]);
    VF far = SET1(body[CLR_CULL_FAR]);
    VM ok = MAND(LT(SET1(0.25), norm), LT(norm, SET1(4)));
    ok = MAND(ok, MAND(LE(a0, far), MAND(LE(a1, far), LE(a2, far))));
    VF s = SET1(2) / norm, one = SET1(1);
    f.m[0] = one - s * (y * y + z * z), f.m[1] = s * (x * y - w * z), f.m[2] = s * (x * z + w * y);
    f.m[3] = s * (x * y + w * z), f.m[4] = one - s * (x * x + z * z), f.m[5] = s * (y * z - w * x);
    f.m[6] = s * (x * z - w * y), f.m[7] = s * (y * z + w * x), f.m[8] = one - s * (x * x + y * y);
    VF slack = SET1(CULL_PLACE_SLACK) * (a0 + a1 + a2 + SET1(body[CLR_CULL_MAGNITUDE]));
    VF ball[3];
    cull_point(&f, body + CLR_CULL_CENTER, ball);
    for (int i = 0; i < 3; i++) STOREU(at + CLR_CULL_LANES * i + lane, ball[i]);
    STOREU(at + CLR_CULL_LANES * 3 + lane, SET1(body[CLR_CULL_RADIUS]) + slack);
    VF inradius = cull_inner_radius(body[CLR_CULL_INRADIUS], body[CLR_CULL_SLACK], slack);
    if (body[CLR_CULL_PLANE] != 0) { // the normal in place of the inner ball, and what upper bounds subtract
        const double *n = body + CLR_CULL_INNER;
        for (int i = 0; i < 3; i++)
            ball[i] = f.m[3 * i] * SET1(n[0]) + f.m[3 * i + 1] * SET1(n[1]) + f.m[3 * i + 2] * SET1(n[2]);
        inradius = SET1(body[CLR_CULL_RADIUS]) + slack + SET1(2) * inradius;
    } else if (body[CLR_CULL_SAME] == 0) {
        cull_point(&f, body + CLR_CULL_INNER, ball);
    }
    for (int i = 0; i < 3; i++) STOREU(at + CLR_CULL_LANES * (4 + i) + lane, ball[i]);
    STOREU(at + CLR_CULL_LANES * 7 + lane, inradius);
    for (int32_t i = 0; i < n; i++)
        cull_place_part(&f, slack, parts + CLR_CULL_PART_VALUES * i,
                        parts_at + CLR_CULL_LANES * CULL_AT_VALUES * i + lane);
    return MBITS(ok);
}

// The balls of the bodies of a pair in W worlds. Of a half-space, plane, the center is a point of its plane.
typedef struct {
    const double *a, *b; // columns, from the lane of the first world on
    int planes;          // the half-spaces among both; if there is one, it is a
} cull_pair;

CULL_INLINE cull_pair cull_pair_of(const double *bodies, const double *balls, int32_t a, int32_t b, int lane) {
    int of_a = bodies[CLR_CULL_VALUES * a + CLR_CULL_PLANE] != 0,
        of_b = bodies[CLR_CULL_VALUES * b + CLR_CULL_PLANE] != 0;
    const double *s = balls + CLR_CULL_BALLS * a + lane, *t = balls + CLR_CULL_BALLS * b + lane;
    return (cull_pair){of_b && !of_a ? t : s, of_b && !of_a ? s : t, of_a + of_b};
}

// cull_length returns the distances of the centers of both balls in columns from..from+2; of a half-space, how far the
// center of the other ball lies above its plane.
CULL_INLINE VF cull_length(const cull_pair *q, int from) {
    int64_t at = (int64_t)CLR_CULL_LANES * from, column = CLR_CULL_LANES;
    const double *a = q->planes ? q->a : q->a + at, *b = q->b + at;
    VF x = LOADU(a) - LOADU(b), y = LOADU(a + column) - LOADU(b + column),
       z = LOADU(a + 2 * column) - LOADU(b + 2 * column);
    if (q->planes)
        return SET1(0) - (LOADU(q->a + 4 * column) * x + LOADU(q->a + 5 * column) * y + LOADU(q->a + 6 * column) * z);
    return SQRT(x * x + y * y + z * z);
}

// cull_lower bounds the distances of a pair in W worlds from below, by the balls that contain both bodies.
CULL_INLINE VF cull_lower(const cull_pair *q) {
    if (q->planes == 2) return SET1(-INFINITY);
    VF length = cull_length(q, 0);
    if (!q->planes) length = length * SET1(CULL_ROUND_DOWN);
    return length - LOADU(q->a + 3 * CLR_CULL_LANES) - LOADU(q->b + 3 * CLR_CULL_LANES);
}

// cull_upper bounds them from above, by the balls within both bodies.
CULL_INLINE VF cull_upper(const cull_pair *q) {
    if (q->planes == 2) return SET1(INFINITY);
    VF length = cull_length(q, 4);
    if (!q->planes) length = length * SET1(CULL_ROUND_UP);
    return length - LOADU(q->a + 7 * CLR_CULL_LANES) - LOADU(q->b + 7 * CLR_CULL_LANES);
}

// CULL culls eight worlds. It returns the worlds whose poses are all valid; nothing is said of the others.
CLR_CULL_FUNCTION(CULL) {
    double *balls = scratch, *lowers = balls + CLR_CULL_BALLS * c->places, *placed = lowers + CLR_CULL_LANES * c->pairs,
           *bounds = placed + CLR_CULL_LANES * CULL_AT_VALUES * c->parts;
    unsigned valid = (1u << CLR_CULL_LANES) - 1;
    for (int64_t k = 0; k < c->places; k++)
        for (int lane = 0; lane < CLR_CULL_LANES; lane += W) {
            unsigned ok = cull_place(c, poses + 7 * place[k], bodies + CLR_CULL_VALUES * k,
                                     parts + (int64_t)CLR_CULL_PART_VALUES * first[k], first[k + 1] - first[k],
                                     balls + CLR_CULL_BALLS * k,
                                     placed + (int64_t)CLR_CULL_LANES * CULL_AT_VALUES * first[k], lane);
            valid &= ~((LANES & ~ok) << lane);
        }
    for (int lane = 0; lane < CLR_CULL_LANES; lane += W) {
        VF least = SET1(INFINITY), nearest = SET1(-1);
        for (int64_t p = 0; p < c->pairs; p++) {
            cull_pair q = cull_pair_of(bodies, balls, a[p], b[p], lane);
            VF lower = cull_lower(&q);
            STOREU(lowers + CLR_CULL_LANES * p + lane, lower);
            VM less = LT(lower, least);
            least = SEL(less, lower, least);
            nearest = SEL(less, SET1((double)p), nearest);
        }
        STOREU(out->nearest + lane, nearest);
    }
    for (int l = 0; l < CLR_CULL_LANES; l++) {
        out->beyond[l] = c->threshold;
        out->upper[l] = INFINITY;
        out->count[l] = 0;
        int64_t p = (int64_t)out->nearest[l];
        if (p < 0 || !(valid >> l & 1)) continue;
        double uppers[W];
        cull_pair q = cull_pair_of(bodies, balls, a[p], b[p], l / W * W);
        STOREU(uppers, cull_upper(&q));
        out->upper[l] = uppers[l % W];
        double upper = out->upper[l] > 0 ? out->upper[l] : 0;
        if (c->valued && upper < c->threshold) out->beyond[l] = upper;
    }
    for (int lane = 0; c->valued && lane < CLR_CULL_LANES; lane += W) {
        VF beyond = LOADU(out->beyond + lane);
        for (int64_t p = 0; p < c->pairs;
             p++) { // the least is that of all pairs: where lower is not less, nor is upper
            if (!(LANES & MBITS(LT(LOADU(lowers + CLR_CULL_LANES * p + lane), beyond)))) continue;
            cull_pair q = cull_pair_of(bodies, balls, a[p], b[p], lane);
            VF upper = cull_positive(cull_upper(&q));
            beyond = SEL(LT(upper, beyond), upper, beyond);
        }
        STOREU(out->beyond + lane, beyond);
    }
    for (int l = 0; l < CLR_CULL_LANES; l++) { // the nearest pair bounds the culled ones if it is one of them
        int64_t p = (int64_t)out->nearest[l];
        if (p >= 0 && !(lowers[CLR_CULL_LANES * p + l] > out->beyond[l])) out->upper[l] = INFINITY;
    }
    for (int lane = 0; lane < CLR_CULL_LANES; lane += W) {
        VF beyond = LOADU(out->beyond + lane), least = SET1(INFINITY);
        for (int64_t p = 0; p < c->pairs; p++) {
            VF lower = LOADU(lowers + CLR_CULL_LANES * p + lane);
            VM culled = LT(beyond, lower);
            least = SEL(culled, MIN(lower, least), least);
            for (unsigned left = LANES & ~MBITS(culled); left; left &= left - 1) {
                int l = lane + __builtin_ctz(left);
                int64_t at = 2 * (c->pairs * l + out->count[l]++);
                open[at] = (int32_t)p, open[at + 1] = -1;
            }
        }
        STOREU(out->least + lane, least);
    }
    if (c->bounds > 0) cull_open_pairs(c, valid, a, b, first, boxed, placed, bounds, open, out);
    return (int32_t)valid;
}
