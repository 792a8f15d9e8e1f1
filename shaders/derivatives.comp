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

// The columns of derivatives, see DerivativeRecord in package layout.

#include "columns.glsl"

// The derivatives of the answer of a system. With u = P(v_b - v_a) and w_i = ω_i × n in the tangent plane they are
//
//     dn = N·u + M_A·w_A + M_B·w_B
//     da = v_a + M_Aᵀ·u + Q_AA·w_A + Q_AB·w_B,   db = v_b - (M_Bᵀ·u + Q_ABᵀ·w_A + Q_BB·w_B)
//     M_i = N·H_i + Y_i·T_iᵀ
//     Q_ij = H_i·N·H_j + H_i·Y_j·T_jᵀ + T_i·Y_iᵀ·H_j - T_i·Z_ij·T_jᵀ - [i = j]·H_i.

#include "derivative_system.glsl"

// Response is the matrices of the formulas. A matrix that is not symmetric is given by its rows.
struct Response {
    dvec3 n;
    dvec4 mA, mB, qAB; // xx, xy, yx, yy
    dvec3 qAA, qBB;
    dvec3 armA, armB; // witnesses from the positions of their bodies
};

dvec4 full2(dvec3 h) { return h.xyyz; }
dvec4 transposed2(dvec4 m) { return m.xzyw; }

// outer2 returns a·bᵀ.
dvec4 outer2(dvec2 a, dvec2 b) {
    precise dvec4 m = dvec4(a.x * b.x, a.x * b.y, a.y * b.x, a.y * b.y);
    return m;
}

// product2 returns m·g of a matrix and a symmetric form.
dvec4 product2(dvec4 m, dvec3 g) { return dvec4(form2(g, m.xy), form2(g, m.zw)); }

dvec3 symmetric2(dvec4 m) { return m.xyw; }

// respond forms the response.
Response respond(System s) {
    Response r;
    dvec3 hA = s.a.hessian, hB = s.b.hessian;
    dvec2 a0 = s.ofA0 ? s.t0 : dvec2(0), a1 = s.ofA1 ? s.t1 : dvec2(0); // directions of A, and of B
    dvec2 b0 = s.ofA0 ? dvec2(0) : s.t0, b1 = s.ofA1 ? dvec2(0) : s.t1;
    dvec4 nA = product2(full2(s.n_), hA), nB = product2(full2(s.n_), hB); // N·H
    r.n = s.n_;
    precise dvec4 mA = nA + outer2(s.y0, a0) + outer2(s.y1, a1), mB = nB + outer2(s.y0, b0) + outer2(s.y1, b1);
    r.mA = mA;
    r.mB = mB;
    dvec2 hA0 = form2(hA, s.y0), hA1 = form2(hA, s.y1), hB0 = form2(hB, s.y0), hB1 = form2(hB, s.y1);
    precise dvec2 zA0 = s.z.x * a0 + s.z.y * a1, zA1 = s.z.y * a0 + s.z.z * a1; // rows of Z·T_Aᵀ
    precise dvec2 zB0 = s.z.x * b0 + s.z.y * b1, zB1 = s.z.y * b0 + s.z.z * b1;
    dvec4 hhA = transposed2(product2(transposed2(nA), hA)); // H_A·N·H_A
    dvec4 hhB = transposed2(product2(transposed2(nB), hB));
    dvec4 hhAB = transposed2(product2(transposed2(nB), hA)); // H_A·N·H_B
    precise dvec4 qAA = hhA - full2(hA) + outer2(hA0, a0) + outer2(hA1, a1) + outer2(a0, hA0) + outer2(a1, hA1) -
                        outer2(a0, zA0) - outer2(a1, zA1);
    precise dvec4 qBB = hhB - full2(hB) + outer2(hB0, b0) + outer2(hB1, b1) + outer2(b0, hB0) + outer2(b1, hB1) -
                        outer2(b0, zB0) - outer2(b1, zB1);
    precise dvec4 qAB = hhAB + outer2(hA0, b0) + outer2(hA1, b1) + outer2(a0, hB0) + outer2(a1, hB1) - outer2(a0, zB0) -
                        outer2(a1, zB1);
    r.qAA = symmetric2(qAA);
    r.qBB = symmetric2(qBB);
    r.qAB = qAB;
    r.armA = s.a.point;
    precise dvec3 arm = s.b.point - positionFromA(1u);
    r.armB = arm;
    return r;
}

double square3(dvec3 h) { return h.x * h.x + 2.0lf * h.y * h.y + h.z * h.z; }
double square4(dvec4 m) { return m.x * m.x + m.y * m.y + m.z * m.z + m.w * m.w; }

// isLarge reports whether the Frobenius norm of a matrix of the response, or of a Hessian, exceeds the bound of package
// derive.
bool isLarge(Response r, System s, double size) {
    double plain = LARGEST_RESPONSE * LARGEST_RESPONSE, lengths = plain * size * size, over = plain / (size * size);
    return !(square3(r.n) <= over && square4(r.mA) <= plain && square4(r.mB) <= plain && square3(r.qAA) <= lengths &&
             square3(r.qBB) <= lengths && square4(r.qAB) <= lengths && square3(s.a.hessian) <= lengths &&
             square3(s.b.hessian) <= lengths);
}

bool hasDerived(uint column) { return (query.derived >> column & 1u) != 0u; }

// derivedAt returns the first word of a column. Each has room for an even number of rows and follows the one before it.
uint derivedAt(uint column) {
    uint before = 0u, factor = (query.flags & FLAG_DOUBLE) != 0u ? 2u : 1u;
    for (uint c = COLUMN_D_DISTANCE; c < column; c++)
        if (hasDerived(c)) before += factor * DERIVED_WIDTHS[c - COLUMN_D_DISTANCE];
    return before * (query.rows + (query.rows & 1u));
}

// writeDerived stores number k of the column that begins at a word.
void writeDerived(uint at, uint k, double v) {
    if ((query.flags & FLAG_DOUBLE) == 0u) {
        derived[at + k] = floatBitsToUint(float(v));
        return;
    }
    uvec2 w = unpackDouble2x32(v);
    derived[at + 2u * k] = w.x;
    derived[at + 2u * k + 1u] = w.y;
}

void writeTriple(uint at, uint k, dvec3 v) {
    for (uint i = 0u; i < 3u; i++) writeDerived(at, k + i, v[i]);
}

// writeTwists stores a row of twelve: derivatives by v_A, ω_A, v_B and ω_B.
void writeTwists(uint at, uint k, dvec3 vA, dvec3 omegaA, dvec3 vB, dvec3 omegaB) {
    writeTriple(at, k, vA);
    writeTriple(at, k + 3u, omegaA);
    writeTriple(at, k + 6u, vB);
    writeTriple(at, k + 9u, omegaB);
}

// writeZeros stores zeros in the columns from the first on, but for the smoothness.
void writeZeros(uint row, uint first) {
    for (uint c = first; c < COLUMN_SMOOTHNESS; c++) {
        if (!hasDerived(c)) continue;
        uint width = DERIVED_WIDTHS[c - COLUMN_D_DISTANCE], at = derivedAt(c);
        for (uint k = 0u; k < width; k++) writeDerived(at, width * row + k, 0.0lf);
    }
}

// writeJacobian stores the three rows of twelve of a column: m, p and q are what u, w_A and w_B are multiplied by, and
// carrier is the body that carries the witness, 0 for A, 1 for B, 2 for the normal.
void writeJacobian(uint column, uint row, System s, Response r, dvec4 m, dvec4 p, dvec4 q, uint carrier) {
    if (!hasDerived(column)) return;
    uint at = derivedAt(column);
    dvec3 arm = carrier == 0u ? r.armA : r.armB;
    for (uint c = 0u; c < 3u; c++) {
        double x = s.e0[c], y = s.e1[c];
        precise dvec2 u = x * m.xy + y * m.zw, wA = x * p.xy + y * p.zw, wB = x * q.xy + y * q.zw;
        dvec3 force = combine(u.x, s.e0, u.y, s.e1);
        // n × e0 = e1 and n × e1 = -e0.
        precise dvec3 omegaA = combine(wA.x, s.e1, -wA.y, s.e0) - crossProduct(r.armA, force);
        precise dvec3 omegaB = combine(wB.x, s.e1, -wB.y, s.e0) + crossProduct(r.armB, force);
        dvec3 vA = -force, vB = force, unit = dvec3(c == 0u, c == 1u, c == 2u);
        precise dvec3 carriedA = vA + unit, carriedB = vB + unit, spin = crossProduct(arm, unit);
        precise dvec3 spunA = omegaA + spin, spunB = omegaB + spin;
        writeTwists(at, 36u * row + 12u * c, carrier == 0u ? carriedA : vA, carrier == 0u ? spunA : omegaA,
                    carrier == 1u ? carriedB : vB, carrier == 1u ? spunB : omegaB);
    }
}

// writeOfValue stores the derivative of the distance.
void writeOfValue(uint row, System s) {
    if (!hasDerived(COLUMN_D_DISTANCE)) return;
    precise dvec3 armB = s.b.point - positionFromA(1u);
    writeTwists(derivedAt(COLUMN_D_DISTANCE), 12u * row, -s.n, crossProduct(s.n, s.a.point), s.n,
                crossProduct(armB, s.n));
}

// writeDerivatives stores the columns of a row but for its smoothness.
void writeDerivatives(uint row, System s) {
    writeOfValue(row, s);
    Response r = respond(s);
    writeJacobian(COLUMN_D_NORMAL, row, s, r, full2(r.n), r.mA, r.mB, 2u);
    writeJacobian(COLUMN_D_WITNESS_A, row, s, r, transposed2(r.mA), full2(r.qAA), r.qAB, 0u);
    writeJacobian(COLUMN_D_WITNESS_B, row, s, r, -transposed2(r.mB), -transposed2(r.qAB), -full2(r.qBB), 1u);
    if (!hasDerived(COLUMN_CURVATURE)) return;
    uint at = derivedAt(COLUMN_CURVATURE);
    writeTriple(at, 6u * row, s.a.hessian);
    writeTriple(at, 6u * row + 3u, s.b.hessian);
}

#include "derivative_gumbel.glsl"

// Products of the derivatives of an answer with a vector of the row, without a stored Jacobian. Answers are value,
// normal, witness of A and witness of B, ten numbers; twists are v_A, ω_A, v_B and ω_B.

// Numbers of a row of the operands and of the products.
uint operandWidth() {
    if (PRODUCT == PRODUCT_VALUE_VJP) return 1u;
    return PRODUCT == PRODUCT_JVP ? TWIST_WIDTH : ANSWER_WIDTH;
}
uint productWidth() { return PRODUCT == PRODUCT_JVP ? ANSWER_WIDTH : TWIST_WIDTH; }

uint operandNumber, productNumber;

// findProduct sets the numbers of the operand and of the product of a row. It returns false if the row has none.
bool findProduct(uint row) {
    operandNumber = productNumber = row;
    if (query.sets == 0u) return true;
    productNumber = selected[2u * row];
    if (productNumber >= query.sets) return false;
    operandNumber = selected[2u * row + 1u];
    selected[2u * query.rows + productNumber] = slot;
    return true;
}

double operandAt(uint k) {
    uint at = 2u * (operandWidth() * operandNumber + k);
    return packDouble2x32(uvec2(operands[at], operands[at + 1u]));
}

dvec3 operandVector(uint k) { return dvec3(operandAt(k), operandAt(k + 1u), operandAt(k + 2u)); }

void writeProduct(uint k, double v) {
    uvec2 w = unpackDouble2x32(v);
    uint at = 2u * (productWidth() * productNumber + k);
    derived[at] = w.x;
    derived[at + 1u] = w.y;
}

void writeProductVector(uint k, dvec3 v) {
    for (uint i = 0u; i < 3u; i++) writeProduct(k + i, v[i]);
}

void writeZeroProduct() {
    for (uint k = 0u; k < productWidth(); k++) writeProduct(k, 0.0lf);
}

// productSmoothnessAt returns the first word of the smoothness of the products.
uint productSmoothnessAt() { return 2u * productWidth() * (query.sets != 0u ? query.sets : query.rows); }

// matrix products with a vector: from the left of a matrix by its rows, and of its transpose.
dvec2 times2(dvec4 m, dvec2 v) { return dvec2(dot2(m.xy, v), dot2(m.zw, v)); }
dvec2 transposedTimes2(dvec4 m, dvec2 v) { return times2(transposed2(m), v); }

// writeGradient stores a cotangent of the answer times its derivatives. Unless full, it counts by its value alone.
void writeGradient(System s, bool full) {
    double value = operandAt(0u);
    precise dvec3 armB = s.b.point - positionFromA(1u), force = value * s.n;
    dvec3 onA = -force, onB = force, spinA = dvec3(0), spinB = dvec3(0);
    if (PRODUCT == PRODUCT_VJP && full) {
        Response r = respond(s);
        dvec3 wA = operandVector(4u), wB = operandVector(7u);
        dvec2 n = within(s.e0, s.e1, operandVector(1u)), a = within(s.e0, s.e1, wA), b = -within(s.e0, s.e1, wB);
        precise dvec2 u = form2(r.n, n) + times2(r.mA, a) + times2(r.mB, b);
        precise dvec2 gA = transposedTimes2(r.mA, n) + form2(r.qAA, a) + times2(r.qAB, b);
        precise dvec2 gB = transposedTimes2(r.mB, n) + transposedTimes2(r.qAB, a) + form2(r.qBB, b);
        precise dvec3 total = force + combine(u.x, s.e0, u.y, s.e1);
        precise dvec3 totalA = wA - total, totalB = wB + total;
        onA = totalA;
        onB = totalB;
        // n × e0 = e1 and n × e1 = -e0.
        spinA = combine(gA.x, s.e1, -gA.y, s.e0);
        spinB = combine(gB.x, s.e1, -gB.y, s.e0);
    }
    precise dvec3 torqueA = crossProduct(s.a.point, onA) + spinA, torqueB = crossProduct(armB, onB) + spinB;
    writeProductVector(0u, onA);
    writeProductVector(3u, torqueA);
    writeProductVector(6u, onB);
    writeProductVector(9u, torqueB);
}

// writeTangent stores the derivative of the answer along twists; unless full, of its value alone.
void writeTangent(System s, bool full) {
    Response r = respond(s);
    dvec3 omegaA = operandVector(3u), omegaB = operandVector(9u);
    precise dvec3 vA = operandVector(0u) + crossProduct(omegaA, r.armA);
    precise dvec3 vB = operandVector(6u) + crossProduct(omegaB, r.armB);
    precise dvec3 relative = vB - vA;
    writeZeroProduct();
    writeProduct(0u, dotProduct(s.n, relative));
    if (!full) return;
    dvec2 u = within(s.e0, s.e1, relative);
    dvec2 wA = dvec2(dotProduct(omegaA, s.e1), -dotProduct(omegaA, s.e0));
    dvec2 wB = dvec2(dotProduct(omegaB, s.e1), -dotProduct(omegaB, s.e0));
    precise dvec2 n = form2(r.n, u) + times2(r.mA, wA) + times2(r.mB, wB);
    precise dvec2 a = transposedTimes2(r.mA, u) + form2(r.qAA, wA) + times2(r.qAB, wB);
    precise dvec2 b = transposedTimes2(r.mB, u) + transposedTimes2(r.qAB, wA) + form2(r.qBB, wB);
    precise dvec3 atA = vA + combine(a.x, s.e0, a.y, s.e1), atB = vB - combine(b.x, s.e0, b.y, s.e1);
    writeProductVector(1u, combine(n.x, s.e0, n.y, s.e1));
    writeProductVector(4u, atA);
    writeProductVector(7u, atB);
}

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
