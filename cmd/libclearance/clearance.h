// clearance.h: the C interface of libclearance.
//
// Units are metres and seconds. Quaternions are (w, x, y, z). Arrays are C-contiguous and aligned to their elements.
// Normals point from A to B, and normals and witnesses are in the world frame. "[N,3]" are N rows of 3 numbers.
//
// Memory. The caller owns every array, text and struct that it passes, and every one that is filled. No pointer is kept
// after a function returns, with one exception: the arrays of a job must stay where they are until the job has ended,
// that is, until clearance_job_wait returns anything but CLEARANCE_RUNNING. Nothing that the library returns is freed
// by the caller except handles, by the functions below.
//
// Errors. A function that returns int32_t returns CLEARANCE_OK, CLEARANCE_RUNNING or a code of clearance_code. On an
// error it fills *error, if error is not NULL. A row without an answer is not an error of the call: its status says so,
// and the report counts it. A call whose arguments are refused starts no job and writes no column. After an error of a
// job, rows that were answered before are valid. Of the others only the columns status (undecided) and bits are
// written.
//
// Threads. Every function may be called from any thread. The library holds a Go runtime: it must not be unloaded, and a
// process that has called it must not fork and then call it in the child.
#ifndef CLEARANCE_H
#define CLEARANCE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this interface. It changes with every change of a struct, a code or a function.
#define CLEARANCE_ABI 13

typedef enum {
    CLEARANCE_OK = 0,
    CLEARANCE_RUNNING = 1,    // not an error: the job has not ended
    CLEARANCE_ARGUMENT = 2,   // an argument is invalid
    CLEARANCE_FAILED = 3,     // the call failed as a whole
    CLEARANCE_CANCELLED = 4,  // the job was cancelled, or its engine closed; see below
    CLEARANCE_CLOSED = 5,     // a handle that is not open
    CLEARANCE_NO_BACKEND = 6, // no back end of this machine can be used
    CLEARANCE_REFUSED = 7,    // no back end supports the query
    CLEARANCE_FILE = 8,       // a file is missing or invalid
    CLEARANCE_STILL = 9       // a simulation advances no world any more
} clearance_code;

// A text that is read only: UTF-8, ended by a zero byte. NULL is the default.
typedef const char clearance_text;

// Numbers that are read only.
typedef const double clearance_reals;
typedef const int32_t clearance_indices;

// Handles; 0 is none.
typedef uint64_t clearance_library;
typedef uint64_t clearance_engine;
typedef uint64_t clearance_rollout;
typedef uint64_t clearance_job;
typedef uint64_t clearance_bodies;
typedef uint64_t clearance_found;
typedef uint64_t clearance_simulation;
typedef uint64_t clearance_tape;
typedef uint64_t clearance_answers;
typedef uint64_t clearance_worldfile;

// The error of a call. Texts end with a zero byte and are cut where they are too long.
typedef struct {
    int32_t code;     // of clearance_code
    int32_t reserved; // 0
    char message[1016];
} clearance_error;

// The value of an attribute of a shape. The code is an index into "attributes" of clearance_describe.
typedef struct {
    int32_t code;
    int32_t count; // of the numbers
    clearance_reals *values;
} clearance_attribute;

// A shape: its kind, by its index in "kinds" of clearance_describe, its parameters, and attributes.
typedef struct {
    int32_t kind;
    int32_t attribute_count;               // attributes that are not the default
    double margin;                         // radius of the ball added to the shape, at least 0
    clearance_reals *values;               // the numbers of all parameters, in their order
    int64_t counts[4];                     // the numbers of each parameter
    const clearance_attribute *attributes; // [attribute_count], each code at most once
    clearance_text *name;                  // NULL for none
} clearance_shape;

// How an engine is opened. Zeros and NULL are the defaults.
typedef struct {
    clearance_text *backend; // "auto", "cpu", "vulkan", "vulkan:1", "ref", …
    clearance_text *device;  // Vulkan device, by index or part of its name
    clearance_text *simd;    // kernels of the CPU
    int32_t workers;         // threads of the CPU back end; 0 is one per processor
    int32_t probe_count;
    clearance_text **probe; // command that tries a Vulkan device in a process of its own, see clearance_try_device
} clearance_options;

// A query; codes are indices into the lists of clearance_describe.
typedef struct {
    clearance_library library;
    int32_t query;
    int32_t method;
    int32_t precision;  // 0: float32 columns, 1: float64 columns
    int32_t derivative; // of the columns of derivatives
    uint64_t columns;   // a set: bit k is the column of the code k, see clearance_column_code
    double tolerance;   // relative; 0 is the default of the precision
    double cut_off;     // used if has_cut_off
    int32_t has_cut_off;
    int32_t max_iterations; // 0 is the default
    double epsilon;         // of derivatives: amount of the noise; 0 is the default
    uint64_t seed;          // of the noise
    int32_t samples;        // 0 is the default
    int32_t rings;          // 0: all vertices that count
} clearance_query;

// A list of N pairs, world frame. All arrays are read only.
typedef struct {
    int64_t rows;                // N
    clearance_indices *shape_a;  // [N] index into the library
    clearance_indices *shape_b;  // [N]
    clearance_reals *position_a; // [N,3]
    clearance_reals *position_b; // [N,3]
    clearance_reals *rotation_a; // [N,4], normalized on input
    clearance_reals *rotation_b; // [N,4]
    clearance_reals *warm_start; // [N,3] direction from A to B, or NULL
} clearance_pairs;

// A convex part of a body.
typedef struct {
    int32_t shape; // index into the library
    int32_t reserved;
    double pose[7]; // in the frame of the body: x, y, z, then the quaternion
} clearance_part;

// W worlds of M places for bodies, with one list of P pairs of places that all worlds share.
typedef struct {
    clearance_bodies table;
    int64_t worlds;                // W
    int64_t places;                // M
    int64_t templates;             // P
    int32_t per_world;             // 0: bodies are [M], 1: [W,M]
    int32_t reduce;                // 0: rows are the pairs, W·P; 1: rows are the worlds, W
    clearance_indices *bodies;     // index into the table, -1 for none
    clearance_indices *carriers;   // as bodies, or NULL: the place whose pose the body has, that itself has its own
    clearance_indices *template_a; // [P] place; if all_pairs, the P pairs are those to leave out
    clearance_indices *template_b; // [P] place
    double max_distance;           // used if has_max_distance
    int32_t has_max_distance;
    int32_t no_culling;
    int32_t workers;   // threads that cull and combine; 0 is one per processor
    int32_t all_pairs; // 1: all pairs of a world; rows of pairs are found by clearance_scene_find
} clearance_scene;

// Columns of N rows of a scene, besides those of clearance_results. Those of worlds are NULL unless rows are worlds.
typedef struct {
    int32_t *part_a;   // [N] part that attains the least, -1 if none was solved
    int32_t *part_b;   // [N]
    int32_t *pair;     // [W] index of the pair that attains the least, -1 if that is not known
    int32_t *contacts; // [W] pairs proved to be in contact
    int32_t *failed;   // [W] pairs without an answer
    uint8_t *any;      // [W] 0: proved free, 1: a contact is proved, 2: neither
    int32_t *body_a;   // [N] of all pairs, else NULL: place of the row, -1 of a world whose least pair is not known
    int32_t *body_b;   // [N]
    int64_t *offsets;  // [W+1] of all pairs by rows, else NULL: rows offsets[w] to offsets[w+1]-1 are those of world w
    int32_t complete;  // filled: 1 if contacts counts all contacts
    int32_t reserved;
} clearance_more;

// W worlds of M places for bodies that move along T way points, with one list of P pairs of places: W·P rows, row
// w·P + p. A body is at way point k at the time k; in between its position moves along a line, and its rotation about a
// fixed axis by the shorter arc, both at constant speed.
typedef struct {
    clearance_bodies table;
    int64_t worlds;                // W
    int64_t places;                // M
    int64_t way_points;            // T, at least 2
    int64_t templates;             // P
    clearance_indices *bodies;     // [M], or [W,M] if per_world; index into the table, -1 for none
    clearance_indices *template_a; // [P] place
    clearance_indices *template_b; // [P] place
    clearance_reals *poses;        // [W,T,M,7]: x, y, z, then the quaternion
    double time_tolerance;         // largest width of the interval of a contact; 0 is the default
    double tolerance;              // shapes nearer than that, relative, are in contact; 0 is the default
    double max_distance;           // used if has_max_distance: rows beyond it are only proved to be
    int32_t has_max_distance;
    int32_t per_world;
    int32_t max_evaluations; // poses of a pair of parts at which the solvers are asked; 0 is the default
    int32_t workers;         // threads beside the solvers; 0 is one per processor
    int32_t all_pairs;       // of files: 1 if the worlds ask about all pairs but the P ones; sweeps want 0
    int32_t reserved;        // 0
} clearance_motions;

// Result columns of the N = W·P rows of motions. All of them are filled.
typedef struct {
    int64_t rows;         // N
    uint8_t *state;       // [N] 0: free of contact, 1: contact, 2: undecided, 3: invalid
    double *lower;        // [N] proved lower bound of the least distance of a free row, 0 of others
    double *upper;        // [N] upper bound of it, attained at the time closest
    double *closest;      // [N]
    double *t0;           // [N] there is no contact before it
    double *t1;           // [N] earliest known time of a contact, NaN if none is known
    int32_t *part_a;      // [N] parts of that contact; of free rows those of upper; -1 if there are none
    int32_t *part_b;      // [N]
    int32_t *evaluations; // [N] poses of pairs of parts at which the solvers were asked
} clearance_contacts;

// W worlds of M bodies, with one list of P pairs of bodies that all worlds share: W·P rows, row w·P + p.
typedef struct {
    int64_t worlds;                // W
    int64_t bodies;                // M
    int64_t templates;             // P
    clearance_indices *shapes;     // [M] index into the library
    clearance_indices *template_a; // [P] body
    clearance_indices *template_b; // [P] body
    clearance_reals *poses;        // [W,M,7]: x, y, z, then the quaternion
} clearance_worlds;

// A result column, filled by the call. A later version may have more columns; "columns" of clearance_describe lists
// them in the order of their codes, with name, type and width.
typedef struct {
    uint32_t code; // a clearance_column_code
    uint32_t type; // of its elements, a clearance_element; the call refuses another than the column has
    void *data;    // [N], or [N,width]; of bits [(N + 63) / 64]
} clearance_column;

// Codes of the result columns.
// Generated by genlayout from package batch: begin.
typedef enum {
    // real [N]: the value of the query, for most the signed distance in metres.
    CLEARANCE_COLUMN_DISTANCE = 0,
    // float32 [N]: bound of the error: the true value lies in distance ± gap.
    CLEARANCE_COLUMN_GAP = 1,
    // real [N,3]: unit vector from A to B, world frame.
    CLEARANCE_COLUMN_NORMAL = 2,
    // real [N,3]: point of A that attains the value, world frame.
    CLEARANCE_COLUMN_WITNESS_A = 3,
    // real [N,3]: point of B that attains the value, world frame.
    CLEARANCE_COLUMN_WITNESS_B = 4,
    // uint8 [N]: code of the status.
    CLEARANCE_COLUMN_STATUS = 5,
    // uint16 [N]: of the solver that ended the row.
    CLEARANCE_COLUMN_ITERATIONS = 6,
    // bits [(N + 63) / 64]: a bit per row, clear only where the pair is proved to be separated.
    CLEARANCE_COLUMN_BITS = 7,
    // uint8 [N]: code of the solver that ended the row.
    CLEARANCE_COLUMN_METHOD = 8,
    // real [N,3]: common point of the shapes scaled by the growth distance, world frame.
    CLEARANCE_COLUMN_POINT = 9,
    // real [N,12]: derivative of the value with respect to the twists of A and B.
    CLEARANCE_COLUMN_D_DISTANCE = 10,
    // real [N,3,12]: derivative of the normal with respect to the twists.
    CLEARANCE_COLUMN_D_NORMAL = 11,
    // real [N,3,12]: derivative of the witness of A with respect to the twists.
    CLEARANCE_COLUMN_D_WITNESS_A = 12,
    // real [N,3,12]: derivative of the witness of B with respect to the twists.
    CLEARANCE_COLUMN_D_WITNESS_B = 13,
    // real [N,6]: Hessians of the support functions at the normal: xx, xy, yy of A, then of B, in metres.
    CLEARANCE_COLUMN_CURVATURE = 14,
    // uint8 [N]: code of what the derivatives of the row are.
    CLEARANCE_COLUMN_SMOOTHNESS = 15,
} clearance_column_code;
// Generated: end.

// Types of the elements of a column. "real" of clearance_describe is float or double, by the precision of the query.
typedef enum {
    CLEARANCE_FLOAT32 = 1,
    CLEARANCE_FLOAT64 = 2,
    CLEARANCE_UINT8 = 3,
    CLEARANCE_UINT16 = 4,
    CLEARANCE_BITS = 5, // uint64_t words; a set bit is a row that is not proved separated
    CLEARANCE_INT32 = 6,
    CLEARANCE_INT64 = 7,
    CLEARANCE_UINT64 = 8,
} clearance_element;

// A named array of a call. An option is an array of one element: int64 of whole numbers and codes, double of others.
typedef struct {
    clearance_text *name;
    uint32_t type; // of its elements, a clearance_element
    uint32_t reserved;
    int64_t count; // of its elements
    void *data;    // read or filled
} clearance_array;

// Result columns of N rows: those that the query names, in any order.
typedef struct {
    int64_t rows;  // N
    int64_t count; // of columns
    clearance_column *columns;
} clearance_results;

// Products with the derivatives of the answers of N pairs, of the mode that the query states. The answers of a row are
// ten numbers: value, normal, both witnesses; twelve are the twists of both bodies. Arrays that are NULL are not
// wanted; a product needs both of its arrays, gradients either cotangents or values. Rows without a derivative are 0,
// see smoothness.
typedef struct {
    int64_t rows;                // N
    int64_t first_row;           // number of row 0 in the whole, which noise depends on
    int32_t workers;             // threads; 0 is one per processor
    int32_t by_row;              // of rollouts: 1 for the gradients of each row, 0 for their sums by body
    clearance_reals *cotangents; // [N,10] gradient of a scalar with respect to the answers,
    clearance_reals *values;     // [N] or with respect to the values alone: normals and witnesses count as they are
    double *gradients;           // [N,12] its gradient with respect to the twists; of rollouts by body [W,M,6]
    clearance_reals *twists;     // [N,12], of rollouts [W,M,6]
    double *tangents;            // [N,10] the derivative of the answers along the twists
    uint8_t *smoothness;         // [N] what the derivatives are, an index into "smoothness" of clearance_describe

    // Of rollouts by row, or NULL: C columns of motions of bodies by K coordinates of each world, with force and torque
    // about the origin of the world multiplied by. Then gradients are [N,K], with respect to the coordinates.
    clearance_reals *screws;       // [W,C,6]
    const uint8_t *moves;          // [C,M] 1 where a column moves a body, else 0
    clearance_indices *coordinate; // [C] the coordinate of a column
    int32_t columns;               // C
    int32_t coordinates;           // K
} clearance_derivatives;

// What became of a call.
typedef struct {
    int64_t rows;
    int64_t done;       // rows that a back end answered
    int64_t counts[5];  // rows by status: separated, touching, penetrating, undecided, invalid; of motions by state
    int64_t declined;   // rows that one back end passed on to another
    int64_t iterations; // sum over the rows
    int64_t worst_row;  // row of worst_gap, -1 if there is none
    double worst_gap;   // largest gap, relative to the scale of the tolerance
    double wall_seconds;
    double kernel_seconds; // of devices that measure it, else 0
    int64_t culled;        // of scenes: pairs of bodies that bounds proved without a solver
    int64_t absent;        // of scenes: pairs of bodies with an absent one
    int64_t part_pairs;    // of scenes: pairs of parts of the others
    int64_t solved;        // of scenes: pairs of parts that a back end answered
    int64_t audited;       // of files that are audited: rows that the audit proved or refuted
    int64_t refuted;       // rows whose answer the audit refuted
    int64_t error_row;     // first invalid row, of scenes its world; -1 if there is none
    char error_column[32]; // its column
    char error_reason[224];
    char backend[64];
    char why[192]; // the reason for that back end
} clearance_report;

// Sizes of the structs above, as the caller knows them.
typedef struct {
    uint32_t abi;
    uint32_t error, shape, options, query, pairs, worlds, results, report, part, scene, more, motions, contacts;
    uint32_t attribute, array, derivatives;
} clearance_sizes;

// clearance_check compares the interface of the caller with that of the library. Call it first.
int32_t clearance_check(clearance_sizes *caller, clearance_error *error);

// clearance_describe writes a description of the library as JSON (version, kinds, queries, columns, …), ended by a zero
// byte, if size bytes suffice, and returns the number of bytes that it needs.
int64_t clearance_describe(char *out, int64_t size);

// clearance_library_new makes a library of count shapes, and waits for at most wait_ms milliseconds: as
// clearance_submit it may begin a job, whose report is that of no rows. *out is set, and the shapes and all that they
// name are read, before the job has ended.
int32_t clearance_library_new(clearance_shape *shapes, int64_t count, int64_t wait_ms, clearance_library *out,
                              clearance_job *job, clearance_error *error);

// clearance_library_extend makes a library of the shapes of another one, which stays as it is, and of count shapes
// after them, as clearance_library_new does. What back ends have prepared of the shapes of the other one is not
// prepared again.
int32_t clearance_library_extend(clearance_library library, clearance_shape *shapes, int64_t count, int64_t wait_ms,
                                 clearance_library *out, clearance_job *job, clearance_error *error);

// clearance_library_read reads shapes.json.
int32_t clearance_library_read(clearance_text *path, clearance_library *out, clearance_error *error);

// clearance_library_mesh makes a library of the convex parts of a mesh file (OBJ, STL, PLY): its groups or solids, and
// the connected components of one that is not convex. If whole is not 0, it is one hull of all. Otherwise a part that
// is not convex is an error: a part whose surface lies deeper below its hull than tolerance times its size, or, if
// tolerance is negative, than the rounding of the file explains. The depths go to dents (NaN for a whole), those of the
// first capacity parts. It may begin a job as clearance_library_new does.
int32_t clearance_library_mesh(clearance_text *path, int32_t whole, double tolerance, int64_t wait_ms,
                               clearance_library *out, double *dents, int64_t capacity, clearance_job *job,
                               clearance_error *error);

// clearance_library_write writes shapes.json.
int32_t clearance_library_write(clearance_library library, clearance_text *path, clearance_error *error);

// clearance_library_count returns the number of shapes, -1 for a handle that is not open.
int64_t clearance_library_count(clearance_library library);

// clearance_library_shape reads shape index: its kind, margin and counts into *out, its numbers into values if
// capacity numbers suffice, and its name into name (size bytes, cut). *needed is the number of numbers.
int32_t clearance_library_shape(clearance_library library, int64_t index, clearance_shape *out, double *values,
                                int64_t capacity, int64_t *needed, char *name, int64_t size, clearance_error *error);

// clearance_library_attribute reads the attribute code of shape index: its numbers into values if capacity numbers
// suffice. *needed is the number of numbers, 0 for the default.
int32_t clearance_library_attribute(clearance_library library, int64_t index, int32_t code, double *values,
                                    int64_t capacity, int64_t *needed, clearance_error *error);

// clearance_library_support finds a support point of a shape, its margin included, for each of count directions [N,3],
// which need not be unit vectors but not 0: points [N,3] in the frame of the shape.
int32_t clearance_library_support(clearance_library library, int64_t index, int64_t count, clearance_reals *directions,
                                  double *points, clearance_error *error);

// clearance_library_center writes the point about which growth distances scale a shape, in its own frame: 3 numbers.
int32_t clearance_library_center(clearance_library library, int64_t index, double *center, clearance_error *error);

// clearance_hull finds the convex hull of points [count,3]: its triangles [F,3], indices of points, counter-clockwise
// seen from outside, go to triangles if it has room for all, capacity triangles. *needed is F. Points on a line have
// none; a polygon, of points in a plane, has the triangles of both sides.
int32_t clearance_hull(clearance_reals *points, int64_t count, int32_t *triangles, int64_t capacity, int64_t *needed,
                       clearance_error *error);

// clearance_library_free gives a handle back. Calls in progress are not disturbed.
int32_t clearance_library_free(clearance_library library, clearance_error *error);

// clearance_engine_open opens the back ends of this machine.
int32_t clearance_engine_open(clearance_options *options, clearance_engine *out, clearance_error *error);

// clearance_engine_describe is clearance_describe of an engine: its back ends and devices, and why one cannot be used.
// It returns -1 for a handle that is not open.
int64_t clearance_engine_describe(clearance_engine engine, char *out, int64_t size);

// clearance_engine_close cancels the jobs of the engine, waits for them, and closes the back ends.
int32_t clearance_engine_close(clearance_engine engine, clearance_error *error);

// clearance_submit starts a query and waits for it for at most wait_ms milliseconds. If it has ended, the result is
// that of clearance_job_wait and *job is 0. Otherwise the result is CLEARANCE_RUNNING and *job is the job.
int32_t clearance_submit(clearance_engine engine, clearance_query *query, clearance_pairs *pairs,
                         clearance_results *results, int64_t wait_ms, clearance_job *job, clearance_report *report,
                         clearance_error *error);

// clearance_trace solves row of the pairs again as the back end "ref" answers the query, a signed distance, and writes
// the steps of the solvers as JSON, a trace of docs/scene.md, ended by a zero byte, if size bytes suffice. *needed is
// the number of bytes that it needs.
int32_t clearance_trace(clearance_query *query, clearance_pairs *pairs, int64_t row, char *out, int64_t size,
                        int64_t *needed, clearance_error *error);

// clearance_picture draws a scene description, a document of docs/scene.md, by options, the JSON of internal/picture:
// format "png" a PNG file, "gif" a film of it, "rgb" the bytes of the pixels from the left upper one, if size bytes
// suffice. *needed is the number of bytes that it needs.
int32_t clearance_picture(clearance_text *document, clearance_text *options, clearance_text *format, void *out,
                          int64_t size, int64_t *needed, clearance_error *error);

// clearance_derive multiplies with the derivatives of answers, which it leaves as they are: the query, the pairs and
// the results are those of a clearance_submit that has ended, with the columns distance, normal, witness_a, witness_b
// and status, and gap if rows that are bounds alone are to have no derivative; otherwise it is clearance_submit.
int32_t clearance_derive(clearance_engine engine, clearance_query *query, clearance_pairs *pairs,
                         clearance_results *results, clearance_derivatives *derivatives, int64_t wait_ms,
                         clearance_job *job, clearance_report *report, clearance_error *error);

// clearance_multiply is clearance_derive of pairs that it answers itself: products alone come back, from a device
// without the answers. The columns of the query do not matter. first_row and smoothness are 0.
int32_t clearance_multiply(clearance_engine engine, clearance_query *query, clearance_pairs *pairs,
                           clearance_derivatives *derivatives, int64_t wait_ms, clearance_job *job,
                           clearance_report *report, clearance_error *error);

// clearance_rollout_open prepares worlds for repeated runs of one query. It copies the arrays of *worlds.
int32_t clearance_rollout_open(clearance_engine engine, clearance_query *query, clearance_worlds *worlds,
                               clearance_rollout *out, clearance_error *error);

// clearance_rollout_submit answers all rows of a rollout for new poses [W,M,7]; otherwise it is clearance_submit.
int32_t clearance_rollout_submit(clearance_rollout rollout, clearance_reals *poses, clearance_results *results,
                                 int64_t wait_ms, clearance_job *job, clearance_report *report, clearance_error *error);

// clearance_bodies_new makes a table of count bodies: body i has the parts first[i] to first[i+1]-1, and the name
// names[i], if names is not NULL.
int32_t clearance_bodies_new(clearance_library library, clearance_part *parts, clearance_indices *first, int64_t count,
                             clearance_text **names, clearance_bodies *out, clearance_error *error);

// clearance_scene_read reads shapes.json: its shapes, with those of the meshes of its bodies, and its bodies, which are
// its shapes if it lists none.
int32_t clearance_scene_read(clearance_text *path, clearance_library *library, clearance_bodies *bodies,
                             clearance_error *error);

// clearance_scene_write writes shapes.json with a list of bodies, and with count pairs of them, first[i] and second[i],
// unless count is negative.
int32_t clearance_scene_write(clearance_bodies bodies, clearance_indices *first, clearance_indices *second,
                              int64_t count, clearance_text *path, clearance_error *error);

// clearance_bodies_describe writes a table as JSON, as clearance_describe does: the names and parts (shape, position,
// quaternion) of its bodies, their physics if they state some, and, of one that was read, whether the file lists
// bodies, and its pairs, null without them. It returns -1 for a handle that is not open.
int64_t clearance_bodies_describe(clearance_bodies bodies, char *out, int64_t size);

// clearance_bodies_physics states the physics of the bodies of a table for clearance_scene_write: a JSON list with an
// object for each body, of the fields fixed, mass, density, inertia (6 numbers), center_of_mass (3), friction and
// restitution, as in shapes.json.
int32_t clearance_bodies_physics(clearance_bodies bodies, clearance_text *physics, clearance_error *error);

// clearance_bodies_surfaces takes what pairs of bodies state of their contacts, for scenes that are written: JSON, a
// list of {"a", "part_a", "b", "part_b", "friction", "restitution"}, of which a part of -1 stands for all, and
// friction or restitution may be missing.
int32_t clearance_bodies_surfaces(clearance_bodies bodies, clearance_text *surfaces, clearance_error *error);

// clearance_bodies_free gives a handle back. Calls in progress are not disturbed.
int32_t clearance_bodies_free(clearance_bodies bodies, clearance_error *error);

// clearance_scene_open prepares a scene for repeated runs of one query. It copies the arrays of *scene. The library of
// the query must be open; the shapes are those of the bodies. clearance_rollout_close closes it.
int32_t clearance_scene_open(clearance_engine engine, clearance_query *query, clearance_scene *scene,
                             clearance_rollout *out, clearance_error *error);

// clearance_scene_submit answers all rows of a scene for new poses [W,M,7]; otherwise it is clearance_submit. Of all
// pairs the rows are worlds.
int32_t clearance_scene_submit(clearance_rollout rollout, clearance_reals *poses, clearance_results *results,
                               clearance_more *more, int64_t wait_ms, clearance_job *job, clearance_report *report,
                               clearance_error *error);

// clearance_scene_find answers all pairs of a scene by rows, whose number is that of the report: a pair without a
// row is proved separated, and beyond the largest distance if there is one. If the result is CLEARANCE_OK or
// CLEARANCE_RUNNING, *found is the answers, to be read after the job has ended, and freed. Otherwise it is
// clearance_scene_submit.
int32_t clearance_scene_find(clearance_rollout rollout, clearance_reals *poses, clearance_found *found, int64_t wait_ms,
                             clearance_job *job, clearance_report *report, clearance_error *error);

// clearance_found_read copies the answers of a job that has ended, with the rows of each world in ascending order of
// both bodies. The number of rows of *results is that of the report.
int32_t clearance_found_read(clearance_found found, clearance_results *results, clearance_more *more,
                             clearance_error *error);

// clearance_found_free frees the answers. It must not be called before their job has ended.
int32_t clearance_found_free(clearance_found found, clearance_error *error);

// clearance_sweep finds the first contact of every pair along the motions, or proves that there is none; otherwise it
// is clearance_submit. counts of the report are the rows by state: free, 0, contact, undecided, invalid.
int32_t clearance_sweep(clearance_engine engine, clearance_motions *motions, clearance_contacts *contacts,
                        int64_t wait_ms, clearance_job *job, clearance_report *report, clearance_error *error);

// clearance_sweep_derive differentiates the times of N first contacts with respect to the twists of the way points. It
// reads world (ascending), place_a and place_b (-1: no pair), part_a and part_b int32 [N], state uint8 [N], t1 [N] as
// those of clearance_sweep, and weights [N], the gradient of a scalar with respect to the times. It fills those that
// are given of gradients [W,T,M,6], time [N] at which the parts touch, and smoothness uint8 [N] (time_smoothness of
// clearance_describe): rows of code 1 alone have a derivative, and the others add nothing. Of the motions it reads
// bodies, poses and workers. Otherwise it is clearance_submit.
int32_t clearance_sweep_derive(clearance_motions *motions, clearance_array *arrays, int64_t count, int64_t wait_ms,
                               clearance_job *job, clearance_report *report, clearance_error *error);

// clearance_rollout_multiply takes products with the derivatives of the rows of a step at poses [W,M,7], of a rollout
// of shapes or of a scene. Gradients are those of the bodies, [W,M,6], with respect to the velocity of the position and
// the angular velocity of each, added over the rows in their order; or by_row those of both bodies of each row, [N,12].
// Twists are those of the bodies. Rows that bounds have ruled out and rows without an answer have no gradient. Of the
// query the options of derivatives matter, and with results the columns.
//
// With results it leaves them as they are: they are the answers of the step, as those of clearance_derive, with the
// columns of *more that tell what a row is about (the parts; pair, if rows are worlds; of all pairs the bodies and the
// offsets), NULL of shapes. It is served after clearance_rollout_release, too.
//
// Without results it answers the step itself and keeps the answers: then there are gradients of the bodies alone, of
// cotangents or values, and a scene has no derivatives of order zero. Scenes of all pairs by rows are refused.
int32_t clearance_rollout_multiply(clearance_rollout rollout, clearance_query *query, clearance_reals *poses,
                                   clearance_results *results, clearance_more *more, clearance_derivatives *derivatives,
                                   int64_t wait_ms, clearance_job *job, clearance_report *report,
                                   clearance_error *error);

// clearance_rollout_release frees what a rollout of shapes or of a scene holds for its steps, after its job, if it has
// one, has ended. Products of answers are left.
int32_t clearance_rollout_release(clearance_rollout rollout, clearance_error *error);

// clearance_rollout_close frees a rollout of shapes or of a scene after its job, if it has one, has ended.
int32_t clearance_rollout_close(clearance_rollout rollout, clearance_error *error);

// clearance_pairs_rows sets *rows to the number of pairs of a file (.parquet, .npz).
int32_t clearance_pairs_rows(clearance_text *pairs, int64_t *rows, clearance_error *error);

// clearance_score starts a job that answers the pairs lo to hi of a file (.parquet, .npz; hi not included, -1 is the
// end) and writes the answers to another, in input order, as 'batchbench score' does; it appears under its name once
// it is complete. A library of 0 is read from the file shapes. If audit is not 0, every answer is audited from the
// shapes alone before the file gets its name, and audited and refuted of the report are counted: a job that is
// canceled leaves no file.
int32_t clearance_score(clearance_engine engine, clearance_query *query, clearance_text *shapes, clearance_text *pairs,
                        int64_t lo, int64_t hi, clearance_text *out, int32_t audit, clearance_job *job,
                        clearance_error *error);

// clearance_audit starts a job that audits, from the shapes alone, the answers of the pairs lo to hi of a file: the
// rows of a results file from at on, or, with at -1, all of its rows. audited and refuted of the report are counted.
int32_t clearance_audit(clearance_engine engine, clearance_query *query, clearance_text *shapes, clearance_text *pairs,
                        int64_t lo, int64_t hi, clearance_text *results, int64_t at, clearance_job *job,
                        clearance_error *error);

// clearance_stream answers a stream of pairs by a stream of results: in and out are struct ArrowArrayStream of the
// Arrow C data interface. in is moved from, also by most calls that fail; its columns are those of a file of pairs,
// and others, which the results carry. out is filled: each of its batches has at most rows rows and is answered when
// the one before is taken. in is called by the threads that call out, and by no other. out ends in an error if the
// engine is closed before it. *answers is given back by clearance_stream_forget; out stays valid.
int32_t clearance_stream(clearance_engine engine, clearance_query *query, void *in, void *out, int64_t rows,
                         clearance_answers *answers, clearance_error *error);

// clearance_stream_report fills *report with that of the batches that were taken.
int32_t clearance_stream_report(clearance_answers answers, clearance_report *report, clearance_error *error);

// clearance_stream_forget gives the handle back.
int32_t clearance_stream_forget(clearance_answers answers, clearance_error *error);

// clearance_worlds_write writes a file of motions (.parquet, .npz) or, of one way point, of worlds: [W,M,7] poses. The
// options of a sweep are not read.
int32_t clearance_worlds_write(clearance_motions *worlds, clearance_text *path, clearance_error *error);

// clearance_worlds_read reads a file of worlds or motions of the bodies of a table, and fills the sizes, per_world and
// all_pairs of *about; worlds have one way point. The arrays are copied by clearance_worlds_copy.
int32_t clearance_worlds_read(clearance_bodies table, clearance_text *path, clearance_motions *about,
                              clearance_worldfile *out, clearance_error *error);

// clearance_worlds_size fills the sizes of *about with those of a file of worlds or motions, and reads no world. Worlds
// have one way point. templates is the number of pairs that the file lists, 0 if it lists none, which asks about all.
int32_t clearance_worlds_size(clearance_text *path, clearance_motions *about, clearance_error *error);

// clearance_worlds_copy copies the arrays of a file that was read: the bodies, both places of the pairs (if all_pairs
// those of pairs to leave out), and the poses.
int32_t clearance_worlds_copy(clearance_worldfile file, int32_t *bodies, int32_t *template_a, int32_t *template_b,
                              double *poses, clearance_error *error);

// clearance_worlds_free frees a file that was read.
int32_t clearance_worlds_free(clearance_worldfile file, clearance_error *error);

// clearance_rollout_file starts a job that answers the worlds lo to hi of a file (.parquet, .npz; hi not included, -1
// is the end) and writes the answers to another, as 'batchbench rollout' does; it appears under its name once it is
// complete, and a job that is canceled leaves none. Of *scene the table, all_pairs, which replaces the pairs of the
// file, and the options are read. A table of 0 is read from the file shapes. Worlds in the report, in errors and in
// rows of all pairs count from the start of the file.
int32_t clearance_rollout_file(clearance_engine engine, clearance_query *query, clearance_scene *scene,
                               clearance_text *shapes, clearance_text *worlds, int64_t lo, int64_t hi,
                               clearance_text *out, clearance_job *job, clearance_error *error);

// clearance_sweep_file does so with the motions of a file, as 'batchbench sweep' does. Of *options the table and the
// options of the sweep are read.
int32_t clearance_sweep_file(clearance_engine engine, clearance_motions *options, clearance_text *shapes,
                             clearance_text *motions, int64_t lo, int64_t hi, clearance_text *out, clearance_job *job,
                             clearance_error *error);

// clearance_rollout_audit starts a job that audits, from the shapes alone and by the reference, the answers of the
// worlds lo to hi of a file. The results are those of these worlds, or of more; what they have to answer is given as to
// clearance_rollout_file. audited and refuted of the report are counted: rows, and of all pairs the pairs of bodies.
int32_t clearance_rollout_audit(clearance_engine engine, clearance_query *query, clearance_scene *scene,
                                clearance_text *shapes, clearance_text *worlds, int64_t lo, int64_t hi,
                                clearance_text *results, clearance_job *job, clearance_error *error);

// clearance_sweep_audit does so with results of motions.
int32_t clearance_sweep_audit(clearance_engine engine, clearance_motions *options, clearance_text *shapes,
                              clearance_text *motions, int64_t lo, int64_t hi, clearance_text *results,
                              clearance_job *job, clearance_error *error);

// clearance_job_wait waits for at most wait_ms milliseconds. If the job has ended, it fills *report, the result is that
// of the job, and the handle is given back. Otherwise the result is CLEARANCE_RUNNING.
int32_t clearance_job_wait(clearance_job job, int64_t wait_ms, clearance_report *report, clearance_error *error);

// clearance_job_progress returns the number of rows answered so far, and in *total those of the job, -1 if unknown.
// Rows of a file that is audited count twice, when they are answered and when they are audited. It returns -1 for a job
// that has been waited for.
int64_t clearance_job_progress(clearance_job job, int64_t *total);

// clearance_job_cancel asks a job to end. Wait for it all the same.
int32_t clearance_job_cancel(clearance_job job, clearance_error *error);

// clearance_contact_solve solves the contact problems of W worlds of B bodies and up to C contacts (worlds, bodies,
// contacts, as options). It reads mass [W,B] (infinite: not moved), inertia [W,B,6] (xx, yy, zz, xy, xz, yz), velocity
// [W,B,6], count [W], body_a and body_b [W,C] (-1: the world), arm_a and arm_b [W,C,3], frame [W,C,3,3] (rows t1, t2,
// n, with n from a to b), friction [W,C], and if they are given target [W,C], compliance [W,C,2] and warm [W,C,3];
// integers are int32. Options: model (0: ncp, 1: ccp), tolerance, relaxation, max_sweeps, max_steps, bound_wanted,
// workers, simd; the tolerance is relative to the speed scale. It fills those that are given of impulse [W,C,3],
// solved_velocity [W,B,6], residual and scale [W] (m/s, of the contact with the largest ratio of both), primal (N·s),
// dual (m/s), complementarity (J), bound (m/s) [W], sweeps and steps [W] int32, and status [W] uint8 (0: solved, 1:
// undecided, 2: invalid). The counts of the report are, in their order, worlds solved, 0, 0, undecided and invalid.
// Otherwise it is clearance_submit.
int32_t clearance_contact_solve(clearance_array *arrays, int64_t count, int64_t wait_ms, clearance_job *job,
                                clearance_report *report, clearance_error *error);

// clearance_contact_vjp multiplies cotangents with the derivative of the solutions of contact problems. It reads the
// problem as clearance_contact_solve does (warm excepted) with model, workers, and impulse [W,C,3], residual and status
// [W] of its solution; velocity_bar [W,B,6], the gradient of a function by solved_velocity, and if it is given
// impulse_bar [W,C,3]. It fills those that are given of the gradients of the function: velocity_gradient [W,B,6],
// mass_gradient [W,B], inertia_gradient [W,B,6], arm_a_gradient and arm_b_gradient [W,C,3], frame_gradient [W,C,3,3],
// normal_gradient [W,C,3] (by n, with which the frame rotates), target_gradient and friction_gradient [W,C],
// compliance_gradient [W,C,2]; and of smoothness [W] uint8 (0: smooth, 1: boundary, a contact is about to change its
// mode, 2: one of many, contacts that slide share their load in more than one way, 3: none, gradients are zero), margin
// [W] (relative, to the nearest change of mode), nearest [W] int32 (the contact with this margin; -1: none),
// adjoint_residual [W] (of the linear system, relative) and mode [W,C] uint8 (0: open, 1: stick, 2: slide). The counts
// of the report are, in their order, worlds with a derivative, 0, 0, and those without. Otherwise it is
// clearance_submit.
int32_t clearance_contact_vjp(clearance_array *arrays, int64_t count, int64_t wait_ms, clearance_job *job,
                              clearance_report *report, clearance_error *error);

// clearance_system_solve solves contact problems of any mechanism. It reads worlds (W), velocities (N) and contacts
// (C), mass [W,N,N], velocity [W,N], count [W] int32, jacobian [W,C,3,N] (along t1, t2 and n), friction [W,C], and if
// they are given target [W,C], compliance [W,C,2], offset [W,C,3] (added to Jv) and warm [W,C,3]; options model,
// tolerance, max_steps, bound_wanted and workers as clearance_contact_solve. It fills those that are given of impulse
// [W,C,3], solved_velocity [W,N], residual, scale, primal, dual, complementarity and bound [W], steps [W] int32 and
// status [W] uint8, as there. Where delassus [W,3C,3C] is given, it is the matrix of the problems in place of mass,
// jacobian, velocity and velocities, offset the velocities of the contacts without impulses, and solved_velocity
// [W,C,3] those with them. Otherwise it is clearance_submit.
int32_t clearance_system_solve(clearance_array *arrays, int64_t count, int64_t wait_ms, clearance_job *job,
                               clearance_report *report, clearance_error *error);

// clearance_system_vjp multiplies cotangents with the derivative of the solutions of these problems. It reads the
// problem with impulse, residual and status of its solution, velocity_bar [W,N], and if it is given impulse_bar
// [W,C,3]. It fills those that are given of velocity_gradient [W,N], mass_gradient [W,N,N], jacobian_gradient
// [W,C,3,N], target_gradient and friction_gradient [W,C], compliance_gradient [W,C,2], offset_gradient [W,C,3], and of
// smoothness, margin, nearest, adjoint_residual and mode as clearance_contact_vjp. Where delassus is given,
// velocity_bar is [W,C,3], and delassus_gradient [W,3C,3C] stands in place of those by velocities, masses and
// Jacobians. Otherwise it is clearance_submit.
int32_t clearance_system_vjp(clearance_array *arrays, int64_t count, int64_t wait_ms, clearance_job *job,
                             clearance_report *report, clearance_error *error);

// clearance_contact_points finds the contact points of N pairs with gaps of at most max_gap metres. It fills status [N]
// uint8 (0: farther apart, 1: points, 2: undecided, 3: invalid), count [N] int32, normal [N,3], lower [N] (a lower
// bound of the gap along the normal), position [N,4,3], gap [N,4], and id [N,4] uint64, which lasts as long as the
// features that meet. Otherwise it is clearance_submit.
int32_t clearance_contact_points(clearance_engine engine, clearance_library library, clearance_pairs *pairs,
                                 double max_gap, clearance_array *arrays, int64_t count, int64_t wait_ms,
                                 clearance_job *job, clearance_report *report, clearance_error *error);

// clearance_contact_points_vjp multiplies cotangents with the derivative of contact points. It reads count [N] and id
// [N,4] as clearance_contact_points has filled them with the same pairs and max_gap, and those that are given of
// normal_bar [N,3], position_bar [N,4,3] and gap_bar [N,4], the gradients of a function. It fills twists [N,12], the
// gradients by the velocities of the position and the angular velocities of A and of B in world axes, and if it is
// given smoothness [N] uint8, as the column of that name. Otherwise it is clearance_submit.
int32_t clearance_contact_points_vjp(clearance_engine engine, clearance_library library, clearance_pairs *pairs,
                                     double max_gap, clearance_array *arrays, int64_t count, int64_t wait_ms,
                                     clearance_job *job, clearance_report *report, clearance_error *error);

// clearance_bodies_mass computes, of a uniform density in kg/m³, the mass of a body of a table, the center of mass [3]
// in its frame, and the inertia [6] about it: 10 numbers.
int32_t clearance_bodies_mass(clearance_bodies bodies, int64_t body, double density, double *out,
                              clearance_error *error);

// clearance_simulation_open prepares W worlds of M bodies for time steps. It copies body [M] int32 (of the table), mass
// [M] (infinite: not moved), inertia [M,6], center [M,3] (of mass, in the frame of the body), friction and restitution
// [M], pose [W,M,7], velocity [W,M,3] (of the center of mass), spin [W,M,3] (rad/s), and skips pairs of bodies without
// contacts, skip_a and skip_b int32. Options: worlds, bodies, skips, time_step, gravity [3], model, tolerance, max_gap,
// correction, recovery_speed, bounce_speed, compliance (relative to the inverse masses of the bodies of a contact),
// tape_compliance (of runs with a tape; without it compliance), contacts (the largest number of a world; 0: no limit
// but memory), accept, workers, simd (characters, as of an engine). A contact has the combination of the values of both
// bodies by friction_rule and restitution_rule (0: standard, 1: geometric mean, 2: mean, 3: minimum, 4: maximum, 5:
// product; standard is 1 of friction, 4 of restitution). restitution_law is 0 (bounded: impacts create no energy) or 1
// (newton). friction_parts [N,2] int32 (body, part) with friction_part_values [N] replaces values of bodies, and
// friction_pairs [N,4] int32 (body, part, body, part; a part of -1: all) with friction_pair_values [N] combinations, by
// the last entry that names a pair; restitution_parts and the others likewise.
int32_t clearance_simulation_open(clearance_bodies bodies, clearance_array *arrays, int64_t count,
                                  clearance_simulation *out, clearance_error *error);

// clearance_simulation_run makes step_count steps under the forces and torques force [W,M,6], or those of each step,
// forces [step_count,W,M,6], if they are given, and records R of them, one of each every: those that are given of
// pose [R,W,M,7], velocity and spin [R,W,M,3], energy (J), residual and scale (m/s) [R,W], contacts, solves and parts
// [R,W] int32 and
// status [R,W] uint8 (0: not stepped, 1: advanced, 2: accepted, 3: a pair is undecided, 4: too many contacts, 5: the
// contact problem is undecided, 6: invalid, 7: a body rotates too fast, 8: advanced in parts, 9: a pair may pass
// through another, 10: out of memory), and contact_force [R,W,M,6], the force and torque of the contacts on each
// body. list_contacts keeps the contacts of the recorded steps, see clearance_simulation_contacts. *made is the
// number of steps made so far, and written until the job has ended. A run ends with CLEARANCE_STILL after ten steps
// in a row in which no world was advanced, or if none was in all of them; what was recorded is valid. The counts of
// the report are world-steps: advanced, 0, 0, undecided, invalid. Otherwise it is clearance_submit. With option held it
// is clearance_simulation_step as a job: a step that is cancelled advances no world and writes to no array.
int32_t clearance_simulation_run(clearance_simulation simulation, clearance_array *arrays, int64_t count, int64_t *made,
                                 int64_t wait_ms, clearance_job *job, clearance_report *report, clearance_error *error);

// clearance_tape_run is clearance_simulation_run with a tape, which it gives in *tape if the run is made whole. The
// tape keeps checkpoints of the run; it is of use after the simulation is closed, too.
int32_t clearance_tape_run(clearance_simulation simulation, clearance_array *arrays, int64_t count, int64_t *made,
                           clearance_tape *tape, int64_t wait_ms, clearance_job *job, clearance_report *report,
                           clearance_error *error);

// clearance_tape_vjp multiplies cotangents with the derivative of a run of T steps with R records. It reads those that
// are given of the gradients of a function of the recorded states: pose_bar [R,W,B,6] by the twists of the poses
// (velocity of the position, angular velocity), velocity_bar and spin_bar [R,W,B,3]. It fills the gradients of the
// function by the first state, pose_gradient [W,B,6], velocity_gradient and spin_gradient [W,B,3], and for each world
// by itself force_gradient [W,B,6], or [T,W,B,6] of a run with forces; mass_gradient [W,B], at constant inertia,
// inertia_gradient [W,B,6], gravity_gradient [W,3], friction_gradient and restitution_gradient [W,S], by the values of
// bodies, parts and pairs in the order of clearance_simulation_open; parts_gradient [W,P,6] by the poses of the parts
// of all bodies in their bodies, in the axes of these (velocity of the position, angular velocity), at constant mass,
// center of mass and inertia; and of each step smoothness [T,W] uint8 (as clearance_contact_vjp) and margin [T,W].
// Option impacts is the derivative of bounces: 0 (discrete: of the step as it is) or 1 (time_of_impact: with their
// impulses at the times at which gaps close). Otherwise it is clearance_submit.
int32_t clearance_tape_vjp(clearance_tape tape, clearance_array *arrays, int64_t count, int64_t wait_ms,
                           clearance_job *job, clearance_report *report, clearance_error *error);

// clearance_simulation_smoothed estimates the gradient of a function of the state of W worlds of B bodies after one
// step by the state before, from samples of the step under noise. It reads the gradients of the function pose_bar
// (float64 [W,B,6], by twists), velocity_bar and spin_bar (float64 [W,B,3]) by the state after the step without noise,
// force (float64 [W,B,6]), samples, seed and first_world (int64), and the scales of the noise noise_position (m),
// noise_rotation (rad), noise_velocity (m/s), noise_spin (rad/s), noise_force (N) and noise_torque (N·m), float64;
// arrays and scales that are missing are zero. It fills pose_gradient (float64 [W,B,6]), velocity_gradient and
// spin_gradient (float64 [W,B,3]), force_gradient (float64 [W,B,6]), and answered (int32 [W]), the samples that were
// advanced. The simulation stays as it is.
int32_t clearance_simulation_smoothed(clearance_simulation simulation, clearance_array *arrays, int64_t count,
                                      int64_t wait_ms, clearance_job *job, clearance_report *report,
                                      clearance_error *error);

// clearance_tape_close frees a tape.
int32_t clearance_tape_close(clearance_tape tape, clearance_error *error);

// clearance_simulation_step makes step_count (1) steps in the thread of the caller under force [W,M,6], if it is given,
// and fills those that are given of the arrays of clearance_simulation_run with R = 1, and steps [W] int64, those that
// each world was advanced by. step_count 0 reads the state. Option scalar_last: quaternions are x, y, z, w. It returns
// CLEARANCE_STILL after the tenth step in a row in which no world was advanced. With option limit_ms a step that takes
// longer is given up with CLEARANCE_CANCELLED: it has advanced no world, and no array is written. A caller that may be
// interrupted then makes it as a job.
int32_t clearance_simulation_step(clearance_simulation simulation, clearance_array *arrays, int64_t count,
                                  clearance_error *error);

// clearance_simulation_reset puts the K worlds which [K] int32 into the states pose [K,M,7], velocity and spin [K,M,3],
// as after clearance_simulation_open. The others are as they were.
int32_t clearance_simulation_reset(clearance_simulation simulation, clearance_array *arrays, int64_t count,
                                   clearance_error *error);

// clearance_simulation_state sets *contacts to the largest number C of contacts that a world starts its next solve
// from, and fills, unless count is 0, all that the next steps depend on: pose [W,M,7], velocity [W,M,3], momentum
// [W,M,3] (angular, in N·m·s; of bodies that do not move their angular velocity), steps [W] int64, status [W] uint8,
// contacts, solves and parts [W] int32, energy [W], still [1] int64 (the last steps in a row in which no world was
// advanced), warm_count [W] int32, warm_pair [W,C] int32, warm_id [W,C] uint64, warm_position and warm_impulse [W,C,3].
int32_t clearance_simulation_state(clearance_simulation simulation, clearance_array *arrays, int64_t count,
                                   int64_t *contacts, clearance_error *error);

// clearance_simulation_set_state reads the arrays of clearance_simulation_state, with C as the option warm_contacts, of
// a simulation of the same bodies, worlds and options. Steps then have the same bits as there.
int32_t clearance_simulation_set_state(clearance_simulation simulation, clearance_array *arrays, int64_t count,
                                       clearance_error *error);

// clearance_simulation_contacts sets *found to the number N of contacts of the last step, or with the option recorded 1
// of the recorded steps of the last run with list_contacts, and fills those that are given of record (of the run),
// world, body_a, body_b, part_a and part_b [N] int32, position, normal (from a to b) and impulse (on b) [N,3] in world
// axes, gap [N] and id [N] uint64. It frees those of a run once they were read.
int32_t clearance_simulation_contacts(clearance_simulation simulation, clearance_array *arrays, int64_t count,
                                      int64_t *found, clearance_error *error);

// clearance_simulation_close waits for the run of a simulation, if there is one, and frees it.
int32_t clearance_simulation_close(clearance_simulation simulation, clearance_error *error);

// clearance_forward computes poses of trees of joints, of W configurations of C numbers (worlds, coordinates). Frame 0
// is the root; frame i + 1 belongs to joint i of J (joints): frame above [J] int32, which precedes it, is moved by the
// pose place [J,7] (quaternions w, x, y, z, of unit length here and below) and then by the joint. By kind [J]
// uint8, 0 is fixed; 1 rotates about axis [J,3], and 2 moves along it, by multiplier [J] times number index [J] int32
// of the configuration, plus offset [J]; 3 rotates by the quaternion of any length that begins there; 4 has the pose
// that begins there, in the world. It reads values [W,C] and, if it is given, the pose base [7] or [W,7] of the root,
// and writes the poses of the first P (places) of M (bodies) in poses [W,M,7]: place k has the pose within [P,7] in
// the frame frame [P] int32. Values that are not finite, and quaternions of length 0, give poses with NaN. It cannot be
// cancelled: some 10 million frames of configurations take a second.
int32_t clearance_forward(clearance_array *arrays, int64_t count, clearance_error *error);

// clearance_try_device opens and closes the Vulkan device of an index in this process, for the verdict of a name: the
// two arguments that follow the probe command of clearance_options. It writes to the standard output of the process.
int32_t clearance_try_device(clearance_text *index, clearance_text *name, clearance_error *error);

#ifdef __cplusplus
}
#endif

#endif
