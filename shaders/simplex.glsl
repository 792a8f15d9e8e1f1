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

// nearestOnTriangle returns the weights of the point of triangle pqr nearest to the origin. The origin is projected on
// the plane of the triangle, and signed areas are compared in the coordinate plane in which the triangle's is largest.
real3 nearestOnTriangle(real3 p, real3 q, real3 r) {
    precise real3 e = q - p;
    precise real3 f = r - p;
    precise real3 n = cross(e, f);
    real nn = squaredNorm(n);
    real mu = real(0), c0 = real(0), c1 = real(0), c2 = real(0);
    if (nn > real(0)) { // else all signs differ and the edges are searched
        precise real k = dotProduct(p, n) / nn;
        precise real3 o = k * n;
        real3 m = abs(n);
        precise real3 po = p - o;
        precise real3 qo = q - o;
        precise real3 ro = r - o;
        real2 a, b, c;
        // clang-format off
        if (m.x >= m.y && m.x >= m.z) { mu = n.x; a = po.yz; b = qo.yz; c = ro.yz; }
        else if (m.y >= m.z) { mu = n.y; a = po.zx; b = qo.zx; c = ro.zx; }
        else { mu = n.z; a = po.xy; b = qo.xy; c = ro.xy; }
        // clang-format on
        precise real d0 = b.x * c.y - b.y * c.x;
        precise real d1 = c.x * a.y - c.y * a.x;
        precise real d2 = a.x * b.y - a.y * b.x;
        c0 = d0;
        c1 = d1;
        c2 = d2;
    }
    bool in0 = sameSign(mu, c0), in1 = sameSign(mu, c1), in2 = sameSign(mu, c2);
    if (in0 && in1 && in2) {
        precise real k = real(1) / (c0 + c1 + c2);
        precise real3 l = real3(c0, c1, c2) * k;
        return l;
    }
    real best = real(-1);
    real3 weight = real3(1, 0, 0);
    if (!in0) {
        real2 l = nearestOnSegment(q, r);
        best = squaredNorm(combine2(l.x, q, l.y, r));
        weight = real3(0, l);
    }
    if (!in1) {
        real2 l = nearestOnSegment(p, r);
        real d = squaredNorm(combine2(l.x, p, l.y, r));
        if (best < real(0) || d < best) {
            best = d;
            weight = real3(l.x, 0, l.y);
        }
    }
    if (!in2) {
        real2 l = nearestOnSegment(p, q);
        real d = squaredNorm(combine2(l.x, p, l.y, q));
        if (best < real(0) || d < best) weight = real3(l, 0);
    }
    return weight;
}

// nearestOnTetrahedron returns the weights of the point of tetrahedron pqrs nearest to the origin, and whether it
// contains the origin. The caller forbids that answer where a separating plane is known.
real4 nearestOnTetrahedron(real3 p, real3 q, real3 r, real3 s, bool forbidInside, out bool inside) {
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
    bool in0 = sameSign(mu, c0), in1 = sameSign(mu, c1), in2 = sameSign(mu, c2), in3 = sameSign(mu, c3);
    inside = false;
    if (in0 && in1 && in2 && in3) {
        if (!forbidInside) {
            inside = true;
            precise real k = real(1) / (c0 + c1 + c2 + c3);
            precise real4 l = real4(c0, c1, c2, c3) * k;
            return l;
        }
        in0 = in1 = in2 = in3 = false;
    }
    real best = real(-1);
    real4 weight = real4(0, 0, 0, 1);
    if (!in0) {
        real3 l = nearestOnTriangle(q, r, s);
        best = squaredNorm(combine3(l.x, q, l.y, r, l.z, s));
        weight = real4(0, l);
    }
    if (!in1) {
        real3 l = nearestOnTriangle(p, r, s);
        real d = squaredNorm(combine3(l.x, p, l.y, r, l.z, s));
        if (best < real(0) || d < best) {
            best = d;
            weight = real4(l.x, 0, l.yz);
        }
    }
    if (!in2) {
        real3 l = nearestOnTriangle(p, q, s);
        real d = squaredNorm(combine3(l.x, p, l.y, q, l.z, s));
        if (best < real(0) || d < best) {
            best = d;
            weight = real4(l.xy, 0, l.z);
        }
    }
    if (!in3) {
        real3 l = nearestOnTriangle(p, q, r);
        real d = squaredNorm(combine3(l.x, p, l.y, q, l.z, r));
        if (best < real(0) || d < best) weight = real4(l, 0);
    }
    return weight;
}

// signedVolumes sets the weights of the point nearest to the origin.
void signedVolumes(inout Simplex s, bool forbidInside, out bool inside) {
    inside = false;
    if (s.n == 1u) s.weight = real4(1, 0, 0, 0);
    else if (s.n == 2u) s.weight = real4(nearestOnSegment(s.w0, s.w1), 0, 0);
    else if (s.n == 3u) s.weight = real4(nearestOnTriangle(s.w0, s.w1, s.w2), 0);
    else s.weight = nearestOnTetrahedron(s.w0, s.w1, s.w2, s.w3, forbidInside, inside);
}

#endif
