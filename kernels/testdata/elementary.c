// Prints log2, log2(1 + q) and exp2 as the vectors of one instruction set compute them. Built by
// TestElementary with ISA and REAL_BITS set; reads arguments as float64 from the standard input,
// rounds them to the type, and writes three float64 for each.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../isa/isa.h"
#include "../isa/elementary.h"

int main(void) {
    double x[W];
    size_t n;
    while ((n = fread(x, sizeof *x, W, stdin)) > 0) {
        REAL in[W] __attribute__((aligned(64))), out[3][W] __attribute__((aligned(64)));
        for (size_t l = 0; l < W; l++) in[l] = (REAL)x[l < n ? l : 0];
        VF v = LOADU(in);
        STOREU(out[0], T(log2)(v));
        STOREU(out[1], T(log2_1p)(v));
        STOREU(out[2], T(exp2)(-v));
        for (size_t l = 0; l < n; l++)
            for (int k = 0; k < 3; k++) {
                double y = out[k][l];
                fwrite(&y, sizeof y, 1, stdout);
            }
    }
    return 0;
}
