package adjoint_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/scenes"
)

// madeCase is a contact problem whose derivative is known by its kind.
type madeCase struct {
	name  string
	world scenes.World
	model contact.Model
	want  adjoint.Smoothness
	// margin, where it is known in closed form; -1 where it is not.
	margin float64
	modes  string // of the contacts; ? where they are not said
}

var upwards = scenes.Frame(r3.Vec{Z: 1})

// ball is a body of mass 1 kg with radius of gyration 0.5 m and arm 1 m, on a plane: a block of G has 1 + 4 along the
// plane, 1 along the normal, and the trace 11.
func ball(velocity r3.Vec, friction float64) scenes.World {
	return scenes.World{Bodies: []scenes.Body{{Mass: 1, Inertia: [6]float64{0.25, 0.25, 0.25}, Velocity: velocity}},
		Contacts: []scenes.Contact{{A: -1, ArmB: r3.Vec{Z: -1}, Frame: upwards, Friction: friction}}}
}

const ballTangential, ballTrace = 5.0, 11.0

// slab is a box of 2 × 1.4 × 0.6 m on so many corners of its base.
func slab(velocity, omega r3.Vec, friction float64, corners int) scenes.World {
	w := scenes.World{Bodies: []scenes.Body{{Mass: 1.2, Inertia: scenes.BoxInertia(1.2, r3.Vec{X: 1, Y: 0.7, Z: 0.3},
		r3.NewRotation(0, r3.Vec{Z: 1})), Velocity: velocity, Omega: omega}}}
	for _, at := range []r3.Vec{{X: 1, Y: 0.7, Z: -0.3}, {X: -1, Y: 0.7, Z: -0.3}, {X: -1, Y: -0.7, Z: -0.3},
		{X: 1, Y: -0.7, Z: -0.3}}[:corners] {
		w.Contacts = append(w.Contacts, scenes.Contact{A: -1, ArmB: at, Frame: upwards, Friction: friction})
	}
	return w
}

// withCompliance gives each contact a compliance along the normal.
func withCompliance(w scenes.World, tangential, normal float64) scenes.World {
	for i := range w.Contacts {
		w.Contacts[i].Compliance = [2]float64{tangential, normal}
	}
	return w
}

// twice has each contact two times.
func twice(w scenes.World) scenes.World {
	w.Contacts = append(w.Contacts, w.Contacts...)
	return w
}

// wedge is a ball between two planes at so many radians to the ground.
func wedge(velocity r3.Vec, friction, angle float64) scenes.World {
	w := ball(velocity, friction)
	w.Contacts = nil
	for _, sign := range []float64{1, -1} {
		n := r3.Vec{X: sign * math.Sin(angle), Z: math.Cos(angle)}
		w.Contacts = append(w.Contacts, scenes.Contact{A: -1, ArmB: r3.Scale(-1, n), Frame: scenes.Frame(n),
			Friction: friction})
	}
	return w
}

// carried is a body on a second one that slides on the ground, which it follows where both slide together. Arms are
// along the normal.
func carried(velocity r3.Vec, between, ground float64) scenes.World {
	w := ball(velocity, ground)
	w.Bodies = append(w.Bodies, scenes.Body{Mass: 0.5, Inertia: [6]float64{40, 40, 40}, Velocity: velocity})
	w.Bodies[0].Inertia = [6]float64{90, 90, 90}
	w.Contacts = append(w.Contacts, scenes.Contact{A: 0, B: 1, ArmA: r3.Vec{Z: 0.5}, ArmB: r3.Vec{Z: -0.5},
		Frame: upwards, Friction: between})
	return w
}

// belt is a ball on a body that impulses do not move.
func belt(velocity, of r3.Vec, friction float64) scenes.World {
	w := ball(velocity, friction)
	w.Bodies = append(w.Bodies, scenes.Body{Mass: math.Inf(1), Velocity: of})
	w.Contacts[0].A, w.Contacts[0].ArmA = 1, r3.Vec{X: 3, Z: 0.2}
	return w
}

func madeCases() (list []madeCase) {
	unknown := -1.0
	both := func(name string, w scenes.World, want adjoint.Smoothness, margin float64, modes string) {
		for _, model := range []contact.Model{contact.NCP, contact.CCP} {
			list = append(list, madeCase{fmt.Sprint(name, ", ", model), w, model, want, margin, modes})
		}
	}
	ncp := func(name string, w scenes.World, want adjoint.Smoothness, margin float64, modes string) {
		list = append(list, madeCase{name + ", ncp", w, contact.NCP, want, margin, modes})
	}
	ccp := func(name string, w scenes.World, want adjoint.Smoothness, margin float64, modes string) {
		list = append(list, madeCase{name + ", ccp", w, contact.CCP, want, margin, modes})
	}
	down := func(x, y, z float64) r3.Vec { return r3.Vec{X: x, Y: y, Z: -z} }
	with := func(w scenes.World, change func(w *scenes.World)) scenes.World { change(&w); return w }
	target := func(w scenes.World, c float64) scenes.World {
		return with(w, func(w *scenes.World) { w.Contacts[0].Target = c })
	}
	const unsaid = "?"
	const smooth, boundary, many, none = adjoint.Smooth, adjoint.Boundary, adjoint.OneOfMany, adjoint.None

	// one contact, with margins in closed form: λ_N = −v_N, and stick holds λ_T = −v_T/5
	both("nothing touches", with(ball(down(1, 0, 1), 0.5), func(w *scenes.World) { w.Contacts = nil }), smooth,
		math.Inf(1), "")
	ncp("leaves", ball(r3.Vec{X: 3, Z: 4}, 0.5), smooth, 4./5, " open")
	ccp("leaves", ball(r3.Vec{X: 3, Z: 4}, 0.5), smooth, (4-0.5*3)/5, " open")
	both("stays away", target(ball(down(0, 0, 1), 0.5), -2), smooth, 1, " open")
	for _, v := range [][3]float64{{1, 0, 2}, {0, 1, 2}, {-0.6, 0.8, 3}, {0, 0, 1}} {
		speed := math.Hypot(v[0], v[1])
		both(fmt.Sprint("sticks ", v), ball(down(v[0], v[1], v[2]), 0.5), smooth,
			ballTrace*min(v[2], 0.5*v[2]-speed/ballTangential)/math.Hypot(speed, v[2]), " stick")
	}
	both("sticks with much friction", ball(down(1, 0, 2), 3), smooth, ballTrace*2/math.Sqrt(5), " stick")
	for _, v := range [][3]float64{{10, 0, 1}, {0, -10, 1}, {6, 8, 1}, {-6, 8, 2}} {
		speed, size := math.Hypot(v[0], v[1]), math.Sqrt(v[0]*v[0]+v[1]*v[1]+v[2]*v[2])
		ncp(fmt.Sprint("slides ", v), ball(down(v[0], v[1], v[2]), 0.5), smooth,
			min(ballTrace*v[2], speed-ballTangential*0.5*v[2])/size, " slide")
		// λ_N(1 + 5μ²) = v_N + μ·speed
		l := (v[2] + 0.5*speed) / (1 + 0.25*ballTangential)
		ccp(fmt.Sprint("slides ", v), ball(down(v[0], v[1], v[2]), 0.5), smooth,
			min(ballTrace*l, speed-ballTangential*0.5*l)/size, " slide")
	}
	both("without friction", ball(down(3, 0, 4), 0), smooth, ballTrace*4/5, " slide")
	both("without friction, no slip", ball(down(0, 0, 4), 0), smooth, ballTrace, " slide")
	both("without friction, leaves", ball(r3.Vec{Z: 1}, 0), smooth, 1, " open")
	both("bounces", target(ball(down(0, 0, 1), 0.5), 0.5), smooth, ballTrace*0.5, " stick")

	// boundaries of one contact
	both("touches without load", ball(r3.Vec{}, 0.5), boundary, 0, " open")
	both("glides without load", ball(r3.Vec{X: 1}, 0), boundary, 0, " open")
	both("about to slide", ball(down(0.5*ballTangential, 0, 1), 0.5), boundary, 0, unsaid)
	both("about to slide, to 1e-8", ball(down(0.5*ballTangential-1e-8, 0, 1), 0.5), boundary, unknown, unsaid)
	both("nearly slides", ball(down(0.5*ballTangential-1e-3, 0, 1), 0.5), smooth,
		ballTrace*1e-3/ballTangential/math.Hypot(0.5*ballTangential-1e-3, 1), " stick")
	ncp("nearly sticks", ball(down(0.5*ballTangential+1e-3, 0, 1), 0.5), smooth,
		1e-3/math.Hypot(0.5*ballTangential+1e-3, 1), " slide")
	both("slides by 1e-8", ball(down(0.5*ballTangential+1e-8, 0, 1), 0.5), boundary, unknown, unsaid)
	ncp("lands with 1e-9", ball(down(1, 0, 1e-9), 0.5), boundary, unknown, unsaid)
	both("leaves with 1e-9", ball(r3.Vec{X: 1, Z: 1e-9}, 0), boundary, unknown, " open")
	ncp("lands with 1e-4", ball(down(1, 0, 1e-4), 0.5), smooth, unknown, " slide")
	ccp("about to leave", ball(r3.Vec{X: 1, Z: 0.5}, 0.5), boundary, unknown, unsaid)

	// boxes on corners: three or more that stick are redundant, four that slide share their load in many ways
	for _, corners := range []int{1, 2, 4} {
		both(fmt.Sprint("box that stands on ", corners), slab(down(0, 0, 1), r3.Vec{}, 0.8, corners), smooth, unknown,
			unsaid)
	}
	// the center of mass is above the line of two of the three corners, so that the third has no load
	both("box that stands on three, one without load", slab(down(0, 0, 1), r3.Vec{}, 0.8, 3), boundary, 0, unsaid)
	both("box without friction on three, one without load", slab(down(1, 0.3, 1), r3.Vec{}, 0, 3), boundary, 0, unsaid)
	three := func(w scenes.World) scenes.World {
		w.Contacts[2].ArmB.X = 0
		return w
	}
	both("box that stands on three", three(slab(down(0, 0, 1), r3.Vec{}, 0.8, 3)), smooth, unknown, " stick")
	both("box without friction on three", three(slab(down(1, 0.3, 1), r3.Vec{}, 0, 3)), smooth, unknown, " slide")
	both("box without friction on four", slab(down(1, 0.3, 1), r3.Vec{}, 0, 4), many, unknown, " slide")
	for i, v := range []r3.Vec{down(9, 0, 1), down(0, 9, 1), down(5, 4, 1), down(-5, 3, 1)} {
		ncp(fmt.Sprint("box slides on four, ", i), slab(v, r3.Vec{}, 0.2, 4), many, unknown, " slide")
		ncp(fmt.Sprint("compliant box slides on four, ", i), withCompliance(slab(v, r3.Vec{}, 0.2, 4), 0, 1e-2), smooth,
			unknown, " slide")
	}
	ncp("box slides on three", three(slab(down(1, 0.4, 0.2), r3.Vec{}, 0.05, 3)), smooth, unknown, unsaid)
	ncp("box spins on four", slab(down(0, 0, 1), r3.Vec{Z: 9}, 0.2, 4), many, unknown, " slide")
	ncp("compliant box spins on four", withCompliance(slab(down(0, 0, 1), r3.Vec{Z: 9}, 0.2, 4), 0, 1e-2), smooth,
		unknown, " slide")
	both("compliant box stands on four", withCompliance(slab(down(0.2, 0, 1), r3.Vec{}, 0.8, 4), 1e-2, 1e-2), smooth,
		unknown, " stick")
	both("box without friction on four, compliant", withCompliance(slab(down(1, 0.3, 1), r3.Vec{}, 0, 4), 0, 1e-2),
		smooth, unknown, " slide")

	// the same contact twice
	both("sticks twice", twice(ball(down(1, 0, 2), 0.5)), smooth, unknown, " stick")
	both("slides twice", twice(ball(down(9, 2, 1), 0.5)), many, unknown, " slide")
	both("slides twice, compliant", withCompliance(twice(ball(down(9, 2, 1), 0.5)), 0, 1e-3), smooth, unknown, " slide")
	both("without friction twice", twice(ball(down(1, 0, 2), 0)), many, unknown, " slide")

	// jams
	both("jammed in a wedge", wedge(down(0, 0.2, 1), 4, 1.2), smooth, unknown, " stick")
	both("wedge without friction", wedge(down(0, 0.2, 1), 0, 1.2), smooth, unknown, " slide")
	squeezed := func(target float64) scenes.World {
		return with(wedge(r3.Vec{Y: 1}, 0.5, math.Pi/2), func(w *scenes.World) {
			w.Contacts[0].Target, w.Contacts[1].Target = target, target
		})
	}
	both("squeezed by two walls", squeezed(0.5), none, 0, "")
	both("between two walls that give way", squeezed(-0.7), smooth, unknown, " open")

	// bodies that slide together, and bodies that are carried
	ncp("slide together", carried(down(5, 0, 1), 2, 0.1), smooth, unknown, " stick slide")
	ncp("slide apart", carried(down(5, 0, 1), 0.05, 0.3), smooth, unknown, unsaid)
	both("carried by a belt", belt(down(0, 0, 1), r3.Vec{X: 0.5}, 0.5), smooth, unknown, " stick")
	ncp("belt slips", belt(down(0, 0, 1), r3.Vec{X: 50}, 0.5), smooth, unknown, " slide")
	both("lifted by a belt", belt(r3.Vec{}, r3.Vec{Z: 1}, 0.5), smooth, unknown, " stick")
	both("belt falls away", belt(r3.Vec{}, r3.Vec{Z: -1}, 0.5), smooth, 1, " open")

	// worlds that are none
	both("left-handed frame", with(ball(down(0, 0, 1), 0.5), func(w *scenes.World) {
		f := upwards
		w.Contacts[0].Frame = [3]r3.Vec{f[1], f[0], f[2]}
	}), none, 0, "")
	both("negative mass", with(ball(down(0, 0, 1), 0.5), func(w *scenes.World) { w.Bodies[0].Mass = -1 }), none, 0, "")
	both("velocity NaN", ball(r3.Vec{X: math.NaN()}, 0.5), none, 0, "")
	return list
}

// TestProblemCases: each case of a list has the smoothness, the modes and the margin that it has by its making, and
// nothing is NaN.
func TestProblemCases(t *testing.T) {
	var m adjoint.Problems
	list, margins := madeCases(), 0
	for _, c := range list {
		p := scenes.Pack([]scenes.World{c.world})
		s := solved(t, p, c.model)
		bar := make([]float64, 6*p.Bodies)
		for i := range bar {
			bar[i] = 1 + 0.1*float64(i)
		}
		var g adjoint.Gradient
		if err := m.VJP(t.Context(), p, s, c.model, bar, nil, 1, &g); err != nil {
			t.Fatal(err)
		}
		var all []float64
		for _, column := range columnsOf(&g.Parameters) {
			all = append(all, *column...)
		}
		size := 0.0
		for _, x := range append(append(all, g.Normal...), g.Residual...) {
			size += math.Abs(x)
		}
		if math.IsNaN(size) || math.IsInf(size, 0) || math.IsNaN(g.Margin[0]) {
			t.Errorf("%s: NaN or ±Inf in %v", c.name, g)
		}
		if g.Smoothness[0] != c.want {
			t.Errorf("%s: %s, want %s (margin %g,%s, %s)", c.name, g.Smoothness[0], c.want, g.Margin[0],
				modesOf(&g.Report, p, 0), s.Status[0])
		}
		if g.Smoothness[0] == adjoint.None {
			if size != 0 {
				t.Errorf("%s: gradients %v", c.name, all)
			}
			continue
		}
		if name := modesOf(&g.Report, p, 0); c.modes != "?" && name != c.modes {
			t.Errorf("%s: modes%s, want%s", c.name, name, c.modes)
		}
		if c.margin < 0 {
			continue
		}
		margins++
		if g.Margin[0] != c.margin && !(math.Abs(g.Margin[0]-c.margin) <= 1e-9*max(1, c.margin)) {
			t.Errorf("%s: margin %.12g, want %.12g", c.name, g.Margin[0], c.margin)
		}
	}
	t.Logf("%d cases, %d of them with margins", len(list), margins)
	if len(list) < 100 {
		t.Errorf("%d cases, want 100", len(list))
	}
}
