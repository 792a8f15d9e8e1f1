// Tests steps of EPA and of the depth certificate, for TestEPASteps: which face is the nearest, the key of a face that
// cannot be expanded (epa.h), and the points that a cover starts from (depth_certificate.h). Built with
// ISA set.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pairs/depth_certificate.h"
#include "uniform.h"

static double between(double a, double b) { return a + (b - a) * 0.5 * (uniform() + 1); }

// nearest tests that the nearest face is the one with the least key, wherever it is stored.
static int nearest(void) {
    static polytope p;
    int tests = 0;
    for (int trial = 0; trial < 4000; trial++) {
        p.faces = 2 + trial % 40;
        int least = 0;
        for (int f = 0; f < p.faces; f++) {
            p.key[f] = between(1, 2);
            if (p.key[f] < p.key[least]) least = f;
        }
        p.key[p.faces] = 0; // not a face
        find_nearest(&p);
        if (p.nearest != least || p.nearest_key != p.key[least])
            printf("face %d of %d is the nearest, not %d\n", least, p.faces, p.nearest), exit(1);
        tests++;
    }
    return tests;
}

// unit_vector is a random one.
static void unit_vector(double v[3]) {
    double length = 0;
    for (int j = 0; j < 3; j++) v[j] = uniform(), length += v[j] * v[j];
    for (int j = 0; j < 3; j++) v[j] /= sqrt(length);
}

static void orthogonal(const double m[3], double e[3], double f[3]) {
    double other[3] = {0, 0, 0}, length;
    other[m[0] * m[0] < 0.5 ? 0 : 1] = 1;
    for (int j = 0; j < 3; j++) e[j] = m[(j + 1) % 3] * other[(j + 2) % 3] - m[(j + 2) % 3] * other[(j + 1) % 3];
    length = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
    for (int j = 0; j < 3; j++) e[j] /= length;
    for (int j = 0; j < 3; j++) f[j] = m[(j + 1) % 3] * e[(j + 2) % 3] - m[(j + 2) % 3] * e[(j + 1) % 3];
}

// thin_faces tests that a face that cannot be expanded, with an inaccurate normal, has its distance as its key from
// then on.
static int thin_faces(void) {
    static polytope p;
    static unmeasured list;
    int tests = 0;
    for (int trial = 0; trial < 4000; trial++) {
        double m[3], e[3], f[3], n[3], length = 0, low = INFINITY, high = -INFINITY;
        const double vertex[8][W] = {{0}}, distance = between(0.5, 2), phase = between(0, 7);
        unit_vector(m), orthogonal(m, e, f);
        memset(&p, 0, sizeof p);
        p.faces = 1, p.vertices = 3, p.rounding = 1e-15;
        for (int k = 0; k < 3; k++) {
            const double r = between(0.1, 1), angle = phase + 2.0943951023931953 * k;
            p.corner[0][k] = (uint16_t)k;
            for (int j = 0; j < 3; j++) p.w[k][j] = distance * m[j] + r * (cos(angle) * e[j] + sin(angle) * f[j]);
        }
        for (int j = 0; j < 3; j++) n[j] = m[j] + 0.1 * e[j], length += n[j] * n[j];
        for (int j = 0; j < 3; j++) n[j] /= sqrt(length);
        for (int k = 0; k < 3; k++) {
            const double h = dot3(n, p.w[k]);
            low = h < low ? h : low, high = h > high ? h : high;
        }
        p.nx[0] = n[0], p.ny[0] = n[1], p.nz[0] = n[2], p.key[0] = low, p.top[0] = high;
        if (!(low > 0.01 && distance - low > 1e-3)) continue;
        int stuck = 0;
        depth_of out;
        const int next = depth_step(&p, &list, &stuck, high, vertex, 0, 1, 1e-9, &out);
        if (next != DEPTH_OPEN || !(fabs(p.key[0] - distance) < 1e-12))
            printf("a face %g from the origin has the key %g\n", distance, p.key[0]), exit(1);
        tests++;
    }
    return tests;
}

#include "../isa/real32.h"

static clr_call call;

// covers tests that the polytopes of covers start with support points of D.
static int covers(void) {
    static polytope32 q[W] __attribute__((aligned(64)));
    static T(lanes) lanes;
    int tests = 0;
    for (int trial = 0; trial < 400 / W; trial++) {
        float in[CLR_IN64][W] __attribute__((aligned(64)));
        T(hulls) hull[2];
        T(places) at = {.call = &call, .in = in[0], .stride = W, .hull = {&hull[0], &hull[1]}, .lanes = LANES};
        known_minima to;
        memset(in, 0, sizeof in);
        memset(hull, 0, sizeof hull);
        memset(&to, 0, sizeof to);
        for (int l = 0; l < W; l++) {
            double n[3];
            unit_vector(n);
            for (int j = 0; j < 3; j++) in[CLR_ROT + 4 * j][l] = 1, to.apex[j][l] = (float)(0.7 * n[j]);
            for (int side = 0; side < 2; side++) { // eroded ellipsoids about one center
                float *const p = &in[side ? CLR_PB : CLR_PA][l];
                for (int j = 0; j < 3; j++) p[j * W] = (float)between(0.2, 0.4);
                p[3 * W] = (float)between(0.02, 0.1);
            }
        }
        const unsigned certain = start_cover(&lanes, q, &at, &to, LANES, CLR_ELLIPSOID, CLR_ELLIPSOID);
        for (unsigned left = certain; left; left &= left - 1) {
            const int l = __builtin_ctz(left);
            for (int i = 0; i < 4; i++) {
                // The point is on D if some support plane contains it, and no plane has it beyond.
                const double w[3] = {*coordinate(q + l, i, 0), *coordinate(q + l, i, 1), *coordinate(q + l, i, 2)};
                double d[3], least = INFINITY, step = 1, best[3];
                for (int j = 0; j < 3; j++) best[j] = w[j];
                for (int k = 0; k < 1500; k++) {
                    double h = 0, length = 0, on = 0;
                    for (int j = 0; j < 3; j++) d[j] = best[j] + (k ? step * uniform() : 0), length += d[j] * d[j];
                    for (int j = 0; j < 3; j++) d[j] /= sqrt(length), on += d[j] * w[j];
                    for (int side = 0; side < 2; side++) {
                        const float *const p = &in[side ? CLR_PB : CLR_PA][l];
                        double sum = 0;
                        for (int j = 0; j < 3; j++) sum += (double)p[j * W] * d[j] * p[j * W] * d[j];
                        h += sqrt(sum) - p[3 * W];
                    }
                    if (h - on < least) {
                        least = h - on;
                        for (int j = 0; j < 3; j++) best[j] = d[j];
                    } else step = step > 1e-4 ? step * 0.98 : step;
                }
                if (!(least < 1e-5 && least > -44 * 0x1p-24)) printf("vertex %d is %g within D\n", i, least), exit(1);
            }
            tests++;
        }
    }
    return tests;
}

int main(void) {
    const int orders = nearest(), faces = thin_faces(), started = covers();
    printf("%d orders %d faces %d covers\n", orders, faces, started);
    return 0;
}
