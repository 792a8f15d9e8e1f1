package adjoint_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/scenes"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// The derivative is compared with differences of fourth order of the solution in sums of two floats. While the modes
// last the solution is that of a smooth system, which Newton's method solves to 30 digits, so that the differences are
// right to 20.

// fixedModes are the equations of a world at given modes, on the line of parameters p + t·d.
type fixedModes struct {
	p     *contact.Problem
	d     *adjoint.Parameters
	w     int
	model contact.Model
	modes []adjoint.Mode
}

// value is entry i of a column at t.
func value(column, tangent []float64, i int, t doubled) doubled {
	x := exactly(column[i])
	if len(tangent) == 0 {
		return x
	}
	return x.plus(t.times(exactly(tangent[i])))
}

func valueVec(column, tangent []float64, i int, t doubled) doubledVec {
	return doubledVec{value(column, tangent, i, t), value(column, tangent, i+1, t), value(column, tangent, i+2, t)}
}

// rows are the numbers of λ that the modes leave free.
func (f *fixedModes) rows() (rows []int) {
	for i, m := range f.modes {
		if m != adjoint.Open {
			rows = append(rows, 3*i, 3*i+1, 3*i+2)
		}
	}
	return rows
}

// at returns the velocities of λ at t, and the residuals of the equations of the rows.
func (f *fixedModes) at(lambda []doubled, t doubled) (v, residual []doubled) {
	p, d, w := f.p, f.d, f.w
	twists := make([][2]doubledVec, p.Bodies)
	forces := make([][2]doubledVec, p.Bodies)
	type side struct {
		body int
		arm  doubledVec
		sign doubled
	}
	sides := make([][2]side, len(f.modes))
	frames := make([][3]doubledVec, len(f.modes))
	for i := range f.modes {
		k := w*p.Contacts + i
		sides[i] = [2]side{{int(p.BodyA[k]), valueVec(p.ArmA, d.ArmA, 3*k, t), exactly(-1)},
			{int(p.BodyB[k]), valueVec(p.ArmB, d.ArmB, 3*k, t), exactly(1)}}
		force := doubledVec{}
		for j := range frames[i] {
			frames[i][j] = valueVec(p.Frame, d.Frame, 9*k+3*j, t)
			force = force.plus(frames[i][j].scaled(lambda[3*i+j]))
		}
		for _, s := range sides[i] {
			if s.body >= 0 {
				on := &forces[s.body]
				on[0] = on[0].plus(force.scaled(s.sign))
				on[1] = on[1].plus(s.arm.cross(force).scaled(s.sign))
			}
		}
	}
	for b := range twists {
		k := w*p.Bodies + b
		twists[b] = [2]doubledVec{valueVec(p.Velocity, d.Velocity, 6*k, t), valueVec(p.Velocity, d.Velocity, 6*k+3, t)}
		if !math.IsInf(p.Mass[k], 1) {
			var inertia [6]doubled
			for j := range inertia {
				inertia[j] = value(p.Inertia, d.Inertia, 6*k+j, t)
			}
			inverse := exactly(1).over(value(p.Mass, d.Mass, k, t))
			twists[b][0] = twists[b][0].plus(forces[b][0].scaled(inverse))
			twists[b][1] = twists[b][1].plus(solveSymmetric(inertia, forces[b][1]))
		}
		v = append(append(v, twists[b][0][:]...), twists[b][1][:]...)
	}
	for i, mode := range f.modes {
		if mode == adjoint.Open {
			continue
		}
		k := w*p.Contacts + i
		u := doubledVec{}
		for _, s := range sides[i] {
			if s.body >= 0 {
				u = u.plus(twists[s.body][0].plus(twists[s.body][1].cross(s.arm)).scaled(s.sign))
			}
		}
		c := doubledVec{frames[i][0].dot(u), frames[i][1].dot(u), frames[i][2].dot(u)}
		c[2] = c[2].minus(value(p.Target, d.Target, k, t))
		for j := range c {
			c[j] = c[j].plus(value(p.Compliance, d.Compliance, 2*k+j/2, t).times(lambda[3*i+j]))
		}
		if mode == adjoint.Stick {
			residual = append(residual, c[:]...)
			continue
		}
		mu := value(p.Friction, d.Friction, k, t)
		slip := c[0].times(c[0]).plus(c[1].times(c[1])).root()
		for j := range 2 {
			residual = append(residual, lambda[3*i+j].times(slip).plus(mu.times(lambda[3*i+2]).times(c[j])))
		}
		if f.model == contact.CCP {
			c[2] = c[2].minus(mu.times(slip))
		}
		residual = append(residual, c[2])
	}
	return v, residual
}

// jacobian is the derivative of the residuals by the rows of λ, by differences in sums of two floats.
func (f *fixedModes) jacobian(lambda []doubled) *mat.Dense {
	rows := f.rows()
	j := mat.NewDense(len(rows), len(rows), nil)
	const step = 0x1p-40
	for k, row := range rows {
		x := lambda[row]
		lambda[row] = x.plus(exactly(step))
		_, after := f.at(lambda, doubled{})
		lambda[row] = x.minus(exactly(step))
		_, before := f.at(lambda, doubled{})
		lambda[row] = x
		for i := range rows {
			j.Set(i, k, after[i].minus(before[i]).float()/(2*step))
		}
	}
	return j
}

// solve makes steps of Newton's method with a fixed inverse, and returns the velocities.
func (f *fixedModes) solve(inverse *mat.Dense, lambda []doubled, t doubled) (v []doubled, ok bool) {
	rows := f.rows()
	if len(rows) == 0 {
		v, _ := f.at(lambda, t)
		return v, true
	}
	least := math.Inf(1)
	for range 30 {
		v, residual := f.at(lambda, t)
		most, right := 0.0, mat.NewVecDense(len(rows), nil)
		for i, r := range residual {
			most = max(most, math.Abs(r.hi))
			right.SetVec(i, r.hi)
		}
		if most <= 1e-27 {
			return v, true
		}
		if !(most < least) {
			return v, least <= 1e-24
		}
		least = most
		right.MulVec(inverse, right)
		for i, row := range rows {
			lambda[row] = lambda[row].minus(exactly(right.AtVec(i)))
		}
	}
	return nil, false
}

// pseudoinverse is that of a square matrix, with its rank and the null vectors.
func pseudoinverse(a *mat.Dense) (inverse *mat.Dense, null [][]float64, condition float64) {
	n, _ := a.Dims()
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDFull) {
		return nil, nil, 0
	}
	values := svd.Values(nil)
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	for k, s := range values {
		if s > 1e-9*values[0] {
			condition = values[0] / s
			for i := range n {
				v.Set(i, k, v.At(i, k)/s)
			}
			continue
		}
		null = append(null, mat.Col(nil, k, &v))
		for i := range n {
			v.Set(i, k, 0)
		}
	}
	inverse = mat.NewDense(n, n, nil)
	inverse.Mul(&v, u.T())
	return inverse, null, condition
}

// randomProblems are worlds of 1 to 4 bodies with 1 to 8 contacts, all parameters of order one: some bodies that
// impulses do not move, some contacts without friction, and in half of the worlds compliances.
func randomProblems(rng *rand.Rand, worlds int) *contact.Problem {
	return problemsOf(rng, worlds, 4, 8)
}

// problemsOf are such worlds of up to so many bodies and contacts.
func problemsOf(rng *rand.Rand, worlds, bodies, contacts int) *contact.Problem {
	p := &contact.Problem{Target: []float64{}, Compliance: []float64{}}
	p.Resize(worlds, bodies, contacts)
	for w := range worlds {
		compliant := rng.IntN(2) == 0
		n := 1 + rng.IntN(bodies)
		for b := range bodies {
			k := w*bodies + b
			copy(p.Velocity[6*k:], normals(rng, 6))
			p.Mass[k] = math.Exp(rng.NormFloat64())
			if b > 0 && rng.IntN(8) == 0 || b >= n {
				p.Mass[k] = math.Inf(1)
			}
			l := [3]float64{rng.Float64() + 0.2, rng.Float64() + 0.2, rng.Float64() + 0.2}
			m := p.Mass[k]
			if math.IsInf(m, 1) {
				m = 0
			}
			axis := r3.Unit(r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()})
			inertia := scenes.Rotated([3]float64{m * (l[1] + l[2]) / 3, m * (l[0] + l[2]) / 3, m * (l[0] + l[1]) / 3},
				r3.NewRotation(rng.Float64()*3, axis))
			copy(p.Inertia[6*k:], inertia[:])
		}
		p.Count[w] = int32(1 + rng.IntN(min(contacts, 3*n)))
		for i := range int(p.Count[w]) {
			k := w*contacts + i
			a, b := rng.IntN(n+1)-1, rng.IntN(n)
			if a == b {
				a = -1
			}
			still := func(i int) bool { return i < 0 || math.IsInf(p.Mass[w*bodies+i], 1) }
			if still(a) && still(b) {
				a, b = -1, 0
			}
			p.BodyA[k], p.BodyB[k] = int32(a), int32(b)
			copy(p.ArmA[3*k:], normals(rng, 3))
			copy(p.ArmB[3*k:], normals(rng, 3))
			normal := r3.Unit(r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()})
			for j, v := range scenes.Frame(normal) {
				p.Frame[9*k+3*j], p.Frame[9*k+3*j+1], p.Frame[9*k+3*j+2] = v.X, v.Y, v.Z
			}
			p.Friction[k] = 1.5 * rng.Float64()
			if rng.IntN(10) == 0 {
				p.Friction[k] = 0
			}
			p.Target[k] = rng.NormFloat64() / 2
			p.Compliance[2*k], p.Compliance[2*k+1] = 0, 0
			if compliant {
				p.Compliance[2*k], p.Compliance[2*k+1] = rng.Float64()/10, rng.Float64()/10
			}
		}
	}
	return p
}

// TestProblemExact compares JVP with differences, and VJP with JVP, on random problems, by modes.
func TestProblemExact(t *testing.T) {
	batches, worlds := 1, 1000
	if need.All() {
		batches, worlds = 20, 1000 // of each model
	}
	type tally struct {
		n     int
		worst float64
	}
	for _, model := range []contact.Model{contact.NCP, contact.CCP} {
		tallies := map[string]*tally{}
		count := map[string]int{}
		transposed := 0.0
		for batch := range batches {
			rng := rand.New(rand.NewPCG(uint64(batch), 4800+uint64(model)))
			p := randomProblems(rng, worlds)
			s := solved(t, p, model)
			d := randomTangent(rng, p)
			var m adjoint.Problems
			var dot adjoint.Tangent
			jvp := func() {
				if err := m.JVP(t.Context(), p, s, model, d, 0, &dot); err != nil {
					t.Fatal(err)
				}
			}
			jvp()
			exact := make([][2][]float64, worlds)
			for w := range worlds {
				exact[w] = differences(p, s, d, &dot, model, w, count)
			}
			jvp()
			vBar, lBar := normals(rng, 6*p.Worlds*p.Bodies), normals(rng, 3*p.Worlds*p.Contacts)
			var g adjoint.Gradient
			if err := m.VJP(t.Context(), p, s, model, vBar, lBar, 0, &g); err != nil {
				t.Fatal(err)
			}
			for w := range worlds {
				if exact[w][0] == nil {
					continue
				}
				name := modesOf(&dot.Report, p, w)
				of := tallies[name]
				if of == nil {
					of = &tally{}
					tallies[name] = of
				}
				of.n++
				for part, got := range [2][]float64{dot.Velocity[6*w*p.Bodies : 6*(w+1)*p.Bodies],
					dot.Impulse[3*w*p.Contacts:]} {
					e := relativeError(got, exact[w][part])
					of.worst = max(of.worst, e)
					if !(e <= 1e-10) { // 1e-16 times the condition of the system
						t.Errorf("%s, batch %d world %d:%s: part %d: error %.1e (margin %g, residual %g)", model,
							batch, w, name, part, e, dot.Margin[w], dot.Residual[w])
					}
				}
				sum, size := 0.0, 0.0
				for i, c := range columnsOf(&g.Parameters) {
					a, b := product(*c, *columnsOf(d)[i], w, p.Worlds)
					sum, size = sum+a, size+b
				}
				for _, pair := range [2][2][]float64{{vBar, dot.Velocity}, {lBar, dot.Impulse}} {
					a, b := product(pair[0], pair[1], w, p.Worlds)
					sum, size = sum-a, size+b
				}
				if e := math.Abs(sum) / size; e > transposed {
					transposed = e
					if !(e <= 1e-11) {
						t.Errorf("%s, batch %d world %d:%s: products differ by %g", model, batch, w, name, e)
					}
				}
			}
		}
		t.Logf("%s: %v, products of both sides within %.1e", model, count, transposed)
		for name, of := range tallies {
			t.Logf("%s:%s: %d problems, worst %.1e", model, name, of.n, of.worst)
		}
	}
}

// relativeError is the largest error of the numbers wanted, relative to the largest of them and to the parameters,
// which are of order one.
func relativeError(got, want []float64) (e float64) {
	most := 1.0
	for _, x := range want {
		most = max(most, math.Abs(x))
	}
	for i, x := range want {
		e = max(e, math.Abs(x-got[i])/most)
	}
	return e
}

// modesOf names the modes of the contacts of a world.
func modesOf(r *adjoint.Report, p *contact.Problem, w int) (name string) {
	for mode := adjoint.Open; mode <= adjoint.Slide; mode++ {
		if slices.Contains(r.Mode[w*p.Contacts:w*p.Contacts+int(p.Count[w])], mode) {
			name += " " + mode.String()
		}
	}
	return name
}

// differences returns the tangents of velocities and impulses of a world by differences, and sets the impulses of the
// solution to those that the equations have in float64. It is nil where the solution has no derivative.
func differences(p *contact.Problem, s *contact.Solution, d *adjoint.Parameters, dot *adjoint.Tangent,
	model contact.Model, w int, count map[string]int) (out [2][]float64) {
	if s.Status[w] != contact.Solved {
		count["undecided"]++
		return out
	}
	if dot.Smoothness[w] != adjoint.Smooth {
		count[dot.Smoothness[w].String()]++
		return out
	}
	n := int(p.Count[w])
	f := &fixedModes{p: p, d: d, w: w, model: model, modes: dot.Mode[w*p.Contacts : w*p.Contacts+n]}
	rows := f.rows()
	lambda := make([]doubled, 3*n)
	for i := range lambda {
		lambda[i] = exactly(s.Impulse[3*w*p.Contacts+i])
	}
	for i, m := range f.modes {
		if m == adjoint.Open {
			lambda[3*i], lambda[3*i+1], lambda[3*i+2] = doubled{}, doubled{}, doubled{}
		}
	}
	inverse := mat.NewDense(1, 1, nil)
	if len(rows) > 0 {
		var null [][]float64
		inverse, null, _ = pseudoinverse(f.jacobian(lambda))
		if len(null) > 0 {
			count["redundant"]++
			return out
		}
	}
	if _, ok := f.solve(inverse, lambda, doubled{}); !ok {
		count["not solved"]++
		return out
	}
	for i, x := range lambda {
		s.Impulse[3*w*p.Contacts+i] = x.float()
	}
	h := 0x1p-24 * max(1e-4, min(1, dot.Margin[w]))
	v, l := make([]doubled, 6*p.Bodies), make([]doubled, 3*n)
	for _, term := range [4][2]float64{{-2, 1}, {-1, -8}, {1, 8}, {2, -1}} {
		at := append([]doubled{}, lambda...)
		moved, ok := f.solve(inverse, at, exactly(term[0]*h))
		if !ok {
			count["not solved"]++
			return out
		}
		for i := range v {
			v[i] = v[i].plus(moved[i].times(exactly(term[1])))
		}
		for i := range l {
			l[i] = l[i].plus(at[i].times(exactly(term[1])))
		}
	}
	count["compared"]++
	for _, x := range v {
		out[0] = append(out[0], x.float()/(12*h))
	}
	for _, x := range l {
		out[1] = append(out[1], x.float()/(12*h))
	}
	return out
}
