// Support points of smooth hulls and smooth revolutions (paper 002, eqs. 17 and 19), with the
// formulas of geom.SmoothHull. A template, see vec3.h.
//
// Lanes are served one after the other, a vertex a machine lane. Filled up are vertices with
// the center, which has no height and adds nothing.
//
// What is rounded. The weights w = t^(β−1) of the heights t, relative to the largest, may
// be those of other heights: then the point moves along the surface, and is lower by the
// rounding of a height times the sum of the weights at most, some ten units u = 2⁻⁵³
// of the size. That S = Σ w·t is not quite the sum of their powers, the root of S, and
// the products move it off the surface, by less than 32 u of the size in all, and the
// sums by one unit for each vertex that a machine lane has.

// Heights below LEAST_HEIGHT of the largest, and negative ones, count as that: powers of it of
// β − 1 > 1 vanish beside 1.
#if REAL_BITS == 32
#define LEAST_HEIGHT 1e-30f
#else
#define LEAST_HEIGHT 1e-280
#endif

// Columns of a lane, in place of those of superquadrics: β − 1, 1/β, and γ of a revolution.
enum { T(SHARP), T(ROOT), T(FLATNESS) };

// powered_bend is the gradient of h = (Σ max(<q, d>, 0)^β)^(1/β) over the points q of each lane, and
// the Hessian, where it is asked for, as <e, He>, <e, Hf>, <f, Hf>. With y = <q, d>/h it is
// (β − 1)/h · (Σ y^(β−2) q·qᵀ − s·sᵀ) for the gradient s.
ALWAYS V3 T(powered_bend)(const clr_call *c, const T(hulls) *h, unsigned lanes, V3 d, V3 e, V3 f, VF *bend) {
#if REAL_BITS == 32
    const REAL *x = c->fx, *y = c->fy, *z = c->fz;
#else
    const REAL *x = c->vx, *y = c->vy, *z = c->vz;
#endif
    REAL u[9][W] __attribute__((aligned(64))), sum[8][W] __attribute__((aligned(64)));
    T(st3)(u[0], W, d);
    if (bend) T(st3)(u[3], W, e), T(st3)(u[6], W, f);
    for (int l = 0; l < W; l++) sum[0][l] = sum[1][l] = sum[2][l] = sum[3][l] = 1;
    if (bend) memset(sum[4], 0, 4 * sizeof *sum);
    for (unsigned m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m), first = h->first[l], end = first + h->count[l];
        const V3 e = {SET1(u[0][l]), SET1(u[1][l]), SET1(u[2][l])};
        V3 p1, p2, pp = {SET1(0), SET1(0), SET1(0)}; // sums along e and f
        if (bend) p1 = (V3){SET1(u[3][l]), SET1(u[4][l]), SET1(u[5][l])}, p2 = (V3){SET1(u[6][l]), SET1(u[7][l]), SET1(u[8][l])};
        VF high = SET1(0), s = high, sharp = SET1(h->power[T(SHARP)][l]);
        for (int j = first; j < end; j += W) high = MAX(T(dot)(e, ((V3){LOADU(x + j), LOADU(y + j), LOADU(z + j)})), high);
        const VF scale = SET1(1 / (HMAX(high) > (REAL)TINY ? HMAX(high) : (REAL)TINY));
        V3 p = {s, s, s};
        for (int j = first; j < end; j += W) {
            V3 q = {LOADU(x + j), LOADU(y + j), LOADU(z + j)};
            VF t = MAX(T(dot)(e, q) * scale, SET1(LEAST_HEIGHT)), w = T(exp2)(sharp * T(log2)(t));
            s = FMA(w, t, s);
            p = T(axpy)(w, q, p);
            if (bend) {
                VF a = T(dot)(p1, q), b = T(dot)(p2, q), second = w / t;
                pp = (V3){FMA(second * a, a, pp.x), FMA(second * a, b, pp.y), FMA(second * b, b, pp.z)};
            }
        }
        if (bend) sum[4][l] = HSUM(pp.x), sum[5][l] = HSUM(pp.y), sum[6][l] = HSUM(pp.z), sum[7][l] = HMAX(high);
        sum[0][l] = HSUM(p.x);
        sum[1][l] = HSUM(p.y);
        sum[2][l] = HSUM(p.z);
        sum[3][l] = HSUM(s);
    }
    VF s = MAX(LOADU(sum[3]), SET1(LEAST_HEIGHT));
    VF log = T(log2)(s), root = T(exp2)(LOADU(h->power[T(ROOT)]) * log);
    V3 at = T(scale)(root / s, T(ld3)(sum[0], W));
    if (bend) {
        VF k = LOADU(h->power[T(SHARP)]) / MAX(LOADU(sum[7]) * root, SET1(TINY)), second = root * root / s, a = T(dot)(at, e), b = T(dot)(at, f);
        bend[0] = k * FNMA(a, a, second * LOADU(sum[4]));
        bend[1] = k * FNMA(a, b, second * LOADU(sum[5]));
        bend[2] = k * FNMA(b, b, second * LOADU(sum[6]));
    }
    return at;
}
ALWAYS V3 T(powered_support)(const clr_call *c, const T(hulls) *h, unsigned lanes, V3 d) { return T(powered_bend)(c, h, lanes, d, d, d, 0); }
#undef LEAST_HEIGHT

// smooth_support is the support point of the shapes of `side`. In float32 the frame is that of
// their centers, scaled by the fourth parameter.
ALWAYS V3 T(smooth_support)(const clr_call *c, const T(hulls) *h, unsigned lanes, int k, const REAL *p, int stride, V3 d) {
    V3 s;
    if (k == CLR_SMOOTH_HULL) {
        s = T(powered_support)(c, h, lanes, d);
    } else {
        // The points are (r, z), their direction (ρ, z), and ρ has the gradient g.
        VF gamma = LOADU(h->power[T(FLATNESS)]), gz = gamma * d.z;
        VF rr = MAX(FMA(d.x, d.x, FMA(d.y, d.y, gz * d.z)), SET1(TINY)), inv = RSQRT(rr);
        s = T(powered_support)(c, h, lanes, (V3){rr * inv, d.z, SET1(0)});
        VF r = s.x * inv;
        s = (V3){r * d.x, r * d.y, FMA(r, gz, s.y)};
    }
#if REAL_BITS == 32
    return T(scale)(LOADU(p + 3 * stride), s);
#else
    return k == CLR_SMOOTH_HULL ? T(add)(T(ld3)(p, stride), s) : s; // p: the center
#endif
}
