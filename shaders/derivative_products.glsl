// Products of the derivatives of an answer with a vector of the row, without a stored Jacobian. Answers are value,
// normal, witness of A and witness of B, ten numbers; twists are v_A, ω_A, v_B and ω_B. The including file declares the
// buffers operands, derived and selected, and the slot.

#ifndef CLEARANCE_DERIVATIVE_PRODUCTS_GLSL
#define CLEARANCE_DERIVATIVE_PRODUCTS_GLSL

#include "derivative_response.glsl"

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

#endif
