package geom

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom/hull"
)

// Sharpness β that Validate accepts for a smooth hull or revolution. The support
// function is C² for β > 2; beyond the upper end its corners are those of the
// polyhedron to less than a hundredth of its size.
const (
	MinSharpness = 2.0625
	MaxSharpness = 1000
)

// SmoothHull is a hull with rounded corners: the body whose support function is
//
//	h(d) = <c, d> + (Σ max(<pᵢ - c, d>, 0)^β)^(1/β)
//
// with vertices pᵢ, sharpness β and a center c strictly inside their hull [RTR,
// eq. 17, where c = 0]. It holds that hull and is at most n^(1/β) times as large,
// so it tends to it as β grows. Every point counts, duplicate and interior ones as well.
//
// The core is the body itself. h is C² but at 0. Build it with [NewSmoothHull]; the
// zero value is not a shape.
type SmoothHull struct {
	vertices  []r3.Vec
	sharpness float64
	center    r3.Vec

	rel    []r3.Vec // vertices relative to center
	planes []plane  // faces of the hull of rel
	cut    float64  // see negligible
	radii
}

// NewSmoothHull builds the shape from vertices (copied), the sharpness and the center.
// It reports a parameter out of range, and a center that is not strictly inside
// the hull of the vertices: by less than 1e-6 of the farthest vertex's distance.
func NewSmoothHull(vertices []r3.Vec, sharpness float64, center r3.Vec) (*SmoothHull, error) {
	if err := KindSmoothHull.check(values{nil, {sharpness}, numbers(center)}); err != nil {
		return nil, err
	}
	if !(math.Abs(center.X) <= hull.MaxCoordinate && math.Abs(center.Y) <= hull.MaxCoordinate &&
		math.Abs(center.Z) <= hull.MaxCoordinate) {
		return nil, fmt.Errorf("smooth_hull: center = (%g, %g, %g), want finite coordinates of at most %g in magnitude",
			center.X, center.Y, center.Z, float64(hull.MaxCoordinate))
	}
	c, err := NewConvex(vertices)
	if err != nil {
		return nil, fmt.Errorf("smooth_hull: %w", err)
	}
	s := &SmoothHull{vertices: slices.Clone(vertices), sharpness: sharpness, center: center, cut: negligible(sharpness)}
	far := 0.0
	for _, v := range vertices {
		q := r3.Sub(v, center)
		s.rel = append(s.rel, q)
		far = max(far, math.Sqrt(r3.Norm2(q)))
	}
	if err := checkSize(KindSmoothHull, "distance of the farthest vertex from center", far); err != nil {
		return nil, err
	}
	off := r3.Sub(c.center, center)
	for _, p := range c.planes {
		p.offset += r3.Dot(p.n, off)
		if c.hull.Dim < 3 || !(p.offset > minInside*far) {
			return nil, fmt.Errorf("smooth_hull: center (%g, %g, %g) is not strictly inside the hull of the "+
				"vertices; give one that is, or more vertices around it", center.X, center.Y, center.Z)
		}
		s.planes = append(s.planes, p)
	}
	if len(s.planes) == 0 {
		return nil, errors.New("smooth_hull: the vertices span no volume; give at least four that are not in one plane")
	}
	floor := math.Inf(1)
	for _, p := range s.planes {
		floor = min(floor, p.offset)
	}
	s.measure(s, center, floor)
	return s, nil
}

// minInside is how far inside the hull the center must lie, relative to the farthest vertex:
// ratios of support values stay below 1e6, and their powers far from the ends of float64.
const minInside = 1e-6

// negligible returns the t in (0, 1) below which t^(β-2) is less than 2⁻¹⁰⁰: such a
// term of a sum, next to one of t = 1, is lost to rounding for any number of terms.
func negligible(sharpness float64) float64 { return math.Exp2(-100 / (sharpness - 2)) }

// Vertices returns the points that NewSmoothHull was given, which must not be changed.
func (s *SmoothHull) Vertices() []r3.Vec { return s.vertices }

// Sharpness returns β.
func (s *SmoothHull) Sharpness() float64 { return s.sharpness }

// Kind returns KindSmoothHull.
func (*SmoothHull) Kind() Kind { return KindSmoothHull }

func (s *SmoothHull) values() values {
	return values{flattened(s.vertices), {s.sharpness}, numbers(s.center)}
}

func (*SmoothHull) of(v values) (Shape, error) {
	return shape(NewSmoothHull(v.points(0), v.number(1), v.vector(2)))
}

// Validate reports a SmoothHull that NewSmoothHull did not make; it checks the rest.
func (s *SmoothHull) Validate() error {
	if s == nil || s.rel == nil {
		return errors.New("smooth_hull: no vertices, build it with NewSmoothHull")
	}
	return nil
}

// CoreSupport returns the gradient of h at d.
func (s *SmoothHull) CoreSupport(d r3.Vec) r3.Vec {
	_, x := s.about(d)
	return r3.Add(s.center, x)
}

// about returns the support value and point relative to the center.
//
// With m the largest <q, d>, t = <q, d>/m and S = Σ t^β, h = m·S^(1/β) and the point is
// Σ w·q with w = t^(β-1)/S^(1-1/β). The w have norm 1 in the conjugate exponent by
// construction, whatever rounding did to t, and any such sum is a point of the
// body: rounding moves it along the surface, not off it.
func (s *SmoothHull) about(d r3.Vec) (h float64, x r3.Vec) {
	d, scale, ok := rescale(d)
	if !ok {
		return 0, r3.Vec{}
	}
	m := 0.0
	for _, q := range s.rel {
		m = max(m, r3.Dot(q, d))
	}
	sum, low := 0.0, s.cut*m
	for _, q := range s.rel {
		if t := r3.Dot(q, d); t > low {
			t /= m
			w := math.Exp((s.sharpness - 1) * math.Log(t))
			sum += w * t
			x = r3.Add(x, r3.Scale(w, q))
		}
	}
	k := math.Exp(math.Log(sum) / s.sharpness) // S^(1/β)
	return scale * m * k, r3.Scale(k/sum, x)
}

// Radius returns 0.
func (*SmoothHull) Radius() float64 { return 0 }

// Center returns the center that NewSmoothHull was given.
func (s *SmoothHull) Center() r3.Vec { return s.center }

// AABB returns the corners of the bounding box.
func (s *SmoothHull) AABB() (lo, hi r3.Vec) { return supportAABB(s) }

// SupportHessian returns, with y = <q, d> and the support point x = Σ w·q,
//
//	H = (β-1)/h · Σ (y/h)^(β-2) v vᵀ,  v = q - x·y/h,
//
// which is positive semidefinite term by term and loses nothing to cancellation:
// every v is orthogonal to d.
func (s *SmoothHull) SupportHessian(d r3.Vec) (h Mat3, ok bool) {
	u, scale, ok := hessianDirection(d)
	if !ok {
		return h, false
	}
	value, x := s.about(u)
	m := 0.0
	for _, q := range s.rel {
		m = max(m, r3.Dot(q, u))
	}
	n2, low := r3.Norm2(u), s.cut*m
	k := (s.sharpness - 1) / value / scale
	for _, q := range s.rel {
		y := r3.Dot(q, u)
		if !(y > low) {
			continue
		}
		y /= value
		w := k * math.Exp((s.sharpness-2)*math.Log(y))
		v := r3.Sub(q, r3.Scale(y, x))
		addSquare(&h, w, r3.Sub(v, r3.Scale(r3.Dot(v, u)/n2, u)))
	}
	return h, true
}

// addSquare adds w·v·vᵀ to h.
func addSquare(h *Mat3, w float64, v r3.Vec) {
	x, y, z := w*v.X, w*v.Y, w*v.Z
	xy, xz, yz := x*v.Y, x*v.Z, y*v.Z
	h[0] += x * v.X
	h[4] += y * v.Y
	h[8] += z * v.Z
	h[1] += xy
	h[3] += xy
	h[2] += xz
	h[6] += xz
	h[5] += yz
	h[7] += yz
}

// Residual is the distance outside and a lower bound inside, see gaugeResidual.
func (s *SmoothHull) Residual(p r3.Vec) float64 {
	q := r3.Sub(p, s.center)
	// The face of the hull that the ray through p meets: the gauge of the hull.
	var start r3.Vec
	best := math.Inf(-1)
	for _, f := range s.planes {
		if g := r3.Dot(f.n, q) / f.offset; g > best {
			best, start = g, f.n
		}
	}
	return gaugeResidual(s, q, start, s.inner, s.outer)
}

// Flatness γ that Validate accepts for a smooth revolution.
const (
	MinFlatness = 1e-6
	MaxFlatness = 100
)

// MaxProfile is the largest number of points of a profile.
const MaxProfile = 65535

// SmoothRevolution is a solid of revolution around local z with rounded corners: the
// body whose support function is
//
//	h(d) = (Σ max(rᵢ·ρ + zᵢ·d.Z, 0)^β)^(1/β),  ρ = √(d.X² + d.Y² + γ·d.Z²)
//
// with profile points (rᵢ, zᵢ), rᵢ ≥ 0, sharpness β and flatness γ ([RTR, eq. 19];
// the mirror images of the points, which the paper lists too, are not added). It
// holds all the circles of the profile; for β → ∞ and γ → 0 it tends to their hull,
// and γ rounds what would be flat across the axis.
//
// The core is the body itself. h is C² but at 0. Build it with [NewSmoothRevolution];
// the zero value is not a shape.
type SmoothRevolution struct {
	profile             []r2.Vec
	sharpness, flatness float64

	disc  Ellipsoid // of semi-axes 1, 1, √γ: ρ is its support function
	edges []r2.Vec  // normals of the hull of the profile, scaled to be its polar points
	cut   float64
	radii
}

// NewSmoothRevolution builds the shape from a profile of points (r, z) (copied), the
// sharpness and the flatness. It reports a parameter out of range, and a profile that
// does not reach around the origin: some r > 0, some z > 0 and some z < 0.
func NewSmoothRevolution(profile []r2.Vec, sharpness, flatness float64) (*SmoothRevolution, error) {
	if err := KindSmoothRevolution.check(values{nil, {sharpness}, {flatness}}); err != nil {
		return nil, err
	}
	if len(profile) == 0 || len(profile) > MaxProfile {
		return nil, fmt.Errorf("smooth_revolution: profile of %d points, want 2 to %d", len(profile), MaxProfile)
	}
	var wide, up, down, far float64
	for i, p := range profile {
		if !(p.X >= 0 && p.X <= MaxSize) || !(math.Abs(p.Y) <= MaxSize) {
			return nil, fmt.Errorf("smooth_revolution: profile[%d] = (%g, %g), want a radius of 0 to %g and a z of "+
				"at most that in magnitude", i, p.X, p.Y, float64(MaxSize))
		}
		wide, up, down = max(wide, p.X), max(up, p.Y), max(down, -p.Y)
		far = max(far, math.Hypot(p.X, p.Y))
	}
	if err := checkSize(KindSmoothRevolution, "distance of the farthest profile point", far); err != nil {
		return nil, err
	}
	if least := minInside * far; !(wide > least && up > least && down > least) {
		return nil, errors.New("smooth_revolution: the profile does not reach around the origin; give points with r " +
			"> 0, z > 0 and z < 0")
	}
	s := &SmoothRevolution{profile: slices.Clone(profile), sharpness: sharpness, flatness: flatness,
		cut: negligible(sharpness)}
	s.disc = Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 1, Z: math.Sqrt(flatness)}}
	s.edges = polarEdges(profile)
	floor := math.Inf(1)
	for _, e := range s.edges {
		floor = min(floor, 1/r2.Norm(e))
	}
	s.measure(s, r3.Vec{}, floor)
	return s, nil
}

// polarEdges returns, for each edge of the hull of the points and their mirror images
// that does not look away from r ≥ 0, its normal divided by its distance from the origin.
func polarEdges(profile []r2.Vec) []r2.Vec {
	// Upper and lower chains by z (Andrew's monotone chain), over the right half only:
	// its hull with the two ends on the axis is the right half of the whole hull.
	p := slices.Clone(profile)
	slices.SortFunc(p, func(a, b r2.Vec) int {
		if a.Y != b.Y {
			return cmpFloat(a.Y, b.Y)
		}
		return cmpFloat(a.X, b.X)
	})
	p = append([]r2.Vec{{X: 0, Y: p[0].Y}}, p...)
	p = append(p, r2.Vec{X: 0, Y: p[len(p)-1].Y})
	var chain []r2.Vec
	for _, v := range p {
		for len(chain) >= 2 {
			a, b := chain[len(chain)-2], chain[len(chain)-1]
			if r2.Cross(r2.Sub(b, a), r2.Sub(v, b)) > 0 { // counter-clockwise: b is a corner
				break
			}
			chain = chain[:len(chain)-1]
		}
		chain = append(chain, v)
	}
	var out []r2.Vec
	for i := 1; i < len(chain); i++ {
		e := r2.Sub(chain[i], chain[i-1])
		n := r2.Vec{X: e.Y, Y: -e.X} // outward: the chain runs upwards on the right
		if off := r2.Dot(n, chain[i]); off > 0 && n.X >= 0 {
			out = append(out, r2.Scale(1/off, n))
		}
	}
	return out
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Profile returns the points that NewSmoothRevolution was given, which must not be changed.
func (s *SmoothRevolution) Profile() []r2.Vec { return s.profile }

// Sharpness returns β.
func (s *SmoothRevolution) Sharpness() float64 { return s.sharpness }

// Flatness returns γ.
func (s *SmoothRevolution) Flatness() float64 { return s.flatness }

// Kind returns KindSmoothRevolution.
func (*SmoothRevolution) Kind() Kind { return KindSmoothRevolution }

func (s *SmoothRevolution) values() values {
	profile := make([]float64, 0, 2*len(s.profile))
	for _, p := range s.profile {
		profile = append(profile, p.X, p.Y)
	}
	return values{profile, {s.sharpness}, {s.flatness}}
}

func (*SmoothRevolution) of(v values) (Shape, error) {
	return shape(NewSmoothRevolution(v.profile(0), v.number(1), v.number(2)))
}

// Validate reports a shape that NewSmoothRevolution did not make; it checks the rest.
func (s *SmoothRevolution) Validate() error {
	if s == nil || s.profile == nil {
		return errors.New("smooth_revolution: no profile, build it with NewSmoothRevolution")
	}
	return nil
}

// planar returns the value F(ρ, z) = (Σ max(r·ρ + zᵢ·z, 0)^β)^(1/β) and its gradient,
// in the manner of SmoothHull.about.
func (s *SmoothRevolution) planar(rho, z float64) (f float64, grad r2.Vec) {
	m := 0.0
	for _, p := range s.profile {
		m = max(m, p.X*rho+p.Y*z)
	}
	sum, low := 0.0, s.cut*m
	for _, p := range s.profile {
		if t := p.X*rho + p.Y*z; t > low {
			t /= m
			w := math.Exp((s.sharpness - 1) * math.Log(t))
			sum += w * t
			grad = r2.Add(grad, r2.Scale(w, p))
		}
	}
	k := math.Exp(math.Log(sum) / s.sharpness)
	return m * k, r2.Scale(k/sum, grad)
}

// about returns the support value and point.
func (s *SmoothRevolution) about(d r3.Vec) (h float64, x r3.Vec) {
	d, scale, ok := rescale(d)
	if !ok {
		return 0, r3.Vec{}
	}
	e := s.disc.CoreSupport(d) // gradient of ρ
	rho := r3.Dot(e, d)
	f, g := s.planar(rho, d.Z)
	return scale * f, r3.Vec{X: g.X * e.X, Y: g.X * e.Y, Z: g.X*e.Z + g.Y}
}

// CoreSupport returns the gradient of h at d.
func (s *SmoothRevolution) CoreSupport(d r3.Vec) r3.Vec {
	_, x := s.about(d)
	return x
}

// Radius returns 0.
func (*SmoothRevolution) Radius() float64 { return 0 }

// Center returns the origin.
func (*SmoothRevolution) Center() r3.Vec { return r3.Vec{} }

// AABB returns the corners of the bounding box.
func (s *SmoothRevolution) AABB() (lo, hi r3.Vec) { return supportAABB(s) }

// SupportHessian returns F_ρ·∇²ρ + Jᵀ F” J, where the rows of J are ∇ρ and e_z, and F”
// is a sum of squares as in SmoothHull.SupportHessian.
func (s *SmoothRevolution) SupportHessian(d r3.Vec) (h Mat3, ok bool) {
	u, scale, ok := hessianDirection(d)
	if !ok {
		return h, false
	}
	e := s.disc.CoreSupport(u)
	rho := r3.Dot(e, u)
	f, g := s.planar(rho, u.Z)
	if h, ok = s.disc.SupportHessian(u); !ok {
		return h, false
	}
	for i := range h {
		h[i] *= g.X / scale
	}
	m := 0.0
	for _, p := range s.profile {
		m = max(m, p.X*rho+p.Y*u.Z)
	}
	n2, low := rho*rho+u.Z*u.Z, s.cut*m
	k := (s.sharpness - 1) / f / scale
	// Every v is a multiple a of (-z, ρ), the direction across (ρ, z), to rounding.
	sum := 0.0
	for _, p := range s.profile {
		y := p.X*rho + p.Y*u.Z
		if !(y > low) {
			continue
		}
		y /= f
		v := r2.Sub(p, r2.Scale(y, g))
		a := (v.Y*rho - v.X*u.Z) / n2
		sum += math.Exp((s.sharpness-2)*math.Log(y)) * a * a
	}
	// Jᵀ(-z, ρ), made orthogonal to u to the last digits.
	v := r3.Vec{X: -u.Z * e.X, Y: -u.Z * e.Y, Z: rho - u.Z*e.Z}
	addSquare(&h, k*sum, r3.Sub(v, r3.Scale(r3.Dot(v, u)/r3.Norm2(u), u)))
	return h, true
}

// Residual is the distance outside and a lower bound inside, see gaugeResidual.
func (s *SmoothRevolution) Residual(p r3.Vec) float64 {
	ux, uy := lateralUnit(p.X, p.Y)
	if ux == 0 && uy == 0 {
		ux = 1
	}
	r := ux*p.X + uy*p.Y
	var start r2.Vec
	best := math.Inf(-1)
	for _, n := range s.edges {
		if g := n.X*r + n.Y*p.Z; g > best {
			best, start = g, n
		}
	}
	return gaugeResidual(s, p, r3.Vec{X: start.X * ux, Y: start.X * uy, Z: start.Y}, s.inner, s.outer)
}
