// Penetration depths as depth.comp finds them, and those of smooth pairs for which trust_region.comp left a local
// minimum of the support function. It is a shader of its own, so that depths by other methods pay nothing for it. See
// depth.glsl and depth_certificate.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DEPTH_CERTIFICATE
#include "depth.glsl"
