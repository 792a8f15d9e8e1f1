// The shapes of the row of an invocation. Shaders that are short of registers load them, and the pose of A, where they
// use them: a compiler keeps a loaded value in registers unless the memory behind it may have changed, so the
// including file declares the buffer indices as volatile. It declares shapes, too.

#ifndef CLEARANCE_ROW_GLSL
#define CLEARANCE_ROW_GLSL

uint slot;

// recordOf returns the record of shape A for 0, of B for 1.
uint recordOf(int k) { return k == 0 ? indices[slot].shape_a : indices[slot].shape_b; }

bool isHalfSpace(int k) { return uses(KIND_HALFSPACE) && shapes[recordOf(k)].kind == KIND_HALFSPACE; }

#endif
