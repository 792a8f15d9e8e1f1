package mesh

import (
	"slices"

	"gonum.org/v1/gonum/spatial/r3"
)

// usedBy returns the vertices that faces use, ascending, each once.
func usedBy(faces [][]int32) []int32 {
	var all []int32
	for _, face := range faces {
		all = append(all, face...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func anyUsed(vertices []int32, used []bool) bool {
	return slices.ContainsFunc(vertices, func(v int32) bool { return used[v] })
}

// welder collects triangles whose corners are given by value, as in STL, and joins
// corners with the same coordinates.
type welder struct {
	part   Part
	number map[r3.Vec]int32
}

func newWelder(name string) *welder {
	return &welder{part: Part{Name: name}, number: map[r3.Vec]int32{}}
}

func (w *welder) add(corners [3]r3.Vec) {
	face := make([]int32, 3)
	for i, v := range corners {
		v = r3.Vec{X: v.X + 0, Y: v.Y + 0, Z: v.Z + 0} // -0 is 0
		k, ok := w.number[v]
		if !ok {
			k = int32(len(w.part.Vertices))
			w.number[v] = k
			w.part.Vertices = append(w.part.Vertices, v)
		}
		face[i] = k
	}
	w.part.Faces = append(w.part.Faces, face)
}
