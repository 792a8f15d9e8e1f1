// Support points of the classes of cores. A template, see vec3.h.

// tiny keeps a division by the length of a vector finite. Where it acts, what is
// divided is shorter than its root, and the point stays inside the core.
#if REAL_BITS == 32
#define TINY 1e-30f
#else
#define TINY 1e-200
#endif

// core_support is the point of a core of class k that maximises <d, x>. p are the
// parameters, `stride` apart, r is 1/|d|.
ALWAYS V3 T(core_support)(int k, const REAL *p, int stride, V3 d, VF r) {
    V3 e = T(ld3)(p, stride);
    if (k == CLR_BOX)
        return (V3){COPYSIGN(e.x, d.x), COPYSIGN(e.y, d.y), COPYSIGN(e.z, d.z)};
    if (k == CLR_ELLIPSOID) {
        V3 u = {e.x * d.x, e.y * d.y, e.z * d.z};
        VF s = RSQRT(MAX(T(dot)(u, u), SET1(TINY)));
        VF out = LOADU(p + 3 * stride) * r;
        return (V3){FNMA(out, d.x, e.x * (u.x * s)), FNMA(out, d.y, e.y * (u.y * s)), FNMA(out, d.z, e.z * (u.z * s))};
    }
    // CLR_ROUND: e is the radius below, the radius above, half the length. A point of
    // the upper rim is higher if (above − below)·|lateral d| + 2·half·d.z ≥ 0.
    VF l2 = MAX(FMA(d.y, d.y, d.x * d.x), SET1(TINY));
    VF inv = RSQRT(l2);
    VM top = LE(SET1(0), FMA(e.y - e.x, l2 * inv, SET1(2) * e.z * d.z));
    VF k2 = SEL(top, e.y, e.x) * inv;
    return (V3){k2 * d.x, k2 * d.y, SEL(top, e.z, -e.z)};
}

// rotate and rotate_back apply the rotation of B in the frame of A and its transpose.
ALWAYS V3 T(rotate)(const REAL *m, int stride, V3 v) {
    return (V3){
        FMA(LOADU(m + 2 * stride), v.z, FMA(LOADU(m + stride), v.y, LOADU(m) * v.x)),
        FMA(LOADU(m + 5 * stride), v.z, FMA(LOADU(m + 4 * stride), v.y, LOADU(m + 3 * stride) * v.x)),
        FMA(LOADU(m + 8 * stride), v.z, FMA(LOADU(m + 7 * stride), v.y, LOADU(m + 6 * stride) * v.x))};
}
ALWAYS V3 T(rotate_back)(const REAL *m, int stride, V3 v) {
    return (V3){
        FMA(LOADU(m + 6 * stride), v.z, FMA(LOADU(m + 3 * stride), v.y, LOADU(m) * v.x)),
        FMA(LOADU(m + 7 * stride), v.z, FMA(LOADU(m + 4 * stride), v.y, LOADU(m + stride) * v.x)),
        FMA(LOADU(m + 8 * stride), v.z, FMA(LOADU(m + 5 * stride), v.y, LOADU(m + 2 * stride) * v.x))};
}

// support is the vertex a − b of D = A − B that minimises <x, a − b>; r is 1/|x|. in
// points to the input columns of the lanes.
ALWAYS V3 T(support)(int ka, int kb, const REAL *in, int stride, V3 x, VF r, V3 *a) {
    *a = T(core_support)(ka, in + CLR_PA * stride, stride, T(neg)(x), r);
    const REAL *m = in + CLR_ROT * stride;
    V3 b = T(core_support)(kb, in + CLR_PB * stride, stride, T(rotate_back)(m, stride, x), r);
    b = T(add)(T(rotate)(m, stride, b), T(ld3)(in + CLR_TRANS * stride, stride));
    return T(sub)(*a, b);
}
