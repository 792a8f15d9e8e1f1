// Rows of the growth query in the frames of their rays, float64; and support points in these frames, a template, see
// vec3.h.
//
// Let c_A and c_B be the centers of the shapes, p = c_B − c_A, and D = (A − c_A) − (B − c_B). The growth factor is
// α = min{a ≥ 0 : p ∈ a·D} = |p|/t, where t is the distance at which the ray from the origin along p leaves D
// [Growth, eq. 9, 10]. In the frame of the ray, p lies on the z axis. Both shapes have a rotation to that frame, so
// that their support points are found independently of each other.
//
// prepare_growth extends the columns of prepare (input.h). In float32 the unit of length is a bound of |x| over D.
// So the accuracy does not depend on the distance of the centers.
//
// Rounding bounds, u = 2⁻⁵³. p is a difference of positions, rotated, and the rotated centers: as in
// ref.Pair.Roundoff, its error is below 24 u·(|t| + |c_A| + |c_B|), with t from the origin of A to the origin of B and
// |t| ≤ |p| + |c_A| + |c_B|. A support value or point of D about the centers is a chain of the same length on
// magnitudes of at most the sizes, the offsets of the vertices and the centers; powers add power_units.
//
// Rows are declined (CLR_BAD) if the sum of the inradii is not positive.

#if REAL_BITS == 64 && !defined(CLR_GROWTH_INPUT_64)
#define CLR_GROWTH_INPUT_64

#include "../pairs/input.h"

// GROWTH_MARGIN32 is by how much, relative to |p|, a bound in float32 has to pass a threshold before the
// iteration ends; GROWTH_MARGIN64 the same in float64. They prove nothing.
#define GROWTH_MARGIN32 4e-6
#define GROWTH_MARGIN64 1e-13

// growth_tolerance is the gap asked for, relative to max(1, α). ball is the sum of the radii of the balls.
ALWAYS VF growth_tolerance(const clr_call *c, int ka, int kb, VF ball) {
    const VF curved = SET1(c->curved_depth);
    return IS_CURVED(ka) || IS_CURVED(kb) ? curved : SEL(LT(SET1(0), ball), curved, SET1(c->tolerance));
}

// prepare_growth fills the columns of growth of rows 0 to n−1 of a group from those of prepare. Rows whose centers
// coincide up to rounding become CLR_INSIDE.
static __attribute__((noinline)) void prepare_growth(const clr_call *c, clr_scratch *s, int n, int ka, int kb) {
    const VF zero = SET1(0), one = SET1(1), unit_rounding = SET1(24 * 0x1p-53);
    const VF powers = SET1((power_units(ka) + power_units(kb)) * 0x1p-53);
    for (int k = 0; k < n; k += W) {
        const double *row[2][W], *in = &s->in64[0][k];
        double *out = &s->growth.in64[0][k];
        VF center[2][4], extent[2][4], core[2][4] = {{zero, zero, zero}, {zero, zero, zero}};
        for (int l = 0; l < W; l++) {
            row[0][l] = c->centers + CLR_CENTER_VALUES * (size_t)s->shape_a[k + l];
            row[1][l] = c->centers + CLR_CENTER_VALUES * (size_t)s->shape_b[k + l];
        }
        for (int side = 0; side < 2; side++) {
            ROWS(center[side], row[side], 15)
            for (int l = 0; l < W; l++) row[side][l] += 4;
            ROWS(extent[side], row[side], 15)
            for (int l = 0; l < W; l++) row[side][l] += 4;
            if (OFF_CENTER(side ? kb : ka)) ROWS(core[side], row[side], 7)
        }
        const V3 ca = {center[0][0], center[0][1], center[0][2]}, cb = {center[1][0], center[1][1], center[1][2]};
        const V3 t = T(ld3)(in + CLR_TRANS * CLR_STRIDE64, CLR_STRIDE64);
        const V3 p = T(sub)(T(add)(T(rotate)(in, CLR_STRIDE64, cb), t), ca);
        const VF length = SQRT(T(dot)(p, p)), off = extent[0][0] + extent[1][0], size = extent[0][3] + extent[1][3],
                 reach = extent[0][1] + extent[1][1];
        const VF rounding_p = unit_rounding * (length + (off + off));
        const VF rounding_s = FMA(powers, size, unit_rounding * (reach + off + (extent[0][2] + extent[1][2])));
        const VM coincide = LE(length, rounding_p);

        // The frame of the ray: any where the centers coincide.
        V3 u, v, w = T(sel)(coincide, (V3){zero, zero, one}, T(scale)(RCP(MAX(length, SET1(TINY))), p));
        T(across)(w, &u, &v);
        const V3 axis[3] = {u, v, w};
        for (int j = 0; j < 3; j++) {
            const V3 other = T(rotate_back)(in, CLR_STRIDE64, axis[j]);
            STOREU(out + (CLR_RAY_A + j) * CLR_STRIDE64, axis[j].x);
            STOREU(out + (CLR_RAY_A + 3 + j) * CLR_STRIDE64, axis[j].y);
            STOREU(out + (CLR_RAY_A + 6 + j) * CLR_STRIDE64, axis[j].z);
            STOREU(out + (CLR_RAY_B + j) * CLR_STRIDE64, other.x);
            STOREU(out + (CLR_RAY_B + 3 + j) * CLR_STRIDE64, other.y);
            STOREU(out + (CLR_RAY_B + 6 + j) * CLR_STRIDE64, other.z);
        }
        const double *ray_a = out + CLR_RAY_A * CLR_STRIDE64, *ray_b = out + CLR_RAY_B * CLR_STRIDE64;
        const V3 shift = T(sub)(T(rotate_back)(ray_b, CLR_STRIDE64, cb), T(rotate_back)(ray_a, CLR_STRIDE64, ca));
        V3 part_a = T(neg)(ca), part_b = T(neg)(cb), shift32 = shift;
        if (OFF_CENTER(ka)) part_a = (V3){core[0][0], core[0][1], core[0][2]};
        if (OFF_CENTER(kb)) part_b = (V3){core[1][0], core[1][1], core[1][2]};
        if (OFF_CENTER(ka) || OFF_CENTER(kb))
            shift32 = T(sub)(T(rotate_back)(ray_a, CLR_STRIDE64, part_a), T(rotate_back)(ray_b, CLR_STRIDE64, part_b));
        T(st3)(out + CLR_SHIFT * CLR_STRIDE64, CLR_STRIDE64, shift);

        // Parameters. Ellipsoids are not eroded here: the radius of the ball that was taken out goes back.
        VF radius[2] = {LOADU(&s->more[CLR_RA][k]), LOADU(&s->more[CLR_RB][k])};
        for (int side = 0; side < 2; side++) {
            const int kind = side ? kb : ka, at = side ? CLR_PB : CLR_PA;
            VF erode = LOADU(in + (at + 3) * CLR_STRIDE64);
            if (kind == CLR_ELLIPSOID) radius[side] = radius[side] - erode, erode = zero;
            for (int j = 0; j < 3; j++) STOREU(out + (at + j) * CLR_STRIDE64, LOADU(in + (at + j) * CLR_STRIDE64));
            STOREU(out + (at + 3) * CLR_STRIDE64, erode);
        }
        const VF ball = radius[0] + radius[1], inradius = center[0][3] + center[1][3];
        STOREU(&s->more[CLR_RA][k], radius[0]);
        STOREU(&s->more[CLR_RB][k], radius[1]);

        // Where the iteration ends: the bounds are those of t = |p|/α.
        VF below = zero, above = SET1(1e300);
        if (c->has_cut_off) below = length / MAX(SET1(c->cut_off), one); // the status has to be proved as well
        if (c->boolean) below = MAX(below, length), above = length;
        const VF tolerance = growth_tolerance(c, ka, kb, ball), gap = SET1(0.25) * tolerance;
        STOREU(&s->more[CLR_TOL][k], tolerance);
        STOREU(out + CLR_BALL * CLR_STRIDE64, ball);
        STOREU(out + CLR_INRADIUS * CLR_STRIDE64, inradius);
        STOREU(out + CLR_GROWTH_GAP * CLR_STRIDE64, gap);
        STOREU(out + CLR_RISE * CLR_STRIDE64, SET1(0.125) * rounding_s);
        STOREU(out + CLR_BELOW * CLR_STRIDE64, FNMA(SET1(GROWTH_MARGIN64), below, below));
        STOREU(out + CLR_ABOVE * CLR_STRIDE64, FMA(SET1(GROWTH_MARGIN64), above, above));
        STOREU(out + CLR_BETWEEN_CENTERS * CLR_STRIDE64, length);
        STOREU(out + CLR_ROUNDING_P * CLR_STRIDE64, rounding_p);
        STOREU(out + CLR_ROUNDING_S * CLR_STRIDE64, rounding_s);
        STOREU(out + CLR_INRADIUS_A * CLR_STRIDE64, center[0][3]);
        T(st3)(out + CLR_CENTER_A * CLR_STRIDE64, CLR_STRIDE64, ca);
        T(st3)(out + CLR_CENTER_B * CLR_STRIDE64, CLR_STRIDE64, cb);

        const unsigned solid = MBITS(LT(zero, inradius)), same = MBITS(coincide);
        for (int l = 0; l < W; l++) {
            if (s->state[k + l] == CLR_BAD) continue;
            s->state[k + l] = !(solid >> l & 1) ? CLR_BAD : same >> l & 1 ? CLR_INSIDE : CLR_OPEN;
        }

        // The same in float32, in units of the reach.
        const VF scale = RCP(reach);
        for (int j = 0; j < 9; j++) {
            NARROW(&s->growth.in32[CLR_RAY_A + j][k], LOADU(ray_a + j * CLR_STRIDE64));
            NARROW(&s->growth.in32[CLR_RAY_B + j][k], LOADU(ray_b + j * CLR_STRIDE64));
        }
        NARROW(&s->growth.in32[CLR_SHIFT][k], shift32.x * scale);
        NARROW(&s->growth.in32[CLR_SHIFT + 1][k], shift32.y * scale);
        NARROW(&s->growth.in32[CLR_SHIFT + 2][k], shift32.z * scale);
        for (int side = 0; side < 2; side++) {
            const int kind = side ? kb : ka, at = side ? CLR_PB : CLR_PA;
            for (int j = 0; j < 4; j++)
                NARROW(&s->growth.in32[at + j][k], LOADU(out + (at + j) * CLR_STRIDE64) * scale);
            if (HAS_VERTICES(kind)) NARROW(&s->growth.in32[at + 3][k], scale);
        }
        NARROW(&s->growth.in32[CLR_BALL][k], ball * scale);
        NARROW(&s->growth.in32[CLR_INRADIUS][k], inradius * scale);
        NARROW(&s->growth.in32[CLR_GROWTH_GAP][k], MAX(gap, SET1(STOP32)));
        NARROW(&s->growth.in32[CLR_RISE][k], SET1(0.25 * SUPPORT_ROUNDING32));
        NARROW(&s->growth.in32[CLR_BELOW][k], below * FNMA(SET1(GROWTH_MARGIN32), scale, scale));
        NARROW(&s->growth.in32[CLR_ABOVE][k], MIN(above * FMA(SET1(GROWTH_MARGIN32), scale, scale), SET1(1e30)));
    }
}

#undef GROWTH_MARGIN32
#undef GROWTH_MARGIN64

#endif

#if (REAL_BITS == 32 && !defined(CLR_GROWTH_SUPPORT_32)) || (REAL_BITS == 64 && !defined(CLR_GROWTH_SUPPORT_64))
#if REAL_BITS == 32
#define CLR_GROWTH_SUPPORT_32
#else
#define CLR_GROWTH_SUPPORT_64
#endif

#include "../shape/support.h"
#include "../isa/vec3.h"

// Support points of D in the frame of the ray.

// ray_difference is the point a − b of D, of points a and b of A and B, in the frames of these.
ALWAYS V3 T(ray_difference)(const T(places) *at, V3 a, V3 b) {
    const REAL *in = at->in;
    const int stride = at->stride;
    return T(sub)(T(add)(T(rotate_back)(in + CLR_RAY_A * stride, stride, a), T(ld3)(in + CLR_SHIFT * stride, stride)),
                  T(rotate_back)(in + CLR_RAY_B * stride, stride, b));
}

// ray_support is the support point of D along the unit vector n; a and b are the support points of the cores and
// da and db the directions, in the frames of A and B.
ALWAYS V3 T(ray_support)(const T(places) *at, int ka, int kb, V3 n, V3 *a, V3 *b, V3 *da, V3 *db, VF found[2]) {
    const REAL *in = at->in;
    const int stride = at->stride;
    const VF one = SET1(1);
    *da = T(rotate)(in + CLR_RAY_A * stride, stride, n);
    *db = T(neg)(T(rotate)(in + CLR_RAY_B * stride, stride, n));
    *a = T(side_support)(at, ka, 0, *da, one, &found[0]);
    *b = T(side_support)(at, kb, 1, *db, one, &found[1]);
    return T(axpy)(LOADU(in + CLR_BALL * stride), n, T(ray_difference)(at, *a, *b));
}

#if REAL_BITS == 32
// own_directions recomputes the directions of which float32 has computed support points, in the frames of A and B, from
// those of the ray: three of each row k, k+1, …. They are the same bit for bit, so that float64 finds the same vertex
// or the same point of a rim, however close another one is. For cones and cylinders only the sign of z
// matters: it selects the rim.
ALWAYS void own_directions(const clr_scratch *s, int k, int ka, int kb, float out[2][9][W]) {
    for (int j = 0; j < 3; j++)
        for (int side = 0; side < 2; side++) {
            const int class = side ? kb : ka;
            V3 d = T(rotate)(&s->growth.in32[side ? CLR_RAY_B : CLR_RAY_A][k], CLR_STRIDE32,
                             T(ld3)(&s->growth.facing[3 * j][k], CLR_STRIDE32));
            if (side) d = T(neg)(d);
            if (class == CLR_FRUSTUM) {
                const V3 p = T(core_support)(class, &s->growth.in32[side ? CLR_PB : CLR_PA][k], CLR_STRIDE32, d, d.x);
                d.z = COPYSIGN(SET1(1e30f), p.z);
            }
            T(st3)(out[side][3 * j], W, d);
        }
}
#endif

// triangle_normal is the unit normal of a triangle, upwards if it is seen counterclockwise from above.
ALWAYS V3 T(triangle_normal)(const V3 v[3]) {
    const V3 n = T(cross)(T(sub)(v[1], v[0]), T(sub)(v[2], v[0]));
    return T(scale)(RSQRT(MAX(T(dot)(n, n), SET1(TINY))), n);
}

// The convex dual of the growth distance of ellipsoids, and Newton's method on it (growth_closed.h has the derivation).
// A template, see vec3.h.

// dual is F with its gradient and its Hessian.
typedef struct {
    VF f, x, y, xx, xy, yy;
} T(growth_dual);

// stretched is an ellipsoid in the frame of the ray: h(n) = |Mn|, with the first entries of MᵀM.
typedef struct {
    V3 m[3]; // columns
    VF xx, xy, yy;
} T(stretched);

// load_stretched loads the ellipsoid of one side, from columns `stride` apart.
ALWAYS T(stretched) T(load_stretched)(const REAL *in, int stride, int side) {
    const REAL *ray = in + (side ? CLR_RAY_B : CLR_RAY_A) * stride;
    const V3 e = T(ld3)(in + (side ? CLR_PB : CLR_PA) * stride, stride);
    T(stretched) s;
    for (int j = 0; j < 3; j++)
        s.m[j] = (V3){e.x * LOADU(ray + j * stride), e.y * LOADU(ray + (3 + j) * stride),
                      e.z * LOADU(ray + (6 + j) * stride)};
    s.xx = T(dot)(s.m[0], s.m[0]);
    s.xy = T(dot)(s.m[0], s.m[1]);
    s.yy = T(dot)(s.m[1], s.m[1]);
    return s;
}

// add_stretched adds the support function of an ellipsoid.
ALWAYS void T(add_stretched)(T(growth_dual) *d, const T(stretched) *s, VF x, VF y) {
    const V3 u = T(axpy)(x, s->m[0], T(axpy)(y, s->m[1], s->m[2]));
    const VF hh = MAX(T(dot)(u, u), SET1(TINY)), r = RSQRT(hh), p = T(dot)(u, s->m[0]) * r, q = T(dot)(u, s->m[1]) * r;
    d->f = FMA(hh, r, d->f);
    d->x = d->x + p;
    d->y = d->y + q;
    d->xx = FMA(FNMA(p, p, s->xx), r, d->xx);
    d->xy = FMA(FNMA(p, q, s->xy), r, d->xy);
    d->yy = FMA(FNMA(q, q, s->yy), r, d->yy);
}

// add_ball adds the support function of the balls, and the shift.
ALWAYS void T(add_ball)(T(growth_dual) *d, const REAL *in, int stride, VF x, VF y) {
    const VF ball = LOADU(in + CLR_BALL * stride);
    const V3 shift = T(ld3)(in + CLR_SHIFT * stride, stride);
    if (!MBITS(LT(SET1(0), ball))) {
        d->f = d->f + FMA(shift.x, x, FMA(shift.y, y, shift.z));
        d->x = d->x + shift.x;
        d->y = d->y + shift.y;
        return;
    }
    const VF ll = FMA(x, x, FMA(y, y, SET1(1))), r = RSQRT(ll), p = x * r, q = y * r, br = ball * r;
    d->f = d->f + FMA(br, ll, FMA(shift.x, x, FMA(shift.y, y, shift.z)));
    d->x = d->x + FMA(ball, p, shift.x);
    d->y = d->y + FMA(ball, q, shift.y);
    d->xx = FMA(FNMA(p, p, SET1(1)), br, d->xx);
    d->xy = FNMA(p * q, br, d->xy);
    d->yy = FMA(FNMA(q, q, SET1(1)), br, d->yy);
}

// newton_iterate is a point (x, y), the last one at which F was least, with that F, and the number of evaluations.
typedef struct {
    VF x, y, px, py, last, taken;
} T(newton_iterate);

ALWAYS T(newton_iterate) T(newton_from)(VF x, VF y) { return (T(newton_iterate)){x, y, x, y, SET1(INFINITY), SET1(0)}; }

// newton_advance takes a step from the point, at which the dual is d, in the active lanes. The gap of the bounds at
// that point, relative to t, is at most the result over the inradius and F.
ALWAYS VF T(newton_advance)(T(newton_iterate) *p, const T(growth_dual) *d, VF inradius, VM active) {
    const VF side = MAX(d->x, -d->x) + MAX(d->y, -d->y), tilt = MAX(p->x, -p->x) + MAX(p->y, -p->y);
    p->taken = SEL(active, p->taken + SET1(1), p->taken);
    const VF r = RCP(MAX(FNMA(d->xy, d->xy, d->xx * d->yy), SET1(TINY)));
    const VF dx = FNMA(d->yy, d->x, d->xy * d->y) * r, dy = FNMA(d->xx, d->y, d->xy * d->x) * r;
    const VF slope = -FMA(d->x, dx, d->y * dy), length = d->f * RCP(d->f + MAX(slope, SET1(0)));
    const VF quarter = SET1(0.25f), qx = p->x - p->px, qy = p->y - p->py;
    const VM move = MAND(active, LT(d->f, p->last));
    p->px = SEL(move, p->x, p->px);
    p->py = SEL(move, p->y, p->py);
    p->x = SEL(move, FMA(length, dx, p->x), SEL(active, FMA(quarter, qx, p->px), p->x));
    p->y = SEL(move, FMA(length, dy, p->y), SEL(active, FMA(quarter, qy, p->py), p->y));
    p->last = SEL(move, d->f, p->last);
    return side * FMA(inradius, tilt, d->f);
}

// majorant_start is the minimum of the quadratic majorant of F for two ellipsoids.
ALWAYS T(newton_iterate) T(majorant_start)(const T(stretched) *a, const T(stretched) *b, VF ball) {
    const VF tiny = SET1(TINY), wa = RSQRT(MAX(T(dot)(a->m[2], a->m[2]), tiny)),
             wb = RSQRT(MAX(T(dot)(b->m[2], b->m[2]), tiny));
    const VF xx = FMA(wa, a->xx, FMA(wb, b->xx, ball)), xy = FMA(wa, a->xy, wb * b->xy),
             yy = FMA(wa, a->yy, FMA(wb, b->yy, ball));
    const VF gx = FMA(wa, T(dot)(a->m[0], a->m[2]), wb * T(dot)(b->m[0], b->m[2])),
             gy = FMA(wa, T(dot)(a->m[1], a->m[2]), wb * T(dot)(b->m[1], b->m[2]));
    const VF r = RCP(MAX(FNMA(xy, xy, xx * yy), tiny));
    return T(newton_from)(FNMA(yy, gx, xy * gy) * r, FNMA(xx, gy, xy * gx) * r);
}

#endif
