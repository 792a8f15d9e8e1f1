// Supporting features of cores, class by class: what a core looks like at a support point, to the second order. The
// reference is feature.go of package derive, whose formulas these are.

#ifndef CLR_DERIVE_CORES_H
#define CLR_DERIVE_CORES_H

#include "rows.h"

// local is a feature in the frame of its core, without the ball.
typedef struct {
    V3 x;
    V3 t[2];       // orthonormal basis of the feature where it is flat
    VM edge;       // whether it has a direction: t[0]
    VM face;       // whether it has two
    VF angle;      // the largest by which a part of the feature is lower than its support plane
    VF inside;     // metres by which x lies inside the feature, negative outside; +inf of a vertex
    V3 round;      // unit vector: the Hessian is curvature · round · roundᵀ
    VF curvature;  // metres
    flat_matrix h; // of ellipsoids, the Hessian in the basis e
    VM ok;         // false where the kernel does not support the feature
} local;

#define FAR __builtin_inf()

ALWAYS local vertex_at(V3 x) {
    const VM none = MFROM(0);
    const V3 zero = {SET1(0), SET1(0), SET1(0)};
    return (local){.x = x,
                   .t = {zero, zero},
                   .edge = none,
                   .face = none,
                   .angle = SET1(0),
                   .inside = SET1(FAR),
                   .round = zero,
                   .curvature = SET1(0),
                   .h = {SET1(0), SET1(0), SET1(0)},
                   .ok = MFROM(LANES)};
}

// segment is a core along local z.
ALWAYS void segment_feature(local *l, VF half, V3 d, V3 hint, VF theta) {
    VM level = MAND(LT(SET1(0), half), LE(magnitude(d.z), theta));
    *l = vertex_at((V3){SET1(0), SET1(0), SEL(level, hint.z, COPYSIGN(half, d.z))});
    l->edge = level;
    l->t[0].z = where(level, SET1(1));
    l->angle = where(level, magnitude(d.z));
    l->inside = SEL(level, half - magnitude(hint.z), SET1(FAR));
}

ALWAYS void box_feature(local *l, const VF half[3], V3 d, V3 hint, VF theta) {
    const VF component[3] = {d.x, d.y, d.z}, along[3] = {hint.x, hint.y, hint.z};
    VF x[3], t0[3], t1[3];
    *l = vertex_at((V3){SET1(0), SET1(0), SET1(0)});
    for (int k = 0; k < 3; k++) {
        VM level = MANDN(LE(magnitude(component[k]), theta), l->face);
        x[k] = SEL(level, along[k], COPYSIGN(half[k], component[k]));
        t0[k] = where(MANDN(level, l->edge), SET1(1));
        t1[k] = where(MAND(level, l->edge), SET1(1));
        l->face = MOR(l->face, MAND(level, l->edge));
        l->angle = MAX(l->angle, where(level, magnitude(component[k])));
        l->edge = MOR(l->edge, level);
        l->inside = SEL(level, MIN(l->inside, half[k] - magnitude(along[k])), l->inside);
    }
    l->x = (V3){x[0], x[1], x[2]};
    l->t[0] = (V3){t0[0], t0[1], t0[2]};
    l->t[1] = (V3){t1[0], t1[1], t1[2]};
}

// frustum is a core between discs of radius bottom and top at z = ∓half.
ALWAYS void frustum_feature(local *l, VF bottom, VF top, VF half, V3 d, V3 hint, VF theta) {
    VF rho = SQRT(FMA(d.y, d.y, d.x * d.x)), slope = FMA(2 * half, d.z, (top - bottom) * rho);
    VM up = LE(SET1(0), slope);
    VF r = SEL(up, top, bottom), z = SEL(up, half, -half);
    VM disc = MAND(LE(rho, theta), LT(SET1(0), r)), apex = MANDN(EQ(rho, SET1(0)), disc),
       other = MANDN(NOT(disc), apex);
    VF over = 1 / SEL(other, rho, SET1(1));
    V3 out = {where(other, d.x * over), where(other, d.y * over), SET1(0)};
    VF length = SQRT(FMA(4 * half, half, (top - bottom) * (top - bottom)));
    VM wall = MAND(other, LE(magnitude(slope), theta * length));
    z = SEL(wall, hint.z, z);
    r = SEL(wall, bottom + (top - bottom) * (z + half) / (2 * half), r);
    *l = vertex_at((V3){SEL(disc, hint.x, r * out.x), SEL(disc, hint.y, r * out.y), z});
    VF cosine = (top - bottom) / length;
    l->t[0] = (V3){SEL(disc, SET1(1), where(wall, cosine * out.x)), where(wall, cosine * out.y),
                   where(wall, 2 * half / length)};
    l->t[1].y = where(disc, SET1(1));
    l->edge = MOR(disc, wall);
    l->face = disc;
    l->angle = SEL(disc, rho, where(wall, magnitude(slope) / length));
    l->inside = SEL(disc, r - SQRT(FMA(hint.y, hint.y, hint.x * hint.x)),
                    SEL(wall, (half - magnitude(z)) * length / (2 * half), SET1(FAR)));
    l->round = (V3){-out.y, out.x, SET1(0)};
    l->curvature = where(other, MAX(r, SET1(0)) * over);
}

// ellipsoid: with A the diagonal of semi-axes, h = |A·d| and m = A·d/h, the Hessian along e and f is
// (A·e × m)·(A·f × m)/h, which does not cancel.
ALWAYS void ellipsoid_feature(local *l, const VF a[3], V3 d, V3 e0, V3 e1) {
    V3 m = {a[0] * d.x, a[1] * d.y, a[2] * d.z};
    VF over = 1 / SQRT(dot64(m, m));
    m = scale64(over, m);
    *l = vertex_at((V3){a[0] * m.x, a[1] * m.y, a[2] * m.z});
    V3 p = cross64((V3){a[0] * e0.x, a[1] * e0.y, a[2] * e0.z}, m);
    V3 q = cross64((V3){a[0] * e1.x, a[1] * e1.y, a[2] * e1.z}, m);
    l->h = (flat_matrix){over * dot64(p, p), over * dot64(p, q), over * dot64(q, q)};
    l->ok = MAND(LE(SET1(0), l->h.xx + l->h.yy), is_finite(l->h.xx + l->h.yy));
}

ALWAYS void halfspace_feature(local *l, V3 hint) {
    *l = vertex_at((V3){hint.x, hint.y, SET1(0)});
    l->t[0].x = l->t[1].y = SET1(1);
    l->edge = l->face = MFROM(LANES);
}

// Supporting features of hulls, one lane after the other: the vertices of a hull are scanned a vector at a time.

// flat_feature is the feature of one lane, as in local.
typedef struct {
    double x[3], t[2][3], inside, angle;
    int flat, ok;
} flat_feature;

// hull_support is the support value of a hull.
ALWAYS double hull_support(const derive_call *c, const clr_shape *s, const double d[3]) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first, *z = c->vertices[2] + s->first;
    VF best = SET1(-FAR);
    for (int64_t i = 0; i < s->count; i += W) {
        VF vx = LOADU(x + i), vy = LOADU(y + i), vz = LOADU(z + i);
        best = MAX(best, FMA(SET1(d[2]), vz, FMA(SET1(d[1]), vy, d[0] * vx)));
    }
    return HMAX(best);
}

// hull_top returns the index of a support vertex of a hull, and its support value.
ALWAYS int64_t hull_top(const derive_call *c, const clr_shape *s, const double d[3], double *top) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first, *z = c->vertices[2] + s->first;
    VF best = SET1(-FAR);
    VF at = SET1(0), here = LANEWISE(LANE_NUMBER, 0); // exact
    for (int64_t i = 0; i < s->count; i += W) {
        VF vx = LOADU(x + i), vy = LOADU(y + i), vz = LOADU(z + i);
        VF h = FMA(SET1(d[2]), vz, FMA(SET1(d[1]), vy, d[0] * vx));
        at = SEL(LT(best, h), here, at);
        best = MAX(best, h);
        here += W;
    }
    *top = HMAX(best);
    return at[__builtin_ctz((unsigned)MBITS(EQ(best, SET1(*top))) | 1 << (W - 1))]; // a branch would be a coin toss
}

// hull_vertex returns the support value of a hull, and its support vertex.
ALWAYS double hull_vertex(const derive_call *c, const clr_shape *s, const double d[3], double vertex[3]) {
    double top;
    int64_t k = s->first + hull_top(c, s, d, &top);
    vertex[0] = c->vertices[0][k], vertex[1] = c->vertices[1][k], vertex[2] = c->vertices[2][k];
    return top;
}

// candidates lists the vertices whose support value is at least a bound; -1 if there are more than MAX_CORNERS.
ALWAYS int candidates(const derive_call *c, const clr_shape *s, const double d[3], double bound,
                      double v[MAX_CORNERS][3]) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first, *z = c->vertices[2] + s->first;
    int n = 0;
    for (int64_t i = 0; i < s->count; i += W) {
        VF vx = LOADU(x + i), vy = LOADU(y + i), vz = LOADU(z + i);
        for (int m = MBITS(LE(SET1(bound), FMA(SET1(d[2]), vz, FMA(SET1(d[1]), vy, d[0] * vx)))); m != 0; m &= m - 1) {
            int64_t k = i + __builtin_ctz((unsigned)m);
            if (k >= s->count) break;
            if (n == MAX_CORNERS) return -1;
            v[n][0] = x[k], v[n][1] = y[k], v[n][2] = z[k];
            n++;
        }
    }
    return n;
}

// The number of vertices that are listed at a time: their indices are bytes.
#define CHUNK 256

// A list has so many numbers more than it needs: what is written behind its end, or read with a vector.
#define SPARE 8

// append adds those of i to i + W - 1 to a list whose bits are in m, and returns its length.
ALWAYS int append(uint8_t *list, int listed, unsigned m, int64_t i) {
    static const uint8_t places[16][4] = {{0}, {0},    {1},    {0, 1},    {2},    {0, 2},    {1, 2},    {0, 1, 2},
                                          {3}, {0, 3}, {1, 3}, {0, 1, 3}, {2, 3}, {0, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}};
    for (int k = 0; k < W; k += 4, m >>= 4) {
        const unsigned bits = m & 15;
        uint32_t four;
        __builtin_memcpy(&four, places[bits], sizeof four);
        four += (uint32_t)(i + k) * 0x01010101u;
        __builtin_memcpy(list + listed, &four, sizeof four);
        listed += (int)(0x4332322132212110u >> 4 * bits & 7); // how many
    }
    return listed;
}

// inside_polygon returns the distance of (px, py) from the nearest side of a convex polygon, negative outside. The
// angles of corners about their mean order them; p/(|p| + |q|) is monotone in the angle of (p, q).
static double inside_polygon(int n, double corner[MAX_CORNERS][2], double px, double py) {
    double mx = 0, my = 0, angle[MAX_CORNERS];
    for (int i = 0; i < n; i++) mx += corner[i][0] / n, my += corner[i][1] / n;
    for (int i = 0; i < n; i++) {
        double p = corner[i][0] - mx, q = corner[i][1] - my, a = p / (__builtin_fabs(p) + __builtin_fabs(q));
        a = q < 0 ? a - 1 : 1 - a; // from -2 to 2
        double cx = corner[i][0], cy = corner[i][1];
        int k = i;
        for (; k > 0 && angle[k - 1] > a; k--) {
            angle[k] = angle[k - 1];
            corner[k][0] = corner[k - 1][0], corner[k][1] = corner[k - 1][1];
        }
        angle[k] = a, corner[k][0] = cx, corner[k][1] = cy;
    }
    double inside = FAR;
    for (int i = 0; i < n; i++) {
        const double *a = corner[i], *b = corner[i + 1 < n ? i + 1 : 0];
        double sx = b[0] - a[0], sy = b[1] - a[1], length = root1(sx * sx + sy * sy);
        if (length > 0) inside = least1(inside, (sx * (py - a[1]) - sy * (px - a[0])) / length);
    }
    return inside;
}

// hull_feature finds the face, edge or vertex that supports a hull in the direction d, up to the angle theta. The
// reference walks along the edges from a support vertex; here all vertices within the angle count, which are the same
// but where a vertex misses the angle by rounding.
static flat_feature hull_feature(const derive_call *c, const clr_shape *s, const double d[3], const double hint[3],
                                 double theta) {
    flat_feature f = {.inside = FAR, .ok = 1};
    double top = hull_support(c, s, d), v[MAX_CORNERS][3], corner[MAX_CORNERS][2];
    int n = candidates(c, s, d, top - (theta + 0x1p-50) * s->spread, v), first = 0;
    if (n <= 0) {
        f.ok = 0;
        return f;
    }
    if (n > 1) {
        double most = dot1(d, v[0]);
        for (int i = 1; i < n; i++) {
            double h = dot1(d, v[i]);
            if (h > most) most = h, first = i;
        }
    }
    double x[3] = {v[first][0], v[first][1], v[first][2]};
    f.x[0] = x[0], f.x[1] = x[1], f.x[2] = x[2];
    // Others of the feature, relative to x, and the farthest of them.
    int others = 0;
    double length = 0;
    int far = 0;
    for (int i = 0; i < n; i++) {
        double r[3] = {v[i][0] - x[0], v[i][1] - x[1], v[i][2] - x[2]}, l = root1(dot1(r, r));
        if (i == first || !(-dot1(d, r) <= theta * l)) continue;
        f.angle = most1(f.angle, -dot1(d, r) / l);
        if (l > length) length = l, far = others;
        v[others][0] = r[0], v[others][1] = r[1], v[others][2] = r[2]; // others ≤ i
        others++;
    }
    if (others == 0) return f;
    f.flat = 1;
    for (int k = 0; k < 3; k++) f.t[0][k] = v[far][k] / length;
    double across = 0, side[3] = {0};
    for (int i = 0; i < others; i++) {
        double along = dot1(v[i], f.t[0]), q[3];
        for (int k = 0; k < 3; k++) q[k] = v[i][k] - along * f.t[0][k];
        double l = root1(dot1(q, q));
        if (l > across) across = l, side[0] = q[0], side[1] = q[1], side[2] = q[2];
    }
    double rel[3] = {hint[0] - x[0], hint[1] - x[1], hint[2] - x[2]}, p = dot1(rel, f.t[0]);
    if (others == 1 || !(across > 1e-12 * length)) {
        for (int k = 0; k < 3; k++) f.x[k] = x[k] + p * f.t[0][k];
        f.inside = least1(p, length - p);
        return f;
    }
    f.flat = 2;
    for (int k = 0; k < 3; k++) f.t[1][k] = side[k] / across;
    double q = dot1(rel, f.t[1]);
    for (int k = 0; k < 3; k++) f.x[k] = x[k] + p * f.t[0][k] + q * f.t[1][k];
    corner[0][0] = corner[0][1] = 0;
    for (int i = 0; i < others; i++) corner[i + 1][0] = dot1(v[i], f.t[0]), corner[i + 1][1] = dot1(v[i], f.t[1]);
    f.inside = inside_polygon(others + 1, corner, p, q);
    return f;
}

// hull_lanes finds the features of the lanes in active.
static void hull_lanes(local *l, const derive_call *c, const side *s, V3 d, V3 hint, VF theta, int active) {
    unsigned edge = 0, face = 0, ok = LANES;
    *l = vertex_at((V3){SET1(0), SET1(0), SET1(0)});
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        const double dl[3] = {d.x[i], d.y[i], d.z[i]}, hl[3] = {hint.x[i], hint.y[i], hint.z[i]};
        flat_feature f = hull_feature(c, s->shape[i], dl, hl, theta[i]);
        l->x.x[i] = f.x[0], l->x.y[i] = f.x[1], l->x.z[i] = f.x[2];
        for (int k = 0; k < 2; k++) l->t[k].x[i] = f.t[k][0], l->t[k].y[i] = f.t[k][1], l->t[k].z[i] = f.t[k][2];
        l->inside[i] = f.inside, l->angle[i] = f.angle;
        edge |= (unsigned)(f.flat > 0) << i;
        face |= (unsigned)(f.flat > 1) << i;
        if (!f.ok) ok &= ~(1u << i);
    }
    l->edge = MFROM(edge), l->face = MFROM(face), l->ok = MFROM(ok);
}

#endif
