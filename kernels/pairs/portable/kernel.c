//go:build cgo && (race || !noportable)

#define TARGET_PORTABLE
#include "../../isa/target.h"
#define KERNEL clr_run_portable
#include "../../pairs/kernel.h"
#include "../../isa/target.h"
