// Reduces the answers of a chunk to those that the caller's reduction needs (batch.Reduction). One invocation works on
// one portion: it selects the rows that attain the least distance, the least lower and the least upper bound and the
// greatest status, the first of equals each, and copies their columns to entries of the output. A set with a row that
// is declined or invalid, or has no finite gap, is copied as a whole. All other rows are omitted, and counted.
//
// Comparisons are those of the host, bit for bit: bounds are distance ± gap in double precision, rounded to nearest and
// moved outwards by one unit in the last place, and compared as integers. The lower bound of a separated row is at
// least the value at which shapes touch. A portion has 512 rows at most, so all loops
// of an invocation make fewer than 20,000 passes.
//
// Input: the columns, and the bounds of portions and sets. Output: see ReductionRecord. The entries of a portion are
// consecutive; where they begin depends on the order of the invocations, and nothing else does.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "layout.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Columns { uint words[]; };
layout(std430, binding = 1) readonly buffer Bounds { uint bounds[]; };
layout(std430, binding = 2) buffer Reduced { uint reduced[]; };
layout(push_constant) uniform Reduction { ReductionRecord query; };

#include "columns.glsl"

const uint NONE = 0xffffffffu;

bool valued; // there are distances
uint distanceAt, gapAt, statusAt;

// statusBits returns the status column of a row as it is stored.
uint statusBits(uint row) {
    if ((query.flags & FLAG_PACKED) == 0u) return words[statusAt + row];
    uint perWord = 32u / PACKED_BITS;
    return (words[statusAt + row / perWord] >> (row % perWord * PACKED_BITS)) & ((1u << PACKED_BITS) - 1u);
}

// statusWord returns the status word of a row; of a row without an answer some word with that status.
uint statusWord(uint row) {
    uint code = statusBits(row);
    if ((query.flags & FLAG_PACKED) == 0u) return code;
    if (code == (PACKED_BY_DEPTH | STATUS_TOUCHING) || code == (PACKED_BY_DEPTH | STATUS_PENETRATING))
        return (code - PACKED_BY_DEPTH) | ((REFINED | BY_DEPTH) << 8);
    if (code >= PACKED_DECLINED) return DECLINED;
    uint status = code & ~PACKED_REFINED;
    if (status == PACKED_INVALID) return STATUS_INVALID;
    return status | (code >= PACKED_REFINED ? REFINED << 8 : 0u);
}

uint statusOf(uint word) { return word & 0xffu; }
uint solverOf(uint word) { return (word >> SOLVER_SHIFT) & 0xfu; }

// widen returns the bits of a float32 as those of a float64, by integers, since devices may flush denormal numbers.
uvec2 widen(uint f) {
    uint sign = f & 0x80000000u, exponent = (f >> 23) & 0xffu, fraction = f & 0x7fffffu;
    if (exponent == 0u) {
        if (fraction == 0u) return uvec2(0u, sign);
        uint p = uint(findMSB(fraction)); // the value is fraction times 2^-149
        exponent = p + 1023u - 149u - 896u;
        fraction = (fraction << (23u - p)) & 0x7fffffu;
    }
    return uvec2(fraction << 29, sign | ((exponent + 896u) << 20) | (fraction >> 3));
}

// distanceBits returns the distance of a row as a float64.
uvec2 distanceBits(uint row) {
    if ((query.flags & FLAG_DOUBLE) == 0u) return widen(words[distanceAt + row]);
    return uvec2(words[distanceAt + 2u * row], words[distanceAt + 2u * row + 1u]);
}

// key orders finite float64 as integers; both zeros are the same.
uvec2 key(uvec2 b) {
    if ((b.x | (b.y << 1)) == 0u) return uvec2(0u, 0x80000000u);
    return (b.y & 0x80000000u) != 0u ? ~b : uvec2(b.x, b.y | 0x80000000u);
}

bool less(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

// next returns the float64 next to b, upwards or downwards.
uvec2 next(uvec2 b, bool up) {
    if ((b.x | (b.y << 1)) == 0u) return uvec2(1u, up ? 0u : 0x80000000u);
    if (((b.y & 0x80000000u) == 0u) == up) return uvec2(b.x + 1u, b.x == 0xffffffffu ? b.y + 1u : b.y);
    return uvec2(b.x - 1u, b.x == 0u ? b.y - 1u : b.y);
}

// boundKey is the key of a bound of the distance d.
uvec2 boundKey(uvec2 d, uint gap, bool upper) {
    if (gap << 1 == 0u) return key(d);
    double g = packDouble2x32(widen(gap));
    precise double v = packDouble2x32(d) + (upper ? g : -g);
    return key(next(unpackDouble2x32(v), upper));
}

// touchKey is the key of the value at which shapes touch.
uvec2 touchKey() { return key(uvec2(0u, (query.flags & FLAG_TOUCH_AT_ONE) != 0u ? 0x3ff00000u : 0u)); }

// complete reports whether every row of [lo, hi) is answered, with finite numbers.
bool complete(uint lo, uint hi) {
    for (uint row = lo; row < hi; row++) {
        uint word = statusWord(row);
        if (statusOf(word) > STATUS_PENETRATING || solverOf(word) >= SOLVER_COUNT) return false;
        if (!valued) continue;
        if ((words[gapAt + row] & 0x7f800000u) == 0x7f800000u) return false;
        if ((query.flags & FLAG_DOUBLE) != 0u) {
            if ((words[distanceAt + 2u * row + 1u] & 0x7ff00000u) == 0x7ff00000u) return false;
        } else if ((words[distanceAt + row] & 0x7f800000u) == 0x7f800000u) return false;
    }
    return true;
}

struct Least {
    uvec2 key;
    uint row, set; // the first that attains it
};

void keep(inout Least l, uvec2 k, uint row, uint set) {
    if (less(k, l.key)) l = Least(k, row, set);
}

// Counts of omitted rows.
uint statuses[3], marks[3], solvers[SOLVER_COUNT], iterations;

void count(uint row, bool add) {
    uint word = statusWord(row), one = add ? 1u : NONE; // modulo 2^32
    statuses[statusOf(word)] += one;
    solvers[solverOf(word)] += one;
    if ((word & (REFINED << 8)) != 0u) marks[0] += one;
    if ((word & (BY_DEPTH << 8)) != 0u) marks[1] += one;
    if ((word & (FROM_FLOAT32 << 8)) != 0u) marks[2] += one;
    iterations += (word >> 16) * one;
}

uint portionWords() { return PORTION_WORDS + ((query.flags & FLAG_ITERATIONS) != 0u ? 1u : 0u); }

void writeEntry(uint index, uint row) {
    uint to = REDUCED_HEADER + query.portions * portionWords() + index * query.entry;
    reduced[to] = row;
    reduced[to + 1u] = statusBits(row);
    to += 2u;
    for (uint c = 0u; c < COLUMN_WIDTHS.length(); c++) {
        if (!hasColumn(c) || c == COLUMN_STATUS) continue;
        uint width = columnWords(c), from = columnAt(c) + width * row;
        for (uint k = 0u; k < width; k++) reduced[to + k] = words[from + k];
        to += width;
    }
}

void addTo(uint at, uint n) {
    if (n != 0u) atomicAdd(reduced[at], n);
}

void main() {
    uint portion = gl_GlobalInvocationID.x;
    if (portion >= query.portions) return;
    valued = hasColumn(COLUMN_DISTANCE);
    distanceAt = columnAt(COLUMN_DISTANCE);
    gapAt = columnAt(COLUMN_GAP);
    statusAt = columnAt(COLUMN_STATUS);
    uint firstSet = bounds[portion], endSet = bounds[portion + 1u], starts = query.portions + 1u;
    for (uint k = 0u; k < 3u; k++) statuses[k] = marks[k] = 0u;
    for (uint k = 0u; k < SOLVER_COUNT; k++) solvers[k] = 0u;
    iterations = 0u;

    Least none = Least(uvec2(NONE), NONE, NONE);
    Least chosen[4] = Least[4](none, none, none, none); // distance, lower bound, upper bound, greatest status
    uint greatest = STATUS_SEPARATED, contacts = 0u, entries = 0u;
    for (uint set = firstSet; set < endSet; set++) {
        uint lo = bounds[starts + set], hi = bounds[starts + set + 1u];
        if (!complete(lo, hi)) {
            entries += hi - lo;
            continue;
        }
        bool contact = false;
        for (uint row = lo; row < hi; row++) {
            count(row, true);
            uint status = statusOf(statusWord(row));
            contact = contact || status != STATUS_SEPARATED;
            if (status > greatest) {
                greatest = status;
                chosen[3] = Least(uvec2(0u), row, set);
            }
            if (valued) {
                uvec2 d = distanceBits(row);
                uint gap = words[gapAt + row];
                keep(chosen[0], key(d), row, set);
                uvec2 lower = boundKey(d, gap, false), touch = touchKey();
                keep(chosen[1], status == STATUS_SEPARATED && less(lower, touch) ? touch : lower, row, set);
                keep(chosen[2], boundKey(d, gap, true), row, set);
            } else {
                keep(chosen[0], uvec2(0u), row, set);
            }
        }
        if (contact) contacts++;
    }

    // A row that was chosen twice becomes one entry; a set with a contact in an entry is counted by the host.
    for (uint k = 0u; k < 4u; k++) {
        if (chosen[k].row == NONE) continue;
        bool again = false, counted = statusOf(statusWord(chosen[k].row)) == STATUS_SEPARATED;
        for (uint j = 0u; j < k; j++) {
            if (chosen[j].row == NONE) continue;
            again = again || chosen[j].row == chosen[k].row;
            counted =
                counted || (chosen[j].set == chosen[k].set && statusOf(statusWord(chosen[j].row)) != STATUS_SEPARATED);
        }
        if (!counted) contacts--;
        if (again) {
            chosen[k].row = NONE;
            continue;
        }
        count(chosen[k].row, false);
        entries++;
    }

    uint index = atomicAdd(reduced[0], entries), to = REDUCED_HEADER + portion * portionWords();
    reduced[to] = index;
    reduced[to + 1u] = entries | (contacts << 16);
    if ((query.flags & FLAG_ITERATIONS) != 0u) reduced[to + 2u] = iterations;
    for (uint k = 0u; k < 3u; k++) {
        addTo(REDUCED_STATUSES + k, statuses[k]);
        addTo(REDUCED_MARKS + k, marks[k]);
    }
    for (uint k = 0u; k < SOLVER_COUNT; k++) addTo(REDUCED_SOLVERS + k, solvers[k]);
    if (iterations != 0u) {
        uint low = atomicAdd(reduced[REDUCED_ITERATIONS], iterations);
        if (low + iterations < low) atomicAdd(reduced[REDUCED_ITERATIONS + 1u], 1u);
    }

    if (index + entries > query.room) return; // the host reads the columns
    for (uint k = 0u; k < 4u; k++)
        if (chosen[k].row != NONE) writeEntry(index++, chosen[k].row);
    for (uint set = firstSet; set < endSet; set++) {
        uint lo = bounds[starts + set], hi = bounds[starts + set + 1u];
        if (complete(lo, hi)) continue;
        for (uint row = lo; row < hi; row++) writeEntry(index++, row);
    }
}
