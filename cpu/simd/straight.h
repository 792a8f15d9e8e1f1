// Directions orthogonal to the edges of a simplex, to the last digits. A template,
// float64, for tolerances near its roundoff; see ref/descent.go.
//
// The nearest point x of a simplex is a sum that cancels. Its direction is off by
// rounding over |x|, and on a triangle of length L and height h it is off along L by
// rounding times L²/h, as the weights are off by rounding over h. Simplices on the
// rims of cylinders and cones are such triangles, 1e-4 to 1e-6 high: the tilt leaves
// the norm as it is, and costs the plane along x a multiple of the tolerance.

#define FINE_TOLERANCE 1e-9 // beyond it the loss does not matter

// has_flats reports whether D has edges or faces, or some that are so to rounding, as those of sharp
// superquadrics are.
ALWAYS int has_flats(int ka, int kb) { return ka != CLR_ELLIPSOID || kb != CLR_ELLIPSOID; }

// without is the part of x orthogonal to e, in two passes: the second takes away the
// rounding of the first.
ALWAYS V3 without(V3 x, V3 e) {
    VF inv = SET1(1) / MAX(T(dot)(e, e), SET1(1e-200));
    x = T(axpy)(-T(dot)(e, x) * inv, e, x);
    return T(axpy)(-T(dot)(e, x) * inv, e, x);
}

// longest_of is the longest of three edges, and whether it is the second or the third.
ALWAYS V3 longest_of(V3 e1, V3 e2, V3 e3, VM *second, VM *third) {
    VF g1 = T(dot)(e1, e1), g2 = T(dot)(e2, e2), g3 = T(dot)(e3, e3);
    *third = MAND(LT(g1, g3), LT(g2, g3));
    *second = MANDN(LT(g1, g2), *third);
    return T(sel)(*third, e3, T(sel)(*second, e2, e1));
}

// straight_direction is the direction of the point `sum` of w, p and q, of which any may
// be the same; `face` is the foot on their face as its normal has it. The normal is
// off by rounding over the height, the sum by rounding over its length: the longer
// decides.
ALWAYS V3 straight_direction(V3 w, V3 p, V3 q, V3 sum, V3 face) {
    VM second, third;
    V3 e1 = T(sub)(p, w), e2 = T(sub)(q, w), e = longest_of(e1, e2, T(sub)(q, p), &second, &third), n = T(cross)(e1, e2);
    VM high = LT(T(dot)(sum, sum) * T(dot)(e, e), T(dot)(n, n));
    return T(sel)(high, face, without(sum, e));
}

// straighten moves the point v + l1·e1 + l2·e2 of a triangle, where it lies on the face,
// along its longest edge to the foot of the perpendicular, as far as the weights stay
// above 0. It returns the edge that the point's direction should be orthogonal to.
ALWAYS V3 straighten(V3 v, V3 e1, V3 e2, VF *l1, VF *l2, V3 *x, VM face) {
    const VF zero = SET1(0), one = SET1(1);
    VM second, third;
    V3 e = longest_of(e1, e2, T(sub)(e2, e1), &second, &third);
    VM last = MOR(second, third);
    VF inv = SEL(face, one / MAX(T(dot)(e, e), SET1(1e-200)), zero);
    for (int pass = 0; pass < 2; pass++) {
        // From the first vertex to the second or the third, or from the second to the third.
        VF from = SEL(third, *l1, MAX(one - *l1 - *l2, zero)), to = SEL(last, *l2, *l1);
        VF t = MIN(MAX(-T(dot)(e, *x) * inv, -to), from);
        *l1 = *l1 + SEL(third, -t, SEL(second, zero, t));
        *l2 = *l2 + SEL(last, t, zero);
        *x = T(axpy)(*l2, e2, T(axpy)(*l1, e1, v));
    }
    V3 edge = T(sel)(LT(zero, *l1), e1, T(scale)(SEL(LT(zero, *l2), one, zero), e2));
    return T(sel)(face, e, edge);
}
