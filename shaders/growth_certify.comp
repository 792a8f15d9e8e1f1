// Proves growth distances in double precision: forms the triangle of growth.comp anew from its directions, continues
// the simplex method (growth.glsl) as far as the gap requires, and stores the answer with bounds that include all
// rounding errors (growth_bounds.glsl). Half-spaces are answered in closed form.
//
// Output: columns. A row is declined, and left to another back end, if its kind has no shader (DECLINED_KIND), if its
// support functions exceed the limit on loop passes (DECLINED_LOOPS), or if its bounds stay too wide (DECLINED_GAP).
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices { VertexRecord64 vertices[]; };
layout(std430, binding = 2) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 3) readonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 4) readonly buffer Searches { SearchRecord searches[]; };
layout(std430, binding = 5) buffer Columns { uint words[]; };
layout(std430, binding = 6) readonly buffer Cells { uint cells[]; };
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair_float64.glsl"
#include "store.glsl"
#include "growth.glsl"
#include "growth_bounds.glsl"

// The limit on evaluations in double precision.
const uint MAX_STEPS = 128u;

// The share of the tolerance at which the search ends; rounding takes the rest.
const double TOLERANCE_SHARE = 0.9lf;

uint slot;
uint evaluations;
bool facetFirst; // the normal that single precision found does not meet the tolerance

// initialDirection returns a direction of the search in single precision, in the frame of the ray.
dvec3 initialDirection(uint k) {
    return toRayFrame(dvec3(searches[slot].directions[3u * k], searches[slot].directions[3u * k + 1u],
                            searches[slot].directions[3u * k + 2u]));
}

// decided reports whether bounds of the ray answer the query without the factor: they prove the status where it alone
// is wanted, or a separation beyond the cut-off. The margin is for the rounding that the final bounds include.
bool decided(double crossing, double limit) {
    precise double margin = 4.0lf * (growthRounding + translationRounding) + 1e-14lf * distanceOfCentres;
    bool statusAlone = (query.flags & FLAG_STATUS_ALONE) != 0u, separated = distanceOfCentres > limit + margin;
    if (hasCutOff && separated && distanceOfCentres > cutOff * (limit + margin)) return true;
    return statusAlone && (separated || crossing > distanceOfCentres + margin);
}

// converged reports whether bounds of the ray meet the tolerance.
bool converged(double crossing, double limit) {
    precise double gap = distanceOfCentres * (limit - crossing);
    return gap <= TOLERANCE_SHARE * tolerance * crossing * max(limit, distanceOfCentres);
}

void setSearchVertex(inout Search r, uint k, dvec3 v, dvec2 l, dvec3 a) {
    setVertex(r.t, k, v, l);
    if (k == 0u) r.a0 = a;
    else if (k == 1u) r.a1 = a;
    else r.a2 = a;
}

// searchGrowth continues the search of single precision in at most stepLimit evaluations. Before these it forms the
// triangle anew, or the one in the ball if rounding moves that off the ray. For a half-space there is one evaluation,
// along the vector toward, which sets normal, value and a0. All evaluations use one text of the support functions.
Search searchGrowth(uint stepLimit, bool halfSpace, dvec3 toward) {
    Search r;
    r.t = Triangle(dvec3(0), dvec3(0), dvec3(0), dvec2(0), dvec2(0), dvec2(0));
    r.a0 = r.a1 = r.a2 = dvec3(0);
    bool anew = (searches[slot].count & ((1u << BALL_VERTEX) - 1u)) != 3u;
    r.ballVertices = anew ? 7u : searches[slot].count >> BALL_VERTEX;
    r.normal = dvec3(0, 0, 1);
    r.value = growthRounding / UNIT_ROUNDOFF; // more than the support value along any unit vector
    double crossing = 0.0lf, limit = r.value, previousGap = limit;
    bool smooth_ = hasSmoothSupport(shapeA) && hasSmoothSupport(shapeB);
    bool ofTriangle = false;                       // direction is the normal of the triangle
    uint loaded = halfSpace ? 3u : 0u, steps = 0u; // vertices, and evaluations after that
    dvec3 direction = toward;
    while (steps < stepLimit) {
        bool loading = loaded < 3u;
        if (loading) direction = anew ? ballDirection(loaded) : initialDirection(loaded);
        dvec3 n = unitVector(direction), u = fromRayFrame(n), a, s;
        if (loading && (r.ballVertices >> loaded & 1u) != 0u) {
            precise dvec3 ballPoint = inradius * n, ballPointA = inradiusA * u;
            s = ballPoint;
            a = ballPointA;
        } else {
            s = evaluateSupport(n, u, a);
        }
        bool secant = false;
        if (loading) {
            setSearchVertex(r, loaded, s, n.xy / n.z, a);
            loaded++;
            if (loaded < 3u) continue;
            if (!crossesRay(r.t)) {
                if (anew) break;
                anew = true;
                r.ballVertices = 7u;
                loaded = 0u;
                continue;
            }
            ofTriangle = facetFirst && !anew;
            secant = ofTriangle && smooth_ && r.ballVertices == 0u;
        } else {
            steps++;
            double value = dotProduct(n, s);
            precise double bound = value / n.z;
            if (halfSpace || (n.z > 0.0lf && bound < limit)) {
                limit = bound;
                r.normal = n;
                r.value = value;
            }
            if (halfSpace) {
                r.a0 = fromRayFrame(s);
                break;
            }
            dvec3 facet = normalOf(r.t);
            double beyond = dotProduct(facet, s - r.t.v0);
            if (beyond > 0.0lf && beyond * beyond > growthRounding * growthRounding * squaredNorm(facet)) {
                uint outgoing = outgoingVertex(r.t, s);
                if (outgoing == NO_VERTEX) break;
                setSearchVertex(r, outgoing, s, n.xy / n.z, a);
                r.ballVertices &= ~(1u << outgoing);
                secant = smooth_ && r.ballVertices == 0u;
            } else if (ofTriangle) {
                break;
            }
        }
        crossing = crossingOf(r.t);
        if (converged(crossing, limit) || decided(crossing, limit)) break;
        if (loading && !ofTriangle) { // the normal that single precision found
            direction = initialDirection(3u);
            continue;
        }
        double gap = limit - crossing;
        ofTriangle = !(secant && (ofTriangle || gap < SECANT_PROGRESS * previousGap));
        previousGap = gap;
        n = ofTriangle ? normalOf(r.t) : secantDirection(r.t);
        if (!(n.z > 0.0lf)) break;
        direction = n;
    }
    if (steps > 1u) {
        refined = true;
        evaluations += steps - 1u;
    }
    return r;
}

// halfSpaceAnswer returns the answer for a half-space in closed form: α = max(0, v/h), where v is the distance of the
// centre of the other shape from the plane and h its support function about that centre towards the plane. The witness
// of the half-space is the point where the scaled shape meets it. margin is that of the half-space.
Answer halfSpaceAnswer(Search search, bool first, double margin, dvec3 centre, out dvec3 point) {
    translationRounding += 24.0lf * UNIT_ROUNDOFF * margin;
    inradius = search.value; // both bounds are divided by it
    precise double v = distanceOfCentres * search.normal.z - margin;
    precise double beta = max(v / search.value, 0.0lf);
    precise double lower = (v - translationRounding) / (search.value + growthRounding);
    precise double upper = max(v + translationRounding, 0.0lf) / (search.value - growthRounding);
    precise double up = upper * (1.0lf + 4.0lf * UNIT_ROUNDOFF);
    precise double down = max(lower, 0.0lf) * (1.0lf - 4.0lf * UNIT_ROUNDOFF);
    if (first) {
        precise dvec3 b = distanceOfCentres * rayZ;
        centre = b;
    }
    dvec3 touch = first ? -search.a0 : search.a0;
    precise dvec3 meet = centre + beta * touch, nearest = centre + touch;
    point = meet;
    return Answer(beta, down, up, fromRayFrame(search.normal), first ? meet : nearest, first ? nearest : meet);
}

void main() {
    slot = gl_GlobalInvocationID.x;
    if (slot >= query.rows) return;
    refined = false;
    IndexRecord index = indices[slot];
    uint row = index.row;
    if (index.shape_a == NO_SHAPE) {
        writeStatus(row, STATUS_INVALID, SOLVER_NONE, 0u);
        return;
    }
    shapeA = loadShape(index.shape_a);
    shapeB = loadShape(index.shape_b);
    bool halfA = uses(KIND_HALFSPACE) && shapes[index.shape_a].kind == KIND_HALFSPACE;
    bool halfB = uses(KIND_HALFSPACE) && shapes[index.shape_b].kind == KIND_HALFSPACE;
    if ((shapeA.family == FAMILY_NONE && !halfA) || (shapeB.family == FAMILY_NONE && !halfB)) {
        decline(row, DECLINED_KIND);
        return;
    }
    bool polytopes = isPolytope(shapeA) && isPolytope(shapeB) && shapeA.radius + shapeB.radius == 0.0lf;
    loadPose(index);
    loadGrowth(index);
    loadGrowthQuery(polytopes);
    facetFirst = (query.flags & FLAG_DOUBLE) != 0u;

    uint cost = 1u + supportPasses(shapeA) + supportPasses(shapeB), passLimit = query.loop_limit / cost;
    if (passLimit < 6u) { // three vertices, perhaps the ball instead, and two steps
        decline(row, DECLINED_LOOPS);
        return;
    }
    uint stepLimit = min(MAX_STEPS, passLimit - 4u);
    bool halfSpace = halfA || halfB, coincident = !halfSpace && !(distanceOfCentres > translationRounding);
    evaluations = halfSpace ? 1u : coincident ? 0u : max(searches[slot].iterations, 1u);
    if (query.max_iterations != 0u)
        stepLimit = min(stepLimit, max(query.max_iterations, evaluations) - evaluations + 1u);

    double margin = halfA ? shapeA.radius : shapeB.radius;
    if (halfA) shapeA.radius = 0.0lf;
    if (halfB) shapeB.radius = 0.0lf;
    Search search =
        searchGrowth(coincident ? 0u : stepLimit, halfSpace, halfA ? toRayFrame(dvec3(0, 0, 1)) : -rotation[2]);
    // The compiler cannot tell that this is 0, so it loads the centre and the pose again instead of keeping them in
    // registers during the search.
    uint zero = search.ballVertices >> 3;
    dvec3 centre = growthCentreOf(index.shape_a + zero), point = centre;
    Answer r;
    if (coincident) r = coincidentAnswer(centre);
    else if (halfSpace) r = halfSpaceAnswer(search, halfA, margin, centre, point);
    else r = growthAnswer(search, centre, point);
    uint status = growthStatus(r, halfSpace || coincident || (query.flags & FLAG_DOUBLE) == 0u);
    if (status == DECLINED || !loopsCompleted()) {
        decline(row, status == DECLINED ? DECLINED_GAP : DECLINED_LOOPS);
        return;
    }
    writeStatus(row, status, halfSpace || coincident ? SOLVER_CLOSED_FORM : SOLVER_GROWTH, evaluations);
    writeColumns(row, index.pose_a + zero, r);
    if (query.point != NO_COLUMN) {
        dmat3 ra = rotationMatrix(rotationOf(poses[index.pose_a + zero]));
        writeVector(query.point, row, ra * point + positionOf(poses[index.pose_a + zero]));
    }
}
