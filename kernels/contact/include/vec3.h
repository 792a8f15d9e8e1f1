// Vectors of three float64. The order of the sums is that of package r3, so that the bits are those of Go.

#ifndef CONTACT_LANES_VEC3_H
#define CONTACT_LANES_VEC3_H

#include "vectors.h"

typedef struct {
    double x, y, z;
} vec;

INLINE vec vec_at(const double *p) { return (vec){p[0], p[1], p[2]}; }
INLINE void put(double *p, vec v) { p[0] = v.x, p[1] = v.y, p[2] = v.z; }
INLINE vec add(vec a, vec b) { return (vec){a.x + b.x, a.y + b.y, a.z + b.z}; }
INLINE vec sub(vec a, vec b) { return (vec){a.x - b.x, a.y - b.y, a.z - b.z}; }
INLINE vec cross(vec a, vec b) { return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
INLINE double dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

#endif
