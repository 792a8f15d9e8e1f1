// The interface between Go and the kernel. Lengths are metres, angles radians, numbers float64 unless a comment says
// otherwise. Row i of a column of width w starts at value w·i.

#ifndef LN_LANES_H
#define LN_LANES_H

#include <stdint.h>

// Classes of cores.
enum { LN_POINT, LN_SEGMENT, LN_BOX, LN_FRUSTUM, LN_ELLIPSOID, LN_HALFSPACE, LN_HULL, LN_NONE, LN_CLASSES };

// ln_shape is a shape: a core and a ball.
typedef struct {
    int32_t class;       // LN_NONE for shapes that the kernel does not support
    double radius;       // of the ball
    double size;         // share in the size of a pair
    double parameter[3]; // half length; half extents; bottom and top radius, half length; semi-axes
    // Of a hull: its vertices are count numbers from number first on in each of the three columns of vertices. Up to
    // the next multiple of 4 the last vertex is repeated.
    int64_t first, count;
    double extent; // bound of the coordinates of vertices and of the distance of two
    // Its faces, none of a point or a segment, likewise in the columns of faces.
    int64_t first_face, faces;
} ln_shape;

// ln_call is a batch. Pointers to columns that are absent are null.
typedef struct {
    const ln_shape *shapes;
    int64_t shape_count;
    const double *vertices[3]; // of all hulls: x, y, z
    const double *faces[4];    // outward unit normal, support value

    // Rows, [N], [N,3] and [N,4]: quaternions (w, x, y, z) need not be unit.
    const int32_t *shape_a, *shape_b;
    const double *position_a, *position_b, *rotation_a, *rotation_b;

    // Answers: float64, or float32 if single.
    const void *value, *normal, *witness_a, *witness_b; // [N], [N,3] each
    const float *gap;                                   // [N]
    const uint8_t *status;                              // [N]
    const uint8_t *marks;                               // [N], LN_ANSWERED of the rows that have an answer
    double cut_off;                                     // +inf without one
    int64_t first;                                      // row 0 of the answers is row first of the rows
    int32_t single;                                     // answers are float32

    int32_t gumbel; // derivatives of shapes that are smoothed by Gumbel noise
    double epsilon; // its length, 0 for the default

    // Derivatives, of rows of the answers: float64, or float32 if single_out.
    int32_t single_out;
    void *d_value;                              // [N,12]
    void *d_normal, *d_witness_a, *d_witness_b; // [N,3,12]
    void *curvature;                            // [N,6]
    uint8_t *smoothness;                        // [N]
    const double *cotangents, *twists;          // [N,10], [N,12]
    int64_t gradient_first;                     // row 0 of gradients is this row of the answers
    double *gradients, *tangents;               // [N,12], [N,10]
} ln_call;

// The largest number of rows of a call of the kernel.
#define LN_BLOCK 256

// Codes of package batch.
enum { LN_PENETRATING = 2, LN_ANSWERED = 1, LN_SMOOTH = 1, LN_UNIQUE = 2, LN_SMOOTHED = 5 };

// A kernel answers rows [lo, hi) of the answers, at most LN_BLOCK, but those that it lists in left, in any order, and
// counts. The derivatives of these hold anything.
typedef int32_t (*ln_kernel)(const ln_call *c, int64_t lo, int64_t hi, int32_t *left);

int32_t ln_run_portable(const ln_call *c, int64_t lo, int64_t hi, int32_t *left);
int32_t ln_run_avx2(const ln_call *c, int64_t lo, int64_t hi, int32_t *left);

#endif
