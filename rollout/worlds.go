package rollout

import (
	"fmt"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Absent marks a place of a world that has no body.
const Absent = -1

// Worlds is W worlds of M bodies, with one list of P pairs of bodies that all worlds share. Row w·P + p is pair
// p in world w.
type Worlds struct {
	// M is the number of bodies of a world; 0 stands for len(Bodies).
	M int

	// Bodies are indices into a [batch.Bodies], or [Absent]: [M], the same in all worlds, or [W,M].
	Bodies []int32

	// Poses are [W,M,7]: x, y, z in metres, then the quaternion w, x, y, z, which is normalized on input.
	// Those of absent bodies, and of bodies in no pair, are not read.
	Poses []float64

	// TemplateA and TemplateB are the pairs: [P] indices of bodies within a world.
	TemplateA, TemplateB []int32

	// AllPairs asks for all pairs of bodies of a world in place of templates, without the pairs in SkipA and
	// SkipB, in either order: indices within a world.
	AllPairs     bool
	SkipA, SkipB []int32
}

// BodiesPerWorld returns M.
func (w *Worlds) BodiesPerWorld() int {
	if w.M > 0 {
		return w.M
	}
	return len(w.Bodies)
}

// Len returns the number of worlds.
func (w *Worlds) Len() int {
	if m := w.BodiesPerWorld(); m > 0 {
		return len(w.Poses) / (7 * m)
	}
	return 0
}

// Body returns the body at place k of a world.
func (w *Worlds) Body(world int, k int32) int32 {
	if m := w.BodiesPerWorld(); len(w.Bodies) > m {
		return w.Bodies[world*m+int(k)]
	}
	return w.Bodies[k]
}

// Pose returns the pose of the body at place k of a world.
func (w *Worlds) Pose(world int, k int32) geom.Pose {
	p := w.Poses[7*(world*w.BodiesPerWorld()+int(k)):][:7]
	return geom.Pose{
		Position: r3.Vec{X: p[0], Y: p[1], Z: p[2]},
		Rotation: quat.Number{Real: p[3], Imag: p[4], Jmag: p[5], Kmag: p[6]},
	}
}

// CheckShape returns an error if the length of a column does not match the others, or if an index is not
// that of a body. Poses are checked by world when they are read.
func (w *Worlds) CheckShape(bodies *batch.Bodies) error {
	m := w.BodiesPerWorld()
	switch {
	case w.M < 0:
		return fmt.Errorf("rollout: M = %d, want the number of bodies of a world, or 0 for len(bodies)", w.M)
	case m == 0 && len(w.Poses) != 0:
		return fmt.Errorf("rollout: poses have %d numbers for no bodies", len(w.Poses))
	case m > 0 && len(w.Poses)%(7*m) != 0:
		return fmt.Errorf("rollout: poses have %d numbers, want a multiple of 7 × %d bodies", len(w.Poses), m)
	}
	if err := checkBodies(w.Bodies, m, w.Len(), bodies); err != nil {
		return err
	}
	if w.AllPairs {
		if len(w.TemplateA)+len(w.TemplateB) != 0 {
			return fmt.Errorf("rollout: %d template pairs besides all pairs, want one or the other", len(w.TemplateA))
		}
		return checkPairs("skip", w.SkipA, w.SkipB, m)
	}
	if len(w.SkipA)+len(w.SkipB) != 0 {
		return fmt.Errorf("rollout: %d pairs to skip without all pairs", len(w.SkipA))
	}
	return checkPairs("template", w.TemplateA, w.TemplateB, m)
}

// checkBodies checks a list of m bodies, or one for each world.
func checkBodies(list []int32, m, worlds int, bodies *batch.Bodies) error {
	if len(list) != m && len(list) != m*worlds {
		return fmt.Errorf("rollout: bodies have %d numbers, want %d, or %d × %d for one list per world", len(list), m,
			worlds, m)
	}
	for i, b := range list {
		if b < Absent || int(b) >= bodies.Len() {
			return fmt.Errorf("rollout: bodies[%d] (world %d, body %d) = %d, want one in [0, %d), or -1 for none",
				i, i/m, i%m, b, bodies.Len())
		}
	}
	return nil
}

// checkPairs checks the columns name_a and name_b of pairs of different bodies.
func checkPairs(name string, a, b []int32, m int) error {
	if len(a) != len(b) {
		return fmt.Errorf("rollout: %s_b has %d numbers, want %d", name, len(b), len(a))
	}
	for i := range a {
		for k, at := range [2]int32{a[i], b[i]} {
			if at < 0 || int(at) >= m {
				return fmt.Errorf("rollout: %s_%c[%d] = %d, want a body index in [0, %d)", name, "ab"[k], i, at, m)
			}
		}
		if a[i] == b[i] {
			return fmt.Errorf("rollout: %s pair %d is body %d and itself", name, i, a[i])
		}
	}
	return nil
}
