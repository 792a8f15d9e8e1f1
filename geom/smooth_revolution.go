package geom

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

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
