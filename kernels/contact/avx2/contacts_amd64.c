//go:build cgo && !race && !noavx2

// With all passes of GCC: the unit is short, and takes 1.05 times as long without those that passes.h leaves out.
#define CLR_PASSES_H
#include "../../isa/target_avx2.h"
#define MANIFOLD contact_manifold_avx2
#define ASSEMBLE contact_assemble_avx2
#include "../include/manifold.h"
#include "../include/contacts.h"
#include "../../isa/target_end.h"
