// Closed forms: pairs whose answer is a formula, W of them at a time. A template,
// float64. Each form has a file of its own, closed_*.h.
//
// The frame is that of the world, seen from the origin of A: positions are subtracted
// once, exactly but for one rounding, and only the axes that a form needs are turned.
// Bounds are those of ref.Pair.Roundoff. What a formula does not prove to the
// tolerance goes to the iterated solver, so no form has to be right everywhere.

// Groups of rows: pairs of classes first, for the iterated solver, then closed forms.
enum {
    CLR_POINTS = CLR_CLASSES * CLR_CLASSES, // two points
    CLR_SEGMENTS,                           // two segments, or a segment and a point
    CLR_BOX_POINT,
    CLR_POINT_BOX,
    CLR_BOXES,                  // do two boxes intersect?
    CLR_HALF_A,                 // a half-space and a shape of class g − CLR_HALF_A
    CLR_HALF_B = CLR_HALF_A + CLR_CLASSES,
    CLR_GROUPS = CLR_HALF_B + CLR_CLASSES
};

// round_core says of a core whether it is an ellipsoid; a point is one whose semi-axes are 0.
ALWAYS int round_core(const clr_shape *s) { return s->form == CLR_POINT || s->class == CLR_ELLIPSOID; }

// group_of is the group of a pair, CLR_GROUPS if it has none.
ALWAYS int group_of(const clr_call *c, const clr_shape *a, const clr_shape *b) {
    if (a->form == CLR_HALF && b->class < CLR_CLASSES) return CLR_HALF_A + b->class;
    if (b->form == CLR_HALF && a->class < CLR_CLASSES) return CLR_HALF_B + a->class;
    if (a->class >= CLR_CLASSES || b->class >= CLR_CLASSES) return CLR_GROUPS;
    if (c->closed && a->form && b->form) {
        int boxes = (a->form == CLR_CUBOID) + (b->form == CLR_CUBOID), points = (a->form == CLR_POINT) + (b->form == CLR_POINT);
        if (boxes == 0) return points == 2 ? CLR_POINTS : CLR_SEGMENTS;
        if (boxes == 1 && points == 1) return b->form == CLR_POINT ? CLR_BOX_POINT : CLR_POINT_BOX;
        if (boxes == 2 && c->collide && !c->decide) return CLR_BOXES;
    }
    if (c->rtr && (round_core(a) || HAS_BEND(a->class)) && (round_core(b) || HAS_BEND(b->class)))
        return (round_core(a) ? CLR_ELLIPSOID : a->class) * CLR_CLASSES + (round_core(b) ? CLR_ELLIPSOID : b->class);
    return a->class * CLR_CLASSES + b->class;
}

// closed_in is W pairs.
typedef struct {
    VM good;                    // poses that are in range
    V3 pos, t;                  // origin of A in the world; origin of B seen from it
    VF w[2];                    // quaternions, of any length
    V3 v[2];
    V3 p[2];                    // parameters
    VF radius[2], size, tol, round; // round: see ref.Pair.Roundoff
    const clr_shape *shape[2][W];
} closed_in;

// closed_out is W answers: in the axes of the world, points seen from the origin of A.
typedef struct {
    VF distance, lower, upper;
    V3 n, a, b; // normal and witnesses
    VM ok;      // whether all of that is proved
} closed_out;

// closed_load reads rows order[0..n) of the input, relative to lo; lanes beyond n
// repeat the last row.
ALWAYS closed_in closed_load(const clr_call *c, int64_t lo, const int32_t *order, int n) {
    closed_in in;
    double tmp[27][W] __attribute__((aligned(64)));
    for (int l = 0; l < W; l++) {
        int64_t at = lo + order[l < n ? l : n - 1];
        clr_row r = row_at(c, at);
        const clr_shape *a = c->shapes + r.shape_a, *b = c->shapes + r.shape_b;
        in.shape[0][l] = a;
        in.shape[1][l] = b;
        for (int j = 0; j < 3; j++) {
            tmp[j][l] = r.pa[j];
            tmp[3 + j][l] = r.pb[j];
            tmp[6 + j][l] = a->p[j];
            tmp[9 + j][l] = b->p[j];
            tmp[12 + j][l] = c->warm ? c->warm[3 * at + j] : 0;
        }
        for (int j = 0; j < 4; j++) {
            tmp[15 + j][l] = r.qa[j];
            tmp[19 + j][l] = r.qb[j];
        }
        tmp[23][l] = a->radius;
        tmp[24][l] = b->radius;
        tmp[25][l] = a->size + b->size;
        tmp[26][l] = a->off + b->off;
    }
    V3 pb = T(ld3)(tmp[3], W), warm = T(ld3)(tmp[12], W);
    in.pos = T(ld3)(tmp[0], W);
    in.t = T(sub)(pb, in.pos);
    for (int side = 0; side < 2; side++) {
        in.p[side] = T(ld3)(tmp[6 + 3 * side], W);
        in.w[side] = LOADU(tmp[15 + 4 * side]);
        in.v[side] = T(ld3)(tmp[16 + 4 * side], W);
        in.radius[side] = LOADU(tmp[23 + side]);
    }
    in.good = MAND(good_pose(in.pos, in.w[0], in.v[0]), good_pose(pb, in.w[1], in.v[1]));
    in.good = MAND(in.good, LE(T(dot)(warm, warm), SET1(1e200))); // NaN and infinity as well
    VF size = in.size = LOADU(tmp[25]);
    in.tol = SET1(c->tolerance) * size;
    in.round = SET1(24 * 0x1p-53) * (SQRT(T(dot)(in.t, in.t)) + size + LOADU(tmp[26]));
    return in;
}

// axis is the image of the z axis under a quaternion of any length.
ALWAYS V3 axis(VF w, V3 v) {
    VF s = SET1(2) / FMA(w, w, T(dot)(v, v));
    return (V3){s * FMA(w, v.y, v.x * v.z), s * FNMA(w, v.x, v.y * v.z), FNMA(s, FMA(v.y, v.y, v.x * v.x), SET1(1))};
}

// meets_tolerance reports whether the bounds are as close as the caller asked, or
// answer all that was asked.
ALWAYS VM meets_tolerance(const clr_call *c, const closed_in *in, const closed_out *o) {
    VF gap = MAX(o->upper - o->distance, o->distance - o->lower);
    VM ok = LE(gap, MAX(in->tol, SET1(4) * in->round));
    if (c->has_cut_off) ok = MOR(ok, LT(SET1(c->cut_off), o->lower));
    if (c->collide) ok = MOR(ok, MOR(LT(SET1(0), o->lower), LT(o->upper, SET1(0))));
    return ok;
}

// closed_put stores the answers that are ok, by one solver, of rows order[0..n); the
// other rows with a good pose are kept at *rest, the others go to s->left. It returns
// the new end of *rest, which may be order itself.
ALWAYS int32_t *closed_put(const clr_call *c, clr_scratch *s, int64_t at0, const int32_t *order, int n, const closed_in *in, const closed_out *o, int solver, int32_t *rest, int *left) {
    double v[12][W] __attribute__((aligned(64)));
    int32_t row[W];
    for (int l = 0; l < W; l++) row[l] = order[l < n ? l : n - 1];
    STOREU(v[0], o->distance);
    STOREU(v[1], o->lower);
    STOREU(v[2], o->upper);
    T(st3)(v[3], W, o->n);
    T(st3)(v[6], W, T(add)(o->a, in->pos));
    T(st3)(v[9], W, T(add)(o->b, in->pos));
    unsigned good = MBITS(in->good), ok = good & MBITS(o->ok);
    unsigned apart = MBITS(LT(SET1(0), o->lower)), deep = MBITS(LT(o->upper, SET1(0)));
    ok &= n < W ? (1u << n) - 1 : LANES;
    store_answers(c, at0, row, ok, (const double(*)[W])v, apart, deep, 0, solver);
    for (int l = 0; l < n; l++) {
        if (ok >> l & 1) continue;
        if (good >> l & 1) *rest++ = row[l];
        else s->left[(*left)++] = row[l];
    }
    return rest;
}

#include "closed_points.h"
#include "closed_half.h"
#include "closed_boxes.h"

// CLOSED_LOOP defines a function that answers rows order[0..n), relative to lo, with the
// formula FORM, which counts as SOLVER. Rows that it does not settle are moved to the
// front of order, and their number is returned.
#define CLOSED_LOOP(name, FORM, SOLVER)                                                                                            \
    static __attribute__((noinline)) int name(const clr_call *c, clr_scratch *s, int64_t lo, int32_t *order, int n, int *left) {   \
        int32_t *rest = order;                                                                                                     \
        for (int k = 0; k < n; k += W) {                                                                                           \
            int m = n - k < W ? n - k : W;                                                                                         \
            closed_in in = closed_load(c, lo, order + k, m);                                                                       \
            closed_out o = FORM;                                                                                                   \
            rest = closed_put(c, s, lo - c->first, order + k, m, &in, &o, SOLVER, rest, left);                                     \
        }                                                                                                                          \
        return (int)(rest - order);                                                                                                \
    }
CLOSED_LOOP(closed_points, points(&in), CLR_BY_FORMULA)
CLOSED_LOOP(closed_segments, segments(c, &in), CLR_BY_FORMULA)
CLOSED_LOOP(closed_box_point, box_point(&in, 0), CLR_BY_FORMULA)
CLOSED_LOOP(closed_point_box, box_point(&in, 1), CLR_BY_FORMULA)
CLOSED_LOOP(closed_boxes, boxes(&in), CLR_BY_AXES)
CLOSED_LOOP(closed_half_a_box, half(c, &in, 0, CLR_BOX), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_a_ellipsoid, half(c, &in, 0, CLR_ELLIPSOID), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_a_round, half(c, &in, 0, CLR_ROUND), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_a_superquadric, half(c, &in, 0, CLR_SUPERQUADRIC), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_a_smooth_revolution, half(c, &in, 0, CLR_SMOOTH_REVOLUTION), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_a_smooth_hull, half(c, &in, 0, CLR_SMOOTH_HULL), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_a_hull, half(c, &in, 0, CLR_HULL), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_b_box, half(c, &in, 1, CLR_BOX), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_b_ellipsoid, half(c, &in, 1, CLR_ELLIPSOID), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_b_round, half(c, &in, 1, CLR_ROUND), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_b_superquadric, half(c, &in, 1, CLR_SUPERQUADRIC), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_b_smooth_revolution, half(c, &in, 1, CLR_SMOOTH_REVOLUTION), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_b_smooth_hull, half(c, &in, 1, CLR_SMOOTH_HULL), CLR_BY_FORMULA)
CLOSED_LOOP(closed_half_b_hull, half(c, &in, 1, CLR_HULL), CLR_BY_FORMULA)
#undef CLOSED_LOOP

// closed answers rows order[0..n) of group g; see CLOSED_LOOP. What it returns is for
// the iterated solver of boxes.
static int closed(const clr_call *c, clr_scratch *s, int64_t lo, int32_t *order, int n, int g, int *left) {
    switch (g) {
    case CLR_POINTS: return closed_points(c, s, lo, order, n, left);
    case CLR_SEGMENTS: return closed_segments(c, s, lo, order, n, left);
    case CLR_BOX_POINT: return closed_box_point(c, s, lo, order, n, left);
    case CLR_POINT_BOX: return closed_point_box(c, s, lo, order, n, left);
    case CLR_BOXES: return closed_boxes(c, s, lo, order, n, left);
    case CLR_HALF_A + CLR_BOX: return closed_half_a_box(c, s, lo, order, n, left);
    case CLR_HALF_A + CLR_ELLIPSOID: return closed_half_a_ellipsoid(c, s, lo, order, n, left);
    case CLR_HALF_A + CLR_ROUND: return closed_half_a_round(c, s, lo, order, n, left);
    case CLR_HALF_A + CLR_SMOOTH_REVOLUTION: return closed_half_a_smooth_revolution(c, s, lo, order, n, left);
    case CLR_HALF_A + CLR_SMOOTH_HULL: return closed_half_a_smooth_hull(c, s, lo, order, n, left);
    case CLR_HALF_A + CLR_SUPERQUADRIC: return closed_half_a_superquadric(c, s, lo, order, n, left);
    case CLR_HALF_A + CLR_SMALL:
    case CLR_HALF_A + CLR_HULL: return closed_half_a_hull(c, s, lo, order, n, left);
    case CLR_HALF_B + CLR_BOX: return closed_half_b_box(c, s, lo, order, n, left);
    case CLR_HALF_B + CLR_ELLIPSOID: return closed_half_b_ellipsoid(c, s, lo, order, n, left);
    case CLR_HALF_B + CLR_ROUND: return closed_half_b_round(c, s, lo, order, n, left);
    case CLR_HALF_B + CLR_SMOOTH_REVOLUTION: return closed_half_b_smooth_revolution(c, s, lo, order, n, left);
    case CLR_HALF_B + CLR_SMOOTH_HULL: return closed_half_b_smooth_hull(c, s, lo, order, n, left);
    case CLR_HALF_B + CLR_SUPERQUADRIC: return closed_half_b_superquadric(c, s, lo, order, n, left);
    default: return closed_half_b_hull(c, s, lo, order, n, left);
    }
}
