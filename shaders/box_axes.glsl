// Penetration depths of boxes by separating axes [Gottschalk1996, sec. 5], in double precision.
//
// D = A - B of two boxes is the sum of six segments, and the normals of its facets are among the fifteen axes of the
// separating axis test. So the depth is the least overlap along one of them, whatever the overlaps along axes that are
// no facet normals, also if a box is flat.
//
// Bounds. From above, the support plane along the best axis, evaluated anew along its unit vector. From below, the
// least overlap, less its rounding: an overlap along a cross product of edges of length l is off by
// 4·supportRounding/l, as cpu/simd derives.
//
// Edges that are parallel to rounding have no axis. If all cross products are either shorter than PARALLEL_LENGTH or
// longer than CROSSED_LENGTH, a rotation of B by at most 2·PARALLEL_LENGTH makes the short ones zero, which changes the
// depth and each overlap by at most 2·PARALLEL_LENGTH·size·(1 + 2/CROSSED_LENGTH) < PARALLEL_ERROR·size.
//
// A row is left to EPA if these bounds are too wide, or if its contact is not that of a corner with a face or of two
// edges.

#ifndef CLEARANCE_BOX_AXES_GLSL
#define CLEARANCE_BOX_AXES_GLSL

#include "epa.glsl"

const double PARALLEL_LENGTH = 1e-14lf;
const double CROSSED_LENGTH = 0.1lf;
const double PARALLEL_ERROR = 5e-13lf;

// Overlap is the least overlap so far, along the unit vector axis: a face normal of A, one of B, or the cross product
// of edgeA and edgeB.
struct Overlap {
    double least, lower; // the least, and the least reduced by rounding
    dvec3 axis, edgeA, edgeB;
    bool faceA, edges;
    bool parallel, nearlyParallel; // some cross product is below PARALLEL_LENGTH; another is below CROSSED_LENGTH
};

double signed(double x, double sign) { return sign < 0.0lf ? -x : x; }
dvec3 signed3(dvec3 x, dvec3 sign) { return dvec3(signed(x.x, sign.x), signed(x.y, sign.y), signed(x.z, sign.z)); }

void faceOfA(double overlap, dvec3 axis, inout Overlap o) {
    if (overlap < o.least) {
        o.least = overlap;
        o.axis = axis;
    }
    o.lower = min(o.lower, overlap);
}

void faceOfB(double overlap, dvec3 axis, double error, inout Overlap o) {
    o.lower = min(o.lower, overlap);
    if (overlap + error < o.least) {
        o.least = overlap;
        o.axis = axis;
        o.faceA = false;
    }
}

// edgesOf takes the overlap along the cross product of an edge of A and one of B: (0, -y, x) in coordinates that begin
// with that of the edge of A; axisShift restores their order.
void edgesOf(double overlap, double x, double y, double centerOffset, uint axisShift, dvec3 a, dvec3 b, double error,
             inout Overlap o) {
    precise double ll = x * x + y * y;
    if (ll < PARALLEL_LENGTH * PARALLEL_LENGTH) {
        o.parallel = true;
        return;
    }
    if (!(ll > CROSSED_LENGTH * CROSSED_LENGTH)) o.nearlyParallel = true;
    precise double r = 1.0lf / squareRoot(ll);
    precise double lowerAlong = (overlap - error) * r;
    o.lower = min(o.lower, lowerAlong);
    precise double overlapAlong = overlap * r;
    precise double upperAlong = overlapAlong + error * r;
    if (!(upperAlong < o.least)) return;
    o.least = overlapAlong;
    double s = signed(r, centerOffset);
    precise dvec3 v = dvec3(0.0lf, -(s * y), s * x);
    o.axis = axisShift == 0u ? v : axisShift == 1u ? v.zxy : v.yzx;
    o.edgeA = a;
    o.edgeB = b;
    o.edges = true;
}

// overlaps evaluates all axes.
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
    o.lower -= error;

    dmat3 rows = transpose(m);
    dvec3 e = dvec3(1, 0, 0);
    for (uint i = 0u; i < 3u; i++) { // each pass shifts the coordinates by one
        dvec3 x0 = rows[0], x = rows[1], y = rows[2];
        precise dvec3 centerOffset = t.z * x - t.y * y;
        precise dvec3 overlap =
            (a.y * abs(y) + a.z * abs(x)) + (b.yzx * abs(x0.zxy) + b.zxy * abs(x0.yzx)) - abs(centerOffset);
        edgesOf(overlap.x, x.x, y.x, centerOffset.x, i, e, dvec3(1, 0, 0), error, o);
        edgesOf(overlap.y, x.y, y.y, centerOffset.y, i, e, dvec3(0, 1, 0), error, o);
        edgesOf(overlap.z, x.z, y.z, centerOffset.z, i, e, dvec3(0, 0, 1), error, o);
        rows = dmat3(x, y, x0);
        t = t.yzx;
        a = a.yzx;
        e = e.zxy;
    }
    return o;
}

// boxDepth answers for two boxes, or returns false if the bounds are too wide.
bool boxDepth(out CoreDepth r) {
    dvec3 a = shapeA.params, b = shapeB.params;
    Overlap o = overlaps(a, b, 4.0lf * supportRounding);
    precise double lengths = norm(a) + norm(b);
    precise double lower = o.lower - (o.parallel ? PARALLEL_ERROR * lengths : 0.0lf);
    precise dvec3 n = o.axis / norm(o.axis);
    precise dvec3 d = n * rotation;
    precise double upper = dotProduct(a, abs(n)) + dotProduct(b, abs(d)) - dotProduct(n, translation);

    // The corners that n supports. For a face the point that the other box's corner touches; for edges the points in
    // which they touch: with c = projection - (pa - pb) from their middles, c = x·e - y·f.
    dvec3 pa = signed3(a, n), pb = -signed3(b, d);
    precise dvec3 projection = upper * n;
    if (o.edges) {
        dvec3 e = o.edgeA, f = o.edgeB;
        pa *= dvec3(1) - e;
        pb *= dvec3(1) - f;
        precise dvec3 fa = rotation * f;
        precise dvec3 c = projection - pa + (rotation * pb + translation);
        double k = dotProduct(e, fa), ce = dotProduct(c, e), cf = dotProduct(c, fa);
        precise double inverse_ = 1.0lf / max(1.0lf - k * k, 1e-30lf);
        precise double x = (ce - k * cf) * inverse_, y = (k * ce - cf) * inverse_;
        precise dvec3 onA = pa + x * e;
        precise dvec3 onB = pb + y * f;
        pa = onA;
        pb = onB;
    } else if (o.faceA) {
        precise dvec3 onA = projection + (rotation * pb + translation);
        pa = onA;
    } else {
        precise dvec3 onB = (pa - projection - translation) * rotation;
        pb = onB;
    }
    pa = clamp(pa, -a, a);
    pb = clamp(pb, -b, b);
    precise dvec3 point = pa - (rotation * pb + translation);
    precise dvec3 residual = point - projection;
    r = CoreDepth(upper, lower, norm(residual), n, point, pa);
    return upper - lower <= depthGap && r.witnessGap <= depthGap && lower > supportRounding &&
           !(o.parallel && o.nearlyParallel);
}

#endif
