package batch

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// Row is one pair of an input, not yet validated: two library indices and two poses.
type Row struct {
	ShapeA, ShapeB int32
	PoseA, PoseB   geom.Pose
}

// Input is a batch of pairs in any form, such as [Pairs] or [Worlds]. Row must not allocate
// and must be safe for several goroutines at once. If an Input also has a method
// CheckShape() error, it is called before any row is read.
type Input interface {
	Len() int
	Row(i int, r *Row)
}

// Pairs is a list of pairs, one per row.
type Pairs struct {
	ShapeA, ShapeB       []int32   // [N] indices into the library
	PositionA, PositionB []float64 // [N,3] metres, world frame
	RotationA, RotationB []float64 // [N,4] quaternions (w, x, y, z), normalized on input
}

// NewPairs returns a list of n pairs, each of them shape 0 twice at the identity pose.
func NewPairs(n int) *Pairs {
	return &Pairs{
		ShapeA: make([]int32, n), ShapeB: make([]int32, n),
		PositionA: make([]float64, 3*n), PositionB: make([]float64, 3*n),
		RotationA: identityRotations(n), RotationB: identityRotations(n),
	}
}

// identityRotations returns n quaternions (1, 0, 0, 0).
func identityRotations(n int) []float64 {
	q := make([]float64, 4*n)
	for i := range n {
		q[4*i] = 1
	}
	return q
}

// Len returns the number of pairs.
func (p *Pairs) Len() int { return len(p.ShapeA) }

// Row copies pair i to r.
func (p *Pairs) Row(i int, r *Row) {
	r.ShapeA, r.ShapeB = p.ShapeA[i], p.ShapeB[i]
	r.PoseA = poseAt(p.PositionA[3*i:3*i+3], p.RotationA[4*i:4*i+4])
	r.PoseB = poseAt(p.PositionB[3*i:3*i+3], p.RotationB[4*i:4*i+4])
}

// SetRow sets pair i.
func (p *Pairs) SetRow(i int, r *Row) {
	p.ShapeA[i], p.ShapeB[i] = r.ShapeA, r.ShapeB
	putPose(p.PositionA[3*i:3*i+3], p.RotationA[4*i:4*i+4], &r.PoseA)
	putPose(p.PositionB[3*i:3*i+3], p.RotationB[4*i:4*i+4], &r.PoseB)
}

// Slice returns rows lo to hi of the list, sharing its memory.
func (p *Pairs) Slice(lo, hi int) *Pairs {
	return &Pairs{
		ShapeA: p.ShapeA[lo:hi], ShapeB: p.ShapeB[lo:hi],
		PositionA: p.PositionA[3*lo : 3*hi], PositionB: p.PositionB[3*lo : 3*hi],
		RotationA: p.RotationA[4*lo : 4*hi], RotationB: p.RotationB[4*lo : 4*hi],
	}
}

// Rows returns rows [lo, hi) of the list, fewer where it ends, sharing its memory. With it a list is a source of a
// stream, see package dispatch.
func (p *Pairs) Rows(lo, hi int, _ Input) (Input, error) {
	hi = min(hi, p.Len())
	return p.Slice(min(lo, hi), hi), nil
}

// PairsIn returns a list of n pairs, whose values are not set, in the memory of used where that is a list of as many.
func PairsIn(used Input, n int) *Pairs {
	if p, ok := used.(*Pairs); ok && p.Len() >= n {
		return p.Slice(0, n)
	}
	return &Pairs{
		ShapeA: make([]int32, n), ShapeB: make([]int32, n),
		PositionA: make([]float64, 3*n), PositionB: make([]float64, 3*n),
		RotationA: make([]float64, 4*n), RotationB: make([]float64, 4*n),
	}
}

// CheckShape returns an error if the length of a column does not match the others.
func (p *Pairs) CheckShape() error {
	n := len(p.ShapeA)
	for _, c := range []struct {
		name      string
		got, want int
	}{
		{"shape_b", len(p.ShapeB), n},
		{"position_a", len(p.PositionA), 3 * n}, {"position_b", len(p.PositionB), 3 * n},
		{"rotation_a", len(p.RotationA), 4 * n}, {"rotation_b", len(p.RotationB), 4 * n},
	} {
		if c.got != c.want {
			return fmt.Errorf("batch: column %s has %d numbers, want %d for %d pairs", c.name, c.got, c.want, n)
		}
	}
	return nil
}

func poseAt(p, q []float64) geom.Pose {
	return geom.Pose{
		Position: r3.Vec{X: p[0], Y: p[1], Z: p[2]},
		Rotation: quat.Number{Real: q[0], Imag: q[1], Jmag: q[2], Kmag: q[3]},
	}
}

func putPose(p, q []float64, s *geom.Pose) {
	p[0], p[1], p[2] = s.Position.X, s.Position.Y, s.Position.Z
	q[0], q[1], q[2], q[3] = s.Rotation.Real, s.Rotation.Imag, s.Rotation.Jmag, s.Rotation.Kmag
}

// RowError is the error of one invalid row of an input. The status of that row is Invalid,
// and all other rows are answered.
type RowError struct {
	Row    int    // index in the input
	Column string // name of the column, as in files
	Reason string

	// Undefined says that the row is in order, but that the query has no value for its shapes, as growth
	// has none for two flat ones. Other queries answer such a row.
	Undefined bool
}

func (e *RowError) Error() string {
	return fmt.Sprintf("row %d, column %s: %s", e.Row, e.Column, e.Reason)
}

// CheckRow validates row i, which the caller has read into r, and normalizes the
// quaternions of r in place. It is the only validation of rows in the module.
//
// It refuses an index that is not in the library, a position that is not finite or beyond
// [MaxLength], a quaternion that is zero or not finite, and a pair of half-spaces, which
// has no finite depth. The error is a *[RowError]. CheckRow does not allocate for a valid
// row.
func (l *Library) CheckRow(i int, r *Row) error {
	if uint(r.ShapeA) >= uint(len(l.shapes)) {
		return l.badIndex(i, "shape_a", r.ShapeA)
	}
	if uint(r.ShapeB) >= uint(len(l.shapes)) {
		return l.badIndex(i, "shape_b", r.ShapeB)
	}
	if err := checkPose(i, &r.PoseA, "position_a", "rotation_a"); err != nil {
		return err
	}
	if err := checkPose(i, &r.PoseB, "position_b", "rotation_b"); err != nil {
		return err
	}
	if l.hasHalf[r.ShapeA] && l.hasHalf[r.ShapeB] {
		return &RowError{Row: i, Column: "shape_b", Reason: "a half-space against a half-space has no finite depth"}
	}
	return nil
}

// CheckPair reports whether [Library.CheckRow] accepts the shapes of a row. Together with
// [CheckPose] for both poses it accepts the same rows as CheckRow.
func (l *Library) CheckPair(a, b int32) bool {
	n := uint(len(l.shapes))
	return uint(a) < n && uint(b) < n && !(l.hasHalf[a] && l.hasHalf[b])
}

// CheckPose reports whether [Library.CheckRow] accepts a pose, and normalizes its quaternion
// in place.
func CheckPose(p *geom.Pose) bool { return checkPose(0, p, "", "") == nil }

// CheckGrowth returns the error of a row whose shapes have no growth distance: both inradii about the
// centers are 0 (see [Library.GrowthInradius]), as those of flat shapes, so that growth need not bring the
// shapes into contact. CheckRow must have accepted the row. A half-space counts, since it does not grow.
func (l *Library) CheckGrowth(i int, a, b int32) error {
	if l.inradius[a] > 0 || l.inradius[b] > 0 {
		return nil
	}
	return &RowError{Row: i, Column: "shape_b", Undefined: true, Reason: fmt.Sprintf("no growth distance of %s and "+
		"%s: neither has an interior point as its center", l.flatName(a), l.flatName(b))}
}

// flatName describes a shape of inradius 0.
func (l *Library) flatName(i int32) string {
	if l.hasHalf[i] {
		return fmt.Sprintf("the half-space %d", i)
	}
	return fmt.Sprintf("the flat shape %d", i)
}

func (l *Library) badIndex(i int, column string, index int32) error {
	beyond := ""
	if index == math.MaxInt32 || index == math.MinInt32 { // readers clamp larger int64 indices to these
		beyond = " or beyond"
	}
	return &RowError{Row: i, Column: column, Reason: fmt.Sprintf("index %d%s is not in the library, want one in "+
		"[0, %d)", index, beyond, len(l.shapes))}
}

func checkPose(i int, p *geom.Pose, position, rotation string) error {
	if !within(p.Position, MaxLength) {
		return &RowError{Row: i, Column: position, Reason: fmt.Sprintf("(%g, %g, %g), want finite coordinates of at "+
			"most %g m", p.Position.X, p.Position.Y, p.Position.Z, float64(MaxLength))}
	}
	n, err := p.Normalized()
	if err != nil {
		return &RowError{Row: i, Column: rotation, Reason: err.Error()}
	}
	*p = n
	return nil
}

// Read copies row i of the job to r, validated and with unit quaternions, and returns its
// warm start: a direction from A to B in the world frame, or zero. The error is a
// *[RowError]. Read does not allocate for a valid row, and may be called by several
// goroutines, each with its own r.
func (j *Job) Read(i int, r *Row) (warm r3.Vec, err error) {
	j.Input.Row(i, r)
	l := j.Library
	if err := l.CheckRow(i, r); err != nil {
		return r3.Vec{}, err
	}
	if err := j.Options.Query.Info().CheckShapes(l, i, r.ShapeA, r.ShapeB); err != nil {
		return r3.Vec{}, err
	}
	if w := j.Options.WarmStart; w != nil {
		warm = r3.Vec{X: w[3*i], Y: w[3*i+1], Z: w[3*i+2]}
		if !geom.Finite(warm) {
			return r3.Vec{}, &RowError{Row: i, Column: "warm_start",
				Reason: fmt.Sprintf("(%g, %g, %g) is not finite", warm.X, warm.Y, warm.Z)}
		}
	}
	return warm, nil
}

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
	// absent bodies, of bodies in no pair, and of places that another one carries, are not read.
	Poses []float64

	// Carriers are places whose poses the bodies at the places have, [M] or [W,M]: each itself, or one that carries
	// itself; nil for all themselves. A body that another place carries is attached to the body there, as an object is
	// that a gripper holds: its parts have their poses in the frame of the carrier. Two bodies that one place carries
	// never move relative to each other, and their pair has no answer, as if one was absent. Gradients are those of the
	// carriers. Carriers are for package rollout.
	Carriers []int32

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

// Shared reports whether all worlds have the same list of bodies and of carriers.
func (w *Worlds) Shared() bool {
	m := w.BodiesPerWorld()
	return len(w.list()) == m && len(w.Carriers) <= m
}

// Carrier returns the place whose pose the body at place k of a world has.
func (w *Worlds) Carrier(world int, k int32) int32 {
	switch m := w.BodiesPerWorld(); {
	case w.Carriers == nil:
		return k
	case len(w.Carriers) > m:
		return w.Carriers[world*m+int(k)]
	}
	return w.Carriers[k]
}

// Pose returns the pose of the body at place k of a world.
func (w *Worlds) Pose(world int, k int32) geom.Pose {
	return w.PoseAt(world*w.BodiesPerWorld() + int(w.Carrier(world, k)))
}

// PoseAt returns pose i of all W·M, that of the body at place i mod M of world i / M.
func (w *Worlds) PoseAt(i int) geom.Pose { return poseAt(w.Poses[7*i:7*i+3], w.Poses[7*i+3:7*i+7]) }

// Slice returns worlds lo to hi, sharing the memory.
func (w *Worlds) Slice(lo, hi int) *Worlds {
	s, m := *w, w.BodiesPerWorld()
	s.Poses = w.Poses[7*m*lo : 7*m*hi]
	if !w.Shared() {
		s.M = m
	}
	if len(w.list()) > m {
		s.Bodies = w.Bodies[m*lo : m*hi]
	}
	if len(w.Carriers) > m {
		s.Carriers = w.Carriers[m*lo : m*hi]
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
	case w.Carriers != nil:
		return errors.New("batch: carriers of worlds are an input of rollouts, want none")
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
	if err := w.checkCarriers(); err != nil {
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

// checkCarriers checks that carriers are places that carry themselves.
func (w *Worlds) checkCarriers() error {
	m := w.BodiesPerWorld()
	if n := len(w.Carriers); w.Carriers != nil && n != m && n != m*w.Count() {
		return fmt.Errorf("batch: carriers have %d numbers, want %d, or %d × %d for one list per world", n, m,
			w.Count(), m)
	}
	for i, c := range w.Carriers {
		first := i - i%m
		if c < 0 || int(c) >= m || w.Carriers[first+int(c)] != c {
			return fmt.Errorf("batch: carriers[%d] (world %d, body %d) = %d, want a body in [0, %d) that carries "+
				"itself", i, i/m, i%m, c, m)
		}
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
