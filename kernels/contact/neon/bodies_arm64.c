//go:build cgo

#define ISA "isa_neon.h"
#define PREPARE contact_prepare_neon
#define MOVE contact_move_neon
#include "bodies.h"
