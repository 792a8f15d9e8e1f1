package contact

import (
	"fmt"
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/spatial/r3"
)

// superquadricMoments are those of a superquadric, by Dirichlet's integrals. At z its section is the
// superellipse at z = 0 scaled by s = (1 − |z/c|^(2/α1))^(α1/2): areas scale with s², second moments with s⁴.
func superquadricMoments(s geom.Superquadric) moments {
	a, e1, e2 := s.SemiAxes, s.Alpha1, s.Alpha2
	p := 2 / e2
	area := 4 / (p * p) * gammas([]float64{1 / p, 1 / p}, 1+2/p)
	square := 4 / (p * p) * gammas([]float64{3 / p, 1 / p}, 1+4/p)
	beta := func(x, y float64) float64 { return gammas([]float64{x, y}, x+y) }
	v := a.X * a.Y * a.Z
	across := v * square * e1 * beta(e1/2, 2*e1+1)
	return moments{volume: v * area * e1 * beta(e1/2, e1+1), second: sym3{a.X * a.X * across, a.Y * a.Y * across,
		v * a.Z * a.Z * area * e1 * beta(3*e1/2, e1+1)}}
}

// gammas is the product of Γ over x > 0, divided by Γ(y).
func gammas(x []float64, y float64) float64 {
	sum, _ := math.Lgamma(y)
	sum = -sum
	for _, v := range x {
		l, _ := math.Lgamma(v)
		sum += l
	}
	return math.Exp(sum)
}

// rule is a quadrature rule on [0, 1].
type rule struct{ points, weights []float64 }

func newRule(n int) rule {
	r := rule{make([]float64, n), make([]float64, n)}
	quad.Legendre{}.FixedLocations(r.points, r.weights, 0, 1)
	return r
}

var gauss32, gauss8 = newRule(32), newRule(8)

// Limits of the quadrature of smooth shapes: the error that is allowed relative to the size, and the number of
// spherical triangles that are split.
const (
	quadratureError  = 1e-9
	quadratureSplits = 1 << 13
)

// smoothMoments integrates over the normals u of a smooth core with a ball of radius r added. Its surface has the point
// x(u) = ∇h + ru, the support value s = h + r, and the area element det(∇²h + r) on the tangent plane, so that by the
// divergence theorem
//
//	V = ⅓∫s·det,  ∫x = ¼∫x·s·det,  ∫xxᵀ = ⅕∫xxᵀ·s·det.
//
// The faces of an octahedron on the sphere are split until each agrees with its four parts. The sum of the differences,
// which bounds the error wherever the rule converges, is at most 1e-9 of the result; else there is an error.
func smoothMoments(core geom.Shape, r float64) (moments, error) {
	smooth, ok := core.(geom.Smooth)
	if !ok {
		return moments{}, fmt.Errorf("the volume of a %v has no formula here; give mass and inertia", core.Kind())
	}
	q := quadrature{core: core, smooth: smooth, r: r, center: core.Center()}
	type triangle struct {
		corners [3]r3.Vec
		value   moments
	}
	var open []triangle
	var total moments
	for i := range 8 {
		sign := func(bit int) float64 { return float64(1 - 2*(i>>bit&1)) }
		t := triangle{corners: [3]r3.Vec{{X: sign(0)}, {Y: sign(1)}, {Z: sign(2)}}}
		t.value = q.triangle(t.corners)
		total.add(t.value)
		open = append(open, t)
	}
	size := core.BoundingRadius() + r
	var sum moments
	left := 0.0
	for splits := 0; len(open) > 0; splits++ {
		if splits == quadratureSplits {
			return moments{}, notFound(core)
		}
		t := open[len(open)-1]
		open = open[:len(open)-1]
		var parts [4]triangle
		var split moments
		middle := [3]r3.Vec{}
		for i := range 3 {
			middle[i] = r3.Unit(r3.Add(t.corners[i], t.corners[(i+1)%3]))
		}
		for i := range 3 {
			parts[i].corners = [3]r3.Vec{t.corners[i], middle[i], middle[(i+2)%3]}
		}
		parts[3].corners = middle
		for i := range parts {
			parts[i].value = q.triangle(parts[i].corners)
			split.add(parts[i].value)
		}
		// The share of a triangle in the error goes with its solid angle, a quarter at each level.
		change := difference(&t.value, &split, size)
		if change <= quadratureError*total.volume*solidAngle(t.corners)/(4*math.Pi) || change == 0 {
			left += change
			sum.add(split)
			continue
		}
		open = append(open, parts[:]...)
	}
	if !(left <= 2*quadratureError*sum.volume) || q.failed {
		return moments{}, notFound(core)
	}
	return sum.shifted(q.center), nil
}

func notFound(core geom.Shape) error {
	return fmt.Errorf("the volume of this %v is not found to %g by quadrature; give mass and inertia", core.Kind(),
		quadratureError)
}

// difference is the largest difference of two moments as volumes: moments are divided by the size.
func difference(a, b *moments, size float64) float64 {
	d := math.Abs(a.volume - b.volume)
	d = max(d, r3.Norm(r3.Sub(a.first, b.first))/size)
	for i := range a.second {
		d = max(d, math.Abs(a.second[i]-b.second[i])/(size*size))
	}
	return d
}

func solidAngle(c [3]r3.Vec) float64 {
	return 2 * math.Atan2(math.Abs(r3.Dot(c[0], r3.Cross(c[1], c[2]))),
		1+r3.Dot(c[0], c[1])+r3.Dot(c[1], c[2])+r3.Dot(c[2], c[0]))
}

type quadrature struct {
	core   geom.Shape
	smooth geom.Smooth
	r      float64
	center r3.Vec
	failed bool // a direction without a Hessian
}

// triangle integrates over a spherical triangle: over the plane triangle of its corners, whose points p are directions,
// with dΩ = ⟨p, n⟩/|p|³ dA, by a product of Gauss's rules on collapsed coordinates.
func (q *quadrature) triangle(c [3]r3.Vec) (m moments) {
	u, v := r3.Sub(c[1], c[0]), r3.Sub(c[2], c[0])
	normal := r3.Cross(u, v) // twice the area long
	height := math.Abs(r3.Dot(normal, c[0]))
	for i, s := range gauss8.points {
		for j, t := range gauss8.points {
			p := addScaled(addScaled(c[0], s*(1-t), u), s*t, v)
			length := r3.Norm(p)
			w := gauss8.weights[i] * gauss8.weights[j] * s * height / (length * length * length)
			q.add(&m, r3.Scale(1/length, p), w)
		}
	}
	return m
}

// add adds a direction with a weight. Moments are about the center, so that support values are positive.
func (q *quadrature) add(m *moments, u r3.Vec, w float64) {
	h, ok := q.smooth.SupportHessian(u)
	if !ok {
		q.failed = true
		return
	}
	x := r3.Sub(q.core.CoreSupport(u), q.center)
	x = addScaled(x, q.core.Radius()+q.r, u)
	for i := range 3 { // a ball adds its radius on the tangent plane
		h[4*i] += q.r
	}
	for i, a := range [3]float64{u.X, u.Y, u.Z} {
		for j, b := range [3]float64{u.X, u.Y, u.Z} {
			h[3*i+j] -= q.r * a * b
		}
	}
	trace := h[0] + h[4] + h[8]
	square := 0.0
	for _, v := range h {
		square += v * v
	}
	f := w * r3.Dot(x, u) * (trace*trace - square) / 2
	m.volume += f / 3
	m.first = addScaled(m.first, f/4, x)
	m.second.addScaled(f/5, tensor(x))
}
