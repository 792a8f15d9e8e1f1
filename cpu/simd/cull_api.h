// What Go and the kernels of culling share, see cull.h. Arrays are arguments: this holds no pointers.

#ifndef CLR_CULL_API_H
#define CLR_CULL_API_H

#include <stdint.h>

#define CLR_CULL_LANES 8 // worlds of a call
#define CLR_CULL_BALLS (8 * CLR_CULL_LANES)

// Values of a body at a place, in the frame of the body.
enum {
    CLR_CULL_CENTER = 0,    // of the ball that contains it
    CLR_CULL_RADIUS = 3,    // of that ball
    CLR_CULL_MAGNITUDE = 4, // of all coordinates of its bounds
    CLR_CULL_FAR = 5,       // largest coordinate of a valid position
    CLR_CULL_INNER = 6,     // center of the ball within it
    CLR_CULL_INRADIUS = 9,  // of that ball
    CLR_CULL_SLACK = 10,    // its center is this close to a point of the body
    CLR_CULL_SAME = 11,     // not 0: both balls have one center
    CLR_CULL_VALUES = 12,
};

typedef struct {
    int64_t places;   // with a body in some pair
    int64_t pairs;    // of these places
    int64_t stride;   // numbers of the poses of a world
    double threshold; // distance beyond which no pair matters
    int32_t valued;   // what is beyond the least of a world does not matter either
} clr_cull;

// clr_culled is what is known of each world.
typedef struct {
    double nearest[CLR_CULL_LANES]; // the pair with the least lower bound, -1 for none
    double upper[CLR_CULL_LANES];   // upper bound of that pair
    double beyond[CLR_CULL_LANES];  // distance beyond which pairs are culled
    double least[CLR_CULL_LANES];   // least lower bound of the culled pairs, +Inf for none
    int32_t count[CLR_CULL_LANES];  // pairs that are left
} clr_culled;

// A kernel culls CLR_CULL_LANES worlds and returns the set of those whose poses are all valid and need no scaling; of
// the others nothing is known. place has the place of each body in a world, a and b the pairs, as indices into it,
// bodies CLR_CULL_VALUES for each. Scratch: balls has CLR_CULL_BALLS for each body, lowers CLR_CULL_LANES for each
// pair. open has the pairs that are left, from l · pairs on for world l.
#define CLR_CULL_FUNCTION(name)                                                                                    \
    int32_t name(const clr_cull *c, const double *poses, const int32_t *place, const int32_t *a, const int32_t *b, \
                 const double *bodies, double *balls, double *lowers, int32_t *open, clr_culled *out)
CLR_CULL_FUNCTION(clr_cull_avx512);
CLR_CULL_FUNCTION(clr_cull_avx2);
CLR_CULL_FUNCTION(clr_cull_neon);
CLR_CULL_FUNCTION(clr_cull_portable);

#endif
