// Support points of superquadrics (Deng, Hu et al., paper 002, eq. 16), with the formulas of
// geom.Superquadric. A template, see vec3.h.
//
// What is rounded. The ratio of the arguments and its power are off as if the direction
// were: by a few units of each component, however large the exponent, since |x|·2^x is below
// 1 for the x ≤ 0 that are taken powers of. Such a point lies on the surface, and is higher
// than any other by all but those units times the size. Both coordinates come from one q, so
// that the point leaves the surface by the rounding of the factors alone: each is a
// power of an argument in [-1, 0], off by less than 6 u, two of them and their
// products by less than 14 u of the size (u = 2⁻⁵³).

// split is the norm of two numbers u, v ≥ 0, of exponent e = 2/(2 − α), and its gradient. The
// powers that it is made of are kept, for derivatives.
typedef struct {
    VF norm, gu, gv;
    VF log2q, q; // q = (low/high)^e
    VM swapped;  // whether v is the higher
} T(split);

// A lower number below LEAST_RATIO of the higher counts for nothing: its logarithm would not be
// that of a normal number.
#if REAL_BITS == 32
#define LEAST_RATIO 1e-30f
#else
#define LEAST_RATIO 1e-280
#endif

// norm_of splits; `half` is α/2. All powers are of base 2 and at most 1.
ALWAYS T(split) T(norm_of)(VF u, VF v, VF e, VF half) {
    T(split) s;
    const VF one = SET1(1);
    s.swapped = LT(u, v);
    VF high = MAX(u, v), ratio = MIN(u, v) / MAX(high, SET1(LEAST_RATIO));
    VM none = LT(ratio, SET1(LEAST_RATIO));
    s.log2q = MIN(e * T(log2)(MIN(MAX(ratio, SET1(LEAST_RATIO)), one)), SET1(0));
    s.q = SEL(none, SET1(0), T(exp2)(s.log2q));
    VF first = T(exp2)(-(half * T(log2_1p)(s.q)));
    VF second = SEL(none, SET1(0), first * T(exp2)(half * s.log2q));
    s.norm = FMA(high, s.q, high) * first;
    s.gu = SEL(s.swapped, second, first);
    s.gv = SEL(s.swapped, first, second);
    return s;
}
#undef LEAST_RATIO

// Columns of a lane: the halves of α2 and α1, then the exponents of the dual norms.
enum { T(ACROSS), T(ALONG), T(DUAL_ACROSS), T(DUAL_ALONG), T(POWERS) };

// superquadric_support is the point whose outward normal is d, for the semi-axes e.
ALWAYS V3 T(superquadric_support)(V3 e, const REAL (*power)[W], V3 d) {
    V3 s = {e.x * MAX(d.x, -d.x), e.y * MAX(d.y, -d.y), e.z * MAX(d.z, -d.z)};
    T(split) across = T(norm_of)(s.x, s.y, LOADU(power[T(DUAL_ACROSS)]), LOADU(power[T(ACROSS)]));
    T(split) along = T(norm_of)(across.norm, s.z, LOADU(power[T(DUAL_ALONG)]), LOADU(power[T(ALONG)]));
    return (V3){COPYSIGN(e.x * along.gu * across.gu, d.x), COPYSIGN(e.y * along.gu * across.gv, d.y), COPYSIGN(e.z * along.gv, d.z)};
}
