// Poses in double precision. A quaternion is kept as in the records: w, x, y, z.

#ifndef CLEARANCE_POSE_GLSL
#define CLEARANCE_POSE_GLSL

#include "layout.glsl"

dvec3 positionOf(PoseRecord p) { return dvec3(p.position[0], p.position[1], p.position[2]); }
dvec4 rotationOf(PoseRecord p) { return dvec4(p.rotation[0], p.rotation[1], p.rotation[2], p.rotation[3]); }

// matrix is the rotation from the local frame to the world. It divides by the square of
// the norm, so that the rounding of a unit quaternion does not scale the frame.
dmat3 matrix(dvec4 q) {
    precise double s = 2.0lf / (q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    double w = q.x, x = q.y, y = q.z, z = q.w;
    precise dvec3 c0 = dvec3(1.0lf - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y));
    precise dvec3 c1 = dvec3(s * (x * y - w * z), 1.0lf - s * (x * x + z * z), s * (y * z + w * x));
    precise dvec3 c2 = dvec3(s * (x * z + w * y), s * (y * z - w * x), 1.0lf - s * (x * x + y * y));
    return dmat3(c0, c1, c2);
}

// between is the rotation of B in the frame of A: conj(a)·b.
dvec4 between(dvec4 a, dvec4 b) {
    precise dvec4 q = dvec4(
        a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w,
        a.x * b.y - a.y * b.x - a.z * b.w + a.w * b.z,
        a.x * b.z + a.y * b.w - a.z * b.x - a.w * b.y,
        a.x * b.w - a.y * b.z + a.z * b.y - a.w * b.x);
    return q;
}

#endif
