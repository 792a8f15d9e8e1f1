//go:build cgo && (race || !noportable)

#include "../../isa/target_portable.h"

#define MANIFOLD contact_manifold_portable
#define ASSEMBLE contact_assemble_portable
#include "../include/manifold.h"
#include "../include/contacts.h"
