// What a unit of the portable variant begins with, before all functions.

// On these processors the variant is for tests, and for machines of before AVX2.
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(CLR_GENERIC)
#define CLR_GENERIC
#endif

#include "passes.h"
#define ISA "isa_vec.h"
