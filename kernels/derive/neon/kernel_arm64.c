//go:build cgo && !race && !noneon

#include "../../isa/target_neon.h"
#define UNIT clr_derive_neon
#include "../include/kernel.h"
