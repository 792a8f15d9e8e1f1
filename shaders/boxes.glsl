// Depths of boxes by separating axes, in double precision.
//
// D = A - B of two boxes is the sum of six segments, and the normals of its facets are
// among the fifteen axes of the separating axis test (Gottschalk, Lin, Manocha: OBBTree,
// 1996, sec. 5). So the depth is the least overlap along one of them, whatever the
// overlaps along those that are no facets, and also if a box is flat.
//
// Bounds. From above, the support plane along the best axis, evaluated anew along its unit
// vector. From below, the least overlap, less its rounding: an overlap along a cross
// product of edges, of length l, is off by 4·roundoff/l, as cpu/simd/closed_boxes.h derives.
//
// Edges that are parallel but for rounding have no axis. If all cross products are either
// shorter than ALIGNED or longer than CROSSED, turning B by at most 2·ALIGNED makes the
// short ones zero, which changes the depth and each overlap by at most
// 2·ALIGNED·size·(1 + 2/CROSSED) < ALIGNED_ERROR·size.
//
// Rows that these bounds leave open, or whose contact is not that of a corner with a face
// or of two edges, are for the polytope.

#ifndef CLEARANCE_BOXES_GLSL
#define CLEARANCE_BOXES_GLSL

#include "epa.glsl"

const double ALIGNED = 1e-14lf;
const double CROSSED = 0.1lf;
const double ALIGNED_ERROR = 5e-13lf;

// The least overlap so far, along the unit vector axis of a face of A, of one of B, or of
// the edges edgeA and edgeB.
struct Overlap {
    double best, low; // low: the least, less rounding
    dvec3 axis, edgeA, edgeB;
    bool faceA, edges;
    bool parallel, slanted; // cross products shorter than ALIGNED; others shorter than CROSSED
};

double signed(double x, double sign) { return sign < 0.0lf ? -x : x; }
dvec3 signed3(dvec3 x, dvec3 sign) { return dvec3(signed(x.x, sign.x), signed(x.y, sign.y), signed(x.z, sign.z)); }

void faceOfA(double overlap, dvec3 axis, inout Overlap o) {
    if (overlap < o.best) {
        o.best = overlap;
        o.axis = axis;
    }
    o.low = min(o.low, overlap);
}

void faceOfB(double overlap, dvec3 axis, double error, inout Overlap o) {
    o.low = min(o.low, overlap);
    if (overlap + error < o.best) {
        o.best = overlap;
        o.axis = axis;
        o.faceA = false;
    }
}

// edgesOf takes the overlap along the cross product of an edge of A and one of B: (0, -y, x)
// in coordinates that begin with that of the edge of A, where turn brings them back.
void edgesOf(double overlap, double x, double y, double centres, uint turn, dvec3 a, dvec3 b, double error, inout Overlap o) {
    precise double ll = x * x + y * y;
    if (ll < ALIGNED * ALIGNED) {
        o.parallel = true;
        return;
    }
    if (!(ll > CROSSED * CROSSED)) o.slanted = true;
    precise double r = 1.0lf / root(ll);
    precise double least_ = (overlap - error) * r;
    o.low = min(o.low, least_);
    precise double along = overlap * r;
    precise double sure = along + error * r;
    if (!(sure < o.best)) return;
    o.best = along;
    double s = signed(r, centres);
    precise dvec3 v = dvec3(0.0lf, -(s * y), s * x);
    o.axis = turn == 0u ? v : turn == 1u ? v.zxy : v.yzx;
    o.edgeA = a;
    o.edgeB = b;
    o.edges = true;
}

// overlaps tries all axes.
Overlap overlaps(dvec3 a, dvec3 b, double error) {
    dmat3 m = rotation, q = dmat3(abs(m[0]), abs(m[1]), abs(m[2]));
    dvec3 t = translation;
    precise dvec3 u = t * m;
    precise dvec3 oa = a + q * b - abs(t);
    precise dvec3 ob = b + a * q - abs(u);
    Overlap o = Overlap(FAR, FAR, dvec3(1, 0, 0), dvec3(1, 0, 0), dvec3(1, 0, 0), true, false, false, false);
    faceOfA(oa.x, dvec3(signed(1.0lf, t.x), 0, 0), o);
    faceOfA(oa.y, dvec3(0, signed(1.0lf, t.y), 0), o);
    faceOfA(oa.z, dvec3(0, 0, signed(1.0lf, t.z)), o);
    faceOfB(ob.x, signed(1.0lf, u.x) * m[0], error, o);
    faceOfB(ob.y, signed(1.0lf, u.y) * m[1], error, o);
    faceOfB(ob.z, signed(1.0lf, u.z) * m[2], error, o);
    o.low -= error;

    dmat3 rows = transpose(m);
    dvec3 e = dvec3(1, 0, 0);
    for (uint i = 0u; i < 3u; i++) { // in each pass the coordinates begin with the next
        dvec3 x0 = rows[0], x = rows[1], y = rows[2];
        precise dvec3 centres = t.z * x - t.y * y;
        precise dvec3 overlap = (a.y * abs(y) + a.z * abs(x)) + (b.yzx * abs(x0.zxy) + b.zxy * abs(x0.yzx)) - abs(centres);
        edgesOf(overlap.x, x.x, y.x, centres.x, i, e, dvec3(1, 0, 0), error, o);
        edgesOf(overlap.y, x.y, y.y, centres.y, i, e, dvec3(0, 1, 0), error, o);
        edgesOf(overlap.z, x.z, y.z, centres.z, i, e, dvec3(0, 0, 1), error, o);
        rows = dmat3(x, y, x0);
        t = t.yzx;
        a = a.yzx;
        e = e.zxy;
    }
    return o;
}

// boxDepth answers for two boxes, or returns false.
bool boxDepth(out Core r) {
    dvec3 a = shapeA.params, b = shapeB.params;
    Overlap o = overlaps(a, b, 4.0lf * roundoff);
    precise double lengths = norm(a) + norm(b);
    precise double low = o.low - (o.parallel ? ALIGNED_ERROR * lengths : 0.0lf);
    precise dvec3 n = o.axis / norm(o.axis);
    precise dvec3 d = n * rotation;
    precise double high = product(a, abs(n)) + product(b, abs(d)) - product(n, translation);

    // Corners that n supports. Of a face, the point that the other's corner meets; of edges,
    // those that meet: with c = foot - (pa - pb) from their middles, c = x·e - y·f.
    dvec3 pa = signed3(a, n), pb = -signed3(b, d);
    precise dvec3 foot = high * n;
    if (o.edges) {
        dvec3 e = o.edgeA, f = o.edgeB;
        pa *= dvec3(1) - e;
        pb *= dvec3(1) - f;
        precise dvec3 fa = rotation * f;
        precise dvec3 c = foot - pa + (rotation * pb + translation);
        double k = product(e, fa), ce = product(c, e), cf = product(c, fa);
        precise double inverse_ = 1.0lf / max(1.0lf - k * k, 1e-30lf);
        precise double x = (ce - k * cf) * inverse_, y = (k * ce - cf) * inverse_;
        precise dvec3 onA = pa + x * e;
        precise dvec3 onB = pb + y * f;
        pa = onA;
        pb = onB;
    } else if (o.faceA) {
        precise dvec3 onA = foot + (rotation * pb + translation);
        pa = onA;
    } else {
        precise dvec3 onB = (pa - foot - translation) * rotation;
        pb = onB;
    }
    pa = clamp(pa, -a, a);
    pb = clamp(pb, -b, b);
    precise dvec3 near = pa - (rotation * pb + translation);
    precise dvec3 side = near - foot;
    r = Core(high, low, norm(side), n, near, pa);
    return high - low <= deepEnough && r.off <= deepEnough && low > roundoff && !(o.parallel && o.slanted);
}

#endif
