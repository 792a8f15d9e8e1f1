package engine

import (
	"clearance/geom"
	"clearance/internal/layout"
)

// kinds is a set of kinds of shapes: HAVE in shape.glsl. Shaders are compiled for the
// kinds of a library, so that what no shape of it needs (powers of doubles for
// superquadrics and smooth hulls, look-ups for hulls) takes no time and no registers.
type kinds uint32

// withCells is the bit that says that some hull has cells.
const withCells = kinds(1) << geom.KindCount

// allKinds is what a library can hold at most.
const allKinds = withCells<<1 - 1

// plain is the bounded kinds with a short support function, without powers and vertices. Leaving out some of
// them saves a twentieth of the time of a software device at most, so they share one
// set of shaders.
var plain = func() (set kinds) {
	for k := range geom.KindCount {
		if t := k.Traits(); !k.HasVertices() && !t.Powers && !t.Unbounded {
			set |= 1 << k
		}
	}
	return set
}()

// kindsOf returns the kinds of a library, in the form of which there are the fewest
// different ones.
func kindsOf(packed *layout.Packed) (have kinds) {
	for i := range packed.Shapes {
		have |= 1 << packed.Shapes[i].Kind
		if i < len(packed.Cells) && packed.Cells[i] != 0 {
			have |= withCells
		}
	}
	return have.reduced()
}

// sketched reports whether sketch.comp may serve a pair of these kinds: neither core is curved, and
// not both are boxes. Boxes with spheres or capsules alone are too few to have it compiled for all
// plain kinds.
func (k kinds) sketched() bool { return k&(1<<geom.KindConvex) != 0 }

// reduced is the set of which shaders are compiled in place of k.
func (k kinds) reduced() kinds {
	if k&plain != 0 {
		k |= plain
	}
	return k
}
