// The distance sub-algorithm of GJK: the point of a simplex nearest to the origin, by Signed Volumes
// [Montanari2017, Alg. 2-5]. One text for both precisions.
//
// Two departures from the paper, as in package ref. The newest vertex may be in any slot, so every face whose sign
// differs is searched. Determinants are formed from edges, and from corners relative to the projection of the origin,
// which loses fewer digits.

#ifndef CLEARANCE_SIMPLEX_GLSL
#define CLEARANCE_SIMPLEX_GLSL

#include "real.glsl"

// Simplex holds up to four vertices of D = A - B, a payload for each (its direction, or its point of A), and the
// barycentric weights of a point. Named members instead of arrays keep it in registers.
struct Simplex {
    real3 w0, w1, w2, w3;
    real3 p0, p1, p2, p3;
    real4 weight; // of vertices in use; the others are 0
    uint n;       // vertices in use
};

Simplex emptySimplex() {
    return Simplex(real3(0), real3(0), real3(0), real3(0), real3(0), real3(0), real3(0), real3(0), real4(0), 0u);
}

// setSlot stores a vertex in slot k without counting it.
void setSlot(inout Simplex s, uint k, real3 w, real3 p) {
    // clang-format off
    if (k == 0u) { s.w0 = w; s.p0 = p; }
    else if (k == 1u) { s.w1 = w; s.p1 = p; }
    else if (k == 2u) { s.w2 = w; s.p2 = p; }
    else { s.w3 = w; s.p3 = p; }
    // clang-format on
}

real3 combine2(real a, real3 p, real b, real3 q) {
    precise real3 x = a * p + b * q;
    return x;
}

real3 combine3(real a, real3 p, real b, real3 q, real c, real3 r) {
    precise real3 x = a * p + b * q + c * r;
    return x;
}

// pointOf returns the point with the weights of the simplex.
real3 pointOf(Simplex s) {
    precise real3 x = s.weight.x * s.w0;
    if (s.n > 1u) x += s.weight.y * s.w1;
    if (s.n > 2u) x += s.weight.z * s.w2;
    if (s.n > 3u) x += s.weight.w * s.w3;
    return x;
}

// payloadOf returns the weighted sum of the payloads.
real3 payloadOf(Simplex s) {
    precise real3 x = s.weight.x * s.p0;
    if (s.n > 1u) x += s.weight.y * s.p1;
    if (s.n > 2u) x += s.weight.z * s.p2;
    if (s.n > 3u) x += s.weight.w * s.p3;
    return x;
}

// reduce drops the vertices without weight.
void reduce(inout Simplex s) {
    if (s.n > 3u && !(s.weight.w > real(0))) {
        s.n = 3u;
        s.weight.w = real(0);
    }
    if (s.n > 2u && !(s.weight.z > real(0))) {
        s.w2 = s.w3;
        s.p2 = s.p3;
        s.weight.zw = real2(s.weight.w, 0);
        s.n--;
    }
    if (s.n > 1u && !(s.weight.y > real(0))) {
        s.w1 = s.w2;
        s.p1 = s.p2;
        s.w2 = s.w3;
        s.p2 = s.p3;
        s.weight.yzw = real3(s.weight.zw, 0);
        s.n--;
    }
    if (s.n > 1u && !(s.weight.x > real(0))) {
        s.w0 = s.w1;
        s.p0 = s.p1;
        s.w1 = s.w2;
        s.p1 = s.p2;
        s.w2 = s.w3;
        s.p2 = s.p3;
        s.weight = real4(s.weight.yzw, 0);
        s.n--;
    }
}

// nearestOnSegment returns the weights of the point of segment pq nearest to the origin.
real2 nearestOnSegment(real3 p, real3 q) {
    precise real3 t = q - p;
    real tt = squaredNorm(t), u = -dotProduct(p, t);
    if (!(u > real(0))) return real2(1, 0);
    if (!(u < tt)) return real2(0, 1);
    precise real l = u / tt;
    precise real k = real(1) - l;
    return real2(k, l);
}

// projectOnTriangle sets the weights of the projection of the origin onto the plane of triangle pqr, and returns the
// edges that it lies beyond, bit 0 that opposite to p. Signed areas are compared in the coordinate plane in which the
// triangle's is largest. A triangle without an area has all edges searched.
uint projectOnTriangle(real3 p, real3 q, real3 r, out real3 weight) {
    precise real3 e = q - p;
    precise real3 f = r - p;
    precise real3 n = cross(e, f);
    real nn = squaredNorm(n);
    precise real k = dotProduct(p, n) / nn;
    precise real3 o = k * n;
    real3 m = abs(n);
    precise real3 po = p - o;
    precise real3 qo = q - o;
    precise real3 ro = r - o;
    bool onX = m.x >= m.y && m.x >= m.z, onY = m.y >= m.z;
    real mu = onX ? n.x : onY ? n.y : n.z;
    real2 a = onX ? po.yz : onY ? po.zx : po.xy;
    real2 b = onX ? qo.yz : onY ? qo.zx : qo.xy;
    real2 c = onX ? ro.yz : onY ? ro.zx : ro.xy;
    precise real d0 = b.x * c.y - b.y * c.x;
    precise real d1 = c.x * a.y - c.y * a.x;
    precise real d2 = a.x * b.y - a.y * b.x;
    precise real inverse = real(1) / (d0 + d1 + d2);
    precise real3 l = real3(d0, d1, d2) * inverse;
    weight = l;
    if (!(nn > real(0))) return 7u;
    return (sameSign(mu, d0) ? 0u : 1u) | (sameSign(mu, d1) ? 0u : 2u) | (sameSign(mu, d2) ? 0u : 4u);
}

// facesBeyond returns the faces of tetrahedron pqrs that the origin lies beyond, bit 0 that opposite to p, and sets the
// weights of the origin, which count if it lies beyond none.
uint facesBeyond(real3 p, real3 q, real3 r, real3 s, out real4 weight) {
    precise real3 e0 = p - s;
    precise real3 e1 = q - s;
    precise real3 e2 = r - s;
    precise real3 n12 = cross(e1, e2);
    precise real3 n20 = cross(e2, e0);
    precise real3 n01 = cross(e0, e1);
    precise real3 n = cross(q - p, r - p);
    real mu = dotProduct(e0, n12);
    real c0 = -dotProduct(s, n12), c1 = -dotProduct(s, n20), c2 = -dotProduct(s, n01);
    // The face opposite to s has its own determinant: taking it as a difference of
    // the others would lose all digits of a thin tetrahedron.
    real c3 = dotProduct(p, n);
    precise real k = real(1) / (c0 + c1 + c2 + c3);
    precise real4 l = real4(c0, c1, c2, c3) * k;
    weight = l;
    return (sameSign(mu, c0) ? 0u : 1u) | (sameSign(mu, c1) ? 0u : 2u) | (sameSign(mu, c2) ? 0u : 4u) |
           (sameSign(mu, c3) ? 0u : 8u);
}

// signedVolumes sets the weights of the point nearest to the origin. A segment is an edge of face 3, a triangle is
// face 3, so that one text of faces and edges serves all simplices: threads of a warp that are at different ones
// execute it together.
void signedVolumes(inout Simplex s, bool forbidInside, out bool inside) {
    inside = false;
    uint faces = s.n == 1u ? 0u : 8u;
    s.weight = real4(1, 0, 0, 0);
    if (s.n == 4u) {
        real4 weight;
        faces = facesBeyond(s.w0, s.w1, s.w2, s.w3, weight);
        inside = faces == 0u && !forbidInside;
        s.weight = inside ? weight : real4(0, 0, 0, 1);
        if (faces == 0u && !inside) faces = 15u;
    }
    real best = real(-1);
    while (faces != 0u) {
        uint face = faces & -faces; // the lowest bit
        faces ^= face;
        real3 p = face == 1u ? s.w1 : s.w0, q = face <= 2u ? s.w2 : s.w1, r = face == 8u ? s.w2 : s.w3;
        uint edges = 4u;
        real3 weight = real3(1, 0, 0), projected;
        if (s.n > 2u) {
            edges = projectOnTriangle(p, q, r, projected);
            if (edges == 0u) weight = projected;
        }
        real bestOfFace = real(-1);
        while (edges != 0u) {
            uint edge = edges & -edges;
            edges ^= edge;
            real3 a = edge == 1u ? q : p, b = edge == 4u ? q : r;
            real2 l = nearestOnSegment(a, b);
            real d = squaredNorm(combine2(l.x, a, l.y, b));
            if (bestOfFace < real(0) || d < bestOfFace) {
                bestOfFace = d;
                weight = edge == 1u ? real3(0, l) : edge == 4u ? real3(l, 0) : real3(l.x, 0, l.y);
            }
        }
        real d = squaredNorm(combine3(weight.x, p, weight.y, q, weight.z, r));
        if (best < real(0) || d < best) {
            best = d;
            s.weight = face == 1u   ? real4(0, weight)
                       : face == 2u ? real4(weight.x, 0, weight.yz)
                       : face == 4u ? real4(weight.xy, 0, weight.z)
                                    : real4(weight, 0);
        }
    }
}

#endif
