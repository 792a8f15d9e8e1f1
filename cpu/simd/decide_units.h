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

// A tetrahedron holds the origin however its vertices are moved by up to δ each, if it holds the ball
// of radius δ: else a plane through the origin had all moved vertices on one side, and
// all vertices less than δ on the other. So all four faces must be farther from the origin than
// δ: six times the volume that a face spans with it must be above δ·|n|, n the product of two edges
// of the face. With the square G of the longest of the three edges that meet in one vertex, that is
// at most G for their three faces and 3√3/2·G for the other, a triangle in a ball of radius √G;
// rounding adds less than 80 units of 6e-8, times G, as no vertex is farther from the origin than 1.
#define DECIDE_VOLUME(noise) (2.6 * (noise) + 80 * 0x1p-24)
