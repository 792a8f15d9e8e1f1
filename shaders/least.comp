// Selects the rows whose gradients are added up, see batch.Sums: of each group of sets the row of the least value, the
// first of equals. One invocation works on one group.
//
// Input: the columns of the answers, and the groups, see LeastRecord. Output: for the selected rows their set and their
// group; for sets without one the smoothness NO_DERIVATIVE: their products, [S,12], are zeros already. A group is left
// to the host, with NOT_DERIVED for its sets, where the answers of its rows do not settle what the row of a rollout is:
// a row has no answer, or the bounds of the group are not those of the selected row, so that the row has a wider gap.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Columns { uint words[]; };
layout(std430, binding = 1) readonly buffer Places { uint places[]; };
layout(std430, binding = 2) writeonly buffer Derived { uint derived[]; };
layout(std430, binding = 3) writeonly buffer Selected { uint selected[]; };
layout(push_constant) uniform Least { LeastRecord query; };

#include "answers.glsl"
#include "loop_limit.glsl"

const uint NONE = 0xffffffffu;

uint firstSetOf(uint group) { return places[query.members + group]; }
uint firstRowOf(uint set) { return places[query.members + query.groups + 1u + set]; }

// otherBound returns the least lower bound of what else is in a group for 0, the least upper bound for 1.
double otherBound(uint group, uint k) {
    uint at = query.others + 4u * group + 2u * k;
    return joined(uvec2(places[at], places[at + 1u]));
}

// isAnswered reports whether a row has an answer with finite numbers.
bool isAnswered(uint row) {
    if (statusAt(row) > STATUS_PENETRATING) return false;
    if ((words[columnAt(COLUMN_GAP) + row] & 0x7f800000u) == 0x7f800000u) return false;
    uint at = columnAt(COLUMN_DISTANCE), mask = 0x7f800000u;
    if ((query.flags & FLAG_DOUBLE) != 0u) {
        at += row + 1u;
        mask = 0x7ff00000u;
    }
    return (words[at + row] & mask) != mask;
}

const uint DECLINED_GROUP = NONE - 1u;

// leastRow returns the row of a group that counts, NONE if there is none, and DECLINED_GROUP if the host has to tell.
uint leastRow(uint group, uint lo, uint hi) {
    uint best = NONE;
    double least = 0.0lf;
    for (uint row = lo; row < hi; row++) {
        if (!isAnswered(row)) return DECLINED_GROUP;
        double d = answerAt(COLUMN_DISTANCE, row);
        if (best != NONE && !(d < least)) continue;
        best = row;
        least = d;
    }
    double otherLower = otherBound(group, 0u), otherUpper = otherBound(group, 1u);
    if (best == NONE || otherUpper < least) return NONE; // another pair is nearer
    double gap = gapAt(best);
    precise double lower = least - gap, upper = least + gap, lowest = min(lower, otherLower);
    bool own = otherLower >= lower && otherUpper >= upper;
    for (uint row = lo; row < hi; row++) {
        double d = answerAt(COLUMN_DISTANCE, row), g = gapAt(row);
        precise double from = d - g, to = d + g;
        lowest = min(lowest, from);
        own = own && from >= lower && to >= upper;
    }
    if ((query.flags & FLAG_CUT_OFF) != 0u && lowest > cutOff()) return NONE;
    return own ? best : DECLINED_GROUP;
}

void main() {
    uint group = gl_GlobalInvocationID.x;
    if (group >= query.groups) return;
    uint firstSet = firstSetOf(group), endSet = firstSetOf(group + 1u);
    uint row = leastRow(group, firstRowOf(firstSet), firstRowOf(endSet));
    if (!loopsCompleted()) row = DECLINED_GROUP;
    uint codes = 2u * TWIST_WIDTH * query.sets;
    for (uint set = firstSet; set < endSet; set++) {
        if (row == DECLINED_GROUP) {
            derived[codes + set] = NOT_DERIVED;
        } else if (row >= firstRowOf(set) && row < firstRowOf(set + 1u)) {
            selected[2u * row] = set;
            selected[2u * row + 1u] = group;
        } else {
            derived[codes + set] = NO_DERIVATIVE;
        }
    }
}
