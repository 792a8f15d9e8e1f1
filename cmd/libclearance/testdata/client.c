// A caller of libclearance in C: a box and a ball, by the pair list and by a rollout; errors; handles given back.
#include "clearance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static clearance_error error;

static void check(int good, const char *what) {
    if (!good) {
        printf("%s: code %d: %s\n", what, error.code, error.message);
        exit(1);
    }
}

// bodies_of_parts asks for all pairs of three bodies by rows, and for the first contact of one that moves.
static void bodies_of_parts(clearance_engine engine, clearance_library library) {
    clearance_part parts[2] = {{0, 0, {0, 0, 0, 1, 0, 0, 0}}, {1, 0, {0, 0, 0, 1, 0, 0, 0}}};
    int32_t first[3] = {0, 1, 2}, bodies[3] = {0, 1, 1}, skip_a = 2, skip_b = 0;
    clearance_bodies table = 0;
    check(clearance_bodies_new(library, parts, first, 2, NULL, &table, &error) == CLEARANCE_OK, "bodies");
    clearance_query query;
    memset(&query, 0, sizeof query);
    query.library = library, query.precision = 1,
    query.columns = 1 << CLEARANCE_COLUMN_DISTANCE | 1 << CLEARANCE_COLUMN_GAP | 1 << CLEARANCE_COLUMN_STATUS;
    clearance_scene scene;
    memset(&scene, 0, sizeof scene);
    scene.table = table, scene.worlds = 1, scene.places = 3, scene.templates = 1, scene.all_pairs = 1;
    scene.bodies = bodies, scene.template_a = &skip_a, scene.template_b = &skip_b;
    clearance_rollout rollout = 0;
    check(clearance_scene_open(engine, &query, &scene, &rollout, &error) == CLEARANCE_OK, "scene");
    double poses[42] = {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 5, 0, 0, 1, 0, 0, 0,
                        0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 1, 0, 0, 0};
    clearance_found found = 0;
    clearance_job job = 0;
    clearance_report report;
    check(clearance_scene_find(rollout, poses, &found, 10000, &job, &report, &error) == CLEARANCE_OK, "find");
    check(report.rows == 2, "rows found");
    double distance[2];
    float gap[2];
    uint8_t status[2];
    int64_t offsets[2];
    int32_t part_a[2], part_b[2], body_a[2], body_b[2];
    clearance_column columns[3] = {{CLEARANCE_COLUMN_DISTANCE, CLEARANCE_FLOAT64, distance},
                                   {CLEARANCE_COLUMN_GAP, CLEARANCE_FLOAT32, gap},
                                   {CLEARANCE_COLUMN_STATUS, CLEARANCE_UINT8, status}};
    clearance_results results = {2, 3, columns};
    clearance_more more;
    memset(&more, 0, sizeof more);
    more.part_a = part_a, more.part_b = part_b, more.body_a = body_a, more.body_b = body_b, more.offsets = offsets;
    check(clearance_found_read(found, &results, &more, &error) == CLEARANCE_OK, "read");
    check(offsets[1] == 2 && body_a[0] == 0 && body_b[0] == 1 && body_a[1] == 1 && body_b[1] == 2, "bodies found");
    check(fabs(distance[0] - 0.5) < 1e-11 && fabs(distance[1] - 2) < 1e-11, "distances found");
    results.rows = 1;
    check(clearance_found_read(found, &results, &more, &error) == CLEARANCE_ARGUMENT, "too few rows passed");
    check(clearance_found_free(found, &error) == CLEARANCE_OK, "free what was found");
    check(clearance_rollout_submit(rollout, poses, &results, 0, &job, &report, &error) == CLEARANCE_ARGUMENT,
          "a scene passed for a rollout of shapes");
    double values[1] = {3}, gradients[18];
    clearance_derivatives d;
    memset(&d, 0, sizeof d);
    d.rows = 1, d.values = values, d.gradients = gradients;
    check(clearance_rollout_multiply(rollout, &query, poses, NULL, NULL, &d, 10000, &job, &report, &error) ==
              CLEARANCE_ARGUMENT,
          "gradients of all pairs by rows passed");
    check(clearance_rollout_close(rollout, &error) == CLEARANCE_OK, "close the scene of all pairs");
    scene.reduce = 1; // rows are worlds: the least is that of the box and the ball beside it
    check(clearance_scene_open(engine, &query, &scene, &rollout, &error) == CLEARANCE_OK, "scene of worlds");
    check(clearance_rollout_multiply(rollout, &query, poses, NULL, NULL, &d, 10000, &job, &report, &error) ==
              CLEARANCE_OK,
          "gradients of bodies");
    for (int i = 0; i < 18; i++) {
        double want = i == 0 ? -3 : i == 6 ? 3 : 0;
        check(fabs(gradients[i] - want) < 1e-11, "gradient of a body");
    }
    d.twists = values;
    check(clearance_rollout_multiply(rollout, &query, poses, NULL, NULL, &d, 10000, &job, &report, &error) ==
              CLEARANCE_ARGUMENT,
          "tangents of a rollout passed");
    check(clearance_rollout_close(rollout, &error) == CLEARANCE_OK, "close the scene");
    scene.all_pairs = 0;
    check(clearance_scene_open(engine, &query, &scene, &rollout, &error) == CLEARANCE_OK, "scene of listed pairs");
    check(clearance_rollout_multiply(rollout, &query, poses, &results, NULL, &d, 10000, &job, &report, &error) ==
              CLEARANCE_ARGUMENT,
          "answers of a scene without what their rows are about passed");
    check(clearance_rollout_close(rollout, &error) == CLEARANCE_OK, "close the scene of listed pairs");

    int32_t one = 1, two = 0;
    uint8_t state;
    double real[5];
    int32_t whole[3];
    clearance_motions motions;
    memset(&motions, 0, sizeof motions);
    motions.table = table, motions.worlds = 1, motions.places = 3, motions.way_points = 2, motions.templates = 1;
    motions.bodies = bodies, motions.template_a = &one, motions.template_b = &two, motions.poses = poses;
    clearance_contacts contacts = {1,        &state,   &real[0],  &real[1],  &real[2],
                                   &real[3], &real[4], &whole[0], &whole[1], &whole[2]};
    check(clearance_sweep(engine, &motions, &contacts, 10000, &job, &report, &error) == CLEARANCE_OK, "sweep");
    // The ball moves from x = 2 to 0 and touches the box at 1.5.
    check(state == 1 && real[3] <= 0.25 && 0.25 <= real[4] && real[4] - real[3] <= 1e-6 && report.counts[2] == 1,
          "first contact");
    check(clearance_bodies_free(table, &error) == CLEARANCE_OK, "free the bodies");
}

// derivatives differentiates the distance of a box and a ball that the query has answered.
static void derivatives(clearance_engine engine, clearance_library library) {
    int32_t a = 0, b = 1;
    double origin[3] = {0}, there[3] = {4.5, 0, 0}, identity[4] = {1, 0, 0, 0};
    clearance_pairs pairs = {1, &a, &b, origin, there, identity, identity, NULL};
    double distance, normal[3], witness_a[3], witness_b[3];
    uint8_t status, smoothness = 9;
    clearance_column columns[5] = {{CLEARANCE_COLUMN_DISTANCE, CLEARANCE_FLOAT64, &distance},
                                   {CLEARANCE_COLUMN_NORMAL, CLEARANCE_FLOAT64, normal},
                                   {CLEARANCE_COLUMN_WITNESS_A, CLEARANCE_FLOAT64, witness_a},
                                   {CLEARANCE_COLUMN_WITNESS_B, CLEARANCE_FLOAT64, witness_b},
                                   {CLEARANCE_COLUMN_STATUS, CLEARANCE_UINT8, &status}};
    clearance_results results = {1, 5, columns};
    clearance_query query;
    memset(&query, 0, sizeof query);
    query.library = library, query.precision = 1;
    for (int i = 0; i < 5; i++) query.columns |= 1 << columns[i].code;
    clearance_job job = 0;
    clearance_report report;
    check(clearance_submit(engine, &query, &pairs, &results, 10000, &job, &report, &error) == CLEARANCE_OK, "answer");
    double cotangent[10] = {1}, gradient[12], twist[12] = {0}, tangent[10];
    twist[6] = 1; // the ball moves along x
    clearance_derivatives d;
    memset(&d, 0, sizeof d);
    d.rows = 1, d.cotangents = cotangent, d.gradients = gradient, d.twists = twist, d.tangents = tangent;
    d.smoothness = &smoothness;
    check(clearance_derive(engine, &query, &pairs, &results, &d, 10000, &job, &report, &error) == CLEARANCE_OK,
          "derive");
    check(smoothness == 2 && report.rows == 1, "a ball above a face has a derivative");
    for (int i = 0; i < 12; i++) {
        double want = i == 0 ? -1 : i == 6 ? 1 : 0;
        check(fabs(gradient[i] - want) < 1e-12, "gradient");
    }
    check(fabs(tangent[0] - 1) < 1e-12 && fabs(tangent[4]) < 1e-12 && fabs(tangent[7] - 1) < 1e-12, "tangent");
    d.gradients = NULL;
    check(clearance_derive(engine, &query, &pairs, &results, &d, 10000, &job, &report, &error) == CLEARANCE_ARGUMENT,
          "half a product passed");
    d.gradients = gradient, query.derivative = 9;
    check(clearance_derive(engine, &query, &pairs, &results, &d, 10000, &job, &report, &error) == CLEARANCE_ARGUMENT,
          "an unknown derivative passed");
    query.derivative = 0;
    memset(gradient, 0, sizeof gradient);
    check(clearance_multiply(engine, &query, &pairs, &d, 10000, &job, &report, &error) == CLEARANCE_ARGUMENT,
          "products without answers with a smoothness");
    d.smoothness = NULL;
    check(clearance_multiply(engine, &query, &pairs, &d, 10000, &job, &report, &error) == CLEARANCE_OK &&
              report.rows == 1 && report.done == 1,
          "multiply");
    check(fabs(gradient[0] + 1) < 1e-12 && fabs(gradient[6] - 1) < 1e-12 && fabs(tangent[0] - 1) < 1e-12,
          "products without answers");
    double value = 2;
    d.values = &value;
    check(clearance_multiply(engine, &query, &pairs, &d, 10000, &job, &report, &error) == CLEARANCE_ARGUMENT,
          "two cotangents passed");
    d.cotangents = NULL;
    check(clearance_multiply(engine, &query, &pairs, &d, 10000, &job, &report, &error) == CLEARANCE_OK &&
              fabs(gradient[6] - 2) < 1e-12,
          "a cotangent of the value");
    d.cotangents = cotangent, d.values = NULL, d.tangents = gradient;
    check(clearance_derive(engine, &query, &pairs, &results, &d, 10000, &job, &report, &error) == CLEARANCE_ARGUMENT,
          "outputs that overlap passed");
}

// Attributes are read as they were given, and bad ones are refused.
static void attributes(clearance_shape *shapes) {
    double extents[3] = {1, 1, 1}, radius = 0.5, center[3] = {0.25, 0, -0.125}, got[3] = {0};
    clearance_attribute attribute[2] = {{0, 3, center}, {0, 3, center}}; // center is the first of the description
    clearance_shape list[2] = {shapes[0], shapes[1]};
    list[0].values = extents, list[1].values = &radius;
    list[0].attributes = attribute, list[0].attribute_count = 1;
    clearance_library library = 0, bad = 0;
    check(clearance_library_new(list, 2, 60000, &library, NULL, &error) == CLEARANCE_OK, "attributes");
    int64_t needed = -1;
    check(clearance_library_attribute(library, 0, 0, got, 3, &needed, &error) == CLEARANCE_OK && needed == 3 &&
              got[0] == 0.25 && got[2] == -0.125,
          "the attribute of the box");
    check(clearance_library_attribute(library, 1, 0, got, 3, &needed, &error) == CLEARANCE_OK && needed == 0,
          "the default of the ball");
    check(clearance_library_attribute(library, 0, 99, got, 3, &needed, &error) == CLEARANCE_ARGUMENT,
          "an unknown attribute was read");
    check(clearance_library_free(library, &error) == CLEARANCE_OK, "free");
    list[0].attribute_count = 2;
    check(clearance_library_new(list, 2, 60000, &bad, NULL, &error) == CLEARANCE_ARGUMENT, "an attribute passed twice");
    list[0].attribute_count = 1, attribute[0].code = 99;
    check(clearance_library_new(list, 2, 60000, &bad, NULL, &error) == CLEARANCE_ARGUMENT,
          "an unknown attribute passed");
    attribute[0].code = 0, attribute[0].count = 2;
    check(clearance_library_new(list, 2, 60000, &bad, NULL, &error) == CLEARANCE_ARGUMENT &&
              strstr(error.message, "2 numbers"),
          "a center of 2 numbers passed");
    attribute[0].count = 3, center[0] = 1;
    check(clearance_library_new(list, 2, 60000, &bad, NULL, &error) == CLEARANCE_ARGUMENT &&
              strstr(error.message, "interior"),
          "a center on the boundary passed");
}

int main(void) {
    clearance_sizes sizes = {CLEARANCE_ABI,
                             sizeof(clearance_error),
                             sizeof(clearance_shape),
                             sizeof(clearance_options),
                             sizeof(clearance_query),
                             sizeof(clearance_pairs),
                             sizeof(clearance_worlds),
                             sizeof(clearance_results),
                             sizeof(clearance_report),
                             sizeof(clearance_part),
                             sizeof(clearance_scene),
                             sizeof(clearance_more),
                             sizeof(clearance_motions),
                             sizeof(clearance_contacts),
                             sizeof(clearance_attribute),
                             sizeof(clearance_array),
                             sizeof(clearance_derivatives)};
    check(clearance_check(&sizes, &error) == CLEARANCE_OK, "check");
    sizes.report++;
    check(clearance_check(&sizes, &error) == CLEARANCE_ARGUMENT && strlen(error.message) > 0, "a wrong size passed");
    int64_t need = clearance_describe(NULL, 0);
    char *text = malloc((size_t)need);
    check(clearance_describe(text, need) == need && strstr(text, "\"superquadric\"") != NULL, "describe");
    free(text);

    // Kinds are in the order of the description: sphere 0, box 5.
    double extents[3] = {1, 1, 1}, radius = 0.5;
    clearance_shape shapes[2];
    memset(shapes, 0, sizeof shapes);
    shapes[0].kind = 5, shapes[0].values = extents, shapes[0].counts[0] = 3, shapes[0].name = "box";
    shapes[1].kind = 0, shapes[1].values = &radius, shapes[1].counts[0] = 1;
    clearance_library library = 0;
    check(clearance_library_new(shapes, 2, 60000, &library, NULL, &error) == CLEARANCE_OK, "library");
    extents[0] = -1; // the library has a copy
    clearance_library bad = 0;
    check(clearance_library_new(shapes, 2, 60000, &bad, NULL, &error) == CLEARANCE_ARGUMENT &&
              strstr(error.message, "half_extents"),
          "a box of negative size passed");

    attributes(shapes);

    clearance_options options;
    memset(&options, 0, sizeof options);
    options.backend = "cpu", options.workers = 1;
    clearance_engine engine = 0;
    check(clearance_engine_open(&options, &engine, &error) == CLEARANCE_OK, "open");

    int32_t a[3] = {0, 0, 0}, b[3] = {1, 1, 7};
    double origin[9] = {0}, there[9] = {4.5, 0, 0, 0, 0, 1.25, 0, 0, 0};
    double identity[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
    clearance_pairs pairs = {3, a, b, origin, there, identity, identity, NULL};
    double distance[3], normal[9];
    float gap[3];
    uint8_t status[3];
    clearance_column columns[4] = {{CLEARANCE_COLUMN_NORMAL, CLEARANCE_FLOAT64, normal},
                                   {CLEARANCE_COLUMN_DISTANCE, CLEARANCE_FLOAT64, distance},
                                   {CLEARANCE_COLUMN_GAP, CLEARANCE_FLOAT32, gap},
                                   {CLEARANCE_COLUMN_STATUS, CLEARANCE_UINT8, status}};
    clearance_results results = {3, 4, columns};
    clearance_query query;
    memset(&query, 0, sizeof query);
    query.library = library, query.precision = 1,
    query.columns = 1 << CLEARANCE_COLUMN_DISTANCE | 1 << CLEARANCE_COLUMN_GAP | 1 << CLEARANCE_COLUMN_NORMAL |
                    1 << CLEARANCE_COLUMN_STATUS;
    clearance_job job = 0;
    clearance_report report;
    int32_t code = clearance_submit(engine, &query, &pairs, &results, 0, &job, &report, &error);
    while (code == CLEARANCE_RUNNING) code = clearance_job_wait(job, 10, &report, &error);
    check(code == CLEARANCE_OK, "submit");
    check(fabs(distance[0] - 3) < 1e-11 && fabs(distance[1] + 0.25) < 1e-11 && normal[0] == 1, "answers");
    check(status[0] == 0 && status[1] == 2 && status[2] == 4 && isnan(distance[2]), "statuses");
    check(report.rows == 3 && report.counts[4] == 1 && report.error_row == 2 &&
              !strcmp(report.error_column, "shape_b") && !strcmp(report.backend, "cpu"),
          "report");
    columns[0].data = NULL;
    check(clearance_submit(engine, &query, &pairs, &results, 1000, &job, &report, &error) == CLEARANCE_ARGUMENT,
          "a missing column passed");
    columns[0].data = normal, columns[0].type = CLEARANCE_FLOAT32;
    check(clearance_submit(engine, &query, &pairs, &results, 1000, &job, &report, &error) == CLEARANCE_ARGUMENT,
          "a column of another type passed");
    columns[0].type = CLEARANCE_FLOAT64, columns[0].code = CLEARANCE_COLUMN_POINT;
    check(clearance_submit(engine, &query, &pairs, &results, 1000, &job, &report, &error) == CLEARANCE_ARGUMENT,
          "a column that the query does not name passed");
    columns[0].code = CLEARANCE_COLUMN_NORMAL;

    bodies_of_parts(engine, library);
    derivatives(engine, library);

    double poses[14] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 1.25, 1, 0, 0, 0};
    int32_t bodies[2] = {0, 1}, first = 0, second = 1;
    clearance_worlds worlds = {1, 2, 1, bodies, &first, &second, poses};
    clearance_rollout rollout = 0;
    check(clearance_rollout_open(engine, &query, &worlds, &rollout, &error) == CLEARANCE_OK, "rollout");
    check(clearance_library_free(library, &error) == CLEARANCE_OK, "free");
    check(clearance_library_free(library, &error) == CLEARANCE_CLOSED, "a library was freed twice");
    results.rows = 1;
    poses[9] = 2;
    check(clearance_rollout_submit(rollout, poses, &results, 10000, &job, &report, &error) == CLEARANCE_OK && job == 0,
          "step");
    check(fabs(distance[0] - 0.5) < 1e-11, "answer of the rollout");
    check(clearance_rollout_close(rollout, &error) == CLEARANCE_OK, "close the rollout");
    check(clearance_engine_close(engine, &error) == CLEARANCE_OK, "close");
    check(clearance_engine_close(engine, &error) == CLEARANCE_CLOSED, "an engine was closed twice");
    check(clearance_submit(engine, &query, &pairs, &results, 0, &job, &report, NULL) == CLEARANCE_CLOSED, "closed");
    puts("good");
    return 0;
}
