// The interface between Go and the kernels of culling (cull.h) and of the broad phase (rows.h). Arrays are arguments:
// the structures hold no pointers.

#ifndef CLR_BOXES_API_H
#define CLR_BOXES_API_H

#include <stdint.h>

// Culling.

#define CLR_CULL_LANES 8 // worlds of a call
#define CLR_CULL_BALLS (8 * CLR_CULL_LANES)

// Values of a body at a place, in the frame of the body.
enum {
    CLR_CULL_CENTER = 0,    // of the ball that contains it; of a half-space a point of its plane
    CLR_CULL_RADIUS = 3,    // of that ball; of a half-space its margin
    CLR_CULL_MAGNITUDE = 4, // of all coordinates of its bounds
    CLR_CULL_FAR = 5,       // largest coordinate of a valid position
    CLR_CULL_INNER = 6,     // center of the ball within it; of a half-space its normal
    CLR_CULL_INRADIUS = 9,  // of that ball
    CLR_CULL_SLACK = 10,    // its center is this close to a point of the body
    CLR_CULL_SAME = 11,     // not 0: both balls have one center
    CLR_CULL_PLANE = 12,    // not 0: the body is one half-space
    CLR_CULL_VALUES = 13,
};

// Values of a part of a body, in the frame of the body.
enum {
    CLR_CULL_PART_CENTER = 0,   // of both balls
    CLR_CULL_PART_RADIUS = 3,   // of the ball that contains it
    CLR_CULL_PART_INRADIUS = 4, // of the ball within it
    CLR_CULL_PART_SLACK = 5,    // the center is this close to a point of the part
    CLR_CULL_PART_BOX = 6,      // center of the box
    CLR_CULL_PART_HALF = 9,     // its half extents
    CLR_CULL_PART_AXES = 12,    // its axes are the columns of this matrix
    CLR_CULL_PART_VALUES = 21,
};
#define CLR_CULL_PART_COLUMNS 20 // of a part in the world frame

typedef struct {
    int64_t places;   // with a body in some pair
    int64_t pairs;    // of these places
    int64_t parts;    // of the bodies of pairs that boxes may cull
    int64_t bounds;   // numbers of scratch memory for bounds of pairs of parts, 0: boxes cull nothing
    int64_t stride;   // numbers of the poses of a world
    double threshold; // distance beyond which no pair matters
    int32_t valued;   // only the least distance of a world is wanted
} clr_cull;

// clr_culled holds the results for each world.
typedef struct {
    double nearest[CLR_CULL_LANES]; // the pair with the least lower bound, -1 for none
    double upper[CLR_CULL_LANES];   // an upper bound of the culled pairs, +Inf for none
    double beyond[CLR_CULL_LANES];  // distance beyond which pairs are culled
    double least[CLR_CULL_LANES];   // least lower bound of the culled pairs, +Inf for none
    int32_t count[CLR_CULL_LANES];  // pairs that are left
} clr_culled;

// A kernel culls CLR_CULL_LANES worlds and returns the set of those whose poses are all valid and need no scaling; of
// the others nothing is known. place has the place of each body in a world, a and b the pairs, as indices into it,
// bodies CLR_CULL_VALUES for each, parts CLR_CULL_PART_VALUES for each part, those of body k from first[k] to
// first[k+1]. boxed has the number of pairs of parts of each pair that boxes may cull, 0 of others. Scratch memory:
// CLR_CULL_BALLS for each body, CLR_CULL_LANES for each pair, CLR_CULL_LANES · CLR_CULL_PART_COLUMNS for each part, and
// c->bounds: three columns, of pairs of parts: lower bounds by balls and by boxes, and upper bounds. open has the pairs
// that are left, from 2 · l · pairs on for world l: the pair, and the first of its pairs of parts in these columns, -1
// if boxes could not cull it.
#define CLR_CULL_FUNCTION(name)                                                                                    \
    int32_t name(const clr_cull *c, const double *poses, const int32_t *place, const int32_t *a, const int32_t *b, \
                 const double *bodies, const int32_t *first, const double *parts, const int32_t *boxed,            \
                 double *scratch, int32_t *open, clr_culled *out)
typedef CLR_CULL_FUNCTION((*clr_cull_kernel));
CLR_CULL_FUNCTION(clr_cull_avx512);
CLR_CULL_FUNCTION(clr_cull_avx2);
CLR_CULL_FUNCTION(clr_cull_neon);
CLR_CULL_FUNCTION(clr_cull_portable);

// The broad phase.

#define CLR_ROWS_LANES 8   // boxes of a block
#define CLR_ROWS_BLOCK 48  // numbers of a block: lower x, y, z, upper x, y, z of CLR_ROWS_LANES boxes
#define CLR_ROWS_LEVELS 10 // of a hierarchy of 2^28 boxes
#define CLR_ROWS_SORTED 64 // longer rows are left as they were found
#define CLR_ROWS_SPARE 16  // numbers behind the end of an array that a kernel may read and write

typedef struct {
    int64_t first[CLR_ROWS_LEVELS]; // block of each level, from the boxes up
    int64_t levels;
    int64_t leaf, end;         // leaves to process; leaf is advanced
    int64_t used, room;        // numbers of rows that are used, and that there is room for without CLR_ROWS_SPARE
    int64_t leaves;            // room of near, next and lanes each, without CLR_ROWS_SPARE
    int64_t need, need_leaves; // numbers of rows, or leaves, for lack of which a kernel stopped; else 0
} clr_rows;

// A kernel appends to rows, for each box of the leaves, the boxes of higher index that it meets, ascending unless there
// are more than CLR_ROWS_SORTED. last has the largest index of a box in each leaf. length receives the length of the
// row of each box. near, next and lanes are scratch.
#define CLR_ROWS_FUNCTION(name)                                                                          \
    void name(clr_rows *c, const double *blocks, const int32_t *ids, const int32_t *last, int32_t *near, \
              int32_t *next, int32_t *lanes, int32_t *rows, int64_t *length)
typedef CLR_ROWS_FUNCTION((*clr_rows_kernel));
CLR_ROWS_FUNCTION(clr_rows_avx512);
CLR_ROWS_FUNCTION(clr_rows_avx2);
CLR_ROWS_FUNCTION(clr_rows_neon);
CLR_ROWS_FUNCTION(clr_rows_portable);

#endif
