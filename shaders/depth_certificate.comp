// Depth certificates (depth_certificate.glsl), for the rows of the list of DepthRecords for which trust_region.comp
// left a local minimum of the support function. See depth.glsl.
//
// Output: columns, and DEPTH_ANSWERED in the records of the rows that are proved. depth.comp takes the others.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "depth.glsl"

layout(constant_id = 1) const uint METHOD = METHOD_RTR;

#include "depth_certificate.glsl"

void main() {
    if (!takeItem() || depths[item].faces != DEPTH_STATIONARY) return;
    IndexRecord index = indices[depths[item].slot];
    loadRow(index);
    uint steps;
    bool found = certifyMinimum(stepLimit(ROW_STEPS, CERTIFICATE_PASSES), steps);
    if (found && loopsCompleted() && writeAnswer(index, SOLVER_RTR)) {
        depths[item].faces = DEPTH_ANSWERED;
        return;
    }
    depths[item].iterations = evaluations;
    depths[item].corners[0] = steps;
}
