// Derivatives of values alone, in closed form by the normal and the witnesses as they are. With v_i(x) the velocity of
// the point x of a body,
//
//     dδ = n·(v_B(b) - v_A(a)),  and of growth distances  dα = n·(v_B(x) - v_A(x))/h,  h = n·(ā - b̄),
//
// where ā and b̄ are the witnesses from the centers and x the common point. The reference is read.go of derive.

#ifndef LN_VALUES_H
#define LN_VALUES_H

#include "rows.h"

// to_common moves the witnesses a and b, from the positions of their bodies, to the common point. It returns h. A
// half-space does not grow: its witness is the common point. between is the position of B from that of A.
INLINE vd to_common(const side *sa, const side *sb, v3 n, v3 between, v3 *a, v3 *b) {
    v3 zero = {all(0), all(0), all(0)};
    vm fixed_a = unbounded(sa), fixed_b = unbounded(sb);
    v3 ca = pick3(fixed_a, *a, center_of(sa)), cb = pick3(fixed_b, *b, center_of(sb));
    v3 bar_a = pick3(fixed_a, zero, sub3(*a, ca)), bar_b = pick3(fixed_b, zero, sub3(*b, cb));
    vd h = dot3(n, sub3(bar_a, bar_b)), growth = dot3(n, add3(sub3(cb, ca), between)) / h;
    v3 of_a = axpy3(growth, bar_a, ca), of_b = axpy3(growth, bar_b, cb);
    *a = pick3(fixed_a, add3(of_b, between), of_a);
    *b = pick3(fixed_a, of_b, sub3(of_a, between));
    return h;
}

// four_values stores the derivatives of the values of four rows, zeros of those that have none. It returns the lanes
// that are left to the reference, which decides whether their shapes and poses are valid.
INLINE int four_values(const ln_call *c, int single, int single_out, const int64_t row[W]) {
    int64_t from[W];
    int decided = 0, left = 0;
    for (int i = 0; i < W; i++) {
        from[i] = c->first + row[i];
        if (c->status[row[i]] <= LN_PENETRATING && (!c->marks || c->marks[row[i]] == LN_ANSWERED)) decided |= 1 << i;
    }
    v3 pa = numbers3(0, c->position_a, from), pb = numbers3(0, c->position_b, from);
    v3 n = numbers3(single, c->normal, row);
    v3 a = sub3(numbers3(single, c->witness_a, row), pa), b = sub3(numbers3(single, c->witness_b, row), pb);
    vd value = numbers(single, c->value, row), gap = c->gap ? numbers(1, c->gap, row) : all(0);
    vd scale = c->growth ? greater(value, all(1)) : greater(magnitude(value), all(MIN_SIZE)), over = all(1);
    // Shapes tell the scale of the pair, which is at least the distance.
    int checked = !c->valid || c->growth, scaled = !c->growth && bits(gap <= MAX_RELATIVE_GAP * scale) != ALL;
    if (decided && (checked || scaled)) {
        side sa, sb;
        vm valid = place(&sa, c, from, c->shape_a, c->position_a, c->rotation_a);
        valid &= place(&sb, c, from, c->shape_b, c->position_b, c->rotation_b);
        valid &= ~(unbounded(&sa) & unbounded(&sb));
        if (c->growth) {
            valid &= grows(&sa) | grows(&sb);
            vd h = to_common(&sa, &sb, n, sub3(pb, pa), &a, &b);
            over = 1 / pick(h > 0, h, all(0));
        } else {
            scale = greater(size_of(&sa) + size_of(&sb) + magnitude(value), all(MIN_SIZE));
        }
        left = decided & ~bits(valid);
    }
    vm ok = lanes(decided & ~left) & ~(value - gap > c->cut_off) & (gap <= MAX_RELATIVE_GAP * scale) &
            (magnitude(dot3(n, n) - 1) < MAX_LENGTH_ERROR);
    n = scale3(over, n);
    v3 torque_a = cross3(n, a), torque_b = cross3(b, n);
    if (c->growth) ok &= value > LEAST_GROWTH;
    ok &= is_finite(value) & is_finite3(n) & is_finite3(torque_a) & is_finite3(torque_b);
    n = where3(ok, n);
    twelve(c->d_value, single_out, row, neg3(n), where3(ok, torque_a), n, where3(ok, torque_b));
    return left;
}

INLINE int32_t values(const ln_call *c, int single, int single_out, int64_t lo, int64_t hi, int32_t *declined) {
    int32_t count = 0;
    for (int64_t i = lo; i < hi; i += W) {
        int64_t row[W];
        int n = hi - i < W ? (int)(hi - i) : W;
        for (int k = 0; k < W; k++) row[k] = i + (k < n ? k : n - 1);
        int left = four_values(c, single, single_out, row);
        for (int k = 0; k < n; k++)
            if (left >> k & 1) declined[count++] = (int32_t)row[k];
    }
    return count;
}

#endif
