// The end of a unit of AVX-512 or AVX2.

#if defined(CLR_TARGET_PUSHED)
#pragma clang attribute pop
#endif
