// The zone of a minimum of the depth, in which there is no other: minima.go of package derive, whose bounds these are.

#ifndef LN_ZONE_H
#define LN_ZONE_H

#include "caps.h"
#include "system.h"

// OF_SHAPES is a number of the shape of each lane.
#define OF_SHAPES(s, field) \
    ((vd){(s)->shape[0]->field, (s)->shape[1]->field, (s)->shape[2]->field, (s)->shape[3]->field})

INLINE int is_powered(int class) {
    return class == LN_SUPERQUADRIC || class == LN_SMOOTH_HULL || class == LN_SMOOTH_REVOLUTION;
}

// reach is the t up to which the support function of a core rises along y, |y| ≤ t, by at least 1/(1 + q) of ½yᵀHy, H
// its Hessian at the unit direction d of the world.
INLINE vd reach(const side *s, int class, const feature *f, v3 d, vd q) {
    v3 l = rotate_back(s->r, d);
    if (class == LN_ELLIPSOID) {
        v3 x = ellipsoid_point(s->p, l);
        vd value = dot3(x, l), squares = s->p[0] * s->p[0] + s->p[1] * s->p[1] + s->p[2] * s->p[2];
        v3 beside = axpy3(-value, l, x);
        vd slope = root(dot3(beside, beside)), trace = greater(squares - dot3(x, x), all(0)) / value;
        return 2 * value * q / (slope + root(slope * slope + 2 * trace * value * q));
    }
    if (class == LN_FRUSTUM) return pick(f->face, all(FAR), pick(f->edge, 0.5 * q, q) * root(l.x * l.x + l.y * l.y));
    return all(FAR);
}

// side_inside is the distance from the boundary of an edge that counts: the side of a frustum is curved, away from the
// other core.
INLINE vd side_inside(const side *s, int class, const feature *f, v3 d, vd inside, vd q) {
    if (class != LN_FRUSTUM) return inside;
    v3 x = rotate_back(s->r, axpy3(-s->radius, d, sub3(f->point, s->position)));
    vd bottom = s->p[0], half = s->p[2], wider = s->p[1] - bottom, z = greater(-half, lesser(half, x.z));
    vd r = bottom + wider * (z + half) / (2 * half), a = magnitude(wider) / root(wider * wider + 4 * half * half);
    vm bends = f->edge & ~f->face & (a > 0);
    return pick(bends, lesser(inside, q * r / (12 * pick(bends, a, all(1)))), inside);
}

// zone_of is the zone of the bound κ up to |y| = t, 0 if h does not exceed the bound at half of t.
INLINE vd zone_of(vd kappa, vd t, vd depth, vd tolerance) {
    vd bound = depth + tolerance;
    t = lesser(t, all(1e3)); // of polytopes, whose curvature is that of balls, it is infinite
    return where(0.5 * (kappa - bound) * t * t > 4 * tolerance, (0.5 * kappa * t - tolerance / t) / bound);
}

#define WIDEST_CAP 0.32 // tangent of the angle of the first cap, each of the next is half of it
#define MAX_CAPS 9

// add_curvature adds the bound of the Hessian of one core over a cap: of powers anew, of others 1/(1 + q) of it.
INLINE void add_curvature(s2 *k, const pair *p, const linear *s, const side *of, int class, const feature *f, v3 d,
                          vd t, vd q, int active) {
    s2 h = {f->h.xx - of->radius, f->h.xy, f->h.yy - of->radius};
    vd share = 1 / (1 + q);
    if (is_powered(class)) {
        v3 a = rotate_back(of->r, s->e0), b = rotate_back(of->r, s->e1);
        h = powered_cap(p->call, of, class, rotate_back(of->r, d), a, b, t, active);
        share = all(1);
    }
    k->xx += share * h.xx, k->xy += share * h.xy, k->yy += share * h.yy;
}

// powered_zone is the first zone that is proved over caps that are halved. most is the reach of the core without
// powers, inside that of a feature with one direction, t.
APART vd powered_zone(const pair *p, const linear *s, vd depth, vd tolerance, vd rolling, vd most, vd inside, vm any,
                      v2 t, vd q, int active) {
    v2 across = {-t.y, t.x};
    vd zone = all(0), size = lesser(all(WIDEST_CAP), most);
    for (int i = 0; i < MAX_CAPS && active != 0; i++) {
        s2 k = {all(0), all(0), all(0)};
        add_curvature(&k, p, s, &p->a, p->class_a, &s->a, s->n, size, q, active);
        add_curvature(&k, p, s, &p->b, p->class_b, &s->b, neg3(s->n), size, q, active);
        vd half = (k.xx - k.yy) * 0.5, least = (k.xx + k.yy) * 0.5 - root(half * half + k.xy * k.xy);
        v2 of_across = form2(k, across);
        vd mixed = lesser(dot2(across, of_across), inside / size - magnitude(dot2(t, of_across)));
        vd next = zone_of(pick(any, mixed, least) - rolling, size, depth, tolerance);
        vm proved = lanes(active) & (next > 0);
        zone = pick(proved, next, zone);
        active &= ~bits(proved);
        size *= 0.5;
    }
    return zone;
}

// proved_zone is the tangent of half the angle of the zone at a depth without the balls, 0 if none is proved.
INLINE vd proved_zone(const pair *p, const linear *s, vd depth, vd tolerance, vd rolling, int active) {
    vm any = s->of_a[0] | s->of_b[0], two = s->of_a[1] | s->of_b[1];
    v2 t = s->t[0], across = {-t.y, t.x};
    vd inside = lesser(s->a.inside, s->b.inside), bound = depth + tolerance;
    inside *= pick(s->a.edge & s->b.edge, magnitude(t.x * s->t[1].y - s->t[1].x * t.y), all(1));
    vd half = (s->k.xx - s->k.yy) * 0.5;
    vd least = (s->k.xx + s->k.yy) * 0.5 - root(half * half + s->k.xy * s->k.xy);
    v2 of_across = form2(s->k, across);
    least = pick(any, dot2(across, of_across), least);
    vd kappa = depth + 0.5 * least, q = 0.5 * least / (kappa + rolling);
    v3 opposite = neg3(s->n);
    vd beside = side_inside(&p->a, p->class_a, &s->a, s->n, inside, q);
    beside = side_inside(&p->b, p->class_b, &s->b, opposite, beside, q);
    vd size = lesser(reach(&p->a, p->class_a, &s->a, s->n, q), reach(&p->b, p->class_b, &s->b, opposite, q)), curved;
    if (is_powered(p->class_a) || is_powered(p->class_b)) {
        active &= bits((q > 0) & ~two);
        curved = powered_zone(p, s, depth, tolerance, rolling, size, beside, any, t, q, active);
    } else {
        size = pick(any, lesser(size, beside / (magnitude(dot2(t, of_across)) + kappa)), size);
        curved = where(q > 0, zone_of(kappa, size, depth, tolerance));
    }
    return pick(two, inside / bound, curved);
}

#endif
