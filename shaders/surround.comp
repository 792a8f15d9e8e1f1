// Depths as depth.comp has them, and those of smooth pairs of which rtr.comp left a local minimum,
// see depth.glsl and surround.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require

#define SURROUND
#include "depth.glsl"
