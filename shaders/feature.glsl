// Supporting features of shapes: what a shape looks like at a support point, to the second order. The formulas are
// those of package derive (feature.go): the point moves by H·dn + T·y where the outward normal moves by dn within the
// body, and Tᵀ·dn = 0, with H the Hessian of the support function and T a basis of the flat feature (edge or face).
//
// Bases of the tangent plane are e0 and e1, forms on it are xx, xy, yy. The including file declares the buffers poses
// and indices.

#ifndef CLEARANCE_FEATURE_GLSL
#define CLEARANCE_FEATURE_GLSL

#include "derive_constants.glsl"
#define SHAPES_ALONE
#include "pair.glsl"
#include "hessian.glsl"

const double FAR = 1e300lf; // the distance from a boundary that is not there

struct Feature {
    dvec3 point;    // of the whole shape, world axes, from the position of A
    dvec3 hessian;  // across the flat feature
    dvec3 t0, t1;   // orthonormal basis of the flat feature, world axes
    uint dimension; // of it: 0 vertex or curved surface, 1 edge, 2 face
    double inside;  // metres by which the point lies inside the feature, negative outside; FAR without one
    double angle;   // the largest by which a part of the feature lies below its support plane
    bool ok;        // false where there is no Hessian, or the feature has too many vertices
};

// Local is a feature in the frame of its core, without the ball.
struct Local {
    dvec3 x, t0, t1;
    uint dimension;
    double inside, angle;
    dvec3 round_;     // unit vector: a part of the Hessian is curvature · round · roundᵀ
    double curvature; // metres
    dvec3 hessian;    // the rest, in the basis e0, e1
    bool ok;
};

Local vertexFeature(dvec3 x) { return Local(x, dvec3(0), dvec3(0), 0u, FAR, 0.0lf, dvec3(0), 0.0lf, dvec3(0), true); }

dvec2 within(dvec3 e0, dvec3 e1, dvec3 v) { return dvec2(dotProduct(e0, v), dotProduct(e1, v)); }

double dot2(dvec2 a, dvec2 b) {
    precise double s = a.x * b.x + a.y * b.y;
    return s;
}

dvec2 form2(dvec3 h, dvec2 v) { return dvec2(dot2(h.xy, v), dot2(h.yz, v)); }

// combine returns p·a + q·b.
dvec3 combine(double p, dvec3 a, double q, dvec3 b) {
    precise dvec3 v = p * a + q * b;
    return v;
}

dvec3 addScaled(dvec3 a, double k, dvec3 b) {
    precise dvec3 v = a + k * b;
    return v;
}

dvec3 crossProduct(dvec3 a, dvec3 b) {
    precise dvec3 v = dvec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
    return v;
}

dvec3 rotate(dmat3 m, dvec3 v) {
    precise dvec3 u = m * v;
    return u;
}

dvec3 rotateBack(dmat3 m, dvec3 v) {
    precise dvec3 u = v * m;
    return u;
}

double withSign(double x, double s) { return (unpackDouble2x32(s).y >> 31) != 0u ? -x : x; }

// tangentBasis makes e0 × e1 = n of a unit vector, by [Duff2017, listing 3] with another place of the jump.
void tangentBasis(dvec3 n, out dvec3 e0, out dvec3 e1) {
    precise double s = n.z < FLIPPED_BELOW ? -1.0lf : 1.0lf, a = -1.0lf / (s + n.z), b = n.x * n.y * a;
    precise dvec3 first = dvec3(1.0lf + s * n.x * n.x * a, s * b, -s * n.x);
    precise dvec3 second = dvec3(b, s + n.y * n.y * a, -n.y);
    e0 = first;
    e1 = second;
}

// segmentFeature is that of a core along local z.
Local segmentFeature(double halfLength, dvec3 d, dvec3 hint, double theta) {
    if (!(halfLength > 0.0lf && abs(d.z) <= theta)) return vertexFeature(dvec3(0, 0, withSign(halfLength, d.z)));
    Local l = vertexFeature(dvec3(0, 0, hint.z));
    l.t0 = dvec3(0, 0, 1);
    l.dimension = 1u;
    l.angle = abs(d.z);
    precise double inside = halfLength - abs(hint.z);
    l.inside = inside;
    return l;
}

Local boxFeature(dvec3 halfExtents, dvec3 d, dvec3 hint, double theta) {
    Local l = vertexFeature(dvec3(0));
    for (uint k = 0u; k < 3u; k++) {
        dvec3 axis = dvec3(k == 0u, k == 1u, k == 2u);
        double component = d[k], along = hint[k], extent = halfExtents[k];
        bool along_ = abs(component) <= theta && l.dimension < 2u;
        l.x[k] = along_ ? along : withSign(extent, component);
        if (!along_) continue;
        if (l.dimension == 0u) l.t0 = axis;
        else l.t1 = axis;
        l.dimension++;
        l.angle = max(l.angle, abs(component));
        precise double inside = extent - abs(along);
        l.inside = min(l.inside, inside);
    }
    return l;
}

// frustumFeature is that of a core between discs of radius p.x and p.y at z = ∓p.z. On the side, which is a
// developable surface, the normal varies across the generatrix alone: with r the distance from the axis and ρ the
// horizontal part of d, the radius of curvature is r/ρ. It is the same on the rims.
Local frustumFeature(dvec3 p, dvec3 d, dvec3 hint, double theta) {
    precise double rho = squareRoot(d.x * d.x + d.y * d.y);
    precise double slope = (p.y - p.x) * rho + 2.0lf * p.z * d.z;
    precise double length_ = squareRoot((p.y - p.x) * (p.y - p.x) + 4.0lf * p.z * p.z);
    double r = slope >= 0.0lf ? p.y : p.x, z = slope >= 0.0lf ? p.z : -p.z;
    if (rho <= theta && r > 0.0lf) { // a disc
        Local l = vertexFeature(dvec3(hint.xy, z));
        l.t0 = dvec3(1, 0, 0);
        l.t1 = dvec3(0, 1, 0);
        l.dimension = 2u;
        l.angle = rho;
        precise double inside = r - squareRoot(hint.x * hint.x + hint.y * hint.y);
        l.inside = inside;
        return l;
    }
    if (rho == 0.0lf) return vertexFeature(dvec3(0, 0, z)); // an apex along the axis
    precise dvec2 outward = d.xy / rho;
    bool wall = abs(slope) <= theta * length_;
    if (wall) {
        z = hint.z;
        precise double radius = p.x + (p.y - p.x) * (z + p.z) / (2.0lf * p.z);
        r = radius;
    }
    precise dvec2 circle = r * outward;
    Local l = vertexFeature(dvec3(circle, z));
    if (wall) {
        precise double cosine = (p.y - p.x) / length_, sine = 2.0lf * p.z / length_;
        precise dvec2 slant = cosine * outward;
        precise double inside = (p.z - abs(z)) * length_ / (2.0lf * p.z), angle = abs(slope) / length_;
        l.t0 = dvec3(slant, sine);
        l.dimension = 1u;
        l.inside = inside;
        l.angle = angle;
    }
    precise double curvature = max(r, 0.0lf) / rho;
    l.round_ = dvec3(-outward.y, outward.x, 0);
    l.curvature = curvature;
    return l;
}

// smoothFeature is that of a core with a Hessian, in the directions e and f of its frame.
Local smoothFeature(Shape s, dvec3 d, dvec3 e, dvec3 f) {
    dvec3 hessian;
    Local l = vertexFeature(supportAndHessian(s, d, e, f, hessian));
    l.hessian = hessian;
    l.ok = hessian.x + hessian.z > 0.0lf; // 0 where it does not exist
    // Components that rounding makes: the curvature of superquadrics is a power of them.
    if (s.coreClass == CLASS_SUPERQUADRIC && min(min(abs(d.x), abs(d.y)), abs(d.z)) <= LEAST_COMPONENT) l.ok = false;
    return l;
}

// hasHessian reports whether the support function of a kind is twice differentiable.
bool hasHessian(uint kind) {
    return kind == KIND_SPHERE || kind == KIND_ELLIPSOID || kind == KIND_SUPERQUADRIC || kind == KIND_SMOOTH_HULL ||
           kind == KIND_SMOOTH_REVOLUTION;
}

// Supporting features of hulls, see feature.glsl, which includes this: all vertices within an angle of the support
// plane of the support vertex.

// hullPasses bounds the loop passes of one hullFeature: two scans of the vertices by fours, and loops over corners.
uint hullPasses(Shape s) {
    if (!uses(KIND_CONVEX) || s.coreClass != CLASS_CONVEX) return 0u;
    return (s.count + 3u) / 4u + s.count + 3u * MAX_CORNERS + MAX_CORNERS * MAX_CORNERS;
}

uint corners[MAX_CORNERS]; // vertices of the feature
uint cornerCount;

// corner2 returns corner i in the plane of t0 and t1, from x.
dvec2 corner2(uint i, dvec3 x, dvec3 t0, dvec3 t1) {
    precise dvec3 v = vertexAt(corners[i]) - x;
    return within(t0, t1, v);
}

double cross2(dvec2 a, dvec2 b) {
    precise double c = a.x * b.y - a.y * b.x;
    return c;
}

// insidePolygon returns the distance of p from the nearest side of the polygon of the corners, negative outside. They
// are in convex position: the side from a corner goes to the one that has all others on its left.
double insidePolygon(dvec2 p, dvec3 x, dvec3 t0, dvec3 t1) {
    double inside = FAR;
    for (uint i = 0u; i < cornerCount; i++) {
        dvec2 from = corner2(i, x, t0, t1), side = dvec2(0);
        for (uint j = 0u; j < cornerCount; j++) {
            precise dvec2 other = corner2(j, x, t0, t1) - from;
            if (j != i && (side == dvec2(0) || cross2(side, other) < 0.0lf)) side = other;
        }
        precise dvec2 relative = p - from;
        precise double distance_ = cross2(side, relative) / squareRoot(dot2(side, side));
        if (side != dvec2(0)) inside = min(inside, distance_);
    }
    return inside;
}

// hullFeature finds the face, edge or vertex that supports a hull in the direction d, up to the angle theta.
Local hullFeature(Shape s, dvec3 d, dvec3 hint, double theta) {
    uint last = s.first + s.count - 1u, first = s.first;
    double largest = -FAR;
    for (uint i = s.first; i <= last; i += 4u) {
        uvec4 k = min(uvec4(i, i + 1u, i + 2u, i + 3u), uvec4(last));
        compareVertex(k.x, d, largest, first);
        compareVertex(k.y, d, largest, first);
        compareVertex(k.z, d, largest, first);
        compareVertex(k.w, d, largest, first);
    }
    dvec3 x = vertexAt(first);
    Local l = vertexFeature(x);
    // The corners, the support vertex first, and the farthest of them.
    corners[0] = first;
    cornerCount = 1u;
    double longest = 0.0lf, bound = theta * 2.0lf * shapes[s.record].bounding;
    dvec3 farthest = dvec3(0);
    for (uint i = s.first; i <= last; i++) {
        precise dvec3 v = vertexAt(i) - x;
        double below = -dotProduct(d, v);
        if (i == first || !(below <= bound)) continue;
        double len = norm(v);
        if (!(below <= theta * len)) continue;
        if (cornerCount == MAX_CORNERS) {
            l.ok = false;
            return l;
        }
        corners[cornerCount] = i;
        cornerCount++;
        precise double angle = below / len;
        l.angle = max(l.angle, angle);
        if (len > longest) {
            longest = len;
            farthest = v;
        }
    }
    if (cornerCount == 1u) return l;
    l.dimension = 1u;
    precise dvec3 t0 = farthest / longest;
    l.t0 = t0;
    double across = 0.0lf;
    dvec3 side = dvec3(0);
    for (uint i = 1u; i < cornerCount; i++) {
        precise dvec3 v = vertexAt(corners[i]) - x;
        dvec3 q = addScaled(v, -dotProduct(v, t0), t0);
        double len = norm(q);
        if (len > across) {
            across = len;
            side = q;
        }
    }
    precise dvec3 relative = hint - x;
    double p = dotProduct(relative, t0);
    if (cornerCount == 2u || !(across > 1e-12lf * longest)) {
        l.x = addScaled(x, p, t0);
        precise double rest = longest - p;
        l.inside = min(p, rest);
        return l;
    }
    l.dimension = 2u;
    precise dvec3 t1 = side / across;
    l.t1 = t1;
    double q = dotProduct(relative, t1);
    precise dvec3 place = x + combine(p, t0, q, t1);
    l.x = place;
    l.inside = insidePolygon(dvec2(p, q), x, t0, t1);
    return l;
}

// axesOf returns the rotation of shape A for 0, of B for 1. It is computed anew where it is needed: both would take 36
// registers.
dmat3 axesOf(uint k) {
    return rotationMatrix(rotationOf(poses[k == 0u ? indices[slot].pose_a : indices[slot].pose_b]));
}

// positionFromA returns the position of B from that of A for 1, world axes, and zero for 0.
dvec3 positionFromA(uint k) {
    if (k == 0u) return dvec3(0);
    precise dvec3 p = positionOf(poses[indices[slot].pose_b]) - positionOf(poses[indices[slot].pose_a]);
    return p;
}

// featureOf returns the feature that supports shape k in the unit direction d. Vertices whose support planes are within
// the angle theta count as one feature. hint is a point of it, which tells the place within the feature.
Feature featureOf(uint k, dvec3 d, dvec3 hint, double theta, dvec3 e0, dvec3 e1) {
    dmat3 axes = axesOf(k);
    dvec3 position = positionFromA(k);
    Shape s = shapeOf(k);
    uint kind = shapes[s.record].kind;
    dvec3 dl = rotateBack(axes, d);
    precise dvec3 fromBody = hint - position;
    dvec3 hl = addScaled(rotateBack(axes, fromBody), -s.radius, dl);
    Local l = vertexFeature(dvec3(0));
    if (kind == KIND_CAPSULE) l = segmentFeature(s.params.z, dl, hl, theta);
    else if (uses(KIND_BOX) && kind == KIND_BOX) l = boxFeature(s.params, dl, hl, theta);
    else if (uses(KIND_CONVEX) && kind == KIND_CONVEX) l = hullFeature(s, dl, hl, theta);
    else if (uses(KIND_HALFSPACE) && kind == KIND_HALFSPACE) {
        l.x = dvec3(hl.xy, 0);
        l.t0 = dvec3(1, 0, 0);
        l.t1 = dvec3(0, 1, 0);
        l.dimension = 2u;
    } else if (isFrustum(kind)) {
        l = frustumFeature(s.params, dl, hl, theta);
    } else if (kind != KIND_SPHERE) {
        l = smoothFeature(s, dl, rotateBack(axes, e0), rotateBack(axes, e1));
    }
    Feature f;
    precise dvec3 placed = rotate(axes, l.x) + position;
    f.point = addScaled(placed, s.radius, d);
    f.t0 = rotate(axes, l.t0);
    f.t1 = rotate(axes, l.t1);
    f.dimension = l.dimension;
    f.inside = l.inside;
    f.angle = l.angle;
    f.ok = l.ok;
    // The ball: its Hessian is that of the identity, and counts across the feature alone.
    dvec2 c = within(e0, e1, rotate(axes, l.round_));
    precise dvec3 hessian = l.hessian + dvec3(s.radius, 0, s.radius) + l.curvature * outerSquare(c.x, c.y);
    f.hessian = hessian;
    return f;
}

#endif
