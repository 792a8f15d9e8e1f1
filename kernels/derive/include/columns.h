// Derivatives of the answers of a system: columns and products. With u = P(v_b - v_a) and w_i = ω_i × n in the tangent
// plane, they are those of
//
//     dn = N·u + M_A·w_A + M_B·w_B
//     da = v_a + M_Aᵀ·u + Q_AA·w_A + Q_AB·w_B,   db = v_b - (M_Bᵀ·u + Q_ABᵀ·w_A + Q_BB·w_B)
//     M_i = N·H_i + Y_i·T_iᵀ,   Q_ij = H_i·N·H_j + H_i·Y_j·T_jᵀ + T_i·Y_iᵀ·H_j - T_i·Z_ij·T_jᵀ - [i = j]·H_i.

#ifndef CLR_DERIVE_COLUMNS_H
#define CLR_DERIVE_COLUMNS_H

#include "system.h"

//
// Of growth distances u = P(v_B(x) - v_A(x) - dα·(ā - b̄))/α with x the common point and dα = n·(v_B(x) - v_A(x))/h;
// the tangential part of da less v_a counts α times if A is a half-space, and likewise that of db.

typedef struct {
    flat_matrix n;
    flat_map a, b; // M_A, M_B
    flat_matrix aa, bb;
    flat_map ab;
} response;

ALWAYS flat_map product2(flat_matrix h, flat_matrix g) {
    return (flat_map){FMA(h.xy, g.xy, h.xx * g.xx), FMA(h.xy, g.yy, h.xx * g.xy), FMA(h.yy, g.xy, h.xy * g.xx),
                      FMA(h.yy, g.yy, h.xy * g.xy)};
}
ALWAYS void add_outer(flat_map *m, flat a, flat b) {
    m->xx = FMA(a.x, b.x, m->xx), m->xy = FMA(a.x, b.y, m->xy), m->yx = FMA(a.y, b.x, m->yx),
    m->yy = FMA(a.y, b.y, m->yy);
}

// own adds the terms of the features of one side to Q_AA or Q_BB, which is H·N·H - H.
ALWAYS flat_matrix own(const linear *s, flat_matrix h, flat_map nh, const flat t[2], int featured) {
    flat_map q = {FMA(h.xy, nh.yx, h.xx * nh.xx) - h.xx, FMA(h.xy, nh.yy, h.xx * nh.xy) - h.xy, SET1(0),
                  FMA(h.yy, nh.yy, h.xy * nh.xy) - h.yy};
    if (featured) {
        for (int i = 0; i < 2; i++) {
            flat hy = form2(h, s->y[i]);
            q.xx = FMA(2 * hy.x, t[i].x, q.xx);
            q.xy += FMA(hy.y, t[i].x, hy.x * t[i].y);
            q.yy = FMA(2 * hy.y, t[i].y, q.yy);
        }
        flat z0 = {FMA(s->z.xy, t[1].x, s->z.xx * t[0].x), FMA(s->z.xy, t[1].y, s->z.xx * t[0].y)};
        flat z1 = {FMA(s->z.yy, t[1].x, s->z.xy * t[0].x), FMA(s->z.yy, t[1].y, s->z.xy * t[0].y)};
        q.xx -= FMA(t[1].x, z1.x, t[0].x * z0.x);
        q.xy -= FMA(t[1].x, z1.y, t[0].x * z0.y);
        q.yy -= FMA(t[1].y, z1.y, t[0].y * z0.y);
    }
    return (flat_matrix){q.xx, q.xy, q.yy};
}

// respond forms the response; featured says whether there may be features with a direction.
ALWAYS void respond(response *r, const linear *s, int featured) {
    flat_matrix ha = s->a.h, hb = s->b.h;
    r->n = s->n_;
    r->a = product2(s->n_, ha);
    r->b = product2(s->n_, hb);
    flat_map na = r->a, nb = r->b;
    flat ta[2], tb[2];
    if (featured) {
        for (int i = 0; i < 2; i++) {
            ta[i] = where2(s->of_a[i], s->t[i]);
            tb[i] = where2(s->of_b[i], s->t[i]);
            add_outer(&r->a, s->y[i], ta[i]);
            add_outer(&r->b, s->y[i], tb[i]);
        }
    }
    r->aa = own(s, ha, na, ta, featured);
    r->bb = own(s, hb, nb, tb, featured);
    r->ab = (flat_map){FMA(ha.xy, nb.yx, ha.xx * nb.xx), FMA(ha.xy, nb.yy, ha.xx * nb.xy),
                       FMA(ha.yy, nb.yx, ha.xy * nb.xx), FMA(ha.yy, nb.yy, ha.xy * nb.xy)};
    if (featured) {
        for (int i = 0; i < 2; i++) {
            add_outer(&r->ab, form2(ha, s->y[i]), tb[i]);
            add_outer(&r->ab, ta[i], form2(hb, s->y[i]));
        }
        add_outer(&r->ab, (flat){-s->z.xy * ta[0].x, -s->z.xy * ta[0].y}, tb[1]);
    }
}

#define LARGEST_RESPONSE 1e6 // the constant of package derive of this name

ALWAYS VF square2(flat_matrix h) { return FMA(h.yy, h.yy, FMA(2 * h.xy, h.xy, h.xx * h.xx)); }
ALWAYS VF square4(flat_map m) { return FMA(m.yy, m.yy, FMA(m.yx, m.yx, FMA(m.xy, m.xy, m.xx * m.xx))); }

// is_large returns the lanes in which the Frobenius norm of a matrix of the response, or of a Hessian, exceeds the
// bound, or is NaN.
ALWAYS VM is_large(const response *r, const linear *s, const pair *p) {
    VF speed = SET1(1);
    if (p->growth) speed = (1 + SQRT(dot64(s->apart, s->apart)) / s->h) / s->value;
    VF plain = LARGEST_RESPONSE / speed, lengths = LARGEST_RESPONSE * p->size, over = plain / p->size;
    plain *= plain, lengths *= lengths, over *= over;
    return NOT(MAND(
        MAND(MAND(MAND(MAND(MAND(MAND(LE(square2(r->n), over), LE(square4(r->a), plain)), LE(square4(r->b), plain)),
                            LE(square2(r->aa), lengths)),
                       LE(square2(r->bb), lengths)),
                  LE(square4(r->ab), lengths)),
             LE(square2(s->a.h), lengths)),
        LE(square2(s->b.h), lengths)));
}

// motion is how the relative velocity of two points enters: dδ or dα is its product with value, u that with u0 and u1.
typedef struct {
    V3 a, b; // the points, from the positions of their bodies
    V3 value, u0, u1;
    V3 witness_a, witness_b; // from the positions of their bodies
    int growth;
    VF scale_a, scale_b; // of the tangential parts of da and db
} motion;

ALWAYS void motion_of(motion *x, const pair *p, const linear *s) {
    x->witness_a = x->a = s->a.point;
    x->witness_b = x->b = sub64(s->b.point, p->b.position);
    x->value = s->n, x->u0 = s->e0, x->u1 = s->e1;
    x->growth = p->growth;
    if (!p->growth) return;
    x->a = s->common;
    x->b = sub64(s->common, p->b.position);
    VF over = 1 / s->value;
    x->value = scale64(1 / s->h, s->n);
    x->u0 = scale64(over, axpy64(-dot64(s->e0, s->apart), x->value, s->e0));
    x->u1 = scale64(over, axpy64(-dot64(s->e1, s->apart), x->value, s->e1));
    x->scale_a = fixed_scale(s, p, p->class_a), x->scale_b = fixed_scale(s, p, p->class_b);
}

ALWAYS flat_map full2(flat_matrix h) { return (flat_map){h.xx, h.xy, h.xy, h.yy}; }
ALWAYS flat_map turned2(flat_map m) { return (flat_map){m.xx, m.yx, m.xy, m.yy}; }
ALWAYS flat_map minus2(flat_map m) { return (flat_map){-m.xx, -m.xy, -m.yx, -m.yy}; }
ALWAYS flat_map scale2(VF k, flat_map m) { return (flat_map){k * m.xx, k * m.xy, k * m.yx, k * m.yy}; }
ALWAYS V3 combine(VF p, V3 a, VF q, V3 b) { return axpy64(q, b, scale64(p, a)); }

// jacobian stores a column of three rows of twelve: of u by m, of w_A and w_B by p and q, and of the body that carries
// the witness, 1 for A, 2 for B, 0 for none.
ALWAYS void jacobian(void *to, int single, const int64_t row[W], const linear *s, const motion *x, flat_map m,
                     flat_map p, flat_map q, int carried) {
    V3 a0 = cross64(x->a, x->u0), a1 = cross64(x->a, x->u1), b0 = cross64(x->b, x->u0), b1 = cross64(x->b, x->u1);
    V3 speed[2] = {combine(m.xx, x->u0, m.xy, x->u1), combine(m.yx, x->u0, m.yy, x->u1)};
    V3 spin_a[2] = {sub64(combine(p.xx, s->e1, -p.xy, s->e0), combine(m.xx, a0, m.xy, a1)),
                    sub64(combine(p.yx, s->e1, -p.yy, s->e0), combine(m.yx, a0, m.yy, a1))};
    V3 spin_b[2] = {add64(combine(q.xx, s->e1, -q.xy, s->e0), combine(m.xx, b0, m.xy, b1)),
                    add64(combine(q.yx, s->e1, -q.yy, s->e0), combine(m.yx, b0, m.yy, b1))};
    const VF k0[3] = {s->e0.x, s->e0.y, s->e0.z}, k1[3] = {s->e1.x, s->e1.y, s->e1.z};
    V3 arm = carried == 1 ? x->witness_a : x->witness_b;
    const V3 turn[3] = {{SET1(0), arm.z, -arm.y}, {-arm.z, SET1(0), arm.x}, {arm.y, -arm.x, SET1(0)}};
    for (int c = 0; c < 3; c++) {
        V3 v = combine(k0[c], speed[0], k1[c], speed[1]), minus = neg64(v);
        V3 wa = combine(k0[c], spin_a[0], k1[c], spin_a[1]), wb = combine(k0[c], spin_b[0], k1[c], spin_b[1]);
        V3 unit = {SET1(c == 0), SET1(c == 1), SET1(c == 2)};
        if (carried == 1) minus = add64(minus, unit), wa = add64(wa, turn[c]);
        if (carried == 2) v = add64(v, unit), wb = add64(wb, turn[c]);
        int64_t at[3][W];
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < W; i++) at[k][i] = 36 * row[i] + 12 * c + 4 * k;
        rows4(to, single, at[0], minus.x, minus.y, minus.z, wa.x);
        rows4(to, single, at[1], wa.y, wa.z, v.x, v.y);
        rows4(to, single, at[2], v.z, wb.x, wb.y, wb.z);
    }
}

// vector_jacobian stores the gradients with respect to the twists: cotangents times the Jacobians.
ALWAYS void vector_jacobian(const derive_call *c, const int64_t row[W], const linear *s, const response *r,
                            const motion *x) {
    const double *from = c->cotangents;
    V3 wa = gather3(from, row, 10, 4), wb = gather3(from, row, 10, 7);
    flat n = within(s->e0, s->e1, gather3(from, row, 10, 1)), a = within(s->e0, s->e1, wa);
    flat b = within(s->e0, s->e1, (V3){-wb.x, -wb.y, -wb.z});
    if (x->growth) a = (flat){x->scale_a * a.x, x->scale_a * a.y}, b = (flat){x->scale_b * b.x, x->scale_b * b.y};
    flat u = add2(form2(r->n, n), add2(times2(r->a, a), times2(r->b, b)));
    flat ga = add2(transposed2(r->a, n), add2(form2(r->aa, a), times2(r->ab, b)));
    flat gb = add2(transposed2(r->b, n), add2(transposed2(r->ab, a), form2(r->bb, b)));
    V3 force = axpy64(gather(from, row, 10, 0), x->value, combine(u.x, x->u0, u.y, x->u1));
    V3 on_a = sub64(wa, force), on_b = add64(wb, force);
    V3 torque_a = cross64(x->a, on_a), torque_b = cross64(x->b, on_b);
    if (x->growth) {
        torque_a = add64(torque_a, cross64(sub64(x->witness_a, x->a), wa));
        torque_b = add64(torque_b, cross64(sub64(x->witness_b, x->b), wb));
    }
    int64_t to[W];
    for (int i = 0; i < W; i++) to[i] = row[i] - c->gradient_first;
    // n × e0 = e1 and n × e1 = -e0.
    twelve(c->gradients, 0, to, on_a, add64(torque_a, combine(ga.x, s->e1, -ga.y, s->e0)), on_b,
           add64(torque_b, combine(gb.x, s->e1, -gb.y, s->e0)));
}

// jacobian_vector stores the tangents of the answers along the twists: rows of ten numbers.
ALWAYS void jacobian_vector(const derive_call *c, const int64_t row[W], const linear *s, const response *r,
                            const motion *x) {
    const double *from = c->twists;
    V3 omega_a = gather3(from, row, 12, 3), omega_b = gather3(from, row, 12, 9);
    V3 va = add64(gather3(from, row, 12, 0), cross64(omega_a, x->witness_a));
    V3 vb = add64(gather3(from, row, 12, 6), cross64(omega_b, x->witness_b));
    V3 relative = sub64(vb, va);
    if (x->growth)
        relative = add64(
            relative, sub64(cross64(omega_b, sub64(x->b, x->witness_b)), cross64(omega_a, sub64(x->a, x->witness_a))));
    flat u = within(x->u0, x->u1, relative);
    flat wa = {dot64(omega_a, s->e1), -dot64(omega_a, s->e0)}, wb = {dot64(omega_b, s->e1), -dot64(omega_b, s->e0)};
    flat n = add2(form2(r->n, u), add2(times2(r->a, wa), times2(r->b, wb)));
    flat a = add2(transposed2(r->a, u), add2(form2(r->aa, wa), times2(r->ab, wb)));
    flat b = add2(transposed2(r->b, u), add2(transposed2(r->ab, wa), form2(r->bb, wb)));
    V3 dn = combine(n.x, s->e0, n.y, s->e1);
    if (x->growth) a = (flat){x->scale_a * a.x, x->scale_a * a.y}, b = (flat){x->scale_b * b.x, x->scale_b * b.y};
    va = add64(va, combine(a.x, s->e0, a.y, s->e1));
    vb = sub64(vb, combine(b.x, s->e0, b.y, s->e1));
    const VF out[10] = {dot64(x->value, relative), dn.x, dn.y, dn.z, va.x, va.y, va.z, vb.x, vb.y, vb.z};
    for (int i = 0; i < W; i++)
        for (int k = 0; k < 10; k++) c->tangents[10 * row[i] + k] = out[k][i];
}

// emit stores what the call asks for, of all lanes: the caller overwrites rows that are left.
APART void emit(const pair *p, const linear *s, const response *q, const int64_t row[W], int smoothness) {
    const derive_call *c = p->call;
    const response r = *q;
    motion x;
    motion_of(&x, p, s);
    int single = c->single_out;
    if (c->d_value) {
        V3 minus = neg64(x.value);
        twelve(c->d_value, single, row, minus, cross64(x.a, minus), x.value, cross64(x.b, x.value));
    }
    if (c->d_normal) jacobian(c->d_normal, single, row, s, &x, full2(r.n), r.a, r.b, 0);
    flat_map ua = turned2(r.a), aa = full2(r.aa), ab = r.ab, ub = minus2(turned2(r.b)), ba = minus2(turned2(r.ab)),
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
