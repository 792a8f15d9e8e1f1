// The interface between Go and the kernels: the library, a call, the scratch memory of a worker. Go reads these
// structures through cgo.

#ifndef CLR_SIMD_API_H
#define CLR_SIMD_API_H

#include <stdint.h>

#include "classes.h"
#include "layout.h"

// clr_shape is one shape of the library, float64. All kernels read it; the last four numbers are for derivatives and
// contact points.
typedef struct {
    double p[3];      // see the classes
    double erode;     // radius by which the core is eroded, see geom.MinCurvatureRadius; of a hull, the
                      // scale of the ellipsoid with semi-axes p about the center that contains it
    double radius;    // of the ball that is added to the core, erode included
    double size;      // bounding radius
    double center[3]; // a point of the shape, the center of its bounding ball
    double off;       // |center|
    int32_t class, form;
    int32_t first, count; // vertices; first is a multiple of CLR_VERTEX_ALIGN
    int32_t cells, spare; // of a hull: its first cell in starts
    double extent[3]; // of a hull: half extents relative to the largest, times the cells along an edge of the cube, see
                      // package hullcells; without cells 0
    double margin;    // radius of the ball that is added to the shape as the library has it, without erode
    double inner;     // radius of a ball about the center within the shape, without margin
    double spread;    // of a hull: bound of the coordinates of its vertices and of the distance of two
    double negligible; // of a smooth hull or revolution: support values below this share of the largest are lost to
                       // rounding
} clr_shape;

// core_of returns the code of the core of a shape.
static inline int core_of(const clr_shape *s) {
    return s->form ? CLR_CLASSES + s->form : s->class == CLR_SMALL ? CLR_HULL : s->class;
}

// clr_shape32 is the part of a shape that Boolean queries read, rounded to float32: see input.h.
typedef struct {
    float p[3], radius;
    float size, erode, center[3];
    int32_t first, count; // vertices
    float none;           // padding: values are loaded four at a time
} clr_shape32;

// The vertices of a shape begin at a multiple of this and are padded to a multiple, those of hulls with
// copies of the last, those of smooth shapes with the center, so that vectors are loaded whole.
#define CLR_VERTEX_ALIGN 16

#define CLR_CELL_VALUES 8 // values of each shape in cell_values

#define CLR_CENTER_VALUES 12 // values of each shape in centers

// clr_call is the part of a call that all of its rows share.
typedef struct {
    const clr_shape *shapes;
    const clr_shape32 *shapes32;
    int64_t shape_count;
    int32_t alike;              // all shapes are of one class and form
    int32_t scanned;            // number of vertices of shapes without direction cells; these come first
    const double *vx, *vy, *vz; // the coordinates of all vertices
    const float *fx, *fy, *fz;  // those of the scanned ones in float32, relative to the center of their hull
    const double *corners;      // all vertices: x, y, z and 0 of each
    const float *points;        // vertices of hulls with cells: as fx, fy, fz, and the number within the hull
    const float *cell_values;   // CLR_CELL_VALUES values of each shape, see Table.cellValues
    const int32_t *candidates;  // the candidate vertex of each cell, its place in points
    const float *lists;         // vertices of direction cells, see Table, in blocks of as many as there are lanes
    const int32_t *starts;      // first block of each cell

    // Pairs: shape, position and rotation columns of A and B, see batch.Pairs.
    const int32_t *shape_a, *shape_b;
    const double *position_a, *position_b, *rotation_a, *rotation_b;
    // Worlds: poses, body shapes and templates, see batch.Worlds; poses is null for pairs.
    const double *poses;
    const int32_t *body_shape, *template_a, *template_b;
    int64_t bodies, templates;
    const double *warm; // [N,3] or null

    const double *centers; // growth: CLR_CENTER_VALUES values of each shape, see Table.centers

    int32_t collide;     // the query is collide: whether the shapes intersect
    int32_t penetration; // the query is penetration: separated pairs need a separating direction only
    int32_t boolean;     // collide, with the status column alone and without warm starts; growth with that column alone
    int32_t growth;      // the query is growth
    int32_t automatic;   // the method is auto: closed forms and second-order methods may answer; closed forms of
                         // half-spaces always may
    int32_t rtr;         // the Riemannian trust region method may answer pairs of smooth cores
    int32_t single;      // columns are float32
    int32_t has_cut_off;
    int32_t max_steps; // limit of the evaluations of the support function of a row, or 0 for none
    double cut_off;
    double tolerance;    // relative to the size of the pair
    double curved_depth; // the same for depths of curved shapes

    // Answer columns of rows first to first + …, by their codes (layout.h), null where the caller wants none. Reals are
    // float if single, else double; the other types are those of the table in package batch.
    int64_t first;
    void *columns[CLR_COLUMN_COUNT];
} clr_call;

// bytes_of returns the place of a row in a column of bytes, null where the caller wants none.
static inline uint8_t *bytes_of(const clr_call *c, int column, int64_t row) {
    return c->columns[column] ? (uint8_t *)c->columns[column] + (row - c->first) : 0;
}

#define CLR_BLOCK 2048     // most rows of one call of a kernel
#define CLR_GROUP_ROWS 256 // rows of one group that are solved together
#define CLR_STRIDE64 264   // column strides: 33 and 17 cache lines, so that columns
#define CLR_STRIDE32 272   // do not fall on the same sets of the cache

// Columns of the inputs of a group of rows, the same for float32 and float64.
enum {
    CLR_ROT = 0,               // rotation of B in the frame of A, row-major
    CLR_TRANS = 9,             // origin of B in the frame of A
    CLR_PA = 12,               // parameters of A, then its erode; of hulls, 1/scale of the float32 frame
    CLR_PB = 16,               // parameters of B, then its erode
    CLR_STOP = 20,             // duality gap at which iteration ends; of Boolean queries see STATUS_STOP in cores.h
    CLR_FAR = 21,              // iteration ends when the dual bound exceeds this distance of the cores
    CLR_NEAR = 22,             // iteration ends when the primal bound falls below this distance of the cores
    CLR_SUPPORT_ROUNDING = 23, // rounding bound of a support value in the precision of the loop
    CLR_X = 24,                // initial direction; in float64 the closest point so far
    CLR_IN = 27,
    CLR_VERT = 27, // float64 only: the simplex, three vertices
    CLR_DIR = 36,  // the directions of which they are support points
    CLR_IN64 = 45,
};

// Further columns, float64.
enum {
    CLR_ROTA = 0, // rotation of A in the world
    CLR_POSA = 9, // origin of A in the world
    CLR_RA = 12,  // radius of the ball of A
    CLR_RB = 13,
    CLR_ROUNDING = 14, // rounding bound of a support value
    CLR_TOL = 15,      // tolerance
    CLR_SEED = 16,     // directions of the simplex that a loop ended with: the newest, two others,
    CLR_LAST = 25,     // and as the fourth that of the last evaluation
    CLR_SPAN = 28,     // length that is 1 in the frame of float32
    CLR_BETWEEN = 29,  // from the center of B to that of A, of two hulls with cells
    CLR_MORE = 32,
};

// A row of clr_scratch.simplex is x of four vertices, then y, z, and their numbers in A and in B.
#define CLR_SIMPLEX 20

#define CLR_DEPTH_BYTES (280 << 10)

// clr_found holds the faces of float32 polytopes that may be closest to the origin (epa_float32.h), in
// the frames of their pairs: columns over the rows of a group, three corners per face.
#define CLR_FOUND 12 // most faces
typedef struct {
    uint8_t faces[CLR_STRIDE32];                    // none where nothing was found
    float beyond[CLR_STRIDE32];                     // least distance of the planes of all other faces
    float w[3 * CLR_FOUND][3][CLR_STRIDE32];        // corners,
    int32_t number[3 * CLR_FOUND][2][CLR_STRIDE32]; // of hulls, the vertices of A and B that they are made of,
    float d[3 * CLR_FOUND][2][3][CLR_STRIDE32];     // of boxes, the directions of which these are support points
} clr_found;

// clr_minima holds local minima of the support function of D, found in float64 (depth_certificate.h), and the
// data of their depth certificates (depth_certificate.h): columns over the rows of a group.
enum {
    CLR_MINIMUM_NONE,  // declined
    CLR_MINIMUM_AGAIN, // another search, from the direction in answer
    CLR_MINIMUM_LOCAL,
    CLR_MINIMUM_GLOBAL,   // proved to be the depth
    CLR_MINIMUM_EXPANDED, // the depth by an expanded polytope alone
};
typedef struct {
    uint8_t state[CLR_STRIDE32];
    uint8_t tied[CLR_STRIDE32];        // bits of the cores both of whose rims have the greatest support value
    double answer[12][CLR_STRIDE64];   // see lane_depths; the normal is also the start of another search
    float apex[3][CLR_STRIDE32];       // over the cap around the minimum, in the frame of float32
    float low[CLR_STRIDE32];           // distance that the planes of all faces have to exceed
    float refuted_below[CLR_STRIDE32]; // support value below which a direction belongs to a lower minimum
} clr_minima;

// clr_growth is the state of the growth query of a group of rows (growth.h). The frame of the ray has its z axis
// along the ray from the center of A to that of B; in it, D = (A − c_A) − (B − c_B) for the centers.
enum {
    CLR_RAY_A = 0,       // rotation from the frame of the ray to that of A, row-major
    CLR_SHIFT = 9,       // added to differences of points of the cores: D is about the centers, cores are about origins
    CLR_RAY_B = 20,      // rotation from the frame of the ray to that of B; before it CLR_PA and CLR_PB
    CLR_BALL = 29,       // sum of the radii of the balls
    CLR_INRADIUS = 30,   // sum of the inradii
    CLR_GROWTH_GAP = 31, // relative gap at which the iteration ends
    CLR_RISE = 32,       // so does it if a support plane lies no higher above the triangle
    CLR_BELOW = 33,      // or if the upper bound of t is at most this,
    CLR_ABOVE = 34,      // or the lower bound at least this
    CLR_GROWTH_IN = 35,
};
enum {
    CLR_BETWEEN_CENTERS = CLR_GROWTH_IN, // distance of the centers, |p|
    CLR_ROUNDING_P,                      // rounding bound of p
    CLR_ROUNDING_S,                      // rounding bound of a support value of D about the centers
    CLR_INRADIUS_A,                      // inradius of A alone
    CLR_CENTER_A,                        // center of A in its frame,
    CLR_CENTER_B = CLR_CENTER_A + 3,     // of B in its frame
    CLR_POINTS_A = CLR_CENTER_B + 3,     // points of A in its frame that make up the triangle,
    CLR_POINTS_B = CLR_POINTS_A + 9,     // points of B in its frame,
    CLR_LOWEST = CLR_POINTS_B + 9,       // and the direction of the least upper bound
    CLR_GROWTH_ALL = CLR_LOWEST + 3,
};
typedef struct {
    double in64[CLR_GROWTH_ALL][CLR_STRIDE64];
    float in32[CLR_GROWTH_IN][CLR_STRIDE32];
    float facing[9][CLR_STRIDE32]; // of the triangle of float32: directions of which its vertices are support points
} clr_growth;

// State of a row: unsolved, cores intersect, separated, declined, answered.
enum { CLR_OPEN, CLR_INSIDE, CLR_AWAY, CLR_BAD, CLR_DONE };

// clr_scratch is the memory of a worker. There are two: the second collects penetrating rows (kernel.h).
typedef struct {
    double in64[CLR_IN64][CLR_STRIDE64];
    double more[CLR_MORE][CLR_STRIDE64];
    float in32[CLR_IN][CLR_STRIDE32];
    float simplex[CLR_STRIDE32][CLR_SIMPLEX];                 // of two intersecting hulls: the last one in float32
    int32_t seed_a[4][CLR_STRIDE32], seed_b[4][CLR_STRIDE32]; // vertices of hulls
    int32_t shape_a[CLR_STRIDE32], shape_b[CLR_STRIDE32];
    int32_t row[CLR_STRIDE32]; // of the input
    uint16_t steps[CLR_STRIDE32];
    uint8_t state[CLR_STRIDE32];
    int32_t list[CLR_STRIDE32]; // rows for the float64 loop
    int32_t order[CLR_BLOCK];
    uint8_t key[CLR_BLOCK];
    int32_t left[CLR_BLOCK]; // declined rows
    clr_found found;
    clr_minima minima;
    clr_growth growth;
    uint8_t depths[CLR_DEPTH_BYTES];                                                           // polytopes, see epa.h
    int64_t rows32, steps32, lanes32, rows64, steps64, lanes64, rows_rtr, done_rtr, steps_rtr; // statistics, summed up
    int64_t rows_shared; // of rows32, those of shared_shapes.h
} clr_scratch;

#define CLR_SCRATCHES 2

// A kernel answers rows [lo, hi) of the input, at most CLR_BLOCK. It lists the rows that it declines in
// s->left and returns their number.
#define CLR_KERNEL_FUNCTION(name) int name(const clr_call *c, clr_scratch *s, int64_t lo, int64_t hi)
typedef CLR_KERNEL_FUNCTION((*clr_kernel));

CLR_KERNEL_FUNCTION(clr_run_avx512);
CLR_KERNEL_FUNCTION(clr_run_avx2);
CLR_KERNEL_FUNCTION(clr_run_neon);
CLR_KERNEL_FUNCTION(clr_run_portable);

// The same for the growth query.
CLR_KERNEL_FUNCTION(clr_growth_avx512);
CLR_KERNEL_FUNCTION(clr_growth_avx2);
CLR_KERNEL_FUNCTION(clr_growth_neon);
CLR_KERNEL_FUNCTION(clr_growth_portable);

#endif
