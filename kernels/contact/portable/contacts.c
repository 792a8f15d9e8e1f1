//go:build cgo

#define MANIFOLD contact_manifold_portable
#define ASSEMBLE contact_assemble_portable
#include "../include/manifold.h"
#include "../include/contacts.h"
