// The expanding polytope algorithm (van den Bergen, Proximity Queries and Penetration Depth
// Computation on 3D Game Objects, 2001) in double precision, for one row and from the
// simplex of any rank that GJK ended with.
//
// The bounds are those of ref.EPA. From above, the support plane along the normal of the
// nearest face. From below, the faces: the surface is closed by construction, see
// polytope.glsl, and if every face has its three vertices beyond its own plane at a height
// above rounding, every face is seen from the origin with the same sign, so that the solid
// angles cannot add up to zero: the surface winds around the origin. A ball around the
// origin that touches no face is then wound around as a whole, hence part of the convex
// hull of the vertices, and of D. Neither bound asks that the polytope be convex.
//
// While a face is not above rounding the origin may lie outside. Then the nearest point of
// that face bounds the distance from above, and the support plane from below.
//
// The including file defines
//     dvec3 seedVertex(uint k), dvec3 seedPoint(uint k), double seedWeight(uint k)
// before the include: vertex k of the simplex, the point of A that makes it, and its weight in
// the point of the simplex nearest to the origin;
//     uint sketchFaces(), uint sketchCorner(uint k), double sketchBeyond()
// what sketch.comp has found: how many faces may be nearest, the corners of the cores that make
// their vertices, three each, and how far away the other faces are at least;
//     bool sketchFits(double height)
// whether the lowest of them is where sketch.comp saw it;
//     bool stationary(), dvec3 stationaryDirection()
// whether rtr.comp left a direction along which the support function is stationary, and that.
// The vertex along it is then the simplex. It may only where SURROUND is defined, which asks for what
// trust.glsl does.

#ifndef CLEARANCE_EPA_GLSL
#define CLEARANCE_EPA_GLSL

#include "columns.glsl"
#include "pair.glsl"
#include "polytope.glsl"

// Faces that rounding may set aside in one row; more are a sign of a flat D.
const uint MAX_STUCK = 16u;

// Passes of loops that the polytope itself may take; supports have the rest of the budget.
// Sweeps take VERTICES²/4 in sum, walks along the horizon about 16 a step; proofs of sketches
// a few for each of their vertices.
const uint SWEEP_PASSES = VERTICES * VERTICES / 4u + 64u * VERTICES + 16u * SKETCH_FACES;

uint evaluations;
bool around = false; // a local minimum is known, and the answer rests on it, see surround.glsl
double deepEnough; // wanted gap of a depth, as stop is that of a distance

// Core is an answer for the cores: their signed distance lies in [-high, -low].
struct Core {
    double high, low; // of the depth; negative where they are apart
    double off;       // by what the witnesses are not high·axis apart
    dvec3 axis;       // unit, outward from D
    dvec3 near, made; // a point of D, and the point of A that makes it
};

// difference is the vertex of D that points of the cores make which are highest along d, and its
// point of A.
dvec3 difference(dvec3 coreA, dvec3 coreB, dvec3 d, out dvec3 made) {
    precise dvec3 a = coreA - shapeA.erode * d;
    precise dvec3 b = rotation * coreB + translation + shapeB.erode * d;
    precise dvec3 w = a - b;
    made = a;
    return w;
}

// highest is the vertex of D highest along the unit vector d.
dvec3 highest(dvec3 d, out dvec3 made) {
    precise dvec3 turned = d * rotation;
    dvec3 coreA, coreB = dvec3(0);
    for (int k = 0; k < 2; k++) { // B after A, in one text of the supports: half the code
        Shape s = shapeA;
        dvec3 v = d;
        if (k == 1) {
            s = shapeB;
            v = -turned;
        }
        coreA = coreB;
        coreB = coreSupport(s, v);
    }
    evaluations++;
    return difference(coreA, coreB, d, made);
}

// stepCost is how many passes of loops a step may take.
uint stepCost() { return 3u + passes(shapeA) + passes(shapeB); }

#ifdef SURROUND
#include "surround.glsl"
#endif

dvec3 blend(dvec3 l, dvec3 a, dvec3 b, dvec3 c) {
    precise dvec3 x = l.x * a + l.y * b + l.z * c;
    return x;
}

// closest sets the weights of the point of face f closest to q, and returns its distance
// (Ericson, Real-Time Collision Detection, sec. 5.1.5).
double closest(uint f, dvec3 q, out dvec3 l) {
    uint corners = cornersOf(f);
    dvec3 a = vertexOf(cornerOf(corners, 0u)), b = vertexOf(cornerOf(corners, 1u)), c = vertexOf(cornerOf(corners, 2u));
    precise dvec3 ab = b - a, ac = c - a, aq = q - a, bq = q - b, cq = q - c;
    double d1 = product(ab, aq), d2 = product(ac, aq), d3 = product(ab, bq), d4 = product(ac, bq), d5 = product(ab, cq), d6 = product(ac, cq);
    precise double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    precise double x, y, z; // of a, b, c
    if (d1 <= 0.0lf && d2 <= 0.0lf) { x = 1.0lf; y = 0.0lf; z = 0.0lf; }
    else if (d3 >= 0.0lf && d4 <= d3) { x = 0.0lf; y = 1.0lf; z = 0.0lf; }
    else if (d6 >= 0.0lf && d5 <= d6) { x = 0.0lf; y = 0.0lf; z = 1.0lf; }
    else if (vc <= 0.0lf && d1 >= 0.0lf && d3 <= 0.0lf) { y = d1 / (d1 - d3); x = 1.0lf - y; z = 0.0lf; }
    else if (vb <= 0.0lf && d2 >= 0.0lf && d6 <= 0.0lf) { z = d2 / (d2 - d6); x = 1.0lf - z; y = 0.0lf; }
    else if (va <= 0.0lf) { z = (d4 - d3) / ((d4 - d3) + (d5 - d6)); y = 1.0lf - z; x = 0.0lf; }
    else {
        precise double sum = va + vb + vc;
        y = vb / sum;
        z = vc / sum;
        x = 1.0lf - y - z;
    }
    l = dvec3(x, y, z);
    return norm(q - blend(l, a, b, c));
}

// lowestCorner is how far face f lies from the origin at least: the height of its lowest corner
// along its point with weights l. What rounding does to the weights of a thin face makes it
// less, never more.
double lowestCorner(uint f, dvec3 l) {
    uint corners = cornersOf(f);
    dvec3 a = vertexOf(cornerOf(corners, 0u)), b = vertexOf(cornerOf(corners, 1u)), c = vertexOf(cornerOf(corners, 2u));
    dvec3 q = blend(l, a, b, c);
    double far = norm(q);
    precise double low = min(product(q, a), min(product(q, b), product(q, c))) / far;
    return far > 0.0lf ? low : 0.0lf;
}

// meet sets the witnesses to the point of face f with the weights l.
void meet(uint f, dvec3 l, inout Core r) {
    uint corners = cornersOf(f), i = cornerOf(corners, 0u), j = cornerOf(corners, 1u), k = cornerOf(corners, 2u);
    r.near = blend(l, vertexOf(i), vertexOf(j), vertexOf(k));
    r.made = blend(l, madeOf(i), madeOf(j), madeOf(k));
    precise dvec3 side = r.near - r.high * r.axis;
    r.off = norm(side);
}

// witnesses finds the point of the surface that is closest to the foot of the support plane
// found along face f. Of coplanar faces the foot lies in one.
void witnesses(uint f, double gap, inout Core r) {
    precise dvec3 foot = keyOf(f) * r.axis;
    dvec3 l, most;
    uint found = f;
    double off = closest(f, foot, most), limit = keyOf(f) + gap;
    for (uint g = 0u; g < faceCount && off > 0.5lf * gap; g++) {
        if (g == f || !(keyOf(g) <= limit)) continue;
        double d = closest(g, foot, l);
        if (d < off) {
            off = d;
            found = g;
            most = l;
        }
    }
    meet(found, most, r);
}

// settled reports whether bounds of the cores answer a question that asks for no gap.
bool settled(double high, double low) {
    double apart = -high - radius - roundoff;
    if (boolean) return apart > 0.0lf || -low - radius + roundoff < 0.0lf;
    return cut && apart > cutOff;
}

// Outcomes of a step.
const uint OPEN = 0u, FOUND = 1u, LOST = 2u;

// advance takes vertex w, made by the point a, which is highest along the nearest face. Of a
// polytope that is recalled there are not all faces: it cannot grow.
uint advance(dvec3 w, dvec3 a, bool recalled, inout uint stuck, out Core r) {
    uint f = nearest;
    r.axis = normalOf(f);
    r.high = product(r.axis, w);
    r.low = least;
    bool outside = !(least > roundoff), sliver = !(square(r.axis) > 0.5lf);
    double gap = outside ? stop : deepEnough, top = topOf(f);
    dvec3 l = dvec3(0);
    if (outside) {
        bool last = r.high <= gap || (!sliver && settled(r.high, -scale));
        r.low = last ? -closest(f, dvec3(0), l) : -scale;
    }
    if (!sliver && (r.high - r.low <= gap || settled(r.high, r.low))) {
        if (outside) meet(f, l, r);
        else witnesses(f, gap, r);
        if (r.off <= gap || settled(r.high, r.low)) return FOUND;
    }
    if (recalled) return LOST;
    if (!sliver && r.high > top) {
        if (vertexCount == VERTICES) return LOST;
        putVertex(vertexCount++, w, a);
        return expand(w) ? OPEN : LOST;
    }
    // The face cannot be expanded. If it is thin, its plane says less than the triangle
    // itself.
    closest(f, dvec3(0), l);
    double key = lowestCorner(f, l);
    if (++stuck > MAX_STUCK || outside || !(key > least + gap)) return LOST;
    renew(f, key);
    return OPEN;
}

// The search for a tetrahedron: each vertex is the farthest from the affine hull of those
// before, of the seeds and of support points along and against the axes.
dvec3 axis0, axis1, axis2; // orthonormal; those before `vertices` - 1 span the affine hull
double farthest;
dvec3 farW, farA;
double thinnest; // least support value along the axes that are not in the affine hull
dvec3 thin;      // its direction

dvec3 axisOf(uint k) { return k == 0u ? axis0 : k == 1u ? axis1 : axis2; }

// across is the part of v orthogonal to the affine hull.
dvec3 across(dvec3 v) {
    precise dvec3 r = v;
    if (vertexCount > 1u) r -= product(r, axis0) * axis0;
    if (vertexCount > 2u) r -= product(r, axis1) * axis1;
    return r;
}

void consider(dvec3 w, dvec3 a) {
    double d = norm(across(w - vertexOf(0u)));
    if (d > farthest) {
        farthest = d;
        farW = w;
        farA = a;
    }
}

// extend takes the farthest vertex and turns the axes to it.
void extend() {
    precise dvec3 v = across(farW - vertexOf(0u));
    v = v / norm(v);
    v = across(v); // twice is enough: the second pass removes the rounding of the first
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
    putVertex(vertexCount++, farW, farA);
    farthest = 0.0lf;
    thinnest = FAR;
}

// flatAnswer answers for a D without extent along some axis: the depth is at most the support value
// along it, and the origin at most as far away as the nearest point of the simplex.
bool flatAnswer(uint n, out Core r) {
    precise dvec3 near = dvec3(0), made = dvec3(0);
    for (uint k = 0u; k < n; k++) {
        near += seedWeight(k) * seedVertex(k);
        made += seedWeight(k) * seedPoint(k);
    }
    precise dvec3 side = near - thinnest * thin;
    r = Core(thinnest, -norm(near), norm(side), thin, near, made);
    return r.high - r.low <= stop && r.off <= stop;
}

// begun begins with a simplex of n vertices. It reports whether that is a tetrahedron; if not, one
// is searched for from its first vertex.
bool begun(uint n) {
    for (uint k = 0u; k < n; k++) putVertex(k, seedVertex(k), seedPoint(k));
    if (n == 4u && tetrahedron(false)) return true;
    putVertex(0u, seedVertex(0u), seedPoint(0u));
    vertexCount = 1u;
    axis0 = dvec3(1, 0, 0);
    axis1 = dvec3(0, 1, 0);
    axis2 = dvec3(0, 0, 1);
    farthest = 0.0lf;
    thinnest = FAR;
    return false;
}

// recall forms the faces that single precision found to be nearest, by themselves: the others
// are known to be farther away than `least` says. Their heights prove the depth as those of any
// polytope do; why the surface winds around the origin is said in sketch.comp. It returns false if the
// faces are not where they were seen.
bool recall(uint count) {
    vertexCount = 3u * count;
    faceCount = count;
    least = FAR;
    nearest = 0u;
    for (uint v = 0u; v < vertexCount; v++) {
        uint corner = sketchCorner(v);
        dvec3 made, w;
        if ((corner & SEED_CORNERS) == SEED_CORNERS) {
            w = seedVertex(corner & 3u);
            made = seedPoint(corner & 3u);
        } else {
            w = difference(cornerAt(shapeA, corner & 0xffffu), cornerAt(shapeB, corner >> 16), dvec3(0), made);
        }
        putVertex(v, w, made);
    }
    for (uint f = 0u; f < faceCount; f++) {
        begin(f, uvec3(3u * f, 3u * f + 1u, 3u * f + 2u), uvec3(0));
    }
    bool fits = sketchFits(least);
    least = min(least, sketchBeyond());
    return fits;
}

// expandFrom answers for the cores, in cap steps at most: from what single precision or rtr.comp found,
// and if that proves nothing, from a simplex of n vertices. It returns false where the memory is full
// or rounding keeps a face from being expanded. All its parts go through one text of the
// supports.
bool expandFrom(uint n, uint cap, out Core r) {
    sketched = sketchFaces() > 0u && recall(sketchFaces());
    around = stationary();
#ifdef SURROUND
    if (around) surround();
#endif
    bool fresh = !sketched && !around, seeding = false;
    uint stuck = 0u, side = 0u, outcome = OPEN;
    for (uint k = 0u; k < cap && outcome == OPEN; k++) {
#ifdef SURROUND
        if (around && turning) {
            uint spent;
            around = turn(cap - k, spent);
            k += spent;
            fresh = !around;
            if (k >= cap) break;
        }
        if (around && started == 4u) {
            around = mend();
            fresh = !around;
            if (around && surrounded(r)) return true;
        }
#endif
        if (fresh) seeding = !begun(n);
        fresh = false;
        dvec3 a, d = seeding ? axisOf(vertexCount - 1u + side / 2u) : normalOf(nearest);
        if (seeding && (side & 1u) != 0u) d = -d;
#ifdef SURROUND
        if (around) d = sought();
#endif
        dvec3 w = highest(d, a);
#ifdef SURROUND
        if (around) {
            around = advanceAround(w, a);
            fresh = !around;
            continue;
        }
#endif
        if (!seeding) {
            outcome = advance(w, a, sketched, stuck, r);
            if (sketched && outcome != FOUND) {
                sketched = false;
                fresh = true;
                outcome = OPEN;
            }
            continue;
        }
        consider(w, a);
        if (product(d, w) < thinnest) {
            thinnest = product(d, w);
            thin = d;
        }
        side++;
        if (side < 2u * (4u - vertexCount)) continue;
        for (uint i = 0u; i < n; i++) consider(seedVertex(i), seedPoint(i));
        if (!(farthest > 0.5lf * stop)) return flatAnswer(n, r);
        extend();
        side = 0u;
        if (vertexCount == 4u) {
            tetrahedron(true);
            seeding = false;
        }
    }
    return outcome == FOUND;
}

// steps is the largest number of support evaluations of a row that its budget of loop passes
// allows, 0 if it is too small.
uint steps(uint budget) {
    uint sweeps = SWEEP_PASSES, most = VERTICES + MAX_STUCK + 16u;
#ifdef SURROUND
    sweeps += SURROUND_PASSES;
    most += SURROUND_STEPS;
#endif
    return budget > sweeps ? min(most, (budget - sweeps) / stepCost()) : 0u;
}

#endif
