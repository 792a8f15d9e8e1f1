// Heights of cores along first directions. A template, see vec3.h.

// first_height is the height of a core of class k above its center along the unit vector d of its
// own frame, or more: p are its parameters and erode. Small hulls have functions of their own.
ALWAYS VF T(first_height)(int k, const VF p[4], V3 d) {
    V3 u = {MAX(d.x, -d.x), MAX(d.y, -d.y), MAX(d.z, -d.z)};
    if (k == CLR_BOX) return FMA(p[2], u.z, FMA(p[1], u.y, p[0] * u.x));
    if (k == CLR_ELLIPSOID || k == CLR_HULL) { // of a hull the ellipsoid: the hull itself is as dear as a step of the loop
        V3 e = {p[0] * u.x, p[1] * u.y, p[2] * u.z};
        VF h = SQRT(T(dot)(e, e));
        return k == CLR_HULL ? p[3] * h : h - p[3];
    }
    if (k == CLR_ROUND) {
        VF lateral = SQRT(FMA(u.y, u.y, u.x * u.x)), rise = p[2] * d.z;
        return MAX(FMA(p[0], lateral, -rise), FMA(p[1], lateral, rise));
    }
    return SET1(INFINITY);
}
