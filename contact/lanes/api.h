#ifndef CONTACT_LANES_API_H
#define CONTACT_LANES_API_H

#include <stdint.h>

// What is solved and how, without pointers, so that it may lie in the memory of the caller.
typedef struct {
    int32_t bodies, contacts; // of a world
    int32_t worlds;           // of the group, 1 to 8
    int32_t convex;           // 0: NCP, 1: CCP
    int32_t sweeps, steps;    // at most, of Newton's method
    double tolerance, relaxation;
} lanes_options;

// The columns are those of Problem in doc.go; world holds the indices of the worlds of the group. The scratch memory
// has lanes_sweep_scratch bytes for so many bodies and contacts and is aligned to 32. Bit l of the result says whether
// world l of the group is solved.
#define LANES_SWEEP(name)                                                                                             \
    uint32_t name(const lanes_options *o, const int32_t *world, const double *mass, const double *inertia,            \
                  const double *velocity, const int32_t *count, const int32_t *body_a, const int32_t *body_b,         \
                  const double *arm_a, const double *arm_b, const double *frame, const double *friction,              \
                  const double *target, const double *warm, double *impulse, double *solved_velocity, double *primal, \
                  double *dual, double *complementarity, int32_t *sweeps, void *scratch)

typedef LANES_SWEEP((*lanes_sweep_function));
LANES_SWEEP(lanes_sweep_avx2);
LANES_SWEEP(lanes_sweep_portable);

int64_t lanes_sweep_scratch(int32_t bodies, int32_t contacts);

// Newton's method for one world; the columns are its rows of those of Problem. The impulses to start from are replaced
// by those of the least residual. It returns the number of steps. The scratch memory has lanes_newton_scratch bytes.
#define LANES_NEWTON(name)                                                                                  \
    int32_t name(const lanes_options *o, int32_t count, const double *mass, const double *inertia,          \
                 const double *velocity, const int32_t *body_a, const int32_t *body_b, const double *arm_a, \
                 const double *arm_b, const double *frame, const double *friction, const double *target,    \
                 double *impulse, void *scratch)

typedef LANES_NEWTON((*lanes_newton_function));
LANES_NEWTON(lanes_newton_avx2);
LANES_NEWTON(lanes_newton_portable);

int64_t lanes_newton_scratch(int32_t bodies, int32_t contacts);

#endif
