// Penetration depths by EPA, see depth.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "depth.glsl"
