//go:build cgo && !race && !noavx512

// For AVX2, since most faces have four corners: in the eight lanes of AVX-512 points take 1.1 to 1.4 times as long.
// With all passes of GCC: the unit is short, and takes 1.05 times as long without those that passes.h leaves out.
#define CLR_PASSES_H
#include "../../isa/target_avx2.h"
#define MANIFOLD contact_manifold_avx512
#define ASSEMBLE contact_assemble_avx512
#include "../include/manifold.h"
#include "../include/contacts.h"
#include "../../isa/target_end.h"
