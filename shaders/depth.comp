// Depths by the separating axes of boxes and by expanding polytopes, see depth.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "depth.glsl"
