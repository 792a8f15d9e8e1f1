// Support vertices and support values of hulls. A template, see vec3.h.
//
// Small hulls are copied to the lanes, and each lane scans its own. For a larger hull, each lane finds the direction
// cell of its direction (direction_cells.h, package hullcells). The list of a cell holds every vertex that is a support
// vertex for some direction of the cell. The lists are scanned one after the other, one vertex per lane.
//
// In float32 the result is a support vertex up to rounding, which is enough for the float32 loops: they prove
// nothing. In float64 the scan is exact up to the rounding of float64: float32 support values select all
// vertices that can be support vertices by their rounding bound (hull_best), and float64 compares these.
// candidate_support takes the candidate vertex of a cell, without a scan. No row is declined here.

#if (REAL_BITS == 32 && !defined(CLR_SUPPORT_HULL_32)) || (REAL_BITS == 64 && !defined(CLR_SUPPORT_HULL_64))
#if REAL_BITS == 32
#define CLR_SUPPORT_HULL_32
#else
#define CLR_SUPPORT_HULL_64
#endif

#if REAL_BITS == 64 // it scans the lists in float32 first
#include "../isa/real32.h"
#include "direction_cells.h"
#include "../isa/real64.h"
#endif
#include "direction_cells.h"
#include <string.h>

#if REAL_BITS == 32
typedef struct {
    VF support_value, number;
    V3 at;
} T(peak); // a vertex with its number and support value

// higher is b where its support value is greater than that of a, and else a.
ALWAYS T(peak) T(higher)(T(peak) a, T(peak) b) {
    const VM m = LT(a.support_value, b.support_value);
    return (T(peak)){MAX(b.support_value, a.support_value), SEL(m, b.number, a.number), T(sel)(m, b.at, a.at)};
}

// copied is vertex j of the copies.
ALWAYS T(peak) T(copied)(const REAL (*v)[3][W], int j, V3 d, VF number) {
    T(peak) p = {.at = T(ld3)(v[j][0], W), .number = number};
    p.support_value = T(dot)(d, p.at);
    return p;
}

// copied_support scans small hulls, each lane its own scaled copy. Lanes with fewer vertices than others
// have copies of their last one, of which the strict comparison takes the first. Without numbers, the
// comparisons form a tree of four, a shorter chain of dependences; with numbers it would exceed the registers
// of AVX2.
ALWAYS V3 T(copied_support)(const T(places) *at, int side, V3 d, VF *found) {
    const REAL(*v)[3][W] = at->copy[side];
    VF number = SET1(0);
    T(peak) best = T(copied)(v, 0, d, number);
    if (found) {
        for (int j = 1; j < at->copied[side]; j++) {
            number = number + SET1(1);
            best = T(higher)(best, T(copied)(v, j, d, number));
        }
        *found = best.number;
        return best.at;
    }
    for (int j = 0; j < at->copied[side]; j += 4) {
        T(peak) p[4];
        for (int i = 0; i < 4; i++) p[i] = T(copied)(v, j + i, d, number);
        p[0] = T(higher)(T(higher)(p[0], p[1]), T(higher)(p[2], p[3]));
        best = j == 0 ? p[0] : T(higher)(best, p[0]);
    }
    return best.at;
}

// hull_support finds the support vertices of the hulls of the active lanes. If more than half are active, it
// processes all lanes, so that the loops have a length that the processor predicts.
ALWAYS V3 T(hull_support)(const T(places) *at, int side, V3 d, VF *found) {
    REAL u[3][W] __attribute__((aligned(64))), v[4][W] __attribute__((aligned(64))) = {{0}};
    int32_t cell[W], blocks[W];
    const REAL *list[W];
    const clr_call *c = at->call;
    const unsigned lanes = __builtin_popcount(at->lanes) > W / 2 ? LANES : at->lanes;
    T(st3)(&u[0][0], W, d);
    T(cell)(T(ld3)(at->hull[side]->extent[0], W), d, cell);
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        const int32_t *s = c->starts + at->hull[side]->cells[l] + cell[l];
        list[l] = c->lists + (size_t)s[0] * LIST_BLOCK;
        blocks[l] = s[1] - s[0];
        __builtin_prefetch(list[l]);
        __builtin_prefetch(list[l] + 2 * W);
    }
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        const REAL *p = T(scan_list)(list[l], blocks[l], u[0][l], u[1][l], u[2][l]);
        for (int j = 0; j < 3; j++) v[j][l] = p[j * W];
        if (found) v[3][l] = p[3 * W];
    }
    if (found) *found = LOADU(v[3]);
    return T(scale)(LOADU(at->in + ((side ? CLR_PB : CLR_PA) + 3) * at->stride), T(ld3)(&v[0][0], W));
}

// list_members writes the vertices of the lists of a hull's cells, a bit each. It returns false if there are too many.
ALWAYS int list_members(const clr_call *c, const clr_shape *shape, uint64_t members[CLR_SHARED_CELLS]) {
    const double *e = shape->extent, m = e[0] > e[1] ? e[0] : e[1];
    const int grid = (int)(m > e[2] ? m : e[2]), cells = grid > 0 ? 6 * grid * grid : 1; // the greatest is the grid
    if (shape->count > CLR_SHARED_VERTICES || shape->count > 8 * W || cells > CLR_SHARED_CELLS) return 0;
    const int32_t *s = c->starts + shape->cells;
    for (int k = 0; k < cells; k++) {
        members[k] = 0;
        for (int j = s[k]; j < s[k + 1]; j++)
            for (int l = 0; l < W; l++) members[k] |= (uint64_t)1 << (int)c->lists[(size_t)j * LIST_BLOCK + 3 * W + l];
    }
    return 1;
}

// shared_support is hull_support for one hull that all lanes share: each lane scans all of its vertices, which are
// broadcast. The result is that of hull_support, bit for bit: the vertex with the greatest support value is the one
// that the scan of the list of the cell finds, if that value is greater than all others and the vertex is in the list.
// Both need no proof if it exceeds the others by more than rounding, as lists have all support vertices. r is 1/|d|.
// With v a vertex relative to the center and u = 2⁻²⁴, the rounding of its coordinates and of the support value
// contribute at most 5 u·|v||d|, see approximate_support_value; twice that is less than SURE_UNITS·u·size·|d|. Lanes
// where this fails look at the list, as where a face of the hull is the closest feature.
#define SURE_UNITS 16
_Static_assert(SURE_UNITS > 2 * (1 + 1 + 3 + 1), "two rounded support values");
static __attribute__((noinline)) V3 T(listed_support)(const T(places) *at, int side, V3 d, VF *found, unsigned lanes) {
    T(places) some = *at;
    some.lanes = lanes;
    return T(hull_support)(&some, side, d, found);
}
ALWAYS V3 T(shared_support)(const T(places) *at, int side, V3 d, VF r, VF *found) {
    const T(shared_hulls) *h = at->shared;
    if (h->count[side] == 0) return T(hull_support)(at, side, d, found); // see list_members
    const REAL *p = h->vertices[side], *row[W];
    REAL number[W] __attribute__((aligned(64)));
    int32_t index[W];
    VF best = SET1(0), second = SET1(0), v[4]; // lists are padded with the center, whose support value is 0
    VF most = T(dot)(d, (V3){SET1(p[0]), SET1(p[1]), SET1(p[2])});
    for (int j = 1; j < h->count[side]; j++) {
        const VF g = T(dot)(d, (V3){SET1(p[4 * j]), SET1(p[4 * j + 1]), SET1(p[4 * j + 2])});
        const VM m = LT(most, g);
        second = MAX(second, MIN(most, g));
        most = MAX(g, most);
        best = SEL(m, SET1(p[4 * j + 3]), best);
    }
    STOREU(number, best);
    for (int l = 0; l < W; l++) index[l] = (int32_t)number[l];
    for (int l = 0; l < W; l++) row[l] = p + 4 * index[l];
    ROWS(v, row, 15)
    V3 out = T(scale)(LOADU(at->in + ((side ? CLR_PB : CLR_PA) + 3) * at->stride), (V3){v[0], v[1], v[2]});
    const VF least = MAX(SET1(SURE_UNITS * (REAL)0x1p-24 * h->size[side]), SET1(1e-20f)); // see TINY
    unsigned unsure = at->lanes & ~MBITS(LT(least, (most - second) * r));
    if (unsure) {
        int32_t cell[W];
        T(cell)(T(ld3)(at->hull[side]->extent[0], W), d, cell);
        for (unsigned m = unsure & MBITS(LT(second, most)); m; m &= m - 1) {
            const int l = __builtin_ctz(m);
            unsure &= ~((unsigned)(h->listed[side][cell[l]] >> index[l] & 1) << l);
        }
    }
    if (unsure) {
        VF other = best;
        const VM m = MFROM(unsure);
        out = T(sel)(m, T(listed_support)(at, side, d, &other, unsure), out);
        best = SEL(m, other, best);
    }
    *found = best;
    return out;
}

// candidate_support is the candidate vertex of the cell of the direction, in all lanes.
ALWAYS V3 candidate_support(const T(places) *at, int side, V3 d, VF *found) {
    const clr_call *c = at->call;
    const T(hulls) *h = at->hull[side];
    int32_t cell[W];
    const float *row[W];
    VF v[4];
    T(cell)(T(ld3)(h->candidate_extent[0], W), d, cell);
    for (int l = 0; l < W; l++) row[l] = c->points + 4 * (size_t)c->candidates[h->candidates[l] + cell[l]];
    ROWS(v, row, 15)
    if (found) *found = v[3];
    return T(scale)(LOADU(at->in + ((side ? CLR_PB : CLR_PA) + 3) * at->stride), (V3){v[0], v[1], v[2]});
}
#endif

#if REAL_BITS == 64
// scan returns the number of a support vertex of a hull in direction d and writes its support value. It
// compares one vertex per lane.
ALWAYS int T(scan)(const REAL *x, const REAL *y, const REAL *z, int count, REAL dx, REAL dy, REAL dz,
                   REAL *support_value) {
    static const REAL ramp[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const VF ux = SET1(dx), uy = SET1(dy), uz = SET1(dz);
    VF most = FMA(uz, LOADU(z), FMA(uy, LOADU(y), ux * LOADU(x))), index = LOADU(ramp), at = index;
    for (int j = W; j < count; j += W) {
        at = at + SET1((REAL)W);
        VF h = FMA(uz, LOADU(z + j), FMA(uy, LOADU(y + j), ux * LOADU(x + j)));
        VM m = LT(most, h);
        most = MAX(h, most);
        index = SEL(m, at, index);
    }
    REAL i[W] __attribute__((aligned(64)));
    STOREU(i, index);
    *support_value = HMAX(most);
    unsigned equal = MBITS(LE(SET1(*support_value), most)); // none only if there is a NaN
    int found = equal ? (int)i[__builtin_ctz(equal)] : 0;
    return found < count ? found : count - 1; // the padding is copies of the last vertex
}

// pick loads vertex index[l] of the hull of each lane.
ALWAYS V3 T(pick)(const T(places) *at, int side, const int32_t *index) {
    const double *row[W];
    VF v[4];
    if (at->shared)
        for (int l = 0; l < W; l++) row[l] = at->shared->vertices[side] + 4 * (size_t)index[l];
    else
        for (int l = 0; l < W; l++) row[l] = at->call->corners + 4 * (size_t)(at->hull[side]->first[l] + index[l]);
    ROWS(v, row, 15)
    return (V3){v[0], v[1], v[2]};
}

// hull_best finds the support vertex of the hull of lane l in direction d, n = d/|d|. On entry, `high`
// and *found are the greatest support value of the vertices `known` and its number; these vertices are not
// compared again. Float32 selects the vertices that may have a greater one. A coordinate relative to the
// center, a component of n, three products and two sums are each rounded by at most 6e-8 of the size, so the
// error of a support value is less than 16 such units, and that of a difference less than 32.
ALWAYS REAL T(hull_best)(const T(places) *at, int side, int l, int cell, const REAL d[3], const REAL n[3], REAL high,
                         const int32_t known[3], int32_t *found) {
    const clr_call *c = at->call;
    const T(hulls) *h = at->hull[side];
    const int32_t *s = c->starts + h->cells[l] + cell;
    const float *v = c->lists + (size_t)s[0] * (4 * W32);
    const int blocks = s[1] - s[0], first = h->first[l];
    const vec32 nx = broadcast32((float)n[0]), ny = broadcast32((float)n[1]), nz = broadcast32((float)n[2]);
    vec32 most = support_values32(v, nx, ny, nz);
    for (int j = 1; j < blocks; j++) most = larger32(support_values32(v + j * 4 * W32, nx, ny, nz), most);
    const vec32 least = broadcast32(largest32(most) - (float)(32 * 0x1p-24 * h->size[l]));
    const vec32 k0 = broadcast32((float)known[0]), k1 = broadcast32((float)known[1]), k2 = broadcast32((float)known[2]);
    for (int j = 0; j < blocks; j++, v += 4 * W32)
        for (unsigned near = others32(support_values32(v, nx, ny, nz), least, v + 3 * W32, k0, k1, k2); near;
             near &= near - 1) {
            int i = (int)v[3 * W32 + __builtin_ctz(near)], p = first + i;
            const double *x = c->corners + 4 * (size_t)p;
            REAL g = d[0] * x[0] + d[1] * x[1] + d[2] * x[2];
            if (g > high) {
                high = g;
                *found = i;
            }
        }
    return high;
}

// small_support_values are the support values of hulls of at most CLR_SMALL_VERTICES vertices, in all lanes.
ALWAYS VF T(small_support_values)(const T(places) *at, int side, V3 d) {
    const clr_call *c = at->call;
    REAL u[3][W] __attribute__((aligned(64)));
    VF most[W];
    if (at->shared) { // the same values, by vertices instead of by lanes
        const REAL *v = at->shared->vertices[side];
        VF high = T(dot)(d, (V3){SET1(v[0]), SET1(v[1]), SET1(v[2])});
        for (int j = 1; j < at->shared->count[side]; j++) {
            v += 4;
            high = MAX(T(dot)(d, (V3){SET1(v[0]), SET1(v[1]), SET1(v[2])}), high);
        }
        return high;
    }
    T(st3)(&u[0][0], W, d);
    for (int l = 0; l < W; l++) {
        const int first = at->hull[side]->first[l], count = at->hull[side]->count[l];
        const REAL *x = c->vx + first, *y = c->vy + first, *z = c->vz + first;
        const VF ux = SET1(u[0][l]), uy = SET1(u[1][l]), uz = SET1(u[2][l]);
        most[l] = FMA(uz, LOADU(z), FMA(uy, LOADU(y), ux * LOADU(x)));
        for (int j = W; j < count; j += W)
            most[l] = MAX(FMA(uz, LOADU(z + j), FMA(uy, LOADU(y + j), ux * LOADU(x + j))), most[l]);
    }
    return EACH_MAX(most);
}

// hull_support finds the support vertices of the hulls of the active lanes, up to the rounding of float64;
// r is 1/|d|.
ALWAYS V3 T(hull_support)(const T(places) *at, int side, V3 d, VF r, VF *found) {
    REAL u[3][W] __attribute__((aligned(64))), n[3][W] __attribute__((aligned(64))),
        index[W] __attribute__((aligned(64))) = {0};
    int32_t cell[W], best[W] = {0};
    static const int32_t none[3] = {-1, -1, -1};
    T(st3)(&u[0][0], W, d);
    T(st3)(&n[0][0], W, T(scale)(r, d));
    T(cell)(T(ld3)(at->hull[side]->extent[0], W), d, cell);
    for (unsigned m = at->lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        T(hull_best)(at, side, l, cell[l], (REAL[3]){u[0][l], u[1][l], u[2][l]}, (REAL[3]){n[0][l], n[1][l], n[2][l]},
                     -INFINITY, none, &best[l]);
        index[l] = best[l];
    }
    *found = LOADU(index);
    return T(pick)(at, side, best);
}

// approximate_support_value is a lower bound of min over D of <x, ·> for two hulls with cells and a unit
// vector x: the float32 value less APPROXIMATE_UNITS·u of their sizes, u = 2⁻²⁴. Let v be a vertex relative to
// its center, |v| at most the size of its hull. Rounding its coordinates and those of the direction to
// float32 contributes |v| u each. The product and both sums have magnitudes of at most |v|
// (Cauchy-Schwarz) and contribute 3 |v| u. Together 5 u of the size, plus second-order terms below 0.01 u.
#define APPROXIMATE_UNITS (1 + 1 + 3 + 0.01)
ALWAYS VF approximate_support_value(const T(places) *at, const clr_scratch *s, int k, V3 x, VF size) {
    const V3 d[2] = {T(neg)(x), T(rotate_back)(at->in + CLR_ROT * at->stride, at->stride, x)};
    float u[3][W32] __attribute__((aligned(64))), high[W32] __attribute__((aligned(64)));
    const float *cell_value[W32];
    for (int side = 0; side < 2; side++) {
        const int32_t *shape = (side ? s->shape_b : s->shape_a) + k;
        for (int l = 0; l < W; l++)
            cell_value[side * W + l] = at->call->cell_values + CLR_CELL_VALUES * (size_t)shape[l];
        NARROW(u[0] + side * W, d[side].x);
        NARROW(u[1] + side * W, d[side].y);
        NARROW(u[2] + side * W, d[side].z);
    }
    list_support_values(at->call, cell_value, (const float (*)[W32])u, high);
    VF sum = T(dot)(x, T(ld3)(&s->more[CLR_BETWEEN][k], CLR_STRIDE64)) - (WIDEN(high) + WIDEN(high + W));
    return FNMA(SET1(APPROXIMATE_UNITS * 0x1p-24), MAX(size, SET1(1e-30)), sum); // float32 is coarser below
}

// hull_support_value is the support value of the hulls of the active lanes along the unit vector d. known are
// the numbers of some vertices of each, and `high` is the greatest of their support values.
ALWAYS VF T(hull_support_value)(const T(places) *at, int k, int side, V3 d, VF high, const int32_t *known[3]) {
    REAL u[3][W] __attribute__((aligned(64))), out[W] __attribute__((aligned(64)));
    int32_t cell[W], found;
    if (k == CLR_SMALL) return T(small_support_values)(at, side, d);
    T(st3)(&u[0][0], W, d);
    STOREU(out, high);
    T(cell)(T(ld3)(at->hull[side]->extent[0], W), d, cell);
    for (unsigned m = at->lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        const REAL n[3] = {u[0][l], u[1][l], u[2][l]};
        out[l] = T(hull_best)(at, side, l, cell[l], n, n, out[l], (int32_t[3]){known[0][l], known[1][l], known[2][l]},
                              &found);
    }
    return LOADU(out);
}
#endif

#endif
