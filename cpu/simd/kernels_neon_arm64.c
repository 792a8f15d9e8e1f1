//go:build !race

#include "passes.h"
#include "api.h"
#include "cull_api.h"
#define ISA "isa_neon.h"
#define KERNEL clr_run_neon
#define GROWTH clr_growth_neon
#define CULL clr_cull_neon
#include "kernel.h"
#include "growth.h"
#include "cull.h"
