//go:build cgo && !race && !noneon

#define TARGET_NEON
#include "../../isa/target.h"
#define KERNEL clr_run_neon
#include "../../pairs/kernel.h"
#include "../../isa/target.h"
