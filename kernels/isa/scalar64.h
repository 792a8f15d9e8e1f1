// The algebra of vec3.h for code that has one pair at a time: V3 is three float64, not three vectors, and no product is
// fused with a sum, so that the bits are those of Go. A unit includes it before real64.h, and then has no V3 of
// vectors. Macros are those of one lane from here on, for templates that are included next, until real32.h or real64.h.

#if defined(CLR_VEC3_64) && !defined(CLR_SCALAR64_H)
#error "vec3.h has been included for vectors"
#endif
#define CLR_SCALAR64_H

#ifndef CLR_SCALAR // isa.h undefines it
#pragma push_macro("ISA")
#undef ISA
#define ISA "isa_scalar.h"
#undef REAL_BITS
#define REAL_BITS 64
#include "isa.h"
#include "vec3.h"
#pragma pop_macro("ISA")
#define CLR_SCALAR
#endif
