// The boxes that each box meets: a search of the hierarchy for the leaves that a leaf meets, then a comparison of each
// of its boxes with the eight of each of these leaves. Comparisons are of float64, so they are exact, and false for
// NaN, which lanes without a box have. A box looks for its partners of higher index in all leaves, not for all
// partners in later ones: that takes twice the comparisons, and yields whole rows.
//
// The file that includes this sets FIND_ROWS to the name of the function.

#include "api.h"
#include "../isa/real64.h"

#ifndef FIND_ROWS
#error "FIND_ROWS is the name of the function, of one instruction set"
#endif

#define ROWS_INLINE static inline __attribute__((always_inline))

// A box in every lane.
typedef struct {
    VF lo[3], hi[3];
} rows_box;

// rows_box_at returns the box of the lane of a block at p.
ROWS_INLINE rows_box rows_box_at(const double *p) {
    rows_box b;
    for (int k = 0; k < 3; k++) {
        b.lo[k] = SET1(p[CLR_ROWS_LANES * k]);
        b.hi[k] = SET1(p[CLR_ROWS_LANES * (k + 3)]);
    }
    return b;
}

// meets returns the lanes of a block whose boxes meet a box.
ROWS_INLINE unsigned meets(const double *s, const rows_box *b) {
    unsigned bits = 0;
    for (int l = 0; l < CLR_ROWS_LANES; l += W) {
        VM m[3];
        for (int k = 0; k < 3; k++)
            m[k] = MAND(LE(LOADU(s + l + CLR_ROWS_LANES * k), b->hi[k]),
                        LE(b->lo[k], LOADU(s + l + CLR_ROWS_LANES * (k + 3))));
        bits |= MBITS(MAND(MAND(m[0], m[1]), m[2])) << l;
    }
    return bits;
}

// sort_row sorts n different numbers by their ranks: how many are less than each.
ROWS_INLINE void sort_row(int32_t *row, int n) {
    typedef int32_t sixteen __attribute__((vector_size(64)));
    union {
        sixteen v[CLR_ROWS_SORTED / 16];
        int32_t i[CLR_ROWS_SORTED];
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
    return blocks + CLR_ROWS_BLOCK * (i / CLR_ROWS_LANES) + i % CLR_ROWS_LANES;
}

// leaves_near finds the leaves that a leaf meets, level by level. It returns their list, a or b, or null if these
// have no room.
ROWS_INLINE int32_t *leaves_near(clr_rows *c, const double *blocks, int32_t *a, int32_t *b, int64_t *length) {
    int64_t n = 1;
    a[0] = 0;
    if (c->levels > 1) {
        rows_box leaf = rows_box_at(lane_of(blocks + CLR_ROWS_BLOCK * c->first[1], c->leaf));
        for (int64_t level = c->levels - 1; level > 0; level--) {
            const double *of = blocks + CLR_ROWS_BLOCK * c->first[level];
            int64_t found = 0, room = c->leaves;
            for (int64_t i = 0; i < n; i++) {
                unsigned bits = meets(of + CLR_ROWS_BLOCK * (int64_t)a[i], &leaf);
                eight_put_from(b + found, CLR_ROWS_LANES * a[i], bits);
                found += __builtin_popcount(bits);
                if (found > room) {
                    c->need_leaves = CLR_ROWS_LANES * n;
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

CLR_ROWS_FUNCTION(FIND_ROWS) {
    c->need = c->need_leaves = 0;
    int64_t used = c->used;
    for (; c->leaf < c->end; c->leaf++) {
        int64_t n, most = 0;
        const int32_t *leaves = leaves_near(c, blocks, near, next, &n);
        if (!leaves) return;
        int32_t *some = leaves == near ? next : near;
        const double *own = blocks + CLR_ROWS_BLOCK * c->leaf;
        const int32_t *own_ids = ids + CLR_ROWS_LANES * c->leaf;
        // The boxes of this leaf that meet another as a whole, and have a lower index than some box there.
        for (int64_t i = 0; i < n; i++) {
            unsigned meet = eight_below(own_ids, last[leaves[i]]);
            if (c->levels > 1) {
                rows_box other = rows_box_at(lane_of(blocks + CLR_ROWS_BLOCK * c->first[1], leaves[i]));
                meet &= meets(own, &other);
            }
            lanes[i] = (int32_t)meet;
            most += CLR_ROWS_LANES * __builtin_popcount(meet);
        }
        for (int i = 0; i < CLR_ROWS_LANES; i++) lanes[n + i] = 0;
        if (used + most > c->room) {
            c->need = most;
            return;
        }
        for (int l = 0; l < CLR_ROWS_LANES; l++) {
            int32_t id = own_ids[l], *row = rows + used;
            if (id < 0) break; // a lane without a box
            int64_t m = 0, k = 0;
            for (int64_t i = 0; i < n; i += CLR_ROWS_LANES) {
                unsigned bits = eight_have(lanes + i, l);
                eight_put(some + m, leaves + i, bits);
                m += __builtin_popcount(bits);
            }
            rows_box box = rows_box_at(own + l);
            for (int64_t i = 0; i < m; i++) {
                const int32_t *theirs = ids + CLR_ROWS_LANES * (int64_t)some[i];
                unsigned bits = meets(blocks + CLR_ROWS_BLOCK * (int64_t)some[i], &box) & eight_above(theirs, id);
                eight_put(row + k, theirs, bits);
                k += __builtin_popcount(bits);
            }
            if (k > 1 && k <= CLR_ROWS_SORTED) sort_row(row, (int)k);
            length[id] = k;
            used += k;
        }
        c->used = used;
    }
}
