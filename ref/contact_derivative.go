package ref

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// The derivative of a contact problem by the implicit function theorem, in dense form. At a solution every contact is
// open (λ = 0), sticks (c = 0) or slides (λ_T = −μλ_N·t with t = c_T/‖c_T‖, and c_N = 0, of the CCP c_N = μ‖c_T‖). With
// the columns B of the impulses that the modes allow and A of the velocities that they forbid, a change dλ = By + p
// obeys Ky = −Aᵀ(dG·λ + dg + Gp) + κ with K = AᵀGB + D, and the transpose of K gives products with cotangents. K is
// inverted by its singular values: where contacts are redundant it has null vectors, and the least norm is taken, in
// which columns of a contact count by 1/√h.

// ContactMode is what a contact does at a solution.
type ContactMode uint8

// Modes of a contact. One without friction that is not open slides.
const (
	ContactOpen ContactMode = iota
	ContactStick
	ContactSlide
)

// ContactDerivative is the derivative of a solution.
type ContactDerivative struct {
	Modes []ContactMode
	// OneOfMany: a null vector of K has a part in a contact that slides. The solution is then not unique, or its
	// derivative depends on how the contacts share their load.
	OneOfMany bool
	// Redundant is the number of null vectors of K.
	Redundant int
	// Condition is that of K without them.
	Condition float64

	p      *Contacts
	model  ContactModel
	lambda []float64
	c      []float64
	a, b   *mat.Dense // [3n, k]; nil without columns
	lead   []int      // by contact: its column e₁ of a slide, or -1
	slip   [][2]float64
	k      *mat.Dense // the pseudoinverse of K
}

// ContactGradient is the gradient of a function of the velocities of the bodies that move by all that a problem is made
// from. Rows and columns of M and J are those of the bodies that move, in their order.
type ContactGradient struct {
	Velocity   []float64
	Mass       *mat.Dense // by each number of M, as if they were independent
	Jacobian   *mat.Dense
	Target     []float64
	Friction   []float64
	Compliance []float64 // [3n]
}

// Derivative finds the derivative of the solution with impulses λ.
func (p *Contacts) Derivative(model ContactModel, lambda []float64) (*ContactDerivative, error) {
	n := p.Points()
	if len(lambda) != 3*n || model != ContactNCP && model != ContactCCP {
		return nil, fmt.Errorf("ref: no derivative of %d impulses of %d contacts under the model %d", len(lambda), n,
			model)
	}
	d := &ContactDerivative{p: p, model: model, lambda: scaledSlice(1/p.units.impulse(), lambda),
		Modes: make([]ContactMode, n), lead: make([]int, n), slip: make([][2]float64, n)}
	d.c = p.contactVelocity(d.lambda)
	var a, b [][]float64
	var diagonal, height []float64
	for i := range n {
		block := p.block(i)
		h := block[0][0] + block[1][1] + block[2][2]
		d.setMode(i, h)
		d.lead[i] = -1
		add := func(x, y [3]float64, s float64) {
			ca, cb := make([]float64, 3*n), make([]float64, 3*n)
			copy(ca[3*i:], x[:])
			copy(cb[3*i:], y[:])
			a, b = append(a, ca), append(b, cb)
			diagonal, height = append(diagonal, s), append(height, h)
		}
		t, mu, l := d.slip[i], p.mu[i], d.lambda[3*i+2]
		switch d.Modes[i] {
		case ContactStick:
			for j := range 3 {
				var e [3]float64
				e[j] = 1
				add(e, e, 0)
			}
		case ContactSlide:
			d.lead[i] = len(b)
			e := [3]float64{-mu * t[0], -mu * t[1], 1}
			if model == ContactCCP {
				add(e, e, 0)
			} else {
				add([3]float64{2: 1}, e, 0)
			}
			if mu*l > 0 {
				o := [3]float64{-t[1], t[0], 0}
				add(o, o, math.Hypot(d.c[3*i], d.c[3*i+1])/(mu*l))
			}
		}
	}
	if len(a) == 0 {
		return d, nil
	}
	d.a, d.b = columnsOf(a, 3*n), columnsOf(b, 3*n)
	return d, d.invert(diagonal, height)
}

func columnsOf(columns [][]float64, n int) *mat.Dense {
	m := mat.NewDense(n, len(columns), nil)
	for k, c := range columns {
		m.SetCol(k, c)
	}
	return m
}

// setMode finds the mode of a contact by where λ − (c + Γ)/h lies: in the polar cone, in K, or between both.
func (d *ContactDerivative) setMode(i int, h float64) {
	c, l, mu := d.c[3*i:3*i+3], d.lambda[3*i:3*i+3], d.p.mu[i]
	x, y, z := l[0]-c[0]/h, l[1]-c[1]/h, l[2]-c[2]/h
	if d.model == ContactNCP {
		z -= mu * math.Hypot(c[0], c[1]) / h
	}
	t := math.Hypot(x, y)
	if t > 0 {
		d.slip[i] = [2]float64{-x / t, -y / t}
	}
	switch {
	case mu*t <= -z:
		d.Modes[i] = ContactOpen
	case mu > 0 && t <= mu*z:
		d.Modes[i] = ContactStick
	default:
		d.Modes[i] = ContactSlide
	}
}

// invert forms K and its pseudoinverse.
func (d *ContactDerivative) invert(diagonal, height []float64) error {
	size := len(diagonal)
	var gb, k mat.Dense
	gb.Mul(d.p.g, d.b)
	k.Mul(d.a.T(), &gb)
	for i := range size {
		k.Set(i, i, k.At(i, i)+diagonal[i])
	}
	for i := range size {
		for j := range size {
			k.Set(i, j, k.At(i, j)/math.Sqrt(height[i]*height[j]))
		}
	}
	var svd mat.SVD
	if !svd.Factorize(&k, mat.SVDFull) {
		return fmt.Errorf("ref: no singular values of a matrix of %d rows", size)
	}
	values := svd.Values(nil)
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	d.k = mat.NewDense(size, size, nil)
	for r, s := range values {
		if s <= 1e-10*values[0] {
			d.Redundant++
			for i, lead := range d.lead {
				if lead < 0 {
					continue
				}
				for j := lead; j < size && d.b.At(3*i, j)*d.b.At(3*i, j)+d.b.At(3*i+1, j)*d.b.At(3*i+1, j)+
					d.b.At(3*i+2, j)*d.b.At(3*i+2, j) > 0; j++ {
					d.OneOfMany = d.OneOfMany || math.Abs(v.At(j, r)) > 1e-6
				}
			}
			continue
		}
		d.Condition = values[0] / s
		for i := range size {
			for j := range size {
				d.k.Set(i, j, d.k.At(i, j)+v.At(i, r)*u.At(j, r)/s/math.Sqrt(height[i]*height[j]))
			}
		}
	}
	return nil
}

// VJP returns the gradient of a function with the gradient bar by the velocities of the bodies that move.
func (d *ContactDerivative) VJP(bar []float64) *ContactGradient {
	p, n, size := d.p, d.p.Points(), len(bar)
	units := make([]float64, size) // of velocities
	lengths := make([]float64, size)
	for i := range size {
		units[i], lengths[i] = p.units.speed, 1
		if i%6 >= 3 {
			units[i], lengths[i] = p.units.spin(), p.units.length
		}
	}
	right := mat.NewVecDense(size, nil)
	for i, x := range bar {
		right.SetVec(i, x*units[i])
	}
	divided := func(x *mat.VecDense) *mat.VecDense {
		y := mat.NewVecDense(size, nil)
		if err := p.mass.SolveVecTo(y, x); err != nil { // a condition number
			y.ScaleVec(math.NaN(), y)
		}
		return y
	}
	u, z := make([]float64, 3*n), []float64(nil)
	if d.a != nil {
		var jv, s, zz, uu mat.VecDense
		jv.MulVec(p.j, divided(right))
		s.MulVec(d.b.T(), &jv)
		zz.MulVec(d.k.T(), &s)
		uu.MulVec(d.a, &zz)
		copy(u, uu.RawVector().Data)
		z = zz.RawVector().Data
		var force mat.VecDense
		force.MulVec(p.j.T(), &uu)
		right.SubVec(right, &force)
	}
	hat, v := divided(right), p.moved(d.lambda)
	var dv, jhat mat.VecDense
	dv.SubVec(v, p.free)
	jhat.MulVec(p.j, hat)
	g := &ContactGradient{Velocity: make([]float64, size), Mass: mat.NewDense(size, size, nil),
		Jacobian: mat.NewDense(3*n, size, nil), Target: make([]float64, n), Friction: make([]float64, n),
		Compliance: make([]float64, 3*n)}
	for i := range size {
		g.Velocity[i] = right.AtVec(i) / units[i]
		for j := range size {
			g.Mass.Set(i, j, -hat.AtVec(i)*dv.AtVec(j)/(p.units.mass*lengths[i]*lengths[j]))
		}
	}
	for r := range 3 * n {
		for j := range size {
			g.Jacobian.Set(r, j, (d.lambda[r]*hat.AtVec(j)-u[r]*v.AtVec(j))/lengths[j])
		}
		g.Compliance[r] = -u[r] * d.lambda[r] * p.units.mass
	}
	for i := range n {
		g.Target[i] = u[3*i+2] / p.units.speed
		if d.Modes[i] != ContactSlide {
			continue
		}
		for k, t := range d.slip[i] {
			g.Friction[i] -= d.lambda[3*i+2] * t * (jhat.AtVec(3*i+k) - p.r[3*i+k]*u[3*i+k])
		}
		if d.model == ContactCCP {
			g.Friction[i] += math.Hypot(d.c[3*i], d.c[3*i+1]) * z[d.lead[i]]
		}
	}
	return g
}
