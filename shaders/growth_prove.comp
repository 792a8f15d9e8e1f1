// Proves, in double precision, the growth distances whose search single precision ended: no search. A row that it does
// not prove goes to the list of growth_certify.comp, which begins with the same steps, so that the answer of a row does
// not depend on which of the two gives it.
//
// The vertices of the triangle are formed anew from the directions of growth.comp. Then there is one support plane:
// along the normal that bounds the ray best in single precision, or along the normal of the triangle in double
// precision, which is exact for polytopes. Its support point replaces a vertex where that is progress.
// growth_bounds.glsl derives the bounds, which include all rounding errors.
//
// The points of A of the vertices, for the witnesses, are evaluated along the same directions once more, by the same
// call of the support functions, after the vertices are no longer needed; only their weighted sum is kept.
//
// Input: the directions of growth.comp. Output: columns of the rows that are proved, and LIST_CONTINUE with all others.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes64 { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices64 { VertexRecord64 vertices[]; };
layout(std430, binding = 2) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 3) volatile buffer Indices { IndexRecord indices[]; }; // see row.glsl
layout(std430, binding = 4) readonly buffer Searches { SearchRecord searches[]; };
layout(std430, binding = 5) buffer Columns { uint words[]; };
layout(std430, binding = 6) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 7) buffer Counts { uint counts[]; };
layout(std430, binding = 8) writeonly buffer Continued { uint continued[]; }; // slots of LIST_CONTINUE
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair.glsl"
#include "list.glsl"
#include "growth_bounds.glsl"

// Loaded again, see row.glsl.
Shape shapeOf(int k) { return loadShape(recordOf(k)); }
PairSizes sizes() { return loadSizes(); }

// proveRow returns what the triangle and one support plane prove, and reports whether growth_certify.comp would end
// there, too.
bool proveRow(out Answer r, out dvec3 point) {
    bool anew = (searches[slot].count & ((1u << BALL_VERTEX) - 1u)) != 3u;
    bool ofTriangle = (query.flags & FLAG_DOUBLE) != 0u && !anew;
    uint balls = anew ? 7u : searches[slot].count >> BALL_VERTEX, replaced = NO_VERTEX;
    Triangle t = Triangle(dvec3(0), dvec3(0), dvec3(0), dvec2(0), dvec2(0), dvec2(0));
    dvec3 normal = dvec3(0, 0, 1);
    double value = 0.0lf;
    bool proved = true;
    // Three vertices, the plane, and the three points of A. From the plane on, v0 of the triangle is the point on the
    // ray, v1 holds the weights of the vertices, and v2 the sum of points of A.
    for (uint k = 0u; proved && k < 7u; k++) {
        bool plane = k == 3u, pointAlone = k > 3u;
        uint vertex = pointAlone ? k - 4u : k;
        dvec3 direction = anew && !plane ? ballDirection(vertex) : initialDirection(vertex);
        if (plane && ofTriangle) direction = normalOf(t);
        dvec3 n = unitVector(direction), s, a;
        if (pointAlone && vertex == replaced) n = normal;
        if (!plane && (balls >> vertex & 1u) != 0u) {
            precise dvec3 ofBall = pointAlone ? sizes().inradiusA * fromRayFrame(n) : sizes().inradius * n;
            s = ofBall;
        } else {
            s = evaluateSupport(n, pointAlone, a);
        }
        if (k < 3u) setVertex(t, k, s, dvec2(0));
        // growth_certify.comp may end without a plane.
        if (k == 2u) proved = crossesRay(t) && !ended(crossingOf(t), sizes().rounding / UNIT_ROUNDOFF);
        if (plane) {
            normal = n;
            value = dotProduct(n, s);
            precise double limit = value / n.z;
            bool progress = isBeyond(t, s);
            if (progress) {
                replaced = outgoingVertex(t, s);
                setVertex(t, replaced, s, dvec2(0));
                balls &= ~(1u << replaced);
            }
            double most = sizes().rounding / UNIT_ROUNDOFF; // more than the support value along any unit vector
            proved = n.z > 0.0lf && limit < most && !(progress && replaced == NO_VERTEX) &&
                     ((ofTriangle && !progress) || ended(crossingOf(t), limit));
            dvec3 weights = weightsOnRay(t);
            t.v0 = weightedSum(weights, t.v0, t.v1, t.v2);
            t.v1 = weights;
            t.v2 = dvec3(0);
        }
        if (pointAlone) {
            precise dvec3 added = t.v2 + t.v1[vertex] * s;
            t.v2 = added;
        }
    }
    if (proved) {
        precise dvec3 a = t.v2 + weightOfBall(t.v1, balls) * sizes().centerA;
        r = growthAnswer(t.v0, a, normal, value, point);
    }
    return proved;
}

// mayProve loads the row, and reports whether this shader has the text for it and one plane may suffice.
bool mayProve() {
    if (indices[slot].shape_a == NO_SHAPE) return false;
    shapeA = loadShape(recordOf(0));
    shapeB = loadShape(recordOf(1));
    // Kinds whose support functions take powers are not compiled in: they take more registers than all the rest.
    bool known = uses(shapes[recordOf(0)].kind) && uses(shapes[recordOf(1)].kind) && shapeA.coreClass != CLASS_NONE &&
                 shapeB.coreClass != CLASS_NONE;
    // In double precision the triangle of a curved surface is not yet small enough.
    bool small = (query.flags & FLAG_DOUBLE) == 0u || arePolytopes();
    uint passes = 8u * (1u + supportPasses(shapeA) + supportPasses(shapeB));
    if (!known || !small || passes > query.loop_limit) return false;
    loadPose(indices[slot]);
    loadGrowth();
    loadGrowthQuery();
    return distanceOfCenters > translationRounding;
}

bool prove() {
    Answer r;
    dvec3 point;
    if (!mayProve() || !proveRow(r, point)) return false;
    double least = (query.flags & FLAG_DOUBLE) == 0u ? leastGap(r.distance, sizes().inradius) : 0.0lf;
    uint status = growthStatus(r, least);
    bool proved = status != DECLINED && loopsCompleted();
    if (proved) writeGrowth(status, SOLVER_GROWTH, max(searches[slot].iterations, 1u), r, point);
    return proved;
}

void main() {
    slot = gl_GlobalInvocationID.x;
    if (slot >= query.rows) return;
    refined = false;
    if (!prove()) continued[addTo(LIST_CONTINUE)] = slot;
}
