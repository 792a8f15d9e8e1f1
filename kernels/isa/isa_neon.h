// NEON of 64-bit ARM: 4 float32 or 2 float64 lanes.
//
// Denormals are not flushed: processors with NEON compute with them at full speed.

#ifndef CLR_ISA_NEON_H
#define CLR_ISA_NEON_H

#include <arm_neon.h>

static inline __attribute__((always_inline)) uint32x4_t lane_bits32(void) { return (uint32x4_t){1, 2, 4, 8}; }
static inline __attribute__((always_inline)) uint64x2_t lane_bits64(void) { return (uint64x2_t){1, 2}; }
static inline __attribute__((always_inline)) void pack64(float *p, unsigned bits, float64x2_t x) {
    float32x2_t y = vcvt_f32_f64(x);
    vst1_f32(p, bits == 2 ? vdup_lane_f32(y, 1) : y);
}
#endif

#if REAL_BITS == 32
#define REAL float
#define W 4
#define VF float32x4_t
#define VM uint32x4_t
#define SET1(x) vdupq_n_f32(x)
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#define FNMA(a, b, c) vfmsq_f32(c, a, b)
#define LT(a, b) vcltq_f32(a, b)
#define LE(a, b) vcleq_f32(a, b)
#define SEL(m, a, b) vbslq_f32(m, a, b)
#define SQRT(x) vsqrtq_f32(x)
#define COPYSIGN(a, s) vbslq_f32(vdupq_n_u32(0x80000000u), s, a)
#define LOADU(p) vld1q_f32(p)
#define STOREU(p, x) vst1q_f32(p, x)
#define MAND(a, b) vandq_u32(a, b)
#define MOR(a, b) vorrq_u32(a, b)
#define MANDN(a, b) vbicq_u32(a, b) // a and not b
#define MBITS(m) ((unsigned)vaddvq_u32(vandq_u32(m, lane_bits32())))
#define MFROM(b) vtstq_u32(vdupq_n_u32(b), lane_bits32())
#define HMAX(x) vmaxvq_f32(x)
// EACH_MAX holds in lane i the largest value of the i-th of W vectors.
#define EACH_MAX(v) vpmaxq_f32(vpmaxq_f32((v)[0], (v)[1]), vpmaxq_f32((v)[2], (v)[3]))
#define HSUM(x) vaddvq_f32(x)
#define BITS_OR(a, b) vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)))
#define BITS_UP(x) vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(x), 23))
#define BITS_DOWN(x) vreinterpretq_f32_u32(vshrq_n_u32(vreinterpretq_u32_f32(x), 23))
// ROWS loads four values of each of W rows and transposes them into four columns.
#define ROWS(out, rows, mask)      \
    for (int j_ = 0; j_ < 4; j_++) \
        (out)[j_] = (float32x4_t){(rows)[0][j_], (rows)[1][j_], (rows)[2][j_], (rows)[3][j_]};
#else
#define REAL double
#define W 2
#define VF float64x2_t
#define VM uint64x2_t
#define SET1(x) vdupq_n_f64(x)
#define FMA(a, b, c) vfmaq_f64(c, a, b)
#define FNMA(a, b, c) vfmsq_f64(c, a, b)
#define LT(a, b) vcltq_f64(a, b)
#define LE(a, b) vcleq_f64(a, b)
#define SEL(m, a, b) vbslq_f64(m, a, b)
#define SQRT(x) vsqrtq_f64(x)
#define COPYSIGN(a, s) vbslq_f64(vdupq_n_u64(0x8000000000000000u), s, a)
#define LOADU(p) vld1q_f64(p)
#define STOREU(p, x) vst1q_f64(p, x)
#define MAND(a, b) vandq_u64(a, b)
#define MOR(a, b) vorrq_u64(a, b)
#define MANDN(a, b) vbicq_u64(a, b)
#define MBITS(m) ((unsigned)vaddvq_u64(vandq_u64(m, lane_bits64())))
#define MFROM(b) vtstq_u64(vdupq_n_u64(b), lane_bits64())
#define HMAX(x) vmaxvq_f64(x)
#define EACH_MAX(v) vpmaxq_f64((v)[0], (v)[1])
#define HSUM(x) vaddvq_f64(x)
#define BITS_OR(a, b) vreinterpretq_f64_u64(vorrq_u64(vreinterpretq_u64_f64(a), vreinterpretq_u64_f64(b)))
#define BITS_UP(x) vreinterpretq_f64_u64(vshlq_n_u64(vreinterpretq_u64_f64(x), 52))
#define BITS_DOWN(x) vreinterpretq_f64_u64(vshrq_n_u64(vreinterpretq_u64_f64(x), 52))
#define NARROW(p, x) vst1_f32(p, vcvt_f32_f64(x))
#define WIDEN(p) vcvt_f64_f32(vld1_f32(p))
// PACK is NARROW of the lanes of `bits`, contiguously; values behind them are undefined.
#define PACK(p, bits, x) pack64(p, bits, x)
// ROWS loads four (or the first three) values of each of W rows and transposes them into columns.
#define ROWS(out, rows, mask) \
    for (int j_ = 0; j_ < ((mask) > 7 ? 4 : 3); j_++) (out)[j_] = (float64x2_t){(rows)[0][j_], (rows)[1][j_]};
#endif

#define MIN(a, b) SEL(LT(a, b), a, b) // b if either is NaN, as SSE has it
#define MAX(a, b) SEL(LT(b, a), a, b)
#define MSTORE(p, m, x) STOREU(p, SEL(m, x, LOADU(p)))
#define RCP(x) (SET1(1) / (x))
#define RSQRT(x) (SET1(1) / SQRT(x))

#define FLUSH_BEGIN
#define FLUSH_END
