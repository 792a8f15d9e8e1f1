// Penetration depths by EPA in double precision, for the rows of the list of DepthRecords, from the simplex with which
// certify.comp ended, from the nearest faces that epa_float32.comp found, or from the support point of a minimum that
// depth_certificate.comp did not prove. See depth.glsl.
//
// Output: columns. A row is declined with the reason in its record if a polytope fills its memory or rounding stops its
// expansion, with DECLINED_LOOPS if a driver ended a loop early.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "depth.glsl"

// The record of the row: the weight of vertex k of the simplex in its point nearest to the origin; the number of faces
// that epa_float32.comp found to be possibly nearest; the corners of the cores of their vertices, three per face;
// whether the least offset agrees with the one of single precision; a lower bound of the offsets of all other faces.
double simplexWeight(uint k) { return depths[item].weights[k]; }
uint float32Faces() { return depths[item].faces == DEPTH_STATIONARY ? 0u : min(depths[item].faces, FLOAT32_FACES); }
uint float32Corner(uint k) { return depths[item].corners[k]; }
bool float32Fits(double value) {
    return abs(value - double(depths[item].least_offset)) <= double(depths[item].rounding);
}
double float32Others() { return double(depths[item].other_offsets); }

// The expanding polytope algorithm [VanDenBergen2001] in double precision, for one row, from the simplex of any rank
// with which GJK ended.
//
// Bounds, as in ref.EPA. With the unit normal n of a face and its three vertices w,
//
//     offset(face) = min <n, w>
//     lower = offset of the nearest face, the least of all
//     upper = h_D(n) for the normal n of the nearest face
//
// The surface is closed by construction, see polytope.glsl. If every offset is above rounding, the origin lies on the
// inner side of every face, so the solid angles have one sign and cannot cancel: the surface winds around the origin. A
// ball around the origin that meets no face is then inside the surface, hence part of the convex hull of the vertices,
// and of D. Neither bound requires a convex polytope.
//
// While the offset of some face is not above rounding, the origin may be outside. Then the nearest point of that face
// bounds the distance from above, and the support plane bounds it from below.
//
// The search gives up, and the row is declined, where the polytope fills its memory, more than MAX_SET_ASIDE faces
// cannot be expanded because of rounding, or D is flat and the flat bounds are too wide.

// The loop passes of the polytope itself; support functions have the rest of the limit. Sweeps take VERTICES²/4 in
// total, walks along the horizon about 16 per step, proofs of single precision a few for each of their vertices.
const uint SWEEP_PASSES = VERTICES * VERTICES / 4u + 64u * VERTICES + 16u * FLOAT32_FACES;

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
// found along face f. Of several coplanar faces one contains it; f is the first that is tried.
void findWitnesses(uint f, double gap, inout CoreDepth r) {
    precise dvec3 projection = offsetOf(f) * r.axis;
    dvec3 weights;
    uint closestFace = f;
    double witnessGap = FAR, limit = offsetOf(f) + gap;
    for (uint i = 0u; i <= faceCount && witnessGap > 0.5lf * gap; i++) {
        uint g = i == 0u ? f : i - 1u;
        if (i > 0u && (g == f || !(offsetOf(g) <= limit))) continue;
        double d = closestOnFace(g, projection, weights);
        if (d < witnessGap) {
            witnessGap = d;
            closestFace = g;
        }
    }
    closestOnFace(closestFace, projection, weights); // again, so that the loop need not keep them
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
uint takeSupport(dvec3 w, dvec3 a, bool recalled, inout uint setAside) {
    uint f = nearestFace;
    CoreDepth r;
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
        if (r.witnessGap <= gap || boundsSuffice(r.upper, r.lower)) {
            setResult(r);
            return FOUND;
        }
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
// the vertices of the simplex and the support points along and against the axes. The farthest vertex so far stands in
// the place of the next one. In memory there are the orthonormal axes, of which the first vertexCount - 1 span the
// affine hull, and the axis of leastWidth.
const uint AXES = SEARCH_QUADS + 3u, LEAST_WIDTH_AXIS = SEARCH_QUADS + 6u;
double farthest;   // its distance
double leastWidth; // least support value along the axes that do not span the affine hull

dvec3 axisOf(uint k) { return rowVector(AXES + k); }
void setAxis(uint k, dvec3 v) { setRowQuad(AXES + k, v, 0.0lf); }

// orthogonalPart returns the part of v orthogonal to the affine hull.
dvec3 orthogonalPart(dvec3 v) {
    precise dvec3 r = v;
    for (uint k = 0u; k + 1u < vertexCount; k++) r -= dotProduct(r, axisOf(k)) * axisOf(k);
    return r;
}

void considerVertex(dvec3 w, dvec3 a) {
    double d = norm(orthogonalPart(w - vertexOf(0u)));
    if (d > farthest) {
        farthest = d;
        setVertex(vertexCount, w, a);
    }
}

// takeFarthest adds the farthest vertex and rotates the axes so that they span the new affine hull.
void takeFarthest() {
    precise dvec3 v = orthogonalPart(vertexOf(vertexCount) - vertexOf(0u));
    v = v / norm(v);
    v = orthogonalPart(v); // the second pass removes the rounding of the first, as two are sufficient
    v = v / norm(v);
    if (vertexCount == 1u) {
        setAxis(0u, v);
        dvec3 e = cross(v, abs(v.x) > 0.6lf ? dvec3(0, 1, 0) : dvec3(1, 0, 0));
        precise dvec3 first = e / norm(e);
        precise dvec3 second = cross(v, first);
        setAxis(1u, first);
        setAxis(2u, second);
    } else if (vertexCount == 2u) {
        setAxis(1u, v);
        precise dvec3 e = cross(axisOf(0u), v);
        setAxis(2u, e / norm(e));
    }
    vertexCount++;
    farthest = 0.0lf;
    leastWidth = FAR;
}

// flatDepth answers for a D without extent along some axis: the depth is at most the support value along it, and the
// distance at most that of the nearest point of the simplex.
bool flatDepth(uint n) {
    precise dvec3 point = dvec3(0), pointA = dvec3(0);
    for (uint k = 0u; k < n; k++) {
        point += simplexWeight(k) * simplexVertex(k);
        pointA += simplexWeight(k) * simplexPointA(k);
    }
    dvec3 axis = rowVector(LEAST_WIDTH_AXIS);
    precise dvec3 residual = point - leastWidth * axis;
    CoreDepth r = CoreDepth(leastWidth, -norm(point), norm(residual), axis, point, pointA);
    setResult(r);
    return r.upper - r.lower <= distanceGap && r.witnessGap <= distanceGap;
}

// startFromSimplex begins with a simplex of n vertices. It returns whether that is a tetrahedron; if not, one is
// searched for, starting with the first vertex.
bool startFromSimplex(uint n) {
    for (uint k = 0u; k < n; k++) setVertex(k, simplexVertex(k), simplexPointA(k));
    if (n == 4u && startTetrahedron(false)) return true;
    setVertex(0u, simplexVertex(0u), simplexPointA(0u));
    vertexCount = 1u;
    setAxis(0u, dvec3(1, 0, 0));
    setAxis(1u, dvec3(0, 1, 0));
    setAxis(2u, dvec3(0, 0, 1));
    farthest = 0.0lf;
    leastWidth = FAR;
    return false;
}

// loadFloat32Faces forms the faces that single precision found to be nearest. They are not connected; the others are
// known to have an offset of leastOffset at least. Their offsets prove the depth as the offsets of a complete polytope
// do; epa_float32.comp proves that the surface winds around the origin. It returns false if the faces are not where
// single precision saw them.
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

// searchDepth answers for the cores in evaluationLimit evaluations at most: from the result of single precision, and if
// that proves nothing, from a simplex of n vertices. It returns false where it gives up. All parts use one text of the
// support functions, hence one loop.
bool searchDepth(uint n, uint evaluationLimit) {
    provedFromFloat32 = float32Faces() > 0u && loadFloat32Faces(float32Faces());
    bool restart = !provedFromFloat32, extending = false;
    uint setAside = 0u, sideCount = 0u, outcome = OPEN;
    for (uint k = 0u; k < evaluationLimit && outcome == OPEN; k++) {
        if (restart) extending = !startFromSimplex(n);
        restart = false;
        dvec3 a, d = extending ? axisOf(vertexCount - 1u + sideCount / 2u) : normalOf(nearestFace);
        if (extending && (sideCount & 1u) != 0u) d = -d;
        dvec3 w = supportOfDifference(d, a);
        if (!extending) {
            outcome = takeSupport(w, a, provedFromFloat32, setAside);
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
            setRowQuad(LEAST_WIDTH_AXIS, d, 0.0lf);
        }
        sideCount++;
        if (sideCount < 2u * (4u - vertexCount)) continue;
        for (uint i = 0u; i < n; i++) considerVertex(simplexVertex(i), simplexPointA(i));
        if (!(farthest > 0.5lf * distanceGap)) return flatDepth(n);
        takeFarthest();
        sideCount = 0u;
        if (vertexCount == 4u) {
            startTetrahedron(true);
            extending = false;
        }
    }
    return outcome == FOUND;
}

void main() {
    if (!takeItem() || depths[item].faces == DEPTH_ANSWERED) return;
    IndexRecord index = indices[depths[item].slot];
    loadRow(index);
    if (query.max_iterations != 0u && evaluations > query.max_iterations) {
        decline(index.row, depths[item].declined);
        return;
    }
    uint steps = EPA_STEPS;
    if (depths[item].faces == DEPTH_STATIONARY) steps = min(steps, ROW_STEPS - min(depths[item].corners[0], ROW_STEPS));
    bool found = searchDepth(depths[item].count, stepLimit(steps, SWEEP_PASSES));
    if (!loopsCompleted()) decline(index.row, DECLINED_LOOPS);
    else if (!found || !writeAnswer(index, SOLVER_EPA)) decline(index.row, depths[item].declined);
}
