// Package shaders holds the compute shaders: GLSL sources, and the SPIR-V that
// `make shaders` compiles from them and that is part of the program.
//
// # The way of a row
//
// place.comp forms the relative pose in double precision; gjk.comp finds the nearest
// simplex in single precision, or for some pairs of smooth shapes a direction along which the
// support function is stationary, which rtr.comp polishes and proves in double precision.
// certify.comp forms the simplex anew in double precision from its support directions, ends the
// search, and writes the answer with its bounds. Rows whose cores overlap, or cannot be told
// from touching, it adds to a list. Of those that are polytopes sketch.comp finds the depth in
// single precision; depth.comp takes all of the list: it proves what sketch.comp found, and finds
// the depth of boxes by their axes and of others by expanding polytopes, in double precision. Of smooth
// pairs that overlap rtr.comp adds the local minimum to that list, which surround.comp, in place of depth.comp, proves to be the least.
// One invocation works on one row. Only what works in double precision is trusted.
//
// # Buffers
//
// Every shader reads and writes storage buffers of set 0 and a [layout.QueryRecord] of
// push constants. The records are those of layout.glsl, which is generated from package
// internal/layout; tests hold the compiled code to it. Specialisation constant 0 is the size of a
// work group, and constant 2 the kinds of shapes that there are, see HAVE in shape.glsl.
// sketch.comp and depth.comp keep their polytopes in scratch memory, a share for each of the invocations
// that run at a time, see polytope.glsl; a longer list takes several dispatches.
//
// # Layers
//
// shaders imports nothing of this module.
package shaders

import _ "embed"

// Code of the shaders, SPIR-V 1.3 for Vulkan 1.1.
var (
	//go:embed spirv/place.spv
	Place []byte // bindings: shapes64, poses, templates, order, warm, indices (out), pairs (out), guesses (out)

	//go:embed spirv/gjk.spv
	GJK []byte // bindings: shapes, vertices, pairs, guesses (in and out), cells; constant 1 is the method, 2 the kinds

	//go:embed spirv/selftest.spv
	SelfTest []byte // bindings: shapes64, poses, templates, numbers, results (out), echo (out)

	//go:embed spirv/rtr.spv
	RTR []byte // bindings: shapes64, vertices64, poses, indices, guesses (in and out), columns (out), cells, seeds (out), counts (in and out); constant 1 is the method, 2 the kinds

	//go:embed spirv/certify.spv
	Certify []byte // bindings: shapes64, vertices64, poses, indices, guesses, columns (out), cells, seeds (out), counts (in and out); constant 2 is the kinds

	//go:embed spirv/sketch.spv
	Sketch []byte // bindings: shapes, vertices, pairs, cells, seeds (in and out), counts, quads, faces and links (scratch); constants 2: the kinds, 3: invocations, 4: vertices

	//go:embed spirv/depth.spv
	Depth []byte // bindings: shapes64, vertices64, poses, indices, columns (out), cells, seeds, counts, quads, faces and links (scratch); constants 2: the kinds, 3: invocations, 4: vertices

	//go:embed spirv/surround.spv
	Surround []byte // as Depth, for rows that RTR leaves as well; constant 1 is the method
)

//go:embed spirv/glslc.txt
var compiler string

// Compiler is the version of the compiler that made the code.
func Compiler() string { return compiler }
