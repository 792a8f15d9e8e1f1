// The rotation of a body in a step at a constant angular momentum, a world in each lane: the arithmetic of
// contact.rotate, in its order, whose comments have the equations. It needs what bodies.h defines first.

#define TURN_ANGLE 0.5 // as in rotation.go
#define MOST_TURNS 1024
#define MOST_ANGLE 0x1p20
#define TURN_ITERATIONS 8
#define TURN_CONVERGED 0x1p-28
#define SMALL_ANGLE 1e-3

INLINE vec cross(vec a, vec b) { return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
INLINE quat unit(quat q) {
    VF f = SET1(1) / SQRT(square_of(q));
    return (quat){f * q.w, f * q.x, f * q.y, f * q.z};
}

// exponential is the quaternion of the rotation by |v| radians about v.
INLINE quat exponential(vec v) {
    VF one = SET1(1), two = SET1(2), square = SET1(0.25) * dot(v, v), part = SET1(0.5);
    VF doubled = SET1(0);
    for (VM big = LE(SET1(SMALL_ANGLE), square); MBITS(big); big = LE(SET1(SMALL_ANGLE), square)) {
        square = SEL(big, SET1(0.25) * square, square), part = SEL(big, SET1(0.5) * part, part);
        doubled = SEL(big, doubled + one, doubled);
    }
    VF sinc =
        one - square * SET1(1. / 6) *
                  (one - square * SET1(1. / 20) * (one - square * SET1(1. / 42) * (one - square * SET1(1. / 72))));
    VF cosine =
        one - square * SET1(1. / 2) *
                  (one - square * SET1(1. / 12) * (one - square * SET1(1. / 30) * (one - square * SET1(1. / 56))));
    VF k = part * sinc;
    quat q = {cosine, k * v.x, k * v.y, k * v.z};
    for (VF i = SET1(0); MBITS(LT(i, doubled)); i += one) {
        VM more = LT(i, doubled);
        VF twice = two * q.w, w = q.w * q.w - q.x * q.x - q.y * q.y - q.z * q.z;
        q = (quat){SEL(more, w, q.w), SEL(more, twice * q.x, q.x), SEL(more, twice * q.y, q.y),
                   SEL(more, twice * q.z, q.z)};
    }
    return q;
}

// rotate_steady rotates by the vector v, in world axes. Lanes that are not finite or too fast keep their rotation.
INLINE VM rotate_steady(quat q, vec v, quat *next, VF *angle) {
    *angle = length(v);
    VM ok = LE(*angle, SET1(MOST_ANGLE));
    *next = unit(product(exponential(choose_vec(ok, v, (vec){SET1(0), SET1(0), SET1(0)})), q));
    return ok;
}

INLINE VF series(const double *c, VF x, VF z) {
    VF xx = x * x, xz = x * z, zz = z * z;
    VF a = SET1(c[0]) + SET1(c[2]) * x + SET1(c[3]) * z + SET1(c[5]) * xx + SET1(c[6]) * xz + SET1(c[7]) * zz;
    VF b = SET1(c[1]) + SET1(c[4]) * z + SET1(c[8]) * zz;
    return x * a + z * b;
}

INLINE vec moser_veselov(vec w, vec g) {
    VF one = SET1(1), two = SET1(2), more = one + dot(w, w);
    vec c = {more * w.x - g.x * w.y * w.z, more * w.y - g.y * w.z * w.x, more * w.z - g.z * w.x * w.y};
    VM left = MFROM(LANES);
    for (int i = 0; i < TURN_ITERATIONS; i++) {
        VF square = one + dot(c, c);
        vec f = {c.x - square * w.x + g.x * c.y * c.z, c.y - square * w.y + g.y * c.z * c.x,
                 c.z - square * w.z + g.z * c.x * c.y};
        vec u = {one - two * w.x * c.x, g.y * c.z - two * w.y * c.x, g.z * c.y - two * w.z * c.x};
        vec v = {g.x * c.z - two * w.x * c.y, one - two * w.y * c.y, g.z * c.x - two * w.z * c.y};
        vec t = {g.x * c.y - two * w.x * c.z, g.y * c.x - two * w.y * c.z, one - two * w.z * c.z};
        vec vt = cross(v, t);
        VF r = one / dot(u, vt);
        vec change = {r * dot(f, vt), r * dot(f, cross(t, u)), r * dot(f, cross(u, v))};
        c = choose_vec(left, sub(c, change), c);
        left = MANDN(left, LE(dot(change, change), SET1(TURN_CONVERGED * TURN_CONVERGED) * dot(c, c)));
        if (!MBITS(left)) break;
    }
    return c;
}

// rotate finds the rotation of a movable body after a step, and says which lanes are not too fast.
INLINE VM rotate(const contact_fixed *f, quat q, const VF *m, vec l, VF dt, quat *next, VF *angle) {
    const double *a = f->turn, *b = f->spread;
    if (f->round != 0) return rotate_steady(q, scale(dt, scale(SET1(a[1]), l)), next, angle);
    VF one = SET1(1), two = SET1(2), half = SET1(0.5), zero = SET1(0), axes[9];
    for (int i = 0; i < 9; i++) axes[i] = SET1(f->axes[i]);
    vec y = times_transposed(axes, times_transposed(m, l));
    vec yy = {y.x * y.x, y.y * y.y, y.z * y.z};
    VF square = half * (yy.x + yy.y + yy.z), above = half * (SET1(b[2]) * yy.x + SET1(b[1]) * yy.y);
    *angle = dt * SQRT(two * (SET1(a[0]) * above + SET1(a[2]) * (above + SET1(a[2]) * square)));
    VM ok = LE(*angle, SET1(TURN_ANGLE * MOST_TURNS));
    y = choose_vec(ok, y, (vec){zero, zero, zero});
    double steps[W];
    STOREU(steps, SEL(ok, *angle, zero) * SET1(1 / TURN_ANGLE));
    for (int k = 0; k < W; k++) steps[k] = 1 + (double)(int)steps[k];
    VF turns = LOADU(steps), h = dt / turns;
    VF x = h * SET1(a[0]) * (h * (half * (SET1(b[0]) * yy.x - SET1(b[1]) * yy.z)));
    VF z = h * SET1(a[1]) * (h * SET1(a[1]) * square);
    VF s = one + series(f->series, x, z), d = SET1(a[1]) * series(f->series + 9, x, z);
    vec i = {SET1(a[0]) * s + d, SET1(a[1]) * s + d, SET1(a[2]) * s + d};
    vec g = {s * SET1(b[1]) * i.x / (i.y * i.z), -(s * SET1(b[2]) * i.y / (i.x * i.z)),
             s * SET1(b[0]) * i.z / (i.x * i.y)};
    i = scale(half * h, i);
    quat p = {one, zero, zero, zero};
    for (VF done = zero; MBITS(LT(done, turns)); done += one) {
        VM more = LT(done, turns);
        vec c = moser_veselov((vec){i.x * y.x, i.y * y.y, i.z * y.z}, g);
        VF norm = one + dot(c, c);
        vec t = cross(c, y);
        y = choose_vec(more, add_scaled(y, two / norm, sub(cross(c, t), t)), y);
        VF r = one / SQRT(norm);
        quat n = product(p, (quat){r, r * c.x, r * c.y, r * c.z});
        p = (quat){SEL(more, n.w, p.w), SEL(more, n.x, p.x), SEL(more, n.y, p.y), SEL(more, n.z, p.z)};
    }
    vec v = times(axes, (vec){p.x, p.y, p.z});
    *next = unit(product(q, (quat){p.w, v.x, v.y, v.z}));
    return ok;
}
