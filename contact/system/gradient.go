package system

import (
	"math"

	"clearance/contact/adjoint"
)

// Parameters are numbers by all that a problem is made from: gradients, or tangents. The columns are those of
// [Problem].
type Parameters struct {
	Velocity   []float64 // [W,N] by v_f
	Mass       []float64 // [W,N,N] by each number, as if they were independent
	Jacobian   []float64 // [W,C,3,N]
	Target     []float64 // [W,C]
	Friction   []float64 // [W,C]; of a contact without friction from above
	Compliance []float64 // [W,C,2]
	Offset     []float64 // [W,C,3]
}

// parameter is a column with its length of a world.
type parameter struct {
	name   string
	column *[]float64
	n      int
}

func (x *Parameters) columns(p *Problem) [7]parameter {
	n, c := p.Velocities, p.Contacts
	return [7]parameter{{"velocity", &x.Velocity, n}, {"mass", &x.Mass, n * n}, {"jacobian", &x.Jacobian, 3 * c * n},
		{"target", &x.Target, c}, {"friction", &x.Friction, c}, {"compliance", &x.Compliance, 2 * c},
		{"offset", &x.Offset, 3 * c}}
}

// Gradient is the product of cotangents with the derivative of the solutions.
type Gradient struct {
	Parameters
	adjoint.Report
}

// Resize makes every column large enough for a problem, and sets it to zero.
func (g *Gradient) Resize(p *Problem) {
	for _, x := range g.columns(p) {
		resize(x.column, p.Worlds*x.n)
		clear(*x.column)
	}
	resizeReport(&g.Report, p)
}

// Tangent is the product of the derivative of the solutions with tangents of the parameters.
type Tangent struct {
	Velocity []float64 // [W,N]
	Impulse  []float64 // [W,C,3]
	adjoint.Report
}

// Resize is like that of [Gradient].
func (t *Tangent) Resize(p *Problem) {
	resize(&t.Velocity, p.Worlds*p.Velocities)
	resize(&t.Impulse, 3*p.Worlds*p.Contacts)
	clear(t.Velocity)
	clear(t.Impulse)
	resizeReport(&t.Report, p)
}

func resizeReport(r *adjoint.Report, p *Problem) {
	resize(&r.Smoothness, p.Worlds)
	resize(&r.Margin, p.Worlds)
	resize(&r.Nearest, p.Worlds)
	resize(&r.Residual, p.Worlds)
	resize(&r.Mode, p.Worlds*p.Contacts)
	clear(r.Mode)
	for w := range p.Worlds {
		r.Smoothness[w], r.Margin[w], r.Nearest[w], r.Residual[w] = adjoint.Smooth, math.Inf(1), -1, 0
	}
}

// none marks world w as one without derivative.
func none(r *adjoint.Report, w int) {
	r.Smoothness[w], r.Margin[w], r.Nearest[w], r.Residual[w] = adjoint.None, 0, -1, 0
}

// end clears the gradients of a world without derivative, such as one of which a number leaves the range of float64.
func (g *Gradient) end(p *Problem, w int, ok bool) {
	for _, x := range g.columns(p) {
		ok = ok && finite((*x.column)[w*x.n:(w+1)*x.n])
	}
	if ok {
		return
	}
	for _, x := range g.columns(p) {
		clear((*x.column)[w*x.n : (w+1)*x.n])
	}
	none(&g.Report, w)
}

// end is like that of [Gradient].
func (t *Tangent) end(p *Problem, w int, ok bool) {
	n, c := p.Velocities, p.Contacts
	velocity, impulse := t.Velocity[w*n:(w+1)*n], t.Impulse[3*w*c:3*(w+1)*c]
	if !ok || !finite(velocity) || !finite(impulse) {
		clear(velocity)
		clear(impulse)
		none(&t.Report, w)
	}
}
