//go:build cgo

#define MANIFOLD contact_manifold_portable
#define ASSEMBLE contact_assemble_portable
#include "manifold.h"
#include "contacts.h"
