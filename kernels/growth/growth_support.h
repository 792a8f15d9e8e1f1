// Support points of D = (A − c_A) − (B − c_B) in the frame of the ray (growth_input.h). A template, see vec3.h.

#if (REAL_BITS == 32 && !defined(CLR_GROWTH_SUPPORT_32)) || (REAL_BITS == 64 && !defined(CLR_GROWTH_SUPPORT_64))
#if REAL_BITS == 32
#define CLR_GROWTH_SUPPORT_32
#else
#define CLR_GROWTH_SUPPORT_64
#endif

#include "../shape/support.h"

// ray_difference is the point a − b of D, of points a and b of A and B, in the frames of these.
ALWAYS V3 T(ray_difference)(const T(places) *at, V3 a, V3 b) {
    const REAL *in = at->in;
    const int stride = at->stride;
    return T(sub)(T(add)(T(rotate_back)(in + CLR_RAY_A * stride, stride, a), T(ld3)(in + CLR_SHIFT * stride, stride)),
                  T(rotate_back)(in + CLR_RAY_B * stride, stride, b));
}

// ray_support is the support point of D along the unit vector n; a and b are the support points of the cores and
// da and db the directions, in the frames of A and B.
ALWAYS V3 T(ray_support)(const T(places) *at, int ka, int kb, V3 n, V3 *a, V3 *b, V3 *da, V3 *db, VF found[2]) {
    const REAL *in = at->in;
    const int stride = at->stride;
    const VF one = SET1(1);
    *da = T(rotate)(in + CLR_RAY_A * stride, stride, n);
    *db = T(neg)(T(rotate)(in + CLR_RAY_B * stride, stride, n));
    *a = T(side_support)(at, ka, 0, *da, one, &found[0]);
    *b = T(side_support)(at, kb, 1, *db, one, &found[1]);
    return T(axpy)(LOADU(in + CLR_BALL * stride), n, T(ray_difference)(at, *a, *b));
}

#if REAL_BITS == 32
// own_directions recomputes the directions of which float32 has computed support points, in the frames of A and B, from
// those of the ray: three of each row k, k+1, …. They are the same bit for bit, so that float64 finds the same vertex
// or the same point of a rim, however close another one is. For cones and cylinders only the sign of z
// matters: it selects the rim.
ALWAYS void own_directions(const clr_scratch *s, int k, int ka, int kb, float out[2][9][W]) {
    for (int j = 0; j < 3; j++)
        for (int side = 0; side < 2; side++) {
            const int class = side ? kb : ka;
            V3 d = T(rotate)(&s->growth.in32[side ? CLR_RAY_B : CLR_RAY_A][k], CLR_STRIDE32,
                             T(ld3)(&s->growth.facing[3 * j][k], CLR_STRIDE32));
            if (side) d = T(neg)(d);
            if (class == CLR_FRUSTUM) {
                const V3 p = T(core_support)(class, &s->growth.in32[side ? CLR_PB : CLR_PA][k], CLR_STRIDE32, d, d.x);
                d.z = COPYSIGN(SET1(1e30f), p.z);
            }
            T(st3)(out[side][3 * j], W, d);
        }
}
#endif

// triangle_normal is the unit normal of a triangle, upwards if it is seen counterclockwise from above.
ALWAYS V3 T(triangle_normal)(const V3 v[3]) {
    const V3 n = T(cross)(T(sub)(v[1], v[0]), T(sub)(v[2], v[0]));
    return T(scale)(RSQRT(MAX(T(dot)(n, n), SET1(TINY))), n);
}

#endif
