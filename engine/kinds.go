package engine

import (
	"clearance/batch"
	"clearance/geom"
)

// kinds is a set of kinds of shapes: HAVE in shape.glsl. Shaders are compiled for the
// kinds of a library, so that what no shape of it needs (powers of doubles for
// superquadrics, look-ups for hulls) takes no time and no registers.
type kinds uint32

// withCells is the bit that says that some hull has cells.
const withCells = kinds(1) << geom.KindCount

// allKinds is what a library can hold at most.
const allKinds = withCells<<1 - 1

// round is the kinds of point, segment and what turns around them: they share one
// support function, and so one bit.
const round = kinds(1)<<geom.KindSphere | 1<<geom.KindCapsule | 1<<geom.KindCylinder | 1<<geom.KindCone | 1<<geom.KindFrustum

// unsolved is the kinds that no shader solves.
const unsolved = kinds(1)<<geom.KindSmoothHull | 1<<geom.KindSmoothRevolution

// kindsOf returns the kinds of a library, in the form of which there are the fewest
// different ones.
func kindsOf(packed *batch.Packed) (have kinds) {
	for i := range packed.Shapes {
		have |= 1 << packed.Shapes[i].Kind
		if i < len(packed.Cells) && packed.Cells[i] != 0 {
			have |= withCells
		}
	}
	return have.reduced()
}

func (k kinds) reduced() kinds {
	if k&round != 0 {
		k |= round
	}
	return k &^ unsolved
}
