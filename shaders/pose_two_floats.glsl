// Poses as sums of two floats, see two_floats.glsl for the arithmetic and for ε.
//
// Errors, with terms of third order left out. A decoded double is off by ε²/2 of itself, which is not small if a
// position is far from the origin of the world: position_rounding of a RemainderRecord bounds what that does
// to the relative position.
//
// The quaternion of the relative rotation, of unit quaternions a and b. Its real part is a product, 9, and a scalar
// product, 28, of which the sum adds 6: 43 at most, as the moduli of all products add up to 1. Each other component
// takes products, 9, and three sums of 6 each: 27. Together (43² + 3·27²)^(1/2) = 64, and 1 of decoding: 65 ε².
//
// Its matrix 1 - 2M changes by 6 |δq|, of which 2 from 2w[v] and 4 from 2[v]². An entry on the diagonal is
// 2(1/2 - (yy + zz)) with yy + zz ≤ 1, off by 2(9 + 6 + 9) = 48; any other is 2(xy ± wz) with moduli of at most 1/2,
// off by 15. The norm of these is (3·48² + 6·15²)^(1/2) = 91. So the matrix of the relative rotation is off by
// 6·65 + 91 < 512 ε², and that of a decoded quaternion by 6 + 91 = 97 ε². Its application adds √3·28 < 49 ε² of the
// vector, through three scalar products.

#ifndef CLEARANCE_POSE_TWO_FLOATS_GLSL
#define CLEARANCE_POSE_TWO_FLOATS_GLSL

#include "layout.glsl"
#include "two_floats.glsl"

// decode returns the double with these words, the low one first. It truncates to 48 bits. Moduli below 2^-74, which
// are lengths of nothing, lose their low part, and those below 2^-100 are 0. No number of a batch exceeds 2^31.
TwoFloats decode(uvec2 words) {
    uint exponent = words.y >> 20 & 0x7ffu, sign = words.y & 0x80000000u;
    if (exponent < 1023u - 100u) return TwoFloats(0.0, 0.0);
    uint leading = (words.y & 0xfffffu) << 3 | words.x >> 29;
    float high = uintBitsToFloat(sign | (exponent - 896u) << 23 | leading);
    if (exponent < 1023u - 74u) return TwoFloats(high, 0.0);
    float unit = uintBitsToFloat(sign | (exponent - 948u) << 23); // of bit 52
    precise float low = float(words.x & 0x1fffffe0u) * unit;
    return TwoFloats(high, low);
}

TwoFloats3 decode3(uvec2 x, uvec2 y, uvec2 z) {
    TwoFloats a = decode(x), b = decode(y), c = decode(z);
    return TwoFloats3(vec3(a.high, b.high, c.high), vec3(a.low, b.low, c.low));
}

// RotationPair is a unit quaternion.
struct RotationPair {
    TwoFloats w;
    TwoFloats3 v;
};

RotationPair rotationOf(PoseRecord p) {
    RotationPair q;
    q.w = decode(p.rotation[0]);
    q.v = decode3(p.rotation[1], p.rotation[2], p.rotation[3]);
    return q;
}

TwoFloats3 positionOf(PoseRecord p) { return decode3(p.position[0], p.position[1], p.position[2]); }

TwoFloats3 yzx(TwoFloats3 v) { return TwoFloats3(v.high.yzx, v.low.yzx); }
TwoFloats3 zxy(TwoFloats3 v) { return TwoFloats3(v.high.zxy, v.low.zxy); }
TwoFloats3 subtract(TwoFloats3 a, TwoFloats3 b) { return add(a, negate(b)); }
TwoFloats3 multiply(TwoFloats3 v, float s) { return multiply(v, vec3(s)); }

// relativeRotation returns the rotation of B in the frame of A: conj(a)·b.
RotationPair relativeRotation(RotationPair a, RotationPair b) {
    TwoFloats3 cross_ = subtract(multiply(yzx(a.v), zxy(b.v)), multiply(zxy(a.v), yzx(b.v)));
    RotationPair q;
    q.w = add(multiply(a.w, b.w), dotProduct(a.v, b.v));
    q.v = subtract(subtract(multiply(b.v, a.w), multiply(a.v, b.w)), cross_);
    return q;
}

// RotationMatrix holds the rows of a rotation matrix.
struct RotationMatrix {
    TwoFloats3 x, y, z;
};

RotationMatrix rotationMatrix(RotationPair q) {
    TwoFloats3 squares = multiply(q.v, q.v);
    TwoFloats3 products = multiply(q.v, yzx(q.v)); // xy, yz, zx
    TwoFloats3 withReal = zxy(multiply(q.v, q.w)); // wz, wx, wy
    TwoFloats3 half_ = TwoFloats3(vec3(0.5), vec3(0));
    TwoFloats3 diagonal = subtract(half_, add(yzx(squares), zxy(squares)));
    TwoFloats3 plus = add(products, withReal), minus = subtract(products, withReal);
    // clang-format off
    return RotationMatrix(
        TwoFloats3(2.0 * vec3(diagonal.high.x, minus.high.x, plus.high.z),
                   2.0 * vec3(diagonal.low.x, minus.low.x, plus.low.z)),
        TwoFloats3(2.0 * vec3(plus.high.x, diagonal.high.y, minus.high.y),
                   2.0 * vec3(plus.low.x, diagonal.low.y, minus.low.y)),
        TwoFloats3(2.0 * vec3(minus.high.z, plus.high.y, diagonal.high.z),
                   2.0 * vec3(minus.low.z, plus.low.y, diagonal.low.z)));
    // clang-format on
}

RotationMatrix transposed(RotationMatrix m) {
    return RotationMatrix(TwoFloats3(vec3(m.x.high.x, m.y.high.x, m.z.high.x), vec3(m.x.low.x, m.y.low.x, m.z.low.x)),
                          TwoFloats3(vec3(m.x.high.y, m.y.high.y, m.z.high.y), vec3(m.x.low.y, m.y.low.y, m.z.low.y)),
                          TwoFloats3(vec3(m.x.high.z, m.y.high.z, m.z.high.z), vec3(m.x.low.z, m.y.low.z, m.z.low.z)));
}

// rotate returns the product of the matrix and a vector.
TwoFloats3 rotate(RotationMatrix m, TwoFloats3 v) {
    TwoFloats x = dotProduct(m.x, v), y = dotProduct(m.y, v), z = dotProduct(m.z, v);
    return TwoFloats3(vec3(x.high, y.high, z.high), vec3(x.low, y.low, z.low));
}

#endif
