//go:build cgo

#define PREPARE lanes_prepare_portable
#define MOVE lanes_move_portable
#include "bodies.h"
