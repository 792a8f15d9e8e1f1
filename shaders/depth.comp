// Penetration depths by the separating axes of boxes and by EPA, see depth.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "depth.glsl"
