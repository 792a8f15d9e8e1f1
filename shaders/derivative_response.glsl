// The derivatives of the answer of a system. With u = P(v_b - v_a) and w_i = ω_i × n in the tangent plane they are
//
//     dn = N·u + M_A·w_A + M_B·w_B
//     da = v_a + M_Aᵀ·u + Q_AA·w_A + Q_AB·w_B,   db = v_b - (M_Bᵀ·u + Q_ABᵀ·w_A + Q_BB·w_B)
//     M_i = N·H_i + Y_i·T_iᵀ
//     Q_ij = H_i·N·H_j + H_i·Y_j·T_jᵀ + T_i·Y_iᵀ·H_j - T_i·Z_ij·T_jᵀ - [i = j]·H_i.

#ifndef CLEARANCE_DERIVATIVE_RESPONSE_GLSL
#define CLEARANCE_DERIVATIVE_RESPONSE_GLSL

#include "derivative_system.glsl"

// Response is the matrices of the formulas. A matrix that is not symmetric is given by its rows.
struct Response {
    dvec3 n;
    dvec4 mA, mB, qAB; // xx, xy, yx, yy
    dvec3 qAA, qBB;
    dvec3 armA, armB; // witnesses from the positions of their bodies
};

dvec4 full2(dvec3 h) { return h.xyyz; }
dvec4 transposed2(dvec4 m) { return m.xzyw; }

// outer2 returns a·bᵀ.
dvec4 outer2(dvec2 a, dvec2 b) {
    precise dvec4 m = dvec4(a.x * b.x, a.x * b.y, a.y * b.x, a.y * b.y);
    return m;
}

// product2 returns m·g of a matrix and a symmetric form.
dvec4 product2(dvec4 m, dvec3 g) { return dvec4(form2(g, m.xy), form2(g, m.zw)); }

dvec3 symmetric2(dvec4 m) { return m.xyw; }

// respond forms the response.
Response respond(System s) {
    Response r;
    dvec3 hA = s.a.hessian, hB = s.b.hessian;
    dvec2 a0 = s.ofA0 ? s.t0 : dvec2(0), a1 = s.ofA1 ? s.t1 : dvec2(0); // directions of A, and of B
    dvec2 b0 = s.ofA0 ? dvec2(0) : s.t0, b1 = s.ofA1 ? dvec2(0) : s.t1;
    dvec4 nA = product2(full2(s.n_), hA), nB = product2(full2(s.n_), hB); // N·H
    r.n = s.n_;
    precise dvec4 mA = nA + outer2(s.y0, a0) + outer2(s.y1, a1), mB = nB + outer2(s.y0, b0) + outer2(s.y1, b1);
    r.mA = mA;
    r.mB = mB;
    dvec2 hA0 = form2(hA, s.y0), hA1 = form2(hA, s.y1), hB0 = form2(hB, s.y0), hB1 = form2(hB, s.y1);
    precise dvec2 zA0 = s.z.x * a0 + s.z.y * a1, zA1 = s.z.y * a0 + s.z.z * a1; // rows of Z·T_Aᵀ
    precise dvec2 zB0 = s.z.x * b0 + s.z.y * b1, zB1 = s.z.y * b0 + s.z.z * b1;
    dvec4 hhA = transposed2(product2(transposed2(nA), hA)); // H_A·N·H_A
    dvec4 hhB = transposed2(product2(transposed2(nB), hB));
    dvec4 hhAB = transposed2(product2(transposed2(nB), hA)); // H_A·N·H_B
    precise dvec4 qAA = hhA - full2(hA) + outer2(hA0, a0) + outer2(hA1, a1) + outer2(a0, hA0) + outer2(a1, hA1) -
                        outer2(a0, zA0) - outer2(a1, zA1);
    precise dvec4 qBB = hhB - full2(hB) + outer2(hB0, b0) + outer2(hB1, b1) + outer2(b0, hB0) + outer2(b1, hB1) -
                        outer2(b0, zB0) - outer2(b1, zB1);
    precise dvec4 qAB = hhAB + outer2(hA0, b0) + outer2(hA1, b1) + outer2(a0, hB0) + outer2(a1, hB1) - outer2(a0, zB0) -
                        outer2(a1, zB1);
    r.qAA = symmetric2(qAA);
    r.qBB = symmetric2(qBB);
    r.qAB = qAB;
    r.armA = s.a.point;
    precise dvec3 arm = s.b.point - positionFromA(1u);
    r.armB = arm;
    return r;
}

double square3(dvec3 h) { return h.x * h.x + 2.0lf * h.y * h.y + h.z * h.z; }
double square4(dvec4 m) { return m.x * m.x + m.y * m.y + m.z * m.z + m.w * m.w; }

// isLarge reports whether the Frobenius norm of a matrix of the response, or of a Hessian, exceeds the bound of package
// derive.
bool isLarge(Response r, System s, double size) {
    const double LARGEST_RESPONSE = 1e6lf;
    double plain = LARGEST_RESPONSE * LARGEST_RESPONSE, lengths = plain * size * size, over = plain / (size * size);
    return !(square3(r.n) <= over && square4(r.mA) <= plain && square4(r.mB) <= plain && square3(r.qAA) <= lengths &&
             square3(r.qBB) <= lengths && square4(r.qAB) <= lengths && square3(s.a.hessian) <= lengths &&
             square3(s.b.hessian) <= lengths);
}

#endif
