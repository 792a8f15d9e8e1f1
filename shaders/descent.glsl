// The descent in double precision that ends a row, and the bounds it proves. It is
// the reference solver's, see package ref: any unit direction u proves that the
// distance of the cores is at least the minimum of <u, w> over A - B, and the point x
// of the simplex proves that it is at most |x|.
//
// The including file loads the pair, see pair.glsl, and defines
//     dvec3 guess(uint k)
// before the include: direction k of the guess.

#ifndef CLEARANCE_DESCENT_GLSL
#define CLEARANCE_DESCENT_GLSL

#include "exact.glsl"
#include "pair.glsl"
#include "simplex.glsl"

// What is known.
Simplex simplex; // payload: the point of A
dvec3 x;         // point of the simplex nearest to the origin
double len;      // |x|
double best;     // best lower bound of the distance of the cores along any direction
double lower;    // lower bound along axis
dvec3 axis;      // unit direction of the latest support along x: from B to A
dvec3 latestW, latestA;
uint evaluations;
uint level;      // steps that did not lower the norm

// Two or three steps at constant norm complete a triangle around the foot point, the
// rest is reserve.
const uint MAX_LEVEL_STEPS = 12u;

// support finds the vertex that minimises <dir, w> and takes the bound it proves. along
// says that dir is the direction of x, so that witnesses and normal belong together.
void support(dvec3 dir, bool along) {
    double l = norm(dir);
    precise dvec3 u = l > 0.0lf ? dir / l : dvec3(1, 0, 0); // any direction proves a bound
    precise dvec3 turned = u * rotation;
    dvec3 coreA, coreB = dvec3(0);
    for (int k = 0; k < 2; k++) { // B after A, in one text of the supports: half the code
        Shape s = shapeA;
        dvec3 v = -u;
        if (k == 1) {
            s = shapeB;
            v = turned;
        }
        coreA = coreB;
        coreB = coreSupport(s, v);
    }
    precise dvec3 a = coreA + shapeA.erode * u;
    precise dvec3 b = rotation * coreB + translation - shapeB.erode * u;
    precise dvec3 w = a - b;
    latestA = a;
    latestW = w;
    evaluations++;
    double h = product(u, w);
    if (along || (boolean && h > best)) {
        lower = h;
        axis = u;
    }
    if (h > best) best = h;
}

// settled reports whether the bounds answer the question.
bool settled() {
    if (boolean) return best - roundoff > radius || (simplex.n > 0u && len + roundoff < radius);
    if (simplex.n == 0u) return false;
    if (cut && lower - roundoff - radius > cutOff) return true;
    return len - lower <= stop;
}

bool separated() { return best > roundoff; }

bool known(dvec3 w) {
    return (simplex.n > 0u && simplex.w0 == w) || (simplex.n > 1u && simplex.w1 == w)
        || (simplex.n > 2u && simplex.w2 == w) || (simplex.n > 3u && simplex.w3 == w);
}

// add adds the latest vertex, unless the simplex holds it.
bool add() {
    if (known(latestW)) return false;
    put(simplex, simplex.n, latestW, latestA);
    simplex.n++;
    return true;
}

// project moves x to the nearest point of the simplex, to which a vertex was added
// when it had n vertices; n is 0 for a new simplex. It reports whether that brought
// progress; if not, simplex and x go back to what they were. A fall of the norm
// is progress, but a tilt of x by d changes the norm by d² only and the bound of a
// flat face by d: a few steps that leave the norm as it is are taken as well.
bool project(uint n, out bool inside) {
    real4 before = simplex.weight;
    nearest(simplex, separated(), inside);
    dvec3 foot = point(simplex);
    double l = norm(foot);
    if (!inside && n > 0u && !(l < len)) {
        level++;
        if (level > MAX_LEVEL_STEPS || !(l <= len * (1.0lf + 8.0lf * UNIT_ROUNDOFF))) {
            simplex.n = n;
            simplex.weight = before;
            return false;
        }
    }
    reduce(simplex);
    x = foot;
    len = l;
    return true;
}

// longestFirst orders a segment or a triangle so that its longest edge is w0w1.
void longestFirst(inout Simplex s) {
    if (s.n != 3u) return;
    double e01 = square(s.w1 - s.w0), e02 = square(s.w2 - s.w0), e12 = square(s.w2 - s.w1);
    if (e02 > e01 && e02 >= e12) { // swap 1 and 2
        dvec3 w = s.w1, p = s.p1;
        s.w1 = s.w2; s.p1 = s.p2; s.w2 = w; s.p2 = p;
        s.weight = s.weight.xzyw;
    } else if (e12 > e01) { // swap 0 and 2
        dvec3 w = s.w0, p = s.p0;
        s.w0 = s.w2; s.p0 = s.p2; s.w2 = w; s.p2 = p;
        s.weight = s.weight.zyxw;
    }
}

// direction is a vector along which x points from the origin, orthogonal to the edges
// of the simplex to the last digits. x itself is a sum that cancels: its direction is
// off by rounding over |x|, which costs a polytope as much in gap.
dvec3 direction() {
    if (stop > 1e-9lf * scale || simplex.n < 2u || simplex.n > 3u) return x;
    longestFirst(simplex);
    precise dvec3 e = simplex.w1 - simplex.w0;
    double ee = square(e);
    if (!(ee > 0.0lf)) return x;
    if (simplex.n == 3u) {
        // The normal of the face is off by rounding over its height: it serves where
        // that is the longer length, and where it agrees with x.
        dvec3 n = exactCross(e, simplex.w2 - simplex.w0);
        double nn = square(n), k = product(n, x);
        if (nn > len * len * ee && k * k >= 0.25lf * nn * len * len) {
            return n * ((k < 0.0lf ? -1.0lf : 1.0lf) / norm(n));
        }
    }
    precise dvec3 y = x - (product(e, x) / ee) * e;
    if (simplex.n == 2u) {
        precise dvec3 z = y - (product(e, y) / ee) * e;
        return z;
    }
    return y;
}

// descend forms the simplex of the guess from its directions and runs plain GJK (paper
// 001, Alg. 1) from there until the question is answered, no step brings progress, or
// cap steps are made. It reports whether the cores intersect or cannot be told from
// touching. The vertices of the guess and those of the steps go through one text of
// the support functions.
bool descend(uint guesses, uint cap) {
    bool inside = false;
    for (uint k = 0u; k < guesses + cap; k++) {
        bool guessed = k < guesses;
        uint n = guessed ? 0u : simplex.n;
        support(guessed ? guess(k) : direction(), guesses == 1u || !guessed);
        if (!guessed && settled()) return false;
        if (!guessed) refined = true;
        bool added = add();
        if (k + 1u < guesses) continue; // more to come
        if (!guessed && !added) return false;
        bool progress = project(n, inside);
        if (inside) return true;
        if (len <= roundoff && !separated()) return true;
        if (!progress) return false;
        if (guessed && boolean && settled()) return false;
    }
    return false;
}

// straighten moves x along the longest edge of its simplex to the foot of the
// perpendicular. The weights of a triangle of length L and height h are off by rounding
// over h, which moves x by L²/h roundings along it: too little to change the norm, but
// the witnesses would no longer be distance·normal apart.
void straighten() {
    if (simplex.n != 2u && simplex.n != 3u) return;
    longestFirst(simplex);
    precise dvec3 e = simplex.w1 - simplex.w0;
    double ee = square(e);
    if (!(ee > 0.0lf)) return;
    for (int k = 0; k < 2; k++) {
        double t = -product(e, point(simplex)) / ee;
        t = min(max(t, -simplex.weight.y), simplex.weight.x);
        simplex.weight.xy += dvec2(-t, t);
    }
    x = point(simplex);
    len = norm(x);
}

// faceDepth is how far, at least, the origin lies from the face pqr of a tetrahedron on
// the side of its fourth vertex o; 0 where that is not certain.
//
// An edge is off by UNIT_ROUNDOFF of its length, so the normal n of the face is off by
// 2·UNIT_ROUNDOFF·|e|·|f| and its own last digits, and offsets along it by that times
// the length they are formed from, over |n|. Twice the sum of these is allowed for. It
// matters: a face 1e4 m long and 1e-4 m high places its plane to 1e-4 m only.
double faceDepth(dvec3 p, dvec3 q, dvec3 r, dvec3 o) {
    precise dvec3 e = q - p;
    precise dvec3 f = r - p;
    precise dvec3 g = o - p;
    dvec3 n = exactCross(e, f);
    double l = norm(n);
    if (!(l > 0.0lf)) return 0.0lf;
    double origin = -product(p, n) / l, other = product(g, n) / l;
    double doubt = 16.0lf * UNIT_ROUNDOFF * norm(e) * norm(f) * max(norm(p), norm(g)) / l;
    if (other < 0.0lf) {
        other = -other;
        origin = -origin;
    }
    return other > doubt && origin > doubt ? origin - doubt : 0.0lf;
}

// depthInside is a lower bound of the depth of the origin in a tetrahedron that holds it:
// its distance to the nearest face. Moving the vertices by their own rounding errors
// changes it by no more than these.
double depthInside() {
    dvec3 p = simplex.w0, q = simplex.w1, r = simplex.w2, s = simplex.w3;
    return min(min(faceDepth(p, q, r, s), faceDepth(p, q, s, r)), min(faceDepth(p, r, s, q), faceDepth(q, r, s, p)));
}

#endif
