// Other minima of the depth: whether it is attained along another normal, within a tolerance. The reference is
// equalMinimum of package derive: it tests the opposite normal, the normals of faces, and the products of the edges of
// two boxes.

#ifndef LN_MINIMA_H
#define LN_MINIMA_H

#include "system.h"

// support_value is the support value of a shape about its position, in a direction of the world.
APART vd support_value(const pair *p, const side *s, int class, v3 d) {
    v3 l = rotate_back(s->r, d);
    vd h;
    switch (class) {
    case LN_SEGMENT: h = s->p[0] * magnitude(l.z); break;
    case LN_BOX: h = box_support(s->p, l); break;
    case LN_FRUSTUM: h = frustum_support(s->p, l); break;
    case LN_ELLIPSOID: h = ellipsoid_support(s->p, l); break;
    case LN_HULL:
        for (int i = 0; i < W; i++) {
            const double one[3] = {l.x[i], l.y[i], l.z[i]};
            h[i] = hull_support(p->call, s->shape[i], one);
        }
        break;
    default: h = all(0);
    }
    return h + s->radius;
}

// attained returns the lanes in which the depth along the unit vector d is at most that of the answer.
INLINE vm attained(const pair *p, const linear *s, v3 d) {
    vd separation =
        dot3(d, p->b.position) - support_value(p, &p->b, p->class_b, neg3(d)) - support_value(p, &p->a, p->class_a, d);
    return (separation >= s->value - EQUAL_TOLERANCE * p->size) & ~(dot3(d, s->n) > 1 - 1e-12);
}

INLINE v3 axis_of(const side *s, int k) { return (v3){s->r[k], s->r[3 + k], s->r[6 + k]}; }

INLINE vm along_axes(const pair *p, const linear *s, const side *of, int class) {
    vm found = {0};
    for (int k = class == LN_BOX ? 0 : 2; k < 3; k++) {
        v3 d = axis_of(of, k);
        found |= attained(p, s, d) | attained(p, s, neg3(d));
    }
    return found;
}

// other_minimum returns the lanes with another minimum, and those that it does not decide: penetrating hulls.
APART int other_minimum(const pair *p, const linear *s, int active) {
    if (p->class_a == LN_HALFSPACE || p->class_b == LN_HALFSPACE) return 0;
    vm deep = lanes(active) & (s->value <= EQUAL_TOLERANCE * p->size);
    if (bits(deep) == 0) return 0;
    if (p->class_a == LN_HULL || p->class_b == LN_HULL) return bits(deep);
    vm found = attained(p, s, neg3(s->n));
    if (p->class_a == LN_BOX || p->class_a == LN_FRUSTUM) found |= along_axes(p, s, &p->a, p->class_a);
    if (p->class_b == LN_BOX || p->class_b == LN_FRUSTUM) found |= along_axes(p, s, &p->b, p->class_b);
    if (p->class_a == LN_BOX && p->class_b == LN_BOX) {
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                v3 d = cross3(axis_of(&p->a, i), axis_of(&p->b, j));
                vd length = root(dot3(d, d));
                d = scale3(1 / length, d);
                found |= (attained(p, s, d) | attained(p, s, neg3(d))) & (length > PARALLEL_SINE);
            }
        }
    }
    return bits(deep & found);
}

#endif
