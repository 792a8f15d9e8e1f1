// Penetration depths of boxes by separating axes [Gottschalk1996, sec. 5], in double precision, without a search.
//
// D = A - B of two boxes is the sum of six segments, and the normals of its facets are among the fifteen axes of the
// separating axis test. So the depth is the least overlap along one of them, whatever the overlaps along axes that are
// no facet normals, also if a box is flat.
//
// Bounds. With the overlap w_A(n) + w_B(n) - |<n, t>| of the half widths along an axis n and the center distance t:
//
//     upper = h_D(n) for the unit vector n of the best axis, evaluated anew
//     lower = least overlap/|n| less its rounding: 4·supportRounding/l for a cross product of edges of length l, as
//             kernels/pairs/closed_forms.h derives, with room for the rounding of the inverse root
//
// Edges that are parallel to rounding have no axis. If all cross products are either shorter than PARALLEL_LENGTH or
// longer than CROSSED_LENGTH, a rotation of B by at most 2·PARALLEL_LENGTH makes the short ones zero, which changes the
// depth and each overlap by at most 2·PARALLEL_LENGTH·size·(1 + 2/CROSSED_LENGTH) < PARALLEL_ERROR·size.
//
// Input: the list of the pairs of boxes that prove.comp does not prove. Output: columns of the rows whose cores
// intersect. A row goes to the list of certify.comp if its bounds are too wide, or if its contact is neither
// a corner with a face nor two edges.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes64 { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 2) volatile buffer Indices { IndexRecord indices[]; }; // see prove.comp
layout(std430, binding = 3) readonly buffer Searches { SearchRecord searches[]; };
layout(std430, binding = 4) buffer Columns { uint words[]; };
layout(std430, binding = 5) buffer Counts { uint counts[]; };
layout(std430, binding = 6) readonly buffer Stationary { uint stationary[]; };         // slots from query.rows on
layout(std430, binding = 7) writeonly buffer Continued { uint continued[]; };          // slots of LIST_CONTINUE
layout(std430, binding = 8) readonly buffer Vertices64 { VertexRecord64 vertices[]; }; // of pair.glsl, unused
layout(std430, binding = 9) readonly buffer Cells { uint cells[]; };                   // the same
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair.glsl"
#include "core_depth.glsl"
#include "list.glsl"

uint slot;

const double PARALLEL_LENGTH = 1e-14lf;
const double CROSSED_LENGTH = 0.1lf;
const double PARALLEL_ERROR = 5e-13lf;

const double FAR = 1e300lf;

// Numbers of the axes: the face normals of A from 0, the face normals of B from 3, the cross product of edges i of A
// and j of B is 6 + 3i + j.
const uint FACES_OF_B = 3u;
const uint EDGES = 6u;

// Overlap is the least overlap along the axes so far.
struct Overlap {
    double least, lower; // the least, and the least reduced by rounding
    uint axis;
    bool parallel, nearlyParallel; // some cross product is below PARALLEL_LENGTH; another is below CROSSED_LENGTH
};

void faceOfA(double overlap, uint axis, inout Overlap o) {
    if (overlap < o.least) {
        o.least = overlap;
        o.axis = axis;
    }
    o.lower = min(o.lower, overlap);
}

void faceOfB(double overlap, uint axis, double error, inout Overlap o) {
    o.lower = min(o.lower, overlap);
    if (overlap + error < o.least) {
        o.least = overlap;
        o.axis = axis;
    }
}

// edgesOf takes the overlap along the cross product of an edge of A and one of B: (0, -y, x) in coordinates whose
// first is the axis of the edge of A.
void edgesOf(double overlap, double x, double y, uint axis, double error, inout Overlap o) {
    precise double ll = x * x + y * y;
    if (ll < PARALLEL_LENGTH * PARALLEL_LENGTH) {
        o.parallel = true;
        return;
    }
    if (!(ll > CROSSED_LENGTH * CROSSED_LENGTH)) o.nearlyParallel = true;
    double r = inverseRoot(ll);
    precise double lowerAlong = (overlap - error) * r;
    o.lower = min(o.lower, lowerAlong);
    precise double overlapAlong = overlap * r;
    precise double upperAlong = overlapAlong + error * r;
    if (upperAlong < o.least) {
        o.least = overlapAlong;
        o.axis = axis;
    }
}

// overlaps evaluates all axes. It shifts the coordinates of its arguments three times, which restores them: copies
// would take registers.
Overlap overlaps(inout dvec3 row0, inout dvec3 row1, inout dvec3 row2, inout dvec3 t, inout dvec3 a, dvec3 b,
                 double error) {
    precise dvec3 oa = a + dvec3(dotProduct(abs(row0), b), dotProduct(abs(row1), b), dotProduct(abs(row2), b)) - abs(t);
    precise dvec3 u = t.x * row0 + t.y * row1 + t.z * row2;
    precise dvec3 ob = b + (a.x * abs(row0) + a.y * abs(row1) + a.z * abs(row2)) - abs(u);
    Overlap o = Overlap(FAR, FAR, 0u, false, false);
    faceOfA(oa.x, 0u, o);
    faceOfA(oa.y, 1u, o);
    faceOfA(oa.z, 2u, o);
    faceOfB(ob.x, FACES_OF_B, error, o);
    faceOfB(ob.y, FACES_OF_B + 1u, error, o);
    faceOfB(ob.z, FACES_OF_B + 2u, error, o);
    o.lower -= error;
    for (uint at = EDGES; at < EDGES + 9u; at += 3u) {
        dvec3 x0 = row0, x = row1, y = row2;
        precise dvec3 overlap =
            (a.y * abs(y) + a.z * abs(x)) + (b.yzx * abs(x0.zxy) + b.zxy * abs(x0.yzx)) - abs(t.z * x - t.y * y);
        edgesOf(overlap.x, x.x, y.x, at, error, o);
        edgesOf(overlap.y, x.y, y.y, at + 1u, error, o);
        edgesOf(overlap.z, x.z, y.z, at + 2u, error, o);
        row0 = x;
        row1 = y;
        row2 = x0;
        t = t.yzx;
        a = a.yzx;
    }
    return o;
}

double signed(double x, double sign) { return sign < 0.0lf ? -x : x; }
dvec3 signed3(dvec3 x, dvec3 sign) { return dvec3(signed(x.x, sign.x), signed(x.y, sign.y), signed(x.z, sign.z)); }

dvec3 halfExtentsOf(uint i) { return dvec3(shapes[i].params[0], shapes[i].params[1], shapes[i].params[2]); }

dvec3 unitVector(uint k) { return dvec3(k == 0u, k == 1u, k == 2u); }

// boxDepth answers for two boxes with half extents a and b, or returns false if the bounds are too wide.
bool boxDepth(dvec3 a, dvec3 b, out CoreDepth r) {
    dmat3 rows = transpose(rotation);
    Overlap o = overlaps(rows[0], rows[1], rows[2], translation, a, b, 4.0lf * supportRounding);
    rotation = transpose(rows);
    precise double lengths = norm(a) + norm(b);
    precise double lower = o.lower - (o.parallel ? PARALLEL_ERROR * lengths : 0.0lf);

    uint edges = o.axis - EDGES;
    bool faceA = o.axis < FACES_OF_B, faceB = o.axis - FACES_OF_B < 3u;
    dvec3 e = unitVector(faceA ? o.axis : edges / 3u), f = unitVector(faceB ? o.axis - FACES_OF_B : edges % 3u);
    dvec3 fa = rotation * f;
    dvec3 axis = faceA ? e : faceB ? fa : cross(e, fa);
    precise dvec3 n = axis * signed(inverseRoot(squaredNorm(axis)), dotProduct(axis, translation));
    precise dvec3 d = n * rotation;
    precise double upper = dotProduct(a, abs(n)) + dotProduct(b, abs(d)) - dotProduct(n, translation);

    // The corners that n supports. For a face the point that the other box's corner touches; for edges the points in
    // which they touch: with c = projection - (pa - pb) from their middles, c = x·e - y·f.
    dvec3 pa = signed3(a, n), pb = -signed3(b, d);
    precise dvec3 projection = upper * n;
    if (faceA) {
        precise dvec3 onA = projection + (rotation * pb + translation);
        pa = onA;
    } else if (faceB) {
        precise dvec3 onB = (pa - projection - translation) * rotation;
        pb = onB;
    } else {
        pa *= dvec3(1) - e;
        pb *= dvec3(1) - f;
        precise dvec3 c = projection - pa + (rotation * pb + translation);
        double k = dotProduct(e, fa), ce = dotProduct(c, e), cf = dotProduct(c, fa);
        precise double inverse_ = 1.0lf / max(1.0lf - k * k, 1e-30lf);
        precise double x = (ce - k * cf) * inverse_, y = (k * ce - cf) * inverse_;
        precise dvec3 onA = pa + x * e;
        precise dvec3 onB = pb + y * f;
        pa = onA;
        pb = onB;
    }
    // Read again, so that they take no registers above.
    a = halfExtentsOf(indices[slot].shape_a);
    b = halfExtentsOf(indices[slot].shape_b);
    pa = clamp(pa, -a, a);
    pb = clamp(pb, -b, b);
    precise dvec3 point = pa - (rotation * pb + translation);
    precise dvec3 residual = point - projection;
    r = CoreDepth(upper, lower, norm(residual), n, point, pa);
    return upper - lower <= distanceGap && r.witnessGap <= distanceGap && lower > supportRounding &&
           !(o.parallel && o.nearlyParallel);
}

// loadBox is loadShape of a box.
void loadBox(uint i, inout Shape s) {
    s.coreClass = CLASS_BOX;
    s.radius = shapes[i].radius;
    s.erode = 0.0lf;
}

// answerByAxes reports whether it answered the row.
bool answerByAxes() {
    IndexRecord index = indices[slot];
    loadBox(index.shape_a, shapeA);
    loadBox(index.shape_b, shapeB);
    radius = shapeA.radius + shapeB.radius;
    loadPose(index);
    loadQuery();
    CoreDepth r;
    if (!boxDepth(halfExtentsOf(index.shape_a), halfExtentsOf(index.shape_b), r) || !loopsCompleted()) return false;
    Answer a = answerOf(r);
    uint status = classify(a);
    if (status == DECLINED) return false;
    refined = true;
    answeredByDepth = status != STATUS_SEPARATED;
    writeStatus(index.row, status, SOLVER_AXES, searches[slot].iterations);
    writeColumns(index.row, indices[slot].pose_a, a);
    return true;
}

void main() {
    if (gl_GlobalInvocationID.x >= rowsIn(LIST_AXES)) return;
    slot = stationary[query.rows + gl_GlobalInvocationID.x];
    if (!answerByAxes()) continued[addTo(LIST_CONTINUE)] = slot;
}
