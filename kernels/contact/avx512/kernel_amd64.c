//go:build cgo && !race && !noavx512

#include "../../isa/target_avx512.h"
#define FUSED
#define UNIT contact_kernels_avx512
#define MANIFOLD contact_manifold_avx512
#define ASSEMBLE contact_assemble_avx512
#include "../include/kernel.h"
#include "../../isa/target_end.h"
