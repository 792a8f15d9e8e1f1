// The algebra of vec3.h for code that has one pair at a time: V3 is three float64, not three vectors, and no product is
// fused with a sum, so that the bits are those of Go. A unit includes it before real64.h, and then has no V3 of
// vectors.

#ifndef CLR_SCALAR64_H
#define CLR_SCALAR64_H

#ifdef CLR_VEC3_64
#error "vec3.h has been included for vectors"
#endif

#pragma push_macro("ISA")
#undef ISA
#define ISA "isa_scalar.h"
#undef REAL_BITS
#define REAL_BITS 64
#include "isa.h"
#include "vec3.h"
#pragma pop_macro("ISA")
#undef REAL_BITS

#endif
