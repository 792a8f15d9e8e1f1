//go:build cgo

// On these processors the variant is for tests, and for machines of before AVX2.
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(CLR_GENERIC)
#define CLR_GENERIC
#endif

#include "passes.h"
#include "api.h"
#include "cull_api.h"
#define ISA "isa_vec.h"
#define KERNEL clr_run_portable
#define GROWTH clr_growth_portable
#define CULL clr_cull_portable
#include "kernel.h"
#include "growth.h"
#include "cull.h"
