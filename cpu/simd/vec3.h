// Vectors of three, a lane a pair. A template: REAL_BITS and the macros of an
// instruction set are set.

#ifndef CLR_PASTE
#define CLR_PASTE2(a, b) a##b
#define CLR_PASTE(a, b) CLR_PASTE2(a, b)
#define T(name) CLR_PASTE(name, REAL_BITS)
#define ALWAYS static inline __attribute__((always_inline))
#define V3 T(v3_)
#define LANES ((1u << W) - 1)
#endif

typedef struct { VF x, y, z; } V3;

ALWAYS V3 T(sub)(V3 a, V3 b) { return (V3){a.x - b.x, a.y - b.y, a.z - b.z}; }
ALWAYS V3 T(add)(V3 a, V3 b) { return (V3){a.x + b.x, a.y + b.y, a.z + b.z}; }
ALWAYS V3 T(neg)(V3 a) { return (V3){-a.x, -a.y, -a.z}; }
ALWAYS V3 T(scale)(VF k, V3 a) { return (V3){k * a.x, k * a.y, k * a.z}; }
ALWAYS V3 T(axpy)(VF k, V3 a, V3 b) { return (V3){FMA(k, a.x, b.x), FMA(k, a.y, b.y), FMA(k, a.z, b.z)}; }
ALWAYS VF T(dot)(V3 a, V3 b) { return FMA(a.z, b.z, FMA(a.y, b.y, a.x * b.x)); }
ALWAYS V3 T(cross)(V3 a, V3 b) {
    return (V3){FNMA(a.z, b.y, a.y * b.z), FNMA(a.x, b.z, a.z * b.x), FNMA(a.y, b.x, a.x * b.y)};
}
ALWAYS V3 T(sel)(VM m, V3 a, V3 b) { return (V3){SEL(m, a.x, b.x), SEL(m, a.y, b.y), SEL(m, a.z, b.z)}; }
ALWAYS VM T(same)(V3 a, V3 b) {
    return MAND(MAND(MAND(LE(a.x, b.x), LE(b.x, a.x)), MAND(LE(a.y, b.y), LE(b.y, a.y))), MAND(LE(a.z, b.z), LE(b.z, a.z)));
}

// ld3 and st3 read and write three columns, `stride` elements apart.
ALWAYS V3 T(ld3)(const REAL *p, int stride) { return (V3){LOADU(p), LOADU(p + stride), LOADU(p + 2 * stride)}; }
ALWAYS void T(st3)(REAL *p, int stride, V3 a) {
    STOREU(p, a.x);
    STOREU(p + stride, a.y);
    STOREU(p + 2 * stride, a.z);
}
ALWAYS void T(mst3)(REAL *p, int stride, VM m, V3 a) {
    MSTORE(p, m, a.x);
    MSTORE(p + stride, m, a.y);
    MSTORE(p + 2 * stride, m, a.z);
}

// across is a basis of the plane across a unit vector (Duff and others: Building an
// Orthonormal Basis, Revisited, 2017, listing 3).
ALWAYS void T(across)(V3 n, V3 *p, V3 *q) {
    const VF one = SET1(1);
    VF sign = COPYSIGN(one, n.z), a = -RCP(sign + n.z), b = n.x * n.y * a;
    *p = (V3){FMA(sign * a, n.x * n.x, one), sign * b, -sign * n.x};
    *q = (V3){b, FMA(a, n.y * n.y, sign), -n.y};
}
