// Searches local minima of h_D for random pairs of cores of revolution, and tests, for TestRimCaps, that no support
// value in their caps is smaller than the bound of the cap certificate. Built with ISA set.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pairs/depth_rims.h"
#include "uniform.h"

static double inner(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// core_support_value is the support value of a core along n of any length, from its axis and parameters.
static double core_support_value(const double *axis, const double *p, const double *n) {
    double c = inner(axis, n), x[3];
    for (int j = 0; j < 3; j++) x[j] = n[j] - c * axis[j];
    double q = sqrt(inner(x, x));
    return fmax(p[0] * q - p[2] * c, p[1] * q + p[2] * c);
}

static void draw(double in[CLR_IN64][W], int l, int kind) {
    double u[3], v[3], w[3];
    for (int side = 0; side < 2; side++) {
        double *p[3] = {in[side ? CLR_PB : CLR_PA] + l, in[side ? CLR_PB + 1 : CLR_PA + 1] + l,
                        in[side ? CLR_PB + 2 : CLR_PA + 2] + l};
        *p[0] = exp(uniform()),
        *p[1] = (kind >> side & 1) ? *p[0]
                : kind & 4         ? 0
                                   : exp(uniform()),
        *p[2] = exp(uniform());
    }
    double norm = 0;
    for (int j = 0; j < 3; j++) u[j] = uniform(), v[j] = uniform(), norm += u[j] * u[j];
    for (int j = 0; j < 3; j++) u[j] /= sqrt(norm);
    double along = inner(u, v);
    for (int j = 0; j < 3; j++) v[j] -= along * u[j];
    norm = sqrt(inner(v, v));
    for (int j = 0; j < 3; j++) v[j] /= norm;
    for (int j = 0; j < 3; j++) w[j] = u[(j + 1) % 3] * v[(j + 2) % 3] - u[(j + 2) % 3] * v[(j + 1) % 3];
    if (kind == 8)
        for (int j = 0; j < 3; j++) u[j] = j == 0, v[j] = j == 1, w[j] = j == 2; // parallel axes
    for (int j = 0; j < 3; j++)
        in[CLR_ROT + 3 * j][l] = u[j], in[CLR_ROT + 3 * j + 1][l] = v[j], in[CLR_ROT + 3 * j + 2][l] = w[j],
                         in[CLR_TRANS + j][l] = 0.7 * uniform();
}

static int drawn, minima, caps, wide;

// widest_proved is the size of the largest cap among those tried, by their definition instead of by bisection.
static VF widest_proved(const rim_pair *r, const rim_place *q, const VF inside[2]) {
    VF widest = SET1(0);
    double size = WIDEST_CAP;
    for (int j = 0; j < CAP_SIZES; j++, size *= CAP_RATIO) {
        const VF t = SET1(size), curvature = cap_curvature(r, q, inside, t);
        widest = MAX(widest, SEL(LE(SET1(1 + 0.99e-6) * q->h, curvature), reach(curvature, t, q->h), SET1(0)));
    }
    return widest;
}

// test tests the lanes `found` of q.
static void test(const rim_pair *r, const rim_place *q, const double in[CLR_IN64][W], unsigned found) {
    double n[9][W] __attribute__((aligned(64))), low[W] __attribute__((aligned(64))),
        size[W] __attribute__((aligned(64))), h[W] __attribute__((aligned(64)));
    VF off = SQRT(flat_dot(q->gradient, q->gradient)), inside[2] = {q->r[0] - off, q->r[1] - off}, times,
       t = cap_size(r, q, inside, &times);
    STOREU(low, FNMA(SEL(MOR(q->face[0], q->face[1]), SET1(0), off), t, FNMA(times, q->deficit, q->h)));
    const unsigned too_wide = found & MBITS(LT(SET1(1 + 1e-9) * widest_proved(r, q, inside), t));
    if (too_wide) printf("caps that are wider than is proved: %x\n", too_wide), exit(1);
    STOREU(size, t);
    STOREU(h, q->h);
    T(st3)(n[0], W, q->n);
    T(st3)(n[3], W, q->e);
    T(st3)(n[6], W, q->f);
    for (int l = 0; l < W; l++) {
        if (!(found >> l & 1) || !(h[l] > 0.01)) continue; // disjoint cores, or nearly
        minima++;
        caps += size[l] > 0;
        wide += size[l] > 1;
        const double a[3] = {0, 0, 1}, b[3] = {-in[CLR_ROT + 2][l], -in[CLR_ROT + 5][l], -in[CLR_ROT + 8][l]},
                     o[3] = {in[CLR_TRANS][l], in[CLR_TRANS + 1][l], in[CLR_TRANS + 2][l]};
        const double pa[3] = {in[CLR_PA][l], in[CLR_PA + 1][l], in[CLR_PA + 2][l]},
                     pb[3] = {in[CLR_PB][l], in[CLR_PB + 1][l], in[CLR_PB + 2][l]};
        for (int i = 0; i < 200; i++) {
            double x = uniform(), y = uniform(), m[3],
                   s = size[l] * pow(10, -4 * fabs(uniform())) / fmax(sqrt(x * x + y * y), 1e-9);
            if (i == 0) s = 0;
            for (int j = 0; j < 3; j++) m[j] = n[j][l] + s * (x * n[3 + j][l] + y * n[6 + j][l]);
            double high = core_support_value(a, pa, m) + core_support_value(b, pb, m) - inner(o, m),
                   far = sqrt(inner(m, m));
            if (high < far * low[l] * (1 - 1e-13))
                printf("%g below %g at %g of %g\n", high / far, low[l], s, size[l]), exit(1);
            if (i == 0 && fabs(high - h[l]) > 1e-13) printf("support_value %g, not %g\n", h[l], high), exit(1);
        }
        if (low[l] < h[l] - 1e-6) printf("bound %g of %g\n", low[l], h[l]), exit(1);
    }
}

int main(void) {
    int steps[W] = {0}, taken = 0;
    for (int trial = 0; trial < 32000 / W; trial++) {
        double in[CLR_IN64][W] __attribute__((aligned(64)));
        for (int l = 0; l < W; l++) draw(in, l, (trial + l) % 9);
        T(places) at = {.in = &in[0][0], .stride = W};
        const rim_pair r = rims_at(&at);
        rim_place q;
        VM tied[2], no = LT(r.origin.x, r.origin.x);
        q.n = rim_starts(&r, q.face, tied);
        for (unsigned start = 0, lanes = LANES; start < 2; start++) {
            unsigned found = find_rims(&r, &q, lanes, tied, SET1(6e-8), steps);
            if (start == 0) drawn += __builtin_popcount(MBITS(LT(SET1(0.01), q.h)));
            test(&r, &q, in, lanes & found);
            lanes &= ~found;
            q.face[0] = q.face[1] = no;
        }
    }
    for (int l = 0; l < W; l++) taken += steps[l];
    printf("%d drawn %d minima %d caps %d wide %d steps\n", drawn, minima, caps, wide, taken);
    return 0;
}
