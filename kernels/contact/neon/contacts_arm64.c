//go:build cgo && !race && !noneon

#include "../../isa/target_neon.h"

#define MANIFOLD contact_manifold_neon
#define ASSEMBLE contact_assemble_neon
#include "../include/manifold.h"
#include "../include/contacts.h"
