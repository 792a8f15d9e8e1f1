// The axes that may separate two boxes. A template, see vec3.h.

ALWAYS VF T(size)(VF x) { return MAX(x, -x); }

// box_axes is the most that one of the fifteen axes sets the cores apart (see closed_boxes.h),
// in units of its length, which is at most 1: the normals of faces and products of edges.
ALWAYS VF T(box_axes)(V3 half_a, V3 half_b, V3 shift, const VF m[9]) {
    const VF a[3] = {half_a.x, half_a.y, half_a.z}, b[3] = {half_b.x, half_b.y, half_b.z}, t[3] = {shift.x, shift.y, shift.z};
    VF q[9], most = SET1(-INFINITY);
    for (int i = 0; i < 9; i++) q[i] = T(size)(m[i]);
    for (int i = 0; i < 3; i++)
        most = MAX(most, T(size)(t[i]) - FMA(b[2], q[3 * i + 2], FMA(b[1], q[3 * i + 1], FMA(b[0], q[3 * i], a[i]))));
    for (int j = 0; j < 3; j++)
        most = MAX(most, T(size)(FMA(m[6 + j], t[2], FMA(m[3 + j], t[1], m[j] * t[0]))) - FMA(a[2], q[6 + j], FMA(a[1], q[3 + j], FMA(a[0], q[j], b[j]))));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            VF along = FNMA(t[i1], m[3 * i2 + j], t[i2] * m[3 * i1 + j]);
            most = MAX(most, T(size)(along) - FMA(b[j2], q[3 * i + j1], FMA(b[j1], q[3 * i + j2], FMA(a[i2], q[3 * i1 + j], a[i1] * q[3 * i2 + j]))));
        }
    return most;
}
