// Shapes: the support points of their cores. The including file declares the buffers
// of shapes and vertices in its own precision, that of cells, and defines
//     real3 vertexAt(uint i)
//     real paramOf(uint record, uint k)
//     real3 centreOf(uint record)
//     uint cellWord(uint i)
// before the include, and fills a Shape from a record.
//
// A pipeline is made for the kinds of shapes that a library has: what the others would
// need is left out when it is compiled, and costs neither time nor registers.

#ifndef CLEARANCE_SHAPE_GLSL
#define CLEARANCE_SHAPE_GLSL

#include "layout.glsl"
#include "real.glsl"
#include "superquadric.glsl"

// HAVE has bit k set if some shape is of kind k, and bit KIND_COUNT if some hull has
// cells. Nothing else may depend on it: a row has the same bits whatever else the library
// holds.
layout(constant_id = 2) const uint HAVE = 0xffffffffu;

bool have(uint bit) { return (HAVE >> bit & 1u) != 0u; }

// Families of cores that share one support function. Cylinder, cone, frustum, the
// segment of a capsule and the point of a sphere are all frusta.
const uint FAMILY_FRUSTUM = 0u; // params: bottom radius, top radius, half length
const uint FAMILY_BOX = 1u;
const uint FAMILY_ELLIPSOID = 2u;
const uint FAMILY_CONVEX = 3u;
const uint FAMILY_SUPERQUADRIC = 4u;
const uint FAMILY_SMOOTH_HULL = 5u; // params: see smoothParams
const uint FAMILY_REVOLUTION = 6u;  // the same
const uint FAMILY_NONE = 7u;        // a half-space, which has no support points

struct Shape {
    uint family;
    uint record;       // index of the shape record
    uint first, count; // vertices
    uint cells;        // place of the cell map, 0: none
    real3 params;
    real radius; // of the ball around the core, without what erosion adds
    real erode;
};

real3 smoothParams(real sharpness, real flatness);

// family maps a kind and its parameters to a family and that family's parameters.
uint family(uint kind, inout real3 p) {
    switch (kind) {
    case KIND_SPHERE: p = real3(0); return FAMILY_FRUSTUM;
    case KIND_CAPSULE: p = real3(0, 0, p.y); return FAMILY_FRUSTUM;
    case KIND_CYLINDER: p = real3(p.x, p.x, p.y); return FAMILY_FRUSTUM;
    case KIND_CONE: p = real3(p.x, 0, p.y); return FAMILY_FRUSTUM;
    case KIND_FRUSTUM: return FAMILY_FRUSTUM;
    case KIND_BOX: return FAMILY_BOX;
    case KIND_ELLIPSOID: return FAMILY_ELLIPSOID;
    case KIND_SUPERQUADRIC: return FAMILY_SUPERQUADRIC;
    case KIND_CONVEX: return FAMILY_CONVEX;
    case KIND_SMOOTH_HULL:
        if (have(KIND_SMOOTH_HULL)) p = smoothParams(p[SMOOTH_HULL_SHARPNESS], real(0));
        return FAMILY_SMOOTH_HULL;
    case KIND_SMOOTH_REVOLUTION:
        if (have(KIND_SMOOTH_REVOLUTION)) p = smoothParams(p[SMOOTH_REVOLUTION_SHARPNESS], p[SMOOTH_REVOLUTION_FLATNESS]);
        return FAMILY_REVOLUTION;
    }
    return FAMILY_NONE;
}

real3 frustumSupport(real3 p, real3 d) {
    precise real l = root(d.x * d.x + d.y * d.y);
    precise real rise = (p.y - p.x) * l + real(2) * p.z * d.z;
    bool top = rise >= real(0);
    real r = top ? p.y : p.x;
    precise real k = l > real(0) ? r / l : real(0);
    precise real2 rim = k * d.xy;
    return real3(rim, top ? p.z : -p.z);
}

real3 boxSupport(real3 p, real3 d) {
    return real3(d.x < real(0) ? -p.x : p.x, d.y < real(0) ? -p.y : p.y, d.z < real(0) ? -p.z : p.z);
}

real3 ellipsoidSupport(real3 p, real3 d) {
    precise real3 s = p * d;
    real l = norm(s);
    if (!(l > real(0))) return real3(0);
    precise real3 e = p * (s / l);
    return e;
}

// ellipsoidForm is the Hessian A(I - m mᵀ)A/h of the support function h = |Ad| on the plane of
// e and f, see curved.glsl, with m = Ad/h: products of vectors across m.
real3 ellipsoidForm(real3 axes, real3 d, real3 e, real3 f) {
    precise real3 s = axes * d;
    real h = norm(s);
    if (!(h > real(0))) return real3(0);
    precise real3 m = s / h;
    precise real3 p = cross(axes * e, m), q = cross(axes * f, m);
    precise real3 form = real3(square(p), product(p, q), square(q)) / h;
    return form;
}

// part is the row or column of a cell map of n × n for a coordinate in [-1, 1].
int part(float u, int n) { return clamp(int((u + 1.0) * (0.5 * float(n))), 0, n - 1); }

// cellOf is the cell of the direction e in a cube map with faces of n × n, see
// batch/cells.go. A zero direction has some cell.
uint cellOf(vec3 e, int n) {
    vec3 a = abs(e);
    int face;
    vec3 q; // the largest component first, the others in cyclic order
    if (a.x >= a.y && a.x >= a.z) { face = 0; q = e; }
    else if (a.y >= a.z) { face = 2; q = e.yzx; }
    else { face = 4; q = e.zxy; }
    if (q.x < 0.0) face++;
    float m = max(abs(q.x), 1e-37);
    return uint((face * n + part(q.y / m, n)) * n + part(q.z / m, n));
}

// framed is Lᵀd for the L of a hull with cells, rounded only at the end.
vec3 framed(uint record, real3 d) {
    real xx = paramOf(record, 0u), yx = paramOf(record, 1u), yy = paramOf(record, 2u);
    real zx = paramOf(record, 3u), zy = paramOf(record, 4u), zz = paramOf(record, 5u);
    precise real3 e = real3(xx * d.x + yx * d.y + zx * d.z, yy * d.y + zy * d.z, zz * d.z);
    return vec3(e);
}

// further compares vertex i with the best so far.
void further(uint i, real3 d, inout real most, inout uint best) {
    real h = product(vertexAt(i), d);
    if (h > most) { most = h; best = i; }
}

// highestVertex looks at all vertices, or at those that the cell of the direction
// lists, four a pass; the last pass may see the last vertex several times.
uint highestVertex(Shape s, real3 d) {
    uint from = s.first, last = s.first + s.count - 1u;
    bool listed = have(KIND_COUNT) && s.cells != 0u;
    if (listed) {
        uint start = s.cells + 2u + cellOf(framed(s.record, d), int(cellWord(s.cells)));
        from = cellWord(start);
        last = cellWord(start + 1u) - 1u;
    }
    uint best = listed ? cellWord(from) : from;
    real most = product(vertexAt(best), d);
    for (uint i = from + 1u; i <= last; i += 4u) {
        uvec4 k = min(uvec4(i, i + 1u, i + 2u, i + 3u), uvec4(last));
        if (listed) k = uvec4(cellWord(k.x), cellWord(k.y), cellWord(k.z), cellWord(k.w));
        further(k.x, d, most, best);
        further(k.y, d, most, best);
        further(k.z, d, most, best);
        further(k.w, d, most, best);
    }
    return best;
}

// Corners of cores that are polytopes have numbers: vertices of hulls theirs, those of boxes and of
// frusta without radii, which are points and segments, the signs of their coordinates.
bool polytope(Shape s) {
    if (s.family == FAMILY_FRUSTUM) return s.params.x == real(0) && s.params.y == real(0);
    return s.family == FAMILY_BOX || s.family == FAMILY_CONVEX;
}

// cornerAlong is the number of a corner that maximises <d, x>.
uint cornerAlong(Shape s, real3 d) {
    if (have(KIND_CONVEX) && s.family == FAMILY_CONVEX) return highestVertex(s, d) - s.first;
    return (d.x < real(0) ? 1u : 0u) | (d.y < real(0) ? 2u : 0u) | (d.z < real(0) ? 4u : 0u);
}

real3 cornerAt(Shape s, uint number) {
    if (have(KIND_CONVEX) && s.family == FAMILY_CONVEX) return vertexAt(s.first + number);
    real3 p = s.params;
    return real3((number & 1u) != 0u ? -p.x : p.x, (number & 2u) != 0u ? -p.y : p.y, (number & 4u) != 0u ? -p.z : p.z);
}

#include "smooth.glsl"

bool smooth_(Shape s) {
    return (have(KIND_SMOOTH_HULL) && s.family == FAMILY_SMOOTH_HULL)
        || (have(KIND_SMOOTH_REVOLUTION) && s.family == FAMILY_REVOLUTION);
}

// passes is the largest number of loop passes of one coreSupport.
uint passes(Shape s) {
    if (smooth_(s)) return s.count + (s.count + 3u) / 4u;
    if (!have(KIND_CONVEX) || s.family != FAMILY_CONVEX) return 0u;
    return ((s.cells != 0u ? cellWord(s.cells + 1u) : s.count) + 2u) / 4u;
}

// coreSupport returns a point of the core that maximises <d, x>.
real3 coreSupport(Shape s, real3 d) {
    if (have(KIND_FRUSTUM) && s.family == FAMILY_FRUSTUM) return frustumSupport(s.params, d);
    if (have(KIND_BOX) && s.family == FAMILY_BOX) return boxSupport(s.params, d);
    if (have(KIND_ELLIPSOID) && s.family == FAMILY_ELLIPSOID) return ellipsoidSupport(s.params, d);
    if (have(KIND_CONVEX) && s.family == FAMILY_CONVEX) return vertexAt(highestVertex(s, d));
    if (have(KIND_SUPERQUADRIC) && s.family == FAMILY_SUPERQUADRIC) {
        real alpha1 = paramOf(s.record, SUPERQUADRIC_EXPONENTS_0), alpha2 = paramOf(s.record, SUPERQUADRIC_EXPONENTS_1);
        return superquadricSupport(s.params, alpha1, alpha2, d);
    }
    real3 form;
    if (smooth_(s)) return smoothSupport(s, d, real3(0), real3(0), form);
    return real3(0);
}

#ifdef DOUBLE
// doubt bounds the rounding error of a support point that takes powers, beyond that of
// others, relative to the bounding radius and in units of roundoff.
double doubt(Shape s) {
    // The coordinates of a superquadric's are off by 12 of its semi-axes: 5 for each
    // exponential of a logarithm, see elementary.glsl, and 2 for products. The semi-axes
    // as a vector are √3 of the bounding radius at most.
    if (have(KIND_SUPERQUADRIC) && s.family == FAMILY_SUPERQUADRIC) return 24.0lf;
    if (smooth_(s)) return smoothDoubt(s);
    return 0.0lf;
}
#endif

#endif
