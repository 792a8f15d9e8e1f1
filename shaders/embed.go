// Package shaders holds the compute shaders: GLSL sources, and the SPIR-V that `make shaders` compiles from them and
// that is part of the program.
//
// # Stages
//
// One invocation works on one row. A row passes through these stages; only what works in double precision is trusted.
//
//   - input.comp makes the indices of the row from its template, forms the relative pose in double precision, and sets
//     the initial direction.
//   - gjk.comp finds the simplex nearest to the origin in single precision, or for some pairs of smooth shapes a
//     direction along which the support function is stationary. On GPUs it runs twice: rows that a few steps do not
//     end are compacted into a list, by which the second run continues.
//   - prove_two_floats.comp, on devices with slow double precision or none, proves what it can of these results in sums
//     of two floats, for answers in single precision, and lists the other rows; input_two_floats.comp takes the place
//     of input.comp then.
//   - prove.comp forms the simplex anew in double precision, from its directions or the numbers of its corners, moves
//     the point nearest to the origin by one step, and writes the answer where the bounds suffice; of a stationary
//     direction it evaluates one support plane. It lists the rows that are left (list.glsl).
//   - box_axes.comp takes the list of the pairs of boxes, and finds the depths of intersecting ones by their separating
//     axes.
//   - trust_region.comp takes the list of the stationary directions, refines them and proves the answers in double
//     precision.
//   - certify.comp takes the list of all other rows, and of those that the two before do not prove. It continues
//     the search from the same simplex in double precision, and writes the answer with its bounds. Rows whose cores
//     intersect, or cannot be distinguished from touching, go to another list.
//   - epa_float32.comp takes the pairs of polytopes in the latter and finds their depth in single precision.
//   - depth_certificate.comp, where the method is rtr or auto, takes the local minima of the support function that
//     trust_region.comp put on the list, and proves that they are global.
//   - depth.comp answers the others: it proves the depths of epa_float32.comp, and finds the rest by EPA in double
//     precision.
//
// Growth distances take three stages after input.comp: growth.comp finds, in single precision, a triangle that the ray
// between the centres of growth crosses where it leaves the Minkowski difference; growth_prove.comp forms it anew in
// double precision, writes the answer where one support plane suffices, and lists the other rows; growth_certify.comp
// takes that list and continues the search.
//
// Where the caller only wants some of the answers (batch.Reduction), reduce.comp copies them from the columns; one
// invocation of it works on a portion of up to 512 rows.
//
// selftest.comp checks the arithmetic and the record layout of a device.
//
// # Buffers
//
// Every shader reads and writes storage buffers of set 0 and a QueryRecord of push constants, reduce.comp a
// ReductionRecord. The records are those of
// layout.glsl, which is generated; tests compare the compiled code with them. Specialisation constant 0 is the size of
// a work group, 1 the method (of input.comp: whether it is for growth distances), 2 the kinds of shapes in the library
// (KINDS in support.glsl), 3 and 4 the number of invocations with scratch memory and the vertices of a polytope
// (polytope.glsl), 5 and 6 of certify.comp whether the query is for a status alone and whether the tolerance is fine, 7
// whether fma() of floats rounds once, 8 whether prove_two_floats.comp is the last stage, 9 the phase of gjk.comp, or
// whether growth_certify.comp takes a list, 10 whether prove.comp takes the list of prove_two_floats.comp. A list of
// depths that is longer than the number of invocations takes several dispatches.
//
// # Layers
//
// shaders imports nothing of this module. Its variables are constant; it has no state and returns no errors.
package shaders

import _ "embed"

// Code of the shaders, SPIR-V 1.3 for Vulkan 1.1.
var (
	// Bindings: shapes64, poses, templates, order, warm, indices (out), pairs (out), searches (out).
	// Constant 1.
	//
	//go:embed spirv/input.spv
	Input []byte

	// Bindings: shapes, poses, templates, order, warm, indices (out), pairs (out), remainders (out), searches (out).
	// Constant 7.
	//
	//go:embed spirv/input_two_floats.spv
	InputTwoFloats []byte

	// Bindings: shapes, vertices, shapes64, vertices64, cells, poses, indices, pairs, remainders, searches,
	// columns (out), counts (in and out), unproved (out). Constants 2, 5, 7 and 8.
	//
	//go:embed spirv/prove_two_floats.spv
	ProveTwoFloats []byte

	// Bindings: shapes, vertices, pairs, searches (in and out), cells, counts (in and out), states (in and out).
	// Constants 1, 2 and 9.
	//
	//go:embed spirv/gjk.spv
	GJK []byte

	// Bindings: shapes64, vertices64, poses, indices, searches, columns (out), cells, counts (in and out),
	// continued and stationary (out), unproved. Constants 2, 5, 6 and 10.
	//
	//go:embed spirv/prove.spv
	Prove []byte

	// Bindings: shapes64, poses, indices, searches, columns (out), counts (in and out), stationary, continued (out),
	// vertices64 and cells (unused). Constant 2 changes nothing.
	//
	//go:embed spirv/box_axes.spv
	BoxAxes []byte

	// Bindings: shapes64, vertices64, poses, indices, searches (in and out), columns (out), cells, depths (out),
	// counts (in and out), continued (out), stationary. Constants 1 and 2.
	//
	//go:embed spirv/trust_region.spv
	TrustRegion []byte

	// Bindings: the first ten of TrustRegion; searches are only read, continued too. Constants 2, 5 and 6.
	//
	//go:embed spirv/certify.spv
	Certify []byte

	// Bindings: shapes, vertices, pairs, cells, depths (in and out), counts, quads, faces and links (scratch).
	// Constants 2 to 4.
	//
	//go:embed spirv/epa_float32.spv
	EPAFloat32 []byte

	// Bindings: shapes64, vertices64, poses, indices, columns (out), cells, depths, counts, quads, faces and links
	// (scratch). Constants 2 to 4.
	//
	//go:embed spirv/depth.spv
	Depth []byte

	// Bindings: those of Depth. Constants 1 to 4.
	//
	//go:embed spirv/depth_certificate.spv
	DepthCertificate []byte

	// Bindings: the first five of GJK. Constant 2.
	//
	//go:embed spirv/growth.spv
	Growth []byte

	// Bindings: those of Prove. Constant 2.
	//
	//go:embed spirv/growth_prove.spv
	GrowthProve []byte

	// Bindings: those of GrowthProve; continued is only read. Constants 2 and 9.
	//
	//go:embed spirv/growth_certify.spv
	GrowthCertify []byte

	// Bindings: columns, bounds of portions and sets, reduced columns (out).
	//
	//go:embed spirv/reduce.spv
	Reduce []byte

	// Bindings: shapes64, poses, templates, numbers, results (out), echo (out).
	//
	//go:embed spirv/selftest.spv
	SelfTest []byte

	// Bindings: those of SelfTest.
	//
	//go:embed spirv/selftest_two_floats.spv
	SelfTestTwoFloats []byte
)

// All returns the code of every shader.
func All() [][]byte {
	return [][]byte{
		Input, InputTwoFloats, GJK, ProveTwoFloats, Prove, BoxAxes, TrustRegion, Certify, EPAFloat32, Depth,
		DepthCertificate, Growth, GrowthProve, GrowthCertify, Reduce, SelfTest, SelfTestTwoFloats,
	}
}

//go:embed spirv/glslc.txt
var compiler string

// Compiler returns the version of the compiler that made the code.
func Compiler() string { return compiler }
