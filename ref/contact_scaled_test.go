package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

// contactCase is a problem with impulses to start from.
type contactCase struct {
	name   string
	bodies []ContactBody
	points []ContactPoint
	warm   []float64
}

func (c *contactCase) problem(t *testing.T) *Contacts {
	t.Helper()
	p, err := NewContacts(c.bodies, c.points)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pile is a stack of boxes of these masses at rest on the ground.
func pile(h r3.Vec, masses ...float64) (c contactCase) {
	for i, m := range masses {
		c.bodies = append(c.bodies, cuboid(m, h, r3.Vec{}))
		c.points = append(c.points, corners4(i-1, i, h, 2*h.Z, 0.5, 0)...)
	}
	return c
}

// scaledCase scales masses, lengths and times by powers of two.
func scaledCase(c *contactCase, mass, length, time int) (out contactCase) {
	u := contactUnits{math.Ldexp(1, -mass), math.Ldexp(1, -length), math.Ldexp(1, time-length)}
	for _, b := range c.bodies {
		out.bodies = append(out.bodies, u.body(b))
	}
	for _, q := range c.points {
		out.points = append(out.points, u.point(q))
	}
	if c.warm != nil {
		out.warm = scaledSlice(1/u.impulse(), c.warm)
	}
	return out
}

// scalingCases are problems of all that a problem may have.
func scalingCases() []contactCase {
	h := r3.Vec{X: 0.1, Y: 0.09, Z: 0.08}
	unequal := pile(h, 3, 0.7)
	unequal.name = "unequal masses"
	slide := pile(h, 1)
	slide.name = "a box that slides and starts from impulses"
	slide.bodies[0].Velocity[0], slide.bodies[0].Velocity[4] = 0.6, 0.3
	slide.warm = []float64{2: 0.01, 5: 0.02, 8: 0.02, 11: 0.03}
	soft := pile(h, 2)
	soft.name = "compliance and targets"
	for i := range soft.points {
		soft.points[i].Compliance, soft.points[i].Target = [2]float64{0.01, 0.02}, 0.01*float64(i)
	}
	moved := pile(h, 1.5)
	moved.name = "on a body that is moved"
	moved.bodies = append(moved.bodies, ContactBody{Mass: math.Inf(1), Velocity: [6]float64{0.2, 0, 0.05, 0, 0, 0.4}})
	for i := range moved.points {
		moved.points[i].A = 1
	}
	return []contactCase{unequal, slide, soft, moved}
}

// TestContactScaling: scaling masses, lengths and times by powers of two changes neither a decision nor a number of
// iterations of any solver, and scales impulses, velocities, residuals and bounds bit for bit.
func TestContactScaling(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 8))
	exponent := func() int { return rng.IntN(81) - 40 }
	for _, c := range scalingCases() {
		p := c.problem(t)
		for _, s := range ContactSolvers() {
			o := ContactOptions{Tolerance: 1e-7, Limit: 300, Warm: c.warm}
			a := s.Solve(p, o)
			bounds, velocities := p.ErrorBounds(a.Impulse), p.Velocities(a.Impulse)
			for range 3 {
				mass, length, time := exponent(), exponent(), exponent()
				other := scaledCase(&c, mass, length, time)
				q := other.problem(t)
				o.Warm = other.warm
				b := s.Solve(q, o)
				name := fmt.Sprintf("%s, %s, scaled by 2^%d kg, 2^%d m, 2^%d s", c.name, s.Name, mass, length, time)
				if a.Decided != b.Decided || a.Iterations != b.Iterations {
					t.Errorf("%s: decided %t after %d, was %t after %d", name, b.Decided, b.Iterations, a.Decided,
						a.Iterations)
				}
				speed := math.Ldexp(1, length-time)
				if !slices.Equal(b.Impulse, scaledSlice(math.Ldexp(speed, mass), a.Impulse)) {
					t.Errorf("%s: other impulses", name)
				}
				if b.Residual.Natural != speed*a.Residual.Natural || b.Residual.Scale != speed*a.Residual.Scale ||
					b.Residual.Complementarity != math.Ldexp(speed*speed, mass)*a.Residual.Complementarity {
					t.Errorf("%s: other residuals: %+v, were %+v", name, b.Residual, a.Residual)
				}
				if !slices.Equal(q.ErrorBounds(b.Impulse), scaledSlice(speed, bounds)) {
					t.Errorf("%s: other bounds", name)
				}
				for i, v := range q.Velocities(b.Impulse) {
					for l, x := range v {
						if want := velocities[i][l] * speed; l < 3 && x != want ||
							l >= 3 && x != math.Ldexp(velocities[i][l], -time) {
							t.Errorf("%s: component %d of the velocity of body %d: %g, want %g", name, l, i, x, want)
						}
					}
				}
			}
		}
	}
}

// restingCases are bodies at rest that tolerances with units get wrong.
func restingCases() []contactCase {
	light := pile(r3.Vec{X: 1e-4, Y: 1e-4, Z: 1e-4}, 1e-9)
	light.name, light.warm = "1e-9 kg, warm 1e-9", make([]float64, 12)
	for i := range 4 {
		light.warm[3*i+2] = 1e-9
	}
	crates := pile(r3.Vec{X: 1, Y: 1, Z: 1}, 8000, 8000, 8000, 8000)
	crates.name = "crates of 8 t"
	beside := pile(r3.Vec{X: 1, Y: 1, Z: 1}, 1e4)
	const r, m = 1e-2, 1e-3
	i := 0.4 * m * r * r
	beside.name = "a ball of 1 g beside a crate of 10 t"
	beside.bodies = append(beside.bodies, ContactBody{Mass: m, Inertia: [6]float64{i, i, i},
		Velocity: [6]float64{2: -testGravity * testStep}})
	beside.points = append(beside.points,
		ContactPoint{A: -1, B: 1, ArmB: r3.Vec{Z: -r}, Frame: up(0), Friction: 0.5},
		ContactPoint{A: 0, B: 1, ArmA: r3.Vec{X: 1, Z: r - 1}, ArmB: r3.Vec{X: -r},
			Frame: [3]r3.Vec{{Y: 1}, {Z: 1}, {X: 1}}, Friction: 0.5})
	return []contactCase{light, crates, beside}
}

// speedLeft is the largest velocity of a point of bodies that should be at rest.
func (c *contactCase) speedLeft(v [][6]float64) (most float64) {
	for _, q := range c.points {
		for _, side := range [...]struct {
			body int
			arm  r3.Vec
		}{{q.A, q.ArmA}, {q.B, q.ArmB}} {
			if side.body >= 0 {
				x := v[side.body]
				most = max(most, norm3([3]float64(x[:3]))+norm3([3]float64(x[3:]))*r3.Norm(side.arm))
			}
		}
	}
	return most
}

// TestContactLightAndHeavy: of light, heavy and unequal bodies at rest every solver gives velocities to a part of gΔt,
// or says that it is undecided. By the rule of the paper impulses pass by which bodies leave.
func TestContactLightAndHeavy(t *testing.T) {
	const g = testGravity * testStep
	accepted := 0
	for _, c := range restingCases() {
		p := c.problem(t)
		decided := map[ContactModel]int{}
		for _, s := range ContactSolvers() {
			for _, tolerance := range []float64{1e-6, 0} {
				r := s.Solve(p, ContactOptions{Tolerance: tolerance, Limit: 2000, Warm: c.warm})
				left := c.speedLeft(p.Velocities(r.Impulse)) / g
				t.Logf("%s, %s, tolerance %g: decided %t after %d, residual %.1e of the scale %.1e m/s, speed %.1e gΔt",
					c.name, s.Name, tolerance, r.Decided, r.Iterations, r.Residual.Relative(), r.Residual.Scale, left)
				if r.Decided != (r.Residual.Relative() <= max(tolerance, 1e-9)) {
					t.Errorf("%s, %s: decided %t at a residual of %g", c.name, s.Name, r.Decided, r.Residual.Relative())
				}
				if !(math.Abs(r.Residual.Scale-g) <= 1e-9*g) {
					t.Errorf("%s, %s: the speed scale is %g m/s, gΔt is %g", c.name, s.Name, r.Residual.Scale, g)
				}
				if !r.Decided {
					continue
				}
				decided[s.Model]++
				if !(left <= 1e-4) {
					t.Errorf("%s, %s, tolerance %g: decided, and a point has %g m/s", c.name, s.Name, tolerance, left*g)
				}
			}
			units := s.Solve(p, ContactOptions{Tolerance: 1e-6, Limit: 2000, Warm: c.warm, Stop: StopAbsolute})
			if units.Decided && c.speedLeft(p.Velocities(units.Impulse)) > 0.1*g {
				accepted++
			}
		}
		for _, m := range []ContactModel{ContactLCP, ContactCCP, ContactRaiSim, ContactNCP} {
			if decided[m] == 0 {
				t.Errorf("%s: no solver of %v decides", c.name, m)
			}
		}
	}
	if accepted == 0 {
		t.Error("no rule with units accepts a body that leaves: the bodies show nothing")
	}
}

// TestContactNatural: the residual of each model is 0 where all of the paper's are, tells every change of an impulse
// by its size in m/s, and is the same for equal impulses of a hundred times the mass.
func TestContactNatural(t *testing.T) {
	for _, c := range scalingCases() {
		p := c.problem(t)
		done := map[ContactModel]bool{}
		for _, s := range ContactSolvers() {
			r := s.Solve(p, ContactOptions{Tolerance: 1e-11, Limit: 20000, Warm: c.warm})
			if !r.Decided || done[s.Model] {
				continue
			}
			done[s.Model] = true
			if !(r.Residual.Absolute() <= 1e-9) {
				t.Errorf("%s, %s: at %g of the scale ε_abs is %g", c.name, s.Name, r.Residual.Relative(),
					r.Residual.Absolute())
			}
			for i, l := range r.Impulse {
				changed := slices.Clone(r.Impulse)
				changed[i] = l + 1e-3
				u := p.units.impulse()
				b := p.block(i / 3)
				speed := 1e-3 / u * (b[0][0] + b[1][1] + b[2][2]) * p.units.speed
				e := p.Residual(s.Model, changed, 0)
				if !(e.Natural > 1e-3*speed && e.Natural < 100*speed) {
					t.Errorf("%s, %s: impulse %d changed by 1e-3 N·s, %g m/s: the residual is %g m/s", c.name, s.Name,
						i, speed, e.Natural)
				}
			}
		}
		for _, m := range []ContactModel{ContactLCP, ContactCCP, ContactRaiSim, ContactNCP} {
			if !done[m] {
				t.Errorf("%s: no solver of %v decides", c.name, m)
			}
		}
	}
}

// TestContactIslands: a fast heavy body beside does not loosen the tolerance of a box at rest, nor the bound of its
// error.
func TestContactIslands(t *testing.T) {
	h := r3.Vec{X: 0.1, Y: 0.09, Z: 0.08}
	alone := pile(h, 1)
	both := pile(h, 1)
	both.bodies = append(both.bodies, cuboid(1e6, h, r3.Vec{X: 100, Z: -50}))
	both.points = append(both.points, corners4(-1, 1, h, 0, 0.5, 0)...)
	p, q := alone.problem(t), both.problem(t)
	zero := make([]float64, 24)
	zero[2] = 0.01
	a, b := p.Residual(ContactCCP, zero[:12], 0), q.Residual(ContactCCP, zero, 0)
	if scales, _ := q.speedScales(ContactCCP, 1e-9); scales[0]*q.units.speed != a.Scale ||
		!(scales[4]*q.units.speed >= 50) {
		t.Errorf("scales are %v, alone %g m/s", scaledSlice(q.units.speed, scales), a.Scale)
	}
	if !(b.Relative() >= a.Relative()) {
		t.Errorf("a residual of %g beside the fast body, alone %g", b.Relative(), a.Relative())
	}
	for _, m := range []float64{1e-9, 1e-6} {
		r := q.CCPNewton(ContactOptions{Tolerance: m})
		const weight = testGravity * testStep
		if x := r.Impulse; !r.Decided || !(math.Abs(x[2]+x[5]+x[8]+x[11]-weight) <= 1e-5*weight) {
			t.Errorf("decided %t, the box is carried by %v N·s", r.Decided, x[:12])
		}
		if bounds := q.ErrorBounds(r.Impulse); !(bounds[0] <= 1e-3*weight) || !(bounds[4] >= bounds[0]) {
			t.Errorf("bounds %v", bounds)
		}
	}
}

// TestContactMovesNothing: contacts of bodies that both do not move are refused.
func TestContactMovesNothing(t *testing.T) {
	c := pile(r3.Vec{X: 1, Y: 1, Z: 1}, 1)
	c.bodies = append(c.bodies, ContactBody{Mass: math.Inf(1)})
	c.points[2].A, c.points[2].B = -1, 1
	if _, err := NewContacts(c.bodies, c.points); err == nil {
		t.Error("accepted")
	}
}
