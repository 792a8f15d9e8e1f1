// Runs the kernels of derivatives under the sanitizers, on columns that end with their last value. Built by
// TestSanitizers with KERNEL_FILE and RUN_KERNEL, the unit of a variant; prints how many rows the kernels answered.
//
// The answers are right without a solver: B is put where its support point along -n is at a gap from that of A along n.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include KERNEL_FILE
#define uniform uniform_number // the kernel has another one
#include "uniform.h"

static void *allocated(size_t n, size_t size) {
    static void *volatile kept[1000]; // no leaks
    static int count = 0;
    void *p = malloc(n * size); // the exact size, so that an access beyond it is found
    if (!p || count == 1000) abort();
    return kept[count++] = p;
}

enum { SHAPES = 14, ROWS = 53, SAMPLES = 7 };

static derive_call call;
static double *position_a, *position_b, *rotation_a, *rotation_b, *value, *normal, *witness_a, *witness_b;
static int32_t *shape_a, *shape_b;

// support is the support point of one shape of row i in a direction of the world.
static void support(double to[3], int i, int second, const double n[3]) {
    side s;
    int64_t from[W];
    for (int k = 0; k < W; k++) from[k] = i;
    place(&s, &call, from, second ? shape_b : shape_a, second ? position_b : position_a,
          second ? rotation_b : rotation_a);
    V3 d = {SET1(n[0]), SET1(n[1]), SET1(n[2])};
    V3 x = axpy64(s.radius, d, core_support(&call, &s, core_of(s.shape[0]), d, (1 << W) - 1));
    to[0] = x.x[0], to[1] = x.y[0], to[2] = x.z[0];
}

static double *numbers_of(int width) {
    double *x = allocated((size_t)ROWS * width, sizeof *x);
    for (int i = 0; i < ROWS * width; i++) x[i] = uniform_number();
    return x;
}

int main(void) {
    static const int class[SHAPES] = {
        CLR_BOX,       CLR_BOX,          CLR_BOX,         CLR_FRUSTUM,     CLR_FRUSTUM,
        CLR_ELLIPSOID, CLR_SUPERQUADRIC, CLR_SMOOTH_HULL, CLR_SMOOTH_HULL, CLR_SMOOTH_REVOLUTION,
        CLR_SMALL,     CLR_HULL,         CLR_NO_CLASS,    CLR_NO_CLASS};
    static const int form[SHAPES] = {CLR_POINT, CLR_SEGMENT, CLR_CUBOID, [12] = CLR_HALF};
    static const int counts[SHAPES] = {[7] = 5, [8] = 17, [9] = 3, [10] = 8, [11] = 300};
    clr_shape *shapes = allocated(SHAPES, sizeof *shapes);
    memset(shapes, 0, SHAPES * sizeof *shapes);
    double *centers = allocated(SHAPES * CLR_CENTER_VALUES, sizeof *centers);
    for (int i = 0; i < SHAPES * CLR_CENTER_VALUES; i++) centers[i] = i % CLR_CENTER_VALUES == 3; // at the origins
    int vertices = 0, links = 0;
    for (int i = 0; i < SHAPES; i++) {
        clr_shape *s = shapes + i;
        s->class = class[i], s->form = form[i], s->margin = i % 3 ? 0.1 : 0, s->size = 0.8;
        if (form[i] == CLR_POINT) s->margin = 0.3;
        s->p[0] = 0.3, s->p[1] = i == 4 ? 0 : 0.2, s->p[2] = 0.4;
        if (form[i] == CLR_POINT || form[i] == CLR_SEGMENT) s->p[0] = s->p[1] = 0; // flat boxes
        if (form[i] == CLR_POINT) s->p[2] = 0;
        if (class[i] == CLR_SMOOTH_HULL) s->p[0] = s->p[1] = s->p[2] = 0;
        s->extent[0] = class[i] == CLR_SUPERQUADRIC ? 0.45 : 8,
        s->extent[1] = class[i] == CLR_SUPERQUADRIC ? 0.35 : 0.125;
        s->extent[2] = 0.1, s->negligible = 1e-5;
        s->first = vertices, s->count = counts[i], s->spread = 2, s->inner = 0.05;
        vertices += (counts[i] + CLR_VERTEX_ALIGN - 1) / CLR_VERTEX_ALIGN * CLR_VERTEX_ALIGN;
        if (core_of(s) == CLR_HULL) links += 2 * counts[i];
    }
    double *v[3];
    for (int k = 0; k < 3; k++) v[k] = allocated(vertices, sizeof(double));
    int32_t *starts = allocated((size_t)vertices + 1, sizeof *starts), *neighbors = allocated(links, sizeof *neighbors);
    links = 0;
    for (int i = 0, at = 0; i < SHAPES; i++)
        for (int j = 0; j < counts[i] || (counts[i] && j % CLR_VERTEX_ALIGN); j++, at++) {
            starts[at] = links;
            double x[3], square = 0;
            for (int k = 0; k < 3; k++) x[k] = uniform_number(), square += x[k] * x[k];
            for (int k = 0; k < 3; k++) {
                v[k][at] = j < counts[i]                     ? 0.4 * x[k] / root1(square)
                           : core_of(shapes + i) == CLR_HULL ? v[k][at - 1]
                                                             : 0;
                if (class[i] == CLR_SMOOTH_REVOLUTION) v[k][at] = k == 2 ? 0 : k == 1 ? 0.2 * (j - 1) : 0.3;
            }
            if (class[i] == CLR_SMOOTH_REVOLUTION && j >= counts[i]) v[0][at] = v[1][at] = 0;
            if (core_of(shapes + i) != CLR_HULL || j >= counts[i]) continue;
            neighbors[links++] = (j + 1) % counts[i];
            neighbors[links++] = (j + counts[i] - 1) % counts[i];
        }
    starts[vertices] = links;

    shape_a = allocated(ROWS, sizeof *shape_a), shape_b = allocated(ROWS, sizeof *shape_b);
    position_a = numbers_of(3), position_b = numbers_of(3), rotation_a = numbers_of(4), rotation_b = numbers_of(4);
    value = numbers_of(1), normal = numbers_of(3), witness_a = numbers_of(3), witness_b = numbers_of(3);
    double *cotangents = numbers_of(10), *gradients = numbers_of(12), *twists = numbers_of(12),
           *tangents = numbers_of(10);
    uint8_t *status = allocated(ROWS, 1), *smoothness = allocated(ROWS, 1), *marks = allocated(ROWS, 1);
    float *gap = allocated(ROWS, sizeof *gap);
    float *narrow[4];
    static const int widths[4] = {1, 3, 3, 3}, out_widths[5] = {12, 36, 36, 36, 6};
    for (int k = 0; k < 4; k++) narrow[k] = allocated((size_t)ROWS * widths[k], sizeof(float));
    long answered = 0;
    for (int t = 0; t < 4 * SHAPES; t++) {
        call = (derive_call){.shapes = shapes,
                             .shape_count = SHAPES,
                             .vertices = {v[0], v[1], v[2]},
                             .centers = centers,
                             .neighbor_starts = starts,
                             .neighbors = neighbors,
                             .shape_a = shape_a,
                             .shape_b = shape_b,
                             .position_a = position_a,
                             .position_b = position_b,
                             .rotation_a = rotation_a,
                             .rotation_b = rotation_b,
                             .valid = t & 1,
                             .gap = gap,
                             .status = status,
                             .marks = marks,
                             .cut_off = 1e9,
                             .single = t & 1,
                             .growth = t % 7 == 6,
                             .mode = t % 3,
                             .samples = 70,
                             .rings = t % 2,
                             .epsilon = t % 3 == 1 && t % 2 ? 0 : 0.05,
                             .seed = 1,
                             .single_out = t >> 1 & 1,
                             .smoothness = smoothness,
                             .cotangents = cotangents,
                             .gradients = gradients,
                             .twists = twists,
                             .tangents = tangents};
        for (int i = 0; i < ROWS; i++) {
            shape_a[i] = t < SHAPES ? t : (i / 4 + t) % SHAPES, shape_b[i] = (i + t) % (SHAPES - 2);
            if (t == 1 && i == 3) shape_a[i] = SHAPES; // beyond the list
            status[i] = 0, marks[i] = i % 17 != 5, gap[i] = 0;
            double n[3], a[3], b[3], square = 0, apart = t % 5 == 4 ? -0.01 : 0.05, *q = rotation_a + 4 * i;
            for (int k = 0; k < 3; k++) n[k] = uniform_number(), square += n[k] * n[k];
            if (shape_a[i] == 12) { // a half-space: its normal
                double length = 0;
                for (int k = 0; k < 4; k++) length += q[k] * q[k];
                n[0] = 2 * (q[1] * q[3] + q[0] * q[2]), n[1] = 2 * (q[2] * q[3] - q[0] * q[1]);
                n[2] = q[0] * q[0] - q[1] * q[1] - q[2] * q[2] + q[3] * q[3], square = length * length;
            }
            for (int k = 0; k < 3; k++) n[k] /= root1(square);
            support(a, i, 0, n);
            const double opposite[3] = {-n[0], -n[1], -n[2]};
            support(b, i, 1, opposite);
            value[i] = apart;
            for (int k = 0; k < 3; k++) {
                position_b[3 * i + k] += a[k] + apart * n[k] - b[k];
                normal[3 * i + k] = n[k], witness_a[3 * i + k] = a[k], witness_b[3 * i + k] = a[k] + apart * n[k];
            }
        }
        const double *wide[4] = {value, normal, witness_a, witness_b};
        const void *in[4];
        for (int k = 0; k < 4; k++) {
            for (int i = 0; i < ROWS * widths[k]; i++) narrow[k][i] = (float)wide[k][i];
            in[k] = call.single ? (const void *)narrow[k] : wide[k];
        }
        call.value = in[0], call.normal = in[1], call.witness_a = in[2], call.witness_b = in[3];
        void *out[5];
        for (int k = 0; k < 5; k++) out[k] = allocated((size_t)ROWS * out_widths[k], call.single_out ? 4 : 8);
        call.d_value = out[0], call.d_normal = out[1], call.d_witness_a = out[2], call.d_witness_b = out[3];
        call.curvature = out[4];
        int32_t *left = allocated(ROWS, sizeof *left);
        for (int64_t lo = 0; lo < ROWS; lo += 29) {
            int64_t hi = lo + 29 < ROWS
            ? lo + 29 : ROWS;
            for (int reported = 0; reported < 2; reported++) {
                int32_t n = (reported ? RUN_KERNEL.values : RUN_KERNEL.all)(&call, lo, hi, left);
                char seen[ROWS] = {0};
                for (int32_t k = 0; k < n; k++) {
                    if (left[k] < lo || left[k] >= hi || seen[left[k]]++) {
                        printf("row %d is declined out of range or twice\n", left[k]);
                        return 1;
                    }
                }
                if (!reported) answered += hi - lo - n;
            }
        }
    }

    // Estimates of order zero.
    enum { PADDED = DERIVE_ALIGN };
    uint64_t number[3] = {1, 5, 1u << 31};
    double size[3] = {1, 2, 3}, position[9] = {0}, rotation[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1};
    double *noise = allocated(3 * 6 * PADDED, sizeof(double)), *sums = allocated(180, sizeof(double));
    memset(sums, 0, 180 * sizeof *sums);
    double *to_position = allocated(3 * SAMPLES * 3, sizeof(double)), *at = allocated(30, sizeof(double));
    double *to_rotation = allocated(3 * SAMPLES * 4, sizeof(double)), *column[4];
    for (int k = 0; k < 4; k++) {
        column[k] = allocated((size_t)3 * SAMPLES * widths[k], sizeof(double));
        for (int i = 0; i < 3 * SAMPLES * widths[k]; i++) column[k][i] = uniform_number();
    }
    for (int k = 0; k < 30; k++) at[k] = uniform_number();
    derive_samples e = {.samples = SAMPLES,
                        .seed = 7,
                        .epsilon = 0.1,
                        .number = number,
                        .size = size,
                        .position = position,
                        .rotation = rotation,
                        .noise = noise,
                        .to_position = to_position,
                        .to_rotation = to_rotation,
                        .value = column[0],
                        .normal = column[1],
                        .witness_a = column[2],
                        .witness_b = column[3],
                        .at = at,
                        .sums = sums};
    RUN_KERNEL.displace(&e, 0, 3);
    RUN_KERNEL.add(&e, 0, 3);
    printf("%ld rows answered\n", answered);
    return 0;
}
