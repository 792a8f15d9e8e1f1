// Cores of shapes in the frame of a manifold: support points, and signed distances of points. One shape at a time, in
// float64. The arithmetic and its order are those of package geom, and nothing fuses, so that the bits are those of Go
// on amd64; the support points of superquadrics and smooth shapes are those of kernels/shape, which differ by rounding.

#ifndef CONTACT_CORE_H
#define CONTACT_CORE_H

#include <math.h>

#include "api.h"
#include "constants.h"
#include "../../isa/scalar64.h"
#include "../../shape/support_smooth.h"
#include "../../isa/real64.h"

// A shape in the frame of the manifold.
typedef struct {
    const clr_shape *shape;
    const contact_features *features;
    int core; // its code, see core_of
    int vertices;
    const double *x, *y, *z; // of the vertices
    const double *reals;     // of features
    const int32_t *ints;     // null without features
    double rot[9 + 1];       // with room for the last lane of a store
    V3 origin;
    double least; // z of the core's support point against the other shape
} placed;

ALWAYS V3 vec_at(const double *p) { return T(ld3)(p, 1); }
ALWAYS double length(V3 a) { return sqrt(T(dot)(a, a)); }
ALWAYS double greater(double a, double b) { return a > b ? a : b; }
ALWAYS double lesser(double a, double b) { return a < b ? a : b; }
ALWAYS V3 vertex_at(const placed *p, int v) { return (V3){p->x[v], p->y[v], p->z[v]}; }

static void set_shape(placed *p, const contact_shapes *t, int32_t i) {
    p->shape = t->shape + i;
    p->features = t->features + i;
    p->core = core_of(p->shape);
    p->reals = t->reals + p->features->reals;
    p->ints = p->features->ints < 0 ? 0 : t->ints + p->features->ints;
    int64_t first = p->shape->first;
    p->x = t->vertices[0] + first, p->y = t->vertices[1] + first, p->z = t->vertices[2] + first;
    p->vertices = p->shape->count;
    if (p->core == CLR_CUBOID_CORE) {
        p->x = p->reals, p->y = p->x + CONTACT_BOX_VERTICES, p->z = p->y + CONTACT_BOX_VERTICES;
        p->vertices = CONTACT_BOX_VERTICES;
    }
}

// support_frustum is the support point of a cylinder, cone or frustum: p has both radii and the half length. d is of
// unit length, so that a lateral part whose square is below MIN_SQUARE changes no bit of z.
static V3 support_frustum(const double *p, V3 d) {
    double square = d.x * d.x + d.y * d.y;
    if (!(square > MIN_SQUARE)) return (V3){0, 0, copysign(p[2], d.z)};
    double l = sqrt(square);
    int top = (p[1] - p[0]) * l + 2 * p[2] * d.z >= 0;
    double k = p[top] / l;
    return (V3){k * d.x, k * d.y, top ? p[2] : -p[2]};
}

static V3 support_ellipsoid(const double *p, V3 d) {
    V3 e = vec_at(p), v = {e.x * d.x, e.y * d.y, e.z * d.z};
    double k = 1 / sqrt(T(dot)(v, v));
    return (V3){e.x * (k * v.x), e.y * (k * v.y), e.z * (k * v.z)};
}

static V3 support_superquadric(const clr_shape *s, V3 d) {
    T(hulls) h = {0};
    T(set_hull)(&h, 0, s, CLR_SUPERQUADRIC);
    return T(superquadric_support)(vec_at(s->p), h.power, d);
}

// support_smooth is the support point of a smooth hull or revolution.
static V3 support_smooth(const placed *p, V3 d) {
    clr_call vertices;
    vertices.vx = p->x, vertices.vy = p->y, vertices.vz = p->z;
    T(hulls) h = {0};
    T(set_hull)(&h, 0, p->shape, p->core);
    h.first[0] = 0;
    return T(smooth_support)(&vertices, &h, 1, p->core, p->shape->p, 1, d);
}

// hypotenuse is math.Hypot of numbers that are finite.
ALWAYS double hypotenuse(double x, double y) {
    double p = greater(fabs(x), fabs(y)), q = lesser(fabs(x), fabs(y));
    if (p == 0) return 0;
    q /= p;
    return p * sqrt(1 + q * q);
}

// residual_frustum is that of a cone or frustum, see geom.coneResidual.
static double residual_frustum(const double *p, V3 v) {
    double bottom = p[0], top = p[1], half = p[2];
    double l = sqrt(v.x * v.x + v.y * v.y), cap = fabs(v.z) - half;
    double long_side = sqrt((bottom - top) * (bottom - top) + 4 * half * half);
    double cosine = 2 * half / long_side, sine = (bottom - top) / long_side;
    double side = (l - bottom) * cosine + (v.z + half) * sine, along = (v.z + half) * cosine - (l - bottom) * sine;
    if (side <= 0 && cap <= 0) return greater(side, cap);
    if (side > 0 && along > 0 && along < long_side) return side;
    if ((v.z >= half && l <= top) || (v.z <= -half && l <= bottom)) return cap;
    if (2 * along > long_side) return hypotenuse(l - top, v.z - half);
    return hypotenuse(l - bottom, v.z + half);
}

static double residual_cylinder(const double *p, V3 v) {
    double l = sqrt(v.x * v.x + v.y * v.y) - p[0], z = fabs(v.z) - p[2];
    double lo = greater(l, 0), zo = greater(z, 0);
    return sqrt(lo * lo + zo * zo) + lesser(greater(l, z), 0);
}

static double residual_box(const double *p, V3 v) {
    V3 e = {fabs(v.x) - p[0], fabs(v.y) - p[1], fabs(v.z) - p[2]};
    V3 out = {greater(e.x, 0), greater(e.y, 0), greater(e.z, 0)};
    return sqrt(T(dot)(out, out)) + lesser(greater(greater(e.x, e.y), e.z), 0);
}

// segment_square is the squared distance of q from the segment a, b.
static double segment_square(V3 q, V3 a, V3 b) {
    V3 u = T(sub)(b, a), w = T(sub)(q, a);
    double t = T(dot)(u, w) / T(dot)(u, u);
    if (!(t > 0)) return T(dot)(w, w);
    V3 off = t >= 1 ? T(sub)(q, b) : T(sub)(w, T(scale)(t, u));
    return T(dot)(off, off);
}

// The body of a polytope: vertices are relative to the center, which is inside.
typedef struct {
    const placed *p;
    V3 center;
    const double *planes; // normal and offset
    const int32_t *start, *corners;
    int count;
} solid;

ALWAYS V3 from_center(const solid *s, int v) { return T(sub)(vertex_at(s->p, v), s->center); }
ALWAYS double over_plane(const solid *s, int i, V3 q) {
    return T(dot)(vec_at(s->planes + 4 * i), q) - s->planes[4 * i + 3];
}

// face_square is the squared distance of q from a face.
static double face_square(const solid *s, int f, V3 q) {
    V3 n = vec_at(s->planes + 4 * f), a = from_center(s, s->corners[s->start[f + 1] - 1]);
    int within = 1;
    double nearest = INFINITY;
    for (int i = s->start[f]; i < s->start[f + 1]; i++) {
        V3 b = from_center(s, s->corners[i]);
        if (T(dot)(T(cross)(n, T(sub)(b, a)), T(sub)(q, a)) < 0) within = 0;
        nearest = lesser(nearest, segment_square(q, a, b));
        a = b;
    }
    if (!within) return nearest;
    double h = T(dot)(n, T(sub)(q, a));
    return lesser(nearest, h * h);
}

// residual_polytope is geom.Convex.Residual.
static double residual_polytope(const placed *p, V3 v) {
    const int32_t *header = p->ints;
    const double *body = p->reals + header[CONTACT_BODY];
    solid s = {p,
               vec_at(body),
               body + 4,
               p->ints + header[CONTACT_SIDE_START],
               p->ints + header[CONTACT_SIDES],
               header[CONTACT_PLANES]};
    V3 q = T(sub)(v, s.center);
    double slack = 0x1p-49 * (fabs(q.x) + fabs(q.y) + fabs(q.z) + body[3]);
    if (!(slack < INFINITY)) return slack;
    switch (header[CONTACT_DIM]) {
    case 1: return sqrt(segment_square(q, from_center(&s, 0), from_center(&s, 1)));
    case 2: return sqrt(face_square(&s, 0, q));
    }
    int top = 0;
    double deepest = -INFINITY;
    for (int i = 0; i < s.count; i++) {
        double h = over_plane(&s, i, q);
        if (h > deepest) top = i, deepest = h;
    }
    if (deepest < -slack) return deepest;
    double nearest = face_square(&s, top, q);
    for (int i = 0; i < s.count; i++) {
        double h = over_plane(&s, i, q);
        if (h * h >= nearest || (h < -slack && deepest > slack)) continue;
        nearest = lesser(nearest, face_square(&s, i, q));
    }
    nearest = sqrt(nearest);
    return deepest <= 0 && nearest <= 2 * slack ? deepest : nearest;
}

// contains says whether the signed distance of a point of the local frame is at most that far. Shapes without edges are
// not asked.
static int contains(const placed *p, V3 v, double far) {
    const double *sizes = p->shape->p;
    double residual;
    switch (p->core) {
    case CLR_SEGMENT_CORE: {
        double z = greater(fabs(v.z) - sizes[2], 0);
        residual = sqrt(v.x * v.x + v.y * v.y + z * z) - p->features->ball;
        break;
    }
    case CLR_FRUSTUM:
        residual = p->features->cylinder ? residual_cylinder(sizes, v) : residual_frustum(sizes, v);
        break;
    case CLR_CUBOID_CORE: residual = residual_box(sizes, v); break;
    case CLR_HULL: residual = residual_polytope(p, v); break;
    default: return 0;
    }
    return residual - p->features->margin <= far;
}

// leave finds z at which the line over (x, y) meets the surface of the body, between z and the depth of the inscribed
// ball on the side of inward; it returns 0 if there is none.
static int leave(const placed *p, double x, double y, double z, double inward, double round, double *at) {
    double out = z, in = z + inward * p->features->inradius;
    for (int i = -1; i < LEAVE_HALVINGS; i++) {
        double middle = i < 0 ? in : out + 0.5 * (in - out);
        V3 v = T(sub)((V3){x, y, middle}, p->origin);
        int within = contains(p, T(apply_transposed)(p->rot, v), round);
        if (i < 0 && !within) return 0;
        if (within) in = middle;
        else out = middle;
    }
    *at = in;
    return 1;
}

#endif
