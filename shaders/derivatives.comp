// Derivatives of the answers of signed distances with respect to the poses of both shapes, in double precision: the
// columns of package derive, exact or of smoothed shapes, whose method and formulas these are. It solves for the normal
// anew, from that of the answer as it is stored, so that the derivatives are those of the other back ends to rounding.
//
// Input: the columns of the answers; of products, a vector for each row. Output: columns of derivatives, or products,
// [N,12] or [N,10], and the smoothness of each row; of products of values alone, with normal and witnesses as they are,
// any code that says that it is derived. Where least.comp has selected rows, products are those of sets, of the operand
// of a group, and the slot of each selected row is noted. A row is left to the host, with the smoothness NOT_DERIVED,
// if it has no answer yet, if a feature has more than MAX_CORNERS vertices or no Hessian, or if it takes too many loop
// passes. Whether it is depends on the row alone.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 13) const uint PRODUCT = 0u; // PRODUCT_VJP and so on in place of columns
layout(constant_id = 12) const uint GUMBEL = 0u;  // not 0: the derivatives of shapes smoothed by Gumbel noise

layout(std430, binding = 0) readonly buffer Shapes64 { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices64 { VertexRecord64 vertices[]; };
layout(std430, binding = 2) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 3) readonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 4) readonly buffer Columns { uint words[]; };
layout(std430, binding = 5) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 6) writeonly buffer Derived { uint derived[]; };
layout(std430, binding = 7) readonly buffer Operands { uint operands[]; };
layout(std430, binding = 8) buffer Selected { uint selected[]; };
layout(push_constant) uniform Derivatives { DerivativeRecord query; };

uint slot;
const uint METHOD = METHOD_RTR; // Hessians of all smooth kinds, see hessian.glsl

#include "answers.glsl"
#include "derivative_columns.glsl"
#include "derivative_gumbel.glsl"
#include "derivative_products.glsl"
#include "derivative_minima.glsl"
#include "loop_limit.glsl"

dvec3 vectorAt(uint column, uint row) {
    return dvec3(answerAt(column, 3u * row), answerAt(column, 3u * row + 1u), answerAt(column, 3u * row + 2u));
}

// sizeOf returns the share of a shape in the size of the pair.
double sizeOf(Shape s) {
    return shapes[s.record].kind == KIND_HALFSPACE ? shapes[s.record].radius : shapes[s.record].bounding;
}

// derive stores the derivatives of a row and returns their smoothness.
uint derive(uint row) {
    const double MAX_LENGTH_ERROR = 1e-3lf, MAX_RELATIVE_GAP = 1e-3lf; // of package derive
    uint status = statusAt(row);
    if (status == STATUS_INVALID) return NO_DERIVATIVE;
    if (status > STATUS_PENETRATING) return NOT_DERIVED;
    shapeA = loadShape(indices[slot].shape_a);
    shapeB = loadShape(indices[slot].shape_b);
    uint kindA = shapes[shapeA.record].kind, kindB = shapes[shapeB.record].kind;
    dvec3 origin = positionOf(poses[indices[slot].pose_a]);
    GivenAnswer given;
    given.value = answerAt(COLUMN_DISTANCE, row);
    dvec3 normal = vectorAt(COLUMN_NORMAL, row);
    precise dvec3 unit = normal * inverseNorm(normal);
    precise dvec3 fromA = vectorAt(COLUMN_WITNESS_A, row) - origin, fromB = vectorAt(COLUMN_WITNESS_B, row) - origin;
    given.normal = unit;
    given.witnessA = fromA;
    given.witnessB = fromB;
    double gap = gapAt(row);
    precise double size = sizeOf(shapeA) + sizeOf(shapeB) + abs(given.value);
    const double FAR_SHARE = 1e-6lf;
    size = max(size, max(MIN_SIZE, FAR_SHARE * norm(positionFromA(1u))));
    double largest = max(max(norm(fromA), norm(fromB)), abs(given.value));
    if (!(abs(squaredNorm(normal) - 1.0lf) < MAX_LENGTH_ERROR && largest < FAR)) return NOT_DERIVED;
    precise double lower = given.value - gap, widest = MAX_RELATIVE_GAP * size;
    if ((query.flags & FLAG_CUT_OFF) != 0u && lower > cutOff()) return NO_DERIVATIVE;
    if (!(gap <= widest)) return NO_DERIVATIVE;
    System s;
    if (PRODUCT == PRODUCT_VALUE_VJP) {
        takeReported(given, s);
        writeGradient(s, false);
        return NOT_UNIQUE;
    }
    passesUsed = 0u;
    uint passes = 2u + hullPasses(shapeA) + hullPasses(shapeB) + supportPasses(shapeA) + supportPasses(shapeB);
    uint smoothness = polish(given, size, hasHessian(kindA) && hasHessian(kindB), passes, s);
    if (smoothness == NOT_DERIVED) return NOT_DERIVED;
    bool full = smoothness == SMOOTH_PAIR || smoothness == UNIQUE_FEATURES;
    if (full && isLarge(respond(s), s, size)) {
        smoothness = NEAR_SINGULAR;
        full = false;
    }
    bool bounded = kindA != KIND_HALFSPACE && kindB != KIND_HALFSPACE;
    if (smoothness == NEAR_SINGULAR && (kindA == KIND_SUPERQUADRIC || kindB == KIND_SUPERQUADRIC)) return NOT_DERIVED;
    // Whether cores that touch have several normals is left to the host. Singular ones are not smoothed.
    double touched = smoothness == NOT_UNIQUE ? s.value : given.value;
    precise double cores = touched + shapeOf(0u).radius + shapeOf(1u).radius;
    precise double touch = TOUCH_TOLERANCE * size, equal = EQUAL_TOLERANCE * size;
    bool singular = GUMBEL != 0u && smoothness == NEAR_SINGULAR && cores <= LEAST_DEPTH * size;
    if (!full && bounded && (singular || abs(cores) <= touch)) return NOT_DERIVED;
    if (smoothness == NEAR_SINGULAR && bounded && hasDepth(given.normal, size)) return NOT_DERIVED;
    if (full && bounded) {
        uint other = otherMinimum(s, size);
        if (other == UNPROVED_MINIMUM) return NOT_DERIVED;
        if (other == OTHER_MINIMUM) {
            smoothness = NOT_UNIQUE;
            full = false;
        }
    }
    // Smoothing makes no difference to a choice between minima, which the host looks for.
    if (GUMBEL != 0u && smoothness == NOT_UNIQUE && bounded && given.value <= equal) return NOT_DERIVED;
    if (!full) takeReported(given, s);
    if (GUMBEL != 0u) {
        smoothness = smoothPair(size, s);
        if (smoothness == NOT_DERIVED) return NOT_DERIVED;
        full = smoothness == SMOOTHED_PAIR && !isLarge(respond(s), s, size) && movesAlong(s, size);
        if (!full) smoothness = NEAR_SINGULAR;
    }
    if (PRODUCT == PRODUCT_VJP) {
        writeGradient(s, full);
    } else if (PRODUCT == PRODUCT_JVP) {
        writeTangent(s, full);
    } else if (full) {
        writeDerivatives(row, s);
    } else {
        writeOfValue(row, s);
        writeZeros(row, COLUMN_D_NORMAL);
    }
    return smoothness;
}

void main() {
    slot = gl_GlobalInvocationID.x;
    if (slot >= query.rows) return;
    uint row = indices[slot].row;
    if (PRODUCT != 0u && !findProduct(row)) return;
    uint smoothness = derive(row);
    if (!loopsCompleted()) smoothness = NOT_DERIVED;
    if (PRODUCT != 0u) {
        if (smoothness == NO_DERIVATIVE) writeZeroProduct();
        derived[productSmoothnessAt() + productNumber] = smoothness;
        return;
    }
    if (smoothness == NO_DERIVATIVE) writeZeros(row, COLUMN_D_DISTANCE);
    derived[derivedAt(COLUMN_SMOOTHNESS) + row] = smoothness;
}
