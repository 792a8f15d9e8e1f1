// Penetration depths by EPA in double precision (epa.glsl), for the rows of the list of DepthRecords, from the simplex
// with which certify.comp ended, from the nearest faces that epa_float32.comp found, or from the support point of a
// minimum that depth_certificate.comp did not prove. See depth.glsl.
//
// Output: columns. A row is declined with the reason in its record if a polytope fills its memory or rounding stops its
// expansion, with DECLINED_LOOPS if a driver ended a loop early.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "depth.glsl"

double simplexWeight(uint k) { return depths[item].weights[k]; }
uint float32Faces() { return depths[item].faces == DEPTH_STATIONARY ? 0u : min(depths[item].faces, FLOAT32_FACES); }
uint float32Corner(uint k) { return depths[item].corners[k]; }
bool float32Fits(double value) {
    return abs(value - double(depths[item].least_offset)) <= double(depths[item].rounding);
}
double float32Others() { return double(depths[item].other_offsets); }

#include "epa.glsl"

void main() {
    if (!takeItem() || depths[item].faces == DEPTH_ANSWERED) return;
    IndexRecord index = indices[depths[item].slot];
    loadRow(index);
    if (query.max_iterations != 0u && evaluations > query.max_iterations) {
        decline(index.row, depths[item].declined);
        return;
    }
    uint steps = EPA_STEPS;
    if (depths[item].faces == DEPTH_STATIONARY) steps = min(steps, ROW_STEPS - min(depths[item].corners[0], ROW_STEPS));
    bool found = searchDepth(depths[item].count, stepLimit(steps, SWEEP_PASSES));
    if (!loopsCompleted()) decline(index.row, DECLINED_LOOPS);
    else if (!found || !writeAnswer(index, SOLVER_EPA)) decline(index.row, depths[item].declined);
}
