// The output of a row: the status that its bounds prove, and its answer moved to the world and rounded to the columns
// that the caller wants. Every rounding is included in the gap.

#ifndef CLEARANCE_STORE_GLSL
#define CLEARANCE_STORE_GLSL

#include "pair.glsl"
#include "status.glsl"

// Answer is the answer of a row in the frame of A, before it is rounded.
struct Answer {
    double distance;     // realised by the witnesses
    double lower, upper; // bounds of the true value
    dvec3 normal;        // unit, from A to B
    dvec3 witnessA, witnessB;
};

bool finite(double v) { return (unpackDouble2x32(v).y & 0x7ff00000u) != 0x7ff00000u; }
bool finite3(dvec3 v) { return finite(v.x) && finite(v.y) && finite(v.z); }

// classify returns the status that the bounds prove, DECLINED if they prove none.
uint classify(Answer r) {
    // A compiler may assume that there is no NaN and reorder comparisons, so finiteness is tested on the bits.
    if (!finite(r.lower) || !finite(r.upper) || !finite3(r.normal) || !finite3(r.witnessA) || !finite3(r.witnessB))
        return DECLINED;
    if (r.lower > r.upper) return DECLINED;
    if (r.lower > 0.0lf && (booleanQuery || (hasCutOff && r.lower > cutOff))) return STATUS_SEPARATED;
    if (r.upper < 0.0lf && booleanQuery) return STATUS_PENETRATING;
    double gap = max(r.upper - r.distance, r.distance - r.lower);
    if (!(gap <= max(tolerance, 4.0lf * lengthRounding)) && !(hasCutOff && r.lower > cutOff)) return DECLINED;
    if (r.lower > 0.0lf) return STATUS_SEPARATED;
    if (r.upper < 0.0lf) return STATUS_PENETRATING;
    return STATUS_TOUCHING;
}

// writeReal stores number k of the column that begins at a word, and returns its stored value.
double writeReal(uint at, uint k, double v) {
    if ((query.flags & FLAG_DOUBLE) != 0u) {
        uvec2 w = unpackDouble2x32(v);
        words[at + 2u * k] = w.x;
        words[at + 2u * k + 1u] = w.y;
        return v;
    }
    float f = float(v);
    words[at + k] = floatBitsToUint(f);
    return double(f);
}

void writeVector(uint column, uint row, dvec3 v) {
    if (!hasColumn(column)) return;
    uint at = columnAt(column);
    for (uint k = 0u; k < 3u; k++) writeReal(at, 3u * row + k, v[k]);
}

// roundUp returns a float that is not below x ≥ 0, in any rounding mode of the device.
float roundUp(double x) {
    float f = float(x);
    if (double(f) < x) f = uintBitsToFloat(floatBitsToUint(f) + 1u);
    return f;
}

// writeColumns stores distance, gap, normal and witnesses. The true value lies within the stored gap of the stored
// distance.
void writeColumns(uint row, uint poseA, Answer r) {
    double stored = r.distance;
    if (hasColumn(COLUMN_DISTANCE)) stored = writeReal(columnAt(COLUMN_DISTANCE), row, r.distance);
    else if ((query.flags & FLAG_DOUBLE) == 0u) stored = double(float(r.distance));
    if (hasColumn(COLUMN_GAP)) {
        precise double g = max(r.upper - stored, stored - r.lower);
        // The subtraction was rounded to nearest: adding one unit in the last place covers it.
        precise double up = g * (1.0lf + 2.0lf * UNIT_ROUNDOFF);
        float gap = g == 0.0lf ? 0.0 : roundUp(up);
        if (!(g >= 0.0lf)) gap = uintBitsToFloat(0x7f800000u); // NaN, or bounds that do not contain the distance
        words[columnAt(COLUMN_GAP) + row] = floatBitsToUint(gap);
    }
    if (!hasColumn(COLUMN_NORMAL) && !hasColumn(COLUMN_WITNESS_A) && !hasColumn(COLUMN_WITNESS_B)) return;
    dmat3 ra = rotationMatrix(rotationOf(poses[poseA]));
    dvec3 p = positionOf(poses[poseA]);
    writeVector(COLUMN_NORMAL, row, ra * r.normal);
    writeVector(COLUMN_WITNESS_A, row, ra * r.witnessA + p);
    writeVector(COLUMN_WITNESS_B, row, ra * r.witnessB + p);
}

#endif
