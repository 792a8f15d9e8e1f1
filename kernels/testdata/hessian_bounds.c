// Tests, for TestHessianBounds, the lower bounds of hessian.h: for random smooth cores and random
// directions, at random points of the cap; and for pairs that are placed so that the direction is a stationary
// point, that no support value in the widest cap is lower than proved. Built with ISA set.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shape/hessian.h"
#include "uniform.h"

#define POINTS 32
static double corners[3][2 * W * POINTS];

static int inside[W]; // the direction lies in no plane of symmetry

static double between(double a, double b) { return a + (b - a) * 0.5 * (uniform() + 1); }

// draw makes a core of class k in lane l, and a direction: along an axis, in a plane of symmetry, or arbitrary.
static void draw(int k, double in[CLR_IN64][W], T(hulls) *hull, int side, int l, double n[3][W], int trial) {
    clr_shape s = {.class = k, .first = (side * W + l) * POINTS, .count = POINTS};
    for (int j = 0; j < 3; j++) in[CLR_PA + j][l] = exp(2 * uniform());
    in[CLR_PA + 3][l] =
        k == CLR_ELLIPSOID ? between(0, 0.9) * fmin(in[CLR_PA][l], fmin(in[CLR_PA + 1][l], in[CLR_PA + 2][l])) : 0;
    const double beta = 2 + exp(between(log(0.07), log(200)));
    if (k == CLR_SUPERQUADRIC) {
        for (int j = 0; j < 2; j++) s.extent[j] = trial % 4 ? between(0.1, 0.9) : between(0.005, 0.995);
    } else if (k != CLR_ELLIPSOID) {
        s.extent[0] = beta, s.extent[1] = 1 / beta, s.extent[2] = exp(between(log(1e-3), 0));
        for (int i = 0; i < POINTS; i++) {
            double p[3], *to[3];
            for (int j = 0; j < 3; j++) to[j] = &corners[j][s.first + i], p[j] = in[CLR_PA + j][l] * uniform();
            if (k == CLR_SMOOTH_REVOLUTION) p[0] = fabs(p[0]), p[2] = 0;
            for (int j = 0; j < 3; j++) *to[j] = i < 24 ? p[j] : 0; // the rest is padding
        }
        if (k == CLR_SMOOTH_HULL) in[CLR_PA][l] = in[CLR_PA + 1][l] = in[CLR_PA + 2][l] = 0;
    }
    T(put_hull)(hull, l, &s, k);
    double length = 0;
    inside[l] = (trial >> 2) % 8 > 2;
    for (int j = 0; j < 3; j++)
        n[j][l] = (trial >> 2) % 8 > j ? uniform() : trial % 3 == j ? 1 : 0, length += n[j][l] * n[j][l];
    for (int j = 0; j < 3; j++) n[j][l] /= sqrt(length);
}

// support_values are those of the eroded cores along v, of any length.
static VF support_values(const T(places) *at, int k, V3 v) {
    return T(dot)(v, T(side_support)(at, k, 0, v, SET1(1) / SQRT(T(dot)(v, v)), 0));
}

static const int classes[4] = {CLR_ELLIPSOID, CLR_SUPERQUADRIC, CLR_SMOOTH_REVOLUTION, CLR_SMOOTH_HULL};
static clr_call call = {.vx = corners[0], .vy = corners[1], .vz = corners[2]};

// curvatures tests single cores.
static void curvatures(void) {
    for (int c = 0; c < 4; c++) {
        const int k = classes[c];
        int drawn = 0, curved_enough = 0, tight = 0, tried = 0;
        for (int trial = 0; trial < 6000 / W; trial++) {
            double in[CLR_IN64][W] __attribute__((aligned(64))), dir[3][W] __attribute__((aligned(64))),
                size[W] __attribute__((aligned(64)));
            T(hulls) hull;
            memset(in, 0, sizeof in);
            for (int l = 0; l < W; l++)
                draw(k, in, &hull, 0, l, dir, trial), size[l] = exp(between(log(1e-3), log(0.7)));
            const T(places) at = {.call = &call, .in = in[0], .stride = W, .hull = {&hull, &hull}, .lanes = LANES};
            const V3 n = T(ld3)(dir[0], W);
            V3 e, f, s;
            T(across)(n, &e, &f);
            const T(curvature) known = T(add_curvature)(&at, k, 0, n, e, f, &s);
            const VF t = LOADU(size), h = support_values(&at, k, n), most = SET1(MAX_CURVATURE) * MAX(h, -h);
            const curvature_data b = curvature_at(&at, k, 0, n, e, f);
            const flat_matrix m = hessian_bound_over(&at, k, 0, &b, t, most),
                              none = hessian_bound_over(&at, k, 0, &b, SET1(1e-7), most);
            double out[8][W] __attribute__((aligned(64)));
            const VF values[8] = {
                m.xx + m.yy, none.xx + none.yy, known.pp + known.qq + b.ball + b.ball, h, m.xx, m.xy, m.yy, known.h};
            for (int j = 0; j < 8; j++) STOREU(out[j], values[j]);
            for (int l = 0; l < W; l++) {
                drawn++;
                curved_enough += size[l] < 0.05 && out[0][l] > 0.3 * out[2][l];
                tried += size[l] < 0.05;
                tight += out[1][l] > 0.999 * fmin(out[2][l], 1e3 * fabs(out[3][l])); // at t = 0 it is the Hessian
                if (!(out[1][l] < out[2][l] + 1e-3 * fabs(out[2][l]) + 1e-6 * fabs(out[3][l])) && inside[l] &&
                    out[2][l] < 1e6)
                    printf("class %d: curvature %g of the Hessian %g\n", k, out[1][l], out[2][l]), exit(1);
            }
            for (int i = 0; i < 60; i++) {
                double y[2][W] __attribute__((aligned(64))), lack[W] __attribute__((aligned(64)));
                for (int l = 0; l < W; l++) {
                    double r = i < 20 ? size[l] : size[l] * pow(10, -3 * fabs(uniform())), a = 3.14159265 * uniform();
                    y[0][l] = r * cos(a), y[1][l] = r * sin(a);
                }
                const VF y0 = LOADU(y[0]), y1 = LOADU(y[1]);
                const VF bound = h + FMA(y0, T(dot)(e, s), y1 * T(dot)(f, s)) +
                                 SET1(0.5) * FNMA(FMA(y0, y0, y1 * y1), b.ball,
                                                  FMA(y0, FMA(m.xx, y0, m.xy * y1), y1 * FMA(m.xy, y0, m.yy * y1)));
                const VF high = support_values(&at, k, T(axpy)(y0, e, T(axpy)(y1, f, n))), left = SQRT(T(dot)(s, s));
                STOREU(lack, (bound - high) / (left + MAX(h, -h)));
                for (int l = 0; l < W; l++)
                    if (!(lack[l] < 2e-14))
                        printf("class %d: below the bound by %g at %g, %g of %g\n", k, lack[l], y[0][l], y[1][l],
                               size[l]),
                            exit(1);
            }
        }
        printf("%d %d %d %d\n", drawn, tried, curved_enough, tight);
    }
}

// caps tests pairs, −B in the frame of A. The support point of D along n is h·n.
static void caps(void) {
    static double inputs[2][CLR_IN64][W] __attribute__((aligned(64)));
    int drawn = 0, some = 0, wide = 0;
    for (int trial = 0; trial < 16000 / W; trial++) {
        const int k[2] = {classes[trial % 4], classes[(trial / 4) % 4]};
        double dir[3][W] __attribute__((aligned(64))), share[W] __attribute__((aligned(64))),
            t[W] __attribute__((aligned(64)));
        T(hulls) hull[2];
        memset(inputs, 0, sizeof inputs);
        for (int l = 0; l < W; l++) {
            for (int side = 0; side < 2; side++) draw(k[side], inputs[side], &hull[side], side, l, dir, trial);
            share[l] = exp(between(log(1e-3), 0));
        }
        const V3 n = T(ld3)(dir[0], W);
        const T(places) core[2] = {
            {.call = &call, .in = inputs[0][0], .stride = W, .hull = {&hull[0], &hull[0]}, .lanes = LANES},
            {.call = &call, .in = inputs[1][0], .stride = W, .hull = {&hull[1], &hull[1]}, .lanes = LANES}};
        V3 e, f;
        T(across)(n, &e, &f);
        const curvature_data b[2] = {curvature_at(core, k[0], 0, n, e, f), curvature_at(core + 1, k[1], 0, n, e, f)};
        // The columns of B where widest_cap reads them.
        double in[CLR_IN64][W] __attribute__((aligned(64)));
        memcpy(in, inputs[0], sizeof in);
        memcpy(in[CLR_PB], inputs[1][CLR_PA], 4 * sizeof in[0]);
        const T(places) at = {.call = &call, .in = in[0], .stride = W, .hull = {&hull[0], &hull[1]}, .lanes = LANES};
        const V3 s =
            T(add)(T(side_support)(core, k[0], 0, n, SET1(1), 0), T(side_support)(core + 1, k[1], 0, n, SET1(1), 0));
        const VF whole = T(dot)(n, s), h = LOADU(share) * MAX(whole, SET1(1e-3)),
                 size = widest_cap(&at, k[0], k[1], b, h);
        const V3 moved = T(sub)(T(scale)(h, n), s);
        VF proved = SET1(0); // the largest of the sizes that are tried, by their definition instead of by bisection
        for (double tried = WIDEST_HESSIAN_CAP; tried > 0.02; tried *= HESSIAN_CAP_RATIO) {
            const VF r = h + b[0].ball + b[1].ball, to = SET1(tried),
                     least = least_curvature(&at, k[0], k[1], b, SET1(MAX_CURVATURE) * r, to);
            proved = MAX(proved, SEL(LE(SET1(1 + 0.99e-6) * r, least), reach(least, to, r), SET1(0)));
        }
        if (MBITS(LT(SET1(1 + 1e-9) * proved, size))) printf("a cap is wider than is proved\n"), exit(1);
        STOREU(t, size);
        for (int l = 0; l < W; l++) drawn++, some += t[l] > 0, wide += t[l] > 0.7;
        for (int i = 0; i < 100; i++) {
            double y[2][W] __attribute__((aligned(64))), lack[W] __attribute__((aligned(64)));
            for (int l = 0; l < W; l++) {
                double r = i < 30 ? t[l] : t[l] * pow(10, -3 * fabs(uniform())), a = 3.14159265 * uniform();
                y[0][l] = r * cos(a), y[1][l] = r * sin(a);
            }
            const V3 x = T(axpy)(LOADU(y[0]), e, T(axpy)(LOADU(y[1]), f, n));
            const VF high = support_values(core, k[0], x) + support_values(core + 1, k[1], x) + T(dot)(moved, x);
            STOREU(lack, FMA(SQRT(T(dot)(x, x)), h, -high) / (SQRT(T(dot)(s, s)) + h));
            for (int l = 0; l < W; l++)
                if (!(lack[l] < 1e-12))
                    printf("classes %d, %d: lower by %g at %g, %g of %g\n", k[0], k[1], lack[l], y[0][l], y[1][l],
                           t[l]),
                        exit(1);
        }
    }
    printf("%d pairs %d caps %d wide\n", drawn, some, wide);
}

int main(void) {
    curvatures();
    caps();
    return 0;
}
