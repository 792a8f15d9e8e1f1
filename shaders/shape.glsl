// Shapes: the support points of their cores. The including file declares the buffers
// of shapes and vertices in its own precision and defines
//     real3 vertexAt(uint i)
// before the include, and fills a Shape from a record.

#ifndef CLEARANCE_SHAPE_GLSL
#define CLEARANCE_SHAPE_GLSL

#include "layout.glsl"
#include "real.glsl"

// Families of cores that share one support function. Cylinder, cone, frustum, the
// segment of a capsule and the point of a sphere are all frusta.
const uint FAMILY_FRUSTUM = 0u; // params: bottom radius, top radius, half length
const uint FAMILY_BOX = 1u;
const uint FAMILY_ELLIPSOID = 2u;
const uint FAMILY_CONVEX = 3u;
const uint FAMILY_NONE = 4u; // no shader for this kind

struct Shape {
    uint family;
    uint first, count; // vertices
    real3 params;
    real radius; // of the ball around the core, without what erosion adds
    real erode;
};

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
    case KIND_CONVEX: return FAMILY_CONVEX;
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

real3 ellipsoidSupport(real3 p, real3 d) {
    precise real3 s = p * d;
    real l = norm(s);
    if (!(l > real(0))) return real3(0);
    precise real3 e = p * (s / l);
    return e;
}

// further compares vertex i with the best so far.
void further(uint i, real3 d, inout real most, inout real3 best) {
    real3 v = vertexAt(i);
    real h = product(v, d);
    if (h > most) { most = h; best = v; }
}

// convexSupport looks at all vertices, four a pass; the last pass may see the last
// vertex several times.
real3 convexSupport(Shape s, real3 d) {
    real3 best = vertexAt(s.first);
    real most = product(best, d);
    uint last = s.first + s.count - 1u;
    for (uint i = s.first + 1u; i <= last; i += 4u) {
        further(i, d, most, best);
        further(min(i + 1u, last), d, most, best);
        further(min(i + 2u, last), d, most, best);
        further(min(i + 3u, last), d, most, best);
    }
    return best;
}

// passes is the number of loop passes of one coreSupport.
uint passes(Shape s) { return s.family == FAMILY_CONVEX ? (s.count + 2u) / 4u : 0u; }

// coreSupport returns a point of the core that maximises <d, x>.
real3 coreSupport(Shape s, real3 d) {
    switch (s.family) {
    case FAMILY_FRUSTUM: return frustumSupport(s.params, d);
    case FAMILY_BOX: return real3(d.x < real(0) ? -s.params.x : s.params.x,
                                  d.y < real(0) ? -s.params.y : s.params.y,
                                  d.z < real(0) ? -s.params.z : s.params.z);
    case FAMILY_ELLIPSOID: return ellipsoidSupport(s.params, d);
    case FAMILY_CONVEX: return convexSupport(s, d);
    }
    return real3(0);
}

#endif
