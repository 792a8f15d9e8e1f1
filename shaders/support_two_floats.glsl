// Support points of cores as sums of two floats, in the frame of the shape and multiplied by scaleToUnit of pair.glsl
// in single precision: all lengths of a pair are at most 2. The including file declares the buffers shapes, vertices
// and cells of single precision, and shapes64 and vertices64, whose doubles are read as words.
//
// Errors in ε² of the size of the core, see two_floats.glsl. A corner is decoded: 1/2. The point of an ellipsoid with
// semi-axes p is p·(q/|q|) with q = p·d: q is off by 9, so |q|^(-1) by 9 + 14 + 37, and the three products add 9 + 9:
// 90 with the decoding. The circle of a frustum takes a unit vector, off by 60, and a product: 70. All are at most 90.
// A support value may also be off because another point was chosen. The corner of a box has the signs of the direction.
// For a frustum, the difference of the support values of both circles decides, (rt - rb) l + 2hz: its first term is off
// by 6 + 9 + 60 and the sum by 6, its second by 9 + 6, so in all by (81² + 30²)^(1/2) < 87. Vertices of hulls are
// compared by scalar products: twice 28. Both are at most 87.

#ifndef CLEARANCE_SUPPORT_TWO_FLOATS_GLSL
#define CLEARANCE_SUPPORT_TWO_FLOATS_GLSL

#include "pose_two_floats.glsl"

// SCAN_ERROR times the largest norm of a vertex bounds the error of a support value in single precision: the vertex and
// the direction are rounded, and there are three products and two sums, ε of that norm each by Cauchy's inequality for
// the vertex, the direction, the products and either sum: 5ε, and terms of second order.
const float SCAN_ERROR = 5.01 * 2.0 * UNIT_ROUNDOFF;

TwoFloats scaled(uvec2 words) {
    TwoFloats a = decode(words);
    return TwoFloats(a.high * scaleToUnit, a.low * scaleToUnit);
}

TwoFloats3 scaled(uvec2 x, uvec2 y, uvec2 z) {
    TwoFloats3 a = decode3(x, y, z);
    return TwoFloats3(a.high * scaleToUnit, a.low * scaleToUnit);
}

TwoFloats3 vertexOf(uint i) {
    return scaled(vertices64[i].position[0], vertices64[i].position[1], vertices64[i].position[2]);
}

const float NO_VALUE = -3e38;

bool isGreater(TwoFloats a, TwoFloats b) { return a.high > b.high || (a.high == b.high && a.low > b.low); }

// supportVertex returns a vertex with the greatest <d, x>: single precision selects all vertices that may be it, of
// which scalar products of two floats find the greatest. See supportVertex of support.glsl for the lists. Their
// cells have room for the rounding of toCellFrame: components that cancel, to 1e-4 at most, lose 9 + 18 units of ε²,
// or 4e-9, of what remains, and are rounded to floats.
uint supportVertex(Shape s, TwoFloats3 d, float largestNorm) {
    uint from = s.first, last = s.first + s.count - 1u;
    bool listed = uses(KIND_COUNT) && s.cells != 0u;
    if (listed) {
        float xx = paramOf(s.record, 0u), yx = paramOf(s.record, 1u), yy = paramOf(s.record, 2u);
        float zx = paramOf(s.record, 3u), zy = paramOf(s.record, 4u), zz = paramOf(s.record, 5u);
        TwoFloats3 columnX = TwoFloats3(vec3(xx, yx, zx), vec3(0));
        TwoFloats3 columnY = TwoFloats3(vec3(0.0, yy, zy), vec3(0));
        vec3 e = vec3(dotProduct(columnX, d).high, dotProduct(columnY, d).high, zz * d.high.z);
        uint start = s.cells + 2u + cellIndex(e, int(cellWord(s.cells)));
        from = cellWord(start);
        last = cellWord(start + 1u) - 1u;
    }
    float largest = NO_VALUE;
    for (uint i = from; i <= last; i += 4u) {
        uvec4 k = min(uvec4(i, i + 1u, i + 2u, i + 3u), uvec4(last));
        if (listed) k = uvec4(cellWord(k.x), cellWord(k.y), cellWord(k.z), cellWord(k.w));
        largest = max(largest, max(max(dotProduct(vertexAt(k.x), d.high), dotProduct(vertexAt(k.y), d.high)),
                                   max(dotProduct(vertexAt(k.z), d.high), dotProduct(vertexAt(k.w), d.high))));
    }
    // In single precision the value of the support vertex may be too small by SCAN_ERROR, and the largest value too
    // large by as much.
    precise float least = largest - 2.1 * SCAN_ERROR * largestNorm;
    uint best = s.first;
    TwoFloats greatest = TwoFloats(NO_VALUE, 0.0);
    for (uint i = from; i <= last; i++) {
        uint k = listed ? cellWord(i) : i;
        if (!(dotProduct(vertexAt(k), d.high) >= least)) continue;
        TwoFloats value = dotProduct(vertexOf(k), d);
        if (isGreater(value, greatest)) {
            greatest = value;
            best = k;
        }
    }
    return best;
}

// supportSteps bounds the loop passes of one supportVertex.
uint supportSteps(Shape s) {
    if (!uses(KIND_CONVEX) || s.coreClass != CLASS_CONVEX) return 0u;
    uint count = s.cells != 0u ? cellWord(s.cells + 1u) : s.count;
    return count + (count + 3u) / 4u;
}

TwoFloats3 withSigns(TwoFloats3 p, vec3 d) {
    vec3 sign_ = vec3(d.x < 0.0 ? -1.0 : 1.0, d.y < 0.0 ? -1.0 : 1.0, d.z < 0.0 ? -1.0 : 1.0);
    return TwoFloats3(sign_ * p.high, sign_ * p.low);
}

TwoFloats3 ellipsoidSupport(TwoFloats3 p, TwoFloats3 d) {
    TwoFloats3 q = multiply(p, d);
    return multiply(p, unitVector(q).unit);
}

// Components of a unit vector below this are as good as 0: 16 ε².
const float NO_COMPONENT = 2.2737367544323206e-13; // 2^-42

// frustumSupport takes bottom radius, top radius and half length.
TwoFloats3 frustumSupport(TwoFloats3 p, TwoFloats3 d) {
    UnitVector across = UnitVector(TwoFloats3(vec3(0), vec3(0)), TwoFloats(0.0, 0.0));
    if (max(abs(d.high.x), abs(d.high.y)) > NO_COMPONENT)
        across = unitVector(TwoFloats3(vec3(d.high.xy, 0), vec3(d.low.xy, 0)));
    TwoFloats bottom = TwoFloats(p.high.x, p.low.x), top = TwoFloats(p.high.y, p.low.y);
    TwoFloats half_ = TwoFloats(p.high.z, p.low.z), z = TwoFloats(d.high.z, d.low.z);
    TwoFloats rise = multiply(half_, z);
    TwoFloats topMinusBottom = add(multiply(add(top, negate(bottom)), across.norm_), add(rise, rise));
    bool isTop = topMinusBottom.high >= 0.0;
    TwoFloats3 point = multiply(across.unit, isTop ? top : bottom);
    point.high.z = isTop ? half_.high : -half_.high;
    point.low.z = isTop ? half_.low : -half_.low;
    return point;
}

// isProvable reports whether a core has support points here.
bool isProvable(Shape s) {
    return s.coreClass == CLASS_FRUSTUM || s.coreClass == CLASS_BOX || s.coreClass == CLASS_ELLIPSOID ||
           s.coreClass == CLASS_CONVEX;
}

// paramsOf returns the parameters of the class of a shape, as classOf of support.glsl does for floats. Kinds that are
// not named have the parameters of their class.
TwoFloats3 paramsOf(Shape s) {
    uint r = s.record;
    TwoFloats3 p = scaled(shapes64[r].params[0], shapes64[r].params[1], shapes64[r].params[2]);
    uint kind = shapes64[r].kind;
    if (kind == KIND_SPHERE) return TwoFloats3(vec3(0), vec3(0));
    if (kind == KIND_CAPSULE) return TwoFloats3(vec3(0.0, 0.0, p.high.y), vec3(0.0, 0.0, p.low.y));
    if (kind == KIND_CYLINDER) return TwoFloats3(p.high.xxy, p.low.xxy);
    if (kind == KIND_CONE) return TwoFloats3(vec3(p.high.x, 0.0, p.high.y), vec3(p.low.x, 0.0, p.low.y));
    return p;
}

// cornerOf returns a corner of a polytope by its number, see cornerPosition of support.glsl.
TwoFloats3 cornerOf(Shape s, uint number) {
    if (uses(KIND_CONVEX) && s.coreClass == CLASS_CONVEX) return vertexOf(s.first + min(number, s.count - 1u));
    vec3 signs =
        vec3((number & 1u) != 0u ? -1.0 : 1.0, (number & 2u) != 0u ? -1.0 : 1.0, (number & 4u) != 0u ? -1.0 : 1.0);
    return withSigns(paramsOf(s), signs);
}

// coreSupport returns a point of the core: the support point along d, or with `any` one that single precision takes for
// it.
TwoFloats3 coreSupport(Shape s, TwoFloats3 d, float largestNorm, bool any_) {
    if (uses(KIND_CONVEX) && s.coreClass == CLASS_CONVEX)
        return vertexOf(any_ ? supportVertex(s, d.high) : supportVertex(s, d, largestNorm));
    TwoFloats3 p = paramsOf(s);
    if (uses(KIND_BOX) && s.coreClass == CLASS_BOX) return withSigns(p, d.high);
    if (uses(KIND_ELLIPSOID) && s.coreClass == CLASS_ELLIPSOID) return ellipsoidSupport(p, d);
    return frustumSupport(p, d);
}

#endif
