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

// powered_support is the gradient of (Σ max(<q, d>, 0)^β)^(1/β) over the points q of each lane.
ALWAYS V3 T(powered_support)(const clr_call *c, const T(hulls) *h, unsigned lanes, V3 d) {
#if REAL_BITS == 32
    const REAL *x = c->fx, *y = c->fy, *z = c->fz;
#else
    const REAL *x = c->vx, *y = c->vy, *z = c->vz;
#endif
    REAL u[3][W] __attribute__((aligned(64))), sum[4][W] __attribute__((aligned(64)));
    T(st3)(u[0], W, d);
    for (int l = 0; l < W; l++) sum[0][l] = sum[1][l] = sum[2][l] = sum[3][l] = 1;
    for (unsigned m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m), first = h->first[l], end = first + h->count[l];
        const V3 e = {SET1(u[0][l]), SET1(u[1][l]), SET1(u[2][l])};
        VF high = SET1(0), s = high, sharp = SET1(h->power[T(SHARP)][l]);
        for (int j = first; j < end; j += W) high = MAX(T(dot)(e, ((V3){LOADU(x + j), LOADU(y + j), LOADU(z + j)})), high);
        const VF scale = SET1(1 / (HMAX(high) > (REAL)TINY ? HMAX(high) : (REAL)TINY));
        V3 p = {s, s, s};
        for (int j = first; j < end; j += W) {
            V3 q = {LOADU(x + j), LOADU(y + j), LOADU(z + j)};
            VF t = MAX(T(dot)(e, q) * scale, SET1(LEAST_HEIGHT)), w = T(exp2)(sharp * T(log2)(t));
            s = FMA(w, t, s);
            p = T(axpy)(w, q, p);
        }
        sum[0][l] = HSUM(p.x);
        sum[1][l] = HSUM(p.y);
        sum[2][l] = HSUM(p.z);
        sum[3][l] = HSUM(s);
    }
    VF s = MAX(LOADU(sum[3]), SET1(LEAST_HEIGHT));
    return T(scale)(T(exp2)(LOADU(h->power[T(ROOT)]) * T(log2)(s)) / s, T(ld3)(sum[0], W));
}
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
