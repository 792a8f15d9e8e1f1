package system

import (
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"

	"clearance/contact"
	"clearance/internal/fault"
)

// Problem is a batch of contact problems of W worlds with N velocities and room for C contacts.
type Problem struct {
	Worlds, Velocities, Contacts int

	// Mass [W,N,N] is symmetric and positive definite. The half with columns up to the row is read; the other one has
	// to agree with it.
	Mass     []float64
	Velocity []float64 // [W,N] without contact impulses
	Count    []int32   // [W] contacts; the first ones of the world count
	// Jacobian [W,C,3,N] takes velocities to those of the contacts along t1, t2 and the normal, of b relative to a.
	Jacobian []float64
	Friction []float64 // [W,C]

	Target     []float64 // [W,C] normal velocities that are asked for; nil for zero
	Compliance []float64 // [W,C,2] of the tangents and of the normal; nil for zero
	// Offset [W,C,3] is added to the velocities Jv of the contacts, in their frames; nil for zero.
	Offset []float64
	Warm   []float64 // [W,C,3] impulses to start from; nil for zero
}

// Options of a solve. The zero value is the NCP to a tolerance of 1e-6.
type Options struct {
	Model contact.Model
	// Tolerance limits the residual of each contact, relative to the speed scale of its island. Zero: 1e-6.
	Tolerance float64
	// Steps bounds the factorizations of an island. Zero: 400.
	Steps int
	// Bound asks for the bound of the error of the CCP. It costs a second solve.
	Bound bool
	// Workers bounds the goroutines; 0 is GOMAXPROCS. Bits do not depend on it.
	Workers int
}

// Solution has the columns of the answers, with the meaning that they have in [contact.Solution]. Speed scales are at
// least 2⁻⁴⁴/Tolerance of the largest |c*_N| + ‖offset‖ + Σ|J||v_f| of a contact of the island.
//
// The columns of an invalid world are NaN. A world whose numbers leave the range of float64 is undecided, without
// impulses and with an infinite residual.
type Solution struct {
	Impulse  []float64 // [W,C,3] along t1, t2 and the normal
	Velocity []float64 // [W,N]
	// Residual and Scale [W] are those of the contact with the largest ratio of both, in m/s.
	Residual, Scale               []float64
	Primal, Dual, Complementarity []float64 // [W] ε_p, ε_d and ε_c
	// Bound [W] is a proved bound of ‖J_i(v − v*)‖ for all contacts i, where v is the velocity here and v* that of the
	// CCP; +Inf if the proof fails. It is NaN for the NCP, and unless Options.Bound asks for it.
	Bound  []float64
	Steps  []int32 // [W] factorizations
	Status []contact.Status
}

// CheckShape returns an error if the columns are not those of the sizes.
func (p *Problem) CheckShape() error {
	w, n, c := p.Worlds, p.Velocities, p.Contacts
	if w < 0 || n < 0 || c < 0 {
		return fmt.Errorf("contact: %d worlds of %d velocities and %d contacts", w, n, c)
	}
	for _, x := range []struct {
		name     string
		have, of int
		optional bool
	}{{"mass", len(p.Mass), w * n * n, false}, {"velocity", len(p.Velocity), w * n, false},
		{"count", len(p.Count), w, false}, {"jacobian", len(p.Jacobian), 3 * w * c * n, false},
		{"friction", len(p.Friction), w * c, false}, {"target", len(p.Target), w * c, true},
		{"compliance", len(p.Compliance), 2 * w * c, true}, {"warm", len(p.Warm), 3 * w * c, true},
		{"offset", len(p.Offset), 3 * w * c, true}} {
		if x.have != x.of && (x.have != 0 || !x.optional) {
			return fmt.Errorf("contact: %s has %d numbers, want %d", x.name, x.have, x.of)
		}
	}
	return nil
}

// CheckWorld returns an error if a world is invalid: a [contact.WorldError], which names what is at fault.
func (p *Problem) CheckWorld(w int) error {
	return p.check(w, make([]float64, p.Velocities*p.Velocities))
}

// check is CheckWorld with memory [n,n].
func (p *Problem) check(w int, lower []float64) error {
	n, c := p.Velocities, p.Contacts
	count := int(p.Count[w])
	if count < 0 || count > c {
		return p.fault(w, "count", 0, float64(count), fmt.Sprintf("0 to %d", c))
	}
	for _, x := range [...]struct {
		name string
		x    []float64
		not  bool // negative
	}{{"mass", p.Mass[w*n*n : (w+1)*n*n], false}, {"velocity", p.Velocity[w*n : (w+1)*n], false},
		{"jacobian", p.Jacobian[3*w*c*n : 3*(w*c+count)*n], false}, {"friction", p.Friction[w*c : w*c+count], true},
		{"target", part(p.Target, w*c, count, 1), false}, {"compliance", part(p.Compliance, w*c, count, 2), true},
		{"warm", part(p.Warm, w*c, count, 3), false}, {"offset", part(p.Offset, w*c, count, 3), false}} {
		for i, v := range x.x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return p.fault(w, x.name, i, v, "a finite number")
			}
			if x.not && v < 0 {
				return p.fault(w, x.name, i, v, "at least 0")
			}
		}
	}
	m := p.Mass[w*n*n : (w+1)*n*n]
	for i := range n {
		for j := range i {
			a, b := m[i*n+j], m[j*n+i]
			if a != b && math.Abs(a-b) > 1e-9*math.Sqrt(math.Abs(m[i*n+i]*m[j*n+j])) {
				return p.fault(w, "mass", i*n+j, a, fmt.Sprintf("the number in the other half, %g", b))
			}
		}
	}
	if !factored(m, n, lower) {
		return p.fault(w, "mass", 0, m[0], "a positive definite matrix")
	}
	return nil
}

// fault says what is wrong with number at of a column of a world, by contact and coordinate.
func (p *Problem) fault(w int, column string, at int, value float64, want string) error {
	return &contact.WorldError{World: w, Body: -1, Contact: -1, Column: column,
		Reason: fmt.Sprintf("number %d is %g, want %s", at, value, want)}
}

// part is that of world and contacts of an optional column.
func part(x []float64, first, count, width int) []float64 {
	if len(x) == 0 {
		return nil
	}
	return x[width*first : width*(first+count)]
}

// Solver keeps the memory of solves and derivatives. It is used by one call at a time. With one worker, calls do not
// allocate where the memory of earlier ones suffices.
type Solver struct {
	workers []*solver
	factors factors
}

// Solve solves the problems. What is wrong with a world is its status; the error is that of the call.
func Solve(ctx context.Context, p *Problem, o Options, out *Solution) error {
	return new(Solver).Solve(ctx, p, o, out)
}

// Solve is like the function [Solve].
func (m *Solver) Solve(ctx context.Context, p *Problem, o Options, out *Solution) error {
	if err := p.CheckShape(); err != nil {
		return err
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-6
	}
	if !(o.Tolerance > 0) || math.IsInf(o.Tolerance, 1) {
		return fmt.Errorf("contact: tolerance %g, want a number above 0", o.Tolerance)
	}
	if o.Steps <= 0 {
		o.Steps = 400
	}
	out.Resize(p)
	if m.take(p, o.Workers) == 1 {
		for w := 0; w < p.Worlds && ctx.Err() == nil; w++ {
			m.workers[0].solveWorld(ctx, p, w, &o, out)
		}
		return ctx.Err()
	}
	shared := o // o itself stays on the stack
	return m.inParallel(ctx, p, o.Workers, func(s *solver, w int) { s.solveWorld(ctx, p, w, &shared, out) })
}

// Resize makes every column large enough for a problem, keeping memory that suffices.
func (s *Solution) Resize(p *Problem) {
	resize(&s.Impulse, 3*p.Worlds*p.Contacts)
	resize(&s.Velocity, p.Worlds*p.Velocities)
	for _, column := range [...]*[]float64{&s.Residual, &s.Scale, &s.Primal, &s.Dual, &s.Complementarity, &s.Bound} {
		resize(column, p.Worlds)
	}
	resize(&s.Steps, p.Worlds)
	resize(&s.Status, p.Worlds)
}

func resize[T any](s *[]T, n int) {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	*s = (*s)[:n]
}

// take has memory for the workers of a call, and returns their number.
func (m *Solver) take(p *Problem, workers int) int {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = max(1, min(workers, p.Worlds))
	for len(m.workers) < workers {
		m.workers = append(m.workers, new(solver))
	}
	return workers
}

// inParallel calls f for each world, each worker with a solver of its own.
func (m *Solver) inParallel(ctx context.Context, p *Problem, workers int, f func(s *solver, w int)) error {
	return fault.Blocks(ctx, m.take(p, workers), p.Worlds, 1, func(worker int, chunks iter.Seq2[int, int]) {
		for lo, hi := range chunks {
			for w := lo; w < hi; w++ {
				f(m.workers[worker], w)
			}
		}
	})
}
