//go:build cgo && (race || !noportable)

#include "../../isa/target_portable.h"
#define UNIT contact_kernels_portable
#define MANIFOLD contact_manifold_portable
#define ASSEMBLE contact_assemble_portable
#include "../include/kernel.h"
