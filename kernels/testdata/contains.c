// Draws tetrahedra around and beside the origin, flat ones and needles among them, and compares with
// float64 which of them contain a ball around it, for TestContains. Built with ISA set.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../isa/real32.h"
#include "../pairs/simplex.h"
#include "uniform.h"

static double inner(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static void cross(const double *a, const double *b, double *out) {
    for (int j = 0; j < 3; j++) out[j] = a[(j + 1) % 3] * b[(j + 2) % 3] - a[(j + 2) % 3] * b[(j + 1) % 3];
}

// draw fills lane l with a tetrahedron within the unit ball, placed so that the origin lies at distance
// vertex_error·times inside one of its faces.
static void draw(float v[4][3][W], int l, double vertex_error, double times, double thin) {
    double p[4][3], n[3], a[3], b[3];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) p[i][j] = 0.4 * uniform() * (j == 2 && i < 3 ? thin : 1);
    for (int j = 0; j < 3; j++) {
        double middle = (p[0][j] + p[1][j] + p[2][j]) / 3;
        for (int i = 0; i < 3; i++) p[i][j] -= middle;
    }
    for (int j = 0; j < 3; j++) a[j] = p[1][j] - p[0][j], b[j] = p[2][j] - p[0][j];
    cross(a, b, n);
    const double length = sqrt(inner(n, n)), side = inner(n, p[3]) > 0 ? 1 : -1;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++)
            v[(i + l) % 4][j][l] = (float)(p[i][j] - side * times * vertex_error * n[j] / length);
}

// margin is the least of what the volumes of the origin with the faces are above vertex_error times the products of
// their edges, after `rounding` units of G.
static double margin(float v[4][3][W], int l, double vertex_error, double rounding) {
    double p[4][3], e[3][3], n[3], least = INFINITY, longest = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) p[i][j] = (double)v[i][j][l];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) e[i][j] = p[i + 1][j] - p[0][j];
        longest = fmax(longest, inner(e[i], e[i]));
    }
    for (int k = 0; k < 4; k++) { // the face without vertex k
        const double *q[3], *other = p[k];
        for (int i = 0, f = 0; i < 4; i++)
            if (i != k) q[f++] = p[i];
        double a[3], b[3], c[3];
        for (int j = 0; j < 3; j++) a[j] = q[1][j] - q[0][j], b[j] = q[2][j] - q[0][j], c[j] = other[j] - q[0][j];
        cross(a, b, n);
        const double volume = -inner(n, q[0]) * (inner(n, c) > 0 ? 1 : -1);
        least = fmin(least, volume - vertex_error * sqrt(inner(n, n)));
    }
    return least - rounding * 0x1p-24 * longest;
}

int main(void) {
    int drawn = 0, held = 0, wrong = 0, missed = 0, gained = 0;
    for (int k = 0; k < 40000 / W; k++) {
        float v[4][3][W] __attribute__((aligned(64)));
        const double vertex_error = 0x1p-24 * (k % 2 ? 128 : 192), thin = k % 3 == 0 ? 1 : k % 3 == 1 ? 0.05 : 0.002;
        for (int l = 0; l < W; l++) draw(v, l, vertex_error, exp2(8 * uniform()), thin);
        const V3 w = T(ld3)(v[0][0], W), b = T(ld3)(v[1][0], W), c = T(ld3)(v[2][0], W), d = T(ld3)(v[3][0], W);
        const unsigned claimed = MBITS(contains(w, b, c, d, SET1((float)vertex_error)));
        for (int l = 0; l < W; l++) {
            const int claim = claimed >> l & 1;
            const double most = margin(v, l, vertex_error, 0);
            drawn++;
            held += claim;
            wrong += claim && most <= 0;
            missed += !claim && margin(v, l, 1.01 * vertex_error, 2 * VOLUME_UNITS) > 0;
            gained += claim && margin(v, l, 0, (double)2.6 * vertex_error * 0x1p24 + VOLUME_UNITS) < 0;
        }
    }
    printf("%d drawn %d held %d wrong %d missed %d gained\n", drawn, held, wrong, missed, gained);
    return 0;
}
