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

#ifndef LN_SYSTEM_H
#define LN_SYSTEM_H

#include "hulls.h"
#include "powers.h"

#define PARALLEL_SINE 1e-7 // the constants of package derive of these names
#define LEAST_CURVATURE 1e-9
#define POLISHED 1e-9
#define MIN_COSINE 0.99
#define EQUAL_TOLERANCE 1e-9
#define FINEST_ANGLE 1e-9

typedef struct {
    v3 point; // of the whole shape, world axes, from the position of A
    s2 h;
    v3 t[2];
    vm edge, face;
    vd angle, inside;
    vm ok;
} feature;

typedef struct {
    v3 n, e0, e1;
    feature a, b;
    v3 direction[2]; // of the features: those of A, then those of B
    v2 t[2];         // their tangential parts, of B with opposite sign; 0 for those that are missing
    vm of_a[2], of_b[2];
    vd value;
    vd h;             // of growth distances: n·(ā - b̄), ā and b̄ the witnesses from the centers
    v3 apart, common; // ā - b̄, the common point
    v3 closing;       // common point as B has it, less that as A has it
    s2 k;
    s2 n_; // N
    v2 y[2];
    s2 z;
    vm regular;
} linear;

// pair is what the lanes are about.
typedef struct {
    const ln_call *call;
    side a, b;
    int class_a, class_b;
    int growth;
    v3 center_a, center_b; // of growth
    vd size, value;
    v3 normal, witness_a, witness_b; // of the answers, from the position of A
    int active;                      // lanes that have a row
} pair;

// is_curved reports whether cores of a class have a Hessian.
INLINE int is_curved(int class) {
    return class == LN_POINT || class == LN_ELLIPSOID || class == LN_SUPERQUADRIC || class == LN_SMOOTH_HULL ||
           class == LN_SMOOTH_REVOLUTION;
}

APART void feature_at(feature *f, const pair *p, const side *s, int class, v3 d, v3 hint, vd theta, v3 e0, v3 e1,
                      int active) {
    v3 dl = rotate_back(s->r, d);
    v3 hl = rotate_back(s->r, sub3(hint, s->position));
    hl = axpy3(-s->radius, dl, hl);
    local l;
    switch (class) {
    case LN_SEGMENT: segment_feature(&l, s->p[0], dl, hl, theta); break;
    case LN_BOX: box_feature(&l, s->p, dl, hl, theta); break;
    case LN_FRUSTUM: frustum_feature(&l, s->p[0], s->p[1], s->p[2], dl, hl, theta); break;
    case LN_ELLIPSOID: ellipsoid_feature(&l, s->p, dl, rotate_back(s->r, e0), rotate_back(s->r, e1)); break;
    case LN_SUPERQUADRIC: superquadric_feature(&l, s, dl, rotate_back(s->r, e0), rotate_back(s->r, e1)); break;
    case LN_SMOOTH_HULL:
        smooth_hull_feature(&l, p->call, s, dl, rotate_back(s->r, e0), rotate_back(s->r, e1), active);
        break;
    case LN_SMOOTH_REVOLUTION:
        revolution_feature(&l, p->call, s, dl, rotate_back(s->r, e0), rotate_back(s->r, e1), active);
        break;
    case LN_HALFSPACE: halfspace_feature(&l, hl); break;
    case LN_HULL: hull_lanes(&l, p->call, s, dl, hl, theta, active); break;
    default: l = vertex_at((v3){all(0), all(0), all(0)});
    }
    f->point = axpy3(s->radius, d, add3(rotate(s->r, l.x), s->position));
    f->t[0] = rotate(s->r, l.t[0]);
    f->t[1] = rotate(s->r, l.t[1]);
    f->edge = l.edge, f->face = l.face, f->inside = l.inside, f->angle = l.angle, f->ok = l.ok;
    // The ball: its Hessian is that of the identity, and counts across the feature alone.
    v2 c = within(e0, e1, rotate(s->r, l.round));
    f->h.xx = l.h.xx + s->radius + l.curvature * c.x * c.x;
    f->h.xy = l.h.xy + l.curvature * c.x * c.y;
    f->h.yy = l.h.yy + s->radius + l.curvature * c.y * c.y;
}

// grow completes the system of a growth distance. A half-space does not grow: its witness is the common point.
INLINE void grow(linear *s, const pair *p) {
    const int fixed_a = p->class_a == LN_HALFSPACE, fixed_b = p->class_b == LN_HALFSPACE;
    v3 zero = {all(0), all(0), all(0)}, from = fixed_a ? s->a.point : p->center_a;
    v3 to = fixed_b ? s->b.point : p->center_b;
    v3 of_a = sub3(s->a.point, from), of_b = sub3(s->b.point, to);
    s->apart = sub3(fixed_a ? zero : of_a, fixed_b ? zero : of_b);
    s->h = dot3(s->n, s->apart);
    s->value = dot3(s->n, sub3(to, from)) / s->h;
    v3 common_a = axpy3(s->value, of_a, from), common_b = axpy3(s->value, of_b, to);
    s->closing = sub3(common_b, common_a);
    s->common = fixed_a ? common_b : common_a;
}

// solve inverts the matrix of the features at n.
INLINE void solve(linear *s, const pair *p) {
    const feature *a = &s->a, *b = &s->b;
    const vd size = p->size;
    s->k = (s2){a->h.xx + b->h.xx, a->h.xy + b->h.xy, a->h.yy + b->h.yy};
    if (p->growth) {
        grow(s, p);
    } else {
        s->closing = sub3(b->point, a->point);
        s->value = dot3(s->n, s->closing);
        s->k.xx += s->value, s->k.yy += s->value;
    }
    s2 k = s->k;
    vm one_each = a->edge & b->edge;
    vm parallel = (a->face & b->edge) | (a->edge & b->face);
    vm any = a->edge | b->edge, two = a->face | b->face | one_each;
    s->of_a[0] = a->edge, s->of_b[0] = b->edge & ~a->edge;
    s->of_a[1] = a->face, s->of_b[1] = b->face | one_each;
    s->direction[0] = pick3(a->edge, a->t[0], b->t[0]);
    s->direction[1] = pick3(a->face, a->t[1], pick3(b->face, b->t[1], b->t[0]));
    for (int i = 0; i < 2; i++) {
        v2 t = within(s->e0, s->e1, s->direction[i]);
        s->t[i] = where2(s->of_a[i] | s->of_b[i], (v2){pick(s->of_b[i], -t.x, t.x), pick(s->of_b[i], -t.y, t.y)});
    }
    v2 t = s->t[0], t1 = s->t[1];
    // No direction.
    vd determinant = k.xx * k.yy - k.xy * k.xy;
    vd half = (k.xx - k.yy) * 0.5, least = (k.xx + k.yy) * 0.5 - root(half * half + k.xy * k.xy);
    vd over = 1 / determinant;
    s2 n0 = {k.yy * over, -k.xy * over, k.xx * over};
    // One.
    v2 z = {-t.y, t.x};
    vd square = 1 / dot2(t, t), zkz = dot2(z, form2(k, z)), across = 1 / zkz, mixed = dot2(z, form2(k, t)) * across;
    s2 n1 = {z.x * z.x * across, z.x * z.y * across, z.y * z.y * across};
    v2 y1 = {(t.x - z.x * mixed) * square, (t.y - z.y * mixed) * square};
    // Two.
    vd area = t.x * t1.y - t1.x * t.y, inverse = 1 / area;
    s->n_ = (s2){where(~two, pick(any, n1.xx, n0.xx)), where(~two, pick(any, n1.xy, n0.xy)),
                 where(~two, pick(any, n1.yy, n0.yy))};
    s->y[0] = where2(any, (v2){pick(two, t1.y * inverse, y1.x), pick(two, -t1.x * inverse, y1.y)});
    s->y[1] = where2(two, (v2){-t.y * inverse, t.x * inverse});
    v2 ky0 = form2(k, s->y[0]), ky1 = form2(k, s->y[1]);
    s->z = (s2){dot2(s->y[0], ky0), dot2(s->y[0], ky1), dot2(s->y[1], ky1)};
    vm curved = pick(two, all(FAR), pick(any, zkz, least)) > LEAST_CURVATURE * size;
    s->regular = a->ok & b->ok & ~parallel & curved & (~one_each | (magnitude(area) > PARALLEL_SINE));
    if (p->growth) s->regular &= (s->value > 0) & (s->h > 0);
}

// fixed_scale is what the coordinates y of a witness within its feature are multiplied by: for growth distances, those
// in a half-space are of the common point.
INLINE vd fixed_scale(const linear *s, const pair *p, int class) {
    return p->growth && class == LN_HALFSPACE ? s->value : all(1);
}

// polish solves for the normal by Newton's method from that of the answers. It returns the lanes whose derivatives are
// those of the system, verified; the others are left to the reference. A lane that is done keeps its place while others
// go on, so that its numbers do not depend on them.
APART int polish(const pair *p, linear *s) {
    // The least angle alone serves where there are no features. Elsewhere one that the normals of single precision
    // meet comes first; which of the angles leads to an answer does not matter, since the answer is verified.
    static const double angles[] = {1e-5, 1e-3, 1e-7, FINEST_ANGLE};
    int smooth = is_curved(p->class_a) && is_curved(p->class_b);
    vm todo = lanes(p->active), done = {0};
    v3 n = p->normal, a = p->witness_a, b = p->witness_b;
    vd theta = all(FINEST_ANGLE);
    for (int k = smooth ? 3 : 0; k < 4 && bits(todo) != 0; k++) {
        vm trying = todo;
        n = pick3(todo, p->normal, n);
        a = pick3(todo, p->witness_a, a);
        b = pick3(todo, p->witness_b, b);
        theta = pick(todo, all(angles[k]), theta);
        for (int i = 0; i < 8 && bits(trying) != 0; i++) {
            s->n = n;
            tangent_basis(n, &s->e0, &s->e1);
            int running = bits(trying | done);
            feature_at(&s->a, p, &p->a, p->class_a, n, a, theta, s->e0, s->e1, running);
            feature_at(&s->b, p, &p->b, p->class_b, neg3(n), b, theta, s->e0, s->e1, running);
            solve(s, p);
            // The step that satisfies the optimality conditions to the first order.
            v2 u = within(s->e0, s->e1, s->closing);
            if (p->growth) u = (v2){u.x / s->value, u.y / s->value};
            v2 dn = form2(s->n_, u);
            vd right[2], slide[2];
            for (int j = 0; j < 2; j++) {
                vd along = where(s->of_a[j] | s->of_b[j], dot3(s->direction[j], n));
                right[j] = pick(s->of_b[j], along, -along);
                dn.x += s->y[j].x * right[j];
                dn.y += s->y[j].y * right[j];
            }
            slide[0] = dot2(s->y[0], u) - s->z.xx * right[0] - s->z.xy * right[1];
            slide[1] = dot2(s->y[1], u) - s->z.xy * right[0] - s->z.yy * right[1];
            vd step = length2(dn), slid = greater(magnitude(slide[0]), magnitude(slide[1]));
            trying &= s->regular & (step < 0.5);
            // What is left after a step is its square, up to a curvature.
            double enough = i < 4 ? 1e-13 : 1e-12;
            vm still = trying & (step <= enough) & (slid <= enough * p->size) &
                       (greater(s->a.angle, s->b.angle) <= FINEST_ANGLE);
            done |= still;
            todo &= ~still;
            trying &= ~still;
            theta = pick(trying & (step <= POLISHED), all(FINEST_ANGLE), theta);
            v3 next = axpy3(dn.y, s->e1, axpy3(dn.x, s->e0, n));
            next = scale3(1 / root(dot3(next, next)), next);
            v2 bent_a = form2(s->a.h, dn), bent_b = form2(s->b.h, dn);
            v3 to_a = axpy3(bent_a.y, s->e1, axpy3(bent_a.x, s->e0, s->a.point));
            v3 to_b = axpy3(-bent_b.y, s->e1, axpy3(-bent_b.x, s->e0, s->b.point));
            vd scale_a = fixed_scale(s, p, p->class_a), scale_b = fixed_scale(s, p, p->class_b);
            for (int j = 0; j < 2; j++) {
                to_a = axpy3(where(s->of_a[j], scale_a * slide[j]), s->direction[j], to_a);
                to_b = axpy3(where(s->of_b[j], scale_b * slide[j]), s->direction[j], to_b);
            }
            n = pick3(trying, next, n);
            a = pick3(trying, to_a, a);
            b = pick3(trying, to_b, b);
        }
    }
    vm inside = (s->a.inside > POLISHED * p->size) & (s->b.inside > POLISHED * p->size);
    return bits(done & inside & (dot3(s->n, p->normal) > MIN_COSINE));
}

#endif
