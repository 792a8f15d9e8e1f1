// Rows of the growth query in the frames of their rays. A template, float64.
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
// |t| ≤ |p| + |c_A| + |c_B|. A support
// value or point of D about the centers is a chain of the same length on magnitudes of at most the sizes, the offsets
// of the vertices and the centers; powers add power_units.
//
// Rows are declined (CLR_BAD) if the sum of the inradii is not positive.

#ifndef CLR_GROWTH_INPUT_H
#define CLR_GROWTH_INPUT_H

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
