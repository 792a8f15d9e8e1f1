package adjoint_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/scenes"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

func vecAt(s []float64, k int) r3.Vec { return r3.Vec{X: s[3*k], Y: s[3*k+1], Z: s[3*k+2]} }

// reference is a world for package ref, and the places of the bodies that move among them.
func reference(t testing.TB, p *contact.Problem, w int) (*ref.Contacts, []int) {
	t.Helper()
	var bodies []ref.ContactBody
	places, moving := []int{}, 0
	for b := w * p.Bodies; b < (w+1)*p.Bodies; b++ {
		bodies = append(bodies, ref.ContactBody{Mass: p.Mass[b], Inertia: [6]float64(p.Inertia[6*b : 6*b+6]),
			Velocity: [6]float64(p.Velocity[6*b : 6*b+6])})
		places = append(places, -1)
		if !math.IsInf(p.Mass[b], 1) {
			places[len(places)-1] = moving
			moving++
		}
	}
	var points []ref.ContactPoint
	for k := w * p.Contacts; k < w*p.Contacts+int(p.Count[w]); k++ {
		c := ref.ContactPoint{A: int(p.BodyA[k]), B: int(p.BodyB[k]), ArmA: vecAt(p.ArmA, k), ArmB: vecAt(p.ArmB, k),
			Frame:    [3]r3.Vec{vecAt(p.Frame, 3*k), vecAt(p.Frame, 3*k+1), vecAt(p.Frame, 3*k+2)},
			Friction: p.Friction[k]}
		if len(p.Target) > 0 {
			c.Target = p.Target[k]
		}
		if len(p.Compliance) > 0 {
			c.Compliance = [2]float64{p.Compliance[2*k], p.Compliance[2*k+1]}
		}
		points = append(points, c)
	}
	r, err := ref.NewContacts(bodies, points)
	if err != nil {
		t.Fatal(err)
	}
	return r, places
}

// modelOf is a model of package ref.
func modelOf(m contact.Model) ref.ContactModel {
	if m == contact.CCP {
		return ref.ContactCCP
	}
	return ref.ContactNCP
}

// referenceGradient is the gradient of world w by package ref, in the columns of VJP but for frames.
func referenceGradient(t testing.TB, p *contact.Problem, s *contact.Solution, model contact.Model, bar []float64,
	w int) (*adjoint.Parameters, *ref.ContactDerivative) {
	t.Helper()
	r, places := reference(t, p, w)
	n := int(p.Count[w])
	d, err := r.Derivative(modelOf(model), s.Impulse[3*w*p.Contacts:3*(w*p.Contacts+n)])
	if err != nil {
		t.Fatal(err)
	}
	var moving []float64
	for b, place := range places {
		if place >= 0 {
			moving = append(moving, bar[6*(w*p.Bodies+b):6*(w*p.Bodies+b)+6]...)
		}
	}
	g := d.VJP(moving)
	out := &adjoint.Parameters{Velocity: make([]float64, 6*p.Bodies), Mass: make([]float64, p.Bodies),
		Inertia: make([]float64, 6*p.Bodies), ArmA: make([]float64, 3*n), ArmB: make([]float64, 3*n), Target: g.Target,
		Friction: g.Friction, Compliance: make([]float64, 2*n)}
	for b, place := range places {
		if place < 0 {
			continue
		}
		copy(out.Velocity[6*b:6*b+6], g.Velocity[6*place:])
		at := func(i, j int) float64 { return g.Mass.At(6*place+i, 6*place+j) }
		out.Mass[b] = at(0, 0) + at(1, 1) + at(2, 2)
		for i := range 3 {
			out.Inertia[6*b+i] = at(3+i, 3+i)
		}
		for k, ij := range [3][2]int{{3, 4}, {3, 5}, {4, 5}} {
			out.Inertia[6*b+3+k] = at(ij[0], ij[1]) + at(ij[1], ij[0])
		}
	}
	for i := range n {
		k := w*p.Contacts + i
		out.Compliance[2*i], out.Compliance[2*i+1] = g.Compliance[3*i]+g.Compliance[3*i+1], g.Compliance[3*i+2]
		for _, side := range []struct {
			body int32
			arms []float64
			sign float64
		}{{p.BodyA[k], out.ArmA, -1}, {p.BodyB[k], out.ArmB, 1}} {
			if side.body < 0 || places[side.body] < 0 {
				continue
			}
			at := 6*places[side.body] + 3
			var arm r3.Vec
			for j := range 3 { // (r×d)·J̄ = r·(d×J̄)
				bar := r3.Vec{X: g.Jacobian.At(3*i+j, at), Y: g.Jacobian.At(3*i+j, at+1), Z: g.Jacobian.At(3*i+j, at+2)}
				arm = r3.Add(arm, r3.Scale(side.sign, r3.Cross(vecAt(p.Frame, 3*k+j), bar)))
			}
			side.arms[3*i], side.arms[3*i+1], side.arms[3*i+2] = arm.X, arm.Y, arm.Z
		}
	}
	return out, d
}

// compareReference compares VJP with package ref on the worlds of a problem, and returns the worst difference relative
// to the largest number of the column, or to one where bodies that stick make all of them zero: cotangents and most
// numbers of the problems are of order one.
func compareReference(t *testing.T, p *contact.Problem, model contact.Model, rng *rand.Rand) (worst float64,
	count map[string]int) {
	t.Helper()
	s := solved(t, p, model)
	bar := normals(rng, 6*p.Worlds*p.Bodies)
	var m adjoint.Problems
	var g adjoint.Gradient
	if err := m.VJP(t.Context(), p, s, model, bar, nil, 1, &g); err != nil {
		t.Fatal(err)
	}
	count = map[string]int{}
	for w := range p.Worlds {
		if g.Smoothness[w] == adjoint.None || p.Count[w] == 0 {
			count["none"]++
			continue
		}
		want, d := referenceGradient(t, p, s, model, bar, w)
		count[g.Smoothness[w].String()]++
		if g.Smoothness[w] == adjoint.Boundary {
			continue
		}
		if d.OneOfMany != (g.Smoothness[w] == adjoint.OneOfMany) {
			t.Errorf("world %d: %s, of the reference one of many: %v, %d null vectors, condition %.1e", w,
				g.Smoothness[w], d.OneOfMany, d.Redundant, d.Condition)
			continue
		}
		if d.OneOfMany {
			continue
		}
		if d.Redundant > 0 {
			count["redundant"]++
		}
		for i, column := range columnsOf(want) {
			all := *columnsOf(&g.Parameters)[i]
			if *column == nil { // frames
				continue
			}
			got := all[len(all)/p.Worlds*w:]
			most := 0.0
			for j := range *column {
				most = max(most, math.Abs((*column)[j]), math.Abs(got[j]))
			}
			for j, x := range *column {
				if i == 0 && math.IsInf(p.Mass[w*p.Bodies+j/6], 1) {
					continue // the reference has bodies that move alone
				}
				if i == 3 || i == 4 {
					body := p.BodyA
					if i == 4 {
						body = p.BodyB
					}
					if b := body[w*p.Contacts+j/3]; b < 0 || math.IsInf(p.Mass[w*p.Bodies+int(b)], 1) {
						continue
					}
				}
				worst = max(worst, math.Abs(x-got[j])/max(most, 1))
			}
		}
	}
	return worst, count
}

// TestProblemReference compares VJP with the dense reference, on random problems and on scenes, most of which have
// redundant contacts.
func TestProblemReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 1))
	for _, model := range []contact.Model{contact.NCP, contact.CCP} {
		worst, count := compareReference(t, randomProblems(rng, 100), model, rng)
		t.Logf("all kinds of contacts, %s: worst %.1e, %v", model, worst, count)
		if !(worst <= 1e-9) {
			t.Errorf("%s: the gradients differ by %.1e", model, worst)
		}
		worst, count = compareReference(t, problemsOf(rng, 10, 16, 40), model, rng) // the elimination joins many blocks
		t.Logf("up to 16 bodies, %s: worst %.1e, %v", model, worst, count)
		if !(worst <= 1e-9) {
			t.Errorf("up to 16 bodies, %s: the gradients differ by %.1e", model, worst)
		}
		for _, kind := range scenes.Kinds() {
			p, err := scenes.Generate(kind, 20, 4)
			if err != nil {
				t.Fatal(err)
			}
			worst, count := compareReference(t, p, model, rng)
			t.Logf("%s %s: worst %.1e, %v", kind, model, worst, count)
			limit := 1e-9
			if kind == "heavy" { // singular values of masses of 1 : 10⁶ leave the reference few digits
				limit = 1e-3
			}
			if !(worst <= limit) {
				t.Errorf("%s %s: the gradients differ by %.1e", kind, model, worst)
			}
		}
	}
}
