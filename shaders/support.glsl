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
#include "elementary.glsl"

// Superquadrics |x/a|^(2/α2) + |y/b|^(2/α2), |z/c|^(2/α1) [RTR, eq. 16], by the formulas of geom.Superquadric.
//
// The support function is a norm of norms: the equatorial norm of (a·dx, b·dy), with α2, and the meridional norm of
// that and c·dz, with α1. The support point is its gradient.

// A ratio of coordinates below this counts as 0: it need not be a normal number, and its contribution to a support
// value is below rounding.
#ifdef DOUBLE
const double SMALLEST_RATIO = 1e-300lf;
#else
const float SMALLEST_RATIO = 1e-37;
#endif

// powerNorm2 returns the norm of (u, v), u, v ≥ 0, with exponent e = 2/(2-α), and its gradient, a point of the unit
// circle of the conjugate exponent 2/α. Both coordinates of the gradient are computed from the same q, so the point
// lies on that circle up to rounding, for any e and whatever the error of the logarithm. Exponentials have arguments
// ≤ 0, so nothing overflows.
real powerNorm2(real u, real v, real alpha, out real2 gradient) {
    real larger = max(u, v), smaller = min(u, v);
    gradient = v > u ? real2(0, 1) : real2(1, 0);
    if (!(smaller >= SMALLEST_RATIO * larger && smaller > real(0))) return larger;
    precise real logQ = real(2) / (real(2) - alpha) * logOf(smaller / larger);
    logQ = min(logQ, real(0));
    real q = expOf(logQ);
    precise real halfAlpha = real(0.5) * alpha;
    real first = expOf(-halfAlpha * log1pOf(q));
    precise real second = first * expOf(halfAlpha * logQ);
    gradient = v > u ? real2(second, first) : real2(first, second);
    precise real n = larger * ((real(1) + q) * first);
    return n;
}

real3 superquadricSupport(real3 axes, real alpha1, real alpha2, real3 d) {
    precise real3 s = axes * abs(d);
    real2 equatorial, meridional;
    real l = powerNorm2(s.x, s.y, alpha2, equatorial);
    powerNorm2(l, s.z, alpha1, meridional);
    precise real3 p = axes * real3(meridional.x * equatorial, meridional.y);
    return real3(d.x < real(0) ? -p.x : p.x, d.y < real(0) ? -p.y : p.y, d.z < real(0) ? -p.z : p.z);
}

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

// isFrustum reports whether the core of a kind is the hull of two discs: of CLASS_FRUSTUM, but no point or segment.
bool isFrustum(uint kind) { return kind == KIND_CYLINDER || kind == KIND_CONE || kind == KIND_FRUSTUM; }

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

// Support vertices of convex hulls. A hull of more than a few vertices has a cell map (geom/cells): the directions
// are divided into cells of a cube map, and each cell lists the vertices that can have the greatest support value
// for a direction in it. The lists are proved to be complete, so a support point does not depend on the map.

// cellRow returns the row or column in a cell map of n × n for a coordinate in [-1, 1].
int cellRow(float u, int n) { return clamp(int((u + 1.0) * (0.5 * float(n))), 0, n - 1); }

// cellIndex returns the cell of the direction e in a cube map with faces of n × n, as geom/cells numbers them. A zero
// direction has some cell.
uint cellIndex(vec3 e, int n) {
    vec3 a = abs(e);
    int face;
    vec3 q; // the largest component first, the others in cyclic order
    // clang-format off
    if (a.x >= a.y && a.x >= a.z) { face = 0; q = e; }
    else if (a.y >= a.z) { face = 2; q = e.yzx; }
    else { face = 4; q = e.zxy; }
    // clang-format on
    if (q.x < 0.0) face++;
    float m = max(abs(q.x), 1e-37);
    return uint((face * n + cellRow(q.y / m, n)) * n + cellRow(q.z / m, n));
}

// toCellFrame returns Lᵀd for the factor L of a hull with cells, rounded to floats at the end.
vec3 toCellFrame(uint record, real3 d) {
    real xx = paramOf(record, 0u), yx = paramOf(record, 1u), yy = paramOf(record, 2u);
    real zx = paramOf(record, 3u), zy = paramOf(record, 4u), zz = paramOf(record, 5u);
    precise real3 e = real3(xx * d.x + yx * d.y + zx * d.z, yy * d.y + zy * d.z, zz * d.z);
    return vec3(e);
}

// compareVertex makes vertex i the best if its support value is greater.
void compareVertex(uint i, real3 d, inout real largest, inout uint best) {
    real value = dotProduct(vertexAt(i), d);
    if (value > largest) {
        largest = value;
        best = i;
    }
}

// supportVertex returns the vertex with the greatest <d, x> among all vertices, or among those that the cell of the
// direction lists. It takes four per pass; the last pass may evaluate the last vertex several times.
uint supportVertex(Shape s, real3 d) {
    uint from = s.first, last = s.first + s.count - 1u;
    bool listed = uses(KIND_COUNT) && s.cells != 0u;
    if (listed) {
        uint start = s.cells + 2u + cellIndex(toCellFrame(s.record, d), int(cellWord(s.cells)));
        from = cellWord(start);
        last = cellWord(start + 1u) - 1u;
    }
    uint best = listed ? cellWord(from) : from;
    real largest = dotProduct(vertexAt(best), d);
    for (uint i = from + 1u; i <= last; i += 4u) {
        uvec4 k = min(uvec4(i, i + 1u, i + 2u, i + 3u), uvec4(last));
        if (listed) k = uvec4(cellWord(k.x), cellWord(k.y), cellWord(k.z), cellWord(k.w));
        compareVertex(k.x, d, largest, best);
        compareVertex(k.y, d, largest, best);
        compareVertex(k.z, d, largest, best);
        compareVertex(k.w, d, largest, best);
    }
    return best;
}

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

// Smooth hulls [RTR, eq. 17] and smooth revolutions [RTR, eq. 19], by the formulas of geom.SmoothHull and
// geom.SmoothRevolution.

// smallestRatio returns the t below which t^(β-2) < 2^-100: such a term of a sum is below the rounding of the term
// with t = 1.
real smallestRatio(real sharpness) { return expOf(real(-69.314718) / (sharpness - real(2))); }

// smoothParams returns the params of a Shape of these kinds: the sharpness β, smallestRatio, and for a revolution the
// square root of its flatness.
real3 smoothParams(real sharpness, real flatness) {
    return real3(sharpness, smallestRatio(sharpness), squareRoot(flatness));
}

// powerNormGradient returns the gradient of h(d) = (Σ max(<q, d>, 0)^β)^(1/β) over the vertices q of s relative to
// center, and its Hessian as a form on the plane of e and f, see hessian.glsl. A compiler removes the Hessian where
// the caller ignores it.
//
// Let m be the largest <q, d>, t = <q, d>/m and S = Σ t^β. The gradient is Σ w·q with w = t^(β-1)/S^(1-1/β). All powers
// are of numbers up to 1, so nothing overflows for any β. The vector of all w has norm 1 in the conjugate exponent,
// whatever the rounding errors of t: these move the point along the surface, not off it.
//
// With y = <q, d>/h the Hessian is (β-1)/h · (Σ y^(β-2) q qᵀ - x xᵀ).
real3 powerNormGradient(Shape s, real3 center, real3 d, real3 e, real3 f, out real3 hessian) {
    uint last = s.first + s.count - 1u;
    real m = real(0);
    for (uint i = s.first; i <= last; i += 4u) {
        uvec4 k = min(uvec4(i, i + 1u, i + 2u, i + 3u), uvec4(last));
        precise real3 q0 = vertexAt(k.x) - center, q1 = vertexAt(k.y) - center;
        precise real3 q2 = vertexAt(k.z) - center, q3 = vertexAt(k.w) - center;
        m = max(max(max(m, dotProduct(q0, d)), max(dotProduct(q1, d), dotProduct(q2, d))), dotProduct(q3, d));
    }
    precise real sum = real(0), negligible = s.params.y * m;
    precise real3 x = real3(0), moments = real3(0);
    hessian = real3(0);
    for (uint i = s.first; i <= last; i++) {
        precise real3 q = vertexAt(i) - center;
        real value = dotProduct(q, d);
        if (!(value > negligible)) continue;
        precise real t = min(value / m, real(1));
        precise real ly = (s.params.x - real(1)) * logOf(t);
        real w = expOf(ly);
        sum += w * t;
        x += w * q;
        real a = dotProduct(q, e), b = dotProduct(q, f);
        moments += w / t * real3(a * a, a * b, b * b);
    }
    if (!(sum > real(0))) return real3(0); // d is 0
    real l = logOf(sum);
    precise real lower = (real(1) / s.params.x - real(1)) * l;
    real k = expOf(lower);
    x *= k;
    real a = dotProduct(x, e), b = dotProduct(x, f);
    precise real power = (real(2) / s.params.x - real(1)) * l;
    precise real3 scaled =
        (moments * expOf(power) - real3(a * a, a * b, b * b)) * ((s.params.x - real(1)) / (m * sum * k));
    hessian = scaled;
    return x;
}

// smoothSupport returns the support point of either kind, and the Hessian as powerNormGradient does. The profile of a
// revolution is a hull in the plane of (r, z). Its support function is evaluated at (ρ, z), where ρ is the support
// function of an elliptic disc.
real3 smoothSupport(Shape s, real3 d, real3 e, real3 f, out real3 hessian) {
    bool revolution = s.coreClass == CLASS_REVOLUTION;
    real3 center = real3(0), reduced = d, reducedTangent = e, discAxes = real3(1, 1, s.params.z), disc = real3(0);
    if (revolution) {
        disc = ellipsoidSupport(discAxes, d);
        reduced = real3(dotProduct(disc, d), d.z, real(0));
        // In the plane of the profile the Hessian has one nonzero direction, orthogonal to (ρ, z).
        precise real3 v = real3(-reduced.y, reduced.x, 0) / norm(reduced);
        reducedTangent = v;
    } else {
        center = centerOf(s.record);
    }
    real3 g = powerNormGradient(s, center, reduced, reducedTangent, revolution ? real3(0) : f, hessian);
    if (!revolution) {
        precise real3 p = center + g;
        return p;
    }
    precise real a = reducedTangent.x * dotProduct(disc, e) + reducedTangent.y * e.z;
    precise real b = reducedTangent.x * dotProduct(disc, f) + reducedTangent.y * f.z;
    precise real3 total = g.x * ellipsoidHessian(discAxes, d, e, f) + hessian.x * real3(a * a, a * b, b * b);
    hessian = total;
    precise real3 p = real3(g.x * disc.x, g.x * disc.y, g.x * disc.z + g.y);
    return p;
}

#ifdef DOUBLE
// smoothSupportError bounds the rounding error of a support point relative to the bounding radius R, in units of
// roundoff, for n vertices. The sum of w·q has n+2 roundings of terms whose magnitudes sum to n^(1/β)·R at most, as
// the vector of all w has norm 1. The common factor is a power of the sum S ≤ n: n+1 for the sum, 0.72·n+3 since w
// and t differ by the rounding of a logarithm, 58 for its own logarithm and exponential. The disc of a revolution
// and the products add 10.
double smoothSupportError(Shape s) {
    precise double normBound = 1.0lf / expOf(-logOf(double(s.count)) / s.params.x);
    return (3.0lf * double(s.count) + 80.0lf) * normBound;
}
#endif

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
