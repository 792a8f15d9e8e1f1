// Direction cells of hulls and the scan of their lists of vertices (package hullcells). A template, see vec3.h.
//
// The directions of a hull, scaled by its half extents, are projected onto the faces of a cube with grid² cells
// each. For each cell, Table.lists holds every vertex that is a support vertex for some direction of the cell,
// widened by the rounding error of cell(). So the greatest support value in the list is the support value of the hull.

#if (REAL_BITS == 32 && !defined(CLR_DIRECTION_CELLS_32)) || (REAL_BITS == 64 && !defined(CLR_DIRECTION_CELLS_64))
#if REAL_BITS == 32
#define CLR_DIRECTION_CELLS_32
#else
#define CLR_DIRECTION_CELLS_64
#endif

#include "cores.h"
#include <string.h>

// cell finds the cell of direction d of each lane, as an offset from the first cell of the hull with extents e.
// The place in the grid has only a rounding error, which the margin of the cells covers, unless the largest
// component of e·d is close to TINY; then any cell is returned.
ALWAYS void T(cell)(V3 e, V3 d, int32_t out[W]) {
    const REAL big = REAL_BITS == 32 ? (REAL)0x1.8p23 : (REAL)0x1.8p52; // adding it rounds to an integer
    const VF half = SET1((REAL)0.5), one = SET1(1), zero = SET1(0), magic = SET1(big);
    VF grid = MAX(MAX(e.x, e.y), e.z), last = grid - one; // e is relative to the largest extent, times grid
    VF x = e.x * d.x, y = e.y * d.y, z = e.z * d.z;
    VF ax = MAX(x, -x), ay = MAX(y, -y), az = MAX(z, -z);
    VM mx = MAND(LE(ay, ax), LE(az, ax)), mz = MANDN(LT(ay, az), mx);
    VF major = SEL(mx, x, SEL(mz, z, y)), r = half * RCP(MAX(MAX(ax, MAX(ay, az)), SET1(TINY)));
    VF a = SEL(mx, y, x), b = SEL(mz, y, z);
    // floor(x) as round(x − ½): either cell is correct at a common edge.
    a = (FMA(FMA(a, r, half), grid, -half) + magic) - magic;
    b = (FMA(FMA(b, r, half), grid, -half) + magic) - magic;
    a = MAX(MIN(a, last), zero); // also if a is NaN
    b = MAX(MIN(b, last), zero);
    VF face = SEL(mx, zero, SEL(mz, SET1(4), SET1(2))) + SEL(LT(major, zero), one, zero);
    REAL c[W] __attribute__((aligned(64)));
    STOREU(c, FMA(FMA(face, grid, a), grid, b));
    for (int l = 0; l < W; l++) out[l] = (int32_t)c[l];
}

#if REAL_BITS == 32
// Operations on float32 for the float64 template.
typedef VF vec32;
enum { W32 = W };
ALWAYS vec32 broadcast32(float x) { return SET1(x); }
ALWAYS vec32 support_values32(const float *v, vec32 nx, vec32 ny, vec32 nz) {
    return FMA(nz, LOADU(v + 2 * W), FMA(ny, LOADU(v + W), nx * LOADU(v)));
}
ALWAYS vec32 larger32(vec32 a, vec32 b) { return MAX(a, b); }
ALWAYS float largest32(vec32 a) { return HMAX(a); }
// others32 are the lanes with a support value h of at least `least` whose number is none of a, b, c.
ALWAYS unsigned others32(vec32 h, vec32 least, const float *number, vec32 a, vec32 b, vec32 c) {
    vec32 n = LOADU(number);
    VM known = MOR(MAND(LE(n, a), LE(a, n)), MOR(MAND(LE(n, b), LE(b, n)), MAND(LE(n, c), LE(c, n))));
    return MBITS(MANDN(LE(least, h), known));
}

// A list consists of blocks of W vertices: x, y, z, and the numbers within the hull, W values each.
#define LIST_BLOCK (4 * W)

// scan_list returns the address of a vertex of a list with the greatest support value along d.
ALWAYS const REAL *T(scan_list)(const REAL *v, int blocks, REAL dx, REAL dy, REAL dz) {
    const VF ux = SET1(dx), uy = SET1(dy), uz = SET1(dz);
    VF most = support_values32(v, ux, uy, uz);
    if (blocks == 1) {
        unsigned equal = MBITS(LE(SET1(HMAX(most)), most)); // none only if there is a NaN
        return equal ? v + __builtin_ctz(equal) : v;
    }
    VF block = SET1(0), k = block;
    for (int j = 1; j < blocks; j++) {
        k = k + SET1(1);
        VF h = support_values32(v + j * LIST_BLOCK, ux, uy, uz);
        VM m = LT(most, h);
        most = MAX(h, most); // a shorter chain than a selection by m
        block = SEL(m, k, block);
    }
    REAL i[W] __attribute__((aligned(64)));
    STOREU(i, block);
    unsigned equal = MBITS(LE(SET1(HMAX(most)), most));
    if (!equal) return v;
    int l = __builtin_ctz(equal);
    return v + (int)i[l] * LIST_BLOCK + l;
}

// list_support_values are the support values of W hulls along d, relative to their centers, in float32.
// cell_value points to the values of each hull in clr_call.cell_values.
ALWAYS void list_support_values(const clr_call *c, const float *const cell_value[W], const float d[3][W],
                                float out[W]) {
    VF e[4], most[W];
    int32_t first[W], cell[W], blocks[W];
    const float *list[W];
    ROWS(e, cell_value, 15)
    T(cell)((V3){e[0], e[1], e[2]}, T(ld3)(d[0], W), cell);
    for (int l = 0; l < W; l++) {
        memcpy(&first[l], cell_value[l] + 3, sizeof first[l]);
        const int32_t *s = c->starts + first[l] + cell[l];
        list[l] = c->lists + (size_t)s[0] * LIST_BLOCK;
        blocks[l] = s[1] - s[0];
    }
    for (int l = 0; l < W; l++) {
        const VF x = SET1(d[0][l]), y = SET1(d[1][l]), z = SET1(d[2][l]);
        VF h = support_values32(list[l], x, y, z);
        for (int j = 1; j < blocks[l]; j++) h = MAX(support_values32(list[l] + j * LIST_BLOCK, x, y, z), h);
        most[l] = h;
    }
    STOREU(out, EACH_MAX(most));
}
#endif

#endif
