// Measures the errors of relative poses in float32 (input.h) and of the axes of boxes in them
// (box_axes.h). Built by TestFrame with ISA set. Prints the number of rows, the numbers of rows out of
// range that were accepted and of rows in range that were declined, then the largest errors, in
// units of 2^-24: of rotations, of translations relative to their length, and of axes
// relative to the length that box_axes.h states.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../isa/real32.h"
#include "../pairs/box_axes.h"

static uint64_t state = 88172645463325252u;
static double uniform(void) { // in [-1, 1)
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) * 0x1p-52 - 1;
}
static double power(double most) { return pow(10, most * uniform()); }

// drawn writes a quaternion: random, of four equal components, with some components 0, or close to `near`.
static void drawn(int kind, const double *near, double *q) {
    for (int j = 0; j < 4; j++) {
        q[j] = kind == 1 ? copysign(0.5 + 1e-3 * uniform(), uniform()) : kind == 2 ? uniform() * power(6) : uniform();
        if (kind == 3 && near) q[j] = near[j] + 1e-4 * uniform();
    }
    const double n = power(4) / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int j = 0; j < 4; j++) q[j] *= n;
}

static void rotation_of(const double *q, double m[3][3]) {
    const double s = 2 / (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), w = q[0], v[3] = {q[1], q[2], q[3]};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int k = 3 - i - j;
            if (i == j) m[i][i] = 1 - s * (v[(i + 1) % 3] * v[(i + 1) % 3] + v[(i + 2) % 3] * v[(i + 2) % 3]);
            else m[i][j] = s * (v[i] * v[j] + ((j - i + 3) % 3 == 1 ? -w : w) * v[k]);
        }
}

// axes repeats box_axes of box_axes.h in float64.
static double axes(const double a[3], const double b[3], const double t[3], double m[3][3]) {
    double most = -INFINITY;
    for (int k = 0; k < 15; k++) {
        double n[3] = {0, 0, 0}, apart = 0;
        const int i = (k - 6) / 3, j = (k - 6) % 3;
        for (int c = 0; c < 3; c++) {
            if (k < 3) n[c] = c == k;
            else if (k < 6) n[c] = m[c][k - 3];
            else if (c != i) n[c] = c == (i + 1) % 3 ? -m[(i + 2) % 3][j] : m[(i + 1) % 3][j];
        }
        for (int c = 0; c < 3; c++) apart += n[c] * t[c];
        apart = fabs(apart);
        for (int c = 0; c < 3; c++)
            apart -= a[c] * fabs(n[c]) + b[c] * fabs(n[0] * m[0][c] + n[1] * m[1][c] + n[2] * m[2][c]);
        most = fmax(most, apart);
    }
    return most;
}

int main(void) {
    enum { BLOCKS_DRAWN = 20000 };
    static double position[2][W][3], rotation[2][W][4];
    double worst[3] = {0, 0, 0};
    long rows = 0, taken = 0, refused = 0;
    for (int block = 0; block < BLOCKS_DRAWN; block++) {
        int32_t shape[W] = {0}, order[W];
        int out[W] = {0};
        for (int l = 0; l < W; l++) {
            const double far = block % 3 ? 0 : 9e8, apart = power(4);
            order[l] = block & 1 ? W - 1 - l : l; // the second is a run of rows
            drawn(block % 4, 0, rotation[0][l]);
            drawn(block / 4 % 4, rotation[0][l], rotation[1][l]);
            for (int j = 0; j < 3; j++) {
                position[0][l][j] = far * uniform();
                position[1][l][j] = position[0][l][j] + apart * uniform() * (block % 5 ? 1 : power(3));
            }
            const int wrong = block % 7 == 6 && l % 3 == 1 ? block % 6 + 1 : 0;
            out[l] = wrong != 0;
            if (wrong == 1) position[0][l][2] = 1.5e9, position[1][l][2] = 1.5e9;
            if (wrong == 2) position[1][l][0] = NAN;
            if (wrong == 3) position[0][l][1] = -INFINITY;
            for (int j = 0; j < 4 && wrong > 3; j++)
                rotation[wrong & 1][l][j] *= wrong == 4 ? 1e-50 : wrong == 5 ? 1e30 : NAN;
        }
        const clr_call c = {.shape_a = shape,
                            .shape_b = shape,
                            .position_a = position[0][0],
                            .position_b = position[1][0],
                            .rotation_a = rotation[0][0],
                            .rotation_b = rotation[1][0]};
        frame_shapes shapes;
        const pair_frame f = frame_of(&c, 0, order, W, &shapes);
        double half[2][3][W];
        float single[2][3][W] __attribute__((aligned(64))), m[9][W] __attribute__((aligned(64))),
            t[3][W] __attribute__((aligned(64))), most[W] __attribute__((aligned(64)));
        for (int l = 0; l < W; l++)
            for (int s = 0; s < 2; s++)
                for (int j = 0; j < 3; j++) single[s][j][l] = (float)(half[s][j][l] = power(4));
        for (int j = 0; j < 9; j++) STOREU(m[j], f.m[j]);
        T(st3)(t[0], W, f.t);
        STOREU(most, T(box_axes)(T(ld3)(single[0][0], W), T(ld3)(single[1][0], W), f.t, f.m));
        for (int l = 0; l < W; l++) {
            const int i = order[l], good = MBITS(f.good) >> l & 1;
            rows++;
            taken += out[i] && (good && isfinite(t[0][l] + t[1][l] + t[2][l]));
            refused += !out[i] && !good;
            if (out[i] || !good) continue;
            double ra[3][3], rb[3][3], r[3][3], d[3], flipped[3], off[2] = {0, 0}, long2 = 0, a[3], b[3], length = 0;
            rotation_of(rotation[0][i], ra);
            rotation_of(rotation[1][i], rb);
            for (int j = 0; j < 3; j++) d[j] = position[1][i][j] - position[0][i][j], long2 += d[j] * d[j];
            for (int j = 0; j < 3; j++) {
                for (int k = 0; k < 3; k++) {
                    r[j][k] = ra[0][j] * rb[0][k] + ra[1][j] * rb[1][k] + ra[2][j] * rb[2][k];
                    off[0] +=
                        (m[3 * j + k][l] - r[j][k]) * (m[3 * j + k][l] - r[j][k]); // an upper bound: the Frobenius norm
                }
                flipped[j] = ra[0][j] * d[0] + ra[1][j] * d[1] + ra[2][j] * d[2];
                off[1] += (t[j][l] - flipped[j]) * (t[j][l] - flipped[j]);
                a[j] = half[0][j][l], b[j] = half[1][j][l];
            }
            length = sqrt(long2) + sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) +
                     sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2]);
            worst[0] = fmax(worst[0], sqrt(off[0]));
            worst[1] = fmax(worst[1], sqrt(off[1] / long2));
            worst[2] = fmax(worst[2], fabs(axes(a, b, flipped, r) - most[l]) / length);
        }
    }
    printf("%ld rows %ld taken %ld refused %g rotation %g translation %g axes\n", rows, taken, refused,
           worst[0] * 0x1p24, worst[1] * 0x1p24, worst[2] * 0x1p24);
    return 0;
}
