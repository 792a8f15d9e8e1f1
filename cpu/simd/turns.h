// Rotations. A template, see vec3.h.

// quaternion_matrix writes the rotation of a quaternion of any length, as geom.Pose.Matrix
// does; s is 2 over the square of its length.
ALWAYS void T(quaternion_matrix)(VF s, VF w, V3 v, VF m[9]) {
    VF xx = v.x * v.x, yy = v.y * v.y, zz = v.z * v.z, xy = v.x * v.y, xz = v.x * v.z, yz = v.y * v.z;
    VF wx = w * v.x, wy = w * v.y, wz = w * v.z;
    const VF one = SET1(1);
    m[0] = FNMA(s, yy + zz, one); m[1] = s * (xy - wz);         m[2] = s * (xz + wy);
    m[3] = s * (xy + wz);         m[4] = FNMA(s, xx + zz, one); m[5] = s * (yz - wx);
    m[6] = s * (xz - wy);         m[7] = s * (yz + wx);         m[8] = FNMA(s, xx + yy, one);
}

// turn and turn_back apply a matrix and its transpose.
ALWAYS V3 T(turn)(const VF m[9], V3 v) {
    return (V3){FMA(m[2], v.z, FMA(m[1], v.y, m[0] * v.x)), FMA(m[5], v.z, FMA(m[4], v.y, m[3] * v.x)), FMA(m[8], v.z, FMA(m[7], v.y, m[6] * v.x))};
}
ALWAYS V3 T(turn_back)(const VF m[9], V3 v) {
    return (V3){FMA(m[6], v.z, FMA(m[3], v.y, m[0] * v.x)), FMA(m[7], v.z, FMA(m[4], v.y, m[1] * v.x)), FMA(m[8], v.z, FMA(m[5], v.y, m[2] * v.x))};
}

#if REAL_BITS == 64 // most of the code that turns
#define quaternion_matrix quaternion_matrix64
#define turn turn64
#define turn_back turn_back64
#endif
