//go:build cgo && (race || !noportable)

#include "../../isa/target_portable.h"
#define KERNEL clr_run_portable
#include "../../pairs/kernel.h"
