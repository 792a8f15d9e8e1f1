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
    case LN_SUPERQUADRIC: h = superquadric_support(s, l); break;
    case LN_SMOOTH_HULL:
    case LN_SMOOTH_REVOLUTION: h = smooth_support(p->call, s, class, l); break;
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

// The number of points that face_minimum keeps.
#define KNOWN 4

// face_minimum reports whether the depth of a lane is attained along the normal of a face of a hull, times sign: 1 for
// A and -1 for B. known is a point of the other shape. Points of the other shape bound its support value from below,
// which rules out most faces.
static int face_minimum(const pair *p, const linear *s, int i, const side *of, const side *other, int other_class,
                        double sign, v3 known) {
    const ln_call *c = p->call;
    const ln_shape *hull = of->shape[i];
    const double *f[4];
    for (int k = 0; k < 4; k++) f[k] = c->faces[k] + hull->first_face;
    double depth = -s->value[i] + EQUAL_TOLERANCE * p->size[i], points[KNOWN][3];
    v3 start = rotate_back(of->r, sub3(known, of->position)), n = rotate_back(of->r, s->n);
    for (int k = 0; k < KNOWN; k++) points[k][0] = start.x[i], points[k][1] = start.y[i], points[k][2] = start.z[i];
    int oldest = 0;
    for (int64_t j = 0; j < hull->faces; j += W) {
        vd x = load(f[0] + j), y = load(f[1] + j), z = load(f[2] + j), offset = load(f[3] + j);
        vd least = all(FAR);
        for (int k = 0; k < KNOWN; k++) least = lesser(least, x * points[k][0] + y * points[k][1] + z * points[k][2]);
        vm same = sign * (x * n.x[i] + y * n.y[i] + z * n.z[i]) > 1 - 1e-12;
        int open = bits((offset + of->radius[i] - least <= depth) & ~same);
        for (; open != 0; open &= open - 1) {
            int l = __builtin_ctz((unsigned)open);
            v3 d = rotate(of->r, (v3){all(-x[l]), all(-y[l]), all(-z[l])}); // in which the other shape is needed
            double h;
            if (other_class == LN_HULL) {
                v3 dl = rotate_back(other->r, d);
                const double one[3] = {dl.x[i], dl.y[i], dl.z[i]};
                double *to = points[oldest], at[3];
                h = hull_vertex(c, other->shape[i], one, at) + other->radius[i];
                v3 point = {all(at[0]), all(at[1]), all(at[2])};
                point = rotate_back(of->r, sub3(add3(rotate(other->r, point), other->position), of->position));
                oldest = (oldest + 1) % KNOWN;
                to[0] = point.x[i], to[1] = point.y[i], to[2] = point.z[i];
            } else {
                h = support_value(p, other, other_class, d)[i];
            }
            vd beyond = dot3(d, sub3(other->position, of->position));
            if (offset[l] + of->radius[i] + h + beyond[i] <= depth) return 1;
        }
    }
    return 0;
}

// other_minimum returns the lanes with another minimum.
APART int other_minimum(const pair *p, const linear *s, int active) {
    if (p->class_a == LN_HALFSPACE || p->class_b == LN_HALFSPACE) return 0;
    vm deep = lanes(active) & (s->value <= EQUAL_TOLERANCE * p->size);
    if (bits(deep) == 0) return 0;
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
    int all_found = bits(deep & found);
    for (int open = bits(deep & ~found); open != 0; open &= open - 1) {
        int i = __builtin_ctz((unsigned)open);
        if ((p->class_a == LN_HULL && face_minimum(p, s, i, &p->a, &p->b, p->class_b, 1, s->b.point)) ||
            (p->class_b == LN_HULL && face_minimum(p, s, i, &p->b, &p->a, p->class_a, -1, s->a.point)))
            all_found |= 1 << i;
    }
    return all_found;
}

#endif
