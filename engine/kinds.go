package engine

import (
	"clearance/geom"
	"clearance/internal/layout"
)

// kinds is a set of kinds of shapes: KINDS in support.glsl. Shaders are compiled for the kinds of a library, so that
// code that no shape of it needs (powers of doubles for superquadrics and smooth hulls, direction cells of hulls) takes
// no time and no registers.
type kinds uint32

// withCells is set if some hull has direction cells.
const withCells = kinds(1) << geom.KindCount

// allKinds is the set of everything a library can hold.
const allKinds = withCells<<1 - 1

// plain is the set of bounded kinds with a short support function, without powers and vertices. They share one set of
// shaders: leaving out some of them would save a software device a twentieth of its time at most.
var plain = func() (set kinds) {
	for k := range geom.KindCount {
		if t := k.Traits(); !k.HasVertices() && !t.Powers && !t.Unbounded {
			set |= 1 << k
		}
	}
	return set
}()

// kindsOf returns the kinds of a library, reduced so that few different sets are compiled.
func kindsOf(packed *layout.Packed) (have kinds) {
	for i := range packed.Shapes {
		have |= 1 << packed.Shapes[i].Kind
		if i < len(packed.Cells) && packed.Cells[i] != 0 {
			have |= withCells
		}
	}
	return have.reduced()
}

// kindsFor returns the set for which the shaders of a library are compiled.
func (b *Backend) kindsFor(packed *layout.Packed) kinds {
	if b.options.generic {
		return allKinds
	}
	return kindsOf(packed)
}

// polytopes reports whether epa_float32.comp is compiled for a library of these kinds. It applies to pairs without a
// curved core, except two boxes; boxes with spheres or capsules alone are too few to have it compiled for all plain
// kinds.
func (k kinds) polytopes() bool { return k&(1<<geom.KindConvex) != 0 }

// any returns the value that shaders take for all kinds: passes whose code depends on no kind share one pipeline.
func (k kinds) any() kinds { return anyKinds }

// withoutPowers returns the kinds whose support functions take no powers.
func (k kinds) withoutPowers() kinds {
	for i := range geom.KindCount {
		if i.Traits().Powers {
			k &^= 1 << i
		}
	}
	return k
}

// reduced returns the set for which shaders are compiled in place of k.
func (k kinds) reduced() kinds {
	if k&plain != 0 {
		k |= plain
	}
	return k
}
