// The pairs of bodies of eight worlds that bounds do not rule out: culling as in package rollout (place.go, cull.go).
// The balls of the bodies are compared with one world per lane, the boxes of the pairs that are left with one pair of
// parts per lane (cull_boxes.h). All arithmetic is in float64, and has the operations and the rounding bounds of that
// package.

#include "cull_boxes.h"

#ifndef CULL
#error "CULL is the name of the function, of one instruction set"
#endif

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
    if (body[CLR_CULL_SAME] == 0) cull_point(&f, body + CLR_CULL_INNER, ball);
    for (int i = 0; i < 3; i++) STOREU(at + CLR_CULL_LANES * (4 + i) + lane, ball[i]);
    STOREU(at + CLR_CULL_LANES * 7 + lane, cull_inner_radius(body[CLR_CULL_INRADIUS], body[CLR_CULL_SLACK], slack));
    for (int32_t i = 0; i < n; i++)
        cull_place_part(&f, slack, parts + CLR_CULL_PART_VALUES * i,
                        parts_at + CLR_CULL_LANES * CULL_AT_VALUES * i + lane);
    return MBITS(ok);
}

// cull_upper bounds the distance of a pair in one world from above, by the balls within both bodies.
CULL_INLINE double cull_upper(const double *a, const double *b) {
    double x = a[4 * CLR_CULL_LANES] - b[4 * CLR_CULL_LANES], y = a[5 * CLR_CULL_LANES] - b[5 * CLR_CULL_LANES],
           z = a[6 * CLR_CULL_LANES] - b[6 * CLR_CULL_LANES];
    double root[W];
    STOREU(root, SQRT(SET1(x * x + y * y + z * z)));
    return root[0] * CULL_ROUND_UP - a[7 * CLR_CULL_LANES] - b[7 * CLR_CULL_LANES];
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
            const double *s = balls + CLR_CULL_BALLS * a[p] + lane, *t = balls + CLR_CULL_BALLS * b[p] + lane;
            VF x = LOADU(s) - LOADU(t), y = LOADU(s + CLR_CULL_LANES) - LOADU(t + CLR_CULL_LANES),
               z = LOADU(s + 2 * CLR_CULL_LANES) - LOADU(t + 2 * CLR_CULL_LANES);
            VF lower = SQRT(x * x + y * y + z * z) * SET1(CULL_ROUND_DOWN) - LOADU(s + 3 * CLR_CULL_LANES) -
                       LOADU(t + 3 * CLR_CULL_LANES);
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
        out->upper[l] = cull_upper(balls + CLR_CULL_BALLS * a[p] + l, balls + CLR_CULL_BALLS * b[p] + l);
        double upper = out->upper[l] > 0 ? out->upper[l] : 0;
        if (c->valued && upper < c->threshold) out->beyond[l] = upper;
        if (!(lowers[CLR_CULL_LANES * p + l] > out->beyond[l])) out->upper[l] = INFINITY; // it is not culled by balls
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
