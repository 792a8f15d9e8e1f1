// Selects float32: from here on REAL, W and all macros of vectors are those of float32 (isa.h).

#if REAL_BITS != 32
#undef REAL_BITS
#define REAL_BITS 32
#include "isa.h"
#endif
