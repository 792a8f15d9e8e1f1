// Runs the kernels of contacts under the sanitizers, on columns that end with their last value: steps of worlds of four
// bodies, for all sizes of groups, and contact points of pairs. Built by TestSanitizers with UNIT; prints how many
// worlds the solvers solved, and how many points were found.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../contact/include/api.h"
#include "uniform.h"

extern const contact_kernels UNIT;

enum { WORLDS = 37, BODIES = 4, PAIRS = 3, POINTS = 2, CONTACTS = PAIRS * POINTS, ROWS = WORLDS * PAIRS };

const char *__asan_default_options(void) { return "detect_leaks=0"; } // memory is not given back

static void *zeros(size_t n, size_t size) { // aligned to vectors, and of the exact size
    void *p;
    if (posix_memalign(&p, 64, n * size)) abort();
    return memset(p, 0, n * size);
}
static double *reals(size_t n) { return zeros(n, sizeof(double)); }
static int32_t *ints(size_t n) { return zeros(n, sizeof(int32_t)); }

static void unit(double *v, int n) {
    double square = 0;
    for (int i = 0; i < n; i++) v[i] = uniform(), square += v[i] * v[i];
    for (int i = 0; i < n; i++) v[i] /= sqrt(square);
}

static contact_columns problem(void) {
    contact_columns c = {.mass = reals(WORLDS * BODIES),
                         .inertia = reals(WORLDS * BODIES * 6),
                         .velocity = reals(WORLDS * BODIES * 6),
                         .count = ints(WORLDS),
                         .body_a = ints(WORLDS * CONTACTS),
                         .body_b = ints(WORLDS * CONTACTS),
                         .arm_a = reals(WORLDS * CONTACTS * 3),
                         .arm_b = reals(WORLDS * CONTACTS * 3),
                         .frame = reals(WORLDS * CONTACTS * 9),
                         .friction = reals(WORLDS * CONTACTS),
                         .target = reals(WORLDS * CONTACTS),
                         .warm = reals(WORLDS * CONTACTS * 3),
                         .impulse = reals(WORLDS * CONTACTS * 3),
                         .solved = reals(WORLDS * BODIES * 6),
                         .residual = reals(WORLDS),
                         .scale = reals(WORLDS),
                         .primal = reals(WORLDS),
                         .dual = reals(WORLDS),
                         .complementarity = reals(WORLDS),
                         .sweeps = ints(WORLDS)};
    for (int i = 0; i < WORLDS * BODIES; i++) c.mass[i] = i % BODIES ? 1 : INFINITY;
    return c;
}

static contact_state simulation(void) {
    contact_fixed *fixed = zeros(BODIES, sizeof *fixed);
    for (int b = 0; b < BODIES; b++) {
        contact_fixed f = {.mass = b ? 1 : INFINITY,
                           .inertia = {0.2, 0.25, 0.4},
                           .inverse = {5, 4, 2.5},
                           .radius = b ? 0.5 : INFINITY,
                           .arm = 0.5,
                           .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                           .turn = {5, 4, 2.5},
                           .spread = {1, 1.5, 2.5},
                           .round = b == 1};
        fixed[b] = f;
    }
    double *pose = reals(WORLDS * BODIES * 7), *v = reals(WORLDS * BODIES * 3), *l = reals(WORLDS * BODIES * 3);
    for (int i = 0; i < WORLDS * BODIES; i++) {
        for (int k = 0; k < 3; k++) pose[7 * i + k] = uniform(), v[3 * i + k] = uniform(), l[3 * i + k] = uniform();
        unit(pose + 7 * i + 3, 4);
    }
    pose[7 * BODIES + 3] = 2; // the first body of the second world
    return (contact_state){.fixed = fixed,
                           .pose = pose,
                           .velocities = v,
                           .momenta = l,
                           .force = reals(WORLDS * BODIES * 6),
                           .bodies = zeros(WORLDS * BODIES, sizeof(contact_body)),
                           .sides = zeros(WORLDS, 1),
                           .world_impulse = reals(WORLDS * 2 * CONTACTS * 3),
                           .energy = reals(WORLDS),
                           .allowed = reals(WORLDS),
                           .change = reals(WORLDS)};
}

static contact_assembly contacts(void) {
    contact_pair *pairs = zeros(PAIRS, sizeof *pairs);
    for (int p = 0; p < PAIRS; p++) {
        contact_pair pair = {
            .a = p ? p : 0, .b = p + 1, .carrier = p ? -1 : 0, .friction = 0.5, .size = 1, .slop = 1e-4};
        pairs[p] = pair;
    }
    contact_row *rows = zeros(ROWS, sizeof *rows);
    int32_t *first = ints(WORLDS + 1);
    double *normal = reals(ROWS * 3), *position = reals(ROWS * 12), *gap = reals(ROWS * 4);
    uint64_t *id = zeros(ROWS * 4, sizeof *id);
    for (int i = 0; i < ROWS; i++) {
        rows[i].pair = i % PAIRS, rows[i].points = i / PAIRS % 5 ? (i + i / PAIRS) % (POINTS + 1) : POINTS;
        first[i / PAIRS + 1] = i + 1;
        unit(normal + 3 * i, 3);
        for (int k = 0; k < 12; k++) position[12 * i + k] = 0.3 * uniform();
        for (int k = 0; k < 4; k++) gap[4 * i + k] = 1e-3 * uniform(), id[4 * i + k] = 4 * i + k;
    }
    return (contact_assembly){.pairs = pairs,
                              .first = first,
                              .rows = rows,
                              .points = {ints(ROWS), reals(ROWS), position, gap, id},
                              .normal = normal,
                              .old_n = ints(WORLDS),
                              .ids = zeros(WORLDS * 2 * CONTACTS, sizeof(contact_id)),
                              .positions = reals(WORLDS * 2 * CONTACTS * 3)};
}

// solve solves groups of so many worlds by sweeps, and then each world by Newton's method; it returns how often a world
// was solved.
static int solve(const contact_columns *c, int size, int convex, int full) {
    int solved = 0;
    for (int first = 0; first < WORLDS; first += size) {
        int n = size < WORLDS - first ? size : WORLDS - first, total = 0;
        contact_options o = {.bodies = BODIES,
                             .contacts = CONTACTS,
                             .worlds = n,
                             .convex = convex,
                             .sweeps = 100,
                             .steps = 100,
                             .refine = full,
                             .tolerance = 1e-6,
                             .relaxation = 1,
                             .resolved = 1e-10};
        contact_columns given = *c;
        if (!full) given.warm = given.target = NULL;
        int32_t *world = ints(n);
        for (int l = 0; l < n; l++) world[l] = first + l, total += c->count[first + l];
        void *scratch = zeros(1, UNIT.sweep_scratch(BODIES, total));
        solved += __builtin_popcount(UNIT.sweep(&o, &given, world, NULL, scratch));
        free(scratch);
        for (int l = 0; l < n; l++) {
            if (c->count[world[l]] == 0) continue;
            int64_t blocks = full ? UNIT.newton_blocks(BODIES, c->count[world[l]]) : 1;
            for (int32_t made = -1; made < 0; blocks = made < 0 ? -made : blocks) {
                scratch = zeros(1, UNIT.newton_scratch(BODIES, c->count[world[l]], blocks));
                made = UNIT.newton(&o, &given, world[l], blocks, NULL, scratch);
                free(scratch);
            }
        }
        free(world);
    }
    return solved;
}

// points finds the contact points of spheres and capsules on each other, and on a plane.
static int points(void) {
    enum { N = 61, SHAPES = 4 };
    contact_shape *shape = zeros(SHAPES, sizeof *shape);
    shape[0] = (contact_shape){.form = CONTACT_FORM_POINT, .radius = 0.5, .size = 1};
    shape[1] = (contact_shape){
        .form = CONTACT_FORM_SEGMENT, .support = CONTACT_SUPPORT_SEGMENT, .radius = 0.2, .half = 0.5, .size = 1};
    shape[2] = (contact_shape){.form = CONTACT_FORM_PLANE, .size = 1};
    shape[3] = (contact_shape){.form = CONTACT_FORM_NONE};
    contact_shapes table = {shape, reals(1), ints(1), reals(1)};
    int32_t *a = ints(N), *b = ints(N), *list = ints(N);
    double *pa = reals(3 * N), *pb = reals(3 * N), *qa = reals(4 * N), *qb = reals(4 * N), *normal = reals(3 * N);
    double *distance = reals(N), *wa = reals(3 * N), *wb = reals(3 * N), *most = reals(N);
    float *gap = zeros(N, sizeof *gap);
    contact_points out = {ints(N), reals(N), reals(12 * N), reals(4 * N), zeros(4 * N, sizeof(uint64_t))};
    for (int i = 0; i < N; i++) {
        a[i] = i % 2, b[i] = i % 7 == 6 ? 3 : i % 3, list[i] = i, most[i] = 0.1;
        qa[4 * i] = qb[4 * i] = 1, pa[3 * i + 2] = shape[a[i]].radius, normal[3 * i + 2] = -1;
        pb[3 * i + 2] = -shape[b[i]].radius;
        if (a[i] == 1) qa[4 * i] = qa[4 * i + 2] = sqrt(0.5); // it lies
        if (b[i] == 1) qb[4 * i] = qb[4 * i + 2] = sqrt(0.5);
        if (i % 11 == 10) pa[3 * i] = NAN;
    }
    contact_rows rows = {a, b, pa, pb, qa, qb, normal, distance, gap, wa, wb, most};
    int left = UNIT.manifold(&table, &rows, list, N, &out), found = 0;
    for (int i = 0; i < N; i++) found += out.count[i];
    return left < N ? found : 0;
}

int main(void) {
    contact_columns c = problem();
    contact_state state = simulation();
    contact_assembly from = contacts();
    contact_scene scene = {
        .bodies = BODIES, .contacts = CONTACTS, .time_step = 0.01, .most_length = 1e6, .gravity = {0, 0, -9.81}};
    contact_rules rules = {BODIES, CONTACTS, 0.01, 0.1, 0, 0.1, 9.81};
    int solved = 0;
    for (int n = 1; n <= UNIT.worlds; n++) {
        int32_t *list = ints(WORLDS);
        for (int w = 0; w < WORLDS; w++) list[w] = w;
        scene.convex = n % 2;
        contact_state given = state;
        if (n % 3 == 0) given.force = NULL;
        if (UNIT.prepare(&scene, &given, &c, list, WORLDS) != 1) return printf("not one invalid world\n"), 1;
        for (int w = 0; w < WORLDS; w++) list[w] = w;
        UNIT.assemble(&rules, &given, &from, &c, list, WORLDS - n % WORLDS);
        for (int i = 0; i < WORLDS; i++) ((int32_t *)from.old_n)[i] = c.count[i];
        solved += solve(&c, n, n % 2, n % 4 > 1);
        UNIT.move(&scene, &given, &c, list, n);
        UNIT.move(&scene, &given, &c, list, WORLDS);
        for (int i = 0; i < WORLDS; i++) ((uint8_t *)state.sides)[i] ^= 1;
        free(list);
    }
    printf("%d of %d solved, %d points\n", solved, UNIT.worlds * WORLDS, points());
    return 0;
}
