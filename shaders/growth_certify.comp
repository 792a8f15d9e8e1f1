// Answers the growth distances that growth_prove.comp leaves, in double precision: forms the triangle of growth.comp
// anew from its directions, continues the simplex method (growth.glsl) as far as the gap requires, and stores the
// answer with bounds that include all rounding errors (growth_bounds.glsl). Half-spaces are answered in closed form.
//
// Input: the directions of growth.comp, by the list of growth_prove.comp; or of all rows where LISTED is 0, as on
// processors, where the answers have the same bits.
//
// Output: columns. A row is declined, and left to another back end, if its kind has no shader (DECLINED_KIND), if its
// support functions exceed the limit on loop passes (DECLINED_LOOPS), or if its bounds stay too wide (DECLINED_GAP).
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 10) const uint LISTED = 1u;

layout(std430, binding = 0) readonly buffer Shapes64 { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices64 { VertexRecord64 vertices[]; };
layout(std430, binding = 2) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 3) readonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 4) readonly buffer Searches { SearchRecord searches[]; };
layout(std430, binding = 5) buffer Columns { uint words[]; };
layout(std430, binding = 6) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 7) buffer Counts { uint counts[]; };
layout(std430, binding = 8) readonly buffer Continued { uint continued[]; }; // slots of LIST_CONTINUE
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair.glsl"
#include "list.glsl"
#include "growth_bounds.glsl"

// The limit on evaluations in double precision.
const uint MAX_STEPS = 128u;

uint evaluations;

Shape shapeOf(int k) {
    Shape s = shapeA;
    if (k == 1) s = shapeB;
    return s;
}

PairSizes kept;
PairSizes sizes() { return kept; }

// Search is the state of the search.
struct Search {
    Triangle t;
    dvec3 a0, a1, a2;  // points of A of its vertices, in the frame of A; of a half-space a0 is the support point of D
    uint ballVertices; // bit k: vertex k is a point of the ball, and its point of A is relative to the center of growth
    dvec3 normal;      // unit, in the frame of the ray, of the least bound of the ray
    double value;      // its support value
};

void setSearchVertex(inout Search r, uint k, dvec3 v, dvec2 l, dvec3 a) {
    setVertex(r.t, k, v, l);
    if (k == 0u) r.a0 = a;
    else if (k == 1u) r.a1 = a;
    else r.a2 = a;
}

// searchGrowth continues the search of single precision in at most stepLimit evaluations. Before these it forms the
// triangle anew, or the triangle in the ball if rounding moves the former off the ray. For a half-space there is one
// evaluation, along the vector toward, which sets normal, value and a0. All evaluations share one call of the support
// functions, which keeps the compiled code small.
Search searchGrowth(uint stepLimit, bool halfSpace, dvec3 toward) {
    Search r;
    r.t = Triangle(dvec3(0), dvec3(0), dvec3(0), dvec2(0), dvec2(0), dvec2(0));
    r.a0 = r.a1 = r.a2 = dvec3(0);
    bool anew = (searches[slot].count & ((1u << BALL_VERTEX) - 1u)) != 3u;
    r.ballVertices = anew ? 7u : searches[slot].count >> BALL_VERTEX;
    r.normal = dvec3(0, 0, 1);
    r.value = sizes().rounding / UNIT_ROUNDOFF; // more than the support value along any unit vector
    double crossing = 0.0lf, limit = r.value, previousGap = limit;
    bool smooth_ = hasSmoothSupport(shapeA) && hasSmoothSupport(shapeB);
    bool ofTriangle = false;                       // direction is the normal of the triangle
    uint loaded = halfSpace ? 3u : 0u, steps = 0u; // vertices, and evaluations after that
    dvec3 direction = toward;
    while (steps < stepLimit) {
        bool loading = loaded < 3u;
        if (loading) direction = anew ? ballDirection(loaded) : initialDirection(loaded);
        dvec3 n = unitVector(direction), a, s;
        if (loading && (r.ballVertices >> loaded & 1u) != 0u) {
            precise dvec3 ballPoint = sizes().inradius * n, ballPointA = sizes().inradiusA * fromRayFrame(n);
            s = ballPoint;
            a = ballPointA;
        } else {
            s = evaluateSupport(n, false, a);
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
            ofTriangle = (query.flags & FLAG_DOUBLE) != 0u && !anew; // exact for polytopes
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
            if (isBeyond(r.t, s)) {
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
        if (ended(crossing, limit)) break;
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
// center of the other shape from the plane and h its support function about that center towards the plane. The witness
// of the half-space is the point where the scaled shape meets it. margin is the margin of the half-space.
Answer halfSpaceAnswer(Search search, bool first, double margin, dvec3 center, out dvec3 point) {
    translationRounding += 24.0lf * UNIT_ROUNDOFF * margin;
    precise double v = distanceOfCenters * search.normal.z - margin;
    precise double beta = max(v / search.value, 0.0lf);
    precise double lower = (v - translationRounding) / (search.value + sizes().rounding);
    precise double upper = max(v + translationRounding, 0.0lf) / (search.value - sizes().rounding);
    precise double up = upper * (1.0lf + 4.0lf * UNIT_ROUNDOFF);
    precise double down = max(lower, 0.0lf) * (1.0lf - 4.0lf * UNIT_ROUNDOFF);
    if (first) {
        precise dvec3 b = distanceOfCenters * rayZ;
        center = b;
    }
    dvec3 touch = first ? -search.a0 : search.a0;
    precise dvec3 meet = center + beta * touch, nearest = center + touch;
    point = meet;
    return Answer(beta, down, up, fromRayFrame(search.normal), first ? meet : nearest, first ? nearest : meet);
}

// coincidentAnswer returns the answer where rounding cannot separate the centers: the factor 0, no normal, and the
// centers as witnesses.
Answer coincidentAnswer(dvec3 center) {
    precise double upper =
        (distanceOfCenters + translationRounding) / sizes().inradius * (1.0lf + 4.0lf * UNIT_ROUNDOFF);
    precise dvec3 b = center + distanceOfCenters * rayZ;
    return Answer(0.0lf, 0.0lf, upper, dvec3(0), center, b);
}

bool withHalfSpace() { return isHalfSpace(0) || isHalfSpace(1); }
bool isCoincident() { return !withHalfSpace() && !(distanceOfCenters > translationRounding); }

// begin loads the row and returns the limit on its steps. It answers rows without a pair, declines those that cannot be
// answered, and reports whether the row is neither.
bool begin(out uint stepLimit) {
    uint row = indices[slot].row, declined = 0u;
    stepLimit = 0u;
    if (indices[slot].shape_a == NO_SHAPE) {
        writeStatus(row, STATUS_INVALID, SOLVER_NONE, 0u);
        return false;
    }
    shapeA = loadShape(recordOf(0));
    shapeB = loadShape(recordOf(1));
    kept = loadSizes();
    loadPose(indices[slot]);
    loadGrowth();
    loadGrowthQuery();
    uint cost = 1u + supportPasses(shapeA) + supportPasses(shapeB), passLimit = query.loop_limit / cost;
    if ((shapeA.coreClass == CLASS_NONE && !isHalfSpace(0)) || (shapeB.coreClass == CLASS_NONE && !isHalfSpace(1)))
        declined = DECLINED_KIND;
    else if (passLimit < 6u) // three vertices, perhaps the ball instead, and two steps
        declined = DECLINED_LOOPS;
    if (declined != 0u) decline(row, declined);
    evaluations = withHalfSpace() ? 1u : isCoincident() ? 0u : max(searches[slot].iterations, 1u);
    stepLimit = min(MAX_STEPS, passLimit - 4u);
    if (query.max_iterations != 0u)
        stepLimit = min(stepLimit, max(query.max_iterations, evaluations) - evaluations + 1u);
    if (isCoincident()) stepLimit = 0u;
    return declined == 0u;
}

// storeAnswer stores what the search proves, or declines the row.
void storeAnswer(Search search) {
    bool halfSpace = withHalfSpace(), coincident = isCoincident();
    dvec3 center = sizes().centerA, point = center;
    double divisor = sizes().inradius; // of both bounds
    Answer r;
    if (coincident) {
        r = coincidentAnswer(center);
    } else if (halfSpace) {
        double margin = shapes[recordOf(isHalfSpace(0) ? 0 : 1)].radius;
        r = halfSpaceAnswer(search, isHalfSpace(0), margin, center, point);
        divisor = search.value;
    } else {
        dvec3 w = weightsOnRay(search.t);
        precise dvec3 a =
            weightedSum(w, search.a0, search.a1, search.a2) + weightOfBall(w, search.ballVertices) * center;
        r = growthAnswer(weightedSum(w, search.t.v0, search.t.v1, search.t.v2), a, search.normal, search.value, point);
    }
    bool exact = !halfSpace && !coincident && (query.flags & FLAG_DOUBLE) != 0u;
    uint status = growthStatus(r, exact ? 0.0lf : leastGap(r.distance, divisor));
    if (status == DECLINED || !loopsCompleted()) {
        decline(indices[slot].row, status == DECLINED ? DECLINED_GAP : DECLINED_LOOPS);
        return;
    }
    writeGrowth(status, halfSpace || coincident ? SOLVER_CLOSED_FORM : SOLVER_GROWTH, evaluations, r, point);
}

void main() {
    slot = gl_GlobalInvocationID.x;
    if (slot >= (LISTED != 0u ? rowsIn(LIST_CONTINUE) : query.rows)) return;
    if (LISTED != 0u) slot = continued[slot];
    refined = false;
    uint stepLimit;
    if (!begin(stepLimit)) return;
    storeAnswer(searchGrowth(stepLimit, withHalfSpace(), isHalfSpace(0) ? toRayFrame(dvec3(0, 0, 1)) : -rotation[2]));
}
