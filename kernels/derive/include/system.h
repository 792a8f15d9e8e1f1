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

#include "hulls.h"
#include "powers.h"

#define PARALLEL_SINE 1e-7 // the constants of package derive of these names
#define LEAST_CURVATURE 1e-9
#define POLISHED 1e-9
#define MIN_COSINE 0.99
#define EQUAL_TOLERANCE 1e-9
#define FINEST_ANGLE 1e-9

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
    return class == DERIVE_POINT || class == CLR_ELLIPSOID || class == CLR_SUPERQUADRIC || class == CLR_SMOOTH_HULL ||
           class == CLR_SMOOTH_REVOLUTION;
}

APART void feature_at(feature *f, const pair *p, const side *s, int class, V3 d, V3 hint, VF theta, V3 e0, V3 e1,
                      int active) {
    V3 dl = apply_transposed64(s->r, d);
    V3 hl = apply_transposed64(s->r, sub64(hint, s->position));
    hl = axpy64(-s->radius, dl, hl);
    local l;
    switch (class) {
    case DERIVE_SEGMENT: segment_feature(&l, s->p[0], dl, hl, theta); break;
    case DERIVE_BOX: box_feature(&l, s->p, dl, hl, theta); break;
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
    case DERIVE_HALFSPACE: halfspace_feature(&l, hl); break;
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
    const int fixed_a = p->class_a == DERIVE_HALFSPACE, fixed_b = p->class_b == DERIVE_HALFSPACE;
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
    return p->growth && class == DERIVE_HALFSPACE ? s->value : SET1(1);
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

#endif
