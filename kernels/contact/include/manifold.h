// Contact points of pairs, row by row in float64: the steps of contact.Workspace.Build, one by one, with the corners of
// a feature in the lanes of vectors. The arithmetic and its order are those of package contact, so that the bits are
// the same where the compiler contracts no products and sums. The including file defines MANIFOLD, the name of the
// function, and LANES_AVX2 where it is compiled for AVX2.

#include <math.h>

#include "api.h"
#include "vec3.h"

#define LANES 4
#define MOST_CORNERS 80 // of a face, see MostVertices in shapes.go
#define MOST_CANDIDATES 256
#define RIM 16 // corners of the polygon inscribed into a rim
#define MAX_POINTS 4

// Limits of package contact: mostTilt, level, parallel, ties, roundings.
#define MOST_TILT 0.70710678118654752440
#define LEVEL 1e-4
#define PARALLEL 1e-3
#define TIES 1e-5
#define ROUNDINGS 0x1p-46

#define MIN_SQUARE 0x1p-960 // of geom: a sum of squares above it has lost nothing to underflow

enum { VERTEX_A, VERTEX_B, CROSSING, WITNESS };
enum { LOWER_END, UPPER_END, LOWER_RIM = 16, UPPER_RIM = 32 };

// The feature of a shape in the frame of the manifold.
typedef struct {
    int n;
    int plane, disc, segment;
    double slack;
    vec normal;
    double x[MOST_CORNERS + LANES], y[MOST_CORNERS + LANES], z[MOST_CORNERS + LANES];
    uint32_t vertex[MOST_CORNERS], edge[MOST_CORNERS];
    double ex[MOST_CORNERS + LANES], ey[MOST_CORNERS + LANES]; // to the next corner, see set_edges
} flat;

typedef struct {
    const contact_shape *shape;
    const double *reals; // of the polytope
    const int32_t *ints;
    double rot[9 + LANES - 1]; // with room for the last lane of a store
    vec origin;
    double least; // z of the core's support point against the other shape
} placed;

typedef struct {
    double x, y, a, b, slack;
    uint64_t id;
} candidate;

typedef struct {
    placed a, b;
    flat fa, fb;
    double frame[9];
    vec anchor;
    double round;
    const double *rim; // cosines and sines
    int n, declined;
    candidate candidates[MOST_CANDIDATES];
} workspace;

INLINE vd load(const double *p) {
    vd x;
    memcpy(&x, p, sizeof x);
    return x;
}
INLINE void store(double *p, vd x) { memcpy(p, &x, sizeof x); }

INLINE double length(vec a) { return sqrt(dot(a, a)); }
INLINE vec times(const double *m, vec v) {
    return (vec){m[0] * v.x + m[1] * v.y + m[2] * v.z, m[3] * v.x + m[4] * v.y + m[5] * v.z,
                 m[6] * v.x + m[7] * v.y + m[8] * v.z};
}
INLINE vec times_transposed(const double *m, vec v) {
    return (vec){m[0] * v.x + m[3] * v.y + m[6] * v.z, m[1] * v.x + m[4] * v.y + m[7] * v.z,
                 m[2] * v.x + m[5] * v.y + m[8] * v.z};
}
INLINE uint64_t point_id(uint64_t kind, uint32_t a, uint32_t b) { return kind << 62 | (uint64_t)a << 31 | b; }

INLINE void add_corner(flat *f, const placed *p, vec v, uint32_t vertex, uint32_t edge) {
    vec w = add(times(p->rot, v), p->origin);
    f->x[f->n] = w.x, f->y[f->n] = w.y, f->z[f->n] = w.z;
    f->vertex[f->n] = vertex, f->edge[f->n] = edge;
    f->n++;
}

// Integers in the order of floats, -0 below +0.
INLINE vdm order_key(vd x) {
    vdm b = (vdm)x;
    return b ^ ((b < 0) & INT64_MAX);
}

// support is the first vertex with the largest rounded ⟨d, v⟩, and that product.
INLINE int support(const placed *p, vec d, double *most) {
    int n = p->shape->vertices, stride = p->shape->stride;
    const double *x = p->reals, *y = x + stride, *z = y + stride;
    vd dx = set_d(d.x), dy = set_d(d.y), dz = set_d(d.z), value = set_d(0);
    vdm key = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}, at = {0, 1, 2, 3}, best = {0, 1, 2, 3};
    for (int i = 0; i < n; i += LANES) { // entries behind the last vertex repeat the first one
        vd s = dx * load(x + i) + dy * load(y + i) + dz * load(z + i);
        vdm k = order_key(s), more = k > key;
        key = (more & k) | (~more & key);
        best = (more & at) | (~more & best);
        value = choose_d(more, s, value);
        at += LANES;
    }
    int lane = 0;
    for (int l = 1; l < LANES; l++)
        if (key[l] > key[lane] || (key[l] == key[lane] && best[l] < best[lane])) lane = l;
    *most = value[lane];
    return (int)best[lane];
}

// edge_of is the number of the edge between two neighbouring vertices.
static uint32_t edge_of(const placed *p, const int32_t *header, int v, int w) {
    const int32_t *start = p->ints + header[CONTACT_FACE_START], *faces = p->ints + header[CONTACT_FACES];
    const int32_t *first = p->ints + header[CONTACT_CORNER_START], *corners = p->ints + header[CONTACT_CORNERS];
    for (int k = start[v]; k < start[v + 1]; k++) {
        int lo = first[faces[k]], n = first[faces[k] + 1] - lo;
        for (int i = 0; i < n; i++) {
            int a = corners[lo + i], b = corners[lo + (i + 1 == n ? 0 : i + 1)];
            if ((a == v && b == w) || (a == w && b == v)) return (uint32_t)p->ints[header[CONTACT_EDGES] + lo + i];
        }
    }
    return 0;
}

static void find_polytope(const placed *p, vec d, int v, flat *f) {
    const int32_t *header = p->ints;
    int stride = p->shape->stride;
    const double *x = p->reals, *y = x + stride, *z = y + stride, *faces_at = z + stride;
    const int32_t *start = p->ints + header[CONTACT_FACE_START], *faces = p->ints + header[CONTACT_FACES];
    int best = -1;
    double aligned = MOST_TILT;
    for (int k = start[v]; k < start[v + 1]; k++) {
        double c = dot(d, vec_at(faces_at + 4 * faces[k]));
        if (c >= aligned) best = faces[k], aligned = c;
    }
    if (best >= 0) {
        const int32_t *first = p->ints + header[CONTACT_CORNER_START];
        const int32_t *corners = p->ints + header[CONTACT_CORNERS] + first[best];
        const int32_t *edges = p->ints + header[CONTACT_EDGES] + first[best];
        int n = first[best + 1] - first[best];
        f->normal = times(p->rot, vec_at(faces_at + 4 * best));
        f->slack = faces_at[4 * best + 3];
        for (int i = 0; i < n; i += LANES) {
            int c[LANES];
            for (int l = 0; l < LANES; l++) {
                int k = i + l < n ? i + l : 0;
                c[l] = corners[k];
                f->vertex[k] = (uint32_t)c[l], f->edge[k] = (uint32_t)edges[k];
            }
            vd vx = {x[c[0]], x[c[1]], x[c[2]], x[c[3]]}, vy = {y[c[0]], y[c[1]], y[c[2]], y[c[3]]};
            vd vz = {z[c[0]], z[c[1]], z[c[2]], z[c[3]]};
            const double *m = p->rot;
            store(f->x + i, set_d(m[0]) * vx + set_d(m[1]) * vy + set_d(m[2]) * vz + set_d(p->origin.x));
            store(f->y + i, set_d(m[3]) * vx + set_d(m[4]) * vy + set_d(m[5]) * vz + set_d(p->origin.y));
            store(f->z + i, set_d(m[6]) * vx + set_d(m[7]) * vy + set_d(m[8]) * vz + set_d(p->origin.z));
        }
        f->n = n;
        return;
    }
    int end = -1;
    double least = MOST_TILT;
    vec at = {x[v], y[v], z[v]};
    const int32_t *near_start = p->ints + header[CONTACT_NEIGHBOUR_START], *near = p->ints + header[CONTACT_NEIGHBOURS];
    for (int k = near_start[v]; k < near_start[v + 1]; k++) {
        int w = near[k];
        vec along = sub((vec){x[w], y[w], z[w]}, at);
        double s = fabs(dot(d, along)) / length(along);
        if (s <= least) end = w, least = s;
    }
    if (end >= 0) {
        int a = v < end ? v : end, b = v < end ? end : v;
        uint32_t e = edge_of(p, header, a, b);
        add_corner(f, p, (vec){x[a], y[a], z[a]}, (uint32_t)a, e);
        add_corner(f, p, (vec){x[b], y[b], z[b]}, (uint32_t)b, e);
        f->segment = 1;
    }
}

static void find_frustum(const placed *p, vec d, const double *rim, flat *f) {
    const contact_shape *s = p->shape;
    double lateral = sqrt(d.x * d.x + d.y * d.y), x = 1, y = 0;
    if (lateral >= LEVEL) x = d.x / lateral, y = d.y / lateral;
    double side = (2 * s->half * lateral + (s->bottom - s->top) * d.z) / s->slant;
    double radius = s->top, z = s->half;
    uint32_t first = UPPER_RIM;
    if (d.z < 0) radius = s->bottom, z = -s->half, first = LOWER_RIM;
    if (radius > 0 && fabs(d.z) >= (side > MOST_TILT ? side : MOST_TILT)) {
        f->disc = 1;
        f->normal = times(p->rot, (vec){0, 0, copysign(1, z)});
        for (uint32_t k = 0; k < RIM; k++) {
            uint32_t i = z < 0 ? (RIM - k) % RIM : k; // counter-clockwise as seen from outside
            double cosine = rim[2 * i], sine = rim[2 * i + 1];
            vec v = {radius * (x * cosine - y * sine), radius * (y * cosine + x * sine), z};
            add_corner(f, p, v, first + i, first + k);
        }
    } else if (side >= MOST_TILT) {
        add_corner(f, p, (vec){s->bottom * x, s->bottom * y, -s->half}, LOWER_END, 0);
        add_corner(f, p, (vec){s->top * x, s->top * y, s->half}, UPPER_END, 0);
        f->segment = 1;
    }
}

// support_round is the support point of a cylinder, cone or frustum; ok is cleared for directions so close to the axis
// that squares underflow.
static vec support_round(const contact_shape *s, vec d, int *ok) {
    double square = d.x * d.x + d.y * d.y, radius = s->bottom, z = -s->half;
    if (square == 0 && d.x == 0 && d.y == 0) return (vec){0, 0, copysign(s->half, d.z)};
    if (!(square > MIN_SQUARE)) *ok = 0;
    double l = sqrt(square);
    switch (s->support) {
    case CONTACT_SUPPORT_CYLINDER: z = copysign(s->half, d.z); break;
    case CONTACT_SUPPORT_CONE:
        if (!(s->bottom * l > 2 * s->half * d.z)) return (vec){0, 0, s->half};
        break;
    default:
        if ((s->top - s->bottom) * l + 2 * s->half * d.z >= 0) radius = s->top, z = s->half;
    }
    double k = radius / l;
    return (vec){k * d.x, k * d.y, z};
}

// support_ellipsoid reads the semi-axes where vertices are.
static vec support_ellipsoid(const placed *p, vec d, int *ok) {
    vec e = vec_at(p->reals), v = {e.x * d.x, e.y * d.y, e.z * d.z};
    double square = dot(v, v);
    if (!(square > MIN_SQUARE)) *ok = 0;
    double k = 1 / sqrt(square);
    return (vec){e.x * (k * v.x), e.y * (k * v.y), e.z * (k * v.z)};
}

// find sets f to the feature of the core that faces d, a unit vector of the local frame, and p->least.
INLINE int find(placed *p, vec d, const double *rim, flat *f) {
    const contact_shape *s = p->shape;
    f->n = f->plane = f->disc = f->segment = 0;
    f->slack = 0;
    f->normal = (vec){0, 0, 0};
    int vertex = 0, ok = 1;
    vec point = {0, 0, 0};
    switch (s->support) {
    case CONTACT_SUPPORT_POLYTOPE: {
        double most;
        vertex = support(p, d, &most);
        const double *x = p->reals;
        point = (vec){x[vertex], x[s->stride + vertex], x[2 * s->stride + vertex]};
        break;
    }
    case CONTACT_SUPPORT_SEGMENT: point.z = copysign(s->half, d.z); break;
    case CONTACT_SUPPORT_CYLINDER:
    case CONTACT_SUPPORT_CONE:
    case CONTACT_SUPPORT_FRUSTUM: point = support_round(s, d, &ok); break;
    case CONTACT_SUPPORT_ELLIPSOID: point = support_ellipsoid(p, d, &ok); break;
    default: break;
    }
    p->least = p->rot[6] * point.x + p->rot[7] * point.y + p->rot[8] * point.z + p->origin.z;
    switch (s->form) {
    case CONTACT_FORM_PLANE:
        f->plane = 1;
        f->normal = times(p->rot, (vec){0, 0, 1});
        f->x[0] = p->origin.x, f->y[0] = p->origin.y, f->z[0] = p->origin.z;
        f->vertex[0] = f->edge[0] = 0;
        f->n = 1;
        break;
    case CONTACT_FORM_SEGMENT:
        if (fabs(d.z) <= MOST_TILT) {
            add_corner(f, p, (vec){0, 0, -s->half}, LOWER_END, 0);
            add_corner(f, p, (vec){0, 0, s->half}, UPPER_END, 0);
            f->segment = 1;
        }
        break;
    case CONTACT_FORM_FRUSTUM: find_frustum(p, d, rim, f); break;
    case CONTACT_FORM_POLYTOPE: find_polytope(p, d, vertex, f); break;
    default: break;
    }
    return ok;
}

// put_in_frame takes a shape at a pose into the frame of the manifold.
INLINE void put_in_frame(const workspace *w, placed *p, const double *position, const double *rotation) {
    double qw = rotation[0], x = rotation[1], y = rotation[2], z = rotation[3];
    double s = 2 / (qw * qw + x * x + y * y + z * z);
    vd rows[3] = {{1 - s * (y * y + z * z), s * (x * y - qw * z), s * (x * z + qw * y)},
                  {s * (x * y + qw * z), 1 - s * (x * x + z * z), s * (y * z - qw * x)},
                  {s * (x * z - qw * y), s * (y * z + qw * x), 1 - s * (x * x + y * y)}};
    for (int i = 0; i < 3; i++) {
        const double *f = w->frame + 3 * i;
        store(p->rot + 3 * i, set_d(f[0]) * rows[0] + set_d(f[1]) * rows[1] + set_d(f[2]) * rows[2]);
    }
    p->origin = times(w->frame, sub(vec_at(position), w->anchor));
}

INLINE void add_candidate(workspace *w, double x, double y, double core_a, double core_b, uint64_t id) {
    if (w->n == MOST_CANDIDATES) {
        w->declined = 1;
        return;
    }
    w->candidates[w->n++] = (candidate){x, y, core_a + w->a.shape->radius, core_b - w->b.shape->radius, 0, id};
}

INLINE vd plane_at(const flat *f, vd x, vd y) {
    vd qx = set_d(f->x[0]), qy = set_d(f->y[0]), qz = set_d(f->z[0]);
    return qz - ((x - qx) * set_d(f->normal.x) + (y - qy) * set_d(f->normal.y)) / set_d(f->normal.z);
}

INLINE void set_edges(flat *f) {
    for (int i = 0; i < f->n; i++) {
        int k = i + 1 == f->n ? 0 : i + 1;
        f->ex[i] = f->x[k] - f->x[i];
        f->ey[i] = f->y[k] - f->y[i];
    }
}

// inside says which of four points lie in a projected polygon, or within a rounding error of it.
INLINE unsigned inside(const flat *f, vd x, vd y, double sign, double round) {
    vdm in = {-1, -1, -1, -1};
    for (int i = 0; i < f->n; i++) {
        vd ex = set_d(f->ex[i]), ey = set_d(f->ey[i]);
        vd s = set_d(sign) * (ex * (y - set_d(f->y[i])) - ey * (x - set_d(f->x[i])));
        in &= s >= set_d(-round * (fabs(f->ex[i]) + fabs(f->ey[i])));
    }
    return bits(in);
}

// corners_within adds the corners of one feature over which the other one lies, and returns their number.
INLINE int corners_within(workspace *w, const flat *f, const flat *other, double sign, int of_a) {
    int before = w->n;
    for (int i = 0; i < f->n; i += LANES) {
        vd x = load(f->x + i), y = load(f->y + i);
        unsigned in = other->plane ? 15 : inside(other, x, y, sign, w->round);
        in &= f->n - i < LANES ? (1u << (f->n - i)) - 1 : 15;
        if (!in) continue;
        double at[LANES];
        store(at, plane_at(other, x, y));
        for (int l = 0; l < LANES; l++) {
            if (!(in >> l & 1)) continue;
            int k = i + l;
            if (of_a) add_candidate(w, f->x[k], f->y[k], f->z[k], at[l], point_id(VERTEX_A, f->vertex[k], 0));
            else add_candidate(w, f->x[k], f->y[k], at[l], f->z[k], point_id(VERTEX_B, 0, f->vertex[k]));
        }
    }
    return w->n - before;
}

// cross_edges adds the proper crossings of the edges of both features.
static void cross_edges(workspace *w) {
    const flat *a = &w->fa, *b = &w->fb;
    int na = a->segment ? 1 : a->n, nb = b->segment ? 1 : b->n;
    vd round = set_d(w->round);
    for (int i = 0; i < na; i++) {
        int next = i + 1 == a->n ? 0 : i + 1;
        vd px = set_d(a->x[i]), py = set_d(a->y[i]), dx = set_d(a->ex[i]), dy = set_d(a->ey[i]);
        double slack_u = w->round * (fabs(a->ex[i]) + fabs(a->ey[i]));
        for (int j = 0; j < nb; j += LANES) {
            vd ex = load(b->ex + j), ey = load(b->ey + j);
            vd hx = load(b->x + j) - px, hy = load(b->y + j) - py;
            vd det = dx * ey - dy * ex, t = hx * ey - hy * ex, u = hx * dy - hy * dx;
            vdm leaves = det < 0;
            det = choose_d(leaves, -det, det), t = choose_d(leaves, -t, t), u = choose_d(leaves, -u, u);
            vd slack_t = round * (abs_d(ex) + abs_d(ey)), su = set_d(slack_u);
            unsigned hits = bits((t > slack_t) & (t < det - slack_t) & (u > su) & (u < det - su));
            hits &= nb - j < LANES ? (1u << (nb - j)) - 1 : 15;
            for (; hits; hits &= hits - 1) {
                int l = __builtin_ctz(hits), k = j + l, after = k + 1 == b->n ? 0 : k + 1;
                double tl = t[l] / det[l], ul = u[l] / det[l];
                uint32_t ea = a->edge[i], eb = b->edge[k];
                if (a->disc != b->disc) { // a rim is one edge, which another edge enters once and leaves once
                    uint32_t side = leaves[l] ? 1 : 0;
                    if (a->disc) ea = (ea & ~(uint32_t)(RIM - 1)) + side;
                    else eb = (eb & ~(uint32_t)(RIM - 1)) + side;
                }
                double dz = a->z[next] - a->z[i], ez = b->z[after] - b->z[k];
                add_candidate(w, a->x[i] + tl * a->ex[i], a->y[i] + tl * a->ey[i], a->z[i] + tl * dz, b->z[k] + ul * ez,
                              point_id(CROSSING, ea, eb));
            }
        }
    }
}

typedef struct {
    double at;
    uint64_t id;
} end;

INLINE void limits(const flat *f, double dx, double dy, int of_a, end *lo, end *hi) {
    end e[2];
    for (int i = 0; i < 2; i++) {
        e[i].at = f->x[i] * dx + f->y[i] * dy;
        e[i].id = of_a ? point_id(VERTEX_A, f->vertex[i], 0) : point_id(VERTEX_B, 0, f->vertex[i]);
    }
    int swap = e[0].at > e[1].at;
    *lo = e[swap], *hi = e[1 - swap];
}

// point_along is the point of a segment at a coordinate along the line; an end exactly.
INLINE vec point_along(const flat *f, double at, double dx, double dy) {
    vec p = {f->x[0], f->y[0], f->z[0]}, q = {f->x[1], f->y[1], f->z[1]};
    double lo = p.x * dx + p.y * dy, hi = q.x * dx + q.y * dy, t = (at - lo) / (hi - lo);
    if (!(t > 0)) return p;
    if (!(t < 1)) return q;
    vec d = sub(q, p);
    return add(p, (vec){t * d.x, t * d.y, t * d.z});
}

// cross_segments adds the ends of the part that two parallel segments have in common. Those that cross at a small
// angle ask the bodies, which are not here.
static void cross_segments(workspace *w, double size) {
    const flat *a = &w->fa, *b = &w->fb;
    double ax = a->x[1] - a->x[0], ay = a->y[1] - a->y[0], bx = b->x[1] - b->x[0], by = b->y[1] - b->y[0];
    double la = sqrt(ax * ax + ay * ay), lb = sqrt(bx * bx + by * by);
    ax /= la, ay /= la, bx /= lb, by /= lb;
    if (!(la > 0 && lb > 0 && fabs(ax * by - ay * bx) <= PARALLEL)) return;
    if (ax * bx + ay * by < 0) bx = -bx, by = -by;
    double dx = ax + bx, dy = ay + by, l = sqrt(dx * dx + dy * dy);
    dx /= l, dy /= l;
    end lo, hi, lo_b, hi_b;
    limits(a, dx, dy, 1, &lo, &hi);
    limits(b, dx, dy, 0, &lo_b, &hi_b);
    if (lo_b.at > lo.at) lo = lo_b;
    if (hi_b.at < hi.at) hi = hi_b;
    if (!(hi.at - lo.at > 1e-6 * size)) return;
    for (int i = 0; i < 2; i++) {
        end e = i ? hi : lo;
        vec pa = point_along(a, e.at, dx, dy), pb = point_along(b, e.at, dx, dy);
        double x = pb.x - pa.x, y = pb.y - pa.y;
        if (!(sqrt(x * x + y * y) <= w->round)) {
            w->declined = 1;
            return;
        }
        add_candidate(w, pa.x, pa.y, pa.z, pb.z, e.id);
    }
}

// thin keeps as many points of a rim as a manifold has.
static void thin(workspace *w, int shift) {
    int n = 0;
    for (int i = 0; i < w->n; i++)
        if ((w->candidates[i].id >> shift) % (RIM / MAX_POINTS) == 0) w->candidates[n++] = w->candidates[i];
    w->n = n;
}

// find_crossings finds the vertices of the intersection of both projected features.
INLINE void find_crossings(workspace *w, double size) {
    flat *a = &w->fa, *b = &w->fb;
    if (a->n == 0 || b->n == 0 || (a->plane && b->plane)) return;
    if (a->segment && b->segment) {
        cross_segments(w, size);
        return;
    }
    if (!a->plane && !b->plane) set_edges(a), set_edges(b);
    int in_a = 0, in_b = 0;
    if (!a->plane && !b->segment) in_a = corners_within(w, a, b, -1, 1);
    if (!b->plane && !a->segment) in_b = corners_within(w, b, a, 1, 0);
    if (!a->plane && !b->plane && (b->segment || in_a < a->n) && (a->segment || in_b < b->n)) cross_edges(w);
    if (a->disc && in_a == RIM && in_a == w->n) thin(w, 31);
    else if (b->disc && in_b == RIM && in_b == w->n) thin(w, 0);
}

INLINE double gap_of(const candidate *c) { return c->b - c->a; }

static void sort_by_id(candidate *c, int n) {
    for (int i = 1; i < n; i++) {
        if (c[i - 1].id <= c[i].id) continue;
        candidate x = c[i];
        int k = i;
        for (; k > 0 && c[k - 1].id > x.id; k--) c[k] = c[k - 1];
        c[k] = x;
    }
}

// merge makes one candidate of those that are closer than tolerance in the tangent plane.
static int merge(candidate *c, int n, double tolerance) {
    tolerance *= tolerance;
    int kept = 0;
    for (int i = 0; i < n; i++) {
        int k = 0;
        for (; k < kept; k++) {
            double x = c[i].x - c[k].x, y = c[i].y - c[k].y;
            if (x * x + y * y <= tolerance) break;
        }
        if (k < kept) {
            if (gap_of(&c[i]) < gap_of(&c[k])) {
                uint64_t id = c[k].id;
                c[k] = c[i];
                c[k].id = id;
            }
            continue;
        }
        if (kept != i) c[kept] = c[i];
        kept++;
    }
    return kept;
}

INLINE double twice(const candidate *p, const candidate *q, const candidate *r) {
    return (q->x - p->x) * (r->y - p->y) - (q->y - p->y) * (r->x - p->x);
}

// pick is the first of the largest values, up to ties.
static int pick(const double *values, int n) {
    double most = values[0];
    for (int i = 1; i < n; i++)
        if (values[i] > most) most = values[i];
    for (int i = 0; i < n; i++)
        if (values[i] >= most - TIES * fabs(most)) return i;
    return 0;
}

static int reduce(candidate *c, int n, double size) {
    n = merge(c, n, TIES * size);
    if (n <= MAX_POINTS) return n;
    double values[MOST_CANDIDATES], deepest = INFINITY;
    int kept[MAX_POINTS] = {0};
    for (int i = 0; i < n; i++)
        if (gap_of(&c[i]) < deepest) deepest = gap_of(&c[i]);
    while (!(gap_of(&c[kept[0]]) <= deepest + TIES * size) && kept[0] + 1 < n) kept[0]++;
    candidate p = c[kept[0]];
    for (int i = 0; i < n; i++) {
        double x = c[i].x - p.x, y = c[i].y - p.y;
        values[i] = sqrt(x * x + y * y);
    }
    candidate q = c[kept[1] = pick(values, n)];
    for (int i = 0; i < n; i++) values[i] = fabs(twice(&p, &q, &c[i]));
    candidate r = c[kept[2] = pick(values, n)];
    double orientation = copysign(1, twice(&p, &q, &r));
    for (int i = 0; i < n; i++) { // twice the area that the point adds to the triangle
        double s = orientation * twice(&p, &q, &c[i]), t = orientation * twice(&q, &r, &c[i]);
        double u = orientation * twice(&r, &p, &c[i]), least = s < t ? s : t;
        values[i] = -(u < least ? u : least);
    }
    kept[3] = pick(values, n);
    int m = 0;
    for (int i = 0; i < n; i++)
        if (i == kept[0] || i == kept[1] || i == kept[2] || i == kept[3]) c[m++] = c[i];
    return m;
}

// The frame by the closed formula of Duff et al., Building an Orthonormal Basis, Revisited, 2017.
INLINE void set_frame(double *f, vec n) {
    double sign = copysign(1, n.z), a = -1 / (sign + n.z), b = n.x * n.y * a;
    f[0] = 1 + sign * n.x * n.x * a, f[1] = sign * b, f[2] = -sign * n.x;
    f[3] = b, f[4] = sign + n.y * n.y * a, f[5] = -n.y;
    f[6] = n.x, f[7] = n.y, f[8] = n.z;
}

INLINE void set_shape(placed *p, const contact_shape *shapes, const double *reals, const int32_t *ints, int32_t i) {
    p->shape = shapes + i;
    p->reals = reals + p->shape->reals;
    p->ints = ints + p->shape->ints;
}

// build writes the points of a row, and reports whether it could.
INLINE int build(workspace *w, const contact_rows *r, int32_t row, const contact_points *out) {
    vec n = vec_at(r->normal + 3 * row), wa = vec_at(r->witness_a + 3 * row), wb = vec_at(r->witness_b + 3 * row);
    placed *a = &w->a, *b = &w->b;
    if (a->shape->form == CONTACT_FORM_NONE || b->shape->form == CONTACT_FORM_NONE) return 0;
    set_frame(w->frame, n);
    vec between = sub(wb, wa);
    w->anchor = add(wa, (vec){0.5 * between.x, 0.5 * between.y, 0.5 * between.z});
    put_in_frame(w, a, r->position_a + 3 * row, r->rotation_a + 4 * row);
    put_in_frame(w, b, r->position_b + 3 * row, r->rotation_b + 4 * row);
    w->round = ROUNDINGS * (length(a->origin) + length(b->origin) + a->shape->size + b->shape->size + a->shape->center +
                            b->shape->center);
    w->n = w->declined = 0;
    if (!find(a, times_transposed(a->rot, (vec){0, 0, 1}), w->rim, &w->fa) ||
        !find(b, times_transposed(b->rot, (vec){0, 0, -1}), w->rim, &w->fb))
        return 0;
    double size = a->shape->size + b->shape->size, distance = r->distance[row], gap = r->gap[row];
    find_crossings(w, size);
    if (w->declined) return 0;
    double slack = w->fa.slack + w->fb.slack, deepest = INFINITY, max_gap = r->max_gap[row];
    int kept = 0;
    candidate *c = w->candidates;
    for (int i = 0; i < w->n; i++) {
        double g = gap_of(&c[i]);
        if (!(g <= max_gap)) continue;
        if (g < deepest) deepest = g;
        if (kept != i) c[kept] = c[i];
        if (slack > 0) c[kept].slack = slack;
        kept++;
    }
    if (!(deepest <= distance + gap + 1e-9 * size) && distance <= max_gap) {
        if (kept == MOST_CANDIDATES) return 0;
        double half = 0.5 * distance;
        c[kept++] = (candidate){0, 0, -half, half, gap, point_id(WITNESS, 0, 0)};
    }
    sort_by_id(c, kept);
    kept = reduce(c, kept, size);
    out->lower[row] = b->least - b->shape->radius - (a->least + a->shape->radius) - w->round;
    out->count[row] = kept;
    for (int i = 0; i < kept; i++) {
        int64_t k = (int64_t)MAX_POINTS * row + i;
        vec local = {c[i].x, c[i].y, c[i].a + 0.5 * (c[i].b - c[i].a)};
        vec at = add(w->anchor, times_transposed(w->frame, local));
        out->position[3 * k] = at.x, out->position[3 * k + 1] = at.y, out->position[3 * k + 2] = at.z;
        out->gap[k] = gap_of(&c[i]) + c[i].slack + w->round;
        out->id[k] = c[i].id;
    }
    return 1;
}

CONTACT_MANIFOLD(MANIFOLD) {
    workspace w;
    w.rim = shapes->rim;
    int32_t left = 0;
    for (int32_t i = 0; i < n; i++) {
        set_shape(&w.a, shapes->shape, shapes->reals, shapes->ints, rows->shape_a[list[i]]);
        set_shape(&w.b, shapes->shape, shapes->reals, shapes->ints, rows->shape_b[list[i]]);
        if (!build(&w, rows, list[i], out)) list[left++] = list[i];
    }
    return left;
}
