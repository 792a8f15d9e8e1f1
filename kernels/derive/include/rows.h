// Vectors beyond those of package isa, and rows of a call.

#ifndef CLR_DERIVE_ROWS_H
#define CLR_DERIVE_ROWS_H

#include "../../isa/tangent.h"
#include "api.h"
#include "constants.h"

// What the derivatives need beyond the vectors, tangent planes and rotations of package isa, and exponentials. Float64.
//
// The exponential and the logarithm are not those of isa/elementary.h, which have errors of a few units of roundoff, in
// long chains of operations. The polynomials here are as exact as derivatives need, and consist of parts that do not
// depend on one another: samples of superquadrics take 0.87 of the time. The headers of kernels/shape take them too.

#define APART static __attribute__((noinline))

typedef uint64_t vu __attribute__((vector_size(8 * W)));

#define NOT(m) MANDN(MFROM(LANES), m)
#if W == 8
#define EQ(a, b) _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ)
#elif W == 4
#define EQ(a, b) _mm256_cmp_pd(a, b, _CMP_EQ_OQ)
#else
#define EQ(a, b) MAND(LE(a, b), LE(b, a))
#endif

// LANEWISE is the vector of f(i, …) of the lanes i, f a macro.
#if W == 8
#define LANEWISE(f, ...)                                                                                 \
    ((VF){f(0, __VA_ARGS__), f(1, __VA_ARGS__), f(2, __VA_ARGS__), f(3, __VA_ARGS__), f(4, __VA_ARGS__), \
          f(5, __VA_ARGS__), f(6, __VA_ARGS__), f(7, __VA_ARGS__)})
#elif W == 4
#define LANEWISE(f, ...) ((VF){f(0, __VA_ARGS__), f(1, __VA_ARGS__), f(2, __VA_ARGS__), f(3, __VA_ARGS__)})
#else
#define LANEWISE(f, ...) ((VF){f(0, __VA_ARGS__), f(1, __VA_ARGS__)})
#endif

#define LANE_NUMBER(i, first) (first) + i
#define LISTED_(i, x, k) (x)[(k)[i]]
#define LISTED(x, k) LANEWISE(LISTED_, x, k) // numbers of x, those that k lists

// first_lanes are the first n of the lanes, none or all if n is out of their range.
ALWAYS VM first_lanes(int64_t n) { return MFROM(n >= W ? LANES : n <= 0 ? 0u : (1u << n) - 1); }

// Scalars, without calls of the C library.
#ifdef __SSE2__
ALWAYS double root1(double x) { return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set_sd(x), _mm_set_sd(x))); }
#else
ALWAYS double root1(double x) { return sqrt(x); }
#endif
ALWAYS double least1(double a, double b) { return a < b ? a : b; }
ALWAYS double most1(double a, double b) { return a > b ? a : b; }
ALWAYS double dot1(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// where is 0 in the other lanes.
#if W == 4
ALWAYS VF where(VM m, VF x) { return MAND(m, x); }
#else
ALWAYS VF where(VM m, VF x) { return SEL(m, x, SET1(0)); }
#endif
ALWAYS VM is_finite(VF x) { return LE(magnitude(x), SET1(0x1.fffffffffffffp1023)); }
ALWAYS V3 where3(VM m, V3 a) { return (V3){where(m, a.x), where(m, a.y), where(m, a.z)}; }
ALWAYS VM is_finite3(V3 a) { return MAND(MAND(is_finite(a.x), is_finite(a.y)), is_finite(a.z)); }

// flat_map is any linear map of a tangent plane: it takes its y to x by xy.
typedef struct {
    VF xx, xy, yx, yy;
} flat_map;

ALWAYS VF length2(flat a) { return SQRT(flat_dot(a, a)); }
ALWAYS flat where2(VM m, flat a) { return (flat){where(m, a.x), where(m, a.y)}; }
ALWAYS flat add2(flat a, flat b) { return (flat){a.x + b.x, a.y + b.y}; }
ALWAYS flat form2(flat_matrix h, flat v) { return (flat){FMA(h.xy, v.y, h.xx * v.x), FMA(h.yy, v.y, h.xy * v.x)}; }
ALWAYS flat times2(flat_map m, flat v) { return (flat){FMA(m.xy, v.y, m.xx * v.x), FMA(m.yy, v.y, m.yx * v.x)}; }
ALWAYS flat transposed2(flat_map m, flat v) { return (flat){FMA(m.yx, v.y, m.xx * v.x), FMA(m.yy, v.y, m.xy * v.x)}; }

// tangent_basis makes e0 × e1 = n of a unit vector. It jumps elsewhere than across of isa/vec3.h, as package derive
// says.
ALWAYS void tangent_basis(V3 n, V3 *e0, V3 *e1) {
    T(tangent_basis)(n, SEL(LT(n.z, SET1(FLIPPED_BELOW)), SET1(-1), SET1(1)), e0, e1);
}
ALWAYS flat within(V3 e0, V3 e1, V3 v) { return (flat){dot64(e0, v), dot64(e1, v)}; }

#ifndef EXPONENT // of a normal x > 0; see isa/elementary.h
#define EXPONENT(x) (BITS_OR(BITS_DOWN(x), SET1(0x1p52)) - SET1(0x1p52 + 1023))
#define TIMES_POWER(x, k) ((x) * BITS_UP((k) + SET1(0x1.8p52 + 1023)))       // an integer k
#define MANTISSA(x) ((VF)(((vu)(x) & 0xfffffffffffff) | 0x3ff0000000000000)) // in [1, 2)
#endif

// of_fraction is exp(r), |r| ≤ 0.35: the Taylor polynomial of degree 11, which errs by r¹²/12!.
ALWAYS VF of_fraction(VF r) {
    VF r2 = r * r, r4 = r2 * r2, r8 = r4 * r4; // no term depends on the one before
    VF low = FMA(FMA(r, SET1(1.0 / 6), SET1(0.5)), r2, 1 + r);
    VF middle = FMA(FMA(r, SET1(1.0 / 5040), SET1(1.0 / 720)), r2, FMA(r, SET1(1.0 / 120), SET1(1.0 / 24)));
    VF high = FMA(FMA(r, SET1(1.0 / 39916800), SET1(1.0 / 3628800)), r2, FMA(r, SET1(1.0 / 362880), SET1(1.0 / 40320)));
    return FMA(high, r8, FMA(middle, r4, low));
}

// exponential is exp(x) for x in [-700, 700], to a relative error of 1e-14, with x = k·log 2 + r.
ALWAYS VF exponential(VF x) {
    const VF magic = SET1(0x1.8p52); // adding it rounds to an integer
    VF k = FMA(x, SET1(0x1.71547652b82fep0), magic) - magic;
    VF r = FNMA(k, SET1(0x1.abc9e3b39803fp-56), FNMA(k, SET1(0x1.62e42fefa39efp-1), x));
    return TIMES_POWER(of_fraction(r), k);
}

// power_of_e is exp(x), of any x up to 700, and below -700 what is negligible beside 1.
ALWAYS VF power_of_e(VF x) { return exponential(MAX(x, SET1(-700))); }

// parts are those of a normal number x > 0: x = 2ᵏ·m, m from √½ to √2, and log m = 2·s + tail. With s =
// (m - 1)/(m + 1) it is 2·(s + s³/3 + s⁵/5 + …), where s² ≤ 0.0295: the terms from s²³ on are below 1e-18 of it.
typedef struct {
    VF k, s, tail;
} parts;

ALWAYS parts parts_of(VF x) {
    VF k = EXPONENT(x), m = MANTISSA(x);
    VM big = LT(SET1(0x1.6a09e667f3bcdp0), m);
    m = FNMA(where(big, SET1(0.5)), m, m); // exact
    k += where(big, SET1(1));
    VF s = (m - 1) / (m + 1), z = s * s, z2 = z * z, z4 = z2 * z2;
    VF low = FMA(FMA(z, SET1(1.0 / 9), SET1(1.0 / 7)), z2, FMA(z, SET1(1.0 / 5), SET1(1.0 / 3)));
    VF high = FMA(FMA(z, SET1(1.0 / 21), SET1(1.0 / 19)), z4,
                  FMA(FMA(z, SET1(1.0 / 17), SET1(1.0 / 15)), z2, FMA(z, SET1(1.0 / 13), SET1(1.0 / 11))));
    return (parts){k, s, 2 * s * z * (FMA(high, z4, low))};
}

ALWAYS VF logarithm(VF x) {
    const parts p = parts_of(x);
    return FMA(p.k, SET1(0x1.62e42fefa39efp-1), FMA(SET1(2), p.s, FMA(p.k, SET1(0x1.abc9e3b39803fp-56), p.tail)));
}

// The functions of isa/elementary.h in float64, which the headers of kernels/shape call: here they are these.
#define CLR_ELEMENTARY_64

ALWAYS VF T(log2)(VF x) {
    const parts p = parts_of(x);
    return FMA(FMA(SET1(2), p.s, p.tail), SET1(0x1.71547652b82fep0), p.k);
}
ALWAYS VF T(log2_1p)(VF q) { return T(log2)(1 + q); }
ALWAYS VF T(exp2)(VF x) {
    const VF magic = SET1(0x1.8p52);
    x = MAX(x, SET1(-1020));
    VF k = (x + magic) - magic;
    return TIMES_POWER(of_fraction((x - k) * SET1(0x1.62e42fefa39efp-1)), k);
}

// Rows of a call: the numbers of columns, a row per lane, and shapes at their poses.

// number is number i of a column of float32 or float64.
ALWAYS double number(int single, const void *column, int64_t i) {
    return single ? (double)((const float *)column)[i] : ((const double *)column)[i];
}

#if W == 4
#ifdef __clang__
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (__m256i){i, j, k, l})
#endif
#endif

// run is the W numbers from i on.
ALWAYS VF run(int single, const void *column, int64_t i) {
    return single ? WIDEN((const float *)column + i) : LOADU((const double *)column + i);
}

// successive reports whether rows are neighbors: most are. The last row may be repeated.
ALWAYS int successive(const int64_t row[W]) {
    int are = 1;
    for (int i = 1; i < W; i++) are &= row[i] == row[0] + i;
    return are;
}

// strided is number k of rows of a width.
#define STRIDED(i, single, column, row, width, k) number(single, column, width *row[i] + k)
ALWAYS VF strided(int single, const void *column, const int64_t row[W], int width, int k) {
    return LANEWISE(STRIDED, single, column, row, width, k);
}

// numbers and numbers3 are rows of columns of width 1 and 3.
ALWAYS VF numbers(int single, const void *column, const int64_t row[W]) {
    return successive(row) ? run(single, column, row[0]) : strided(single, column, row, 1, 0);
}
ALWAYS V3 numbers3(int single, const void *column, const int64_t row[W]) {
    if (!successive(row))
        return (V3){strided(single, column, row, 3, 0), strided(single, column, row, 3, 1),
                    strided(single, column, row, 3, 2)};
    const int64_t i = 3 * row[0];
    const VF p = run(single, column, i), q = run(single, column, i + W), r = run(single, column, i + 2 * W);
#ifdef RUN_OF_THREE
    double v[3 * W];
    VF out[4];
    STOREU(v, p);
    STOREU(v + W, q);
    STOREU(v + 2 * W, r);
    RUN_OF_THREE(out, v);
    return (V3){out[0], out[1], out[2]};
#elif W == 4
    return (V3){SHUFFLE(SHUFFLE(p, q, 0, 3, 6, 6), r, 0, 1, 2, 5), SHUFFLE(SHUFFLE(p, q, 1, 4, 7, 7), r, 0, 1, 2, 6),
                SHUFFLE(SHUFFLE(p, q, 2, 5, 5, 5), r, 0, 1, 4, 7)};
#else
    return (V3){(VF){p[0], q[1]}, (VF){p[1], r[0]}, (VF){q[0], r[1]}};
#endif
}

ALWAYS VF gather(const double *from, const int64_t row[W], int width, int k) { return strided(0, from, row, width, k); }
ALWAYS V3 gather3(const double *from, const int64_t row[W], int width, int k) {
    return (V3){gather(from, row, width, k), gather(from, row, width, k + 1), gather(from, row, width, k + 2)};
}

// four stores four numbers of a row.
#if W > 2
ALWAYS void four(void *to, int single, int64_t at, __m256d x) {
    if (single) _mm_storeu_ps((float *)to + at, _mm256_cvtpd_ps(x));
    else _mm256_storeu_pd((double *)to + at, x);
}
ALWAYS void block(void *to, int single, const int64_t at[4], __m256d a, __m256d b, __m256d c, __m256d d) {
    const __m256d ab = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b);
    const __m256d cd = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
    four(to, single, at[0], _mm256_permute2f128_pd(ab, cd, 0x20));
    four(to, single, at[1], _mm256_permute2f128_pd(ab1, cd1, 0x20));
    four(to, single, at[2], _mm256_permute2f128_pd(ab, cd, 0x31));
    four(to, single, at[3], _mm256_permute2f128_pd(ab1, cd1, 0x31));
}
#endif

// rows4 stores four vectors as rows: lane i of the four goes to value at[i] and the three that follow.
ALWAYS void rows4(void *to, int single, const int64_t at[W], VF a, VF b, VF c, VF d) {
#if W == 8
    block(to, single, at, _mm512_castpd512_pd256(a), _mm512_castpd512_pd256(b), _mm512_castpd512_pd256(c),
          _mm512_castpd512_pd256(d));
    block(to, single, at + 4, _mm512_extractf64x4_pd(a, 1), _mm512_extractf64x4_pd(b, 1), _mm512_extractf64x4_pd(c, 1),
          _mm512_extractf64x4_pd(d, 1));
#elif W == 4
    block(to, single, at, a, b, c, d);
#else
    const VF x[4] = {a, b, c, d};
    for (int i = 0; i < W; i++) {
        for (int k = 0; k < 4; k++) {
            if (single) ((float *)to)[at[i] + k] = (float)x[k][i];
            else ((double *)to)[at[i] + k] = x[k][i];
        }
    }
#endif
}

// twelve stores a row of twelve per lane.
ALWAYS void twelve(void *to, int single, const int64_t row[W], V3 va, V3 wa, V3 vb, V3 wb) {
    int64_t at[3][W];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < W; i++) at[k][i] = 12 * row[i] + 4 * k;
    rows4(to, single, at[0], va.x, va.y, va.z, wa.x);
    rows4(to, single, at[1], wa.y, wa.z, vb.x, vb.y);
    rows4(to, single, at[2], vb.z, wb.x, wb.y, wb.z);
}

// side is one shape of each lane. Positions are relative to that of A.
typedef struct {
    VF r[9]; // rotation, row by row
    V3 position;
    VF radius;
    VF p[4]; // parameters, and 0: the core is not eroded
    const clr_shape *shape[W];
} side;

#define OF_SHAPE(i, s, field) (s)->shape[i]->field
#define OF_SHAPES(s, field) LANEWISE(OF_SHAPE, s, field) // a number of the shape of each lane

// place reads a shape of each lane with its pose. It returns the lanes whose index and pose are valid by far; the
// others get any shape.
ALWAYS VM place(side *s, const derive_call *c, const int64_t from[W], const int32_t *shape, const double *positions,
                const double *rotations) {
    const double *rows[W];
    VF q[4];
    unsigned known = 0;
    for (int i = 0; i < W; i++) {
        const int32_t k = shape[from[i]], good = (uint64_t)k < (uint64_t)c->shape_count;
        s->shape[i] = c->shapes + (good ? k : 0);
        known |= (unsigned)good << i;
        rows[i] = rotations + 4 * from[i];
    }
    ROWS(q, rows, 15);
    s->radius = OF_SHAPES(s, margin);
    for (int j = 0; j < 3; j++) s->p[j] = OF_SHAPES(s, p[j]);
    s->p[3] = SET1(0);
    s->position = numbers3(0, positions, from);
    const VF square = FMA(q[3], q[3], FMA(q[2], q[2], FMA(q[1], q[1], q[0] * q[0])));
    quaternion_matrix64(2 / square, q[0], (V3){q[1], q[2], q[3]}, s->r);
    const VF most = SET1(MAX_LENGTH);
    VM near = MAND(LE(magnitude(s->position.x), most), LE(magnitude(s->position.y), most));
    near = MAND(near, LE(magnitude(s->position.z), most));
    return MAND(MAND(MFROM(known), near), MAND(LT(SET1(1e-100), square), LT(square, SET1(1e100))));
}

ALWAYS VF size_of(const side *s) { return OF_SHAPES(s, size); }
ALWAYS VM unbounded(const side *s) {
    unsigned are = 0;
    for (int i = 0; i < W; i++) are |= (unsigned)(s->shape[i]->form == CLR_HALF) << i;
    return MFROM(are);
}

#define OF_GROWTH(i, c, s, j) (c)->centers[CLR_CENTER_VALUES * ((s)->shape[i] - (c)->shapes) + (j)]
ALWAYS VF of_growth(const derive_call *c, const side *s, int j) { return LANEWISE(OF_GROWTH, c, s, j); }

// grows tells whether a ball about the center lies in the shape.
ALWAYS VM grows(const derive_call *c, const side *s) { return LT(SET1(0), of_growth(c, s, 3)); }

// center_of is the center of growth from the position, world axes.
ALWAYS V3 center_of(const derive_call *c, const side *s) {
    return apply64(s->r, (V3){of_growth(c, s, 0), of_growth(c, s, 1), of_growth(c, s, 2)});
}

// Derivatives of values alone, in closed form by the normal and the witnesses as they are. With v_i(x) the velocity of
// the point x of a body,
//
//     dδ = n·(v_B(b) - v_A(a)),  and of growth distances  dα = n·(v_B(x) - v_A(x))/h,  h = n·(ā - b̄),
//
// where ā and b̄ are the witnesses from the centers and x the common point. The reference is row.go of derive.

// to_common moves the witnesses a and b, from the positions of their bodies, to the common point. It returns h. A
// half-space does not grow: its witness is the common point. between is the position of B from that of A.
ALWAYS VF to_common(const derive_call *c, const side *sa, const side *sb, V3 n, V3 between, V3 *a, V3 *b) {
    V3 zero = {SET1(0), SET1(0), SET1(0)};
    VM fixed_a = unbounded(sa), fixed_b = unbounded(sb);
    V3 ca = sel64(fixed_a, *a, center_of(c, sa)), cb = sel64(fixed_b, *b, center_of(c, sb));
    V3 bar_a = sel64(fixed_a, zero, sub64(*a, ca)), bar_b = sel64(fixed_b, zero, sub64(*b, cb));
    VF h = dot64(n, sub64(bar_a, bar_b)), growth = dot64(n, add64(sub64(cb, ca), between)) / h;
    V3 of_a = axpy64(growth, bar_a, ca), of_b = axpy64(growth, bar_b, cb);
    *a = sel64(fixed_a, add64(of_b, between), of_a);
    *b = sel64(fixed_a, of_b, sub64(of_a, between));
    return h;
}

// rows_values stores the derivatives of the values of W rows, zeros of those that have none. It returns the lanes
// that are left to the reference, which decides whether their shapes and poses are valid.
ALWAYS int rows_values(const derive_call *c, int single, int single_out, const int64_t row[W]) {
    int64_t from[W];
    int decided = 0, left = 0;
    for (int i = 0; i < W; i++) {
        from[i] = c->first + row[i];
        if (c->status[row[i]] <= CLR_STATUS_PENETRATING && (!c->marks || c->marks[row[i]] == DERIVE_ANSWERED))
            decided |= 1 << i;
    }
    V3 pa = numbers3(0, c->position_a, from), pb = numbers3(0, c->position_b, from);
    V3 n = numbers3(single, c->normal, row);
    V3 a = sub64(numbers3(single, c->witness_a, row), pa), b = sub64(numbers3(single, c->witness_b, row), pb);
    VF value = numbers(single, c->value, row), gap = c->gap ? numbers(1, c->gap, row) : SET1(0);
    VF scale = c->growth ? MAX(value, SET1(1)) : MAX(magnitude(value), SET1(MIN_SIZE)), over = SET1(1);
    // Shapes tell the scale of the pair, which is at least the distance.
    int checked = !c->valid || c->growth, scaled = !c->growth && MBITS(LE(gap, MAX_RELATIVE_GAP * scale)) != (int)LANES;
    if (decided && (checked || scaled)) {
        side sa, sb;
        VM valid = place(&sa, c, from, c->shape_a, c->position_a, c->rotation_a);
        valid = MAND(valid, place(&sb, c, from, c->shape_b, c->position_b, c->rotation_b));
        valid = MANDN(valid, MAND(unbounded(&sa), unbounded(&sb)));
        if (c->growth) {
            valid = MAND(valid, MOR(grows(c, &sa), grows(c, &sb)));
            VF h = to_common(c, &sa, &sb, n, sub64(pb, pa), &a, &b);
            over = 1 / SEL(LT(SET1(0), h), h, SET1(0));
        } else {
            scale = MAX(size_of(&sa) + size_of(&sb) + magnitude(value), SET1(MIN_SIZE));
        }
        left = decided & ~MBITS(valid);
    }
    VM ok =
        MAND(MAND(MANDN(MFROM(decided & ~left), LT(SET1(c->cut_off), value - gap)), LE(gap, MAX_RELATIVE_GAP * scale)),
             LT(magnitude(dot64(n, n) - 1), SET1(MAX_LENGTH_ERROR)));
    n = scale64(over, n);
    V3 torque_a = cross64(n, a), torque_b = cross64(b, n);
    if (c->growth) ok = MAND(ok, LT(SET1(LEAST_GROWTH), value));
    ok = MAND(ok, MAND(MAND(MAND(is_finite(value), is_finite3(n)), is_finite3(torque_a)), is_finite3(torque_b)));
    n = where3(ok, n);
    twelve(c->d_value, single_out, row, neg64(n), where3(ok, torque_a), n, where3(ok, torque_b));
    return left;
}

ALWAYS int32_t values(const derive_call *c, int single, int single_out, int64_t lo, int64_t hi, int32_t *declined) {
    int32_t count = 0;
    for (int64_t i = lo; i < hi; i += W) {
        int64_t row[W];
        int n = hi - i < W ? (int)(hi - i) : W;
        for (int k = 0; k < W; k++) row[k] = i + (k < n ? k : n - 1);
        int left = rows_values(c, single, single_out, row);
        for (int k = 0; k < n; k++)
            if (left >> k & 1) declined[count++] = (int32_t)row[k];
    }
    return count;
}

#endif
