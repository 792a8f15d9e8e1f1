//go:build cgo && !race && !noneon

#define TARGET_NEON
#include "../../isa/target.h"
#define UNIT clr_derive_neon
#include "../include/kernel.h"
#include "../../isa/target.h"
