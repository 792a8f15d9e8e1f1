//go:build cgo

#include <stdint.h>

#define ROWS_INLINE static inline __attribute__((always_inline))
#define ROWS clr_rows_portable

typedef struct {
    double x0, y0, z0, x1, y1, z1;
} clr_box;

ROWS_INLINE clr_box box_of(const double *p) { return (clr_box){p[0], p[8], p[16], p[24], p[32], p[40]}; }
ROWS_INLINE unsigned meets(const double *s, const clr_box *b) {
    unsigned bits = 0;
    for (int l = 0; l < 8; l++)
        bits |= (unsigned)((s[l] <= b->x1) & (s[l + 24] >= b->x0) & (s[l + 8] <= b->y1) & (s[l + 32] >= b->y0) &
                           (s[l + 16] <= b->z1) & (s[l + 40] >= b->z0))
                << l;
    return bits;
}
ROWS_INLINE unsigned above(const int32_t *ids, int32_t id) {
    unsigned bits = 0;
    for (int l = 0; l < 8; l++) bits |= (unsigned)(ids[l] > id) << l;
    return bits;
}
ROWS_INLINE unsigned below(const int32_t *ids, int32_t id) {
    unsigned bits = 0;
    for (int l = 0; l < 8; l++) bits |= (unsigned)(ids[l] < id) << l;
    return bits;
}
ROWS_INLINE unsigned have(const int32_t *sets, int bit) {
    unsigned bits = 0;
    for (int l = 0; l < 8; l++) bits |= (unsigned)(sets[l] >> bit & 1) << l;
    return bits;
}
ROWS_INLINE void put(int32_t *to, const int32_t *from, unsigned bits) {
    for (int l = 0; l < 8; l++) {
        *to = from[l];
        to += bits >> l & 1;
    }
}
ROWS_INLINE void put_lanes(int32_t *to, int32_t from, unsigned bits) {
    for (int l = 0; l < 8; l++) {
        *to = from + l;
        to += bits >> l & 1;
    }
}

#include "rows.h"
