package ref

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// model is the quadratic model of h around a direction, in a basis of the tangent plane
// [RTR, eq. 10-12].
type model struct {
	basis      [2]r3.Vec // orthonormal, orthogonal to the direction
	g          [2]float64
	xx, xy, yy float64 // Hessian
}

// model forms the gradient and the Hessian P·∂²h·P - h·I of the support function. Where a shape is not
// C² in this direction, ∂²h counts as 0: the trust region keeps the steps safe.
func (t *trustRegion) model() (m model) {
	m.basis[0], m.basis[1] = tangents(t.x)
	m.g = [2]float64{r3.Dot(m.basis[0], t.v.W), r3.Dot(m.basis[1], t.v.W)}
	p := &t.p
	m.add(p.A, m.basis[0], m.basis[1], t.x)
	back := func(d r3.Vec) r3.Vec { return p.rot.MulVecT(r3.Scale(-1, d)) }
	m.add(p.B, back(m.basis[0]), back(m.basis[1]), back(t.x))
	// The Hessians are those of the whole shapes, whose balls add their radii; so does h.
	h := t.h + p.Radius
	m.xx -= h
	m.yy -= h
	return m
}

// add adds the Hessian of a shape, in its own frame.
func (m *model) add(s geom.Shape, e, f, d r3.Vec) {
	smooth, ok := s.(geom.Smooth)
	if !ok {
		return
	}
	h, ok := smooth.SupportHessian(d)
	if !ok {
		r := s.Radius()
		m.xx, m.yy = m.xx+r, m.yy+r
		return
	}
	m.addForm(&h, e, f)
}

// addForm adds the quadratic form h, in the frame of e and f.
func (m *model) addForm(h *geom.Mat3, e, f r3.Vec) {
	he, hf := h.MulVec(e), h.MulVec(f)
	m.xx += r3.Dot(e, he)
	m.xy += r3.Dot(e, hf)
	m.yy += r3.Dot(f, hf)
}

// tangents completes a unit vector to an orthonormal basis.
func tangents(x r3.Vec) (e, f r3.Vec) {
	a := r3.Vec{X: 1}
	if math.Abs(x.X) > 0.6 {
		a = r3.Vec{Y: 1}
	}
	e = unit(r3.Cross(x, a))
	return e, r3.Cross(x, e)
}

// lowest returns the smallest eigenvalue of the Hessian.
func (m *model) lowest() float64 {
	mean, half := (m.xx+m.yy)/2, (m.xx-m.yy)/2
	return mean - math.Hypot(half, m.xy)
}

// apply returns Hv.
func (m *model) apply(v [2]float64) [2]float64 {
	return [2]float64{m.xx*v[0] + m.xy*v[1], m.xy*v[0] + m.yy*v[1]}
}

// truncatedCG minimises the model in the disc of the given radius by conjugate gradients
// that stop at its rim and at negative curvature (Steihaug 1983; [RTR, eq. 9]). Two
// steps are exact in the plane. At a stationary point that is no minimum the step goes along the
// lowest curvature. decrease is the decrease of the model.
func (m *model) truncatedCG(radius float64) (v [2]float64, decrease float64) {
	r := [2]float64{-m.g[0], -m.g[1]}
	rr := dot2(r, r)
	if low := m.lowest(); low < 0 && math.Sqrt(rr) <= -low*radius*1e-6 {
		return m.escape(low, radius)
	}
	p := r
	for range 2 {
		hp := m.apply(p)
		curvature := dot2(p, hp)
		alpha := rr / curvature
		next := [2]float64{v[0] + alpha*p[0], v[1] + alpha*p[1]}
		if !(curvature > 0) || !(dot2(next, next) < radius*radius) {
			v = toRim(v, p, radius)
			break
		}
		v = next
		r = [2]float64{r[0] - alpha*hp[0], r[1] - alpha*hp[1]}
		left := dot2(r, r)
		if !(left > 0) {
			break
		}
		beta := left / rr
		p, rr = [2]float64{r[0] + beta*p[0], r[1] + beta*p[1]}, left
	}
	return v, m.decrease(v)
}

// decrease is m(0) - m(v).
func (m *model) decrease(v [2]float64) float64 { return -dot2(m.g, v) - 0.5*dot2(v, m.apply(v)) }

// escape steps to the rim along the eigenvector of the lowest curvature, downhill.
func (m *model) escape(low, radius float64) (v [2]float64, decrease float64) {
	v = [2]float64{m.xy, low - m.xx}
	if w := [2]float64{low - m.yy, m.xy}; dot2(w, w) > dot2(v, v) {
		v = w
	}
	n := math.Sqrt(dot2(v, v))
	if !(n > 0) { // a multiple of the identity: any direction will do
		v, n = [2]float64{1, 0}, 1
	}
	if dot2(v, m.g) > 0 {
		n = -n
	}
	v = [2]float64{v[0] / n * radius, v[1] / n * radius}
	return v, m.decrease(v)
}

// toRim returns the point of v + τp, τ ≥ 0, on the rim of the disc; v lies inside.
func toRim(v, p [2]float64, radius float64) [2]float64 {
	a, b, c := dot2(p, p), dot2(v, p), dot2(v, v)-radius*radius
	if !(a > 0) {
		return v
	}
	tau := (-b + math.Sqrt(max(b*b-a*c, 0))) / a
	return [2]float64{v[0] + tau*p[0], v[1] + tau*p[1]}
}

func dot2(a, b [2]float64) float64 { return a[0]*b[0] + a[1]*b[1] }
