// The linear system of a pair at a normal, and its polished answer. The reference is system.go and exact.go of package
// derive. With T the bases of the flat features of A and, with opposite sign, of B, in the tangent plane,
//
//     K·dn + T·y = r,  Tᵀ·dn = s,  K = δP + H_A + H_B,
//
// and its inverse is [[N, Y], [Yᵀ, -Z]] with Z = YᵀKY. The features have at most two directions in all, so that N and Y
// have closed forms: N = K⁻¹ without a direction; with one, t, and z orthogonal to it, N = zzᵀ/(zᵀKz) and
// Y = t/tᵀt - z·(zᵀKt)/(tᵀt · zᵀKz); with two, N = 0 and Y = T⁻ᵀ.
//
// A growth distance α satisfies the same system with δ = 0 in K.

#ifndef CLR_DERIVE_SYSTEM_H
#define CLR_DERIVE_SYSTEM_H

#include "cores.h"
#include "powers.h"

typedef struct {
    V3 point; // of the whole shape, world axes, from the position of A
    flat_matrix h;
    V3 t[2];
    VM edge, face;
    VF angle, inside;
    VM ok;
} feature;

typedef struct {
    V3 n, e0, e1;
    feature a, b;
    V3 direction[2]; // of the features: those of A, then those of B
    flat t[2];       // their tangential parts, of B with opposite sign; 0 for those that are missing
    VM of_a[2], of_b[2];
    VF value;
    VF h;             // of growth distances: n·(ā - b̄), ā and b̄ the witnesses from the centers
    V3 apart, common; // ā - b̄, the common point
    V3 closing;       // common point as B has it, less that as A has it
    flat_matrix k;
    flat_matrix n_; // N
    flat y[2];
    flat_matrix z;
    VM regular;
} linear;

// pair is what the lanes are about.
typedef struct {
    const derive_call *call;
    side a, b;
    int class_a, class_b;
    int growth;
    V3 center_a, center_b; // of growth
    VF size, value;
    V3 normal, witness_a, witness_b; // of the answers, from the position of A
    int active;                      // lanes that have a row
} pair;

// is_curved reports whether cores of a class have a Hessian.
ALWAYS int is_curved(int class) {
    return class == CLR_POINT_CORE || class == CLR_ELLIPSOID || class == CLR_SUPERQUADRIC || class == CLR_SMOOTH_HULL ||
           class == CLR_SMOOTH_REVOLUTION;
}

APART void feature_at(feature *f, const pair *p, const side *s, int class, V3 d, V3 hint, VF theta, V3 e0, V3 e1,
                      int active) {
    V3 dl = apply_transposed64(s->r, d);
    V3 hl = apply_transposed64(s->r, sub64(hint, s->position));
    hl = axpy64(-s->radius, dl, hl);
    local l;
    switch (class) {
    case CLR_SEGMENT_CORE: segment_feature(&l, s->p[2], dl, hl, theta); break;
    case CLR_CUBOID_CORE: box_feature(&l, s->p, dl, hl, theta); break;
    case CLR_FRUSTUM: frustum_feature(&l, s->p[0], s->p[1], s->p[2], dl, hl, theta); break;
    case CLR_ELLIPSOID:
        ellipsoid_feature(&l, s->p, dl, apply_transposed64(s->r, e0), apply_transposed64(s->r, e1));
        break;
    case CLR_SUPERQUADRIC:
        superquadric_feature(&l, s, dl, apply_transposed64(s->r, e0), apply_transposed64(s->r, e1));
        break;
    case CLR_SMOOTH_HULL:
        smooth_hull_feature(&l, p->call, s, dl, apply_transposed64(s->r, e0), apply_transposed64(s->r, e1), active);
        break;
    case CLR_SMOOTH_REVOLUTION:
        revolution_feature(&l, p->call, s, dl, apply_transposed64(s->r, e0), apply_transposed64(s->r, e1), active);
        break;
    case CLR_HALF_CORE: halfspace_feature(&l, hl); break;
    case CLR_HULL: hull_lanes(&l, p->call, s, dl, hl, theta, active); break;
    default: l = vertex_at((V3){SET1(0), SET1(0), SET1(0)});
    }
    f->point = axpy64(s->radius, d, add64(apply64(s->r, l.x), s->position));
    f->t[0] = apply64(s->r, l.t[0]);
    f->t[1] = apply64(s->r, l.t[1]);
    f->edge = l.edge, f->face = l.face, f->inside = l.inside, f->angle = l.angle, f->ok = l.ok;
    // The ball: its Hessian is that of the identity, and counts across the feature alone.
    flat c = within(e0, e1, apply64(s->r, l.round));
    f->h.xx = FMA(l.curvature * c.x, c.x, l.h.xx + s->radius);
    f->h.xy = FMA(l.curvature * c.x, c.y, l.h.xy);
    f->h.yy = FMA(l.curvature * c.y, c.y, l.h.yy + s->radius);
}

// grow completes the system of a growth distance. A half-space does not grow: its witness is the common point.
ALWAYS void grow(linear *s, const pair *p) {
    const int fixed_a = p->class_a == CLR_HALF_CORE, fixed_b = p->class_b == CLR_HALF_CORE;
    V3 zero = {SET1(0), SET1(0), SET1(0)}, from = fixed_a ? s->a.point : p->center_a;
    V3 to = fixed_b ? s->b.point : p->center_b;
    V3 of_a = sub64(s->a.point, from), of_b = sub64(s->b.point, to);
    s->apart = sub64(fixed_a ? zero : of_a, fixed_b ? zero : of_b);
    s->h = dot64(s->n, s->apart);
    s->value = dot64(s->n, sub64(to, from)) / s->h;
    V3 common_a = axpy64(s->value, of_a, from), common_b = axpy64(s->value, of_b, to);
    s->closing = sub64(common_b, common_a);
    s->common = fixed_a ? common_b : common_a;
}

// solve inverts the matrix of the features at n.
ALWAYS void solve(linear *s, const pair *p) {
    const feature *a = &s->a, *b = &s->b;
    const VF size = p->size;
    s->k = (flat_matrix){a->h.xx + b->h.xx, a->h.xy + b->h.xy, a->h.yy + b->h.yy};
    if (p->growth) {
        grow(s, p);
    } else {
        s->closing = sub64(b->point, a->point);
        s->value = dot64(s->n, s->closing);
        s->k.xx += s->value, s->k.yy += s->value;
    }
    flat_matrix k = s->k;
    VM one_each = MAND(a->edge, b->edge);
    VM parallel = MOR(MAND(a->face, b->edge), MAND(a->edge, b->face));
    VM any = MOR(a->edge, b->edge), two = MOR(MOR(a->face, b->face), one_each);
    s->of_a[0] = a->edge, s->of_b[0] = MANDN(b->edge, a->edge);
    s->of_a[1] = a->face, s->of_b[1] = MOR(b->face, one_each);
    s->direction[0] = sel64(a->edge, a->t[0], b->t[0]);
    s->direction[1] = sel64(a->face, a->t[1], sel64(b->face, b->t[1], b->t[0]));
    for (int i = 0; i < 2; i++) {
        flat t = within(s->e0, s->e1, s->direction[i]);
        s->t[i] = where2(MOR(s->of_a[i], s->of_b[i]), (flat){SEL(s->of_b[i], -t.x, t.x), SEL(s->of_b[i], -t.y, t.y)});
    }
    flat t = s->t[0], t1 = s->t[1];
    // No direction.
    VF determinant = FNMA(k.xy, k.xy, k.xx * k.yy);
    VF half = (k.xx - k.yy) * 0.5, least = FMA(k.xx + k.yy, SET1(0.5), -SQRT(FMA(k.xy, k.xy, half * half)));
    VF over = 1 / determinant;
    flat_matrix n0 = {k.yy * over, -k.xy * over, k.xx * over};
    // One.
    flat z = {-t.y, t.x};
    VF square = 1 / flat_dot(t, t), zkz = flat_dot(z, form2(k, z)), across = 1 / zkz,
       mixed = flat_dot(z, form2(k, t)) * across;
    flat_matrix n1 = {z.x * z.x * across, z.x * z.y * across, z.y * z.y * across};
    flat y1 = {(FNMA(z.x, mixed, t.x)) * square, (FNMA(z.y, mixed, t.y)) * square};
    // Two.
    VF area = FNMA(t1.x, t.y, t.x * t1.y), inverse = 1 / area;
    s->n_ = (flat_matrix){where(NOT(two), SEL(any, n1.xx, n0.xx)), where(NOT(two), SEL(any, n1.xy, n0.xy)),
                          where(NOT(two), SEL(any, n1.yy, n0.yy))};
    s->y[0] = where2(any, (flat){SEL(two, t1.y * inverse, y1.x), SEL(two, -t1.x * inverse, y1.y)});
    s->y[1] = where2(two, (flat){-t.y * inverse, t.x * inverse});
    flat ky0 = form2(k, s->y[0]), ky1 = form2(k, s->y[1]);
    s->z = (flat_matrix){flat_dot(s->y[0], ky0), flat_dot(s->y[0], ky1), flat_dot(s->y[1], ky1)};
    VM curved = LT(LEAST_CURVATURE * size, SEL(two, SET1(FAR), SEL(any, zkz, least)));
    s->regular = MAND(MAND(MANDN(MAND(a->ok, b->ok), parallel), curved),
                      MOR(NOT(one_each), LT(SET1(PARALLEL_SINE), magnitude(area))));
    if (p->growth) s->regular = MAND(s->regular, MAND(LT(SET1(0), s->value), LT(SET1(0), s->h)));
}

// fixed_scale is what the coordinates y of a witness within its feature are multiplied by: for growth distances, those
// in a half-space are of the common point.
ALWAYS VF fixed_scale(const linear *s, const pair *p, int class) {
    return p->growth && class == CLR_HALF_CORE ? s->value : SET1(1);
}

// polish solves for the normal by Newton's method from that of the answers. It returns the lanes whose derivatives are
// those of the system, verified; the others are left to the reference. A lane that is done keeps its place while others
// go on, so that its numbers do not depend on them.
APART int polish(const pair *p, linear *s) {
    // The least angle alone serves where there are no features. Elsewhere one that the normals of single precision
    // meet comes first; which of the angles leads to an answer does not matter, since the answer is verified.
    static const double angles[] = {1e-5, 1e-3, 1e-7, FINEST_ANGLE};
    int smooth = is_curved(p->class_a) && is_curved(p->class_b);
    VM todo = MFROM(p->active), done = MFROM(0);
    V3 n = p->normal, a = p->witness_a, b = p->witness_b;
    VF theta = SET1(FINEST_ANGLE);
    for (int k = smooth ? 3 : 0; k < 4 && MBITS(todo) != 0; k++) {
        VM trying = todo;
        n = sel64(todo, p->normal, n);
        a = sel64(todo, p->witness_a, a);
        b = sel64(todo, p->witness_b, b);
        theta = SEL(todo, SET1(angles[k]), theta);
        for (int i = 0; i < 8 && MBITS(trying) != 0; i++) {
            s->n = n;
            tangent_basis(n, &s->e0, &s->e1);
            int running = MBITS(MOR(trying, done));
            feature_at(&s->a, p, &p->a, p->class_a, n, a, theta, s->e0, s->e1, running);
            feature_at(&s->b, p, &p->b, p->class_b, neg64(n), b, theta, s->e0, s->e1, running);
            solve(s, p);
            // The step that satisfies the optimality conditions to the first order.
            flat u = within(s->e0, s->e1, s->closing);
            if (p->growth) u = (flat){u.x / s->value, u.y / s->value};
            flat dn = form2(s->n_, u);
            VF right[2], slide[2];
            for (int j = 0; j < 2; j++) {
                VF along = where(MOR(s->of_a[j], s->of_b[j]), dot64(s->direction[j], n));
                right[j] = SEL(s->of_b[j], along, -along);
                dn.x = FMA(s->y[j].x, right[j], dn.x);
                dn.y = FMA(s->y[j].y, right[j], dn.y);
            }
            slide[0] = FNMA(s->z.xy, right[1], FNMA(s->z.xx, right[0], flat_dot(s->y[0], u)));
            slide[1] = FNMA(s->z.yy, right[1], FNMA(s->z.xy, right[0], flat_dot(s->y[1], u)));
            VF step = length2(dn), slid = MAX(magnitude(slide[0]), magnitude(slide[1]));
            trying = MAND(trying, MAND(s->regular, LT(step, SET1(0.5))));
            // What is left after a step is its square, up to a curvature.
            double enough = i < 4 ? 1e-13 : 1e-12;
            VM still = MAND(MAND(MAND(trying, LE(step, SET1(enough))), LE(slid, enough * p->size)),
                            LE(MAX(s->a.angle, s->b.angle), SET1(FINEST_ANGLE)));
            done = MOR(done, still);
            todo = MANDN(todo, still);
            trying = MANDN(trying, still);
            theta = SEL(MAND(trying, LE(step, SET1(POLISHED))), SET1(FINEST_ANGLE), theta);
            V3 next = axpy64(dn.y, s->e1, axpy64(dn.x, s->e0, n));
            next = scale64(1 / SQRT(dot64(next, next)), next);
            flat bent_a = form2(s->a.h, dn), bent_b = form2(s->b.h, dn);
            V3 to_a = axpy64(bent_a.y, s->e1, axpy64(bent_a.x, s->e0, s->a.point));
            V3 to_b = axpy64(-bent_b.y, s->e1, axpy64(-bent_b.x, s->e0, s->b.point));
            VF scale_a = fixed_scale(s, p, p->class_a), scale_b = fixed_scale(s, p, p->class_b);
            for (int j = 0; j < 2; j++) {
                to_a = axpy64(where(s->of_a[j], scale_a * slide[j]), s->direction[j], to_a);
                to_b = axpy64(where(s->of_b[j], scale_b * slide[j]), s->direction[j], to_b);
            }
            n = sel64(trying, next, n);
            a = sel64(trying, to_a, a);
            b = sel64(trying, to_b, b);
        }
    }
    VM inside = MAND(LT(POLISHED * p->size, s->a.inside), LT(POLISHED * p->size, s->b.inside));
    return MBITS(MAND(MAND(done, inside), LT(SET1(MIN_COSINE), dot64(s->n, p->normal))));
}

// Derivatives of the answers of a system: columns and products. With u = P(v_b - v_a) and w_i = ω_i × n in the tangent
// plane, they are those of
//
//     dn = N·u + M_A·w_A + M_B·w_B
//     da = v_a + M_Aᵀ·u + Q_AA·w_A + Q_AB·w_B,   db = v_b - (M_Bᵀ·u + Q_ABᵀ·w_A + Q_BB·w_B)
//     M_i = N·H_i + Y_i·T_iᵀ,   Q_ij = H_i·N·H_j + H_i·Y_j·T_jᵀ + T_i·Y_iᵀ·H_j - T_i·Z_ij·T_jᵀ - [i = j]·H_i.
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
    x->scale_a = x->scale_b = SET1(1);
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
