// Support points of the cores of all kinds of shapes: coreSupport. The including file, which is pair.glsl, defines
//     real3 vertexAt(uint i)             // vertex i of the library
//     real paramOf(uint record, uint k)  // parameter k of a shape record
//     real3 centerOf(uint record)        // the center of a shape
//     uint cellWord(uint i)              // word i of the cell maps
// and fills a Shape from a record.
//
// A pipeline is compiled for the kinds of shapes in a library. The code for other kinds is removed at compile time, so
// it costs neither time nor registers.

#ifndef CLEARANCE_SUPPORT_GLSL
#define CLEARANCE_SUPPORT_GLSL

#include "layout.glsl"
#include "real.glsl"
#include "support_superquadric.glsl"

// KINDS has bit k set if some shape is of kind k, and bit KIND_COUNT if some hull has cells. Nothing else may depend
// on it: a row has the same bits whatever other shapes the library holds.
layout(constant_id = 2) const uint KINDS = 0xffffffffu;

bool uses(uint bit) { return (KINDS >> bit & 1u) != 0u; }

// Classes of cores with one formula for the support point. Cylinders, cones, frusta, the segment of a capsule and
// the point of a sphere are all frusta.
const uint CLASS_FRUSTUM = 0u; // params: bottom radius, top radius, half length
const uint CLASS_BOX = 1u;
const uint CLASS_ELLIPSOID = 2u;
const uint CLASS_CONVEX = 3u;
const uint CLASS_SUPERQUADRIC = 4u;
const uint CLASS_SMOOTH_HULL = 5u; // params: see smoothParams
const uint CLASS_REVOLUTION = 6u;  // params: see smoothParams
const uint CLASS_NONE = 7u;        // a half-space, which has no support points

struct Shape {
    uint coreClass;
    uint record;       // index of the shape record
    uint first, count; // vertices
    uint cells;        // offset of the cell map, 0: none
    real3 params;
    real radius; // of the ball around the core, without the erosion of the core
    real erode;  // radius by which the core is eroded
};

real3 smoothParams(real sharpness, real flatness);

// classOf returns the class of a kind, and maps its parameters to the parameters of the class. paramsOf of
// support_two_floats.glsl maps them likewise (TestParametersOfKinds).
uint classOf(uint kind, inout real3 p) {
    switch (kind) {
    case KIND_SPHERE: p = real3(0); return CLASS_FRUSTUM;
    case KIND_CAPSULE: p = real3(0, 0, p.y); return CLASS_FRUSTUM;
    case KIND_CYLINDER: p = real3(p.x, p.x, p.y); return CLASS_FRUSTUM;
    case KIND_CONE: p = real3(p.x, 0, p.y); return CLASS_FRUSTUM;
    case KIND_FRUSTUM: return CLASS_FRUSTUM;
    case KIND_BOX: return CLASS_BOX;
    case KIND_ELLIPSOID: return CLASS_ELLIPSOID;
    case KIND_SUPERQUADRIC: return CLASS_SUPERQUADRIC;
    case KIND_CONVEX: return CLASS_CONVEX;
    case KIND_SMOOTH_HULL:
        if (uses(KIND_SMOOTH_HULL)) p = smoothParams(p[SMOOTH_HULL_SHARPNESS], real(0));
        return CLASS_SMOOTH_HULL;
    case KIND_SMOOTH_REVOLUTION:
        if (uses(KIND_SMOOTH_REVOLUTION))
            p = smoothParams(p[SMOOTH_REVOLUTION_SHARPNESS], p[SMOOTH_REVOLUTION_FLATNESS]);
        return CLASS_REVOLUTION;
    }
    return CLASS_NONE;
}

real3 frustumSupport(real3 p, real3 d) {
    precise real l = squareRoot(d.x * d.x + d.y * d.y);
    precise real topMinusBottom = (p.y - p.x) * l + real(2) * p.z * d.z;
    bool top = topMinusBottom >= real(0);
    real r = top ? p.y : p.x;
    precise real k = l > real(0) ? r / l : real(0);
    precise real2 circle = k * d.xy;
    return real3(circle, top ? p.z : -p.z);
}

real3 boxSupport(real3 p, real3 d) {
    return real3(d.x < real(0) ? -p.x : p.x, d.y < real(0) ? -p.y : p.y, d.z < real(0) ? -p.z : p.z);
}

real3 ellipsoidSupport(real3 p, real3 d) {
    precise real3 s = p * d;
    real inverse = inverseNorm(s);
    precise real3 e = p * (s * inverse);
    return squaredNorm(s) > real(0) ? e : real3(0);
}

// ellipsoidHessian returns the Hessian A(I - m mᵀ)A/h, m = Ad/h, of the support function h = |Ad| as a form on the
// plane of e and f, see hessian.glsl. It is formed from cross products with m.
real3 ellipsoidHessian(real3 axes, real3 d, real3 e, real3 f) {
    precise real3 s = axes * d;
    real inverse = inverseNorm(s);
    precise real3 m = s * inverse;
    precise real3 p = cross(axes * e, m), q = cross(axes * f, m);
    precise real3 hessian = real3(squaredNorm(p), dotProduct(p, q), squaredNorm(q)) * inverse;
    return squaredNorm(s) > real(0) ? hessian : real3(0);
}

#include "support_hull.glsl"

// The corners of cores that are polytopes are numbered: those of hulls by their vertices, those of boxes and of frusta
// without radii (points and segments) by the signs of their coordinates.
bool isPolytope(Shape s) {
    if (s.coreClass == CLASS_FRUSTUM) return s.params.x == real(0) && s.params.y == real(0);
    return s.coreClass == CLASS_BOX || s.coreClass == CLASS_CONVEX;
}

// handsOnCorners reports whether gjk.comp hands on the numbers of corners instead of directions. The direction of a
// single vertex may prove a Boolean query.
bool handsOnCorners(Shape a, Shape b, bool booleanQuery) { return isPolytope(a) && isPolytope(b) && !booleanQuery; }

uint signsOf(real3 d) { return (d.x < real(0) ? 1u : 0u) | (d.y < real(0) ? 2u : 0u) | (d.z < real(0) ? 4u : 0u); }

// supportCorner returns the number of a corner that maximises <d, x>.
uint supportCorner(Shape s, real3 d) {
    if (uses(KIND_CONVEX) && s.coreClass == CLASS_CONVEX) return supportVertex(s, d) - s.first;
    return signsOf(d);
}

real3 cornerPosition(Shape s, uint number) {
    if (uses(KIND_CONVEX) && s.coreClass == CLASS_CONVEX) return vertexAt(s.first + min(number, s.count - 1u));
    real3 p = s.params;
    return real3((number & 1u) != 0u ? -p.x : p.x, (number & 2u) != 0u ? -p.y : p.y, (number & 4u) != 0u ? -p.z : p.z);
}

#include "support_smooth.glsl"

bool isSmooth(Shape s) {
    return (uses(KIND_SMOOTH_HULL) && s.coreClass == CLASS_SMOOTH_HULL) ||
           (uses(KIND_SMOOTH_REVOLUTION) && s.coreClass == CLASS_REVOLUTION);
}

// supportPasses bounds the loop passes of one coreSupport.
uint supportPasses(Shape s) {
    if (isSmooth(s)) return s.count + (s.count + 3u) / 4u;
    if (!uses(KIND_CONVEX) || s.coreClass != CLASS_CONVEX) return 0u;
    return ((s.cells != 0u ? cellWord(s.cells + 1u) : s.count) + 2u) / 4u;
}

// coreSupport returns a point of the core that maximises <d, x>, and its number if the core is a polytope.
real3 coreSupport(Shape s, real3 d, out uint corner) {
    corner = signsOf(d);
    real3 point = real3(0);
    if (uses(KIND_FRUSTUM) && s.coreClass == CLASS_FRUSTUM) point = frustumSupport(s.params, d);
    else if (uses(KIND_BOX) && s.coreClass == CLASS_BOX) point = boxSupport(s.params, d);
    else if (uses(KIND_ELLIPSOID) && s.coreClass == CLASS_ELLIPSOID) point = ellipsoidSupport(s.params, d);
    else if (uses(KIND_CONVEX) && s.coreClass == CLASS_CONVEX) {
        uint v = supportVertex(s, d);
        corner = v - s.first;
        point = vertexAt(v);
    } else if (uses(KIND_SUPERQUADRIC) && s.coreClass == CLASS_SUPERQUADRIC) {
        real alpha1 = paramOf(s.record, SUPERQUADRIC_EXPONENTS_0);
        real alpha2 = paramOf(s.record, SUPERQUADRIC_EXPONENTS_1);
        point = superquadricSupport(s.params, alpha1, alpha2, d);
    } else if (isSmooth(s)) {
        real3 hessian;
        point = smoothSupport(s, d, real3(0), real3(0), hessian);
    }
    return point;
}

real3 coreSupport(Shape s, real3 d) {
    uint corner;
    return coreSupport(s, d, corner);
}

#ifdef DOUBLE
// supportError bounds the rounding error of a support point that takes powers, in excess of that of other support
// points, relative to the bounding radius and in units of roundoff.
double supportError(Shape s) {
    // The coordinates of a superquadric's support point are off by 12 roundoffs of its semi-axes: 5 for each
    // exponential of a logarithm, see elementary.glsl, and 2 for products. The norm of the semi-axes is √3 times the
    // bounding radius at most.
    if (uses(KIND_SUPERQUADRIC) && s.coreClass == CLASS_SUPERQUADRIC) return 24.0lf;
    if (isSmooth(s)) return smoothSupportError(s);
    return 0.0lf;
}
#endif

#endif
