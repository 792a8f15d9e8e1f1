package derive

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
)

// Row is a pair with its answer.
type Row struct {
	A, B         geom.Shape
	PoseA, PoseB geom.Pose // quaternions unit, see geom.Pose.Normalized

	// Growth says that the value is a growth distance about the centers, each in the own frame of its shape.
	Growth           bool
	CenterA, CenterB r3.Vec

	// Answered says that the answer is decided. The derivatives of other rows are zero.
	Answered bool

	Value              float64 // signed distance in metres, or growth distance
	Gap                float64 // the true value lies in Value ± Gap; 0 counts as the rounding of float64
	Normal             r3.Vec  // unit, world frame, from A to B
	WitnessA, WitnessB r3.Vec  // world frame; of growth distances, points of the shapes as they are
}

// Twists are velocities of both bodies in world axes: v_A, ω_A, v_B, ω_B.
type Twists [12]float64

// Cotangent is the gradient of a scalar with respect to an answer. Tangents of answers have the same form.
type Cotangent struct {
	Value              float64
	Normal             r3.Vec
	WitnessA, WitnessB r3.Vec
}

// placed is a shape without its ball, in world axes with the origin at the position of A.
type placed struct {
	core   geom.Shape // without a margin; its own ball counts in radius
	radius float64
	rot    geom.Mat3
	pos    r3.Vec
	center r3.Vec // of growth, world axes

	unbounded bool
}

func place(s geom.Shape, pose geom.Pose, pos, center r3.Vec) placed {
	core, _ := geom.WithoutMargin(s)
	p := placed{core: core, radius: s.Radius(), rot: pose.Matrix(), pos: pos,
		unbounded: s.Kind().Traits().Unbounded}
	p.center = r3.Add(p.rot.MulVec(center), pos)
	return p
}

// problem is a row as the solver of the system sees it.
type problem struct {
	a, b   placed
	growth bool
	origin r3.Vec  // position of A, world
	size   float64 // that of the pair and its distance, metres: what rounding is relative to
}

func (r *Row) problem() problem {
	p := problem{growth: r.Growth, origin: r.PoseA.Position}
	p.a = place(r.A, r.PoseA, r3.Vec{}, r.CenterA)
	p.b = place(r.B, r.PoseB, r3.Sub(r.PoseB.Position, r.PoseA.Position), r.CenterB)
	p.size = sizeOf(r.A) + sizeOf(r.B)
	if !r.Growth {
		// Two points have no size. A point on a half-space has none of its distance either.
		p.size = max(p.size+math.Abs(r.Value), geom.MinSize, farShare*r3.Norm(p.b.pos))
	}
	return p
}

// farShare, times the distance of both positions, is at least the size of a pair: what rounding of positions is
// relative to, 1e-16 of that distance, is then below 1e-10 of the size.
const farShare = 1e-6

// sizeOf is the share of a shape in the size of a pair, as ref.Pair.Size counts it.
func sizeOf(s geom.Shape) float64 {
	if s.Kind().Traits().Unbounded {
		return s.Radius()
	}
	return s.BoundingRadius()
}

// usable reports whether the answer is one that can be differentiated: decided, finite, with a unit normal.
func (r *Row) usable() bool {
	if !r.Answered || !(math.Abs(r.Value) <= math.MaxFloat64) || !geom.Finite(r.Normal) ||
		!geom.Finite(r.WitnessA) || !geom.Finite(r.WitnessB) {
		return false
	}
	if r.A.Kind().Traits().Unbounded && r.B.Kind().Traits().Unbounded {
		return false
	}
	if r.Growth && !(r.Value > leastGrowth) {
		return false
	}
	return math.Abs(r3.Norm2(r.Normal)-1) < maxLengthError && r.Gap <= maxRelativeGap*r.scale()
}

// maxLengthError is how far the squared length of a normal may be from 1.
const maxLengthError = 1e-3

// leastGrowth is the growth distance up to which an answer has no normal: a center lies in the other shape, or on it
// but for rounding.
const leastGrowth = 1e-9

// maxRelativeGap is the gap, relative to what tolerances are relative to, beyond which an answer is a bound and
// not a value: those of rows beyond a cut-off, and of separated rows of penetration queries. Default tolerances
// are a thousandth of it.
const maxRelativeGap = 1e-3

// scale is what tolerances of the row are relative to.
func (r *Row) scale() float64 {
	if r.Growth {
		return max(1, r.Value)
	}
	return max(sizeOf(r.A)+sizeOf(r.B)+math.Abs(r.Value), geom.MinSize)
}

// Smoothness says what the derivatives of a row are.
type Smoothness = batch.Smoothness

// Codes of smoothness.
const (
	None           = batch.NoDerivative
	Smooth         = batch.SmoothPair
	UniqueFeatures = batch.UniqueFeatures
	NotUnique      = batch.NotUnique
	NearSingular   = batch.NearSingular
	Smoothed       = batch.SmoothedPair
)

// components lists the numbers of a cotangent in the order of a full Jacobian.
func (c *Cotangent) components() [10]float64 {
	return [10]float64{c.Value, c.Normal.X, c.Normal.Y, c.Normal.Z, c.WitnessA.X, c.WitnessA.Y, c.WitnessA.Z,
		c.WitnessB.X, c.WitnessB.Y, c.WitnessB.Z}
}

// cotangentOf is the inverse of components.
func cotangentOf(v *[10]float64) Cotangent {
	at := func(i int) r3.Vec { return r3.Vec{X: v[i], Y: v[i+1], Z: v[i+2]} }
	return Cotangent{Value: v[0], Normal: at(1), WitnessA: at(4), WitnessB: at(7)}
}

func (d *Derivative) fullVJP(c *Cotangent, g *Twists) {
	for i, v := range c.components() {
		for j := range g {
			g[j] += v * d.full[i][j]
		}
	}
}

func (d *Derivative) fullJVP(t *Twists) Cotangent {
	var v [10]float64
	for i := range v {
		for j := range t {
			v[i] += d.full[i][j] * t[j]
		}
	}
	return cotangentOf(&v)
}

// read takes row i with its answer. Rows that are bounds by the question, beyond a cut-off, count as not answered.
func (w *worker) read(r *rows, i int) {
	w.r = Row{}
	if w.answered(r, i) {
		w.take(r, i)
	}
}

// take takes the answer of row i, of the pair of w.row.
func (w *worker) take(r *rows, i int) {
	out, job := r.answers, r.job
	lib := job.Library
	w.r = Row{A: lib.Shape(w.row.ShapeA), B: lib.Shape(w.row.ShapeB), PoseA: w.row.PoseA, PoseB: w.row.PoseB,
		Answered: true, Value: out.Distance().At(i), Normal: out.Normal().Vec(i), WitnessA: out.WitnessA().Vec(i),
		WitnessB: out.WitnessB().Vec(i)}
	if gap := out.Gap(); gap != nil {
		w.r.Gap = float64(gap[i])
	}
	if job.Options.Query == batch.Growth {
		w.r.Growth, w.r.CenterA, w.r.CenterB = true, lib.GrowthCenter(w.row.ShapeA), lib.GrowthCenter(w.row.ShapeB)
	}
	if r.hasCutOff && w.r.Value-w.r.Gap > r.cutOff {
		w.r.Answered = false
	}
}

// decided reports whether the answer of row i is decided.
func (r *rows) decided(i int) bool {
	out := r.answers
	return (out.Marks == nil || out.Marks[i] == batch.Answered) && batch.Status(out.Status()[i]) <= batch.Penetrating
}

// answered reads the pair of row i and reports whether its answer is decided.
func (w *worker) answered(r *rows, i int) bool {
	if !r.decided(i) {
		return false
	}
	_, err := r.job.Read(r.first+i, &w.row)
	return err == nil
}

// reported returns the derivative of the value of row i in closed form, by normal and witnesses as they are:
// dδ = n·(v_b - v_a), and of growth distances n·(v_B(x) - v_A(x))/h with x the common point and h = n·(ā - b̄).
func (w *worker) reported(r *rows, i int) (g Twists) {
	if r.job.Options.Query == batch.Growth {
		if w.read(r, i); w.r.usable() {
			g = w.reportedValue()
		}
		return g
	}
	out := r.answers
	switch {
	case !r.decided(i):
		return g
	case r.valid: // positions alone are needed
		r.job.Input.Row(r.first+i, &w.row)
	case !w.answered(r, i):
		return g
	}
	value, gap := out.Distance().At(i), 0.0
	if column := out.Gap(); column != nil {
		gap = float64(column[i])
	}
	if r.hasCutOff && value-gap > r.cutOff {
		return g
	}
	// The scale of the pair, which shapes tell, is at least the distance.
	if !(gap <= maxRelativeGap*math.Abs(value)) {
		lib := r.job.Library
		w.r = Row{A: lib.Shape(w.row.ShapeA), B: lib.Shape(w.row.ShapeB), Value: value}
		if !(gap <= maxRelativeGap*w.r.scale()) {
			return g
		}
	}
	n, a, b := out.Normal().Vec(i), out.WitnessA().Vec(i), out.WitnessB().Vec(i)
	g.push(0, r3.Scale(-1, n), r3.Sub(a, w.row.PoseA.Position))
	g.push(6, n, r3.Sub(b, w.row.PoseB.Position))
	sum := value // not finite if any number is not
	for _, v := range g {
		sum += v * 0x1p-1000
	}
	if !(math.Abs(sum) <= math.MaxFloat64) || !(math.Abs(r3.Norm2(n)-1) < maxLengthError) {
		return Twists{}
	}
	return g
}

// reportedValue is reported of the row that was read.
func (w *worker) reportedValue() (g Twists) {
	n, a, b := w.r.Normal, w.r.WitnessA, w.r.WitnessB
	if w.r.Growth {
		p := w.r.problem()
		var s system
		s.asReported(&p, n, r3.Sub(a, p.origin), r3.Sub(b, p.origin), w.r.Value)
		if s.h > 0 {
			s.pushRelative(&p, &g, 1, vec2{})
		}
		return g
	}
	g.push(0, r3.Scale(-1, n), r3.Sub(a, w.r.PoseA.Position))
	g.push(6, n, r3.Sub(b, w.r.PoseB.Position))
	return g
}

// put stores the derivatives of row i.
func put(out *batch.Results, i int, d *Derivative) {
	if s := out.Column(batch.ColSmoothness).U8; s != nil {
		s[i] = uint8(d.smoothness)
	}
	if out.Columns&batch.ColDDistance != 0 {
		v := d.Value()
		out.Column(batch.ColDDistance).SetReals(i, v[:])
	}
	if out.Columns&batch.ColCurvature != 0 {
		v := d.Curvature()
		out.Column(batch.ColCurvature).SetReals(i, v[:])
	}
	const jacobian = batch.ColDNormal | batch.ColDWitnessA | batch.ColDWitnessB
	if out.Columns&jacobian == 0 {
		return
	}
	normal, a, b := d.Jacobian()
	for _, c := range [...]struct {
		column batch.Columns
		rows   *[3]Twists
	}{{batch.ColDNormal, &normal}, {batch.ColDWitnessA, &a}, {batch.ColDWitnessB, &b}} {
		if out.Columns&c.column == 0 {
			continue
		}
		for k := range c.rows {
			out.Column(c.column).SetReals(3*i+k, c.rows[k][:])
		}
	}
}
