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
                             sizeof(clearance_more)};
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
    check(clearance_library_new(shapes, 2, &library, &error) == CLEARANCE_OK, "library");
    extents[0] = -1; // the library has a copy
    clearance_library bad = 0;
    check(clearance_library_new(shapes, 2, &bad, &error) == CLEARANCE_ARGUMENT && strstr(error.message, "half_extents"),
          "a box of negative size passed");

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
    clearance_results results;
    memset(&results, 0, sizeof results);
    results.rows = 3, results.distance = distance, results.gap = gap, results.normal = normal, results.status = status;
    clearance_query query;
    memset(&query, 0, sizeof query);
    query.library = library, query.precision = 1, query.columns = 1 | 2 | 4 | 32; // distance, gap, normal, status
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
    results.normal = NULL;
    check(clearance_submit(engine, &query, &pairs, &results, 1000, &job, &report, &error) == CLEARANCE_ARGUMENT,
          "a missing column passed");
    results.normal = normal;

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
