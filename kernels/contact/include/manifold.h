// Contact points of pairs, row by row in float64: the steps of contact.Workspace.Build, one by one, with the vertices
// and corners of a feature in the lanes of vectors. The arithmetic and its order are those of package contact, and
// nothing fuses, so that the bits are those of Go on amd64, whatever the number of lanes.

#include <math.h>
#include <string.h>

#include "api.h"
#include "constants.h"
#include "core.h"

_Static_assert(RIM_POINTS % W == 0 && MOST_LANES % W == 0, "vectors are loaded whole");

// The feature of a shape in the frame of the manifold, with room for the most corners of the table and a vector. Lanes
// behind the last corner have any values.
typedef struct {
    double *x, *y, *z;
    double *ex, *ey;               // to the next corner, see set_edges
    const uint32_t *vertex, *edge; // their numbers, of the table or of own
    uint32_t own[4];
    int n;
    int plane, disc, segment;
    double slack;
    V3 normal;
} flat;

typedef struct {
    double x, y, a, b, slack;
    uint64_t id;
} candidate;

typedef struct {
    placed a, b;
    flat fa, fb;
    double frame[9];
    V3 anchor;
    double round;
    const double *rim;
    int64_t n, most; // candidates, and how many there is room for
    int full;        // a candidate found no room
    double *values;  // of candidates, or of the vertices of a polytope
    candidate *candidates;
} workspace;

// manifold_scratch is the memory of a workspace.
static int64_t manifold_scratch(int64_t corners, int64_t candidates) {
    int64_t column = (corners > RIM_POINTS ? corners : RIM_POINTS) + W;
    int64_t values = column > candidates ? column : candidates;
    return (10 * column + values) * (int64_t)sizeof(double) + candidates * (int64_t)sizeof(candidate);
}

// lay_out divides the memory of manifold_scratch.
static void lay_out(workspace *w, int64_t corners, int64_t candidates, void *memory) {
    int64_t column = (corners > RIM_POINTS ? corners : RIM_POINTS) + W;
    int64_t values = column > candidates ? column : candidates;
    double *at = memory;
    flat *both[2] = {&w->fa, &w->fb};
    for (int i = 0; i < 2; i++) {
        double **columns[5] = {&both[i]->x, &both[i]->y, &both[i]->z, &both[i]->ex, &both[i]->ey};
        for (int k = 0; k < 5; k++) *columns[k] = at, at += column;
    }
    w->values = at, at += values;
    w->candidates = (candidate *)at, w->most = candidates;
}

ALWAYS VF abs_of(VF x) { return COPYSIGN(x, SET1(0)); }

// lanes_from has the bits of the lanes of entries i and on of n.
ALWAYS unsigned lanes_from(int i, int n) { return n - i < W ? (1u << (n - i)) - 1 : LANES; }
ALWAYS uint64_t point_id(uint64_t kind, uint32_t a, uint32_t b) { return kind << 62 | (uint64_t)a << 31 | b; }

// add_corner adds one of the corners of a segment.
ALWAYS void add_corner(flat *f, const placed *p, V3 v, uint32_t vertex, uint32_t edge) {
    V3 w = T(add)(T(apply)(p->rot, v), p->origin);
    f->x[f->n] = w.x, f->y[f->n] = w.y, f->z[f->n] = w.z;
    f->vertex = f->own, f->edge = f->own + 2;
    f->own[f->n] = vertex, f->own[2 + f->n] = edge;
    f->n++;
}

// put_corners sets W corners of a feature, from the i-th on, to points of the local frame.
ALWAYS void put_corners(flat *f, const placed *p, int i, VF x, VF y, VF z) {
    const double *m = p->rot;
    STOREU(f->x + i, SET1(m[0]) * x + SET1(m[1]) * y + SET1(m[2]) * z + SET1(p->origin.x));
    STOREU(f->y + i, SET1(m[3]) * x + SET1(m[4]) * y + SET1(m[5]) * z + SET1(p->origin.y));
    STOREU(f->z + i, SET1(m[6]) * x + SET1(m[7]) * y + SET1(m[8]) * z + SET1(p->origin.z));
}

// first_zero is the first 0 among n values that is not -0, or -1.
static int first_zero(const double *values, int n) {
    for (int i = 0; i < n; i++)
        if (values[i] == 0 && !signbit(values[i])) return i;
    return -1;
}

// support is the first vertex with the largest rounded ⟨d, v⟩, where 0 is more than -0, as hull.Hull.SupportLinear has
// it. values has room for all.
ALWAYS int support(const placed *p, V3 d, double *values) {
    int n = p->vertices;
    const double *x = p->x, *y = p->y, *z = p->z;
    VF dx = SET1(d.x), dy = SET1(d.y), dz = SET1(d.z), largest = SET1(-INFINITY);
    for (int i = 0; i < n; i += W) { // entries behind the last vertex repeat it
        VF s = dx * LOADU(x + i) + dy * LOADU(y + i) + dz * LOADU(z + i);
        STOREU(values + i, s);
        largest = MAX(largest, s);
    }
    double most = HMAX(largest);
    int first = most == 0 ? first_zero(values, n) : -1;
    if (first >= 0) return first;
    for (int from = 0; from < n; from += 64) {
        uint64_t hits = 0;
        for (int i = from; i < n && i < from + 64; i += W)
            hits |= (uint64_t)MBITS(LE(SET1(most), LOADU(values + i))) << (i - from);
        if (hits) return from + __builtin_ctzll(hits);
    }
    return 0; // where numbers are not finite
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

static void find_polytope(const placed *p, V3 d, int v, flat *f) {
    const int32_t *header = p->ints;
    const double *faces_at = p->reals + header[CONTACT_FACES_AT];
    const int32_t *start = p->ints + header[CONTACT_FACE_START], *faces = p->ints + header[CONTACT_FACES];
    int best = -1;
    double aligned = MOST_TILT;
    for (int k = start[v]; k < start[v + 1]; k++) {
        double c = T(dot)(d, vec_at(faces_at + 4 * faces[k]));
        if (c >= aligned) best = faces[k], aligned = c;
    }
    if (best >= 0) {
        const int32_t *first = p->ints + header[CONTACT_CORNER_START];
        const int32_t *corners = p->ints + header[CONTACT_CORNERS] + first[best];
        const int32_t *edges = p->ints + header[CONTACT_EDGES] + first[best];
        const double *at = p->reals + header[CONTACT_CORNERS_AT] + first[best];
        int n = first[best + 1] - first[best], all = header[CONTACT_ALL_CORNERS];
        f->normal = T(apply)(p->rot, vec_at(faces_at + 4 * best));
        f->slack = faces_at[4 * best + 3];
        f->vertex = (const uint32_t *)corners, f->edge = (const uint32_t *)edges;
        for (int i = 0; i < n; i += W)
            put_corners(f, p, i, LOADU(at + i), LOADU(at + all + i), LOADU(at + 2 * all + i));
        f->n = n;
        return;
    }
    int end = -1;
    double least = MOST_TILT;
    V3 at = vertex_at(p, v);
    const int32_t *near_start = p->ints + header[CONTACT_NEIGHBOUR_START], *near = p->ints + header[CONTACT_NEIGHBOURS];
    for (int k = near_start[v]; k < near_start[v + 1]; k++) {
        int w = near[k];
        V3 along = T(sub)(vertex_at(p, w), at);
        double s = fabs(T(dot)(d, along)) / length(along);
        if (s <= least) end = w, least = s;
    }
    if (end >= 0) {
        int a = v < end ? v : end, b = v < end ? end : v;
        uint32_t e = edge_of(p, header, a, b);
        add_corner(f, p, vertex_at(p, a), (uint32_t)a, e);
        add_corner(f, p, vertex_at(p, b), (uint32_t)b, e);
        f->segment = 1;
    }
}

// Numbers of the corners of a rim, and of the edges that begin there: counter-clockwise as seen from outside.
#define SIXTEEN(f) \
    {f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15)}
#define UPPER(k) UPPER_RIM + (k)
#define LOWER(k) LOWER_RIM + (k)
#define LOWER_BACK(k) LOWER_RIM + (RIM_POINTS - (k)) % RIM_POINTS
static const uint32_t upper_rim[RIM_POINTS] = SIXTEEN(UPPER), lower_rim[RIM_POINTS] = SIXTEEN(LOWER_BACK);
static const uint32_t lower_rim_edges[RIM_POINTS] = SIXTEEN(LOWER);
_Static_assert(RIM_POINTS == 16, "numbers of the corners of a rim");

static void find_frustum(const placed *p, V3 d, const double *rim, flat *f) {
    const double *sizes = p->shape->p, bottom = sizes[0], top = sizes[1], half = sizes[2];
    double lateral = sqrt(d.x * d.x + d.y * d.y), x = 1, y = 0;
    if (lateral >= LEVEL) x = d.x / lateral, y = d.y / lateral;
    double side = (2 * half * lateral + (bottom - top) * d.z) / p->features->slant;
    double radius = top, z = half;
    if (d.z < 0) radius = bottom, z = -half;
    if (radius > 0 && fabs(d.z) >= (side > MOST_TILT ? side : MOST_TILT)) {
        f->disc = 1;
        f->normal = T(apply)(p->rot, (V3){0, 0, copysign(1, z)});
        const double *cosines = rim + (z < 0 ? 2 * RIM_POINTS : 0), *sines = cosines + RIM_POINTS;
        VF r = SET1(radius), vx = SET1(x), vy = SET1(y);
        for (int k = 0; k < RIM_POINTS; k += W) {
            VF c = LOADU(cosines + k), s = LOADU(sines + k);
            put_corners(f, p, k, r * (vx * c - vy * s), r * (vy * c + vx * s), SET1(z));
        }
        f->vertex = z < 0 ? lower_rim : upper_rim, f->edge = z < 0 ? lower_rim_edges : upper_rim;
        f->n = RIM_POINTS;
    } else if (side >= MOST_TILT) {
        add_corner(f, p, (V3){bottom * x, bottom * y, -half}, LOWER_END, 0);
        add_corner(f, p, (V3){top * x, top * y, half}, UPPER_END, 0);
        f->segment = 1;
    }
}

// find sets f to the feature of the core that faces d, a unit vector of the local frame, and p->least.
ALWAYS void find(placed *p, V3 d, const workspace *w, flat *f) {
    const double *sizes = p->shape->p;
    f->n = f->plane = f->disc = f->segment = 0;
    f->slack = 0;
    f->normal = (V3){0, 0, 0};
    int vertex = 0;
    V3 point = {0, 0, 0};
    switch (p->core) {
    case CLR_CUBOID_CORE:
    case CLR_HULL: vertex = support(p, d, w->values), point = vertex_at(p, vertex); break;
    case CLR_SEGMENT_CORE: point.z = copysign(sizes[2], d.z); break;
    case CLR_FRUSTUM: point = support_frustum(sizes, d); break;
    case CLR_ELLIPSOID: point = support_ellipsoid(sizes, d); break;
    case CLR_SUPERQUADRIC: point = support_superquadric(p->shape, d); break;
    case CLR_SMOOTH_HULL:
    case CLR_SMOOTH_REVOLUTION: point = support_smooth(p, d); break;
    default: break;
    }
    p->least = p->rot[6] * point.x + p->rot[7] * point.y + p->rot[8] * point.z + p->origin.z;
    switch (p->core) {
    case CLR_HALF_CORE:
        f->plane = 1;
        f->normal = T(apply)(p->rot, (V3){0, 0, 1});
        f->x[0] = p->origin.x, f->y[0] = p->origin.y, f->z[0] = p->origin.z;
        f->vertex = f->edge = f->own, f->own[0] = 0;
        f->n = 1;
        break;
    case CLR_SEGMENT_CORE:
        if (sizes[2] > 0 && fabs(d.z) <= MOST_TILT) {
            add_corner(f, p, (V3){0, 0, -sizes[2]}, LOWER_END, 0);
            add_corner(f, p, (V3){0, 0, sizes[2]}, UPPER_END, 0);
            f->segment = 1;
        }
        break;
    case CLR_FRUSTUM: find_frustum(p, d, w->rim, f); break;
    case CLR_CUBOID_CORE:
    case CLR_HULL:
        if (p->ints) find_polytope(p, d, vertex, f);
        break;
    default: break;
    }
}

typedef double matrix_row __attribute__((vector_size(32)));

// put_in_frame takes a shape at a pose into the frame of the manifold.
ALWAYS void put_in_frame(const workspace *w, placed *p, const double *position, const double *rotation) {
    double qw = rotation[0], x = rotation[1], y = rotation[2], z = rotation[3];
    double s = 2 / (qw * qw + x * x + y * y + z * z), m[9];
    T(quaternion_matrix)(s, qw, (V3){x, y, z}, m);
    matrix_row row[3] = {{m[0], m[1], m[2]}, {m[3], m[4], m[5]}, {m[6], m[7], m[8]}};
    for (int i = 0; i < 3; i++) { // the order of T(apply_transposed)
        const double *f = w->frame + 3 * i;
        matrix_row product = f[0] * row[0] + f[1] * row[1] + f[2] * row[2];
        memcpy(p->rot + 3 * i, &product, sizeof product);
    }
    p->origin = T(apply)(w->frame, T(sub)(vec_at(position), w->anchor));
}

// add_candidate_at adds a candidate with z of the points of A and B.
ALWAYS void add_candidate_at(workspace *w, double x, double y, double a, double b, uint64_t id) {
    if (w->n == w->most) {
        w->full = 1;
        return;
    }
    w->candidates[w->n++] = (candidate){x, y, a, b, 0, id};
}

// add_candidate adds a candidate at z of the cores.
ALWAYS void add_candidate(workspace *w, double x, double y, double core_a, double core_b, uint64_t id) {
    add_candidate_at(w, x, y, core_a + w->a.shape->radius, core_b - w->b.shape->radius, id);
}

ALWAYS VF plane_at(const flat *f, VF x, VF y) {
    VF qx = SET1(f->x[0]), qy = SET1(f->y[0]), qz = SET1(f->z[0]);
    return qz - ((x - qx) * SET1(f->normal.x) + (y - qy) * SET1(f->normal.y)) / SET1(f->normal.z);
}

ALWAYS void set_edges(flat *f) {
    for (int i = 0; i < f->n; i++) {
        int k = i + 1 == f->n ? 0 : i + 1;
        f->ex[i] = f->x[k] - f->x[i];
        f->ey[i] = f->y[k] - f->y[i];
    }
}

// inside says which of W points lie in a projected polygon, or within a rounding error of it.
ALWAYS unsigned inside(const flat *f, VF x, VF y, double sign, double round) {
    VM in = MFROM(LANES);
    for (int i = 0; i < f->n; i++) {
        VF ex = SET1(f->ex[i]), ey = SET1(f->ey[i]);
        VF s = SET1(sign) * (ex * (y - SET1(f->y[i])) - ey * (x - SET1(f->x[i])));
        in = MAND(in, LE(SET1(-round * (fabs(f->ex[i]) + fabs(f->ey[i]))), s));
    }
    return MBITS(in);
}

// corners_within adds the corners of one feature over which the other one lies, and returns their number.
ALWAYS int64_t corners_within(workspace *w, const flat *f, const flat *other, double sign, int of_a) {
    int64_t before = w->n;
    for (int i = 0; i < f->n; i += W) {
        VF x = LOADU(f->x + i), y = LOADU(f->y + i);
        unsigned in = lanes_from(i, f->n);
        if (!other->plane) in &= inside(other, x, y, sign, w->round);
        if (!in) continue;
        double at[W];
        STOREU(at, plane_at(other, x, y));
        for (int l = 0; l < W; l++) {
            if (!(in >> l & 1)) continue;
            int k = i + l;
            if (of_a) add_candidate(w, f->x[k], f->y[k], f->z[k], at[l], point_id(ID_VERTEX_A, f->vertex[k], 0));
            else add_candidate(w, f->x[k], f->y[k], at[l], f->z[k], point_id(ID_VERTEX_B, 0, f->vertex[k]));
        }
    }
    return w->n - before;
}

// cross_edges adds the proper crossings of the edges of both features.
static void cross_edges(workspace *w) {
    const flat *a = &w->fa, *b = &w->fb;
    int na = a->segment ? 1 : a->n, nb = b->segment ? 1 : b->n;
    VF round = SET1(w->round);
    for (int i = 0; i < na; i++) {
        int next = i + 1 == a->n ? 0 : i + 1;
        VF px = SET1(a->x[i]), py = SET1(a->y[i]), dx = SET1(a->ex[i]), dy = SET1(a->ey[i]);
        VF slack_u = SET1(w->round * (fabs(a->ex[i]) + fabs(a->ey[i])));
        for (int j = 0; j < nb; j += W) {
            VF ex = LOADU(b->ex + j), ey = LOADU(b->ey + j);
            VF hx = LOADU(b->x + j) - px, hy = LOADU(b->y + j) - py;
            VF det = dx * ey - dy * ex, t = hx * ey - hy * ex, u = hx * dy - hy * dx;
            VM leaves = LT(det, SET1(0));
            det = SEL(leaves, -det, det), t = SEL(leaves, -t, t), u = SEL(leaves, -u, u);
            VF slack_t = round * (abs_of(ex) + abs_of(ey));
            VM in_t = MAND(LT(slack_t, t), LT(t, det - slack_t)), in_u = MAND(LT(slack_u, u), LT(u, det - slack_u));
            unsigned hits = MBITS(MAND(in_t, in_u)) & lanes_from(j, nb);
            if (!hits) continue;
            double ts[W], us[W], dets[W];
            STOREU(ts, t), STOREU(us, u), STOREU(dets, det);
            for (; hits; hits &= hits - 1) {
                int l = __builtin_ctz(hits), k = j + l, after = k + 1 == b->n ? 0 : k + 1;
                double tl = ts[l] / dets[l], ul = us[l] / dets[l];
                uint32_t ea = a->edge[i], eb = b->edge[k];
                if (a->disc != b->disc) { // a rim is one edge, which another edge enters once and leaves once
                    uint32_t side = MBITS(leaves) >> l & 1;
                    if (a->disc) ea = (ea & ~(uint32_t)(RIM_POINTS - 1)) + side;
                    else eb = (eb & ~(uint32_t)(RIM_POINTS - 1)) + side;
                }
                double dz = a->z[next] - a->z[i], ez = b->z[after] - b->z[k];
                add_candidate(w, a->x[i] + tl * a->ex[i], a->y[i] + tl * a->ey[i], a->z[i] + tl * dz, b->z[k] + ul * ez,
                              point_id(ID_CROSSING, ea, eb));
            }
        }
    }
}

typedef struct {
    double at;
    uint64_t id;
} end;

ALWAYS void limits(const flat *f, double dx, double dy, int of_a, end *lo, end *hi) {
    end e[2];
    for (int i = 0; i < 2; i++) {
        e[i].at = f->x[i] * dx + f->y[i] * dy;
        e[i].id = of_a ? point_id(ID_VERTEX_A, f->vertex[i], 0) : point_id(ID_VERTEX_B, 0, f->vertex[i]);
    }
    int swap = e[0].at > e[1].at;
    *lo = e[swap], *hi = e[1 - swap];
}

// point_along is the point of a segment at a coordinate along the line; an end exactly.
ALWAYS V3 point_along(const flat *f, double at, double dx, double dy) {
    V3 p = {f->x[0], f->y[0], f->z[0]}, q = {f->x[1], f->y[1], f->z[1]};
    double lo = p.x * dx + p.y * dy, hi = q.x * dx + q.y * dy, t = (at - lo) / (hi - lo);
    if (!(t > 0)) return p;
    if (!(t < 1)) return q;
    V3 d = T(sub)(q, p);
    return T(add)(p, (V3){t * d.x, t * d.y, t * d.z});
}

// cross_segments adds the ends of the part that two parallel segments have in common. Where they cross at a small
// angle, the bodies are asked where the line between both meets them.
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
    if (!(hi.at - lo.at > LEAST_OVERLAP * size)) return;
    for (int i = 0; i < 2; i++) {
        end e = i ? hi : lo;
        V3 pa = point_along(a, e.at, dx, dy), pb = point_along(b, e.at, dx, dy);
        double x = pb.x - pa.x, y = pb.y - pa.y;
        if (sqrt(x * x + y * y) <= w->round) {
            add_candidate(w, pa.x, pa.y, pa.z, pb.z, e.id);
            continue;
        }
        double za = pa.z + w->a.shape->radius, zb = pb.z - w->b.shape->radius;
        x = 0.5 * (pa.x + pb.x), y = 0.5 * (pa.y + pb.y);
        int met = leave(&w->a, x, y, za, -1, w->round, &za) & leave(&w->b, x, y, zb, 1, w->round, &zb);
        if (met) add_candidate_at(w, x, y, za, zb, e.id);
    }
}

// thin keeps as many points of a rim as a manifold has.
static void thin(workspace *w, int shift) {
    int64_t n = 0;
    for (int64_t i = 0; i < w->n; i++)
        if ((w->candidates[i].id >> shift) % (RIM_POINTS / MAX_POINTS) == 0) w->candidates[n++] = w->candidates[i];
    w->n = n;
}

// find_crossings finds the vertices of the intersection of both projected features.
ALWAYS void find_crossings(workspace *w, double size) {
    flat *a = &w->fa, *b = &w->fb;
    if (a->n == 0 || b->n == 0 || (a->plane && b->plane)) return;
    if (a->segment && b->segment) {
        cross_segments(w, size);
        return;
    }
    if (!a->plane && !b->plane) set_edges(a), set_edges(b);
    int64_t in_a = 0, in_b = 0;
    if (!a->plane && !b->segment) in_a = corners_within(w, a, b, -1, 1);
    if (!b->plane && !a->segment) in_b = corners_within(w, b, a, 1, 0);
    if (!a->plane && !b->plane && (b->segment || in_a < a->n) && (a->segment || in_b < b->n)) cross_edges(w);
    if (a->disc && in_a == RIM_POINTS && in_a == w->n) thin(w, 31);
    else if (b->disc && in_b == RIM_POINTS && in_b == w->n) thin(w, 0);
}

ALWAYS double gap_of(const candidate *c) { return c->b - c->a; }

static void sort_by_id(candidate *c, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        if (c[i - 1].id <= c[i].id) continue;
        candidate x = c[i];
        int64_t k = i;
        for (; k > 0 && c[k - 1].id > x.id; k--) c[k] = c[k - 1];
        c[k] = x;
    }
}

// merge makes one candidate of those that are closer than tolerance in the tangent plane.
static int64_t merge(candidate *c, int64_t n, double tolerance) {
    tolerance *= tolerance;
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t k = 0;
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

ALWAYS double twice(const candidate *p, const candidate *q, const candidate *r) {
    return (q->x - p->x) * (r->y - p->y) - (q->y - p->y) * (r->x - p->x);
}

// pick is the first of the largest values, up to ties.
static int64_t pick(const double *values, int64_t n) {
    double most = values[0];
    for (int64_t i = 1; i < n; i++)
        if (values[i] > most) most = values[i];
    for (int64_t i = 0; i < n; i++)
        if (values[i] >= most - TIES * fabs(most)) return i;
    return 0;
}

static int64_t reduce(candidate *c, int64_t n, double size, double *values) {
    n = merge(c, n, TIES * size);
    if (n <= MAX_POINTS) return n;
    double deepest = INFINITY;
    int64_t kept[MAX_POINTS] = {0};
    for (int64_t i = 0; i < n; i++)
        if (gap_of(&c[i]) < deepest) deepest = gap_of(&c[i]);
    while (!(gap_of(&c[kept[0]]) <= deepest + TIES * size) && kept[0] + 1 < n) kept[0]++;
    candidate p = c[kept[0]];
    for (int64_t i = 0; i < n; i++) {
        double x = c[i].x - p.x, y = c[i].y - p.y;
        values[i] = sqrt(x * x + y * y);
    }
    candidate q = c[kept[1] = pick(values, n)];
    for (int64_t i = 0; i < n; i++) values[i] = fabs(twice(&p, &q, &c[i]));
    candidate r = c[kept[2] = pick(values, n)];
    double orientation = copysign(1, twice(&p, &q, &r));
    for (int64_t i = 0; i < n; i++) { // twice the area that the point adds to the triangle
        double s = orientation * twice(&p, &q, &c[i]), t = orientation * twice(&q, &r, &c[i]);
        double u = orientation * twice(&r, &p, &c[i]), least = s < t ? s : t;
        values[i] = -(u < least ? u : least);
    }
    kept[3] = pick(values, n);
    int64_t m = 0;
    for (int64_t i = 0; i < n; i++)
        if (i == kept[0] || i == kept[1] || i == kept[2] || i == kept[3]) c[m++] = c[i];
    return m;
}

// build writes the points of a row; it returns 0 where there is no room for the candidates.
ALWAYS int build(workspace *w, const contact_rows *r, int32_t row, const contact_points *out) {
    V3 n = vec_at(r->normal + 3 * row), wa = vec_at(r->witness_a + 3 * row), wb = vec_at(r->witness_b + 3 * row);
    placed *a = &w->a, *b = &w->b;
    V3 t1, t2;
    T(across)(n, &t1, &t2);
    T(st3)(w->frame, 1, t1), T(st3)(w->frame + 3, 1, t2), T(st3)(w->frame + 6, 1, n);
    V3 between = T(sub)(wb, wa);
    w->anchor = T(add)(wa, (V3){0.5 * between.x, 0.5 * between.y, 0.5 * between.z});
    put_in_frame(w, a, r->position_a + 3 * row, r->rotation_a + 4 * row);
    put_in_frame(w, b, r->position_b + 3 * row, r->rotation_b + 4 * row);
    w->round = ROUNDINGS * (length(a->origin) + length(b->origin) + a->shape->size + b->shape->size +
                            a->features->center + b->features->center);
    w->n = w->full = 0;
    find(a, T(apply_transposed)(a->rot, (V3){0, 0, 1}), w, &w->fa);
    find(b, T(apply_transposed)(b->rot, (V3){0, 0, -1}), w, &w->fb);
    double size = a->shape->size + b->shape->size, distance = r->distance[row], gap = r->gap[row];
    find_crossings(w, size);
    if (w->full) return 0;
    double slack = w->fa.slack + w->fb.slack, deepest = INFINITY, max_gap = r->max_gap[row];
    int64_t kept = 0;
    candidate *c = w->candidates;
    for (int64_t i = 0; i < w->n; i++) {
        double g = gap_of(&c[i]);
        if (!(g <= max_gap)) continue;
        if (g < deepest) deepest = g;
        if (kept != i) c[kept] = c[i];
        if (slack > 0) c[kept].slack = slack;
        kept++;
    }
    if (!(deepest <= distance + gap + WITNESS_ERROR * size) && distance <= max_gap) {
        if (kept == w->most) return 0;
        double half = 0.5 * distance;
        c[kept++] = (candidate){0, 0, -half, half, gap, point_id(ID_WITNESS, 0, 0)};
    }
    sort_by_id(c, kept);
    kept = reduce(c, kept, size, w->values);
    out->lower[row] = b->least - b->shape->margin - (a->least + a->shape->margin) - w->round;
    out->count[row] = (int32_t)kept;
    for (int i = 0; i < kept; i++) {
        int64_t k = (int64_t)MAX_POINTS * row + i;
        V3 local = {c[i].x, c[i].y, c[i].a + 0.5 * (c[i].b - c[i].a)};
        V3 at = T(add)(w->anchor, T(apply_transposed)(w->frame, local));
        out->position[3 * k] = at.x, out->position[3 * k + 1] = at.y, out->position[3 * k + 2] = at.z;
        out->gap[k] = gap_of(&c[i]) + c[i].slack + w->round;
        out->id[k] = c[i].id;
    }
    return 1;
}

static CONTACT_MANIFOLD(find_points) {
    workspace w;
    w.rim = shapes->rim;
    lay_out(&w, shapes->corners, candidates, scratch);
    int32_t left = 0;
    for (int32_t i = 0; i < n; i++) {
        set_shape(&w.a, shapes, rows->shape_a[list[i]]);
        set_shape(&w.b, shapes, rows->shape_b[list[i]]);
        if (!build(&w, rows, list[i], out)) list[left++] = list[i];
    }
    return left;
}
