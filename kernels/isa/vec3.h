// Vectors of three components, one pair per lane, and rotations. A template over REAL_BITS: include real32.h or
// real64.h first.

#if (REAL_BITS == 32 && !defined(CLR_VEC3_32)) || (REAL_BITS == 64 && !defined(CLR_VEC3_64))
#if REAL_BITS == 32
#define CLR_VEC3_32
#else
#define CLR_VEC3_64
#endif

#ifndef CLR_PASTE
#define CLR_PASTE2(a, b) a##b
#define CLR_PASTE(a, b) CLR_PASTE2(a, b)
#define T(name) CLR_PASTE(name, REAL_BITS)
#define ALWAYS static inline __attribute__((always_inline))
#define V3 T(v3_)
#endif

typedef struct {
    VF x, y, z;
} V3;

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
    return MAND(MAND(MAND(LE(a.x, b.x), LE(b.x, a.x)), MAND(LE(a.y, b.y), LE(b.y, a.y))),
                MAND(LE(a.z, b.z), LE(b.z, a.z)));
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

// tangent_basis makes p × q = n of a unit vector [Duff2017, listing 3]. sign is 1 or -1, of the sign of n.z where that
// is not small: an error of n counts 1/(1 + sign·n.z) times.
ALWAYS void T(tangent_basis)(V3 n, VF sign, V3 *p, V3 *q) {
    VF a = -RCP(sign + n.z), b = n.x * n.y * a;
    *p = (V3){FMA(sign * a, n.x * n.x, SET1(1)), sign * b, -sign * n.x};
    *q = (V3){b, FMA(a, n.y * n.y, sign), -n.y};
}

// across is an orthonormal basis of the plane orthogonal to a unit vector.
ALWAYS void T(across)(V3 n, V3 *p, V3 *q) { T(tangent_basis)(n, COPYSIGN(SET1(1), n.z), p, q); }

// quaternion_matrix writes the rotation of a quaternion of any length, as geom.Pose.Matrix
// does; s is 2 over the square of its length.
ALWAYS void T(quaternion_matrix)(VF s, VF w, V3 v, VF m[9]) {
    VF xx = v.x * v.x, yy = v.y * v.y, zz = v.z * v.z, xy = v.x * v.y, xz = v.x * v.z, yz = v.y * v.z;
    VF wx = w * v.x, wy = w * v.y, wz = w * v.z;
    const VF one = SET1(1);
    m[0] = FNMA(s, yy + zz, one);
    m[1] = s * (xy - wz);
    m[2] = s * (xz + wy);
    m[3] = s * (xy + wz);
    m[4] = FNMA(s, xx + zz, one);
    m[5] = s * (yz - wx);
    m[6] = s * (xz - wy);
    m[7] = s * (yz + wx);
    m[8] = FNMA(s, xx + yy, one);
}

// apply and apply_transposed apply a matrix and its transpose.
ALWAYS V3 T(apply)(const VF m[9], V3 v) {
    return (V3){FMA(m[2], v.z, FMA(m[1], v.y, m[0] * v.x)), FMA(m[5], v.z, FMA(m[4], v.y, m[3] * v.x)),
                FMA(m[8], v.z, FMA(m[7], v.y, m[6] * v.x))};
}
ALWAYS V3 T(apply_transposed)(const VF m[9], V3 v) {
    return (V3){FMA(m[6], v.z, FMA(m[3], v.y, m[0] * v.x)), FMA(m[7], v.z, FMA(m[4], v.y, m[1] * v.x)),
                FMA(m[8], v.z, FMA(m[5], v.y, m[2] * v.x))};
}

#if REAL_BITS == 64
ALWAYS VF inverse_length(V3 v) { return RSQRT(MAX(T(dot)(v, v), SET1(TINY))); }

// is_unit is false if the vector was (nearly) zero or NaN before it was divided by its length: no bound
// follows from such a direction.
ALWAYS VM is_unit(V3 v) {
    VF e = T(dot)(v, v) - SET1(1);
    return LE(MAX(e, -e), SET1(16 * 0x1p-53));
}

ALWAYS V3 unit(V3 v) { return T(scale)(inverse_length(v), v); }

// axis is the image of the z axis under a quaternion of any length.
ALWAYS V3 axis(VF w, V3 v) {
    VF s = SET1(2) / FMA(w, w, T(dot)(v, v));
    return (V3){s * FMA(w, v.y, v.x * v.z), s * FNMA(w, v.x, v.y * v.z), FNMA(s, FMA(v.y, v.y, v.x * v.x), SET1(1))};
}

ALWAYS VF magnitude(VF x) { return MAX(x, -x); }
ALWAYS VF clamped(VF x, VF most) { return MIN(MAX(x, -most), most); }
#endif

#endif
