// The boxes that each box meets: a search of the hierarchy for the leaves that a leaf meets, then a comparison of each
// of its boxes with the eight of each of these leaves. Comparisons are of float64, so they are exact, and false for
// NaN, which lanes without a box have. A box looks for its partners of higher index in all leaves, not for all
// partners in later ones: that takes twice the comparisons, and yields whole rows.
//
// The files of the instruction sets define
//
//   clr_box, box_of(p)         a box, which is the lane of a block at p, in registers
//   meets(block, box)          the lanes of a block whose boxes meet a box
//   above(ids, id)             the lanes of eight numbers that are above another
//   below(ids, id)             those that are below
//   have(sets, bit)            the lanes of eight numbers with a bit
//   put(to, from, bits)        stores the numbers of these lanes contiguously, and anything in the rest of eight
//   put_lanes(to, from, bits)  the same of from, from + 1, ...

#include "rows_api.h"

#ifndef ROWS
#error "ROWS is the name of the function, of one instruction set"
#endif

#define ALL_LANES ((1u << CLR_LANES) - 1)

// sort_row sorts n different numbers by their ranks: how many are less than each.
ROWS_INLINE void sort_row(int32_t *row, int n) {
    typedef int32_t sixteen __attribute__((vector_size(64)));
    union {
        sixteen v[CLR_SORTED / 16];
        int32_t i[CLR_SORTED];
    } from, rank;
    for (int first = 0; first < n; first += 16) {
        sixteen x, r = {0};
        __builtin_memcpy(&x, row + first, sizeof x);
        for (int i = 0; i < n; i++) r -= x > (sixteen){0} + row[i];
        from.v[first / 16] = x;
        rank.v[first / 16] = r;
    }
    for (int i = 0; i < n; i++) row[rank.i[i]] = from.i[i];
}

// lane_of returns where a block has the bounds of block i of the level below.
ROWS_INLINE const double *lane_of(const double *blocks, int64_t i) {
    return blocks + CLR_BLOCK * (i / CLR_LANES) + i % CLR_LANES;
}

// leaves_near finds the leaves that a leaf meets, level by level. It returns their list, a or b, or null if these
// have no room.
ROWS_INLINE int32_t *leaves_near(clr_rows *c, const double *blocks, int32_t *a, int32_t *b, int64_t *length) {
    int64_t n = 1;
    a[0] = 0;
    if (c->levels > 1) {
        clr_box leaf = box_of(lane_of(blocks + CLR_BLOCK * c->first[1], c->leaf));
        for (int64_t level = c->levels - 1; level > 0; level--) {
            const double *of = blocks + CLR_BLOCK * c->first[level];
            int64_t found = 0, room = c->leaves;
            for (int64_t i = 0; i < n; i++) {
                unsigned bits = meets(of + CLR_BLOCK * (int64_t)a[i], &leaf);
                put_lanes(b + found, CLR_LANES * a[i], bits);
                found += __builtin_popcount(bits);
                if (found > room) {
                    c->need_leaves = CLR_LANES * n;
                    return 0;
                }
            }
            int32_t *t = a;
            a = b, b = t, n = found;
        }
    }
    *length = n;
    return a;
}

CLR_ROWS_FUNCTION(ROWS) {
    c->need = c->need_leaves = 0;
    int64_t used = c->used;
    for (; c->leaf < c->end; c->leaf++) {
        int64_t n, most = 0;
        const int32_t *leaves = leaves_near(c, blocks, near, next, &n);
        if (!leaves) return;
        int32_t *some = leaves == near ? next : near;
        const double *own = blocks + CLR_BLOCK * c->leaf;
        const int32_t *own_ids = ids + CLR_LANES * c->leaf;
        // The boxes of this leaf that meet another as a whole, and have a lower index than some box there.
        for (int64_t i = 0; i < n; i++) {
            unsigned meet = below(own_ids, last[leaves[i]]);
            if (c->levels > 1) {
                clr_box other = box_of(lane_of(blocks + CLR_BLOCK * c->first[1], leaves[i]));
                meet &= meets(own, &other);
            }
            lanes[i] = (int32_t)meet;
            most += CLR_LANES * __builtin_popcount(meet);
        }
        for (int i = 0; i < CLR_LANES; i++) lanes[n + i] = 0;
        if (used + most > c->room) {
            c->need = most;
            return;
        }
        for (int l = 0; l < CLR_LANES; l++) {
            int32_t id = own_ids[l], *row = rows + used;
            if (id < 0) break; // a lane without a box
            int64_t m = 0, k = 0;
            for (int64_t i = 0; i < n; i += CLR_LANES) {
                unsigned bits = have(lanes + i, l);
                put(some + m, leaves + i, bits);
                m += __builtin_popcount(bits);
            }
            clr_box box = box_of(own + l);
            for (int64_t i = 0; i < m; i++) {
                const int32_t *theirs = ids + CLR_LANES * (int64_t)some[i];
                unsigned bits = meets(blocks + CLR_BLOCK * (int64_t)some[i], &box) & above(theirs, id);
                put(row + k, theirs, bits);
                k += __builtin_popcount(bits);
            }
            if (k > 1 && k <= CLR_SORTED) sort_row(row, (int)k);
            length[id] = k;
            used += k;
        }
        c->used = used;
    }
}
