// Derivatives of the answers of a system: columns and products. With u = P(v_b - v_a) and w_i = ω_i × n in the tangent
// plane, they are those of
//
//     dn = N·u + M_A·w_A + M_B·w_B
//     da = v_a + M_Aᵀ·u + Q_AA·w_A + Q_AB·w_B,   db = v_b - (M_Bᵀ·u + Q_ABᵀ·w_A + Q_BB·w_B)
//     M_i = N·H_i + Y_i·T_iᵀ,   Q_ij = H_i·N·H_j + H_i·Y_j·T_jᵀ + T_i·Y_iᵀ·H_j - T_i·Z_ij·T_jᵀ - [i = j]·H_i.

//
// Of growth distances u = P(v_B(x) - v_A(x) - dα·(ā - b̄))/α with x the common point and dα = n·(v_B(x) - v_A(x))/h;
// the tangential part of da less v_a counts α times if A is a half-space, and likewise that of db.

#ifndef LN_COLUMNS_H
#define LN_COLUMNS_H

#include "system.h"

typedef struct {
    s2 n;
    m2 a, b; // M_A, M_B
    s2 aa, bb;
    m2 ab;
} response;

INLINE m2 product2(s2 h, s2 g) {
    return (m2){h.xx * g.xx + h.xy * g.xy, h.xx * g.xy + h.xy * g.yy, h.xy * g.xx + h.yy * g.xy,
                h.xy * g.xy + h.yy * g.yy};
}
INLINE void add_outer(m2 *m, v2 a, v2 b) {
    m->xx += a.x * b.x, m->xy += a.x * b.y, m->yx += a.y * b.x, m->yy += a.y * b.y;
}

// own adds the terms of the features of one side to Q_AA or Q_BB, which is H·N·H - H.
INLINE s2 own(const linear *s, s2 h, m2 nh, const v2 t[2], int flat) {
    m2 q = {h.xx * nh.xx + h.xy * nh.yx - h.xx, h.xx * nh.xy + h.xy * nh.yy - h.xy, all(0),
            h.xy * nh.xy + h.yy * nh.yy - h.yy};
    if (flat) {
        for (int i = 0; i < 2; i++) {
            v2 hy = form2(h, s->y[i]);
            q.xx += 2 * hy.x * t[i].x;
            q.xy += hy.x * t[i].y + hy.y * t[i].x;
            q.yy += 2 * hy.y * t[i].y;
        }
        v2 z0 = {s->z.xx * t[0].x + s->z.xy * t[1].x, s->z.xx * t[0].y + s->z.xy * t[1].y};
        v2 z1 = {s->z.xy * t[0].x + s->z.yy * t[1].x, s->z.xy * t[0].y + s->z.yy * t[1].y};
        q.xx -= t[0].x * z0.x + t[1].x * z1.x;
        q.xy -= t[0].x * z0.y + t[1].x * z1.y;
        q.yy -= t[0].y * z0.y + t[1].y * z1.y;
    }
    return (s2){q.xx, q.xy, q.yy};
}

// respond forms the response; flat says whether there may be features with a direction.
INLINE void respond(response *r, const linear *s, int flat) {
    s2 ha = s->a.h, hb = s->b.h;
    r->n = s->n_;
    r->a = product2(s->n_, ha);
    r->b = product2(s->n_, hb);
    m2 na = r->a, nb = r->b;
    v2 ta[2], tb[2];
    if (flat) {
        for (int i = 0; i < 2; i++) {
            ta[i] = where2(s->of_a[i], s->t[i]);
            tb[i] = where2(s->of_b[i], s->t[i]);
            add_outer(&r->a, s->y[i], ta[i]);
            add_outer(&r->b, s->y[i], tb[i]);
        }
    }
    r->aa = own(s, ha, na, ta, flat);
    r->bb = own(s, hb, nb, tb, flat);
    r->ab = (m2){ha.xx * nb.xx + ha.xy * nb.yx, ha.xx * nb.xy + ha.xy * nb.yy, ha.xy * nb.xx + ha.yy * nb.yx,
                 ha.xy * nb.xy + ha.yy * nb.yy};
    if (flat) {
        for (int i = 0; i < 2; i++) {
            add_outer(&r->ab, form2(ha, s->y[i]), tb[i]);
            add_outer(&r->ab, ta[i], form2(hb, s->y[i]));
        }
        add_outer(&r->ab, (v2){-s->z.xy * ta[0].x, -s->z.xy * ta[0].y}, tb[1]);
    }
}

#define LARGEST_RESPONSE 1e6 // the constant of package derive of this name

INLINE vd square2(s2 h) { return h.xx * h.xx + 2 * h.xy * h.xy + h.yy * h.yy; }
INLINE vd square4(m2 m) { return m.xx * m.xx + m.xy * m.xy + m.yx * m.yx + m.yy * m.yy; }

// is_large returns the lanes in which the Frobenius norm of a matrix of the response, or of a Hessian, exceeds the
// bound, or is NaN.
INLINE vm is_large(const response *r, const linear *s, const pair *p) {
    vd speed = p->growth ? (1 + root(dot3(s->apart, s->apart)) / s->h) / s->value : all(1);
    vd plain = LARGEST_RESPONSE / speed, lengths = LARGEST_RESPONSE * p->size, over = plain / p->size;
    plain *= plain, lengths *= lengths, over *= over;
    return ~((square2(r->n) <= over) & (square4(r->a) <= plain) & (square4(r->b) <= plain) &
             (square2(r->aa) <= lengths) & (square2(r->bb) <= lengths) & (square4(r->ab) <= lengths) &
             (square2(s->a.h) <= lengths) & (square2(s->b.h) <= lengths));
}

// motion is how the relative velocity of two points enters: dδ or dα is its product with value, u that with u0 and u1.
typedef struct {
    v3 a, b; // the points, from the positions of their bodies
    v3 value, u0, u1;
    v3 witness_a, witness_b; // from the positions of their bodies
    int growth;
    vd scale_a, scale_b; // of the tangential parts of da and db
} motion;

INLINE void motion_of(motion *x, const pair *p, const linear *s) {
    x->witness_a = x->a = s->a.point;
    x->witness_b = x->b = sub3(s->b.point, p->b.position);
    x->value = s->n, x->u0 = s->e0, x->u1 = s->e1;
    x->growth = p->growth;
    if (!p->growth) return;
    x->a = s->common;
    x->b = sub3(s->common, p->b.position);
    vd over = 1 / s->value;
    x->value = scale3(1 / s->h, s->n);
    x->u0 = scale3(over, axpy3(-dot3(s->e0, s->apart), x->value, s->e0));
    x->u1 = scale3(over, axpy3(-dot3(s->e1, s->apart), x->value, s->e1));
    x->scale_a = fixed_scale(s, p, p->class_a), x->scale_b = fixed_scale(s, p, p->class_b);
}

INLINE m2 full2(s2 h) { return (m2){h.xx, h.xy, h.xy, h.yy}; }
INLINE m2 turned2(m2 m) { return (m2){m.xx, m.yx, m.xy, m.yy}; }
INLINE m2 minus2(m2 m) { return (m2){-m.xx, -m.xy, -m.yx, -m.yy}; }
INLINE m2 scale2(vd k, m2 m) { return (m2){k * m.xx, k * m.xy, k * m.yx, k * m.yy}; }
INLINE v3 combine(vd p, v3 a, vd q, v3 b) { return axpy3(q, b, scale3(p, a)); }

// jacobian stores a column of three rows of twelve: of u by m, of w_A and w_B by p and q, and of the body that carries
// the witness, 1 for A, 2 for B, 0 for none.
INLINE void jacobian(void *to, int single, const int64_t row[W], const linear *s, const motion *x, m2 m, m2 p, m2 q,
                     int carried) {
    v3 a0 = cross3(x->a, x->u0), a1 = cross3(x->a, x->u1), b0 = cross3(x->b, x->u0), b1 = cross3(x->b, x->u1);
    v3 speed[2] = {combine(m.xx, x->u0, m.xy, x->u1), combine(m.yx, x->u0, m.yy, x->u1)};
    v3 spin_a[2] = {sub3(combine(p.xx, s->e1, -p.xy, s->e0), combine(m.xx, a0, m.xy, a1)),
                    sub3(combine(p.yx, s->e1, -p.yy, s->e0), combine(m.yx, a0, m.yy, a1))};
    v3 spin_b[2] = {add3(combine(q.xx, s->e1, -q.xy, s->e0), combine(m.xx, b0, m.xy, b1)),
                    add3(combine(q.yx, s->e1, -q.yy, s->e0), combine(m.yx, b0, m.yy, b1))};
    const vd k0[3] = {s->e0.x, s->e0.y, s->e0.z}, k1[3] = {s->e1.x, s->e1.y, s->e1.z};
    v3 arm = carried == 1 ? x->witness_a : x->witness_b;
    const v3 turn[3] = {{all(0), arm.z, -arm.y}, {-arm.z, all(0), arm.x}, {arm.y, -arm.x, all(0)}};
    for (int c = 0; c < 3; c++) {
        v3 v = combine(k0[c], speed[0], k1[c], speed[1]), minus = neg3(v);
        v3 wa = combine(k0[c], spin_a[0], k1[c], spin_a[1]), wb = combine(k0[c], spin_b[0], k1[c], spin_b[1]);
        v3 unit = {all(c == 0), all(c == 1), all(c == 2)};
        if (carried == 1) minus = add3(minus, unit), wa = add3(wa, turn[c]);
        if (carried == 2) v = add3(v, unit), wb = add3(wb, turn[c]);
        int64_t at[3][W];
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < W; i++) at[k][i] = 36 * row[i] + 12 * c + 4 * k;
        rows4(to, single, at[0], minus.x, minus.y, minus.z, wa.x);
        rows4(to, single, at[1], wa.y, wa.z, v.x, v.y);
        rows4(to, single, at[2], v.z, wb.x, wb.y, wb.z);
    }
}

// vector_jacobian stores the gradients with respect to the twists: cotangents times the Jacobians.
INLINE void vector_jacobian(const ln_call *c, const int64_t row[W], const linear *s, const response *r,
                            const motion *x) {
    const double *from = c->cotangents;
    v3 wa = gather3(from, row, 10, 4), wb = gather3(from, row, 10, 7);
    v2 n = within(s->e0, s->e1, gather3(from, row, 10, 1)), a = within(s->e0, s->e1, wa);
    v2 b = within(s->e0, s->e1, (v3){-wb.x, -wb.y, -wb.z});
    if (x->growth) a = (v2){x->scale_a * a.x, x->scale_a * a.y}, b = (v2){x->scale_b * b.x, x->scale_b * b.y};
    v2 u = add2(form2(r->n, n), add2(times2(r->a, a), times2(r->b, b)));
    v2 ga = add2(transposed2(r->a, n), add2(form2(r->aa, a), times2(r->ab, b)));
    v2 gb = add2(transposed2(r->b, n), add2(transposed2(r->ab, a), form2(r->bb, b)));
    v3 force = axpy3(gather(from, row, 10, 0), x->value, combine(u.x, x->u0, u.y, x->u1));
    v3 on_a = sub3(wa, force), on_b = add3(wb, force);
    v3 torque_a = cross3(x->a, on_a), torque_b = cross3(x->b, on_b);
    if (x->growth) {
        torque_a = add3(torque_a, cross3(sub3(x->witness_a, x->a), wa));
        torque_b = add3(torque_b, cross3(sub3(x->witness_b, x->b), wb));
    }
    int64_t to[W];
    for (int i = 0; i < W; i++) to[i] = row[i] - c->gradient_first;
    // n × e0 = e1 and n × e1 = -e0.
    twelve(c->gradients, 0, to, on_a, add3(torque_a, combine(ga.x, s->e1, -ga.y, s->e0)), on_b,
           add3(torque_b, combine(gb.x, s->e1, -gb.y, s->e0)));
}

// jacobian_vector stores the tangents of the answers along the twists: rows of ten numbers.
INLINE void jacobian_vector(const ln_call *c, const int64_t row[W], const linear *s, const response *r,
                            const motion *x) {
    const double *from = c->twists;
    v3 omega_a = gather3(from, row, 12, 3), omega_b = gather3(from, row, 12, 9);
    v3 va = add3(gather3(from, row, 12, 0), cross3(omega_a, x->witness_a));
    v3 vb = add3(gather3(from, row, 12, 6), cross3(omega_b, x->witness_b));
    v3 relative = sub3(vb, va);
    if (x->growth)
        relative =
            add3(relative, sub3(cross3(omega_b, sub3(x->b, x->witness_b)), cross3(omega_a, sub3(x->a, x->witness_a))));
    v2 u = within(x->u0, x->u1, relative);
    v2 wa = {dot3(omega_a, s->e1), -dot3(omega_a, s->e0)}, wb = {dot3(omega_b, s->e1), -dot3(omega_b, s->e0)};
    v2 n = add2(form2(r->n, u), add2(times2(r->a, wa), times2(r->b, wb)));
    v2 a = add2(transposed2(r->a, u), add2(form2(r->aa, wa), times2(r->ab, wb)));
    v2 b = add2(transposed2(r->b, u), add2(transposed2(r->ab, wa), form2(r->bb, wb)));
    v3 dn = combine(n.x, s->e0, n.y, s->e1);
    if (x->growth) a = (v2){x->scale_a * a.x, x->scale_a * a.y}, b = (v2){x->scale_b * b.x, x->scale_b * b.y};
    va = add3(va, combine(a.x, s->e0, a.y, s->e1));
    vb = sub3(vb, combine(b.x, s->e0, b.y, s->e1));
    const vd out[10] = {dot3(x->value, relative), dn.x, dn.y, dn.z, va.x, va.y, va.z, vb.x, vb.y, vb.z};
    for (int i = 0; i < W; i++)
        for (int k = 0; k < 10; k++) c->tangents[10 * row[i] + k] = out[k][i];
}

// emit stores what the call asks for, of all lanes: the caller overwrites rows that are left.
APART void emit(const pair *p, const linear *s, const response *q, const int64_t row[W], int smoothness) {
    const ln_call *c = p->call;
    const response r = *q;
    motion x;
    motion_of(&x, p, s);
    int single = c->single_out;
    if (c->d_value) {
        v3 minus = neg3(x.value);
        twelve(c->d_value, single, row, minus, cross3(x.a, minus), x.value, cross3(x.b, x.value));
    }
    if (c->d_normal) jacobian(c->d_normal, single, row, s, &x, full2(r.n), r.a, r.b, 0);
    m2 ua = turned2(r.a), aa = full2(r.aa), ab = r.ab, ub = minus2(turned2(r.b)), ba = minus2(turned2(r.ab)),
       bb = minus2(full2(r.bb));
    if (x.growth) {
        ua = scale2(x.scale_a, ua), aa = scale2(x.scale_a, aa), ab = scale2(x.scale_a, ab);
        ub = scale2(x.scale_b, ub), ba = scale2(x.scale_b, ba), bb = scale2(x.scale_b, bb);
    }
    if (c->d_witness_a) jacobian(c->d_witness_a, single, row, s, &x, ua, aa, ab, 1);
    if (c->d_witness_b) jacobian(c->d_witness_b, single, row, s, &x, ub, ba, bb, 2);
    for (int i = 0; i < W; i++) {
        if (c->smoothness) c->smoothness[row[i]] = (uint8_t)smoothness;
        if (!c->curvature) continue;
        const double h[6] = {s->a.h.xx[i], s->a.h.xy[i], s->a.h.yy[i], s->b.h.xx[i], s->b.h.xy[i], s->b.h.yy[i]};
        for (int k = 0; k < 6; k++) {
            if (single) ((float *)c->curvature)[6 * row[i] + k] = (float)h[k];
            else ((double *)c->curvature)[6 * row[i] + k] = h[k];
        }
    }
    if (c->gradients) vector_jacobian(c, row, s, &r, &x);
    if (c->tangents) jacobian_vector(c, row, s, &r, &x);
}

#endif
