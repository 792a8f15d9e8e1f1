package verify

import (
	"context"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
)

// ProveOptions configure a proof. The zero value proves every row.
type ProveOptions struct {
	// Sample is the number of rows to prove; 0 is all of them. Seed draws one row from each of Sample equal ranges of
	// the input.
	Sample int
	Seed   uint64

	// Workers, FirstRow, Worst and Progress are as in [Options].
	Workers, FirstRow, Worst int
	Progress                 func(rows int)
}

// A Proof is the result of proving the lower bounds of depths, see [Prove]. Its JSON form is stable.
type Proof struct {
	Rows     int `json:"rows"`     // rows of the job
	Sampled  int `json:"sampled"`  // rows that were looked at
	Depths   int `json:"depths"`   // of these, rows that claim a penetration, whose depth is proved
	Proved   int `json:"proved"`   // no direction has a support value below the claimed depth, less its gap
	Refuted  int `json:"refuted"`  // some direction has one
	Unproved int `json:"unproved"` // the limit of the directions was reached

	Directions int64 `json:"directions"` // evaluations of the support function

	// Worst are the rows that were refuted, those with the largest excess first. Unproven are the first rows that
	// were neither proved nor refuted.
	Worst    []WorstRow `json:"worst"`
	Unproven []int      `json:"unproved_rows"`

	worst int
}

// Prove proves that the depth of rows that claim a penetration is at least the claimed depth less the gap: that no
// translation that is shorter separates the shapes. [Audit] proves the upper bound of a depth, and only tries to refute
// the lower one. The proof is by branch and bound over directions (type cover) and shares nothing with a solver but the
// support functions of the shapes. It holds up to the rounding error of a support value, 24·2⁻⁵³ of the lengths of the
// pair. Values other than signed distances claim no depth.
func Prove(ctx context.Context, job *batch.Job, o ProveOptions) (*Proof, error) {
	if o.Sample < 0 {
		return nil, fmt.Errorf("verify: proof of %d rows, want a number above 0, or 0 for all", o.Sample)
	}
	base, err := Options{Workers: o.Workers, FirstRow: o.FirstRow, Worst: o.Worst}.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := checkJob(job); err != nil {
		return nil, err
	}
	n := job.Input.Len()
	sample := o.Sample
	if sample == 0 || sample > n {
		sample = n
	}
	total := &Proof{Rows: n, worst: base.Worst}
	const block = 16 // a row may take a second
	err = inBlocks(ctx, sample, block, base.Workers, o.Progress, func() (check func(int), handIn func()) {
		r := prover{a: newAuditor(job, &base, nil), out: &Proof{worst: base.Worst}}
		row := func(k int) {
			first, last := stretch(k, n, sample), stretch(k+1, n, sample)
			r.row(first + int(mix(o.Seed, uint64(k))%uint64(last-first)))
		}
		return row, func() { total.Merge(r.out) }
	})
	if err != nil {
		return nil, fmt.Errorf("verify: proof stopped: %w", err)
	}
	return total, nil
}

// prover proves rows on one goroutine.
type prover struct {
	a     *auditor // reads the claims
	cover cover
	out   *Proof
}

func (r *prover) row(i int) {
	a, out := r.a, r.out
	out.Sampled++
	c := claim{row: a.opt.FirstRow + i}
	a.readStatus(i, &c)
	if _, err := a.job.Read(i, &a.in); err != nil || !a.query.SignedDistance || !c.inContact {
		return
	}
	a.p.place(a.job.Library.Shape(a.in.ShapeA), a.job.Library.Shape(a.in.ShapeB), &a.in.PoseA, &a.in.PoseB)
	a.readInterval(i, &c)
	// A claim of a contact within the gap is one of witnesses, which Audit proves.
	if !(c.upper <= 0) {
		return
	}
	least := -c.upper
	out.Depths++
	switch r.cover.depthAtLeast(&a.p, least) {
	case proved:
		out.Proved++
	case refuted:
		out.Refuted++
		found := r.cover.lowest + r.cover.ball
		out.keep(WorstRow{Row: c.row, Expected: Number(least), Found: Number(found), Residual: Number(least - found),
			Allowed: Number(a.p.rounding), Failed: true})
	default:
		out.Unproved++
		out.unproven(c.row)
	}
	out.Directions += int64(r.cover.used)
}

func (p *Proof) keep(w WorstRow) {
	list := Check{Worst: p.Worst}
	list.keep(w, p.worst)
	p.Worst = list.Worst
}

func (p *Proof) unproven(row int) {
	if len(p.Unproven) < p.worst {
		p.Unproven = append(p.Unproven, row)
	}
}

// Merge adds the counts of other, a proof of other rows of the same batch.
func (p *Proof) Merge(other *Proof) {
	p.worst = max(p.worst, other.worst)
	p.Rows += other.Rows
	p.Sampled += other.Sampled
	p.Depths += other.Depths
	p.Proved += other.Proved
	p.Refuted += other.Refuted
	p.Unproved += other.Unproved
	p.Directions += other.Directions
	for _, w := range other.Worst {
		p.keep(w)
	}
	for _, row := range other.Unproven {
		p.unproven(row)
	}
}

// WriteText writes the proof as text.
func (p *Proof) WriteText(w io.Writer) error {
	t := &printer{w: w}
	t.printf("%d rows sampled, %d of them claim a depth: lower bound proved of %d, refuted of %d, open of %d",
		p.Sampled, p.Depths, p.Proved, p.Refuted, p.Unproved)
	if p.Depths > 0 {
		t.printf("; %.0f directions per depth", math.Ceil(float64(p.Directions)/float64(p.Depths)))
	}
	t.printf("\n")
	if len(p.Worst) > 0 {
		t.printf("\nsome direction has a smaller support value than the claimed depth less the gap:\n")
		writeWorst(t, p.Worst)
	}
	if len(p.Unproven) > 0 {
		t.printf("\nneither proved nor refuted within %d directions: rows %v\n", maxDirections, p.Unproven)
	}
	return t.err
}

// This file proves that no direction has a support value below a number, by branch and bound over directions. It uses
// the support functions of package geom and nothing of package ref or of the kernels.
//
// Let D' be D without a ball of radius ρ: the radii of both shapes, and the rolling balls of ellipsoids (Blaschke's
// theorem; MinCurvatureRadius). Then h_D = h_D' + ρ for unit vectors, and only h_D' is to be bounded.
//
// Directions are divided into spherical triangles, at first the faces of an octahedron. A direction of the triangle
// with the corners n₁, n₂, n₃ is n = x/|x| with x = Σλᵢnᵢ, λᵢ ≥ 0, Σλᵢ = 1. Every point s of D' bounds h_D'(n),
//
//	h_D'(n) ≥ ⟨n, s⟩ = Σλᵢ⟨nᵢ, s⟩/|x| ≥ m/|x|,  m = minᵢ⟨nᵢ, s⟩,
//
// which is at least m if m ≥ 0, as |x| ≤ 1, and at least m/√(1 − e²/3) otherwise, where e is the longest edge:
// |x|² = 1 − Σλᵢλⱼ|nᵢ − nⱼ|² over i < j, and that sum of λᵢλⱼ is at most ⅓. s is the convex combination of the support
// points along the three corners for which m is greatest. A triangle that this does not settle is divided into four by
// the midpoints of its edges.
//
// A bound that is not positive, because D' does not contain the origin or touches it, needs no triangles: a point s of
// D' proves h_D'(n) ≥ −|s| in all directions at once (nearest).
//
// The loss is of second order in e: where D' is smooth by its curvature, and where three vertices of D' support the
// corners, their face has a point along its own normal. So the number of triangles grows with the logarithm of the gap
// at an isolated minimum, and as its inverse root where the minima form a circle.

// A proof is the outcome for one row.
type proof uint8

const (
	proved proof = iota
	refuted
	unproved // the limit was reached
)

// maxDirections is the limit of the evaluations of the support function of one row.
const maxDirections = 4_000_000

// corner is a direction with the support point of D' along it.
type corner struct{ n, s r3.Vec }

// cover is the state of one proof.
type cover struct {
	p     *placed
	ball  float64 // ρ
	least float64 // to be proved of h_D'
	limit int     // of the evaluations of the support function; 0 is maxDirections
	used  int     // evaluations

	lowest float64 // support value found, of D'
	stack  [][3]corner
}

// depthAtLeast decides whether the support value of D is at least `least` in all directions, but for the rounding error
// of the support values of this package. With a half-space only one direction has a finite value.
func (v *cover) depthAtLeast(p *placed, least float64) proof {
	if v.limit == 0 {
		v.limit = maxDirections
	}
	v.p, v.used, v.lowest = p, 0, math.Inf(1)
	if p.half >= 0 {
		v.used, v.ball = 1, 0
		if v.lowest = p.support(p.halfNormal); v.lowest < least-p.rounding {
			return refuted
		}
		return proved
	}
	v.ball = 0
	for _, s := range p.shape {
		v.ball += s.Radius() + geom.MinCurvatureRadius(s)
	}
	v.least = least - v.ball - p.rounding
	if v.least <= 0 && -v.nearest() >= v.least {
		return proved
	}
	divide := v.divide
	if axis, across, change, ok := p.meridian(); ok {
		v.least += change
		v.arcs(axis, across)
		divide = v.halve
	} else {
		v.octahedron()
	}
	result := proved
	for len(v.stack) > 0 {
		if v.lowest < v.least {
			return refuted
		}
		t := v.stack[len(v.stack)-1]
		v.stack = v.stack[:len(v.stack)-1]
		if v.holds(&t) {
			continue
		}
		if v.used >= v.limit {
			return unproved
		}
		if !divide(&t) {
			result = unproved // rounding decides here; another triangle may refute the bound
		}
	}
	return result
}

// at evaluates a direction.
func (v *cover) at(n r3.Vec) corner {
	v.used++
	_, s := v.p.supportPoint(n)
	s = r3.Sub(s, r3.Scale(v.ball, n))
	v.lowest = math.Min(v.lowest, r3.Dot(n, s))
	return corner{n, s}
}

// octahedron sets the stack to its eight faces.
func (v *cover) octahedron() {
	axes := [3][2]corner{
		{v.at(r3.Vec{X: 1}), v.at(r3.Vec{X: -1})},
		{v.at(r3.Vec{Y: 1}), v.at(r3.Vec{Y: -1})},
		{v.at(r3.Vec{Z: 1}), v.at(r3.Vec{Z: -1})},
	}
	v.stack = v.stack[:0]
	for i := range 8 {
		v.stack = append(v.stack, [3]corner{axes[0][i&1], axes[1][i>>1&1], axes[2][i>>2]})
	}
}

// holds reports whether the bound is proved over a triangle.
func (v *cover) holds(t *[3]corner) bool {
	m := bestCombination(t, v.least)
	if m < 0 {
		m /= math.Sqrt(1 - longestEdge2(t)/3)
	}
	return m >= v.least
}

// divide puts four parts of a triangle on the stack. It reports false if they cannot be told apart.
func (v *cover) divide(t *[3]corner) bool {
	if !(longestEdge2(t) > 16*eps*eps) {
		return false
	}
	var mid [3]corner // opposite to the corners
	for i := range 3 {
		mid[i] = v.at(unit(r3.Add(t[(i+1)%3].n, t[(i+2)%3].n)))
	}
	v.stack = append(v.stack, mid)
	for i := range 3 {
		v.stack = append(v.stack, [3]corner{t[i], mid[(i+1)%3], mid[(i+2)%3]})
	}
	return true
}

func longestEdge2(t *[3]corner) float64 {
	e := 0.0
	for i := range 3 {
		e = math.Max(e, r3.Norm2(r3.Sub(t[i].n, t[(i+1)%3].n)))
	}
	return e
}

// bestCombination returns minᵢ⟨nᵢ, s⟩ of a convex combination s of the three support points: the greatest among single
// points, combinations of two, and that of three which has equal products with all corners. It stops at a value that is
// enough. Any combination proves its value, so errors of the weights do no harm.
func bestCombination(t *[3]corner, enough float64) float64 {
	var a [3][3]float64 // of corner i and support point j
	for i := range 3 {
		for j := range 3 {
			a[i][j] = r3.Dot(t[i].n, t[j].s)
		}
	}
	best := math.Inf(-1)
	try := func(w [3]float64) bool {
		m := math.Inf(1)
		for i := range 3 {
			m = math.Min(m, w[0]*a[i][0]+w[1]*a[i][1]+w[2]*a[i][2])
		}
		best = math.Max(best, m)
		return best >= enough && best >= 0
	}
	third := 1.0 / 3
	if try([3]float64{third, third, 1 - 2*third}) {
		return best
	}
	for j := range 3 {
		var w [3]float64
		if w[j] = 1; try(w) {
			return best
		}
	}
	for j := range 3 {
		k := (j + 1) % 3
		for i := range 3 { // where the products with corners i and l are equal
			l := (i + 1) % 3
			x := (a[l][j] - a[i][j]) / (a[i][k] - a[l][k] + a[l][j] - a[i][j])
			if !(x > 0 && x < 1) {
				continue
			}
			var w [3]float64
			if w[j], w[k] = 1-x, x; try(w) {
				return best
			}
		}
	}
	// Cramer's rule for the differences of the products.
	p, q := a[0][0]-a[1][0], a[0][0]-a[2][0]
	b, c := p-(a[0][1]-a[1][1]), p-(a[0][2]-a[1][2])
	d, e := q-(a[0][1]-a[2][1]), q-(a[0][2]-a[2][2])
	det := b*e - c*d
	x, y := (p*e-c*q)/det, (b*q-p*d)/det
	if x >= 0 && y >= 0 && x+y <= 1 {
		try([3]float64{1 - x - y, x, y})
	}
	return best
}

// Where both shapes are solids of revolution on one axis, so is D. Its minima form circles, over which triangles would
// be as small as the root of the gap. One meridian of directions stands for all.

// meridian returns two orthogonal directions that span a plane with the axis of D, of which the first is the axis, and
// how much the support value may change under rotations about it, because the axes of the shapes and the line between
// their centers agree up to rounding only. ok is false if D is no solid of revolution.
func (p *placed) meridian() (axis, across r3.Vec, change float64, ok bool) {
	var known [2]bool
	var u [2]r3.Vec
	for i, s := range p.shape {
		var local r3.Vec
		if local, known[i], ok = symmetryAxis(s); !ok {
			return axis, across, 0, false
		}
		u[i] = p.rot[i].MulVec(local)
	}
	switch {
	case known[0]:
		axis = unit(u[0])
	case known[1]:
		axis = unit(u[1])
	case p.center == r3.Vec{}:
		axis = r3.Vec{Z: 1}
	default: // two points
		axis = unit(p.center)
	}
	// Half the difference of the support values of a body tilted by an angle either way is at most the angle times its
	// reach, and that of a body moved sideways at most the length.
	for i := range 2 {
		if known[i] {
			change += 2 * norm(r3.Cross(axis, u[i])) * p.reach[i]
		}
	}
	change += 2 * norm(r3.Cross(axis, p.center))
	if !(change <= p.rounding/4) {
		return axis, across, 0, false
	}
	across = r3.Vec{X: 1}
	if math.Abs(axis.X) > 0.6 {
		across = r3.Vec{Y: 1}
	}
	across = unit(r3.Sub(across, r3.Scale(r3.Dot(across, axis), axis)))
	return axis, across, change, true
}

// symmetryAxis returns the axis of a solid of revolution through its center. known is false where every
// axis is one. ok is false for other shapes.
func symmetryAxis(s geom.Shape) (axis r3.Vec, known, ok bool) {
	s, _ = geom.WithoutMargin(s)
	switch t := s.Kind().Traits(); {
	case s.Kind().Family() == geom.FamilyPoint:
		return axis, false, true
	case t.Revolution:
		return r3.Vec{Z: 1}, true, true
	}
	if c, ok := s.(*geom.Convex); ok && len(c.Hull().Vertices) == 1 {
		return axis, false, true
	}
	e, ok := s.(geom.Ellipsoid)
	switch a := e.SemiAxes; {
	case !ok:
		return axis, false, false
	case a.X == a.Y && a.Y == a.Z:
		return axis, false, true
	case a.X == a.Y:
		return r3.Vec{Z: 1}, true, true
	case a.Y == a.Z:
		return r3.Vec{X: 1}, true, true
	case a.X == a.Z:
		return r3.Vec{Y: 1}, true, true
	}
	return axis, false, false
}

// arcs sets the stack to a meridian of directions, from one end of the axis to the other, in three arcs.
func (v *cover) arcs(axis, across r3.Vec) {
	ends := [4]corner{v.at(axis), {}, {}, v.at(r3.Scale(-1, axis))}
	for k := 1; k < 3; k++ {
		sin, cos := math.Sincos(math.Pi / 3 * float64(k))
		ends[k] = v.at(unit(r3.Add(r3.Scale(cos, axis), r3.Scale(sin, across))))
	}
	v.stack = v.stack[:0]
	for k := range 3 {
		v.stack = append(v.stack, [3]corner{ends[k], ends[k+1], ends[k+1]})
	}
}

// halve puts both halves of an arc on the stack. It reports false if they cannot be told apart.
func (v *cover) halve(t *[3]corner) bool {
	if !(longestEdge2(t) > 16*eps*eps) {
		return false
	}
	mid := v.at(unit(r3.Add(t[0].n, t[1].n)))
	v.stack = append(v.stack, [3]corner{t[0], mid, mid}, [3]corner{mid, t[1], t[1]})
	return true
}

// nearestSteps is the limit of the steps of nearest.
const nearestSteps = 40

// nearest returns the norm of a point of D', close to the least: the iteration of Gilbert with three points. It proves
// what its point proves, however far it gets.
func (v *cover) nearest() float64 {
	x := v.at(r3.Vec{X: 1}).s
	t := [3]r3.Vec{x, x, x}
	least := norm(x)
	for range nearestSteps {
		if !(least > 0) || v.lowest < v.least {
			break
		}
		s := v.at(r3.Scale(-1/least, x)).s
		best, at := math.Inf(1), 3
		for k := range 4 { // without one of the four points
			u := t
			if k < 3 {
				u[k] = s
			}
			if y := nearestOf(u); norm(y) < best {
				best, at, x = norm(y), k, y
			}
		}
		if at < 3 {
			t[at] = s
		}
		if !(best < least) {
			break
		}
		least = best
	}
	return least
}

// nearestOf returns the point of a triangle that is closest to the origin. Any point that it returns is a convex
// combination; of needles too it is the closest one up to rounding, because the direction across the longest edge is
// made orthogonal to it.
func nearestOf(t [3]r3.Vec) r3.Vec {
	best, from, longest := t[0], 0, 0.0
	consider := func(x r3.Vec) {
		if r3.Norm2(x) < r3.Norm2(best) {
			best = x
		}
	}
	for i := range 3 {
		s, e := t[i], r3.Sub(t[(i+1)%3], t[i])
		ee := r3.Norm2(e)
		if ee > longest {
			from, longest = i, ee
		}
		w := 0.0
		for range 2 { // the second step removes the rounding of the first
			if ee > 0 {
				w = math.Min(math.Max(w-r3.Dot(r3.Add(s, r3.Scale(w, e)), e)/ee, 0), 1)
			}
		}
		consider(r3.Add(s, r3.Scale(w, e)))
	}
	s, e, f := t[from], r3.Sub(t[(from+1)%3], t[from]), r3.Sub(t[(from+2)%3], t[from])
	g := r3.Sub(f, r3.Scale(r3.Dot(f, e)/longest, e))
	x, y := 0.0, 0.0
	for range 2 {
		p := r3.Add(s, r3.Add(r3.Scale(x, e), r3.Scale(y, f)))
		dy := -r3.Dot(p, g) / r3.Norm2(g)
		p = r3.Add(p, r3.Scale(dy, f))
		x, y = x-r3.Dot(p, e)/longest, y+dy
	}
	if x >= 0 && y >= 0 && x+y <= 1 {
		consider(r3.Add(s, r3.Add(r3.Scale(x, e), r3.Scale(y, f))))
	}
	return best
}
