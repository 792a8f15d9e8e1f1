// The simplex method for growth distances [Growth, Alg. 1-3]. One text for both precisions.
//
// Let c_A and c_B be the centers of growth, D = (A - c_A) - (B - c_B) and p = c_B - c_A. The growth distance is the
// least α with p in αD [Growth, Prop. 1]: |p|/t, where the ray along p leaves D at the distance t. Here D is in the
// frame of the ray, whose third axis is p/|p|.
//
// Bounds of t. From below: the distance at which the ray crosses a triangle of points of D [Growth, eq. 14]. From
// above: h(n)/n.z for a direction n with n.z > 0, where h is the support function of D [Growth, eq. 13, 22]. The normal
// of the triangle is the next n, and its support point replaces a vertex.
//
// The simplex pivot [Growth, eq. 23-26] comes down to signs. Projected along the ray, let d_i = s × v_i for the new
// point s and the vertices v_i, in counterclockwise order. The ray crosses the triangle of s and the edge opposite to
// v_i if d_{i+1} ≥ 0 ≥ d_{i+2}. As the ray crosses the old triangle, some weighted sum of the d_i with weights ≥ 0 is
// 0, so such an i exists, and its column is the outgoing one. This is the signed-volume form of [Growth, Sec. III-F2]:
// no ill-conditioned matrix is inverted.

#ifndef CLEARANCE_GROWTH_GLSL
#define CLEARANCE_GROWTH_GLSL

#include "support.glsl"

// Triangle holds three points v of D in the frame of the ray, counterclockwise around the ray. Each is the support
// point along the direction (l, 1), or a point of the initial triangle. Named members instead of arrays keep it in
// registers.
struct Triangle {
    real3 v0, v1, v2;
    real2 l0, l1, l2;
};

const uint NO_VERTEX = 3u;

// planarCross returns the cross product of two vectors projected along the ray.
real planarCross(real3 a, real3 b) {
    precise real c = a.x * b.y - a.y * b.x;
    return c;
}

// setVertex stores a vertex in place k.
void setVertex(inout Triangle t, uint k, real3 v, real2 l) {
    // clang-format off
    if (k == 0u) { t.v0 = v; t.l0 = l; }
    else if (k == 1u) { t.v1 = v; t.l1 = l; }
    else { t.v2 = v; t.l2 = l; }
    // clang-format on
}

// weightsOf returns the barycentric weights, not normalised, of the point at which the ray crosses the triangle. They
// are ≥ 0 exactly if it does.
real3 weightsOf(Triangle t) { return real3(planarCross(t.v1, t.v2), planarCross(t.v2, t.v0), planarCross(t.v0, t.v1)); }

bool crossesRay(Triangle t) {
    real3 w = weightsOf(t);
    return w.x >= real(0) && w.y >= real(0) && w.z >= real(0) && w.x + w.y + w.z > real(0);
}

// outgoingVertex returns the vertex that s replaces so that the ray still crosses the triangle, NO_VERTEX if rounding
// leaves none. If s lies on the ray, the edge of the largest triangle remains.
uint outgoingVertex(Triangle t, real3 s) {
    real d0 = planarCross(s, t.v0), d1 = planarCross(s, t.v1), d2 = planarCross(s, t.v2);
    if (d0 == real(0) && d1 == real(0) && d2 == real(0)) {
        real3 w = weightsOf(t);
        return w.x >= w.y && w.x >= w.z ? 0u : w.y >= w.z ? 1u : 2u;
    }
    if (d1 >= real(0) && d2 <= real(0)) return 0u;
    if (d2 >= real(0) && d0 <= real(0)) return 1u;
    if (d0 >= real(0) && d1 <= real(0)) return 2u;
    return NO_VERTEX;
}

// crossingOf returns the distance along the ray at which it crosses the triangle.
real crossingOf(Triangle t) {
    real3 w = weightsOf(t);
    precise real crossing = (w.x * t.v0.z + w.y * t.v1.z + w.z * t.v2.z) / (w.x + w.y + w.z);
    return crossing;
}

// normalOf returns a normal of the triangle, not normalised, of which the third coordinate is twice its projected area.
real3 normalOf(Triangle t) {
    precise real3 u = t.v1 - t.v0, v = t.v2 - t.v0;
    precise real3 n = real3(u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x);
    return n;
}

// secantDirection returns the direction of the next support point for smooth shapes, not normalised. The support
// function of D at (l, 1) is convex in l, and its gradient is the support point projected along the ray, which is 0 at
// the minimum. The affine function that has these gradients at the vertices is 0 at the mean of the l with the weights
// of the triangle: a step of the secant method in two variables.
real3 secantDirection(Triangle t) {
    real3 w = weightsOf(t);
    precise real2 l = w.x * t.l0 + w.y * t.l1 + w.z * t.l2;
    return real3(l, w.x + w.y + w.z);
}

// The share of the previous gap below which a secant step is good enough for another one to follow. Else the normal of
// the triangle comes next, which draws in a vertex that secant steps leave far away.
const real SECANT_PROGRESS = real(0.3);

// hasSmoothSupport reports whether secant steps apply to a core: its support function is twice differentiable.
bool hasSmoothSupport(Shape s) {
    if (uses(KIND_ELLIPSOID) && s.coreClass == CLASS_ELLIPSOID) return true;
    if (uses(KIND_SUPERQUADRIC) && s.coreClass == CLASS_SUPERQUADRIC) return true;
    return isSmooth(s) || (uses(KIND_SPHERE) && s.coreClass == CLASS_FRUSTUM && s.params == real3(0));
}

real3 unitVector(real3 v) {
    precise real3 u = v * inverseRoot(squaredNorm(v));
    return u;
}

// The unit vectors of the initial triangle, which lies in a ball around the origin [Growth, eq. 17].
const real HALF_ROOT_3 = real(0.8660254037844386);
real3 ballDirection(uint k) {
    return k == 0u ? real3(1, 0, 0) : real3(real(-0.5), k == 1u ? HALF_ROOT_3 : -HALF_ROOT_3, 0);
}

// The frame of the ray: its axes in the frame of A.
real3 rayX, rayY, rayZ;

void setRayFrame(real3 ray) {
    rayZ = ray;
    rayX = unitVector(cross(ray, abs(ray.x) > real(0.6) ? real3(0, 1, 0) : real3(1, 0, 0)));
    precise real3 y = cross(ray, rayX);
    rayY = y;
}

real3 toRayFrame(real3 v) { return real3(dotProduct(rayX, v), dotProduct(rayY, v), dotProduct(rayZ, v)); }

real3 fromRayFrame(real3 v) {
    precise real3 u = v.x * rayX + v.y * rayY + v.z * rayZ;
    return u;
}

#endif
