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
