// One lane of float64 in which nothing fuses: the arithmetic of Go, in its order. scalar64.h selects it.

#define REAL double
#define W 1
#define VF double
#define VM int
#define SET1(x) ((double)(x))
#define FMA(a, b, c) ((a) * (b) + (c))
#define FNMA(a, b, c) ((c) - (a) * (b))
#define LT(a, b) ((a) < (b))
#define LE(a, b) ((a) <= (b))
#define SEL(m, a, b) ((m) ? (a) : (b))
#define MIN(a, b) SEL(LT(a, b), a, b) // b if either is NaN, as SSE has it
#define MAX(a, b) SEL(LT(b, a), a, b)
#define SQRT(x) sqrt(x)
#define COPYSIGN(a, s) copysign(a, s)
#define LOADU(p) (*(p))
#define STOREU(p, x) (*(p) = (x))
#define MSTORE(p, m, x) STOREU(p, SEL(m, x, LOADU(p)))
#define MAND(a, b) ((a) & (b))
#define MOR(a, b) ((a) | (b))
#define MANDN(a, b) ((a) & !(b))
#define MBITS(m) ((unsigned)(m))
#define MFROM(b) ((int)((b) & 1))
#define RCP(x) (1 / (x))
#define RSQRT(x) (1 / sqrt(x))
#define HMAX(x) (x)
#define HSUM(x) (x)
#define BITS_OR(a, b) real_of_bits(bits_of_real(a) | bits_of_real(b))
#define BITS_UP(x) real_of_bits(bits_of_real(x) << 52)
#define BITS_DOWN(x) real_of_bits(bits_of_real(x) >> 52)

#ifndef CLR_ISA_SCALAR_H
#define CLR_ISA_SCALAR_H
static inline __attribute__((always_inline)) uint64_t bits_of_real(double x) {
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline __attribute__((always_inline)) double real_of_bits(uint64_t bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
#endif
