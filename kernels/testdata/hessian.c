// Prints the Hessians of support functions that the vectors of one instruction set compute. Built by
// TestHessians with ISA set. Each row of the standard input is nine float64: a class, semi-axes, α2, α1 (or
// sharpness and flatness) and a unit direction. The output of each row is the basis p, q, the support point s,
// and h, <p, s>, <q, s>, <p, Hp>, <p, Hq>, <q, Hq>.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../shape/hessian.h"

int main(void) {
    double x[9];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        double in[CLR_IN][W], out[15][W];
        static double v[3][16];
        T(hulls) hull;
        memset(in, 0, sizeof in);
        // Corners of a box, and a profile.
        for (int j = 0; j < 16; j++) v[0][j] = v[1][j] = v[2][j] = 0;
        for (int j = 0; j < 8 && x[0] == CLR_SMOOTH_HULL; j++)
            for (int i = 0; i < 3; i++) v[i][j] = (j >> i & 1 ? 1 : -1) * x[1 + i];
        if (x[0] == CLR_SMOOTH_REVOLUTION)
            v[0][0] = v[0][1] = x[1], v[1][0] = x[2], v[1][1] = -x[2], v[0][2] = 0.5 * x[1], v[1][2] = x[3];
        clr_shape shape = {.count = 8, .class = (int32_t)x[0], .p = {x[1], x[2], x[3]}, .extent = {x[4] / 2, x[5] / 2}};
        if (shape.class != CLR_SUPERQUADRIC) shape.extent[0] = x[4], shape.extent[1] = 1 / x[4], shape.extent[2] = x[5];
        clr_call call = {.vx = v[0], .vy = v[1], .vz = v[2]};
        for (int l = 0; l < W; l++) {
            T(put_hull)(&hull, l, &shape, shape.class);
            for (int j = 0; j < 3; j++) in[CLR_PA + j][l] = shape.class == CLR_SMOOTH_HULL ? 0 : x[1 + j];
        }
        T(places) at = {.call = &call, .in = in[0], .stride = W, .hull = {&hull, &hull}, .lanes = LANES};
        V3 n = {SET1(x[6]), SET1(x[7]), SET1(x[8])}, p, q, s;
        T(across)(n, &p, &q);
        T(curvature) b = T(add_curvature)(&at, shape.class, 0, n, p, q, &s);
        T(st3)(out[0], W, p);
        T(st3)(out[3], W, q);
        T(st3)(out[6], W, s);
        VF more[6] = {b.h, b.p, b.q, b.pp, b.pq, b.qq};
        for (int j = 0; j < 6; j++) STOREU(out[9 + j], more[j]);
        for (int j = 0; j < 15; j++) fwrite(out[j], sizeof(double), 1, stdout);
    }
    return 0;
}
