// Whether a tetrahedron holds the origin, whatever rounding did to its vertices. A template, float32.
//
// It does, however its vertices are moved by up to δ each, if it holds the ball of radius δ: else a
// plane through the origin had all moved vertices on one side, and all vertices less than δ on the
// other. So all four faces must be farther from the origin than δ: six times the volume that a
// face spans with it must be above δ·|n|, n the product of two edges of the face.
//
// Let G be the square of the longest of the three edges that meet in w, u = 2⁻²⁴. The product of two
// of them is off by 6 u·G: edges are rounded by u each, products and differences by u. No
// vertex is farther from the origin than 1, so that the volume of w's faces is off by 9 u·G, that of all
// by 18 u·G as |e| is 2 at most, and what is left for the fourth face by less than 80 u·G.
#define VOLUME_UNITS 80

// LOOSE_VOLUME is what the least volume must be above, as a part of G, where nothing is known of n: it is
// at most G for the three faces and 3√3/2·G for the other, a triangle in a ball of radius √G.
#define LOOSE_VOLUME(noise) FMA(SET1(2.6f), noise, SET1(VOLUME_UNITS * 0x1p-24f))

// holds is the same face by face.
ALWAYS VM holds(V3 w, V3 b, V3 c, V3 d, VF noise) {
    const V3 e1 = T(sub)(b, w), e2 = T(sub)(c, w), e3 = T(sub)(d, w);
    const V3 n[3] = {T(cross)(e2, e3), T(cross)(e3, e1), T(cross)(e1, e2)}, last = T(add)(T(add)(n[0], n[1]), n[2]);
    const VF longest = MAX(T(dot)(e1, e1), MAX(T(dot)(e2, e2), T(dot)(e3, e3))), rounding = SET1(VOLUME_UNITS * 0x1p-24f) * longest;
    VF rest = T(dot)(e1, n[0]);
    const VF sign = COPYSIGN(SET1(1), rest);
    VM all = MFROM(LANES);
    for (int i = 0; i < 4; i++) {
        const VF volume = i < 3 ? -T(dot)(w, n[i]) : rest, area2 = i < 3 ? T(dot)(n[i], n[i]) : T(dot)(last, last);
        all = MAND(all, LT(FMA(noise, SQRT(area2), rounding), volume * sign));
        rest = rest - volume;
    }
    return all;
}
