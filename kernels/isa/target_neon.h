// What a unit of NEON begins with, before all functions.

#include "passes.h"
#define ISA "isa_neon.h"
