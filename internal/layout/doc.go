// Package layout holds what shaders, and the host that feeds them, must agree on: records in the
// layout of std430, codes, marks and limits, and a library of shapes packed into such records.
// cmd/genlayout writes the GLSL and C headers from it.
//
// # Layers and threads
//
// layout imports batch, geom and geom/cells. A packed library is not changed after packing.
package layout
