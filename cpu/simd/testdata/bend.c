// Prints how support functions bend, as the vectors of one instruction set compute it. Built by
// TestBend with ISA set; reads rows of a class, semi-axes, α2, α1 and a unit direction as nine
// float64 from the standard input, and writes of each the basis p, q, the support point, and
// h, <p, s>, <q, s>, <p, Hp>, <p, Hq>, <q, Hq>.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../api.h"
#define REAL_BITS 32
#include ISA
#include "../vec3.h"
#include "../support.h"
#undef TINY
#include "../isa_undef.h"
#define REAL_BITS 64
#include ISA
#include "../vec3.h"
#include "../support.h"
#include "../bend.h"

int main(void) {
    double x[9];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        double in[CLR_IN][W], out[15][W];
        T(hulls) hull;
        memset(in, 0, sizeof in);
        clr_shape shape = {.class = (int32_t)x[0], .p = {x[1], x[2], x[3]}, .extent = {x[4] / 2, x[5] / 2}};
        for (int l = 0; l < W; l++) {
            T(put_hull)(&hull, l, &shape, shape.class);
            for (int j = 0; j < 3; j++) in[CLR_PA + j][l] = x[1 + j];
        }
        T(places) at = {.in = in[0], .stride = W, .hull = {&hull, &hull}, .lanes = LANES};
        V3 n = {SET1(x[6]), SET1(x[7]), SET1(x[8])}, p, q, s;
        T(across)(n, &p, &q);
        T(bend) b = T(bend_side)(&at, shape.class, 0, n, p, q, &s);
        T(st3)(out[0], W, p);
        T(st3)(out[3], W, q);
        T(st3)(out[6], W, s);
        VF more[6] = {b.h, b.p, b.q, b.pp, b.pq, b.qq};
        for (int j = 0; j < 6; j++) STOREU(out[9 + j], more[j]);
        for (int j = 0; j < 15; j++) fwrite(out[j], sizeof(double), 1, stdout);
    }
    return 0;
}
