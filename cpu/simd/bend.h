// How support functions bend: value, gradient and Hessian along a unit direction, in an
// orthonormal basis of the plane across it. A template, see vec3.h.

// bend is of the support function h at n: with the support point s, h = <n, s>, its gradient
// in the basis p, q is <p, s>, <q, s>, and what of its Hessian is not zero lies there.
typedef struct { VF h, p, q, pp, pq, qq; } T(bend);

// across is a basis of the plane across a unit vector (Duff and others: Building an
// Orthonormal Basis, Revisited, 2017, listing 3).
ALWAYS void T(across)(V3 n, V3 *p, V3 *q) {
    const VF one = SET1(1);
    VF sign = COPYSIGN(one, n.z), a = -RCP(sign + n.z), b = n.x * n.y * a;
    *p = (V3){FMA(sign * a, n.x * n.x, one), sign * b, -sign * n.x};
    *q = (V3){b, FMA(a, n.y * n.y, sign), -n.y};
}

// bend_ellipsoid is of the core of an ellipsoid, in its own frame. e are the semi-axes and
// what erodes it, `stride` apart. With E = diag(e), h = |En|, s = E²n/h, and the Hessian
// is (E² − s·sᵀ)/h.
ALWAYS T(bend) T(bend_ellipsoid)(const REAL *e, int stride, V3 n, V3 p, V3 q) {
    V3 axes = T(ld3)(e, stride);
    VF ball = LOADU(e + 3 * stride);
    n = (V3){axes.x * n.x, axes.y * n.y, axes.z * n.z};
    p = (V3){axes.x * p.x, axes.y * p.y, axes.z * p.z};
    q = (V3){axes.x * q.x, axes.y * q.y, axes.z * q.z};
    VF hh = MAX(T(dot)(n, n), SET1(TINY)), r = RSQRT(hh), sp = T(dot)(n, p) * r, sq = T(dot)(n, q) * r;
    return (T(bend)){
        FMA(hh, r, -ball), sp, sq,
        FMA(FNMA(sp, sp, T(dot)(p, p)), r, -ball), FNMA(sp, sq, T(dot)(p, q)) * r, FMA(FNMA(sq, sq, T(dot)(q, q)), r, -ball)};
}
