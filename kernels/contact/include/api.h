// What Go and the kernels of contacts share: columns, and the entry points of a variant.

#ifndef CONTACT_API_H
#define CONTACT_API_H

#include <stdint.h>

#include "../../shape/api.h"

// What is solved and how, without pointers, so that it may lie in the memory of the caller.
typedef struct {
    int32_t bodies, contacts; // of a world
    int32_t worlds;           // of the group
    int32_t convex;           // 0: NCP, 1: CCP
    int32_t sweeps, steps;    // at most, of Newton's method
    int32_t refine;           // see Options
    double tolerance, relaxation;
    double resolved; // least speed scale relative to the speeds, see Options
} contact_options;

// The columns of a problem and its answer: those of Problem in doc.go. target, compliance and warm may be NULL.
typedef struct {
    double *mass, *inertia, *velocity;
    int32_t *count, *body_a, *body_b;
    double *arm_a, *arm_b, *frame, *friction, *target, *compliance, *warm;
    double *impulse, *solved, *residual, *scale, *primal, *dual, *complementarity;
    int32_t *sweeps;
} contact_columns;

// Sweeps. world holds the indices of the worlds of the group. The scratch memory has the bytes of sweep_scratch for so
// many bodies, and contacts of all worlds of the group, and is aligned to 64. Bit l of the result says whether world l
// of the group is solved. Where *stop is set meanwhile, the sweeps end; it may be NULL.
#define CONTACT_SWEEP(name)                                                                                            \
    uint32_t name(const contact_options *o, const contact_columns *columns, const int32_t *world, const int32_t *stop, \
                  void *scratch)

static inline int is_set(const int32_t *stop) { return stop && __atomic_load_n(stop, __ATOMIC_RELAXED); }

// Newton's method for one world. The impulses to start from are replaced by those of the least residual. It returns the
// number of steps. The scratch memory has the bytes of newton_scratch for so many blocks of the matrix. If the
// elimination needs more it returns their number, negative, and writes nothing. Where *stop is set meanwhile, the steps
// end; it may be NULL.
#define CONTACT_NEWTON(name)                                                                                       \
    int32_t name(const contact_options *o, const contact_columns *columns, int32_t index_of_world, int64_t blocks, \
                 const int32_t *stop, void *scratch)

// What contact points read of a shape beside its record in the table of all kernels, see Features in shapes.go. Its
// numbers begin at reals and ints of the columns; ints is -1 where it has no faces or edges of its own, else there
// are a header of offsets and what they lead to.
typedef struct {
    double center, slant;          // distance of the center from the origin; length of the side of a frustum
    double ball, margin, inradius; // the radius of the ball around the core is ball + margin
    int64_t reals, ints;
    int32_t cylinder; // the signed distance is that of a cylinder
    int32_t unused;
} contact_features;

// Numbers of a polytope.
enum {
    CONTACT_FACE_START, // [V+1] of faces
    CONTACT_FACES,      // at each vertex
    CONTACT_CORNER_START,
    CONTACT_CORNERS,
    CONTACT_EDGES,
    CONTACT_NEIGHBOUR_START,
    CONTACT_NEIGHBOURS,
    CONTACT_SIDE_START, // of the corners of the planes
    CONTACT_SIDES,
    CONTACT_FACES_AT,    // of reals: normal and slack of each face; before them, of a box, x, y, z of the vertices
    CONTACT_CORNERS_AT,  // of reals: x of the first corner
    CONTACT_ALL_CORNERS, // from x to y of a corner, and from y to z
    CONTACT_BODY,        // of reals: the center, the radius of a ball about it, and normal and offset of each plane
    CONTACT_PLANES,      // number of planes
    CONTACT_DIM,         // of the hull
};

#define CONTACT_BOX_VERTICES 8

typedef struct {
    const clr_shape *shape;
    const double *vertices[3]; // columns of coordinates, of which a shape has those from first on
    const contact_features *features;
    const double *reals;
    const int32_t *ints;
    const double *rim; // [2,2,16] cosines and sines of the corners of an upper rim, then of a lower one
    int64_t corners;   // at most of a face, and vertices of a polytope
} contact_shapes;

// Columns of answered pairs.
typedef struct {
    const int32_t *shape_a, *shape_b;
    const double *position_a, *position_b, *rotation_a, *rotation_b;
    const double *normal, *distance;
    const float *gap;
    const double *witness_a, *witness_b, *max_gap;
} contact_rows;

typedef struct {
    int32_t *count;
    double *lower, *position, *gap;
    uint64_t *id;
} contact_points;

// The contact points of n rows, those of list. The scratch memory has the bytes of manifold_scratch for the corners of
// the table and a number of candidates of a row, and is aligned to 64. Rows that have more are left, first in list; the
// result is their number.
#define CONTACT_MANIFOLD(name)                                                                     \
    int32_t name(const contact_shapes *shapes, const contact_rows *rows, int32_t *list, int32_t n, \
                 const contact_points *out, int64_t candidates, void *scratch)

// What all worlds of a simulation have in common, see Scene in bodies.go.
typedef struct {
    int32_t bodies, contacts, convex, unused;
    double time_step, most_length, gravity[3];
} contact_scene;

// What does not change of a body. The mass is infinite of one that does not move; the matrices are in its axes.
typedef struct {
    double mass, inertia[6], inverse[6], center[3], radius, arm;
    double axes[9], turn[3], spread[3], series[18], round;
} contact_fixed;

// contact.bodyState
typedef struct {
    double position[3], rotation[4], matrix[9], center[3], velocity[3], spin[3], rim, momentum[3];
    double next_position[3], next_rotation[4], next_velocity[3], next_momentum[3], angle, reach;
} contact_body;

// The columns of a simulation beside those of its problem: Columns in bodies.go. world_impulse [W,2,C,3] has two sides.
typedef struct {
    const contact_fixed *fixed;
    const double *pose, *velocities, *momenta, *force; // force may be NULL
    contact_body *bodies;
    const uint8_t *sides;
    double *world_impulse, *energy, *allowed, *change;
} contact_state;

// The state of bodies, their inertia in world axes and their velocities without contacts, of the worlds of list. Worlds
// with a body whose state is invalid, or whose quaternion is not of unit length, are left, first in list; the result is
// their number.
#define CONTACT_PREPARE(name) \
    int32_t name(const contact_scene *s, const contact_state *state, const contact_columns *c, int32_t *list, int32_t n)

// The audit of the energy and the states after the step, of the worlds of list. The side of world_impulse is written
// that is not in use. change is -1 where a state is not finite, and -2 where a body rotates too fast.
#define CONTACT_MOVE(name)                                                                                       \
    void name(const contact_scene *s, const contact_state *state, const contact_columns *c, const int32_t *list, \
              int32_t n)

// How contacts are made, see contact.StepOptions.
typedef struct {
    int32_t bodies, contacts; // of a world
    double time_step, correction, recovery_speed, bounce_speed, gravity;
} contact_rules;

// A pair of parts, a < b.
typedef struct {
    int32_t a, b, carrier, unused; // bodies; carrier is the one of both that impulses do not move, or -1
    double friction, restitution, size, slop;
} contact_pair;

// contact.worldRow
typedef struct {
    int32_t pair, points;
    double apart;
} contact_row;

// contact.contactID
typedef struct {
    int32_t pair;
    uint64_t id;
} contact_id;

// What contacts are made from: Assembly in bodies.go. first [W+1] are the rows of each world.
typedef struct {
    const contact_pair *pairs;
    const int32_t *first;
    const contact_row *rows;
    contact_points points;
    const double *normal;
    const int32_t *old_n;
    contact_id *ids;
    double *positions;
} contact_assembly;

// The contacts of the worlds of list, which are no more than their capacity. Those of the last solve are the side in
// use of ids, positions and world_impulse; those of the worlds are put into the other one.
#define CONTACT_ASSEMBLE(name)                                                                      \
    void name(const contact_rules *rules, const contact_state *state, const contact_assembly *from, \
              const contact_columns *out, const int32_t *list, int32_t n)

// The kernels of a variant.
typedef struct {
    int32_t worlds; // of a group at most
    CONTACT_SWEEP((*sweep));
    int64_t (*sweep_scratch)(int32_t bodies, int64_t contacts);
    CONTACT_NEWTON((*newton));
    // -1 for more bodies than the kernel can number.
    int64_t (*newton_scratch)(int32_t bodies, int32_t contacts, int64_t blocks);
    // The number of blocks to begin with: those of a matrix in which the elimination fills at most four for each
    // contact, or all.
    int64_t (*newton_blocks)(int32_t bodies, int32_t contacts);
    CONTACT_MANIFOLD((*manifold));
    int64_t (*manifold_scratch)(int64_t corners, int64_t candidates);
    CONTACT_PREPARE((*prepare));
    CONTACT_MOVE((*move));
    CONTACT_ASSEMBLE((*assemble));
} contact_kernels;

#endif
