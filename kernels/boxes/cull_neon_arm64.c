//go:build cgo && !race && !noneon

#include "../isa/target_neon.h"
#define CULL clr_cull_neon
#include "cull.h"
