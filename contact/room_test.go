package contact

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/memory"
	native "clearance/kernels/contact"
)

// TestRoomOfSimulations: a simulation for which there is no memory is refused before it is allocated, whichever size is
// the large one.
func TestRoomOfSimulations(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{{Shape: 0, Pose: geom.IdentityPose()}}}})
	if err != nil {
		t.Fatal(err)
	}
	scene := func(bodies int, mass float64) *Scene {
		s := &Scene{Bodies: table, Body: make([]int32, bodies), Mass: make([]float64, bodies)}
		for i := range s.Mass {
			s.Mass[i] = mass
		}
		return s
	}
	for _, c := range []struct {
		name             string
		s                *Scene
		worlds, contacts int
		refused          bool
	}{
		{"small", scene(10, 1), 100, 0, false},
		{"a limit, which takes no memory", scene(1, 1), 1, math.MaxInt32, false},
		{"a limit of many worlds", scene(1, 1), 1 << 10, 1 << 30, false},
		{"contacts of worlds", scene(100, 1), 1 << 24, 0, true},
		{"worlds", scene(4, 1), 1 << 40, 0, true},
		{"bodies", scene(3<<20, 1), 1, 0, true},
		{"bodies that do not move", scene(1<<20, math.Inf(1)), 1, 1, false},
	} {
		err := checkRoom(c.s, c.worlds, c.contacts)
		var room *memory.Error
		if c.refused != errors.As(err, &room) || !c.refused && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRoomOfSolutions: the same of problems, for which fewer workers are taken where there is memory for these alone.
func TestRoomOfSolutions(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Problem
	}{
		{"worlds", Problem{Worlds: 1 << 45, Bodies: 1, Contacts: 1}},
		{"bodies of a world", Problem{Worlds: 1, Bodies: 1 << 30}},
		{"contacts of a world", Problem{Worlds: 1, Bodies: 1, Contacts: 1 << 31, Count: []int32{math.MaxInt32}}},
		{"room for contacts", Problem{Worlds: 1, Bodies: 1, Contacts: 1 << 45, Count: []int32{0}}},
	} {
		var refused *memory.Error
		if n, err := new(Solver).room(&c.p, bestVariant(t), 1, &Solution{}); !errors.As(err, &refused) {
			t.Errorf("%s: %d workers, %v", c.name, n, err)
		}
	}
	var s Solver
	small := Problem{Worlds: 100, Bodies: 4, Contacts: 16, Count: make([]int32, 100)}
	if n, err := s.room(&small, bestVariant(t), 7, &Solution{}); n != 7 || err != nil {
		t.Errorf("a small problem: %d workers, %v", n, err)
	}
	one := float64(bodyOfWorld) + native.SweepBytes(bestVariant(t), 1<<20, 0)/(1<<20)
	if bodies := 0.4 * memory.Available() / one; bodies < 1<<30 {
		if n, err := s.room(&Problem{Worlds: 64, Bodies: int(bodies), Count: make([]int32, 64)},
			bestVariant(t), 4, &Solution{Velocity: make([]float64, 0)}); n == 4 || err == nil && n < 1 {
			t.Errorf("a large world: %d workers, %v", n, err)
		}
	}
}

// rowOfBoxes is a body of n boxes in a row on a half-space, which has four contacts each.
func rowOfBoxes(t testing.TB, n int) (*Scene, geom.Pose) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Halfspace{}, geom.Box{HalfExtents: cube}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	row := batch.Body{}
	for i := range n {
		row.Parts = append(row.Parts, batch.Part{Shape: 1, Pose: geom.Translate(0.25*float64(i), 0, 0)})
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{{Pose: geom.IdentityPose()}}}, row})
	if err != nil {
		t.Fatal(err)
	}
	density, friction := 1000.0, 0.5
	scene, err := NewScene(bodies, []int32{0, 1}, nil, batch.Physics{Density: &density, Friction: &friction})
	if err != nil {
		t.Fatal(err)
	}
	return scene, geom.Translate(0, 0, 0.1)
}

// packed are k³ cubes side by side on a half-space.
func packed(t testing.TB, k int) (*Scene, *State) {
	var shapes []geom.Shape
	var half []r3.Vec
	poses := []geom.Pose{geom.IdentityPose()}
	for i := range k * k * k {
		shapes, half = append(shapes, geom.Box{HalfExtents: cube}), append(half, cube)
		poses = append(poses, geom.Translate(0.2*float64(i%k), 0.2*float64(i/k%k), 0.1+0.2*float64(i/k/k)))
	}
	return testScene(t, shapes, half, 1, 0.5, 0), stateOf(1, poses)
}

// TestCapacityGrows: bodies of many parts and packed cubes, which have more contacts than the capacity at the
// beginning, move by default. A limit of the caller is one.
func TestCapacityGrows(t *testing.T) {
	for _, parts := range []int{7, 9} {
		scene, pose := rowOfBoxes(t, parts)
		state := stateOf(1, []geom.Pose{geom.IdentityPose(), pose})
		state.Velocity[3] = 1
		o := StepOptions{TimeStep: 5e-3, Gravity: down}
		s := simulation(t, scene, state, o)
		run(t, s, 5, nil)
		if n := s.State().Contacts[0]; n != int32(4*parts) {
			t.Errorf("%d parts: %d contacts", parts, n)
		}
		if got, want := s.State().Velocity[3], 1-0.5*9.81*5e-3*5; math.Abs(got-want) > 1e-5 {
			t.Errorf("%d parts: %g m/s, want %g", parts, got, want)
		}
		o.Contacts = 24
		if s = simulation(t, scene, state, o); s.Step(t.Context(), nil) != nil ||
			s.State().Status[0] != TooManyContacts {
			t.Errorf("%d parts: %v under a limit of 24", parts, s.State().Status[0])
		}
	}
	scene, state := packed(t, 3)
	s := simulation(t, scene, state, StepOptions{TimeStep: 5e-3, Gravity: down})
	start := s.capacity
	if err := s.Step(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := s.State(); got.Status[0] != Advanced || int(got.Contacts[0]) <= start {
		t.Errorf("packed cubes: %v with %d contacts", got.Status[0], got.Contacts[0])
	}
}

// TestCapacityBits: a world that needs more room does not change the bits of the others, whose contacts and impulses
// move, and steps allocate nothing once there is room.
func TestCapacityBits(t *testing.T) {
	scene, pose := rowOfBoxes(t, 7)
	const worlds = stepBlock + 10
	poses := make([]geom.Pose, 0, 2*worlds)
	for w := range worlds { // one in nine lies; of the others one box rolls over its edge, in free fall for a while
		p := pose
		if p.Position.Z += 0.002 * float64(w%9); w%9 > 0 {
			p.Rotation.Imag = 0.3
		}
		poses = append(poses, geom.IdentityPose(), p)
	}
	state := stateOf(worlds, poses)
	for _, variant := range []string{"", Off} {
		o := StepOptions{TimeStep: 5e-3, Gravity: down, Solve: Options{Workers: 1, SIMD: variant}}
		grown, want := simulation(t, scene, state, o), simulation(t, scene, state, o)
		want.setCapacity(100)
		for range 12 {
			for _, s := range []*Simulation{grown, want} {
				if err := s.Step(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		if grown.capacity < 28 || grown.capacity > 60 {
			t.Fatalf("capacity %d", grown.capacity)
		}
		a, b := grown.State(), want.State()
		if !slices.Equal(a.Status, b.Status) || !slices.Equal(a.Pose, b.Pose) || !slices.Equal(a.Momentum, b.Momentum) {
			t.Errorf("%q: other bits than with room from the beginning", variant)
		}
		var got, all Contacts
		grown.AppendContacts(&got)
		want.AppendContacts(&all)
		if got.Len() == 0 || !slices.Equal(got.Impulse, all.Impulse) || !slices.Equal(got.Gap, all.Gap) ||
			!slices.Equal(got.Normal, all.Normal) || !slices.Equal(got.ID, all.ID) {
			t.Errorf("%q: other contacts than with room from the beginning", variant)
		}
		wantSolved, gotSolved := want.Solution(), grown.Solution()
		for w := range worlds {
			n := 3 * int(a.Contacts[w])
			if !slices.Equal(gotSolved.Impulse[3*w*grown.capacity:][:n], wantSolved.Impulse[300*w:][:n]) {
				t.Fatalf("%q: world %d has another solution", variant, w)
			}
		}
	}
	state = stateOf(1, poses[:2])
	s := simulation(t, scene, state, StepOptions{TimeStep: 5e-3, Gravity: down, Solve: Options{Workers: 1}})
	s.setCapacity(1)
	step := func() {
		copy(s.state.Pose, state.Pose)
		copy(s.state.Velocity, state.Velocity)
		clear(s.oldN)
		if err := s.Step(t.Context(), nil); err != nil || s.State().Status[0] != Advanced {
			t.Fatal(err, s.State().Status[0])
		}
	}
	step()
	if n := testing.AllocsPerRun(5, step); n > 0 || s.capacity != 28 {
		t.Errorf("a step allocates %g times; room for %d contacts", n, s.capacity)
	}
}

// TestLimitOfContacts: a limit takes no memory itself, and worlds have room up to it.
func TestLimitOfContacts(t *testing.T) {
	scene, pose := rowOfBoxes(t, 7) // 28 contacts, where a world of two bodies begins with 24
	for _, c := range []struct {
		limit, capacity int
		status          StepStatus
	}{{math.MaxInt32, 36, Advanced}, {30, 30, Advanced}, {28, 28, Advanced}, {27, 24, TooManyContacts},
		{3, 3, TooManyContacts}} {
		for _, variant := range []string{"", Off} {
			o := StepOptions{TimeStep: 5e-3, Gravity: down, Contacts: c.limit, Solve: Options{SIMD: variant}}
			s := simulation(t, scene, stateOf(1, []geom.Pose{geom.IdentityPose(), pose}), o)
			if err := s.Step(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if got := s.State(); got.Status[0] != c.status || got.Contacts[0] != 28 || s.capacity != c.capacity {
				t.Errorf("limit %d: %v with %d contacts, room for %d", c.limit, got.Status[0], got.Contacts[0],
					s.capacity)
			}
		}
	}
}

// TestOutOfMemory: a world whose contacts have no memory says so, and one that fits is advanced.
func TestOutOfMemory(t *testing.T) {
	scene, pose := rowOfBoxes(t, 9)
	above := pose
	above.Position.Z += 1
	state := stateOf(2, []geom.Pose{geom.IdentityPose(), pose, geom.IdentityPose(), above})
	s := simulation(t, scene, state, StepOptions{TimeStep: 5e-3, Gravity: down})
	refused := errors.New("no memory")
	s.memory = func(bytes float64) error {
		if bytes > 2*35*float64(contactBytes) {
			return refused
		}
		return nil
	}
	if err := s.Step(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	got := s.State()
	if !slices.Equal(got.Status, []StepStatus{OutOfMemory, Advanced}) || got.Contacts[0] != 36 {
		t.Errorf("statuses %v, %d contacts", got.Status, got.Contacts[0])
	}
	if got.Status[0].String() != "out_of_memory" {
		t.Errorf("status %v", got.Status[0])
	}
}

// TestNoRoomForMatrix: a world whose matrix of Newton's method has no memory has the answer of the sweeps, here of
// none, with its residual, and is undecided.
func TestNoRoomForMatrix(t *testing.T) {
	for _, simd := range []string{"", Off} {
		asked := 0
		w := new(worldSolver)
		w.newton.memory = func(float64) error { asked++; return errors.New("no memory") }
		s := Solver{workers: []*worldSolver{w}}
		var got Solution
		if err := s.Solve(t.Context(), star(20), Options{Sweeps: -1, SIMD: simd, Workers: 1}, &got); err != nil {
			t.Fatal(err)
		}
		if asked == 0 || got.Status[0] != Undecided || got.Steps[0] != 0 || !(got.Residual[0] > 0) {
			t.Errorf("%q: asked %d times, %v after %d steps with a residual of %g m/s", simd, asked, got.Status[0],
				got.Steps[0], got.Residual[0])
		}
	}
}

func bestVariant(t *testing.T) string {
	variant, err := variantOf("")
	if err != nil {
		t.Fatal(err)
	}
	return variant
}

// TestSharesOfMemory: Newton's method counts on the memory for as many matrices as there are goroutines at work: one,
// where there is one world, however many workers it may have, and also in the solve for the bound of the error.
func TestSharesOfMemory(t *testing.T) {
	width := widthOf(bestVariant(t))
	for _, o := range []Options{{Workers: 64, Sweeps: -1}, {Workers: 64, Sweeps: -1, Model: CCP, Bound: true}} {
		var s Solver
		var got Solution
		for _, worlds := range []int{1, 3 * width} {
			p := star(20)
			many := &Problem{}
			many.Resize(worlds, p.Bodies, p.Contacts)
			for w := range worlds {
				copyRow(many.Mass, w, p.Mass, 0, p.Bodies)
				copyRow(many.Inertia, w, p.Inertia, 0, 6*p.Bodies)
				copyRow(many.Velocity, w, p.Velocity, 0, 6*p.Bodies)
				copyRow(many.BodyA, w, p.BodyA, 0, p.Contacts)
				copyRow(many.BodyB, w, p.BodyB, 0, p.Contacts)
				copyRow(many.ArmA, w, p.ArmA, 0, 3*p.Contacts)
				copyRow(many.ArmB, w, p.ArmB, 0, 3*p.Contacts)
				copyRow(many.Frame, w, p.Frame, 0, 9*p.Contacts)
				copyRow(many.Friction, w, p.Friction, 0, p.Contacts)
				many.Count[w] = p.Count[0]
			}
			if err := s.Solve(t.Context(), many, o, &got); err != nil {
				t.Fatal(err)
			}
			if want := (worlds + width - 1) / width; s.workers[0].sharing != want {
				t.Errorf("%d worlds, %v: the memory is shared by %d, want %d", worlds, o.Model,
					s.workers[0].sharing, want)
			}
		}
	}
}
