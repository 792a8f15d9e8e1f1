// Expands float32 polytopes within clouds of points, for TestPolytopes32. Built with ISA set.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pairs/epa_float32.h"
#include "../isa/real32.h" // after a header of float64
#include "uniform.h"

static float uniform32(void) { return (float)uniform(); }

enum { POINTS = 20 };
static float cloud[W][POINTS][4];

// draw makes a cloud: random, on a coarse grid with many coplanar points, or flat.
static void draw(float p[POINTS][4], int kind) {
    for (int i = 0; i < POINTS; i++)
        for (int j = 0; j < 3; j++) {
            float x = 0.5f * uniform32();
            p[i][j] = kind == 1 ? rintf(4 * x) / 4 : kind == 2 && j == 2 ? 1e-3f * x : x;
        }
}

static double triple(const float *a, const float *b, const float *c) {
    return a[0] * ((double)b[1] * c[2] - (double)b[2] * c[1]) + a[1] * ((double)b[2] * c[0] - (double)b[0] * c[2]) +
           a[2] * ((double)b[0] * c[1] - (double)b[1] * c[0]);
}

static V3 everywhere(const float *p) { return (V3){SET1(p[0]), SET1(p[1]), SET1(p[2])}; }

// start starts polytope l with a tetrahedron of the cloud that contains the origin, if it finds one.
static int start(polytope32 *q, int l, float p[POINTS][4]) {
    for (int tries = 0; tries < 1000; tries++) {
        const float *v[4];
        for (int j = 0; j < 4; j++) v[j] = p[(int)(fabsf(uniform32()) * POINTS) % POINTS];
        int inside = 1;
        for (int f = 0; f < 4; f++)
            inside &= triple(v[tetrahedron[f][0]], v[tetrahedron[f][1]], v[tetrahedron[f][2]]) > 1e-7;
        if (!inside) continue;
        vertices32 vertex[4];
        planes32 plane[4];
        memset(vertex, 0, sizeof vertex);
        for (int j = 0; j < 4; j++) vertex[j].w = everywhere(v[j]);
        for (int f = 0; f < 4; f++)
            plane[f] =
                planes32_of(vertex[tetrahedron[f][0]].w, vertex[tetrahedron[f][1]].w, vertex[tetrahedron[f][2]].w);
        put_tetrahedra(q, 1u << l, vertex, plane, CLR_SMALL, CLR_SMALL);
        return 1;
    }
    return 0;
}

static double length(const float *a) { return sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]); }
static double inner(const float *a, const float *b) {
    return (double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2];
}

static void vertex_at(const polytope32 *q, int i, float out[3]) {
    for (int j = 0; j < 3; j++) out[j] = *coordinate((polytope32 *)q, i, j);
}

// check ends the program where an edge lacks its twin, or the surface does not wind around the
// origin once (by solid angles: van Oosterom and Strackee, 1983, eq. 8).
static void check(const polytope32 *q) {
    double sum = 0;
    for (uint64_t m = q->live; m; m &= m - 1) {
        int f = __builtin_ctzll(m);
        for (int e = 0; e < 3; e++) {
            int i = q->corner[f][e], j = q->corner[f][(e + 1) % 3], twins = 0;
            for (uint64_t n = q->live; n; n &= n - 1) {
                const uint8_t *other = q->corner[__builtin_ctzll(n)];
                for (int k = 0; k < 3; k++) twins += other[k] == j && other[(k + 1) % 3] == i;
            }
            if (twins != 1) printf("face %d, edge %d-%d: %d twins\n", f, i, j, twins), exit(1);
        }
        float a[3], b[3], c[3];
        vertex_at(q, q->corner[f][0], a), vertex_at(q, q->corner[f][1], b), vertex_at(q, q->corner[f][2], c);
        double la = length(a), lb = length(b), lc = length(c);
        sum += 2 * atan2(triple(a, b, c), la * lb * lc + inner(a, b) * lc + inner(b, c) * la + inner(c, a) * lb);
    }
    if (fabs(sum - 4 * 3.14159265358979324) > 1e-3) printf("solid angle %g\n", sum), exit(1);
}

int main(void) {
    static polytope32 q[W] __attribute__((aligned(64)));
    int kept = 0, spoilt = 0, steps = 0;
    for (int trial = 0; trial < 3000; trial++) {
        unsigned active = 0, ended = 0;
        for (int l = 0; l < W; l++) {
            draw(cloud[l], (trial + l) % 3);
            active |= (unsigned)start(q, l, cloud[l]) << l;
        }
        while (active) {
            for (unsigned m = active; m; m &= m - 1) {
                int l = __builtin_ctz(m), best = 0;
                find_nearest32(q + l);
                if (!(q[l].nearest_key > (float)VERTEX32_ERROR)) {
                    active &= ~(1u << l);
                    continue;
                }
                check(q + l);
                const float n[3] = {q[l].nx[q[l].nearest], q[l].ny[q[l].nearest], q[l].nz[q[l].nearest]};
                for (int i = 1; i < POINTS; i++)
                    if (inner(n, cloud[l][i]) > inner(n, cloud[l][best])) best = i;
                if (inner(n, cloud[l][best]) <= q[l].nearest_key + POLYTOPE32_ROUNDING)
                    ended |= 1u << l, active &= ~(1u << l);
                else if (q[l].vertices == POLYTOPE32_VERTICES) active &= ~(1u << l);
                else {
                    for (int j = 0; j < 3; j++) *coordinate(q + l, q[l].vertices, j) = cloud[l][best][j];
                    q[l].vertices++;
                }
            }
            if (!active) break;
            unsigned closed = expand_polytopes32(q, active);
            spoilt += __builtin_popcount(active & ~closed);
            steps += __builtin_popcount(active);
            active = closed;
        }
        for (unsigned m = ended; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            static clr_found found;
            found.faces[0] = 0;
            store_polytope32(q + l, &found, 0, CLR_SMALL, CLR_SMALL);
            if (!found.faces[0]) continue;
            found.faces[0] = 0;
            kept++;
            // No support value is smaller than the least key, less its rounding bound.
            for (int i = 0; i < 100; i++) {
                float d[3] = {uniform32(), uniform32(), uniform32()};
                double high = -1, far = length(d);
                for (int k = 0; k < POINTS; k++) {
                    const double h =
                        inner(d, cloud[l][k]) / far; // with fmax, GCC 12 for arm64 ends with an internal error
                    high = h > high ? h : high;
                }
                if (high < q[l].nearest_key - VERTEX32_ERROR)
                    printf("a support_value of %g below %g\n", high, q[l].nearest_key), exit(1);
            }
#ifndef EXPAND
            // A surface without one of its faces is not closed. (With EXPAND, none is ever made.)
            const polytope32 broken = q[l];
            for (uint64_t f = broken.live; f; f &= f - 1) {
                polytope32 hole = broken;
                hole.live &= ~(f & -f);
                hole.key[__builtin_ctzll(f)] = INFINITY;
                find_nearest32(&hole);
                store_polytope32(&hole, &found, 0, CLR_SMALL, CLR_SMALL);
                if (found.faces[0]) printf("a hole was not found\n"), exit(1);
            }
#endif
        }
    }
    printf("%d kept %d spoilt %d steps\n", kept, spoilt, steps);
    return 0;
}
