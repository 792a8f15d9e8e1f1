// The zone of a minimum of the depth, in which there is no other: minima.go of package derive, whose bounds and names
// these are.

#ifndef CLEARANCE_DERIVATIVE_ZONE_GLSL
#define CLEARANCE_DERIVATIVE_ZONE_GLSL

#include "derivative_system.glsl"
#include "hessian_caps.glsl"

const double WIDEST_ZONE_CAP = 0.32lf; // tangent of the angle of the first cap, each of the next is half of it
const uint ZONE_CAPS = 9u;

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
    if (!(kind == KIND_CYLINDER || kind == KIND_CONE || kind == KIND_FRUSTUM) || f.dimension == 2u) return FAR;
    return (f.dimension == 1u ? 0.5lf * q : q) * squareRoot(l.x * l.x + l.y * l.y);
}

// sideInside is the distance from the boundary of an edge that counts: the side of a frustum is curved, away from the
// other core.
double sideInside(uint k, Feature f, dvec3 d, double inside, double q) {
    Shape s = shapeOf(k);
    uint kind = shapes[s.record].kind;
    if (f.dimension != 1u || !(kind == KIND_CYLINDER || kind == KIND_CONE || kind == KIND_FRUSTUM)) return inside;
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

#endif
