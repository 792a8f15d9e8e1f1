// A device with another rounding: compiles two_floats.glsl as C++ and evaluates its operations in the rounding mode
// that the first argument names, on operands from stdin, results to stdout. For tests.
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

typedef uint32_t uint;
#define precise

static const uint FUSED =
#ifdef WITH_FMA
    1u;
#else
    0u;
#endif

// What the shader uses of GLSL.
struct vec3 {
    float x, y, z;
    vec3() = default;
    vec3(float x, float y, float z) : x(x), y(y), z(z) {}
    explicit vec3(float s) : x(s), y(s), z(s) {}
};
struct uvec3 {
    uint x, y, z;
};
struct bvec3 {
    bool x, y, z;
};
static vec3 operator*(float s, vec3 a) { return vec3(s * a.x, s * a.y, s * a.z); }
static vec3 operator+(vec3 a, vec3 b) { return vec3(a.x + b.x, a.y + b.y, a.z + b.z); }
static vec3 operator-(vec3 a, vec3 b) { return vec3(a.x - b.x, a.y - b.y, a.z - b.z); }
static vec3 operator*(vec3 a, vec3 b) { return vec3(a.x * b.x, a.y * b.y, a.z * b.z); }
static vec3 operator-(vec3 a) { return vec3(-a.x, -a.y, -a.z); }
static uvec3 operator&(uvec3 a, uint m) { return uvec3(a.x & m, a.y & m, a.z & m); }
static float abs(float a) { return fabsf(a); }
static vec3 abs(vec3 a) { return vec3(fabsf(a.x), fabsf(a.y), fabsf(a.z)); }
static bvec3 lessThan(vec3 a, vec3 b) { return bvec3(a.x < b.x, a.y < b.y, a.z < b.z); }
static float max(float a, float b) { return a > b ? a : b; }
static float mix(float a, float b, bool k) { return k ? b : a; }
static vec3 mix(vec3 a, vec3 b, bvec3 k) { return vec3(mix(a.x, b.x, k.x), mix(a.y, b.y, k.y), mix(a.z, b.z, k.z)); }
static vec3 fma(vec3 a, vec3 b, vec3 c) {
    return vec3(fmaf(a.x, b.x, c.x), fmaf(a.y, b.y, c.y), fmaf(a.z, b.z, c.z));
}
static float fma(float a, float b, float c) { return fmaf(a, b, c); }
static float inversesqrt(float x) { return 1.0f / sqrtf(x); }
static uint floatBitsToUint(float a) {
    uint u;
    memcpy(&u, &a, sizeof u);
    return u;
}
static float uintBitsToFloat(uint u) {
    float a;
    memcpy(&a, &u, sizeof a);
    return a;
}
static uvec3 floatBitsToUint(vec3 a) {
    return uvec3(floatBitsToUint(a.x), floatBitsToUint(a.y), floatBitsToUint(a.z));
}
static vec3 uintBitsToFloat(uvec3 a) {
    return vec3(uintBitsToFloat(a.x), uintBitsToFloat(a.y), uintBitsToFloat(a.z));
}

static std::vector<float> numbers, results;

#include "two_floats.glsl"
#include "two_floats_operations.glsl"

int main(int, char **arguments) {
    const std::string mode = arguments[1];
    const int rounding = mode == "zero" ? FE_TOWARDZERO
                         : mode == "up" ? FE_UPWARD
                         : mode == "down" ? FE_DOWNWARD
                                          : FE_TONEAREST;
    float buffer[1024];
    for (size_t n; (n = fread(buffer, sizeof *buffer, 1024, stdin)) > 0;)
        numbers.insert(numbers.end(), buffer, buffer + n);
    const uint rows = (uint)(numbers.size() / OPERANDS);
    results.resize((size_t)rows * RESULTS);
    if (fesetround(rounding) != 0) return 1;
    for (uint row = 0; row < rows; row++) {
        rootFailed = false;
        operate(row);
    }
    fesetround(FE_TONEAREST);
    return fwrite(results.data(), sizeof(float), results.size(), stdout) == results.size() ? 0 : 1;
}
