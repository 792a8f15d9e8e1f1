// Rows of the input, as float64 columns in the frame of A and as float32 columns in a scaled frame.
// A template, float64.
//
// prepare reads poses and shapes of W rows at a time, transposes them, and writes in columns: the rotation and
// translation of B in the frame of A, the parameters of both cores, the rounding bound of support values, the
// tolerance, and the bounds at which the iteration ends. The float32 frame has its origin in the center of
// A's core and its unit is the distance of the centers plus both bounding radii, so that no length exceeds 1.
//
// With the distance |t| of the origins, the sizes and the offsets of the centers of both shapes:
//
//	rounding = 24·2⁻⁵³·(|t| + sizes + offsets) + power_units·2⁻⁵³·sizes + UNDERFLOW_ERROR    (ref.Pair.Roundoff)
//	stop     = max(tolerance·sizes − 2·rounding, rounding)     duality gap at which iteration ends
//	most_gap = max(tolerance·sizes, 4·rounding without powers) largest gap of an answer
//
// Rows are declined (CLR_BAD) if a position or a quaternion is out of the range of good_pose, or if a warm
// start is not finite.

#ifndef CLR_INPUT_H
#define CLR_INPUT_H

#include "../isa/real64.h"
#include "../shape/api.h"
#include "../shape/cores.h"
#include <string.h>

// clr_row points to the shapes and poses of a row.
typedef struct {
    int32_t shape_a, shape_b;
    const double *pa, *qa, *pb, *qb;
} clr_row;

static inline __attribute__((always_inline)) clr_row row_at(const clr_call *c, int64_t i) {
    clr_row r;
    if (!c->poses) {
        r = (clr_row){c->shape_a[i],         c->shape_b[i],         c->position_a + 3 * i,
                      c->rotation_a + 4 * i, c->position_b + 3 * i, c->rotation_b + 4 * i};
    } else {
        int64_t world = i / c->templates, pair = i % c->templates;
        int32_t a = c->template_a[pair], b = c->template_b[pair];
        const double *pa = c->poses + 7 * (world * c->bodies + a), *pb = c->poses + 7 * (world * c->bodies + b);
        r = (clr_row){c->body_shape[a], c->body_shape[b], pa, pa + 3, pb, pb + 3};
    }
    return r;
}

// clr_rows are W rows, one per lane: shapes, pointers to their parameters, and poses in columns.
typedef struct {
    int64_t at[W];
    int32_t shape_a[W], shape_b[W];
    const double *sa[W], *sb[W];
    VF pa[4], pb[4], qa[4], qb[4]; // positions have three
} clr_rows;

// read_rows reads rows order[0..n), relative to lo; lanes beyond n repeat the last row.
ALWAYS void read_rows(const clr_call *c, int64_t lo, const int32_t *order, int n, clr_rows *r) {
    for (int l = 0; l < W; l++) r->at[l] = lo + order[l < n ? l : n - 1];
#ifdef IS_RUN
    if (n >= W && !c->poses && IS_RUN(order)) {
        const int64_t i = lo + order[0];
        memcpy(r->shape_a, c->shape_a + i, sizeof r->shape_a);
        memcpy(r->shape_b, c->shape_b + i, sizeof r->shape_b);
        RUN_OF_THREE(r->pa, c->position_a + 3 * i);
        RUN_OF_THREE(r->pb, c->position_b + 3 * i);
        RUN_OF_FOUR(r->qa, c->rotation_a + 4 * i);
        RUN_OF_FOUR(r->qb, c->rotation_b + 4 * i);
    } else
#endif
    {
        const double *pa[W], *qa[W], *pb[W], *qb[W];
        for (int l = 0; l < W; l++) {
            const clr_row one = row_at(c, r->at[l]);
            r->shape_a[l] = one.shape_a, r->shape_b[l] = one.shape_b;
            pa[l] = one.pa, qa[l] = one.qa, pb[l] = one.pb, qb[l] = one.qb;
        }
        ROWS(r->pa, pa, 7)
        ROWS(r->pb, pb, 7)
        ROWS(r->qa, qa, 15)
        ROWS(r->qb, qb, 15)
    }
    for (int l = 0; l < W; l++) r->sa[l] = c->shapes[r->shape_a[l]].p;
    for (int l = 0; l < W; l++) r->sb[l] = c->shapes[r->shape_b[l]].p;
}

// good_pose tells whether the position is in range and the square of the quaternion's length within 1e±100,
// so that no product overflows or underflows. Other rows are declined: some of them are valid.
ALWAYS VM good_pose(V3 p, VF w, V3 v) {
    const VF limit = SET1(CLR_MAX_LENGTH), lo = SET1(1e-100), hi = SET1(1e100);
    V3 q = {MAX(p.x, -p.x), MAX(p.y, -p.y), MAX(p.z, -p.z)};
    VF n = FMA(w, w, T(dot)(v, v));
    return MAND(MAND(MAND(LE(q.x, limit), LE(q.y, limit)), LE(q.z, limit)), MAND(LT(lo, n), LT(n, hi)));
}

// matrix writes the rotation of a quaternion of any length.
ALWAYS void matrix(VF w, V3 v, VF m[9]) { T(quaternion_matrix)(SET1(2) / FMA(w, w, T(dot)(v, v)), w, v, m); }

// rotations writes the rotation of quaternion a, and that of b in the frame of a, which is the rotation of
// q = conj(a)·b. It is normalized by the length of the rounded q, so that only the rounding of its direction
// counts. The entries have smaller errors than the entries of a product of both rotation matrices.
ALWAYS void rotations(VF wa, V3 a, VF wb, V3 b, VF ra[9], VF m[9]) {
    const VF two = SET1(2), w = FMA(wa, wb, T(dot)(a, b));
    V3 q = T(cross)(b, a);
    q = (V3){FMA(wa, b.x, FNMA(wb, a.x, q.x)), FMA(wa, b.y, FNMA(wb, a.y, q.y)), FMA(wa, b.z, FNMA(wb, a.z, q.z))};
    T(quaternion_matrix)(two * RCP(FMA(wa, wa, T(dot)(a, a))), wa, a, ra);
    T(quaternion_matrix)(two * RCP(FMA(w, w, T(dot)(q, q))), w, q, m);
}

// relative is the rotation of b in the frame of a.
ALWAYS void relative(const VF a[9], const VF b[9], VF m[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) m[3 * i + j] = FMA(a[6 + i], b[6 + j], FMA(a[3 + i], b[3 + j], a[i] * b[j]));
}

#define STOP32 1.2e-7
#define UNDERFLOW_ERROR 1e-150 // ref.underflow: metres that underflow adds to the error of a length

// power_units bounds the rounding error that powers add to a support value of class k, in units of
// 2⁻⁵³ of the size: see support_smooth.h.
ALWAYS int power_units(int k) {
    if (k == CLR_SMOOTH_REVOLUTION || k == CLR_SMOOTH_HULL) return 32 + CLR_SMOOTH_VERTICES / W;
    return k == CLR_SUPERQUADRIC ? 12 : 0;
}

// most_gap is the largest gap of an answer: the tolerance, or where it is larger, four times the rounding bound without
// its part for powers.
ALWAYS VF most_gap(const clr_call *c, int ka, int kb, VF tol, VF rounding) {
    const double powers = 4 * (power_units(ka) + power_units(kb)) * 0x1p-53;
    const VF most = SET1(4) * rounding;
    return powers > 0 ? MAX(tol, FNMA(SET1(powers / c->tolerance), tol, most)) : MAX(tol, most);
}

// warm_starts are the warm starts of W rows, relative to lo, in the world frame.
ALWAYS V3 warm_starts(const clr_call *c, int64_t lo, const int32_t *row) {
    const double *at[W];
    VF w[3];
    for (int l = 0; l < W; l++) at[l] = c->warm + 3 * (lo + row[l]);
    ROWS(w, at, 7)
    return (V3){w[0], w[1], w[2]};
}

// prepare32 fills the float32 columns of rows k, k+1, … of a group from the float64 columns. x leads from the center of
// B to the center of A.
ALWAYS void prepare32(const clr_call *c, clr_scratch *s, int64_t lo, int k, int ka, int kb, V3 x, VF size) {
    const double *in = &s->in64[0][k];
    const VF zero = SET1(0), stop = LOADU(in + CLR_STOP * CLR_STRIDE64);
    for (int j = 0; j < 9; j++) NARROW(&s->in32[CLR_ROT + j][k], LOADU(in + (CLR_ROT + j) * CLR_STRIDE64));
    // Both cores relative to their centers, scaled by 1/span.
    VF xx = T(dot)(x, x), length = SQRT(xx), span = length + size, inverse = SET1(1) / span;
    STOREU(&s->more[CLR_SPAN][k], span);
    NARROW(&s->in32[CLR_TRANS][k], -x.x * inverse);
    NARROW(&s->in32[CLR_TRANS + 1][k], -x.y * inverse);
    NARROW(&s->in32[CLR_TRANS + 2][k], -x.z * inverse);
    for (int j = 0; j < 4; j++) {
        NARROW(&s->in32[CLR_PA + j][k], LOADU(in + (CLR_PA + j) * CLR_STRIDE64) * inverse);
        NARROW(&s->in32[CLR_PB + j][k], LOADU(in + (CLR_PB + j) * CLR_STRIDE64) * inverse);
    }
    if (HAS_VERTICES(ka)) NARROW(&s->in32[CLR_PA + 3][k], inverse);
    if (HAS_VERTICES(kb)) NARROW(&s->in32[CLR_PB + 3][k], inverse);
    NARROW(&s->in32[CLR_STOP][k], MAX(SET1(0.5) * stop * inverse, SET1(STOP32)));
    NARROW(&s->in32[CLR_FAR][k],
           MIN(FMA(LOADU(in + CLR_FAR * CLR_STRIDE64), inverse, SET1(2 * SUPPORT_ROUNDING32)), SET1(1e30)));
    NARROW(&s->in32[CLR_NEAR][k], FMA(LOADU(in + CLR_NEAR * CLR_STRIDE64), inverse, SET1(-2 * SUPPORT_ROUNDING32)));
    NARROW(&s->in32[CLR_SUPPORT_ROUNDING][k], SET1(SUPPORT_ROUNDING32));

    if (c->warm) { // zero for rows without a warm start
        const V3 w = warm_starts(c, lo, s->row + k);
        const VF w2 = T(dot)(w, w), fits = SEL(LT(SET1(1e-200), w2), -length / SQRT(MAX(w2, SET1(1e-200))), zero);
        x = T(scale)(fits * inverse, T(rotate_back)(&s->more[CLR_ROTA][k], CLR_STRIDE64, w));
        NARROW(&s->in32[CLR_X][k], x.x);
        NARROW(&s->in32[CLR_X + 1][k], x.y);
        NARROW(&s->in32[CLR_X + 2][k], x.z);
    }
}

// prepare_poses fills the columns of the poses of rows order[0..n) (relative to lo) of the input: rows `at`,
// at + 1, … of the group.
static inline void prepare_poses(const clr_call *c, clr_scratch *s, int64_t lo, const int32_t *order, int at, int n) {
    for (int i = 0; i < n; i += W) {
        const int k = at + i;
        clr_rows r;
        read_rows(c, lo, order + i, n - i, &r);
        for (int l = 0; l < W; l++) {
            s->shape_a[k + l] = r.shape_a[l];
            s->shape_b[k + l] = r.shape_b[l];
            s->row[k + l] = (int32_t)(r.at[l] - lo);
            s->steps[k + l] = 0;
        }
        V3 pa = {r.pa[0], r.pa[1], r.pa[2]}, pb = {r.pb[0], r.pb[1], r.pb[2]}, va = {r.qa[1], r.qa[2], r.qa[3]},
           vb = {r.qb[1], r.qb[2], r.qb[3]};
        VM good = MAND(good_pose(pa, r.qa[0], va), good_pose(pb, r.qb[0], vb));
        VF ra[9], m[9];
        rotations(r.qa[0], va, r.qb[0], vb, ra, m);
        for (int j = 0; j < 9; j++) STOREU(&s->more[CLR_ROTA + j][k], ra[j]);
        T(st3)(&s->more[CLR_POSA][k], CLR_STRIDE64, pa);
        for (int j = 0; j < 9; j++) STOREU(&s->in64[CLR_ROT + j][k], m[j]);
        const double *rota = &s->more[CLR_ROTA][k];
        V3 t = T(rotate_back)(rota, CLR_STRIDE64, T(sub)(pb, pa));
        T(st3)(&s->in64[CLR_TRANS][k], CLR_STRIDE64, t);

        if (c->warm) {
            const V3 w = warm_starts(c, lo, s->row + k);
            good = MAND(good, LE(T(dot)(w, w), SET1(1e200))); // false for NaN and infinity
        }
        unsigned bits = MBITS(good);
        for (int l = 0; l < W; l++) s->state[k + l] = bits >> l & 1 ? CLR_OPEN : CLR_BAD;
    }
}

// prepare_shapes fills the other columns of rows `at` to at + n − 1 of the group.
static inline void prepare_shapes(const clr_call *c, clr_scratch *s, int64_t lo, int at, int n, int ka, int kb,
                                  int late) {
    const int hulls = OFF_CENTER(ka) || OFF_CENTER(kb); // other shapes have their center at their origin
    const VF zero = SET1(0), powers = SET1((power_units(ka) + power_units(kb)) * 0x1p-53);
    for (int k = at; k < at + n; k += W) {
        const double *sa[W], *sb[W];
        VF p[4], q[4], u[4], v[4];
        const V3 t = T(ld3)(&s->in64[CLR_TRANS][k], CLR_STRIDE64);
        for (int l = 0; l < W; l++) sa[l] = c->shapes[s->shape_a[k + l]].p;
        for (int l = 0; l < W; l++) sb[l] = c->shapes[s->shape_b[k + l]].p;

        // Shapes: parameters and erode; radius, size and center; center and off.
        ROWS(p, sa, 15)
        ROWS(q, sb, 15)
        for (int l = 0; l < W; l++) sa[l] += 4, sb[l] += 4;
        ROWS(u, sa, 15)
        ROWS(v, sb, 15)
        V3 x = T(neg)(t); // from the center of B to the center of A
        VF off = zero;
        if (hulls) {
            VF ca[4], cb[4];
            for (int l = 0; l < W; l++) sa[l] += 4, sb[l] += 4;
            ROWS(ca, sa, 7)
            ROWS(cb, sb, 7)
            off = ca[1] + cb[1];
            x = T(sub)((V3){u[2], u[3], ca[0]},
                       T(add)(T(rotate)(&s->in64[CLR_ROT][k], CLR_STRIDE64, (V3){v[2], v[3], cb[0]}), t));
        }
        if (ka == CLR_HULL && kb == CLR_HULL) T(st3)(&s->more[CLR_BETWEEN][k], CLR_STRIDE64, x);
        for (int j = 0; j < 4; j++) {
            STOREU(&s->in64[CLR_PA + j][k], p[j]);
            STOREU(&s->in64[CLR_PB + j][k], q[j]);
        }
        VF size = u[1] + v[1], scale = SQRT(T(dot)(t, t)) + size + off;
        VF rounding = FMA(powers, size, SET1(24 * 0x1p-53) * scale) + SET1(UNDERFLOW_ERROR); // see ref.Pair.Roundoff
        VF tol = SET1(c->tolerance) * size, stop = MAX(tol - SET1(2) * rounding, rounding);
        VF radius = u[0] + v[0];
        STOREU(&s->more[CLR_RA][k], u[0]);
        STOREU(&s->more[CLR_RB][k], v[0]);
        STOREU(&s->more[CLR_ROUNDING][k], rounding);
        STOREU(&s->more[CLR_TOL][k], tol);
        STOREU(&s->in64[CLR_STOP][k], stop);
        VF far = SET1(1e300), near = SET1(-1);
        if (c->has_cut_off) far = SET1(c->cut_off) + radius + rounding;
        if (c->collide) far = radius + rounding, near = radius - rounding;
        STOREU(&s->in64[CLR_FAR][k], far);
        STOREU(&s->in64[CLR_NEAR][k], near);
        STOREU(&s->in64[CLR_SUPPORT_ROUNDING][k], rounding);

        if (late) STOREU(&s->more[CLR_SPAN][k], size);
        else prepare32(c, s, lo, k, ka, kb, x, size);
    }
}

// prepare fills the columns of rows order[0..n) (relative to lo) of the input. With `late`, prepare_late
// fills the float32 columns, where they are needed. Poses and shapes of a few vectors alternate: a chain of operations
// leads through all that a row takes, and the processor overlaps the vectors only if their code is short.
static __attribute__((noinline)) void prepare(const clr_call *c, clr_scratch *s, int64_t lo, const int32_t *order,
                                              int n, int ka, int kb, int late) {
    for (int k = 0; k < n; k += 8 * W) {
        const int some = n - k < 8 * W ? n - k : 8 * W;
        prepare_poses(c, s, lo, order + k, k, some);
        prepare_shapes(c, s, lo, k, some, ka, kb, late);
    }
    for (int i = n; i % W != 0; i++) // padding of the last vector
        for (int j = 0; j < 4; j++) s->seed_a[j][i] = s->seed_b[j][i] = 0;
}

// Groups of rows that are answered by the same code, and a counting sort of the rows by groups.
//
// A group is a pair of classes for the iterative solvers, or a closed form. A counting sort puts the
// rows of a block in the order of their groups, so that all lanes of a vector evaluate the same support
// functions. The order within a group is that of the input. Rows are declined here if a shape has no class, or
// if they name no shape of the library.

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

#include "../isa/real32.h"
#include "../isa/vec3.h"

// The pose of B in the frame of A, in float32, for Boolean queries. A template, float32.
//
// Positions are subtracted in float64, since only this difference cancels. With u = 2⁻²⁴, the error of the
// rotation is at most 50 u in the operator norm, and the error of the translation at most 40 u of its length.
//
// Rotation. Each component of a quaternion is rounded by u. A component of the product of two unit quaternions
// is a sum of four terms. Their relative errors are 2 u from the rounded components and 4 u from the sum, or 3 u
// for the three last terms. The terms sum up to at most 1 in magnitude (Cauchy-Schwarz), so the error of
// the product is at most √(6² + 3·5²) u < 11 u, and that of its rotation twice as large. The matrix is the rotation of
// this product, whatever its length. The error of the squared length is 4 u and that of the reciprocal 4 u, which
// scales R − 1, of norm at most 2, by 8 u. Products, their sum and the last product round the
// entries by 3 u of s(|xy| + |wz|), s(yy + zz), …, whose squares sum up to at most 12, and the
// diagonal is rounded by u once more. Together 22 + 16 + 10.4 + 1 u < 50 u.
//
// Translation. Rᵀt = t + s·(v × (v × t) − w·(v × t)), s = 2/|a|². The terms of a cross product are rounded by 2 u
// and have norms of at most √2·|v||t|: 2.9 u. With the difference, the error of the first term is 6.7 u of
// |v|²|t| and that of the second 4.9 u of |v|w|t|, together at most 7.5 u of |t|. This counts twice; the error of s is
// 8 u of R − 1 again, that of the sum 3 u, of the quaternion 2 u and of t itself 1 u: 15 + 16 + 6 u < 40 u.
//
// The squared lengths of both quaternions have to lie within 2^±60, and the distance of the origins above 2⁻⁵⁰,
// so that nothing overflows or underflows in float32. Other rows are solved in float64.

typedef struct {
    VF m[9]; // rotation of B in the frame of A
    V3 t;    // origin of B there
    VM good; // quaternions and positions are in range; the length of t is not checked
} pair_frame;

// frame_shapes are the shapes of W rows.
typedef struct {
    int32_t a[W], b[W];
} frame_shapes;

// far_rows are the lanes of W rows whose positions are out of range.
static __attribute__((noinline, cold)) unsigned far_rows(const clr_call *c, int64_t lo, const int32_t *order, int n) {
    unsigned far = 0;
    for (int l = 0; l < W; l++) {
        const clr_row r = row_at(c, lo + order[l < n ? l : n - 1]);
        for (int j = 0; j < 3; j++)
            far |= (unsigned)!(fabs(r.pa[j]) <= CLR_MAX_LENGTH && fabs(r.pb[j]) <= CLR_MAX_LENGTH) << l;
    }
    return far;
}

// frame_of reads rows order[0..n) of the input, relative to lo. Lanes beyond n repeat the last row.
ALWAYS pair_frame frame_of(const clr_call *c, int64_t lo, const int32_t *order, int n, frame_shapes *shapes) {
    pair_frame f;
    VF p[4], a[4], b[4];
    int far;
#ifdef IS_RUN
    if (n >= W && !c->poses && IS_RUN(order)) {
        const int64_t i = lo + order[0];
        memcpy(shapes->a, c->shape_a + i, sizeof shapes->a);
        memcpy(shapes->b, c->shape_b + i, sizeof shapes->b);
        far = RUN_DIFFERENCES(p, c->position_b + 3 * i, c->position_a + 3 * i, CLR_MAX_LENGTH);
        RUN_NARROWED(a, c->rotation_a + 4 * i);
        RUN_NARROWED(b, c->rotation_b + 4 * i);
    } else
#endif
    {
        const double *pa[W], *qa[W], *pb[W], *qb[W];
        for (int l = 0; l < W; l++) {
            const clr_row r = row_at(c, lo + order[l < n ? l : n - 1]);
            pa[l] = r.pa, qa[l] = r.qa, pb[l] = r.pb, qb[l] = r.qb;
            shapes->a[l] = r.shape_a;
            shapes->b[l] = r.shape_b;
        }
        far = DIFFERENCES(p, pb, pa, CLR_MAX_LENGTH);
        NARROWED(a, qa);
        NARROWED(b, qb);
    }
    // The rotation of B in the frame of A is that of the quaternion conj(a)·b, and
    // Rᵀt = t + 2/|a|²·(u × (u × t) − w·(u × t)).
    const VF least = SET1(0x1p-60f), most = SET1(0x1p60f);
    const V3 t = {p[0], p[1], p[2]}, u = {a[1], a[2], a[3]}, v = {b[1], b[2], b[3]};
    const VF aa = FMA(a[0], a[0], T(dot)(u, u)), w = FMA(a[0], b[0], T(dot)(u, v));
    const V3 r = T(sub)(T(axpy)(a[0], v, T(scale)(-b[0], u)), T(cross)(u, v));
    const VF qq = FMA(w, w, T(dot)(r, r));
    f.good = MAND(MAND(LT(least, aa), LT(aa, most)), MAND(LT(least, qq), LT(qq, most)));
    if (far) f.good = MANDN(f.good, MFROM(far_rows(c, lo, order, n)));
    T(quaternion_matrix)(SET1(2) * RCP(qq), w, r, f.m);
    const V3 ut = T(cross)(u, t);
    f.t = T(axpy)(SET1(2) * RCP(aa), T(sub)(T(cross)(u, ut), T(scale)(a[0], ut)), t);
    return f;
}

// frame_columns loads four values of the shapes of all lanes, from element `at` on, into columns.
ALWAYS void frame_columns(const clr_call *c, const int32_t shape[W], int at, VF out[4]) {
    const float *row[W];
    for (int l = 0; l < W; l++) row[l] = c->shapes32[shape[l]].p + at;
    ROWS(out, row, 15)
}

#include "../isa/real64.h" // as this header began

#endif
