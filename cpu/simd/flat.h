// Vectors and symmetric matrices of tangent planes, a pair a lane. Float64.

#define WIDEST_CAP 2.5 // a cap of size t are the directions n + y with y across the unit vector n and |y| ≤ t

typedef struct { VF x, y; } flat;
ALWAYS VF flat_dot(flat a, flat b) { return FMA(a.y, b.y, a.x * b.x); }
ALWAYS flat flat_axpy(VF k, flat a, flat b) { return (flat){FMA(k, a.x, b.x), FMA(k, a.y, b.y)}; }

// A symmetric matrix of two rows.
typedef struct { VF xx, xy, yy; } flat_matrix;
ALWAYS void add_square(flat_matrix *m, VF k, flat w) {
    VF x = k * w.x;
    m->xx = FMA(x, w.x, m->xx);
    m->xy = FMA(x, w.y, m->xy);
    m->yy = FMA(k * w.y, w.y, m->yy);
}
ALWAYS VF least_eigenvalue(flat_matrix m) {
    VF half = SET1(0.5), mid = half * (m.xx + m.yy), d = half * (m.xx - m.yy);
    return mid - SQRT(FMA(d, d, m.xy * m.xy));
}

// is_positive says whether a matrix is positive semidefinite, and not zero.
ALWAYS VM is_positive(flat_matrix m) { return MAND(LT(SET1(0), m.xx + m.yy), LE(m.xy * m.xy, m.xx * m.yy)); }
