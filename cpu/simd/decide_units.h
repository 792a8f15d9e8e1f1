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
// Then six times the volume of a tetrahedron of the origin and a face changes by less than
// five times that, times the square of the longest edge G of the simplex: one term for the
// vertex in front of the face, four for its two edges, as no vertex is farther from
// the origin inside than the longest edge. All faces are of edges up to 2√G, hence the
// factor 4; rounding adds less than 80 units of 6e-8, times G.
#define DECIDE_VOLUME(noise) (20 * (noise) + 320 * 0x1p-24)
