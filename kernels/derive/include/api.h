// The interface between Go and the kernel. Lengths are metres, angles radians, numbers float64 unless a comment says
// otherwise. Row i of a column of width w starts at value w·i.

#ifndef CLR_DERIVE_API_H
#define CLR_DERIVE_API_H

#include <stdint.h>

#include "../../shape/api.h"

// derive_worlds are worlds of bodies with a template of pairs: row w·pairs + p is pair p of world w.
typedef struct {
    const int32_t *shapes;                  // [bodies]
    const int32_t *template_a, *template_b; // [pairs], bodies of a world
    const double *poses;                    // [worlds,bodies,7]: position, quaternion (w, x, y, z)
    int64_t bodies, pairs;
} derive_worlds;

// derive_call is a batch. Pointers to columns that are absent are null.
typedef struct {
    const clr_shape *shapes;
    int64_t shape_count;
    const double *vertices[3]; // x, y, z of all vertices
    const double *centers;     // CLR_CENTER_VALUES values of each shape: its center of growth, and an inradius about it
    // The neighbors of number i of the vertices, as indices in its hull, are numbers neighbor_starts[i] to
    // neighbor_starts[i + 1] - 1.
    const int32_t *neighbor_starts, *neighbors;

    // Rows, [N], [N,3] and [N,4]: quaternions (w, x, y, z) need not be unit. If valid, rows with an answer have been
    // checked.
    int32_t *shape_a, *shape_b;
    double *position_a, *position_b, *rotation_a, *rotation_b;
    int32_t valid;

    // Worlds whose rows are copied to those above, as many as a call of the kernel has; null poses if there are none.
    derive_worlds worlds;
    int64_t first_of_worlds; // row 0 of the answers

    // Answers: float64, or float32 if single.
    const void *value, *normal, *witness_a, *witness_b; // [N], [N,3] each
    const float *gap;                                   // [N]
    const uint8_t *status;                              // [N]
    const uint8_t *marks;                               // [N], DERIVE_ANSWERED of the rows that have an answer
    double cut_off;                                     // +inf without one
    int64_t first;                                      // row 0 of the answers is row first of the rows
    int32_t single;                                     // answers are float32
    int32_t growth;                                     // values are growth distances

    // Which derivatives, and the noise of smoothed ones, whose defaults are filled in but for the length of Gumbel
    // noise: 0 is a share of the size.
    int32_t mode, samples, rings;
    double epsilon;
    uint64_t seed, first_number; // row 0 of the answers has this number in the noise
    const int32_t *stop;         // not 0 while the kernel runs: samples end, and rows hold anything; or null

    // Derivatives, of rows of the answers: float64, or float32 if single_out.
    int32_t single_out;
    void *d_value;                              // [N,12]
    void *d_normal, *d_witness_a, *d_witness_b; // [N,3,12]
    void *curvature;                            // [N,6]
    uint8_t *smoothness;                        // [N]
    const double *cotangents, *twists;          // [N,10], [N,12]
    int64_t gradient_first;                     // row 0 of gradients is this row of the answers
    double *gradients, *tangents;               // [N,12], [N,10]
} derive_call;

// derive_samples are estimates of order zero of rows: each has the samples from first_sample on, at other poses of B.
// Answer r·samples + s is that of sample s of row r.
typedef struct {
    int64_t first_sample, samples;
    uint64_t seed;
    double epsilon;
    const uint64_t *number;                               // [rows], in the noise
    const double *size;                                   // [rows]
    const double *position, *rotation;                    // [rows,3], [rows,4] of B; quaternions are unit
    double *noise;                                        // [rows,6,samples], samples padded
    double *to_position, *to_rotation;                    // of B, of the answers
    const double *value, *normal, *witness_a, *witness_b; // the answers
    const double *at;                                     // [rows,10], those at the poses of the rows
    double *sums;                                         // [rows,10,6]
} derive_samples;

// Samples of a row are padded to a multiple of this, so that vectors are loaded whole.
#define DERIVE_ALIGN 8

// The largest number of rows of a call of the kernel.
#define DERIVE_BLOCK 256

// Codes of package batch: of modes, and others.
enum { DERIVE_EXACT = 0, DERIVE_GUMBEL = 1, DERIVE_GAUSSIAN = 2 };
enum { DERIVE_ANSWERED = 1, DERIVE_SMOOTH = 1, DERIVE_UNIQUE = 2, DERIVE_SMOOTHED = 5 };

// A kernel answers rows [lo, hi) of the answers, at most DERIVE_BLOCK, but those that it lists in left, in any order,
// and counts. The derivatives of these hold anything.
typedef int32_t (*derive_kernel)(const derive_call *c, int64_t lo, int64_t hi, int32_t *left);

// A sampler makes noise and poses of rows [lo, hi), or their sums.
typedef void (*derive_sampler)(const derive_samples *e, int64_t lo, int64_t hi);

// derive_unit is what the kernels of an instruction set export.
typedef struct {
    derive_kernel all;    // all derivatives
    derive_kernel values; // of the value alone, by the normal and the witnesses as they are
    derive_sampler displace, add;
} derive_unit;

#endif
