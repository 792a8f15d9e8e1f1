package batch

import (
	"errors"
	"fmt"
	"math"

	"clearance/geom"
)

// Absent marks a place of a world that has no body.
const Absent = -1

// Worlds is W worlds of M bodies each, with one list of P pairs of bodies that all worlds share. Row w·P + p is pair p
// in world w; the product is never stored.
//
// Its bodies are shapes of a library or bodies of a table: either Shapes or Bodies is set. Worlds of shapes with a
// template are an [Input]. Worlds of bodies, and all pairs, are for package rollout, which takes worlds of shapes as
// well: it answers several pairs of parts for a row.
type Worlds struct {
	// Shapes are indices into a [Library], [M], the same in all worlds.
	Shapes []int32

	// Bodies are indices into [Bodies], or [Absent]: [M], the same in all worlds, or [W,M]. M is then the number of
	// bodies of a world; 0 stands for len(Bodies).
	Bodies []int32
	M      int

	// Poses are [W,M,7]: x, y, z in metres, then the quaternion w, x, y, z, which is normalized on input. Those of
	// absent bodies, and of bodies in no pair, are not read.
	Poses []float64

	// TemplateA and TemplateB are the pairs: [P] indices of bodies within a world.
	TemplateA, TemplateB []int32

	// AllPairs asks for all pairs of bodies of a world in place of templates, without the pairs in SkipA and SkipB, in
	// either order: indices within a world.
	AllPairs     bool
	SkipA, SkipB []int32
}

// list is the list of shapes or bodies.
func (w *Worlds) list() []int32 {
	if w.Shapes != nil {
		return w.Shapes
	}
	return w.Bodies
}

// BodiesPerWorld returns M.
func (w *Worlds) BodiesPerWorld() int {
	if w.M > 0 {
		return w.M
	}
	return len(w.list())
}

// Count returns the number of worlds, W.
func (w *Worlds) Count() int {
	if m := w.BodiesPerWorld(); m > 0 {
		return len(w.Poses) / (7 * m)
	}
	return 0
}

// Len returns the number of rows of the template, W·P.
func (w *Worlds) Len() int { return w.Count() * len(w.TemplateA) }

// Row copies row i of worlds of shapes, template pair i mod P of world i / P, to r.
func (w *Worlds) Row(i int, r *Row) {
	world, pair := i/len(w.TemplateA), i%len(w.TemplateA)
	a, b, first := w.TemplateA[pair], w.TemplateB[pair], world*len(w.Shapes)
	r.ShapeA, r.PoseA = w.Shapes[a], w.PoseAt(first+int(a))
	r.ShapeB, r.PoseB = w.Shapes[b], w.PoseAt(first+int(b))
}

// Body returns the body, or the shape, at place k of a world.
func (w *Worlds) Body(world int, k int32) int32 {
	list := w.list()
	if m := w.BodiesPerWorld(); len(list) > m {
		return list[world*m+int(k)]
	}
	return list[k]
}

// Shared reports whether all worlds have the same list of bodies.
func (w *Worlds) Shared() bool { return len(w.list()) == w.BodiesPerWorld() }

// Pose returns the pose of the body at place k of a world.
func (w *Worlds) Pose(world int, k int32) geom.Pose {
	return w.PoseAt(world*w.BodiesPerWorld() + int(k))
}

// PoseAt returns pose i of all W·M, that of the body at place i mod M of world i / M.
func (w *Worlds) PoseAt(i int) geom.Pose { return poseAt(w.Poses[7*i:7*i+3], w.Poses[7*i+3:7*i+7]) }

// Slice returns worlds lo to hi, sharing the memory.
func (w *Worlds) Slice(lo, hi int) *Worlds {
	s, m := *w, w.BodiesPerWorld()
	s.Poses = w.Poses[7*m*lo : 7*m*hi]
	if !w.Shared() {
		s.M, s.Bodies = m, w.Bodies[m*lo:m*hi]
	}
	return &s
}

// RowsPerWorld returns P. Ranges of rows that are multiples of it are whole worlds.
func (w *Worlds) RowsPerWorld() int { return len(w.TemplateA) }

// Rows returns rows [lo, hi) of worlds that are an [Input], fewer where they end: worlds that share the memory where
// the range is one of whole worlds, else pairs, in the memory of used if that suffices. With it worlds are a source of
// a stream, see package dispatch.
func (w *Worlds) Rows(lo, hi int, used Input) (Input, error) {
	n, per := w.Len(), w.RowsPerWorld()
	hi = min(hi, n)
	lo = min(lo, hi)
	if per > 0 && lo%per == 0 && hi%per == 0 {
		return w.Slice(lo/per, hi/per), nil
	}
	pairs := PairsIn(used, hi-lo)
	var row Row
	for i := range hi - lo {
		w.Row(lo+i, &row)
		pairs.SetRow(i, &row)
	}
	return pairs, nil
}

// CheckShape returns an error if worlds are not an [Input]: of shapes, with a template; if the length of a column does
// not match the others; or if a template index is not that of a body.
func (w *Worlds) CheckShape() error {
	switch {
	case w.Bodies != nil:
		return errors.New("batch: worlds of bodies are an input of rollouts, want worlds of shapes")
	case w.AllPairs || len(w.SkipA)+len(w.SkipB) != 0:
		return errors.New("batch: all pairs of worlds are an input of rollouts, want a template")
	}
	if err := w.checkPoses(); err != nil {
		return err
	}
	return checkPairs("template", w.TemplateA, w.TemplateB, len(w.Shapes), true)
}

// CheckBodies returns an error if worlds are no input of a rollout of bodies, or of the shapes of their library: if the
// length of a column does not match the others, or if an index is not that of a body. Poses are checked by world when
// they are read.
func (w *Worlds) CheckBodies(bodies *Bodies) error {
	if err := w.checkPoses(); err != nil {
		return err
	}
	name, n, m := "bodies", bodies.Len(), w.BodiesPerWorld()
	if w.Shapes != nil {
		name, n = "shapes", bodies.Library().Len()
	}
	if err := checkBodies(name, w.list(), m, w.Count(), n); err != nil {
		return err
	}
	if w.AllPairs {
		if len(w.TemplateA)+len(w.TemplateB) != 0 {
			return fmt.Errorf("batch: %d template pairs besides all pairs, want one or the other", len(w.TemplateA))
		}
		return checkPairs("skip", w.SkipA, w.SkipB, m, false)
	}
	if len(w.SkipA)+len(w.SkipB) != 0 {
		return fmt.Errorf("batch: %d pairs to skip without all pairs", len(w.SkipA))
	}
	return checkPairs("template", w.TemplateA, w.TemplateB, m, false)
}

// checkPoses checks the number of poses.
func (w *Worlds) checkPoses() error {
	m := w.BodiesPerWorld()
	switch {
	case w.Shapes != nil && w.Bodies != nil:
		return errors.New("batch: worlds have shapes and bodies, want one or the other")
	case w.M < 0:
		return fmt.Errorf("batch: M = %d, want the number of bodies of a world, or 0 for len(bodies)", w.M)
	case w.Shapes != nil && m != len(w.Shapes):
		return fmt.Errorf("batch: M = %d for %d shapes of a world, want 0 or as many", w.M, len(w.Shapes))
	case m == 0 && len(w.Poses) != 0:
		return fmt.Errorf("batch: poses have %d numbers for no bodies", len(w.Poses))
	case m > 0 && len(w.Poses)%(7*m) != 0:
		return fmt.Errorf("batch: poses have %d numbers, want a multiple of 7 × %d bodies", len(w.Poses), m)
	}
	return nil
}

// checkBodies checks a list of m bodies, or one for each world: indices below n.
func checkBodies(name string, list []int32, m, worlds, n int) error {
	if len(list) != m && len(list) != m*worlds {
		return fmt.Errorf("batch: %s have %d numbers, want %d, or %d × %d for one list per world", name, len(list), m,
			worlds, m)
	}
	return CheckIndices(name, list, m, 0, n)
}

// CheckIndices returns an error if a list of m bodies a world, from the first world on, has an index that is neither
// below n nor [Absent].
func CheckIndices(name string, list []int32, m, first, n int) error {
	for i, b := range list {
		if b < Absent || int(b) >= n {
			return fmt.Errorf("batch: %s[%d] (world %d, body %d) = %d, want one in [0, %d), or -1 for none",
				name, first*m+i, first+i/m, i%m, b, n)
		}
	}
	return nil
}

// inRange reports whether all numbers are in [0, m). It has no branch per number: rollouts check the pairs of every
// call, in one goroutine.
func inRange(numbers []int32, m int) bool {
	if m <= 0 || m > math.MaxInt32 {
		return len(numbers) == 0
	}
	last := int32(m - 1)
	outside := int32(0) // below 0 once a number, or what it leaves to the last, was
	for ; len(numbers) >= 4; numbers = numbers[4:] {
		a, b, c, d := numbers[0], numbers[1], numbers[2], numbers[3]
		outside |= a | (last - a) | b | (last - b) | c | (last - c) | d | (last - d)
	}
	for _, a := range numbers {
		outside |= a | (last - a)
	}
	return outside >= 0
}

// checkPairs checks the columns name_a and name_b of pairs of m bodies. A body may be paired with itself where one row
// is one pair of shapes: the row has an answer like any other.
func checkPairs(name string, a, b []int32, m int, itself bool) error {
	if len(a) != len(b) {
		return fmt.Errorf("batch: %s_b has %d numbers, want %d", name, len(b), len(a))
	}
	if itself && inRange(a, m) && inRange(b, m) {
		return nil
	}
	for i := range a {
		for k, at := range [2]int32{a[i], b[i]} {
			if at < 0 || int(at) >= m {
				return fmt.Errorf("batch: %s_%c[%d] = %d, want a body index in [0, %d)", name, "ab"[k], i, at, m)
			}
		}
		if a[i] == b[i] && !itself {
			return fmt.Errorf("batch: %s pair %d is body %d and itself", name, i, a[i])
		}
	}
	return nil
}
