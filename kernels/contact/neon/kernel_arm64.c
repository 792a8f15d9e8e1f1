//go:build cgo && !race && !noneon

#include "../../isa/target_neon.h"
#define FUSED
#define UNIT contact_kernels_neon
#define MANIFOLD contact_manifold_neon
#define ASSEMBLE contact_assemble_neon
#include "../include/kernel.h"
