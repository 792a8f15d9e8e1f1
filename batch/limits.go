package batch

// Limits of a batch.
const (
	// MaxShapes is the largest number of shapes of a library: their records fill a
	// storage buffer of 64 MiB, half the smallest limit of devices in use.
	MaxShapes = 1 << 20

	// MaxVertices is the largest number of vertices of one shape.
	MaxVertices = 65535

	// MaxLength bounds, in metres, every coordinate of a position and every
	// bounding radius: sub-algorithms form products of four lengths, and 1e9 is the
	// largest power of ten for which that of four differences of positions,
	// (2·√3·1e9)⁴ ≈ 1.4e38, stays below the largest float32, 3.4e38.
	MaxLength = 1e9

	// MaxIterations is the largest value of the iterations column, and the largest number of
	// evaluations that any method makes for a row; larger counts are stored as MaxIterations.
	MaxIterations = 65535

	// BitsPerWord is the number of rows in one word of the bits column. Chunks
	// and blocks begin at multiples of it.
	BitsPerWord = 64
)

// Default tolerances of the precisions on the gap, relative to the scale of the query's [ToleranceRule].
const (
	// SingleTolerance is well above the rounding of float32 columns, 6e-8 of the
	// distance.
	SingleTolerance = 1e-6

	// DoubleTolerance is for distances, and for depths of polytopes.
	DoubleTolerance = 1e-12

	// DoubleCurvedDepthTolerance is for depths of curved shapes, where every digit of
	// the lower bound takes more faces of EPA's polytope.
	DoubleCurvedDepthTolerance = 1e-8

	// DoubleCurvedGrowthTolerance is for growth factors of pairs with a curved shape.
	DoubleCurvedGrowthTolerance = 1e-10
)
