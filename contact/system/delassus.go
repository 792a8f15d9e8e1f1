package system

import (
	"context"
	"errors"
	"fmt"
	"math"

	"clearance/contact"
	"clearance/contact/adjoint"
)

// Delassus is a batch of contact problems by their Delassus matrices, of W worlds with room for C contacts: the
// velocities of the contacts are c = Gλ + g. Problems have a mechanism with M = 1 and G = JJᵀ, J by Cholesky's method
// with the largest pivots: zeros between contacts that nothing joins stay zeros, so that islands are found.
type Delassus struct {
	Worlds, Contacts int

	Matrix   []float64 // G [W,3C,3C], symmetric and positive semidefinite; rows t1, t2 and normal of each contact
	Free     []float64 // g [W,C,3]: the velocities of the contacts without impulses
	Count    []int32   // [W]; the matrix counts as far as they do
	Friction []float64 // [W,C]

	Target     []float64 // [W,C], nil for zero, as the following ones, see [Problem]
	Compliance []float64 // [W,C,2]
	Warm       []float64 // [W,C,3]
}

// factors is the problem of a mechanism that has the Delassus matrices of a batch.
type factors struct {
	Problem
	faults  []error   // [W] of the matrices
	current []float64 // what is left of a matrix
	pivots  []int
}

// CheckShape returns an error if the columns are not those of the sizes.
func (d *Delassus) CheckShape() error {
	w, c := d.Worlds, d.Contacts
	if w < 0 || c < 0 {
		return fmt.Errorf("contact: %d worlds of %d contacts", w, c)
	}
	if len(d.Matrix) != 9*w*c*c {
		return fmt.Errorf("contact: delassus has %d numbers, want %d", len(d.Matrix), 9*w*c*c)
	}
	if len(d.Free) != 3*w*c {
		return fmt.Errorf("contact: free has %d numbers, want %d", len(d.Free), 3*w*c)
	}
	return nil
}

// pivotTolerance is the least pivot relative to the largest number of the diagonal, times the size: what is below is
// rounding, and G singular.
const pivotTolerance = 4 * 0x1p-52

// set sets f to the problem of a mechanism with these Delassus matrices.
func (f *factors) set(d *Delassus) error {
	if err := d.CheckShape(); err != nil {
		return err
	}
	w, c := d.Worlds, d.Contacts
	n := 3 * c
	f.Worlds, f.Velocities, f.Contacts = w, n, c
	f.Count, f.Friction, f.Target, f.Compliance, f.Warm, f.Offset = d.Count, d.Friction, d.Target, d.Compliance, d.Warm,
		d.Free
	resize(&f.Mass, w*n*n)
	resize(&f.Velocity, w*n)
	resize(&f.Jacobian, w*n*n)
	resize(&f.faults, w)
	clear(f.Velocity)
	clear(f.Jacobian)
	if err := f.Problem.CheckShape(); err != nil {
		return err
	}
	for i := range w {
		identity(f.Mass[i*n*n:(i+1)*n*n], n)
		f.faults[i] = nil
		if count := int(d.Count[i]); count >= 0 && count <= c {
			f.faults[i] = f.factor(d.Matrix[i*n*n:(i+1)*n*n], n, 3*count, i)
		}
	}
	return nil
}

// factor sets the Jacobian of a world to that of the first m rows and columns of its matrix.
func (f *factors) factor(g []float64, n, m, w int) error {
	resize(&f.current, m*m)
	resize(&f.pivots, m)
	largest := 0.0
	for i := range m {
		for j := range m {
			x := g[i*n+j]
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return f.fault(w, i*n+j, x, "a finite number")
			}
			if j < i && math.Abs(x-g[j*n+i]) > 1e-9*math.Sqrt(math.Abs(g[i*n+i]*g[j*n+j])) {
				return f.fault(w, i*n+j, x, fmt.Sprintf("the number in the other half, %g", g[j*n+i]))
			}
			f.current[i*m+j] = g[max(i, j)*n+min(i, j)]
		}
		f.pivots[i] = i
		largest = max(largest, math.Abs(g[i*n+i]))
	}
	line := func(i int) []float64 { return f.Jacobian[(w*n+i)*n : (w*n+i+1)*n] }
	least := pivotTolerance * float64(m) * largest
	for k := range m {
		at := k
		for i := k; i < m; i++ {
			if f.current[f.pivots[i]*m+f.pivots[i]] > f.current[f.pivots[at]*m+f.pivots[at]] {
				at = i
			}
		}
		f.pivots[k], f.pivots[at] = f.pivots[at], f.pivots[k]
		p := f.pivots[k]
		pivot := f.current[p*m+p]
		if !(pivot > least) {
			return f.rest(w, n, m, k, 1e-9*largest)
		}
		root := math.Sqrt(pivot)
		line(p)[p] = root
		for _, i := range f.pivots[k+1:] {
			if x := f.current[i*m+p]; x != 0 {
				line(i)[p] = x / root
			}
		}
		for _, i := range f.pivots[k+1:] {
			if x := line(i)[p]; x != 0 {
				for _, j := range f.pivots[k+1:] {
					f.current[i*m+j] -= x * line(j)[p]
				}
			}
		}
	}
	return nil
}

// rest reports what is left of a matrix that is not positive semidefinite, where it exceeds rounding.
func (f *factors) rest(w, n, m, k int, most float64) error {
	for _, i := range f.pivots[k:] {
		for _, j := range f.pivots[k:] {
			if x := f.current[i*m+j]; math.Abs(x) > most {
				return f.fault(w, i*n+j, x, "a positive semidefinite matrix: the number is what its factor leaves")
			}
		}
	}
	return nil
}

func (f *factors) fault(w, at int, value float64, want string) error {
	return f.Problem.fault(w, "delassus", at, value, want)
}

// CheckWorld returns an error if a world is invalid: a [contact.WorldError], which names what is at fault.
func (d *Delassus) CheckWorld(w int) error {
	var f factors
	if err := f.set(d); err != nil {
		return err
	}
	if err := f.faults[w]; err != nil {
		return err
	}
	err := f.Problem.CheckWorld(w)
	if of := new(contact.WorldError); errors.As(err, &of) && of.Column == "offset" {
		of.Column = "free"
	}
	return err
}

// SolveDelassus solves problems by their Delassus matrices. The velocities [W,C,3] of the solution are those of the
// contacts, Gλ + g, zero from Count on.
func SolveDelassus(ctx context.Context, d *Delassus, o Options, out *Solution) error {
	return new(Solver).SolveDelassus(ctx, d, o, out)
}

// SolveDelassus is like the function [SolveDelassus].
func (m *Solver) SolveDelassus(ctx context.Context, d *Delassus, o Options, out *Solution) error {
	f := &m.factors
	if err := f.set(d); err != nil {
		return err
	}
	if err := m.Solve(ctx, &f.Problem, o, out); err != nil {
		return err
	}
	n := f.Velocities
	for w := range d.Worlds {
		if f.faults[w] != nil {
			out.invalid(&f.Problem, w)
		}
		if out.Status[w] == contact.Invalid {
			continue
		}
		v, l, m := out.Velocity[w*n:(w+1)*n], out.Impulse[w*n:(w+1)*n], 3*int(d.Count[w])
		clear(v)
		for i := range m {
			v[i] = dot(d.Matrix[(w*n+i)*n:(w*n+i)*n+m], l) + d.Free[w*n+i]
		}
	}
	return nil
}

// DelassusGradient is the product of cotangents with the derivative of the solutions.
type DelassusGradient struct {
	Matrix     []float64 // [W,3C,3C] by each number, as if they were independent
	Free       []float64 // [W,C,3]
	Target     []float64 // [W,C]
	Friction   []float64 // [W,C]
	Compliance []float64 // [W,C,2]
	adjoint.Report
	of  Gradient
	bar []float64
}

// VJPDelassus sets out to the products of cotangents with the derivative of the solution s, by velocityBar and
// impulseBar [W,C,3], nil for zero. With the gradient −u of the impulses by g, for λ̄ + Gv̄ since v = Gλ + g, that by g
// is ḡ = v̄ − u, and Ḡ = ḡλᵀ.
func VJPDelassus(ctx context.Context, d *Delassus, s *Solution, o Options, velocityBar, impulseBar []float64,
	out *DelassusGradient) error {
	return new(Solver).VJPDelassus(ctx, d, s, o, velocityBar, impulseBar, out)
}

// VJPDelassus is like the function [VJPDelassus].
func (m *Solver) VJPDelassus(ctx context.Context, d *Delassus, s *Solution, o Options,
	velocityBar, impulseBar []float64, out *DelassusGradient) error {
	f := &m.factors
	if err := f.set(d); err != nil {
		return err
	}
	if err := checkSolution(&f.Problem, s); err != nil {
		return err
	}
	n, w := 3*d.Contacts, d.Worlds
	for _, bar := range [...][]float64{velocityBar, impulseBar} {
		if len(bar) != w*n && len(bar) != 0 {
			return fmt.Errorf("contact: cotangents of %d numbers, want %d or none", len(bar), w*n)
		}
	}
	resize(&out.bar, 2*w*n)
	clear(out.bar)
	pushed, still := out.bar[:w*n], out.bar[w*n:]
	copy(pushed, impulseBar)
	for i := range w {
		if f.faults[i] != nil || s.Status[i] != contact.Solved || len(velocityBar) == 0 {
			continue
		}
		for row := range 3 * int(d.Count[i]) {
			pushed[i*n+row] += dot(d.Matrix[(i*n+row)*n:(i*n+row)*n+3*int(d.Count[i])], velocityBar[i*n:(i+1)*n])
		}
	}
	if err := m.VJP(ctx, &f.Problem, s, o, still, pushed, &out.of); err != nil {
		return err
	}
	of := &out.of
	out.Free, out.Target, out.Friction, out.Compliance = of.Offset, of.Target, of.Friction, of.Compliance
	out.Report = of.Report
	resize(&out.Matrix, w*n*n)
	clear(out.Matrix)
	for i := range w {
		if out.Smoothness[i] == adjoint.None {
			continue
		}
		for row := range 3 * int(d.Count[i]) {
			g := &out.Free[i*n+row]
			if len(velocityBar) > 0 {
				*g += velocityBar[i*n+row]
			}
			line := out.Matrix[(i*n+row)*n:]
			for j, l := range s.Impulse[i*n : i*n+3*int(d.Count[i])] {
				line[j] = *g * l
			}
		}
	}
	return nil
}
