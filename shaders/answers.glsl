// The answers of a chunk as later passes read them. The including file declares the buffer words and the query.

#ifndef CLEARANCE_ANSWERS_GLSL
#define CLEARANCE_ANSWERS_GLSL

#include "columns.glsl"

double joined(uvec2 w) { return packDouble2x32(w); }

// answerAt returns number k of a column of the answers.
double answerAt(uint column, uint k) {
    uint at = columnAt(column);
    if ((query.flags & FLAG_DOUBLE) == 0u) return double(uintBitsToFloat(words[at + k]));
    return joined(uvec2(words[at + 2u * k], words[at + 2u * k + 1u]));
}

double gapAt(uint row) { return double(uintBitsToFloat(words[columnAt(COLUMN_GAP) + row])); }

uint statusAt(uint row) { return words[columnAt(COLUMN_STATUS) + row] & 0xffu; }

double cutOff() { return joined(uvec2(query.cut_off[0], query.cut_off[1])); }

#endif
