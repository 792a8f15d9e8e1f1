// All operations of two_floats.glsl on one row, for tests: on a device by two_floats.comp, and with any rounding of
// IEEE 754 by two_floats.cpp. The including file declares numbers and results.

const uint OPERANDS = 12u; // a.high, a.low, b.high, b.low
const uint RESULTS = 40u;
const float SHRINK = 9.094947017729282e-13; // 2^-40: squares would be flushed to zero

uint at;

void put(TwoFloats3 v) {
    results[at++] = v.high.x;
    results[at++] = v.low.x;
    results[at++] = v.high.y;
    results[at++] = v.low.y;
    results[at++] = v.high.z;
    results[at++] = v.low.z;
}

void put(TwoFloats v) {
    results[at++] = v.high;
    results[at++] = v.low;
}

vec3 operand(uint i) { return vec3(numbers[i], numbers[i + 1u], numbers[i + 2u]); }

void operate(uint row) {
    uint i = OPERANDS * row;
    TwoFloats3 a = TwoFloats3(operand(i), operand(i + 3u)), b = TwoFloats3(operand(i + 6u), operand(i + 9u));
    TwoFloats x = TwoFloats(abs(a.high.x), a.high.x < 0.0 ? -a.low.x : a.low.x);
    at = RESULTS * row;
    put(twoSum(a.high, b.high));
    put(twoProduct(a.high, b.high));
    put(add(a, b));
    put(multiply(a, b));
    put(multiply(TwoFloats(a.high.x, a.low.x), b.high.x));
    put(dotProduct(a, b));
    put(inverseRoot(x));
    UnitVector u = unitVector(TwoFloats3(SHRINK * a.high, SHRINK * a.low));
    put(u.unit);
    put(u.norm_);
    put(TwoFloats(rootFailed ? 1.0 : 0.0, 0.0));
}
