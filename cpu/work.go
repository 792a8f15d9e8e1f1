package cpu

import (
	"clearance/batch"
	"clearance/geom"
	"clearance/kernels"
)

// rowVertices is the number of vertices of a pair of hulls up to which a row costs about as much as one of other
// shapes.
const rowVertices = 128

// RowWork bounds the work of a row with shapes of a library, in units of a row of hulls of 64 vertices; it is 1 for
// other shapes. What checks a context after a number of rows, or answers few of them at once, counts it.
func RowWork(l *batch.Library) int {
	vertices := 0
	for i := range l.Len() {
		vertices = max(vertices, vertexCount(l.Shape(int32(i))))
	}
	return max(1, 2*vertices/rowVertices)
}

// vertexCount is the number of vertices of a hull, 0 of other shapes.
func vertexCount(s geom.Shape) int {
	for {
		switch t := s.(type) {
		case geom.Rounded:
			s = t.Shape
			continue
		case *geom.Convex:
			return len(t.Hull().Vertices)
		case *geom.SmoothHull:
			return len(t.Vertices())
		}
		return 0
	}
}

// minKernelRows fill the vectors of the kernels.
const minKernelRows = 16

// kernelRows is the number of rows of a block that the kernels answer between two checks of the context: all of them,
// or fewer of hulls with many vertices, of which a row may take 50 ms.
func kernelRows(work int) int { return max(kernels.BlockRows/work/minKernelRows, 1) * minKernelRows }
