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

// tetrahedron makes the table of one, a polytope and the points of a smooth hull, in memory of the exact size.
static contact_shapes tetrahedron(contact_shape *shape) {
    enum { V = 4, STRIDE = CONTACT_PAD, LISTS = 9, HEADER = CONTACT_DIM + 1 };
    static const int32_t triangles[V][3] = {{1, 3, 2}, {0, 2, 3}, {0, 3, 1}, {0, 1, 2}};
    static const int32_t triples[V + 1] = {0, 3, 6, 9, 12};
    double *r = reals(3 * STRIDE + 4 * V + 9 * V + 4 + 4 * V + CONTACT_PAD), *face = r + 3 * STRIDE;
    double *corner = face + 4 * V, *body = corner + 9 * V;
    for (int k = 0; k < STRIDE; k++) {
        int v = k < V ? k : 0;
        r[k] = v < 2 ? 0.5 : -0.5, r[STRIDE + k] = v % 2 ? -0.5 : 0.5, r[2 * STRIDE + k] = v % 3 ? -0.5 : 0.5;
    }
    body[3] = sqrt(0.75);
    int32_t *header = ints(HEADER + 4 * (V + 1) + 5 * 3 * V), *at = header + HEADER, *list[LISTS];
    for (int i = 0; i < LISTS; i++) {
        int starts = i == CONTACT_FACE_START || i == CONTACT_CORNER_START || i == CONTACT_NEIGHBOUR_START ||
                     i == CONTACT_SIDE_START;
        header[i] = at - header, list[i] = at, at += starts ? V + 1 : 3 * V;
        if (starts) memcpy(list[i], triples, sizeof triples);
    }
    header[CONTACT_CORNERS_AT] = corner - r, header[CONTACT_ALL_CORNERS] = 3 * V, header[CONTACT_BODY] = body - r;
    header[CONTACT_PLANES] = V, header[CONTACT_DIM] = 3;
    for (int f = 0; f < V; f++) {
        for (int k = 0; k < 3; k++) { // the face f has all vertices but f, and the vertex f all faces but f
            int v = triangles[f][k], w = triangles[f][(k + 1) % 3], i = 3 * f + k;
            face[4 * f + k] = body[4 + 4 * f + k] = -r[k * STRIDE + f] / sqrt(0.75);
            for (int axis = 0; axis < 3; axis++) corner[3 * V * axis + i] = r[axis * STRIDE + v];
            list[CONTACT_FACES][i] = list[CONTACT_CORNERS][i] = list[CONTACT_NEIGHBOURS][i] = list[CONTACT_SIDES][i] =
                v;
            list[CONTACT_EDGES][i] = v < w ? 4 * v + w : 4 * w + v;
        }
        body[4 + 4 * f + 3] = 0.25 / sqrt(0.75);
    }
    double *rim = reals(64);
    for (int k = 0; k < 16; k++) {
        double angle = k * acos(-1) / 8;
        rim[k] = rim[32 + k] = cos(angle), rim[16 + k] = sin(angle), rim[48 + k] = -sin(angle);
    }
    return (contact_shapes){.shape = shape, .reals = r, .ints = header, .rim = rim, .corners = V};
}

// points finds the contact points of all kinds of shapes on each other, first with no room for candidates.
static int points(void) {
    enum { SHAPES = 12, N = SHAPES * SHAPES * 6 };
    contact_shape *shape = zeros(SHAPES, sizeof *shape);
    static const int32_t kinds[SHAPES][2] = {
        {CONTACT_FORM_POINT, CONTACT_SUPPORT_ORIGIN},      {CONTACT_FORM_SEGMENT, CONTACT_SUPPORT_SEGMENT},
        {CONTACT_FORM_PLANE, CONTACT_SUPPORT_ORIGIN},      {CONTACT_FORM_FRUSTUM, CONTACT_SUPPORT_CYLINDER},
        {CONTACT_FORM_FRUSTUM, CONTACT_SUPPORT_CONE},      {CONTACT_FORM_FRUSTUM, CONTACT_SUPPORT_FRUSTUM},
        {CONTACT_FORM_POLYTOPE, CONTACT_SUPPORT_POLYTOPE}, {CONTACT_FORM_POLYTOPE, CONTACT_SUPPORT_BOX},
        {CONTACT_FORM_POINT, CONTACT_SUPPORT_ELLIPSOID},   {CONTACT_FORM_POINT, CONTACT_SUPPORT_SUPERQUADRIC},
        {CONTACT_FORM_POINT, CONTACT_SUPPORT_SMOOTH_HULL}, {CONTACT_FORM_POINT, CONTACT_SUPPORT_SMOOTH_REVOLUTION}};
    contact_shapes table = tetrahedron(shape);
    for (int i = 0; i < SHAPES; i++) {
        int support = kinds[i][1], smooth = support >= CONTACT_SUPPORT_SMOOTH_HULL;
        double top = support == CONTACT_SUPPORT_CYLINDER ? 0.4 : support == CONTACT_SUPPORT_FRUSTUM ? 0.2 : 0;
        shape[i] = (contact_shape){.form = kinds[i][0],
                                   .support = support,
                                   .size = 1,
                                   .half = 0.5,
                                   .bottom = 0.4,
                                   .top = top,
                                   .slant = hypot(0.4 - top, 1),
                                   .inradius = 0.2,
                                   .p = {0.5, 0.5, 0.5},
                                   .power = {smooth ? 9 : 0.5, smooth ? 0.1 : 0.5},
                                   .vertices = kinds[i][0] == CONTACT_FORM_POLYTOPE || smooth ? 4 : 0,
                                   .stride = CONTACT_PAD};
    }
    shape[0].radius = shape[0].ball = shape[1].radius = shape[1].ball = 0.2;
    int32_t *a = ints(N), *b = ints(N), *list = ints(N);
    double *pa = reals(3 * N), *pb = reals(3 * N), *qa = reals(4 * N), *qb = reals(4 * N), *normal = reals(3 * N);
    double *distance = reals(N), *wa = reals(3 * N), *wb = reals(3 * N), *most = reals(N);
    float *gap = zeros(N, sizeof *gap);
    contact_points out = {ints(N), reals(N), reals(12 * N), reals(4 * N), zeros(4 * N, sizeof(uint64_t))};
    for (int i = 0; i < N; i++) {
        a[i] = i % SHAPES, b[i] = i / SHAPES % SHAPES, list[i] = i, most[i] = 2;
        qa[4 * i] = qb[4 * i] = 1, pa[3 * i + 2] = shape[a[i]].radius, normal[3 * i + 2] = -1;
        pb[3 * i + 2] = -shape[b[i]].radius;
        int way =
            i / (SHAPES * SHAPES); // standing; lying; with edges that cross at a small angle, twice; in any direction
        if (way == 1 || way == 2) qa[4 * i] = qa[4 * i + 2] = qb[4 * i] = qb[4 * i + 2] = sqrt(0.5);
        if (way == 2) qb[4 * i + 1] = -2e-4, qb[4 * i + 3] = 2e-4;
        if (way == 3) qb[4 * i] = sqrt(0.5), qb[4 * i + 3] = sqrt(0.5) + 1e-4;
        if (way > 3) unit(qa + 4 * i, 4), unit(qb + 4 * i, 4);
        if (i % 11 == 10) pa[3 * i] = NAN;
    }
    contact_rows rows = {a, b, pa, pb, qa, qb, normal, distance, gap, wa, wb, most};
    int left = N, room = 0, found = 0;
    for (int64_t candidates = 1; left > 0; candidates *= 2, room++) {
        void *scratch = zeros(1, UNIT.manifold_scratch(table.corners, candidates));
        left = UNIT.manifold(&table, &rows, list, left, &out, candidates, scratch);
        free(scratch);
    }
    for (int i = 0; i < N; i++) found += out.count[i];
    return room > 3 ? found : 0;
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
