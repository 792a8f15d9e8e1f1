// The rotation of a body in a step at a constant angular momentum, four worlds in the lanes: the arithmetic of
// contact.rotate, in its order, whose comments have the equations. It needs what bodies.h defines first.

#define TURN_ANGLE 0.5 // as in rotation.go
#define MOST_TURNS 1024
#define MOST_ANGLE 0x1p20
#define TURN_ITERATIONS 8
#define TURN_CONVERGED 0x1p-28
#define SMALL_ANGLE 1e-3

INLINE vec cross(vec a, vec b) { return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
INLINE quat unit(quat q) {
    vd f = set_d(1) / sqrt_d(square_of(q));
    return (quat){f * q.w, f * q.x, f * q.y, f * q.z};
}

// exponential is the quaternion of the rotation by |v| radians about v.
INLINE quat exponential(vec v) {
    vd one = set_d(1), two = set_d(2), square = set_d(0.25) * dot(v, v), part = set_d(0.5);
    vd doubled = set_d(0);
    for (vdm big = square >= set_d(SMALL_ANGLE); bits(big); big = square >= set_d(SMALL_ANGLE)) {
        square = choose_d(big, set_d(0.25) * square, square), part = choose_d(big, set_d(0.5) * part, part);
        doubled = choose_d(big, doubled + one, doubled);
    }
    vd sinc =
        one - square * set_d(1. / 6) *
                  (one - square * set_d(1. / 20) * (one - square * set_d(1. / 42) * (one - square * set_d(1. / 72))));
    vd cosine =
        one - square * set_d(1. / 2) *
                  (one - square * set_d(1. / 12) * (one - square * set_d(1. / 30) * (one - square * set_d(1. / 56))));
    vd k = part * sinc;
    quat q = {cosine, k * v.x, k * v.y, k * v.z};
    for (vd i = set_d(0); bits(i < doubled); i += one) {
        vdm more = i < doubled;
        vd twice = two * q.w, w = q.w * q.w - q.x * q.x - q.y * q.y - q.z * q.z;
        q = (quat){choose_d(more, w, q.w), choose_d(more, twice * q.x, q.x), choose_d(more, twice * q.y, q.y),
                   choose_d(more, twice * q.z, q.z)};
    }
    return q;
}

// rotate_steady rotates by the vector v, in world axes. Lanes that are not finite or too fast keep their rotation.
INLINE vdm rotate_steady(quat q, vec v, quat *next, vd *angle) {
    *angle = length(v);
    vdm ok = *angle <= set_d(MOST_ANGLE);
    *next = unit(product(exponential(choose_vec(ok, v, (vec){set_d(0), set_d(0), set_d(0)})), q));
    return ok;
}

INLINE vd series(const double *c, vd x, vd z) {
    vd xx = x * x, xz = x * z, zz = z * z;
    vd a = set_d(c[0]) + set_d(c[2]) * x + set_d(c[3]) * z + set_d(c[5]) * xx + set_d(c[6]) * xz + set_d(c[7]) * zz;
    vd b = set_d(c[1]) + set_d(c[4]) * z + set_d(c[8]) * zz;
    return x * a + z * b;
}

INLINE vec moser_veselov(vec w, vec g) {
    vd one = set_d(1), two = set_d(2), more = one + dot(w, w);
    vec c = {more * w.x - g.x * w.y * w.z, more * w.y - g.y * w.z * w.x, more * w.z - g.z * w.x * w.y};
    vdm left = {-1, -1, -1, -1};
    for (int i = 0; i < TURN_ITERATIONS; i++) {
        vd square = one + dot(c, c);
        vec f = {c.x - square * w.x + g.x * c.y * c.z, c.y - square * w.y + g.y * c.z * c.x,
                 c.z - square * w.z + g.z * c.x * c.y};
        vec u = {one - two * w.x * c.x, g.y * c.z - two * w.y * c.x, g.z * c.y - two * w.z * c.x};
        vec v = {g.x * c.z - two * w.x * c.y, one - two * w.y * c.y, g.z * c.x - two * w.z * c.y};
        vec t = {g.x * c.y - two * w.x * c.z, g.y * c.x - two * w.y * c.z, one - two * w.z * c.z};
        vec vt = cross(v, t);
        vd r = one / dot(u, vt);
        vec change = {r * dot(f, vt), r * dot(f, cross(t, u)), r * dot(f, cross(u, v))};
        c = choose_vec(left, sub(c, change), c);
        left &= ~(dot(change, change) <= set_d(TURN_CONVERGED * TURN_CONVERGED) * dot(c, c));
        if (!bits(left)) break;
    }
    return c;
}

// rotate finds the rotation of a movable body after a step, and says which lanes are not too fast.
INLINE vdm rotate(const lanes_fixed *f, quat q, const vd *m, vec l, vd dt, quat *next, vd *angle) {
    const double *a = f->turn, *b = f->spread;
    if (f->round != 0) return rotate_steady(q, scale(dt, scale(set_d(a[1]), l)), next, angle);
    vd one = set_d(1), two = set_d(2), half = set_d(0.5), zero = set_d(0), axes[9];
    for (int i = 0; i < 9; i++) axes[i] = set_d(f->axes[i]);
    vec y = times_transposed(axes, times_transposed(m, l));
    vec yy = {y.x * y.x, y.y * y.y, y.z * y.z};
    vd square = half * (yy.x + yy.y + yy.z), above = half * (set_d(b[2]) * yy.x + set_d(b[1]) * yy.y);
    *angle = dt * sqrt_d(two * (set_d(a[0]) * above + set_d(a[2]) * (above + set_d(a[2]) * square)));
    vdm ok = *angle <= set_d(TURN_ANGLE * MOST_TURNS);
    y = choose_vec(ok, y, (vec){zero, zero, zero});
    vd turns = one, least = choose_d(ok, *angle, zero) * set_d(1 / TURN_ANGLE);
    for (int k = 0; k < LANES; k++) turns[k] += (double)(int)least[k];
    vd h = dt / turns;
    vd x = h * set_d(a[0]) * (h * (half * (set_d(b[0]) * yy.x - set_d(b[1]) * yy.z)));
    vd z = h * set_d(a[1]) * (h * set_d(a[1]) * square);
    vd s = one + series(f->series, x, z), d = set_d(a[1]) * series(f->series + 9, x, z);
    vec i = {set_d(a[0]) * s + d, set_d(a[1]) * s + d, set_d(a[2]) * s + d};
    vec g = {s * set_d(b[1]) * i.x / (i.y * i.z), -(s * set_d(b[2]) * i.y / (i.x * i.z)),
             s * set_d(b[0]) * i.z / (i.x * i.y)};
    i = scale(half * h, i);
    quat p = {one, zero, zero, zero};
    for (vd done = zero; bits(done < turns); done += one) {
        vdm more = done < turns;
        vec c = moser_veselov((vec){i.x * y.x, i.y * y.y, i.z * y.z}, g);
        vd norm = one + dot(c, c);
        vec t = cross(c, y);
        y = choose_vec(more, add_scaled(y, two / norm, sub(cross(c, t), t)), y);
        vd r = one / sqrt_d(norm);
        quat n = product(p, (quat){r, r * c.x, r * c.y, r * c.z});
        p = (quat){choose_d(more, n.w, p.w), choose_d(more, n.x, p.x), choose_d(more, n.y, p.y),
                   choose_d(more, n.z, p.z)};
    }
    vec v = times(axes, (vec){p.x, p.y, p.z});
    *next = unit(product(q, (quat){p.w, v.x, v.y, v.z}));
    return ok;
}
