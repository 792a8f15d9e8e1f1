// The columns of derivatives, see DerivativeRecord in package layout. The including file declares the buffer derived.

#ifndef CLEARANCE_DERIVATIVE_COLUMNS_GLSL
#define CLEARANCE_DERIVATIVE_COLUMNS_GLSL

#include "columns.glsl"
#include "derivative_response.glsl"

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

#endif
