//go:build cgo && !race && !noneon

#include "../../isa/target_neon.h"
#define KERNEL clr_run_neon
#include "../../pairs/kernel.h"
