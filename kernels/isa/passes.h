// What GCC leaves out of the kernels. Included before all functions.
//
// Two of its passes took half of the time of a compilation, since they grow faster than the functions, which are long
// here: the elimination of common subexpressions among registers (gcse), and of loads after registers are assigned
// (gcse-after-reload). The passes over trees have found those that matter before. Neither changes arithmetic: the
// answers have the same bits.

#ifndef CLR_PASSES_H
#define CLR_PASSES_H

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-gcse", "no-gcse-after-reload")
#endif

#endif
