// Selects float64: from here on REAL, W and all macros of vectors are those of float64 (isa.h).

#if REAL_BITS != 64 || defined(CLR_SCALAR)
#undef REAL_BITS
#define REAL_BITS 64
#include "isa.h"
#endif
