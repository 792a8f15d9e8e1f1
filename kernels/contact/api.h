#ifndef CONTACT_LANES_API_H
#define CONTACT_LANES_API_H

#include <stdint.h>

// What is solved and how, without pointers, so that it may lie in the memory of the caller.
typedef struct {
    int32_t bodies, contacts; // of a world
    int32_t worlds;           // of the group, 1 to 8
    int32_t convex;           // 0: NCP, 1: CCP
    int32_t sweeps, steps;    // at most, of Newton's method
    int32_t refine;           // see Options
    double tolerance, relaxation;
    double resolved; // least speed scale relative to the speeds, see Options
} lanes_options;

// The columns are those of Problem in doc.go; world holds the indices of the worlds of the group. The scratch memory
// has lanes_sweep_scratch bytes for so many bodies, and contacts of all worlds of the group, and is aligned to 32. Bit
// l of the result says whether world l of the group is solved. Where *stop is set meanwhile, the sweeps end; it may be
// NULL.
#define LANES_SWEEP(name)                                                                                     \
    uint32_t name(const lanes_options *o, const int32_t *world, const double *mass, const double *inertia,    \
                  const double *velocity, const int32_t *count, const int32_t *body_a, const int32_t *body_b, \
                  const double *arm_a, const double *arm_b, const double *frame, const double *friction,      \
                  const double *target, const double *warm, double *impulse, double *solved_velocity,         \
                  double *residual, double *scale, double *primal, double *dual, double *complementarity,     \
                  int32_t *sweeps, const int32_t *stop, void *scratch)

typedef LANES_SWEEP((*lanes_sweep_function));
LANES_SWEEP(lanes_sweep_avx2);
LANES_SWEEP(lanes_sweep_portable);

int64_t lanes_sweep_scratch(int32_t bodies, int64_t contacts);

static inline int is_set(const int32_t *stop) { return stop && __atomic_load_n(stop, __ATOMIC_RELAXED); }

// Newton's method for one world; the columns are its rows of those of Problem. The impulses to start from are replaced
// by those of the least residual. It returns the number of steps. The scratch memory has lanes_newton_scratch bytes for
// so many blocks of the matrix. If the elimination needs more it returns their number, negative, and writes nothing.
// Where *stop is set meanwhile, the steps end; it may be NULL.
#define LANES_NEWTON(name)                                                                                  \
    int32_t name(const lanes_options *o, int32_t count, const double *mass, const double *inertia,          \
                 const double *velocity, const int32_t *body_a, const int32_t *body_b, const double *arm_a, \
                 const double *arm_b, const double *frame, const double *friction, const double *target,    \
                 double *impulse, int64_t blocks, const int32_t *stop, void *scratch)

typedef LANES_NEWTON((*lanes_newton_function));
LANES_NEWTON(lanes_newton_avx2);
LANES_NEWTON(lanes_newton_portable);

// lanes_newton_scratch is -1 for more bodies than the kernel can number.
int64_t lanes_newton_scratch(int32_t bodies, int32_t contacts, int64_t blocks);

// lanes_newton_blocks is the number of blocks to begin with: those of a matrix in which the elimination fills at most
// four for each contact, or all.
int64_t lanes_newton_blocks(int32_t bodies, int32_t contacts);

// What the contact points of a shape are made from, see Shape in shapes.go. Its numbers begin at reals and ints of the
// table: coordinates x, y and z of the vertices, stride numbers each, then a normal and a slack for each face; of an
// ellipsoid the semi-axes. ints is a header of offsets and what they lead to.
typedef struct {
    double radius, center, size, half, bottom, top, slant;
    int64_t reals, ints;
    int32_t form, support;
    int32_t vertices, stride;
} lanes_shape;

enum {
    LANES_FORM_NONE, // the kernel declines its rows
    LANES_FORM_POINT,
    LANES_FORM_SEGMENT,
    LANES_FORM_FRUSTUM,
    LANES_FORM_POLYTOPE,
    LANES_FORM_PLANE
};

enum {
    LANES_SUPPORT_ORIGIN,
    LANES_SUPPORT_SEGMENT,
    LANES_SUPPORT_CYLINDER,
    LANES_SUPPORT_CONE,
    LANES_SUPPORT_FRUSTUM,
    LANES_SUPPORT_ELLIPSOID,
    LANES_SUPPORT_POLYTOPE
};

enum {
    LANES_FACE_START, // [V+1] of faces
    LANES_FACES,      // at each vertex
    LANES_CORNER_START,
    LANES_CORNERS,
    LANES_EDGES,
    LANES_NEIGHBOUR_START,
    LANES_NEIGHBOURS,
    LANES_HEADER
};

typedef struct {
    const lanes_shape *shape;
    const double *reals;
    const int32_t *ints;
    const double *rim; // [16,2] cosines and sines of the corners of a rim
} lanes_shapes;

// Columns of answered pairs.
typedef struct {
    const int32_t *shape_a, *shape_b;
    const double *position_a, *position_b, *rotation_a, *rotation_b;
    const double *normal, *distance;
    const float *gap;
    const double *witness_a, *witness_b, *max_gap;
} lanes_rows;

typedef struct {
    int32_t *count;
    double *lower, *position, *gap;
    uint64_t *id;
} lanes_points;

// The contact points of n rows, those of list. Rows that the kernel declines are left, first in list; the result is
// their number.
#define LANES_MANIFOLD(name) \
    int32_t name(const lanes_shapes *shapes, const lanes_rows *rows, int32_t *list, int32_t n, const lanes_points *out)

typedef LANES_MANIFOLD((*lanes_manifold_function));
LANES_MANIFOLD(lanes_manifold_avx2);
LANES_MANIFOLD(lanes_manifold_portable);

// What all worlds of a simulation have in common, see Scene in bodies.go.
typedef struct {
    int32_t bodies, contacts, convex, unused;
    double time_step, most_length, gravity[3];
} lanes_scene;

// What does not change of a body. The mass is infinite of one that does not move; the matrices are in its axes.
typedef struct {
    double mass, inertia[6], inverse[6], center[3], radius, arm;
    double axes[9], turn[3], spread[3], series[18], round;
} lanes_fixed;

// contact.bodyState
typedef struct {
    double position[3], rotation[4], matrix[9], center[3], velocity[3], spin[3], rim, momentum[3];
    double next_position[3], next_rotation[4], next_velocity[3], next_momentum[3], angle, reach;
} lanes_body;

// Columns of contacts of worlds.
typedef struct {
    const int32_t *count, *body_a, *body_b;
    const double *arm_a, *arm_b, *frame, *friction, *target, *impulse;
} lanes_contacts;

// The state of bodies, their inertia in world axes and their velocities without contacts, of the worlds of list. force
// may be NULL. Worlds with a body whose state is invalid, or whose quaternion is not of unit length, are left, first in
// list; the result is their number.
#define LANES_PREPARE(name)                                                                                    \
    int32_t name(const lanes_scene *s, const lanes_fixed *fixed, int32_t *list, int32_t n, const double *pose, \
                 const double *velocities, const double *momenta, const double *force, lanes_body *bodies,     \
                 double *inertias, double *free_velocities)

typedef LANES_PREPARE((*lanes_prepare_function));
LANES_PREPARE(lanes_prepare_avx2);
LANES_PREPARE(lanes_prepare_portable);

// The audit of the energy and the states after the step, of the worlds of list. world_impulse [W,2,C,3] has two sides;
// the one that sides says is not in use is written. complementarity [W] is that of the solve. change is -1 where a
// state is not finite, and -2 where a body rotates too fast.
#define LANES_MOVE(name)                                                                                            \
    void name(const lanes_scene *s, const lanes_fixed *fixed, const int32_t *list, int32_t n, const double *pose,   \
              const double *inertias, const double *free_velocities, const double *solved, const lanes_contacts *c, \
              const double *complementarity, lanes_body *bodies, const uint8_t *sides, double *world_impulse,       \
              double *energy, double *allowed, double *change)

typedef LANES_MOVE((*lanes_move_function));
LANES_MOVE(lanes_move_avx2);
LANES_MOVE(lanes_move_portable);

// How contacts are made, see contact.StepOptions.
typedef struct {
    int32_t bodies, contacts; // of a world
    double time_step, correction, recovery_speed, bounce_speed, gravity;
} lanes_rules;

// A pair of parts, a < b.
typedef struct {
    int32_t a, b, carrier, unused; // bodies; carrier is the one of both that impulses do not move, or -1
    double friction, restitution, size, slop;
} lanes_pair;

// contact.worldRow
typedef struct {
    int32_t pair, points;
    double apart;
} lanes_row;

// contact.contactID
typedef struct {
    int32_t pair;
    uint64_t id;
} lanes_id;

// Columns of contacts that are written.
typedef struct {
    int32_t *count, *body_a, *body_b;
    double *arm_a, *arm_b, *frame, *friction, *target, *warm;
} lanes_assembled;

// The contacts of the worlds of list, which are no more than their capacity. first [W+1] are the rows of each world.
// Those of the last solve are the side in use of ids and positions, with impulses; those of the worlds are put into the
// other one.
#define LANES_ASSEMBLE(name)                                                                                           \
    void name(const lanes_rules *rules, const lanes_pair *pairs, const int32_t *list, int32_t n, const int32_t *first, \
              const lanes_row *rows, const lanes_points *points, const double *normal, const lanes_body *bodies,       \
              const uint8_t *sides, const int32_t *old_n, lanes_id *ids, double *positions, const double *impulses,    \
              const lanes_assembled *out)

typedef LANES_ASSEMBLE((*lanes_assemble_function));
LANES_ASSEMBLE(lanes_assemble_avx2);
LANES_ASSEMBLE(lanes_assemble_portable);

#endif
