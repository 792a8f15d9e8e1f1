package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// eps is the unit roundoff of float64, 2⁻⁵³.
const eps = 0x1p-53

// Pair is the Minkowski difference D = core(A) − core(B) of two placed shapes.
// Its frame has the axes of A and its origin at the pose of A, so accuracy does
// not depend on how far from the world's origin the pair lies.
type Pair struct {
	A, B   geom.Shape
	Radius float64 // sum of the two rounding radii; distance = core distance − Radius

	rot   geom.Mat3 // rotation of B in the frame of A
	trans r3.Vec    // origin of B in the frame of A
	rotA  geom.Mat3 // rotation of A in the world
	posA  r3.Vec    // origin of A in the world

	erodeA, erodeB float64 // see eroded

	size  float64 // sum of the (finite) bounding radii
	scale float64 // largest magnitude met in the frame: bounds the rounding errors
}

// NewPair poses the question for A at poseA and B at poseB, whose quaternions must
// be unit (see geom.Pose.Normalized). It does not allocate, but for superquadrics that are
// ellipsoids.
func NewPair(a, b geom.Shape, poseA, poseB geom.Pose) Pair {
	ra, rb := poseA.Matrix(), poseB.Matrix()
	a, b = asEllipsoid(a), asEllipsoid(b)
	p := Pair{A: a, B: b, Radius: a.Radius() + b.Radius(), rotA: ra, posA: poseA.Position}
	p.rot = geom.TransposeMul(&ra, &rb)
	p.trans = ra.MulVecT(r3.Sub(poseB.Position, poseA.Position))
	sizeA, sizeB := a.BoundingRadius(), b.BoundingRadius()
	offA, offB := norm(a.Center()), norm(b.Center())
	if math.IsInf(sizeA, 1) {
		sizeA = a.Radius()
	}
	if math.IsInf(sizeB, 1) {
		sizeB = b.Radius()
	}
	p.size = sizeA + sizeB
	p.scale = norm(p.trans) + p.size + offA + offB
	return p
}

// asEllipsoid returns a superquadric of exponents (1, 1) as the ellipsoid that it is, whose
// support function has a closed form and whose depths have closed certificates. Any other
// shape is returned as it is.
func asEllipsoid(s geom.Shape) geom.Shape {
	switch s := s.(type) {
	case geom.Superquadric:
		if s.Alpha1 == 1 && s.Alpha2 == 1 {
			return geom.Ellipsoid{SemiAxes: s.SemiAxes}
		}
	case geom.Rounded:
		if core := asEllipsoid(s.Shape); core.Kind() != s.Kind() {
			return geom.Rounded{Shape: core, Margin: s.Margin}
		}
	}
	return s
}

// Size is the sum of both bounding radii, the length that tolerances refer to. A
// half-space counts with its margin only.
func (p *Pair) Size() float64 { return p.size }

// Roundoff bounds the rounding error, in metres, of one support value of D and of
// the distance between two witnesses: relative pose, support point, rotation and
// dot product are each a chain of at most about ten operations on magnitudes ≤
// scale, and their errors add up to less than 24 units of roundoff. Squares of lengths
// below 1e-154 underflow as well: the points of two hulls of one vertex may be that close.
func (p *Pair) Roundoff() float64 { return 24*eps*p.scale + underflow }

// underflow bounds, in metres, what underflow adds to the error of a length: products have errors of up to 2⁻¹⁰⁷⁴, so
// that the root of a sum of three squares and of its products with unit vectors is off by less than 1e-150.
const underflow = 1e-150

// tolerance is the gap wanted: that of the options, or the default relative to the size.
func (p *Pair) tolerance(o *Options, relative float64) float64 {
	if o.Tolerance != 0 {
		return o.Tolerance
	}
	return relative * p.size
}

// stopGap is the gap of computed bounds at which the tolerance is met once rounding is
// added to both.
func (p *Pair) stopGap(tolerance float64) float64 {
	rounding := p.Roundoff()
	return math.Max(tolerance-2*rounding, rounding)
}

// FromWorld maps a direction of the world into the frame of the pair.
func (p *Pair) FromWorld(d r3.Vec) r3.Vec { return p.rotA.MulVecT(d) }

// DirToWorld maps a direction of the frame of the pair into the world.
func (p *Pair) DirToWorld(d r3.Vec) r3.Vec { return p.rotA.MulVec(d) }

// ToWorld maps a point of the frame of the pair into the world.
func (p *Pair) ToWorld(v r3.Vec) r3.Vec { return r3.Add(p.rotA.MulVec(v), p.posA) }

// Support returns the vertex of D that maximises <d, w>.
func (p *Pair) Support(d r3.Vec) (v Vertex) {
	p.support(d, &v)
	return v
}

func (p *Pair) support(d r3.Vec, v *Vertex) {
	v.A = p.A.CoreSupport(d)
	db := p.rot.MulVecT(d)
	v.B = r3.Add(p.rot.MulVec(p.B.CoreSupport(r3.Vec{X: -db.X, Y: -db.Y, Z: -db.Z})), p.trans)
	if p.erodeA+p.erodeB > 0 {
		u := unit(d)
		v.A = r3.Sub(v.A, r3.Scale(p.erodeA, u))
		v.B = r3.Add(v.B, r3.Scale(p.erodeB, u))
	}
	v.W = r3.Sub(v.A, v.B)
}

// eroded returns the pair with a ball taken out of every core in which one rolls
// freely, and given to its radius: the shapes stay the same, since such a core
// is the sum of a smaller convex set and that ball. Depths less than the radii
// become distances of the smaller cores, and what EPA still has to do is
// less curved.
func (p *Pair) eroded() Pair {
	q := *p
	q.erodeA, q.erodeB = geom.MinCurvatureRadius(p.A), geom.MinCurvatureRadius(p.B)
	q.Radius += q.erodeA + q.erodeB
	return q
}

// roundA and roundB are the radii that lie around the cores.
func (p *Pair) roundA() float64 { return p.A.Radius() + p.erodeA }
func (p *Pair) roundB() float64 { return p.B.Radius() + p.erodeB }

// polytopes reports whether both cores are polytopes, so that EPA ends after a
// finite number of steps with an exact face.
func (p *Pair) polytopes() bool { return polytopeCore(p.A) && polytopeCore(p.B) }

func polytopeCore(s geom.Shape) bool {
	t := s.Kind().Traits()
	return t.Polyhedral && !t.Unbounded
}

// centers returns center(A) − center(B), a point of D near its middle.
func (p *Pair) centers() r3.Vec {
	b := r3.Add(p.rot.MulVec(p.B.Center()), p.trans)
	return r3.Sub(p.A.Center(), b)
}

// Workspace is the memory of the solvers. The zero value is ready; it grows to what
// the hardest pair needs and is reused. It belongs to one goroutine. A nil
// Workspace is allowed and costs one allocation per call.
type Workspace struct {
	d descent
	e expansion
	t trustRegion
	g growth

	boundsA, boundsB geom.HessianBounds // see widestCap
	caps             []capCertificate
	points           []Vertex
}

func (ws *Workspace) descent() *descent {
	if ws == nil {
		return new(descent)
	}
	return &ws.d
}

func (ws *Workspace) expansion() *expansion {
	if ws == nil {
		return new(expansion)
	}
	return &ws.e
}

func (ws *Workspace) trustRegion() *trustRegion {
	if ws == nil {
		return new(trustRegion)
	}
	return &ws.t
}
