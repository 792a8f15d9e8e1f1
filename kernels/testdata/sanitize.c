// Runs a kernel under the sanitizers, on columns that end with their last value: that of growth distances if the
// argument is "growth", else the other one. Built by TestSanitizers with KERNEL_FILE and RUN_KERNEL;
// prints how many rows the kernel answered.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include KERNEL_FILE
#include "uniform.h"

static void *allocated(size_t n, size_t size) {
    void *p = malloc(n * size); // the exact size, so that an access beyond it is found
    if (!p) abort();
    return p;
}

enum { SHAPES = 18, CELLS = 10, TEMPLATES = 3 }; // CELLS: the hull with direction cells

int main(int count_of_arguments, char **argument) {
    const int growth = count_of_arguments > 1 && strcmp(argument[1], "growth") == 0;
    // Shapes of every class and form, hulls of 4, 16, 17 and 40 vertices, a half-space, and one without a kernel.
    clr_shape *shapes = allocated(SHAPES, sizeof *shapes);
    memset(shapes, 0, SHAPES * sizeof *shapes);
    int counts[SHAPES] = {0, 0, 0, 0, 0, 0, 0, 4, 16, 17, 40, 0, 0, 3, 8, 20, 0, 0};
    int class[SHAPES] = {CLR_BOX,          CLR_BOX,
                         CLR_BOX,          CLR_ELLIPSOID,
                         CLR_FRUSTUM,      CLR_FRUSTUM,
                         CLR_ELLIPSOID,    CLR_SMALL,
                         CLR_SMALL,        CLR_HULL,
                         CLR_HULL,         CLR_SUPERQUADRIC,
                         CLR_SUPERQUADRIC, CLR_SMOOTH_REVOLUTION,
                         CLR_SMOOTH_HULL,  CLR_SMOOTH_HULL,
                         CLR_NO_CLASS,     CLR_NO_CLASS};
    int form[SHAPES] = {[0] = CLR_POINT, [1] = CLR_SEGMENT, [2] = CLR_CUBOID, [SHAPES - 2] = CLR_HALF};
    int vertices = 0;
    double *centers = allocated(SHAPES * CLR_CENTER_VALUES, sizeof(double));
    for (int i = 0; i < SHAPES; i++) {
        clr_shape *s = shapes + i;
        double *center = centers + CLR_CENTER_VALUES * i;
        for (int j = 0; j < 3; j++) center[j] = i % 3 ? 0 : 0.01 * uniform(), center[8 + j] = -center[j];
        center[3] = form[i] == CLR_HALF ? 0 : 0.05;
        center[4] = 0.02, center[5] = center[7] = 1.6, center[6] = center[11] = 0;
        s->class = class[i];
        s->form = form[i];
        for (int j = 0; j < 3; j++) s->p[j] = i == 0 ? 0 : i == 1 && j < 2 ? 0 : 0.3 + 0.2 * uniform();
        s->radius = i < 3 ? 0.1 * i : 0;
        if (class[i] == CLR_ELLIPSOID) s->radius = s->erode = 0.05;
        for (int j = 0; j < 2; j++) s->extent[j] = i % 2 ? 0.005 : 0.8; // halves of exponents
        const int powered = class[i] == CLR_SMOOTH_REVOLUTION || class[i] == CLR_SMOOTH_HULL;
        if (powered) s->extent[0] = 10, s->extent[1] = 0.1, s->extent[2] = 0.001;
        s->size = 1.5;
        s->first = vertices;
        s->count = counts[i];
        vertices += (counts[i] + CLR_VERTEX_ALIGN - 1) / CLR_VERTEX_ALIGN * CLR_VERTEX_ALIGN;
    }
    clr_shape32 *shapes32 = allocated(SHAPES, sizeof *shapes32);
    for (int i = 0; i < SHAPES; i++) {
        const clr_shape *s = shapes + i;
        shapes32[i] = (clr_shape32){.radius = (float)s->radius,
                                    .size = (float)s->size,
                                    .erode = (float)s->erode,
                                    .first = s->first,
                                    .count = s->count};
        for (int j = 0; j < 3; j++) shapes32[i].p[j] = (float)s->p[j], shapes32[i].center[j] = (float)s->center[j];
    }
    double *v[3], *corners = allocated((size_t)vertices * 4, sizeof(double));
    float *f[3], *cell_values = allocated(SHAPES * CLR_CELL_VALUES, sizeof(float)),
                 *points = allocated((size_t)vertices * 4, sizeof(float));
    for (int k = 0; k < 3; k++) {
        v[k] = allocated(vertices, sizeof(double));
        f[k] = allocated(vertices, sizeof(float));
    }
    for (int i = 0; i < SHAPES; i++)
        for (int j = 0; j < counts[i] || (counts[i] && j % CLR_VERTEX_ALIGN); j++)
            for (int k = 0; k < 3; k++) {
                int at = shapes[i].first + j;
                v[k][at] = j < counts[i] ? 0.5 * uniform() : v[k][at - 1];
                f[k][at] = (float)v[k][at];
                corners[4 * at + k] = v[k][at];
                points[4 * at + k] = f[k][at];
            }

    // Lists: each hull has one of all its vertices, the last has it for each of six cells. CELLS cells with a candidate
    // vertex.
    int blocks = 0, cells = 0;
    for (int i = 0; i < SHAPES; i++) blocks += (counts[i] + W32 - 1) / W32 * (i == CELLS ? 6 : 1);
    float *lists = allocated((size_t)blocks * 4 * W32, sizeof(float));
    int32_t *starts = allocated(SHAPES + 1 + 5, sizeof *starts),
            *candidates = allocated(SHAPES + 5, sizeof *candidates);
    blocks = 0;
    for (int i = 0; i < SHAPES; i++) {
        clr_shape *s = shapes + i;
        s->cells = cells;
        for (int j = 0; s->class >= CLR_SMALL && j < 3; j++) s->extent[j] = i == CELLS;
        for (int j = 0; j < 3; j++)
            cell_values[CLR_CELL_VALUES * i + j] = cell_values[CLR_CELL_VALUES * i + 4 + j] = (float)s->extent[j];
        memcpy(&cell_values[CLR_CELL_VALUES * i + 3], &s->cells, sizeof s->cells);
        memcpy(&cell_values[CLR_CELL_VALUES * i + 7], &s->cells, sizeof s->cells);
        for (int cell = 0; cell < (i == CELLS ? 6 : 1); cell++) {
            candidates[cells] = s->first + cell;
            starts[cells++] = blocks;
            for (int k = 0; k < counts[i]; k += W32, blocks++)
                for (int l = 0; l < W32; l++) {
                    int at = k + l < counts[i] ? k + l : counts[i] - 1;
                    for (int j = 0; j < 3; j++) lists[(size_t)(4 * blocks + j) * W32 + l] = f[j][s->first + at];
                    lists[(size_t)(4 * blocks + 3) * W32 + l] = (float)at;
                }
        }
    }
    starts[cells] = blocks;

    clr_scratch *scratch = allocated(CLR_SCRATCHES, sizeof *scratch);
    memset(scratch, 0, CLR_SCRATCHES * sizeof *scratch);
    long answered = 0;
    static const int longer[] = {257, 700, CLR_BLOCK};
    for (size_t t = 0; t < 67 + sizeof longer / sizeof *longer; t++)
        for (int mode = 0; mode < 8; mode++) {
            int worlds = mode & 1, collide = mode >> 1 & 1, dbl = mode >> 2 & 1;
            int n = t < 67 ? (int)t + 1 : longer[t - 67];
            if (worlds) n = (n + TEMPLATES - 1) / TEMPLATES * TEMPLATES;
            if (n > CLR_BLOCK) continue;
            clr_call c = {.shapes = shapes,
                          .shapes32 = shapes32,
                          .shape_count = SHAPES,
                          .vx = v[0],
                          .vy = v[1],
                          .vz = v[2],
                          .fx = f[0],
                          .fy = f[1],
                          .fz = f[2],
                          .corners = corners,
                          .cell_values = cell_values,
                          .points = points,
                          .candidates = candidates,
                          .lists = lists,
                          .starts = starts,
                          .centers = centers,
                          .growth = growth,
                          .boolean = growth && collide,
                          .collide = !growth && collide,
                          .automatic = !growth && t % 4 != 1,
                          .rtr = t % 5 > 1,
                          .single = !dbl,
                          .tolerance = dbl ? 1e-12 : 5e-7,
                          .curved_depth = dbl ? 1e-8 : 5e-7,
                          .has_cut_off = t % 3 == 0,
                          .cut_off = 0.2,
                          .first = 1000};
            int first = 1000; // rows below it belong to another call
            int rows = first + n;
            if (worlds) {
                rows = (first + TEMPLATES - 1) / TEMPLATES * TEMPLATES + n;
                c.first = first = rows - n;
                int count = rows / TEMPLATES, bodies = 4;
                double *poses = allocated((size_t)count * bodies * 7, sizeof(double));
                int32_t *body = allocated(bodies, 4), *ta = allocated(TEMPLATES, 4), *tb = allocated(TEMPLATES, 4);
                for (int i = 0; i < count * bodies * 7; i++) poses[i] = uniform();
                for (int i = 0; i < bodies; i++) body[i] = (int)((t * 5 + 3 * i) % SHAPES);
                for (int i = 0; i < TEMPLATES; i++) ta[i] = i, tb[i] = i + 1;
                c.poses = poses, c.body_shape = body, c.template_a = ta, c.template_b = tb, c.bodies = bodies,
                c.templates = TEMPLATES;
            } else {
                int32_t *a = allocated(rows, 4), *b = allocated(rows, 4);
                double *pa = allocated(3 * rows, 8), *pb = allocated(3 * rows, 8), *qa = allocated(4 * rows, 8),
                       *qb = allocated(4 * rows, 8), *warm = allocated(3 * rows, 8);
                for (int i = 0; i < rows; i++) {
                    a[i] = i % 41 == 7 ? -5 : i % (SHAPES);
                    b[i] = i % 43 == 9 ? SHAPES : (i / SHAPES) % SHAPES;
                }
                for (int i = 0; i < 3 * rows; i++)
                    pa[i] = uniform(), pb[i] = 1.5 * uniform(), warm[i] = i % 2 ? 0 : uniform();
                for (int i = 0; i < 4 * rows; i++) qa[i] = uniform(), qb[i] = uniform();
                for (int i = 0; i < rows; i += 29) pa[3 * i] = 0.0 / 0.0, qb[4 * i] = 1e300;
                c.shape_a = a, c.shape_b = b, c.position_a = pa, c.position_b = pb, c.rotation_a = qa,
                c.rotation_b = qb;
                if (t % 2) c.warm = warm;
                else free(warm);
            }
            const int real = dbl ? 8 : 4;
            if (!collide) {
                c.columns[CLR_COLUMN_DISTANCE] = allocated(n, real),
                c.columns[CLR_COLUMN_NORMAL] = allocated(3 * n, real);
                c.columns[CLR_COLUMN_WITNESS_A] = allocated(3 * n, real);
                c.columns[CLR_COLUMN_WITNESS_B] = allocated(3 * n, real);
                if (growth) c.columns[CLR_COLUMN_POINT] = allocated(3 * n, real);
                c.columns[CLR_COLUMN_GAP] = allocated(n, 4);
            }
            uint8_t *status = c.columns[CLR_COLUMN_STATUS] = allocated(n, 1);
            c.columns[CLR_COLUMN_ITERATIONS] = allocated(n, 2);
            memset(status, 77, n);
            int left = RUN_KERNEL(&c, scratch, first, first + n);
            for (int i = 0; i < left; i++) {
                int r = scratch->left[i];
                if (r < 0 || r >= n || status[r] != 77)
                    return printf("row %d of %d left, but answered or twice\n", r, n), 1;
                status[r] = 78;
            }
            for (int i = 0; i < n; i++) {
                if (status[i] == 77) return printf("row %d of %d lost\n", i, n), 1;
                answered += status[i] < 3;
            }
            free((void *)c.poses), free((void *)c.body_shape), free((void *)c.template_a), free((void *)c.template_b);
            free((void *)c.shape_a), free((void *)c.shape_b), free((void *)c.position_a), free((void *)c.position_b);
            free((void *)c.rotation_a), free((void *)c.rotation_b), free((void *)c.warm);
            for (unsigned k = 0; k < CLR_COLUMN_COUNT; k++) free(c.columns[k]);
        }
    for (int k = 0; k < 3; k++) free(v[k]), free(f[k]);
    free(centers), free(corners), free(cell_values), free(points), free(candidates);
    free(shapes), free(shapes32), free(scratch), free(lists), free(starts);
    printf("%ld rows answered\n", answered);
    return 0;
}
