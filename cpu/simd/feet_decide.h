// Do cylinders, cones, frustums, segments and points meet? One pair of feet tells in most
// cases, see feet.h. A template, float64; included after closed.h; decide.h has the bounds of the proof.

// feet_verdict is what a pair of feet proves: a plane between the cores farther than the radii,
// or a point of both, or points of each nearer than the radii, by more than `noise`.
typedef struct {
    VM apart, meet;
    V3 x; // from the foot on B to that on A
} feet_verdict;

ALWAYS feet_verdict feet_decide(const profile *pa, const profile *pb, const VF m[9], V3 t, VF radius, VF noise) {
    feet_verdict v;
    V3 point = axis_point(pa->half, pb->half, (V3){m[2], m[5], m[8]}, t);
    foot a = foot_of(pa, point), b = foot_of(pb, turn_back(m, T(sub)(a.at, t)));
    v.x = T(sub)(a.at, T(add)(turn(m, b.at), t));
    VF square = T(dot)(v.x, v.x), inv = RSQRT(MAX(square, SET1(TINY))), length = square * inv;
    v.apart = LT(radius + noise, length - foot_beyond(pa, a.at, v.x, inv));
    v.meet = MOR(LT(noise, MAX(a.deep, b.deep)), LT(length + noise, radius));
    return v;
}
