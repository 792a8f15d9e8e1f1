// Numbers as unevaluated sums of two floats, for proofs on devices whose double precision is slow or absent. The
// including file declares the constant FUSED: whether fma() of the device rounds once, as its self-test finds.
//
// Rounding. Vulkan promises that sums, differences and products of floats are correctly rounded, but not in which
// direction. So every bound here holds for any faithful rounding: an exact result that is a float is returned, any
// other is rounded to one of both floats around it, each time to either. The relative error of an operation is ε at
// most: ε = 2^-23, or 2^-24 where a device rounds to nearest, for which the same derivations hold. Numbers are scaled
// to about 1, so that nothing overflows, and a result below 2^-126, which a device may flush to zero, adds errors
// below 2^-124, far less than ε² = 2^-46. Terms of third order in ε are left out below; callers have room for them.
//
// [Joldes2017] bounds these operations for rounding to nearest; all derivations below are for faithful rounding
// instead.
//
// fastTwoSum: with |a| ≥ |b| or b = 0, the difference s - a is exact. Let a > 0. If b ≥ 0, then a ≤ s ≤ 2a; if
// -a/2 ≤ b < 0, then a/2 ≤ s ≤ a; since s is within a factor of two of a, s - a is exact [Sterbenz1974, theorem
// 4.3.1]. If b < -a/2, then a + b is exact by the same theorem, so s - a = b. So the second part is the error a + b - s
// rounded once: off by ε times that error, or by ε²|a + b|; and exact if s is rounded to nearest, since then the error
// is a float [Dekker1971]. twoSum exchanges its arguments where necessary. Six operations without a comparison
// [Joldes2017, Alg. 2] are exact to nearest only.
//
// twoProduct: both factors are split by their bits into 12 leading and 12 other bits. Let g be the product of their
// last bits' units, so that |a·b| < 2^48 g. All four partial products are exact. p is off by less than its unit in the
// last place, so p = a·b + d with |d| < 2^24 g, and d is a float, since it is a multiple of g. The sum is formed from
// ah·bh - p, exact since both are within a factor of two. Adding ah·bl leaves -(al·bh + al·bl + d), a multiple of
// 2^12 g. Since al·bh ≤ (2^12 - 1)(2^24 - 2^12) g and al·bl ≤ (2^12 - 1)² g, it is 2^36 g at most: exact. Adding al·bh
// leaves -(al·bl + d), a multiple of 2^12 g below 2^25 g: exact. Adding al·bl leaves -d: exact. So the product is
// exact under every faithful rounding; [Dekker1971] splits by arithmetic, which is exact to nearest only. fma(a, b, -p)
// is exact as well, so a row has the same bits with and without it.
//
// The other operations return pairs with |low| ≤ ε|high| and terms of second order in what was added. Their errors:
//
//   add              6 ε² (|a| + |b|)    [Joldes2017, Alg. 5]; the sum of the low parts adds 1, their sum with the
//                                        error of the sum 2, twoSum 1, and fastTwoSum 2: after cancellation its
//                                        difference is rounded, which is at most 2ε(|a| + |b|) then
//   multiply         9 ε² |a b|          [Joldes2017, Alg. 10]; each product with a low part adds 1, their sum 2, the
//                                        sum with the error of the product 3, the omitted product 1, fastTwoSum 1
//   multiply         4 ε² |a b|          by a float [Joldes2017, Alg. 8]; in this order 1, 2 and 1
//   dotProduct      28 ε² Σ|a_k b_k|     the low part of a product adds 8, as in multiply; the two twoSum 2; the sum of
//                                        the low parts, each 3ε at most, 3 and 3; the sum of the errors 2; of both 5;
//                                        fastTwoSum 5 after cancellation
//   inverseRoot     37 ε² x^(-1/2)       y = x^(-1/2) of the device, r = 1 - x·y² and y(1 + r/2 + 3r²/8). r is off by 8
//                                        from both products, of which r/2 takes half: 4; with |r| ≤ 16ε, which is
//                                        checked, its difference adds 8, the polynomial 16, its product with y 8,
//                                        fastTwoSum 1, and the series 5r³/16 a term of third order
//   unitVector      60 ε²                14 of the square, 37 of the root, 9 of the product
//   its norm        60 ε² |v|            the same
//
// The numbers in this table are the constants below, and engine/two_floats_test.go measures them against exact
// arithmetic, on a device and with every rounding of IEEE 754.

#ifndef CLEARANCE_TWO_FLOATS_GLSL
#define CLEARANCE_TWO_FLOATS_GLSL

struct TwoFloats {
    float high, low;
};
struct TwoFloats3 {
    vec3 high, low;
};

const float SQUARED_ROUNDOFF = 1.4210854715202004e-14; // ε² = 2^-46, of a faithful rounding
const float ADD_ERROR = 6.0;
const float MULTIPLY_ERROR = 9.0;
const float SCALE_ERROR = 4.0;
const float DOT_ERROR = 28.0;
const float INVERSE_ROOT_ERROR = 37.0;
const float UNIT_ERROR = 60.0; // of a unit vector, and of the norm

// LARGEST_CORRECTION bounds |r| of inverseRoot. Vulkan grants 2 units in the last place of inversesqrt(), so that r is
// 5ε at most.
const float LARGEST_CORRECTION = 1.9073486328125e-6; // 16ε = 2^-19

bool smaller(float a, float b) { return abs(a) < abs(b); }
bvec3 smaller(vec3 a, vec3 b) { return lessThan(abs(a), abs(b)); }

// leadingBits returns the float of the 12 leading bits.
float leadingBits(float a) { return uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u); }
vec3 leadingBits(vec3 a) { return uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u); }

// The same operations for numbers and vectors: T is float or vec3, TWO is TwoFloats or TwoFloats3.
#define TWO_FLOATS_OF(T, TWO)                                                                          \
    /* The sum of a and b with its error, for |a| ≥ |b| or b = 0. */                                   \
    TWO fastTwoSum(T a, T b) {                                                                         \
        precise T s = a + b;                                                                           \
        precise T e = b - (s - a);                                                                     \
        return TWO(s, e);                                                                              \
    }                                                                                                  \
    /* The sum of a and b with its error. */                                                           \
    TWO twoSum(T a, T b) { return fastTwoSum(mix(a, b, smaller(a, b)), mix(b, a, smaller(a, b))); }    \
    /* The product of a and b with its error. */                                                       \
    TWO twoProduct(T a, T b) {                                                                         \
        precise T p = a * b;                                                                           \
        if (FUSED != 0u) {                                                                             \
            precise T fused = fma(a, b, -p);                                                           \
            return TWO(p, fused);                                                                      \
        }                                                                                              \
        T ah = leadingBits(a), bh = leadingBits(b);                                                    \
        precise T al = a - ah;                                                                         \
        precise T bl = b - bh;                                                                         \
        precise T e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;                                   \
        return TWO(p, e);                                                                              \
    }                                                                                                  \
    TWO negate(TWO a) { return TWO(-a.high, -a.low); }                                                 \
    TWO add(TWO a, TWO b) {                                                                            \
        TWO s = twoSum(a.high, b.high);                                                                \
        precise T low = s.low + (a.low + b.low);                                                       \
        return fastTwoSum(s.high, low);                                                                \
    }                                                                                                  \
    /* The product of two numbers before its parts are added again: the low part is up to 3ε of it. */ \
    TWO rawProduct(TWO a, TWO b) {                                                                     \
        TWO p = twoProduct(a.high, b.high);                                                            \
        precise T low = p.low + (a.high * b.low + a.low * b.high);                                     \
        return TWO(p.high, low);                                                                       \
    }                                                                                                  \
    TWO multiply(TWO a, TWO b) {                                                                       \
        TWO p = rawProduct(a, b);                                                                      \
        return fastTwoSum(p.high, p.low);                                                              \
    }                                                                                                  \
    TWO multiply(TWO a, T b) {                                                                         \
        TWO p = twoProduct(a.high, b);                                                                 \
        precise T low = p.low + a.low * b;                                                             \
        return fastTwoSum(p.high, low);                                                                \
    }

TWO_FLOATS_OF(float, TwoFloats)
TWO_FLOATS_OF(vec3, TwoFloats3)

TwoFloats dotProduct(TwoFloats3 a, TwoFloats3 b) {
    TwoFloats3 p = rawProduct(a, b);
    TwoFloats xy = twoSum(p.high.x, p.high.y);
    TwoFloats s = twoSum(xy.high, p.high.z);
    precise float low = (xy.low + s.low) + (p.low.x + p.low.y + p.low.z);
    return fastTwoSum(s.high, low);
}

bool rootFailed = false; // x was not positive, or the device's root too far off to correct

// inverseRoot returns 1/√x, or sets rootFailed.
TwoFloats inverseRoot(TwoFloats x) {
    float y = inversesqrt(x.high);
    TwoFloats one = multiply(multiply(x, y), y);
    precise float r = (1.0 - one.high) - one.low;
    precise float correction = y * (r * (0.5 + 0.375 * r));
    rootFailed = rootFailed || !(x.high > 0.0) || !(abs(r) <= LARGEST_CORRECTION);
    return fastTwoSum(y, correction);
}

TwoFloats3 multiply(TwoFloats3 v, TwoFloats s) { return multiply(v, TwoFloats3(vec3(s.high), vec3(s.low))); }

// powerBelow returns the greatest power of two that is at most |x|, and inversePower its inverse, both exactly.
float powerBelow(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0x7f800000u); }
float inversePower(float power) { return uintBitsToFloat(0x7f000000u - floatBitsToUint(power)); }

// UnitVector is a vector divided by its norm.
struct UnitVector {
    TwoFloats3 unit;
    TwoFloats norm_;
};

// unitVector sets rootFailed if v is 0. Squares are of a multiple of about 1, so that those of small vectors are not
// flushed to zero.
UnitVector unitVector(TwoFloats3 v) {
    float power = powerBelow(max(abs(v.high.x), max(abs(v.high.y), abs(v.high.z))));
    float up = inversePower(power);
    TwoFloats3 d = TwoFloats3(up * v.high, up * v.low);
    TwoFloats square = dotProduct(d, d);
    TwoFloats over = inverseRoot(square);
    TwoFloats root = multiply(square, over);
    return UnitVector(multiply(d, over), TwoFloats(power * root.high, power * root.low));
}

#endif
