// Runs the kernels of contacts under the sanitizers, on columns that end with their last value: steps of worlds of four
// bodies, for all sizes of groups, and contact points of pairs. Built by TestSanitizers with UNIT; prints how many
// worlds the solvers solved, and how many points were found.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../contact/include/api.h"
#include "../contact/include/constants.h"
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
                         .compliance = reals(WORLDS * CONTACTS * 2),
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
    for (int i = 0; i < WORLDS * CONTACTS * 2; i++) c.compliance[i] = 1e-3 * (i % 3);
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
        if (!full) given.warm = given.target = given.compliance = NULL;
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

enum { V = 4, LISTS = 9, HEADER = CONTACT_DIM + 1, INTS = HEADER + 4 * (V + 1) + 5 * 3 * V };
enum { REALS = 3 * CONTACT_BOX_VERTICES + 4 * V + 9 * V + 4 + 4 * V };

// put_tetrahedron writes the numbers of one, as of a hull and of a box. Vertices behind the fourth repeat the first
// ones.
static void put_tetrahedron(double *box, int32_t *header, const double *vertices) {
    static const int32_t triangles[V][3] = {{1, 3, 2}, {0, 2, 3}, {0, 3, 1}, {0, 1, 2}};
    static const int32_t triples[V + 1] = {0, 3, 6, 9, 12};
    double *face = box + 3 * CONTACT_BOX_VERTICES, *corner = face + 4 * V, *body = corner + 9 * V;
    for (int k = 0; k < CONTACT_BOX_VERTICES; k++)
        for (int axis = 0; axis < 3; axis++)
            box[axis * CONTACT_BOX_VERTICES + k] = vertices[axis * CLR_VERTEX_ALIGN + k % V];
    body[3] = sqrt(0.75);
    int32_t *at = header + HEADER, *list[LISTS];
    for (int i = 0; i < LISTS; i++) {
        int starts = i == CONTACT_FACE_START || i == CONTACT_CORNER_START || i == CONTACT_NEIGHBOUR_START ||
                     i == CONTACT_SIDE_START;
        header[i] = at - header, list[i] = at, at += starts ? V + 1 : 3 * V;
        if (starts) memcpy(list[i], triples, sizeof triples);
    }
    header[CONTACT_FACES_AT] = face - box, header[CONTACT_CORNERS_AT] = corner - box;
    header[CONTACT_ALL_CORNERS] = 3 * V, header[CONTACT_BODY] = body - box;
    header[CONTACT_PLANES] = V, header[CONTACT_DIM] = 3;
    for (int f = 0; f < V; f++) {
        for (int k = 0; k < 3; k++) { // the face f has all vertices but f, and the vertex f all faces but f
            int v = triangles[f][k], w = triangles[f][(k + 1) % 3], i = 3 * f + k;
            face[4 * f + k] = body[4 + 4 * f + k] = -vertices[k * CLR_VERTEX_ALIGN + f] / sqrt(0.75);
            for (int axis = 0; axis < 3; axis++) corner[3 * V * axis + i] = vertices[axis * CLR_VERTEX_ALIGN + v];
            list[CONTACT_FACES][i] = list[CONTACT_CORNERS][i] = list[CONTACT_NEIGHBOURS][i] = list[CONTACT_SIDES][i] =
                v;
            list[CONTACT_EDGES][i] = v < w ? 4 * v + w : 4 * w + v;
        }
        body[4 + 4 * f + 3] = 0.25 / sqrt(0.75);
    }
}

enum { SHAPES = 12, N = SHAPES * SHAPES * 6 };

// library makes the table of shapes of every kind, in memory of the exact size; vertices are those of a tetrahedron.
static contact_shapes library(void) {
    static const int32_t kinds[SHAPES][2] = {{CLR_BOX, CLR_POINT}, {CLR_BOX, CLR_SEGMENT}, {CLR_NO_CLASS, CLR_HALF},
                                             {CLR_FRUSTUM},        {CLR_FRUSTUM},          {CLR_FRUSTUM},
                                             {CLR_SMALL},          {CLR_BOX, CLR_CUBOID},  {CLR_ELLIPSOID},
                                             {CLR_SUPERQUADRIC},   {CLR_SMOOTH_HULL},      {CLR_SMOOTH_REVOLUTION}};
    static const double tops[3] = {0.4, 0, 0.2};
    clr_shape *shape = zeros(SHAPES, sizeof *shape);
    contact_features *features = zeros(SHAPES, sizeof *features);
    double *vertices = reals(3 * CLR_VERTEX_ALIGN), *rim = reals(64), *numbers = reals(REALS + MOST_LANES);
    int32_t *header = ints(INTS);
    for (int k = 0; k < CLR_VERTEX_ALIGN; k++) {
        int v = k < V ? k : V - 1;
        double *at = vertices + k;
        at[0] = v < 2 ? 0.5 : -0.5, at[CLR_VERTEX_ALIGN] = v % 2 ? -0.5 : 0.5;
        at[2 * CLR_VERTEX_ALIGN] = v % 3 ? -0.5 : 0.5;
    }
    put_tetrahedron(numbers, header, vertices);
    for (int k = 0; k < 16; k++) {
        double angle = k * acos(-1) / 8;
        rim[k] = rim[32 + k] = cos(angle), rim[16 + k] = sin(angle), rim[48 + k] = -sin(angle);
    }
    for (int i = 0; i < SHAPES; i++) {
        int class = kinds[i][0], form = kinds[i][1],
            smooth = class == CLR_SMOOTH_HULL || class == CLR_SMOOTH_REVOLUTION;
        double ball = form == CLR_POINT || form == CLR_SEGMENT ? 0.2 : 0;
        shape[i] = (clr_shape){.class = class,
                               .form = form,
                               .p = {0.5, 0.5, 0.5},
                               .size = 1,
                               .margin = ball,
                               .count = smooth || class == CLR_SMALL ? V : 0,
                               .extent = {smooth ? 10 : 0.5, smooth ? 0.1 : 0.5}};
        features[i] = (contact_features){.slant = 1, .ball = ball, .inradius = 0.2, .ints = -1, .cylinder = i == 3};
        if (class == CLR_FRUSTUM) {
            shape[i].p[0] = 0.4, shape[i].p[1] = tops[i - 3];
            features[i].slant = hypot(0.4 - tops[i - 3], 1);
        }
        if (class == CLR_SMALL || form == CLR_CUBOID) features[i].ints = 0;
    }
    return (contact_shapes){.shape = shape,
                            .vertices = {vertices, vertices + CLR_VERTEX_ALIGN, vertices + 2 * CLR_VERTEX_ALIGN},
                            .features = features,
                            .reals = numbers,
                            .ints = header,
                            .rim = rim,
                            .corners = CONTACT_BOX_VERTICES};
}

// points finds the contact points of all kinds of shapes on each other, first with no room for candidates.
static int points(void) {
    contact_shapes table = library();
    int32_t *a = ints(N), *b = ints(N), *list = ints(N);
    double *pa = reals(3 * N), *pb = reals(3 * N), *qa = reals(4 * N), *qb = reals(4 * N), *normal = reals(3 * N);
    double *distance = reals(N), *wa = reals(3 * N), *wb = reals(3 * N), *most = reals(N);
    float *gap = zeros(N, sizeof *gap);
    contact_points out = {ints(N), reals(N), reals(12 * N), reals(4 * N), zeros(4 * N, sizeof(uint64_t))};
    for (int i = 0; i < N; i++) {
        a[i] = i % SHAPES, b[i] = i / SHAPES % SHAPES, list[i] = i, most[i] = 2;
        qa[4 * i] = qb[4 * i] = 1, pa[3 * i + 2] = table.shape[a[i]].margin, normal[3 * i + 2] = -1;
        pb[3 * i + 2] = -table.shape[b[i]].margin;
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
