// Proves, in double precision, the rows whose search single precision ended: no search, and no loop over a simplex. A
// row that it does not prove goes to the list of certify.comp, which continues from the same simplex, or of
// trust_region.comp, which continues from the same direction.
//
// The point x = Σ λ_k w_k has the vertices w_k of the simplex formed anew, from their corners or directions, and the
// weights λ_k of single precision. For polytopes one Newton step for the weights moves x to where it is orthogonal to
// the edges of the simplex: the weights of single precision are off by its rounding, and the gap is as large as the
// product of x with an edge. For a fine tolerance these products are formed in double precision; simplices of curved
// shapes are then left to certify.comp, since single precision ends their search too early.
//
// Bounds, as in certify.comp, with the sum R of the radii and the rounding bound ρ:
//
//     upper = |x| - R + ρ                     x is a point of D = A - B
//     lower = min <x/|x|, D> - R - ρ          D lies beyond this support plane
// Weights that do not fit make the bounds wide, not wrong: λ_k >= 0 and Σ λ_k = 1 hold
// for whatever single precision left. x and its plane are each a chain of at most ten operations, as Pair.Roundoff of
// package ref has it: sums of three products, a rotation and a translation.
//
// For a stationary direction x is the support point, and the support plane is orthogonal to the direction: one
// evaluation. The
// bounds hold wherever the origin lies, since the signed distance of the eroded cores exceeds the norm of no point of
// D. The gap is the distance of x from the line of the direction, so a fine tolerance takes one Newton step for the
// direction first.
//
// Input: the simplices and directions of gjk.comp, of all rows or of those that prove_two_floats.comp lists. Output:
// columns of the rows that are proved; LIST_STATIONARY with the other rows of stationary directions, LIST_AXES with the
// other pairs of boxes, and LIST_CONTINUE with all others.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 5) const uint BOOLEAN = 0u; // as in certify.comp
layout(constant_id = 6) const uint FINE = 1u;
layout(constant_id = 10) const uint LISTED = 0u; // not 0: only the rows of LIST_UNPROVED
#define BOOLEAN_QUERY (BOOLEAN != 0u)

layout(std430, binding = 0) readonly buffer Shapes64 { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices64 { VertexRecord64 vertices[]; };
layout(std430, binding = 2) readonly buffer Poses { PoseRecord poses[]; };
// Not read-only: the rotation of A would stay in 18 registers from loadPose to writeColumns.
layout(std430, binding = 3) volatile buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 4) volatile buffer Searches { SearchRecord searches[]; };
layout(std430, binding = 5) buffer Columns { uint words[]; };
layout(std430, binding = 6) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 7) buffer Counts { uint counts[]; };
layout(std430, binding = 8) writeonly buffer Continued { uint continued[]; }; // slots of LIST_CONTINUE
// Slots of LIST_STATIONARY; from query.rows on, of LIST_AXES.
layout(std430, binding = 9) writeonly buffer Stationary { uint stationary[]; };
layout(std430, binding = 10) readonly buffer Unproved { uint unproved[]; }; // slots of LIST_UNPROVED
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair.glsl"
#include "store.glsl"
#include "list.glsl"
#include "search_result.glsl"

uint slot;

// Points closer to the origin are left to certify.comp: their squares are not normal numbers.
const double SHORTEST_LENGTH = 1e-140lf;

// closedWeights returns weights of a simplex of n vertices that are not negative and have the sum 1 up to rounding,
// whatever l is. The weights of w1 and w2 are near to l.
dvec3 closedWeights(dvec2 l, uint n) {
    double second = n > 1u ? clamp(l.x, 0.0lf, 1.0lf) : 0.0lf;
    precise double rest = 1.0lf - second;
    double third = n > 2u ? clamp(l.y, 0.0lf, rest) : 0.0lf;
    precise double first = rest - third;
    return dvec3(first, second, third);
}

// x with the sums of points of A and, until x is formed, of B in its place; and the latest support plane.
dvec3 sumA = dvec3(0), x = dvec3(0), axis = dvec3(0);
double len = 0.0lf, lower = 0.0lf;

// Edges holds the edges of the simplex from its first vertex, for a fine tolerance in double precision and in metres,
// else in units in which they do not overflow.
struct Edges {
    vec3 first, e, f;
    dvec3 fineFirst, fineE, fineF;
};

// addToEdges takes vertex k, the difference of p and the rotated q up to a translation.
void addToEdges(inout Edges edges, uint k, dvec3 p, dvec3 q, float scale) {
    if (FINE != 0u) {
        precise dvec3 fine = p - rotation * q;
        if (k == 0u) edges.fineFirst = fine;
        if (k == 1u) edges.fineE = fine - edges.fineFirst;
        if (k == 2u) edges.fineF = fine - edges.fineFirst;
        return;
    }
    precise vec3 w = scale * (vec3(p) - mat3(rotation) * vec3(q));
    if (k == 0u) edges.first = w;
    if (k == 1u) edges.e = w - edges.first;
    if (k == 2u) edges.f = w - edges.first;
}

// newtonStep returns the changes of the weights of w1 and w2 by which the point x of the simplex becomes orthogonal to
// its edges. The step may be off by the rounding of single precision, the products with x may not for a fine tolerance.
vec2 newtonStep(Edges edges, uint n, float scale) {
    vec3 e = edges.e, f = edges.f, y = scale * vec3(x);
    precise vec2 product = vec2(dot(e, y), dot(f, y));
    if (FINE != 0u) {
        double s = double(scale);
        e = vec3(s * edges.fineE);
        f = vec3(s * edges.fineF);
        product = vec2(s * s * dvec2(dotProduct(edges.fineE, x), dotProduct(edges.fineF, x)));
    }
    precise float ee = dot(e, e);
    if (n == 2u) return vec2(-product.x / ee, 0);
    precise float ff = dot(f, f), ef = dot(e, f);
    precise vec2 change = vec2(product.y * ef - product.x * ff, product.x * ef - product.y * ee);
    change /= ee * ff - ef * ef;
    return change;
}

void addWeighted(inout dvec3 sum, double weight, dvec3 point) {
    precise dvec3 added = sum + weight * point;
    sum = added;
}

void formPoint() {
    precise dvec3 point = sumA - (rotation * x + translation);
    x = point;
}

// addCorners adds up the vertices that are given by their corners, first with the given weights, then with the weights
// after the Newton step.
void addCorners(IndexRecord index, dvec3 weights, uint n) {
    Edges edges = Edges(vec3(0), vec3(0), vec3(0), dvec3(0), dvec3(0), dvec3(0));
    float scale = unitScale(float(largestLength));
    for (uint k = 0u; k < (n > 1u ? 2u * n : 1u); k++) {
        if (k == n) {
            formPoint();
            weights = closedWeights(weights.yz + dvec2(newtonStep(edges, n, scale)), n);
            sumA = dvec3(0);
            x = dvec3(0);
        }
        uint vertex = k < n ? k : k - n;
        vec3 numbers = sourceOf(slot, vertex);
        dvec3 p = cornerPosition(loadShape(index.shape_a), uint(numbers.x));
        dvec3 q = cornerPosition(loadShape(index.shape_b), uint(numbers.y));
        addWeighted(sumA, weights[vertex], p);
        addWeighted(x, weights[vertex], q);
        if (k < n) addToEdges(edges, k, p, q, scale);
    }
}

// isStationary reports whether the search left a stationary direction. Only ellipsoids and spheres have such rows among
// the kinds that are compiled in, and no Boolean query.
bool isStationary() {
    return !BOOLEAN_QUERY && (uses(KIND_ELLIPSOID) || uses(KIND_SPHERE)) && searches[slot].state == SEARCH_STATIONARY;
}

// steppedDirection returns the direction of a Newton step on the unit sphere from axis, at which sumA and x are the
// support points of the eroded cores, x in the frame of B, and lower is the distance of their support plane. It sets x.
//
// The support function of D has there the Hessian (P² - a aᵀ)/<a, d> of the ellipsoid of A with the semi-axes P and the
// support point a along d; B likewise. In the tangent plane the sum of both with the distance m of the support
// plane of the cores that are not eroded maps the step to the part of x that is orthogonal to the axis [RTR, eq. 8].
// The step may be off by the rounding of single precision, that part of x may not.
dvec3 steppedDirection() {
    float scale = unitScale(float(largestLength));
    Shape first = loadShape(indices[slot].shape_a), second = loadShape(indices[slot].shape_b);
    vec3 v = vec3(axis);
    mat3 frameB = mat3(rotation);
    precise vec3 a = scale * (vec3(sumA) - float(first.erode) * v);
    precise vec3 b = scale * (frameB * vec3(x) + float(second.erode) * v);
    precise vec3 p = scale * vec3(first.params), q = scale * vec3(second.params);
    precise float valueA = -dot(v, a), valueB = dot(v, b);
    float inverseA = valueA > 0.0 ? 1.0 / valueA : 0.0, inverseB = valueB > 0.0 ? 1.0 / valueB : 0.0;
    precise vec3 q0 = q.x * frameB[0], q1 = q.y * frameB[1], q2 = q.z * frameB[2], squares = p * p;
    precise float m = scale * float(lower - (first.erode + second.erode));
    formPoint();
    precise dvec3 orthogonal = x - dotProduct(x, axis) * axis;
    precise vec3 g = vec3(double(scale) * orthogonal);
    mat3 hessian;
    for (int k = 0; k < 3; k++) { // along the axis the map is the identity
        vec3 unit = vec3(k == 0, k == 1, k == 2);
        precise vec3 ofA = squares[k] * unit - a[k] * a;
        precise vec3 ofB = q0[k] * q0 + q1[k] * q1 + q2[k] * q2 - b[k] * b;
        precise vec3 column = inverseA * ofA + inverseB * ofB + m * unit + (1.0 - m) * v[k] * v;
        hessian[k] = column;
    }
    precise vec3 c0 = cross(hessian[1], hessian[2]), c1 = cross(hessian[2], hessian[0]);
    precise vec3 c2 = cross(hessian[0], hessian[1]);
    precise vec3 step = vec3(dot(c0, g), dot(c1, g), dot(c2, g)) / dot(c0, hessian[0]);
    precise dvec3 next = axis + dvec3(step);
    return next;
}

// proveRow returns the bounds and witnesses that the simplex of n vertices proves. along says that its only vertex is
// the support point along a direction that separates or is stationary, which is the normal.
bool proveRow(IndexRecord index, uint n, bool along, out Answer r) {
    dvec3 weights = closedWeights(dvec2(sourceOf(slot, 3u).yz), n);
    bool corners = cornersGiven(slot);
    if (corners) addCorners(index, weights, n);
    // The vertices that are given by their directions, then the plane.
    bool stepped = FINE != 0u && isStationary();
    uint last = along ? (stepped ? 1u : 0u) : n;
    for (uint k = corners ? n : 0u; k <= last; k++) {
        bool plane = k == n && !stepped;
        if (plane) formPoint();
        dvec3 u = plane ? x : dvec3(sourceOf(slot, k));
        if (stepped && k == 1u) {
            if (!(lower > 0.0lf)) return false; // the cores intersect
            u = steppedDirection();
            sumA = dvec3(0);
            x = dvec3(0);
        }
        double uu = squaredNorm(u);
        if (!(uu >= SHORTEST_LENGTH * SHORTEST_LENGTH)) return false;
        len = squareRoot(uu);
        precise dvec3 unit = u * inverseRoot(uu);
        axis = unit;
        dvec3 d = -axis;
        precise double h = -dotProduct(axis, translation);
        for (int j = 0; j < 2; j++) { // both shapes by one text of the support functions: half the code
            Shape s = loadShape(j == 0 ? index.shape_a : index.shape_b);
            if (j == 1) {
                precise dvec3 rotated = axis * rotation;
                d = rotated;
            }
            precise dvec3 point = coreSupport(s, d) - s.erode * d;
            h -= dotProduct(d, point);
            double weight = FINE != 0u ? 1.0lf : weights[k]; // of a fine tolerance it is a stationary direction
            if (!plane && j == 0) addWeighted(sumA, weight, point);
            if (!plane && j == 1) addWeighted(x, weight, point);
        }
        lower = h;
    }
    if (along) {
        formPoint();
        len = norm(x);
    }
    // Loaded again, so that they need no registers during the support functions.
    shapeA = loadShape(indices[slot].shape_a);
    shapeB = loadShape(indices[slot].shape_b);
    radius = shapeA.radius + shapeB.radius + shapeA.erode + shapeB.erode;
    // The witnesses differ by -x, and distance times normal is -len·axis. The gap includes the difference of the two.
    precise dvec3 offset = x - len * axis;
    double offsetLength = norm(offset), bound = lower;
    if (!BOOLEAN_QUERY) bound = min(bound, len - offsetLength);
    precise double d = len - radius;
    precise double above = d + supportRounding;
    precise double below = bound - radius - supportRounding;
    r.distance = d;
    r.upper = above;
    r.lower = below;
    r.normal = -axis;
    precise dvec3 wa = sumA - (shapeA.radius + shapeA.erode) * axis;
    precise dvec3 wb = (sumA - x) + (shapeB.radius + shapeB.erode) * axis;
    r.witnessA = wa;
    r.witnessB = wb;
    return true;
}

// prove reports whether it answered the row.
bool prove(IndexRecord index) {
    uint state = searches[slot].state, n = vertexCountOf(slot);
    if (index.shape_a == NO_SHAPE || state == SEARCH_INSIDE || state == SEARCH_START || n - 1u > 2u ||
        (FINE != 0u && !cornersGiven(slot) && !isStationary()))
        return false;
    // Kinds whose support functions take powers are not compiled in: they take more registers than all the rest.
    if (!uses(shapes[index.shape_a].kind) || !uses(shapes[index.shape_b].kind)) return false;
    shapeA = loadShape(index.shape_a);
    shapeB = loadShape(index.shape_b);
    loadPose(index);
    loadQuery();
    bool along = (BOOLEAN_QUERY && n == 1u) || isStationary();
    uint own = cornersGiven(slot) || along ? 1u : n + 1u;
    if (FINE != 0u && isStationary()) own = 2u;
    uint evaluations = searches[slot].iterations + own;
    uint passes = 2u * n + (n + 1u) * (1u + supportPasses(shapeA) + supportPasses(shapeB));
    if (query.max_iterations != 0u && evaluations > query.max_iterations) return false;
    if (passes > query.loop_limit) return false;
    Answer r;
    if (!proveRow(index, n, along, r)) return false;
    refined = FINE != 0u && isStationary();
    uint status = classify(r);
    if (status == DECLINED || !loopsCompleted()) return false;
    if (BOOLEAN_QUERY) { // see certify.comp
        precise dvec3 offset = x - len * axis;
        double offsetLength = norm(offset);
        if (status == STATUS_SEPARATED) r.upper = max(r.upper, r.distance + offsetLength);
        else r.lower = min(r.lower, r.distance - offsetLength);
    }
    writeStatus(indices[slot].row, status, isStationary() ? SOLVER_RTR : searches[slot].solver, evaluations);
    writeColumns(indices[slot].row, indices[slot].pose_a, r);
    return true;
}

bool isBoxPair(IndexRecord index) {
    return uses(KIND_BOX) && index.shape_a != NO_SHAPE && shapes[index.shape_a].kind == KIND_BOX &&
           shapes[index.shape_b].kind == KIND_BOX;
}

void main() {
    slot = gl_GlobalInvocationID.x;
    if (LISTED != 0u) {
        if (slot >= rowsIn(LIST_UNPROVED)) return;
        slot = unproved[slot];
    }
    if (slot >= query.rows) return;
    refined = false;
    if (prove(indices[slot])) return;
    if (searches[slot].state == SEARCH_STATIONARY) stationary[addTo(LIST_STATIONARY)] = slot;
    else if (isBoxPair(indices[slot])) stationary[query.rows + addTo(LIST_AXES)] = slot;
    else continued[addTo(LIST_CONTINUE)] = slot;
}
