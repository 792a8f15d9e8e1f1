//go:build cgo

#define ASSEMBLE lanes_assemble_portable
#include "contacts.h"
