// What rounding adds in the frame of float32, where no length is above 1.

// Rounding error of a support value in the frame that float32 works in, where no
// length is above 1: three rotated components and the sum of both vertices, a few
// units of 6e-8 in all.
#define NOISE32 2.5e-7

// decide_units is the number of units of 2⁻²⁴ below which, in the frame of float32, where no
// length is above 1, vertices of D and lower bounds are off, see decide.h.
ALWAYS int decide_units(int ka, int kb) {
    if ((HAS_POWERS(ka) && HAS_VERTICES(ka)) || (HAS_POWERS(kb) && HAS_VERTICES(kb))) return 2048;
    return 128 + (HAS_POWERS(ka) || HAS_POWERS(kb) ? 96 : 0) + (OFF_CENTER(ka) || OFF_CENTER(kb) ? 64 : 0);
}
