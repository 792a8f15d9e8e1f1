// Depth certificates, for the rows of the list of DepthRecords for which trust_region.comp left a local minimum of the
// support function. See depth.glsl.
//
// Output: columns, and DEPTH_ANSWERED in the records of the rows that are proved. depth.comp takes the others.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "depth.glsl"

layout(constant_id = 1) const uint METHOD = METHOD_RTR;

// Certificate that a local minimum of the support function of D = A - B is global, so that it is the penetration depth
// of curved cores.
//
// A local minimum along n, found by the trust region method [RTR, Alg. 2], is the least support value in a spherical
// cap around n by lower bounds of the Hessian (hessian_bounds.glsl). A polytope bounds the support values along all
// other directions.
//
// Invariant: the polytope has an apex n·L√(1 + t²), which is no point of D, for a cap of size t around n; all other
// vertices are points of D. Once the ball of radius L is inside, every direction has a vertex with a support value of
// at least L. If that is the apex, the direction is within atan(t) of n, hence in the cap; otherwise the vertex is a
// point of D. So the support value of D is at least L along all directions.
//
// If a face finds a support value of D below L, there is another minimum, and the trust region method starts from that
// face. The new L is smaller. The apices of earlier minima are scaled by the same ratio, which keeps the angles of
// their caps, and the polytope is rebuilt from all vertices.
//
// The certificate fails, and EPA begins, after MAX_MINIMA minima or CERTIFICATE_VERTICES vertices, if a search for
// another minimum ends at a direction that is not stationary, or if rounding stops the polytope.

#include "hessian_bounds.glsl"

const uint MAX_MINIMA = 4u;            // as the kernels; ref has 6, where no other row waits
const uint CERTIFICATE_VERTICES = 96u; // at most VERTICES

const double NARROWEST_CAP = 0.02lf;

// The bound to be proved is below the minimum by this share of the gap.
const double PROOF_SHARE = 0.9lf;

// Where a support value exceeds the minimum by less than 2 %, more than 25 degrees from it, there is usually another
// minimum, as shapes are symmetric. It gets an apex of its own.
const double NEAR_MINIMUM = 1.02lf, SAME_MINIMUM_COSINE = 0.9lf;

// The loop passes of the polytope, as SWEEP_PASSES.
const uint CERTIFICATE_PASSES = CERTIFICATE_VERTICES * CERTIFICATE_VERTICES / 2u + 16u * CERTIFICATE_VERTICES;

double minimumValue;  // support value of the least minimum found
double targetBound;   // to be proved of all faces
double apexScale;     // ratio of targetBound to its value when the polytope was built
double startTangent;  // tangent of the angle between the first three directions and the minimum
uint startVertices;   // vertices of the first tetrahedron so far, with numbers 0 to 3
uint storedVertices;  // vertices in memory; those from vertexCount on are not part of the polytope yet
uint minimumCount;    // minima searched for
bool minimumDue;      // a search for a minimum is due
bool minimumRequired; // the certificate fails if it finds none
bool rebuildPolytope; // the polytope is to be rebuilt

// The least minimum in memory: its direction with the norm of the gradient, the basis of the tangent plane, the support
// point of D and its point of A.
const uint MINIMUM = SEARCH_QUADS + 3u;
void setMinimum(Iterate p) {
    setRowQuad(MINIMUM, p.x, p.gradientNorm);
    setRowQuad(MINIMUM + 1u, p.e, 0.0lf);
    setRowQuad(MINIMUM + 2u, p.f, 0.0lf);
    setRowQuad(MINIMUM + 3u, p.w, 0.0lf);
    setRowQuad(MINIMUM + 4u, p.a, 0.0lf);
}

// The iterate of a search, and of the cap around it.
const uint ITERATE = SEARCH_QUADS + 10u;
void keepIterate(Iterate p) {
    setRowQuad(ITERATE, p.x, p.h);
    setRowQuad(ITERATE + 1u, p.e, p.g.x);
    setRowQuad(ITERATE + 2u, p.f, p.g.y);
    setRowQuad(ITERATE + 3u, p.w, p.gradientNorm);
    setRowQuad(ITERATE + 4u, p.a, 0.0lf);
    setRowQuad(ITERATE + 5u, p.hessian, 0.0lf);
}
void recallIterate(inout Iterate p) {
    p.x = rowVector(ITERATE);
    p.h = rowNumber(ITERATE);
    p.e = rowVector(ITERATE + 1u);
    p.f = rowVector(ITERATE + 2u);
    p.g = dvec2(rowNumber(ITERATE + 1u), rowNumber(ITERATE + 2u));
    p.w = rowVector(ITERATE + 3u);
    p.gradientNorm = rowNumber(ITERATE + 3u);
    p.a = rowVector(ITERATE + 4u);
    p.hessian = rowVector(ITERATE + 5u);
}

// The source of an apex, where other vertices have their point of A.
const double APEX = FAR;

void storeVertex(dvec3 w, dvec3 a) { setVertex(storedVertices++, w, a); }

// beginCertificate sets the state before the first minimum.
void beginCertificate() {
    minimumDue = true;
    minimumRequired = true;
    rebuildPolytope = true;
    minimumCount = 0u;
    startVertices = 0u;
    storedVertices = 4u;
    minimumValue = FAR;
    targetBound = FAR;
}

// givenMinimum returns the minimum that trust_region.comp found: its support point, and what follows from it.
Iterate givenMinimum() {
    recallPair();
    Iterate p;
    p.x = simplexVertex(1u);
    tangentBasis(p.x, p.e, p.f);
    precise dvec3 w = simplexVertex(0u) + (shapeA.erode + shapeB.erode) * p.x;
    precise dvec3 a = simplexPointA(0u) + shapeA.erode * p.x;
    p.w = w;
    p.a = a;
    p.hessian = dvec3(0); // not used
    p.h = dotProduct(p.x, w);
    p.g = dvec2(dotProduct(p.e, w), dotProduct(p.f, w));
    p.gradientNorm = squareRoot(dotProduct2(p.g, p.g));
    return p;
}

// findMinimum takes the given minimum, or searches for one in at most evaluationLimit evaluations, and stores its apex,
// or its support point where there is no cap. It returns false if a minimum is required and none is found.
bool findMinimum(uint evaluationLimit, out uint stepsTaken) {
    minimumDue = false;
    apexScale = 1.0lf; // the polytope was rebuilt with the previous scale
    uint previous = evaluations;
    if (minimumCount == 0u) keepIterate(givenMinimum());
    else
        trustRegion(normalized(normalOf(nearestFace)), distanceGap, supportRounding, -4.0lf * largestLength,
                    evaluationLimit, evaluations);
    stepsTaken = evaluations - previous + CAP_ATTEMPTS + 1u;
    Iterate p;
    recallIterate(p);
    recallPair();
    double erode = shapeA.erode + shapeB.erode;
    precise double h = p.h - erode;
    minimumCount++;
    if (storedVertices == CERTIFICATE_VERTICES || !finite3(p.w) || !(p.gradientNorm <= 0.5lf * depthGap) ||
        !(h > 16.0lf * supportRounding + depthGap))
        return !minimumRequired;
    if (h < minimumValue) {
        precise double low = h - PROOF_SHARE * depthGap;
        if (targetBound < FAR) apexScale = low / targetBound;
        minimumValue = h;
        setMinimum(p);
        targetBound = low;
        rebuildPolytope = true;
        if (minimumCount > 1u) // the loop passes of rebuilding the polytope, converted to steps
            stepsTaken += 1u + (storedVertices * storedVertices / 2u + 16u * storedVertices) / passesPerStep();
    }
    double t = capSize(h, targetBound);
    recallPair();
    recallIterate(p);
    erode = shapeA.erode + shapeB.erode;
    precise dvec3 apex = targetBound / apexScale * apexLength(t) * p.x;
    precise dvec3 w = p.w - erode * p.x, a = p.a - shapeA.erode * p.x;
    // The bound is tightest just outside of the cap; without a cap, faces may be as flat as the gap permits.
    startTangent = max(max(NARROWEST_CAP, t), min(0.5lf, squareRoot(depthGap / h)));
    if (t >= NARROWEST_CAP) storeVertex(apex, dvec3(APEX));
    else storeVertex(w, a);
    return true;
}

// isAbove reports whether w is above face f.
bool isAbove(uint f, dvec3 w) {
    return f < faceCount && offsetOf(f) < FAR && dotProduct(normalOf(f), w) > maxOffsetOf(f);
}

// isVisible reports whether w is above some face.
bool isVisible(dvec3 w) {
    bool visible = false;
    for (uint f = 0u; f < faceCount && !visible; f += 4u)
        visible = isAbove(f, w) || isAbove(f + 1u, w) || isAbove(f + 2u, w) || isAbove(f + 3u, w);
    return visible;
}

// addStoredVertices adds the stored vertices to the polytope, which it rebuilds if that is due. It returns false if
// the polytope fails.
bool addStoredVertices() {
    if (rebuildPolytope) {
        for (uint v = 0u; v < storedVertices; v++) {
            dvec3 source = sourceOf(v), w = vertexOf(v);
            setVertex(v, source.x == APEX ? apexScale * w : w, source);
        }
        rebuildPolytope = false;
        if (!startTetrahedron(false)) return false;
    }
    while (vertexCount < storedVertices) {
        vertexCount++;
        dvec3 w = vertexOf(vertexCount - 1u);
        if (isVisible(w) && !expand(w)) return false;
    }
    return true;
}

// nextDirection returns the direction of the next vertex: three around the minimum, the opposite one, and then the
// normal of the nearest face.
dvec3 nextDirection() {
    if (startVertices == 4u) return normalOf(nearestFace);
    if (startVertices == 3u) return -rowVector(MINIMUM);
    const double HALF_ROOT3 = 0.8660254037844386lf;
    dvec2 r = startVertices == 0u ? dvec2(1, 0) : dvec2(-0.5lf, startVertices == 1u ? HALF_ROOT3 : -HALF_ROOT3);
    precise dvec3 d =
        rowVector(MINIMUM) + startTangent * (r.x * rowVector(MINIMUM + 1u) + r.y * rowVector(MINIMUM + 2u));
    return normalized(d);
}

// takeVertex takes the support point w along nextDirection, with its point a of A. It returns false if the certificate
// fails.
bool takeVertex(dvec3 w, dvec3 a) {
    if (startVertices < 4u) {
        setVertex(startVertices++, w, a);
        return true;
    }
    dvec3 n = normalOf(nearestFace);
    double value = dotProduct(n, w);
    if (storedVertices == CERTIFICATE_VERTICES || !(squaredNorm(n) > 0.5lf)) return false;
    minimumRequired = value < targetBound;
    minimumDue =
        minimumRequired || (value < NEAR_MINIMUM * minimumValue &&
                            dotProduct(n, rowVector(MINIMUM)) < SAME_MINIMUM_COSINE && minimumCount < MAX_MINIMA);
    if ((minimumRequired && minimumCount == MAX_MINIMA) || (!minimumRequired && !(value > maxOffsetOf(nearestFace))))
        return false;
    storeVertex(w, a);
    return true;
}

// certified reports whether the bound is proved along all directions. It sets the result.
bool certified() {
    if (!(leastOffset >= targetBound)) return false;
    recallPair();
    dvec3 x = rowVector(MINIMUM);
    double gradientNorm = rowNumber(MINIMUM);
    precise double low = min(targetBound, minimumValue - gradientNorm);
    precise dvec3 w = rowVector(MINIMUM + 3u) - (shapeA.erode + shapeB.erode) * x;
    precise dvec3 a = rowVector(MINIMUM + 4u) - shapeA.erode * x;
    setResult(CoreDepth(minimumValue, low, gradientNorm, x, w, a));
    return true;
}

// certifyMinimum proves the depth in `limit` steps at most. It returns false where it gives up, after `steps`.
bool certifyMinimum(uint limit, out uint steps) {
    beginCertificate();
    for (steps = 0u; steps < limit; steps++) {
        if (minimumDue) {
            uint stepsTaken;
            bool found = findMinimum(limit - steps, stepsTaken);
            steps += stepsTaken;
            if (!found || steps >= limit) return false;
        }
        if (startVertices == 4u) {
            if (!addStoredVertices()) return false;
            if (certified()) return true;
        }
        dvec3 a, w = supportOfDifference(nextDirection(), a);
        if (!takeVertex(w, a)) return false;
    }
    return false;
}

void main() {
    if (!takeItem() || depths[item].faces != DEPTH_STATIONARY) return;
    IndexRecord index = indices[depths[item].slot];
    loadRow(index);
    uint steps;
    bool found = certifyMinimum(stepLimit(ROW_STEPS, CERTIFICATE_PASSES), steps);
    if (found && loopsCompleted() && writeAnswer(index, SOLVER_RTR)) {
        depths[item].faces = DEPTH_ANSWERED;
        return;
    }
    depths[item].iterations = evaluations;
    depths[item].corners[0] = steps;
}
