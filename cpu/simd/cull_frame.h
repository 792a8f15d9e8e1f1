// Points and radii of bodies at several worlds, one per lane, with the operations and the rounding bounds of package
// rollout (place.go, bounds.go). All arithmetic is in float64.

#ifndef CLR_CULL_FRAME_H
#define CLR_CULL_FRAME_H

#include "cull_api.h"
#include "real64.h"

// roundDown, roundUp and placeSlack are those of package rollout.
#define CULL_ROUND_DOWN (1 - 8 * 0x1p-53)
#define CULL_ROUND_UP (1 + 8 * 0x1p-53)
#define CULL_PLACE_SLACK 0x1p-46

#define CULL_INLINE static inline __attribute__((always_inline))
#undef CULL_ABS
#define CULL_ABS(x) MAX(x, SET1(0) - (x))

// The rotation of a body at W worlds, row by row, and its position.
typedef struct {
    VF m[9], v[3];
} cull_frame;

// cull_point places a point of a body.
CULL_INLINE void cull_point(const cull_frame *f, const double *p, VF out[3]) {
    VF x = SET1(p[0]), y = SET1(p[1]), z = SET1(p[2]);
    for (int i = 0; i < 3; i++) out[i] = f->m[3 * i] * x + f->m[3 * i + 1] * y + f->m[3 * i + 2] * z + f->v[i];
}

// cull_inner_radius is innerRadius of package rollout.
CULL_INLINE VF cull_inner_radius(double inradius, double off, VF slack) {
    VF in = SET1(inradius) - slack;
    return SEL(LT(SET1(0), in), in, SET1(0) - SET1(off) - slack);
}

#endif
