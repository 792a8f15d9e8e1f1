// Poses. A quaternion is stored as in the records: w, x, y, z.

#ifndef CLEARANCE_POSE_GLSL
#define CLEARANCE_POSE_GLSL

#include "layout.glsl"
#include "real.glsl"

// rotationMatrix returns the rotation from the local frame to the outer one, I + sM with s = 2/|q|², so that the
// rounding of a unit quaternion does not scale the frame. With |q|² = 1 + d it is s = 2(1 - d) + 2d²/(1 + d), and poses
// are normalized when they are packed: |d| is a few units of roundoff, also of a product of two and of one that was
// rounded to the precision at hand. So 2(2 - |q|²) has a remainder of the square of that, in the place of the rounding
// of a quotient.
real3x3 rotationMatrix(real4 q) {
    precise real s = real(2) * (real(2) - (q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w));
    real w = q.x, x = q.y, y = q.z, z = q.w;
    precise real3 c0 = real3(real(1) - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y));
    precise real3 c1 = real3(s * (x * y - w * z), real(1) - s * (x * x + z * z), s * (y * z + w * x));
    precise real3 c2 = real3(s * (x * z + w * y), s * (y * z - w * x), real(1) - s * (x * x + y * y));
    return real3x3(c0, c1, c2);
}

#ifdef DOUBLE
dvec3 positionOf(PoseRecord p) { return dvec3(p.position[0], p.position[1], p.position[2]); }
dvec4 rotationOf(PoseRecord p) { return dvec4(p.rotation[0], p.rotation[1], p.rotation[2], p.rotation[3]); }

// relativeRotation returns the rotation of B in the frame of A: conj(a)·b.
dvec4 relativeRotation(dvec4 a, dvec4 b) {
    // clang-format off
    precise dvec4 q = dvec4(
        a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w,
        a.x * b.y - a.y * b.x - a.z * b.w + a.w * b.z,
        a.x * b.z + a.y * b.w - a.z * b.x - a.w * b.y,
        a.x * b.w - a.y * b.z + a.z * b.y - a.w * b.x);
    // clang-format on
    return q;
}
#endif

#endif
