// Another minimum of the depth: minima.go of package derive, whose method, names and constants these are.

#ifndef CLEARANCE_DERIVATIVE_MINIMA_GLSL
#define CLEARANCE_DERIVATIVE_MINIMA_GLSL

#include "derivative_system.glsl"

// The zone of a minimum of the depth, in which there is no other: minima.go of package derive, whose bounds and names
// these are.

#include "hessian_caps.glsl"

bool isPowered(Shape s) { return (uses(KIND_SUPERQUADRIC) && s.coreClass == CLASS_SUPERQUADRIC) || isSmooth(s); }

// reachOf is the t up to which the support function of core k rises along y, |y| ≤ t, by at least 1/(1+q) of ½yᵀHy, H
// its Hessian at the unit direction d of the world.
double reachOf(uint k, Feature f, dvec3 d, double q) {
    Shape s = shapeOf(k);
    uint kind = shapes[s.record].kind;
    dvec3 l = rotateBack(axesOf(k), d);
    if (uses(KIND_ELLIPSOID) && s.coreClass == CLASS_ELLIPSOID) {
        dvec3 x = ellipsoidSupport(s.params, l);
        precise double value = dotProduct(x, l), trace = max(squaredNorm(s.params) - squaredNorm(x), 0.0lf) / value;
        double slope = norm(addScaled(x, -value, l));
        precise double root = squareRoot(slope * slope + 2.0lf * trace * value * q);
        return 2.0lf * value * q / (slope + root);
    }
    if (!isFrustum(kind) || f.dimension == 2u) return FAR;
    return (f.dimension == 1u ? 0.5lf * q : q) * squareRoot(l.x * l.x + l.y * l.y);
}

// sideInside is the distance from the boundary of an edge that counts: the side of a frustum is curved, away from the
// other core.
double sideInside(uint k, Feature f, dvec3 d, double inside, double q) {
    Shape s = shapeOf(k);
    uint kind = shapes[s.record].kind;
    if (f.dimension != 1u || !isFrustum(kind)) return inside;
    precise dvec3 between = f.point - positionFromA(k);
    double height = rotateBack(axesOf(k), addScaled(between, -s.radius, d)).z;
    height = clamp(height, -s.params.z, s.params.z);
    double wider = s.params.y - s.params.x, r = s.params.x + wider * (height + s.params.z) / (2.0lf * s.params.z);
    double a = abs(wider) / squareRoot(wider * wider + 4.0lf * s.params.z * s.params.z);
    return a > 0.0lf ? min(inside, q * r / (12.0lf * a)) : inside;
}

// zoneOf is the zone of the bound κ up to |y| = t, 0 if h does not exceed the bound at half of t.
double zoneOf(double kappa, double t, double depth, double tolerance) {
    double bound = depth + tolerance;
    t = min(t, 1e3lf); // of polytopes, whose curvature is that of balls, it is infinite
    if (!(0.5lf * (kappa - bound) * t * t > 4.0lf * tolerance)) return 0.0lf;
    return (0.5lf * kappa * t - tolerance / t) / bound;
}

// poweredBound is the lower bound of the Hessian of core k with powers over a cap of size t.
dvec3 poweredBound(uint k, dvec3 d, dvec3 e0, dvec3 e1, double t) {
    Shape s = shapeOf(k);
    dmat3 axes = axesOf(k);
    dvec3 l = rotateBack(axes, d), e = rotateBack(axes, e0), f = rotateBack(axes, e1), g = dvec3(0), ignored;
    if (isSmooth(s)) {
        bool revolution = s.coreClass == CLASS_REVOLUTION;
        dvec3 disc = ellipsoidSupport(dvec3(1, 1, s.params.z), l);
        dvec3 center = revolution ? dvec3(0) : centerOf(s.record);
        dvec3 reduced = revolution ? dvec3(dotProduct(disc, l), l.z, 0) : l;
        g = powerNormGradient(s, center, reduced, dvec3(0), dvec3(0), ignored);
    }
    passesUsed += 2u * supportPasses(s);
    return hessianBound(s, l, e, f, g, t);
}

// poweredZone is the first zone that is proved over caps that are halved. most is the reach of the core without powers,
// inside that of a feature with one direction.
double poweredZone(System s, double size, double depth, double tolerance, double rolling, double most, double inside,
                   double q) {
    hessianUnit = 1e6lf * size;
    dvec2 across = dvec2(-s.t0.y, s.t0.x);
    double t = min(WIDEST_ZONE_CAP, most);
    for (uint i = 0u; i < ZONE_CAPS && passesUsed <= query.loop_limit; i++) {
        dvec3 sum = dvec3(0);
        for (uint k = 0u; k < 2u; k++) { // one copy of the code
            Shape side = shapeOf(k);
            Feature f = s.a;
            if (k == 1u) f = s.b;
            if (isPowered(side)) sum += poweredBound(k, k == 0u ? s.n : -s.n, s.e0, s.e1, t);
            else sum += (f.hessian - dvec3(side.radius, 0, side.radius)) / (1.0lf + q);
        }
        double kappa = 0.0lf;
        if (s.of0) {
            dvec2 ofAcross = form2(sum, across);
            kappa = min(dot2(across, ofAcross), inside / t - abs(dot2(s.t0, ofAcross)));
        } else {
            double half_ = (sum.x - sum.z) * 0.5lf;
            kappa = (sum.x + sum.z) * 0.5lf - squareRoot(half_ * half_ + sum.y * sum.y);
        }
        double zone = zoneOf(kappa - rolling, t, depth, tolerance);
        if (zone > 0.0lf) return zone;
        t *= 0.5lf;
    }
    return 0.0lf;
}

// provedZone is the tangent of half the angle of the zone at a depth without the balls, 0 if none is proved.
double provedZone(System s, double size, double depth, double tolerance, double rolling) {
    double inside = min(s.a.inside, s.b.inside);
    uint flat_ = s.a.dimension + s.b.dimension;
    if (s.a.dimension == 1u && s.b.dimension == 1u) inside *= abs(s.t0.x * s.t1.y - s.t1.x * s.t0.y);
    if (flat_ == 2u) return inside / (depth + tolerance);
    double half_ = (s.k.x - s.k.z) * 0.5lf;
    double least = (s.k.x + s.k.z) * 0.5lf - squareRoot(half_ * half_ + s.k.y * s.k.y);
    dvec2 ofAcross = form2(s.k, dvec2(-s.t0.y, s.t0.x));
    if (flat_ == 1u) least = dot2(dvec2(-s.t0.y, s.t0.x), ofAcross);
    double kappa = depth + 0.5lf * least, q = 0.5lf * least / (kappa + rolling);
    if (!(q > 0.0lf)) return 0.0lf;
    if (flat_ == 1u) inside = min(sideInside(0u, s.a, s.n, inside, q), sideInside(1u, s.b, -s.n, inside, q));
    double t = min(reachOf(0u, s.a, s.n, q), reachOf(1u, s.b, -s.n, q));
    if (isPowered(shapeOf(0u)) || isPowered(shapeOf(1u))) {
        return poweredZone(s, size, depth, tolerance, rolling, t, inside, q);
    }
    if (flat_ == 1u) t = min(t, inside / (abs(dot2(s.t0, ofAcross)) + kappa));
    return zoneOf(kappa, t, depth, tolerance);
}

// Verdicts.
const uint NO_OTHER_MINIMUM = 0u, OTHER_MINIMUM = 1u, UNPROVED_MINIMUM = 2u;

// Cone is the hull of the rays p·n + q·(e + m·e') with both pairs of p and q and both m, where e and e' are directions
// across n that follow each other, number sector and the next.
struct Cone {
    dvec2 p, q, m;
    uint sector;
};

struct MinimaSearch {
    dvec3 n, e0, e1;
    double bound, halfCosine, rolling;
};

Cone cones[MAX_CONES]; // that are not ruled out
uint coneCount;
dvec3 knownPoints[KNOWN_POINTS];

// differenceSupport returns the support point of D without its balls in a unit direction.
dvec3 differenceSupport(dvec3 d, double rolling) {
    dvec3 point = dvec3(0);
    for (uint k = 0u; k < 2u; k++) { // one copy of the code
        dmat3 axes = axesOf(k);
        double sign_ = k == 0u ? 1.0lf : -1.0lf;
        Shape s = shapeOf(k);
        dvec3 placed = rotate(axes, coreSupport(s, rotateBack(axes, sign_ * d)));
        precise dvec3 sum = point + sign_ * (placed + positionFromA(k));
        point = sum;
    }
    return addScaled(point, -rolling, d);
}

// isDeep reports whether balls about points within the shapes rule out all normals beyond the zone.
bool isDeep(MinimaSearch f, double zone) {
    dvec3 c = dvec3(0);
    double r = -f.rolling;
    for (uint k = 0u; k < 2u; k++) {
        uint i = shapeOf(k).record;
        dvec3 center = dvec3(shapes[i].growth_center[0], shapes[i].growth_center[1], shapes[i].growth_center[2]);
        center = rotate(axesOf(k), center) + positionFromA(k);
        c = k == 0u ? center : c - center;
        r += max(shapes[i].growth_inradius - shapes[i].radius, 0.0lf);
    }
    double along = dotProduct(c, f.n), across = squareRoot(max(squaredNorm(c) - along * along, 0.0lf)),
           v = 1.0lf / zone;
    return r - f.bound - along > v * (2.0lf * across + v * max(f.bound - r - along, 0.0lf));
}

uint lowestOf(double h[4]) {
    uint at = 0u;
    for (uint j = 1u; j < 4u; j++)
        if (h[j] < h[at]) at = j;
    return at;
}

// knownRuleOut reports whether a known point, or one between two of them, rules out a cone with the corners u. low is
// the corner at which the bounds by single points are least.
bool knownRuleOut(dvec3 u[4], double need[4], out uint low) {
    double most[4] = double[](-FAR, -FAR, -FAR, -FAR), value = -FAR, x[4], y[4];
    uint best = 0u, other = 0u;
    for (uint k = 0u; k < KNOWN_POINTS; k++) {
        double least = FAR;
        for (uint j = 0u; j < 4u; j++) {
            double h = dotProduct(knownPoints[k], u[j]) - need[j];
            least = min(least, h);
            most[j] = max(most[j], h);
        }
        if (least > value) {
            value = least;
            best = k;
        }
    }
    low = lowestOf(most);
    if (value > 0.0lf) return true;
    for (uint j = 0u; j < 4u; j++) x[j] = dotProduct(knownPoints[best], u[j]) - need[j];
    uint at = lowestOf(x);
    value = -FAR;
    for (uint k = 0u; k < KNOWN_POINTS; k++) {
        double h = dotProduct(knownPoints[k], u[at]);
        if (h > value) {
            value = h;
            other = k;
        }
    }
    for (uint j = 0u; j < 4u; j++) y[j] = dotProduct(knownPoints[other], u[j]) - need[j];
    // On the way from x to y the least component rises until another is the least.
    double t = 1.0lf, slope = y[at] - x[at];
    for (uint j = 0u; j < 4u; j++) {
        double s = y[j] - x[j];
        if (s < slope) t = min(t, (x[j] - x[at]) / (slope - s));
    }
    for (uint j = 0u; j < 4u; j++)
        if (!(x[j] + t * (y[j] - x[j]) > 0.0lf)) return false;
    return true;
}

// consider halves a cone unless it is ruled out, and reports whether it found another minimum. The half with the corner
// at which the bounds are least comes next.
bool consider(MinimaSearch f, Cone c, uint round_, uint perSupport) {
    dvec3 u[4], sum = dvec3(0);
    double need[4];
    dvec3 e = (c.sector & 1u) == 0u ? f.e0 : f.e1, next = (c.sector & 1u) == 0u ? f.e1 : -f.e0;
    if (c.sector > 1u) {
        e = -e;
        next = -next;
    }
    for (uint j = 0u; j < 4u; j++) {
        double p = c.p[j & 1u], q = c.q[j & 1u], m = c.m[j >> 1];
        u[j] = p * f.n + q * (e + m * next);
        need[j] = f.bound * squareRoot(p * p + q * q * (1.0lf + m * m));
        sum += u[j];
    }
    uint low;
    if (knownRuleOut(u, need, low)) return false;
    dvec3 d = sum;
    for (uint j = 0u; j < 4u; j++)
        if (j == low) d = addScaled(sum, LEAN, u[j]);
    d *= inverseNorm(d);
    dvec3 y = differenceSupport(d, f.rolling);
    passesUsed += perSupport;
    knownPoints[round_ % KNOWN_POINTS] = y;
    if (dotProduct(y, d) <= f.bound && dotProduct(d, f.n) < f.halfCosine) return true;
    double h[4];
    for (uint j = 0u; j < 4u; j++) h[j] = dotProduct(y, u[j]) - need[j];
    if (min(min(h[0], h[1]), min(h[2], h[3])) > 0.0lf) return false;
    double high = abs(c.p.x * c.q.y - c.p.y * c.q.x), wide = max(c.q.x, c.q.y) * (c.m.y - c.m.x);
    bool across = wide * abs(h[2] - h[0] + h[3] - h[1]) > high * abs(h[1] - h[0] + h[3] - h[2]);
    if (wide > MAX_RATIO * high || high > MAX_RATIO * wide) across = wide > high;
    Cone first = c, second = c;
    if (across) {
        first.m.y = second.m.x = (c.m.x + c.m.y) * 0.5lf;
    } else {
        dvec2 middle = dvec2(c.p.x + c.p.y, c.q.x + c.q.y);
        middle /= squareRoot(dot2(middle, middle));
        first.p.y = second.p.x = middle.x;
        first.q.y = second.q.x = middle.y;
    }
    bool upper = across ? low > 1u : (low & 1u) == 1u;
    if (coneCount + 2u <= MAX_CONES) {
        cones[upper ? coneCount : coneCount + 1u] = first;
        cones[upper ? coneCount + 1u : coneCount] = second;
    }
    coneCount += 2u;
    return false;
}

// hasDepth reports whether the cores intersect: a row whose system is singular is then looked at for another minimum,
// by the host.
bool hasDepth(dvec3 n, double size) {
    double rolling = shapeOf(0u).erode + shapeOf(1u).erode;
    return dotProduct(differenceSupport(n, rolling), n) > LEAST_DEPTH * size + MIN_SIZE;
}

// otherMinimum says whether the depth is attained, within the tolerance, along another normal than that of s. The
// result does not count if the loop passes exceed the limit.
uint otherMinimum(System s, double size) {
    MinimaSearch f;
    double tolerance = EQUAL_TOLERANCE * size;
    f.n = s.n;
    f.rolling = shapeOf(0u).erode + shapeOf(1u).erode;
    double depth = -s.value - shapeOf(0u).radius - shapeOf(1u).radius - f.rolling;
    if (depth < -tolerance) return NO_OTHER_MINIMUM;
    depth = max(depth, 0.0lf);
    f.bound = depth + tolerance;
    double zone = provedZone(s, size, depth, tolerance, f.rolling);
    if (!(zone > 0.0lf)) return UNPROVED_MINIMUM;
    if (isDeep(f, zone)) return NO_OTHER_MINIMUM;
    zone = min(zone, 1.0lf);
    double square = zone * zone, cosine = (1.0lf - square) / (1.0lf + square);
    f.halfCosine = (4.0lf - square) / (4.0lf + square);
    // The principal directions of K: half of the angle of (kxx - kyy, 2·kxy).
    dvec2 twice = dvec2(s.k.x - s.k.z, 2.0lf * s.k.y);
    double length_ = squareRoot(dot2(twice, twice)), share = length_ > 0.0lf ? 0.5lf * twice.x / length_ : 0.5lf;
    double c0 = squareRoot(max(0.5lf + share, 0.0lf)), s0 = withSign(squareRoot(max(0.5lf - share, 0.0lf)), twice.y);
    f.e0 = combine(c0, s.e0, s0, s.e1);
    f.e1 = combine(-s0, s.e0, c0, s.e1);
    // The rays with m = ±1 of the last cones are on the boundary of the zone, those between within it.
    dvec2 last = dvec2(squareRoot(2.0lf) * cosine, squareRoot(max(1.0lf - cosine * cosine, 0.0lf)));
    last /= squareRoot(dot2(last, last));
    coneCount = 0u;
    for (uint k = 0u; k < 4u; k++) {
        cones[coneCount++] = Cone(dvec2(0, last.x), dvec2(1, last.y), dvec2(-1, 1), k);
        cones[coneCount++] = Cone(dvec2(-1, 0), dvec2(0, 1), dvec2(-1, 1), k);
    }
    for (uint k = 0u; k < KNOWN_POINTS; k++) knownPoints[k] = dvec3(0);
    uint perSupport = supportPasses(shapeOf(0u)) + supportPasses(shapeOf(1u));
    for (uint i = 0u; coneCount > 0u; i++) {
        passesUsed += 1u + 3u * KNOWN_POINTS;
        if (i == MAX_ROUNDS || coneCount > MAX_CONES || passesUsed > query.loop_limit) return UNPROVED_MINIMUM;
        coneCount--;
        Cone c = cones[coneCount];
        if (consider(f, c, i, perSupport)) return OTHER_MINIMUM;
    }
    return NO_OTHER_MINIMUM;
}

#endif
