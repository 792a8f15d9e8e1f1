// Supporting features of hulls, see feature.glsl, which includes this: all vertices within an angle of the support
// plane of the support vertex.

#ifndef CLEARANCE_FEATURE_HULL_GLSL
#define CLEARANCE_FEATURE_HULL_GLSL

// The largest number of vertices of a face that is taken.
const uint MAX_CORNERS = 16u;

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

#endif
