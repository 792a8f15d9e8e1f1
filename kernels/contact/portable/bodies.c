//go:build cgo

#define PREPARE contact_prepare_portable
#define MOVE contact_move_portable
#include "bodies.h"
