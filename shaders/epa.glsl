// The expanding polytope algorithm [VanDenBergen2001] in double precision, for one row, from the simplex of any rank
// with which GJK ended.
//
// Bounds, those of ref.EPA. From above, the support plane along the normal of the nearest face. From below, the faces.
// The surface is closed by construction, see polytope.glsl. If every face has its three vertices on the outer side of
// the plane through the origin, by more than rounding, the origin sees every face with the same sign, so the solid
// angles cannot cancel: the surface winds around the origin. A ball around the origin that meets no face is then inside
// the surface, hence part of the convex hull of the vertices, and of D. Neither bound requires a convex polytope.
//
// While the offset of some face is not above rounding, the origin may be outside. Then the nearest point of that face
// bounds the distance from above, and the support plane bounds it from below.
//
// The including file defines, before the include,
//     dvec3 simplexVertex(uint k)    // vertex k of the simplex
//     dvec3 simplexPointA(uint k)    // its point of A
//     double simplexWeight(uint k)   // its weight in the point of the simplex nearest to the origin
//     uint float32Faces()            // the number of faces that epa_float32.comp found to be possibly nearest
//     uint float32Corner(uint k)     // the corners of the cores of their vertices, three per face
//     double float32Others()         // a lower bound of the offsets of all other faces
//     bool float32Fits(double value) // whether the least offset agrees with that in single precision
//     bool minimumGiven()            // whether trust_region.comp left a stationary direction
//     dvec3 minimumDirection()       // that direction; the simplex is its support point
// minimumGiven may hold only where DEPTH_CERTIFICATE is defined, which requires the definitions of trust_region.glsl.
//
// The search gives up, and the row is declined, where the polytope fills its memory, more than MAX_SET_ASIDE faces
// cannot be expanded because of rounding, or D is flat and the flat bounds are too wide.

#ifndef CLEARANCE_EPA_GLSL
#define CLEARANCE_EPA_GLSL

#include "core_depth.glsl"
#include "pair_float64.glsl"
#include "polytope.glsl"

// The limit on faces that cannot be expanded because of rounding; more indicate a flat D.
const uint MAX_SET_ASIDE = 16u;

// The loop passes of the polytope itself; support functions have the rest of the limit. Sweeps take VERTICES²/4 in
// total, walks along the horizon about 16 per step, proofs of single precision a few for each of their vertices.
const uint SWEEP_PASSES = VERTICES * VERTICES / 4u + 64u * VERTICES + 16u * FLOAT32_FACES;

uint evaluations;
bool fromMinimum = false; // the answer is to rest on a local minimum, see depth_certificate.glsl
double depthGap;          // gap of computed bounds that a depth may have, as distanceGap for distances

// differenceVertex returns the vertex of D of two points of the cores that are support points along d and -d, and its
// point of A.
dvec3 differenceVertex(dvec3 coreA, dvec3 coreB, dvec3 d, out dvec3 pointA) {
    precise dvec3 a = coreA - shapeA.erode * d;
    precise dvec3 b = rotation * coreB + translation + shapeB.erode * d;
    precise dvec3 w = a - b;
    pointA = a;
    return w;
}

// supportOfDifference returns the support point of D along the unit vector d, and its point of A.
dvec3 supportOfDifference(dvec3 d, out dvec3 pointA) {
    precise dvec3 rotated = d * rotation;
    dvec3 coreA, coreB = dvec3(0);
    for (int k = 0; k < 2; k++) { // both shapes by one text of the support functions: half the code
        Shape s = shapeA;
        dvec3 v = d;
        if (k == 1) {
            s = shapeB;
            v = -rotated;
        }
        coreA = coreB;
        coreB = coreSupport(s, v);
    }
    evaluations++;
    return differenceVertex(coreA, coreB, d, pointA);
}

// passesPerStep bounds the loop passes of a step.
uint passesPerStep() { return 3u + supportPasses(shapeA) + supportPasses(shapeB); }

#ifdef DEPTH_CERTIFICATE
#include "depth_certificate.glsl"
#endif

dvec3 combine(dvec3 l, dvec3 a, dvec3 b, dvec3 c) {
    precise dvec3 x = l.x * a + l.y * b + l.z * c;
    return x;
}

// closestOnFace sets the barycentric weights of the point of face f closest to q, and returns its distance
// [Ericson2004, sec. 5.1.5].
double closestOnFace(uint f, dvec3 q, out dvec3 l) {
    uint corners = cornersOf(f);
    dvec3 a = vertexOf(cornerOf(corners, 0u)), b = vertexOf(cornerOf(corners, 1u)), c = vertexOf(cornerOf(corners, 2u));
    precise dvec3 ab = b - a, ac = c - a, aq = q - a, bq = q - b, cq = q - c;
    double d1 = dotProduct(ab, aq), d2 = dotProduct(ac, aq), d3 = dotProduct(ab, bq), d4 = dotProduct(ac, bq);
    double d5 = dotProduct(ab, cq), d6 = dotProduct(ac, cq);
    precise double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    precise double x, y, z; // of a, b, c
    // clang-format off
    if (d1 <= 0.0lf && d2 <= 0.0lf) { x = 1.0lf; y = 0.0lf; z = 0.0lf; }
    else if (d3 >= 0.0lf && d4 <= d3) { x = 0.0lf; y = 1.0lf; z = 0.0lf; }
    else if (d6 >= 0.0lf && d5 <= d6) { x = 0.0lf; y = 0.0lf; z = 1.0lf; }
    else if (vc <= 0.0lf && d1 >= 0.0lf && d3 <= 0.0lf) { y = d1 / (d1 - d3); x = 1.0lf - y; z = 0.0lf; }
    else if (vb <= 0.0lf && d2 >= 0.0lf && d6 <= 0.0lf) { z = d2 / (d2 - d6); x = 1.0lf - z; y = 0.0lf; }
    else if (va <= 0.0lf) { z = (d4 - d3) / ((d4 - d3) + (d5 - d6)); y = 1.0lf - z; x = 0.0lf; }
    // clang-format on
    else {
        precise double sum = va + vb + vc;
        y = vb / sum;
        z = vc / sum;
        x = 1.0lf - y - z;
    }
    l = dvec3(x, y, z);
    return norm(q - combine(l, a, b, c));
}

// lowerOffset returns a lower bound of the distance of face f from the origin: the least support value of its corners
// along its point with weights l. Rounding errors of the weights of a thin face make it smaller, never larger.
double lowerOffset(uint f, dvec3 l) {
    uint corners = cornersOf(f);
    dvec3 a = vertexOf(cornerOf(corners, 0u)), b = vertexOf(cornerOf(corners, 1u)), c = vertexOf(cornerOf(corners, 2u));
    dvec3 q = combine(l, a, b, c);
    double length_ = norm(q);
    precise double lower = min(dotProduct(q, a), min(dotProduct(q, b), dotProduct(q, c))) / length_;
    return length_ > 0.0lf ? lower : 0.0lf;
}

// setWitnesses sets the witnesses to the point of face f with the weights l.
void setWitnesses(uint f, dvec3 l, inout CoreDepth r) {
    uint corners = cornersOf(f), i = cornerOf(corners, 0u), j = cornerOf(corners, 1u), k = cornerOf(corners, 2u);
    r.point = combine(l, vertexOf(i), vertexOf(j), vertexOf(k));
    r.pointA = combine(l, sourceOf(i), sourceOf(j), sourceOf(k));
    precise dvec3 residual = r.point - r.upper * r.axis;
    r.witnessGap = norm(residual);
}

// findWitnesses finds the point of the surface that is closest to the projection of the origin on the support plane
// found along face f. Of several coplanar faces one contains it.
void findWitnesses(uint f, double gap, inout CoreDepth r) {
    precise dvec3 projection = offsetOf(f) * r.axis;
    dvec3 l, weights;
    uint closestFace = f;
    double witnessGap = closestOnFace(f, projection, weights), limit = offsetOf(f) + gap;
    for (uint g = 0u; g < faceCount && witnessGap > 0.5lf * gap; g++) {
        if (g == f || !(offsetOf(g) <= limit)) continue;
        double d = closestOnFace(g, projection, l);
        if (d < witnessGap) {
            witnessGap = d;
            closestFace = g;
            weights = l;
        }
    }
    setWitnesses(closestFace, weights, r);
}

// boundsSuffice reports whether bounds of the cores answer a query that requires no gap.
bool boundsSuffice(double upper, double lower) {
    double separation = -upper - radius - supportRounding;
    if (booleanQuery) return separation > 0.0lf || -lower - radius + supportRounding < 0.0lf;
    return hasCutOff && separation > cutOff;
}

// Outcomes of a step.
const uint OPEN = 0u, FOUND = 1u, LOST = 2u;

// takeSupport takes the support point w along the nearest face, with its point a of A. A polytope that was loaded from
// single precision lacks faces, so it cannot be expanded.
uint takeSupport(dvec3 w, dvec3 a, bool recalled, inout uint setAside, out CoreDepth r) {
    uint f = nearestFace;
    r.axis = normalOf(f);
    r.upper = dotProduct(r.axis, w);
    r.lower = leastOffset;
    bool outside = !(leastOffset > supportRounding), degenerate = !(squaredNorm(r.axis) > 0.5lf);
    double gap = outside ? distanceGap : depthGap, maxOffset = maxOffsetOf(f);
    dvec3 l = dvec3(0);
    if (outside) {
        bool last = r.upper <= gap || (!degenerate && boundsSuffice(r.upper, -largestLength));
        r.lower = last ? -closestOnFace(f, dvec3(0), l) : -largestLength;
    }
    if (!degenerate && (r.upper - r.lower <= gap || boundsSuffice(r.upper, r.lower))) {
        if (outside) setWitnesses(f, l, r);
        else findWitnesses(f, gap, r);
        if (r.witnessGap <= gap || boundsSuffice(r.upper, r.lower)) return FOUND;
    }
    if (recalled) return LOST;
    if (!degenerate && r.upper > maxOffset) {
        if (vertexCount == VERTICES) return LOST;
        setVertex(vertexCount++, w, a);
        return expand(w) ? OPEN : LOST;
    }
    // The face cannot be expanded. If it is thin, the triangle itself gives a better bound than its plane.
    closestOnFace(f, dvec3(0), l);
    double offset = lowerOffset(f, l);
    if (++setAside > MAX_SET_ASIDE || outside || !(offset > leastOffset + gap)) return LOST;
    raiseOffset(f, offset);
    return OPEN;
}

// The search for an initial tetrahedron: each vertex is the one farthest from the affine hull of those before, among
// the vertices of the simplex and the support points along and against the axes.
dvec3 axis0, axis1, axis2; // orthonormal; the first vertexCount - 1 span the affine hull
double farthest;
dvec3 farthestVertex, farthestPointA;
double leastWidth;    // least support value along the axes that do not span the affine hull
dvec3 leastWidthAxis; // its direction

dvec3 axisOf(uint k) { return k == 0u ? axis0 : k == 1u ? axis1 : axis2; }

// orthogonalPart returns the part of v orthogonal to the affine hull.
dvec3 orthogonalPart(dvec3 v) {
    precise dvec3 r = v;
    if (vertexCount > 1u) r -= dotProduct(r, axis0) * axis0;
    if (vertexCount > 2u) r -= dotProduct(r, axis1) * axis1;
    return r;
}

void considerVertex(dvec3 w, dvec3 a) {
    double d = norm(orthogonalPart(w - vertexOf(0u)));
    if (d > farthest) {
        farthest = d;
        farthestVertex = w;
        farthestPointA = a;
    }
}

// takeFarthest adds the farthest vertex and rotates the axes so that they span the new affine hull.
void takeFarthest() {
    precise dvec3 v = orthogonalPart(farthestVertex - vertexOf(0u));
    v = v / norm(v);
    v = orthogonalPart(v); // the second pass removes the rounding of the first, as two are sufficient
    v = v / norm(v);
    if (vertexCount == 1u) {
        axis0 = v;
        dvec3 e = cross(v, abs(v.x) > 0.6lf ? dvec3(0, 1, 0) : dvec3(1, 0, 0));
        precise dvec3 first = e / norm(e);
        precise dvec3 second = cross(v, first);
        axis1 = first;
        axis2 = second;
    } else if (vertexCount == 2u) {
        axis1 = v;
        precise dvec3 e = cross(axis0, axis1);
        axis2 = e / norm(e);
    }
    setVertex(vertexCount++, farthestVertex, farthestPointA);
    farthest = 0.0lf;
    leastWidth = FAR;
}

// flatDepth answers for a D without extent along some axis: the depth is at most the support value along it, and the
// distance at most that of the nearest point of the simplex.
bool flatDepth(uint n, out CoreDepth r) {
    precise dvec3 point = dvec3(0), pointA = dvec3(0);
    for (uint k = 0u; k < n; k++) {
        point += simplexWeight(k) * simplexVertex(k);
        pointA += simplexWeight(k) * simplexPointA(k);
    }
    precise dvec3 residual = point - leastWidth * leastWidthAxis;
    r = CoreDepth(leastWidth, -norm(point), norm(residual), leastWidthAxis, point, pointA);
    return r.upper - r.lower <= distanceGap && r.witnessGap <= distanceGap;
}

// startFromSimplex begins with a simplex of n vertices. It returns whether that is a tetrahedron; if not, one is
// searched for, starting with the first vertex.
bool startFromSimplex(uint n) {
    for (uint k = 0u; k < n; k++) setVertex(k, simplexVertex(k), simplexPointA(k));
    if (n == 4u && startTetrahedron(false)) return true;
    setVertex(0u, simplexVertex(0u), simplexPointA(0u));
    vertexCount = 1u;
    axis0 = dvec3(1, 0, 0);
    axis1 = dvec3(0, 1, 0);
    axis2 = dvec3(0, 0, 1);
    farthest = 0.0lf;
    leastWidth = FAR;
    return false;
}

// loadFloat32Faces forms the faces that single precision found to be nearest. They are not connected; the others are
// known to have an offset of leastOffset at least. Their offsets prove the depth as those of a complete polytope do;
// epa_float32.comp proves that the surface winds around the origin. It returns false if the faces are not where single
// precision saw them.
bool loadFloat32Faces(uint count) {
    vertexCount = 3u * count;
    faceCount = count;
    leastOffset = FAR;
    nearestFace = 0u;
    for (uint v = 0u; v < vertexCount; v++) {
        uint corner = float32Corner(v);
        dvec3 pointA, w;
        if ((corner & SIMPLEX_CORNERS) == SIMPLEX_CORNERS) {
            w = simplexVertex(corner & 3u);
            pointA = simplexPointA(corner & 3u);
        } else {
            dvec3 p = cornerPosition(shapeA, corner & 0xffffu), q = cornerPosition(shapeB, corner >> 16);
            w = differenceVertex(p, q, dvec3(0), pointA);
        }
        setVertex(v, w, pointA);
    }
    for (uint f = 0u; f < faceCount; f++) { addFace(f, uvec3(3u * f, 3u * f + 1u, 3u * f + 2u), uvec3(0)); }
    bool consistent = float32Fits(leastOffset);
    leastOffset = min(leastOffset, float32Others());
    return consistent;
}

// searchDepth answers for the cores in evaluationLimit evaluations at most: from the result of single precision or of
// trust_region.comp, and if that proves nothing, from a simplex of n vertices. It returns false where it gives up. All
// parts use one text of the support functions, hence one loop.
bool searchDepth(uint n, uint evaluationLimit, out CoreDepth r) {
    provedFromFloat32 = float32Faces() > 0u && loadFloat32Faces(float32Faces());
    fromMinimum = minimumGiven();
#ifdef DEPTH_CERTIFICATE
    if (fromMinimum) beginCertificate();
#endif
    bool restart = !provedFromFloat32 && !fromMinimum, extending = false;
    uint setAside = 0u, sideCount = 0u, outcome = OPEN;
    for (uint k = 0u; k < evaluationLimit && outcome == OPEN; k++) {
#ifdef DEPTH_CERTIFICATE
        if (fromMinimum && minimumDue) {
            uint spent;
            fromMinimum = findMinimum(evaluationLimit - k, spent);
            k += spent;
            restart = !fromMinimum;
            if (k >= evaluationLimit) break;
        }
        if (fromMinimum && startVertices == 4u) {
            fromMinimum = addPendingVertices();
            restart = !fromMinimum;
            if (fromMinimum && certified(r)) return true;
        }
#endif
        if (restart) extending = !startFromSimplex(n);
        restart = false;
        dvec3 a, d = extending ? axisOf(vertexCount - 1u + sideCount / 2u) : normalOf(nearestFace);
        if (extending && (sideCount & 1u) != 0u) d = -d;
#ifdef DEPTH_CERTIFICATE
        if (fromMinimum) d = nextDirection();
#endif
        dvec3 w = supportOfDifference(d, a);
#ifdef DEPTH_CERTIFICATE
        if (fromMinimum) {
            fromMinimum = takeVertex(w, a);
            restart = !fromMinimum;
            continue;
        }
#endif
        if (!extending) {
            outcome = takeSupport(w, a, provedFromFloat32, setAside, r);
            if (provedFromFloat32 && outcome != FOUND) {
                provedFromFloat32 = false;
                restart = true;
                outcome = OPEN;
            }
            continue;
        }
        considerVertex(w, a);
        if (dotProduct(d, w) < leastWidth) {
            leastWidth = dotProduct(d, w);
            leastWidthAxis = d;
        }
        sideCount++;
        if (sideCount < 2u * (4u - vertexCount)) continue;
        for (uint i = 0u; i < n; i++) considerVertex(simplexVertex(i), simplexPointA(i));
        if (!(farthest > 0.5lf * distanceGap)) return flatDepth(n, r);
        takeFarthest();
        sideCount = 0u;
        if (vertexCount == 4u) {
            startTetrahedron(true);
            extending = false;
        }
    }
    return outcome == FOUND;
}

// stepLimit returns the largest number of evaluations of the support function for a row that its limit on loop passes
// permits, 0 if that is too small.
uint stepLimit(uint budget) {
    uint sweeps = SWEEP_PASSES, limit = VERTICES + MAX_SET_ASIDE + 16u;
#ifdef DEPTH_CERTIFICATE
    sweeps += CERTIFICATE_PASSES;
    limit += CERTIFICATE_STEPS;
#endif
    return budget > sweeps ? min(limit, (budget - sweeps) / passesPerStep()) : 0u;
}

#endif
