package contact_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/kernels"
	native "clearance/kernels/contact"
	"clearance/tests/need"
)

// TestKernelsOfTheEnvironment: problems and simulations are solved by the kernels that the environment names where the
// option is empty: a name that there are none of is an error of every entry, and each other name has its own bits.
func TestKernelsOfTheEnvironment(t *testing.T) {
	p := must(scenes.Generate("stack4", 8, 1))
	scene, state, err := scenes.Simulation("stack4", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	solver := must(cpu.New(cpu.Options{Workers: 1}))
	defer solver.Close()
	solve := func(kernels string) ([]float64, error) {
		var s contact.Solution
		err := contact.Solve(t.Context(), p, contact.Options{Workers: 1, SIMD: kernels}, &s)
		return s.Impulse, err
	}
	for _, name := range append(kernels.Supported(), contact.Off) {
		t.Setenv(kernels.EnvSIMD, "")
		want := must(solve(name))
		t.Setenv(kernels.EnvSIMD, name)
		if got := must(solve("")); !slices.Equal(got, want) {
			t.Errorf("%s: other bits than by the option", name)
		}
	}
	t.Setenv(kernels.EnvSIMD, "bogus")
	_, simulation := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: 1e-3})
	_, problem := solve("")
	o := contact.ManifoldOptions(0.1)
	job := &batch.Job{Library: scene.Bodies.Library(), Input: batch.NewPairs(0), Options: o,
		Results: batch.NewResults(0, &o)}
	for entry, err := range map[string]error{"Solve": problem, "NewSimulation": simulation,
		"Options.Check":  contact.Options{}.Check(),
		"BuildManifolds": contact.BuildManifolds(t.Context(), job, 1, "", contact.NewManifolds(0))} {
		const says = `CLEARANCE_SIMD: unknown SIMD variant "bogus", want one of avx512, avx2, neon, portable, or off`
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", entry, err)
		}
	}
	if err := (contact.Options{SIMD: contact.Off}).Check(); err != nil {
		t.Errorf("the option counts before the environment: %v", err)
	}
}

// sweepsAlone are options without Newton's method, which would hide what is wrong with sweeps. Over-relaxation in
// float32 stalls near the tolerance in some worlds that float64 solves.
func sweepsAlone(model contact.Model, variant string) contact.Options {
	return contact.Options{Model: model, Sweeps: 300, Relaxation: 1, Steps: -1, SIMD: variant}
}

// sweep solves a problem by sweeps alone, which leave some worlds undecided.
func sweep(t *testing.T, p *contact.Problem, o contact.Options) *contact.Solution {
	t.Helper()
	var s contact.Solution
	if err := contact.Solve(t.Context(), p, o, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// kernelCase is a problem for a variant of the kernels. Its compliances are none, or 1e-6 to 1 of the inverse masses of
// both bodies, and zero of a third.
type kernelCase struct {
	variant string
	model   contact.Model
	kind    string
	p       *contact.Problem
}

func (c *kernelCase) String() string {
	if c.p.Compliance == nil {
		return fmt.Sprintf("%s %v %s", c.variant, c.model, c.kind)
	}
	return fmt.Sprintf("%s %v %s with compliance", c.variant, c.model, c.kind)
}

// kernelCases are n worlds of each kind, by each variant, under both models, without compliance and with it.
func kernelCases(t *testing.T, variants []string, n int, seed uint64, kinds ...string) (list []kernelCase) {
	t.Helper()
	rng := rand.New(rand.NewPCG(48, seed))
	for _, kind := range kinds {
		rigid := scenes.Pack(worldsOf(t, kind, n, seed))
		soft := *rigid
		rigid.Compliance = nil
		for k := range soft.Friction {
			for i := range 2 {
				if soft.Compliance[2*k+i] = 0; rng.IntN(3) > 0 {
					soft.Compliance[2*k+i] = inverseMass(&soft, k) * math.Pow(10, -6*rng.Float64())
				}
			}
		}
		for _, variant := range variants {
			for _, model := range []contact.Model{contact.NCP, contact.CCP} {
				for _, p := range []contact.Problem{*rigid, soft} {
					list = append(list, kernelCase{variant, model, kind, &p})
				}
			}
		}
	}
	return list
}

// inverseMass is the sum of the inverse masses of both bodies of contact k of all.
func inverseMass(p *contact.Problem, k int) (sum float64) {
	for _, b := range [2]int32{p.BodyA[k], p.BodyB[k]} {
		if b >= 0 {
			sum += 1 / p.Mass[k/p.Contacts*p.Bodies+int(b)]
		}
	}
	return sum
}

// TestSweepsInLanes: every variant solves what the sweeps in float64 in Go solve, with about as many sweeps, and finds
// the same velocities where the problem has one answer.
func TestSweepsInLanes(t *testing.T) {
	for _, c := range kernelCases(t, native.Supported(), 37, 3, "stick", "slide", "spin", "tip", "stack4", "random",
		"graph") {
		want, got := sweep(t, c.p, sweepsAlone(c.model, contact.Off)), sweep(t, c.p, sweepsAlone(c.model, c.variant))
		solved, sweeps, more := 0, 0, 0
		for w := range c.p.Worlds {
			if got.Status[w] == contact.Solved {
				solved++
			}
			if want.Status[w] == contact.Solved {
				solved--
			}
			sweeps += int(want.Sweeps[w])
			more += int(got.Sweeps[w] - want.Sweeps[w])
		}
		e := distance(got.Velocity, want.Velocity)
		t.Logf("%v: velocities differ by %.1e, solved %+d, sweeps %d %+d", &c, e, solved, sweeps, more)
		if solved < -1 || 10*more > sweeps+100 {
			t.Errorf("%v: %+d worlds solved, %+d sweeps in place of %d", &c, solved, more, sweeps)
		}
		if c.kind == "slide" && !(e <= 1e-5) { // the velocity is unique
			t.Errorf("%v: velocities differ by %g m/s", &c, e)
		}
	}
}

// TestVariantsHaveTheSameBits: variants that fuse products and sums have the same bits, whatever their number of lanes:
// sweeps, Newton's method alone, and both.
func TestVariantsHaveTheSameBits(t *testing.T) {
	fusing := slices.DeleteFunc(native.Supported(), func(name string) bool { return name == native.Portable })
	if len(fusing) < 2 {
		t.Skipf("this machine has %s", native.Supported())
	}
	for _, c := range kernelCases(t, fusing[1:], 37, 3, "stick", "slide", "spin", "tip", "stack4", "random", "graph") {
		for _, o := range []contact.Options{{}, {Sweeps: -1}, {Sweeps: 300, Steps: -1}} {
			o.Model, o.SIMD = c.model, fusing[0]
			want := sweep(t, c.p, o)
			o.SIMD = c.variant
			if got := sweep(t, c.p, o); !sameSolution(got, want) {
				t.Errorf("%v, %d sweeps: other bits than %s", &c, o.Sweeps, fusing[0])
			}
		}
	}
}

func sameSolution(a, b *contact.Solution) bool {
	same := slices.Equal(a.Status, b.Status) && slices.Equal(a.Sweeps, b.Sweeps) && slices.Equal(a.Steps, b.Steps)
	for _, c := range [][2][]float64{{a.Impulse, b.Impulse}, {a.Velocity, b.Velocity}, {a.Residual, b.Residual},
		{a.Scale, b.Scale}, {a.Primal, b.Primal}, {a.Dual, b.Dual}, {a.Complementarity, b.Complementarity}} {
		same = same && slices.EqualFunc(c[0], c[1],
			func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
	}
	return same
}

// TestSweptResiduals: velocities and residuals of what the sweeps have solved are those of the impulses, as Go finds
// them.
func TestSweptResiduals(t *testing.T) {
	for _, c := range kernelCases(t, native.Supported(), 37, 6, "stick", "slide", "spin", "stack4", "graph") {
		got := sweep(t, c.p, sweepsAlone(c.model, c.variant))
		c.p.Warm = got.Impulse
		want := sweep(t, c.p, contact.Options{Model: c.model, Sweeps: -1, Steps: -1, SIMD: contact.Off})
		e := max(distance(got.Velocity, want.Velocity), distance(got.Primal, want.Primal),
			distance(got.Dual, want.Dual), distance(got.Complementarity, want.Complementarity))
		if !slices.Equal(got.Status, want.Status) || !slices.Equal(got.Impulse, want.Impulse) || !(e <= 1e-12) {
			t.Errorf("%v: other impulses or statuses, or residuals or velocities that differ by %g", &c, e)
		}
	}
}

// TestNewtonInC: the kernel of Newton's method solves what the one in Go solves, with as many steps to 5 %: those of
// problems that it left to Go would count twice.
func TestNewtonInC(t *testing.T) {
	for _, c := range kernelCases(t, native.Supported(), 12, 5, "stick", "slide", "spin", "stack4", "stack8", "heavy",
		"random", "graph") {
		start := sweep(t, c.p, contact.Options{Model: c.model, Steps: -1, SIMD: contact.Off})
		c.p.Warm = start.Impulse
		o := contact.Options{Model: c.model, SIMD: contact.Off, Sweeps: -1}
		want := solve(t, c.p, o)
		o.SIMD = c.variant
		got := solve(t, c.p, o)
		steps, more := 0, 0
		for w := range c.p.Worlds {
			steps += int(want.Steps[w])
			more += int(got.Steps[w] - want.Steps[w])
		}
		e := distance(got.Velocity, want.Velocity)
		t.Logf("%v: velocities differ by %.1e, steps %d %+d", &c, e, steps, more)
		if 20*more > steps+100 || c.model == contact.CCP && !(e <= 1e-3) {
			t.Errorf("%v: %+d steps in place of %d, velocities differ by %g m/s", &c, more, steps, e)
		}
	}
}

// TestCompliantVelocities: with a compliance of every contact the velocity of the CCP is unique, and that of every
// variant is that of Go, to what a residual of 1e-11 of the speeds leaves open.
func TestCompliantVelocities(t *testing.T) {
	n := 16
	if need.All() {
		n = 300
	}
	for _, c := range kernelCases(t, native.Supported(), n, 8, "stick", "slide", "spin", "stack4", "random", "graph") {
		if c.model != contact.CCP || c.p.Compliance == nil {
			continue
		}
		for k := range c.p.Friction {
			for i := range 2 {
				c.p.Compliance[2*k+i] = max(c.p.Compliance[2*k+i], 1e-2*inverseMass(c.p, k))
			}
		}
		o := contact.Options{Model: c.model, Tolerance: 1e-11, SIMD: contact.Off}
		want := solve(t, c.p, o)
		o.SIMD = c.variant
		if e := distance(solve(t, c.p, o).Velocity, want.Velocity); !(e <= 1e-7) {
			t.Errorf("%v: velocities differ by %g m/s", &c, e)
		}
	}
}

// TestNewtonMemory: the kernel of Newton's method has memory for the bodies that contacts join, not for all of a world,
// and others change no bit.
func TestNewtonMemory(t *testing.T) {
	few := worldsOf(t, "stack4", 1, 5)
	many := []scenes.World{{Bodies: slices.Clone(few[0].Bodies), Contacts: few[0].Contacts}}
	for range 2000 {
		many[0].Bodies = append(many[0].Bodies, scenes.Body{Mass: 1, Inertia: [6]float64{1, 1, 1}})
	}
	for _, variant := range native.Supported() {
		o := contact.Options{Sweeps: -1, SIMD: variant}
		want := solve(t, scenes.Pack(few), o)
		p := scenes.Pack(many)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := solve(t, p, o)
		runtime.ReadMemStats(&after)
		if got.Steps[0] == 0 || got.Steps[0] != want.Steps[0] || !slices.Equal(got.Impulse, want.Impulse) {
			t.Errorf("%s: %d steps, %d without bodies that have no contact, or other impulses", variant, got.Steps[0],
				want.Steps[0])
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
			t.Errorf("%s: %d MB for four bodies with contacts", variant, used>>20)
		}
	}
}

// TestLanesAreIndependent: a world has the same bits alone and in groups with others, whatever pairs these have, which
// lane it is in, and which of them are invalid or left to Go.
func TestLanesAreIndependent(t *testing.T) {
	var worlds []scenes.World
	for _, kind := range []string{"graph", "stack4", "slide", "random", "stick", "graph"} {
		worlds = append(worlds, worldsOf(t, kind, 9, uint64(len(worlds)))...)
	}
	for i := range worlds {
		if i%7 == 3 {
			worlds[i].Contacts = slices.Clone(worlds[i].Contacts)
			worlds[i].Contacts[0].Friction = -1
		}
	}
	for i := range worlds { // beside worlds without compliance
		for k := range worlds[i].Contacts {
			if i%3 == 1 {
				worlds[i].Contacts[k].Compliance = [2]float64{1e-3, 2e-3}
			}
		}
	}
	all := scenes.Pack(worlds)
	for _, variant := range native.Supported() {
		for _, model := range []contact.Model{contact.NCP, contact.CCP} {
			short := sweepsAlone(model, variant)
			short.Sweeps = 12
			for _, o := range []contact.Options{short, {Model: model, SIMD: variant}} {
				independent(t, worlds, all, o)
			}
		}
	}
}

// independent fails for a world of all that has other bits alone. Every seventh from the third on is invalid.
func independent(t *testing.T, worlds []scenes.World, all *contact.Problem, o contact.Options) {
	t.Helper()
	want := sweep(t, all, o)
	n, m := 3*all.Contacts, 6*all.Bodies
	for w := range worlds {
		if want.Status[w] == contact.Invalid {
			if w%7 != 3 {
				t.Fatalf("world %d is invalid", w)
			}
			continue
		}
		got := sweep(t, scenes.Pack(worlds[w:w+1]), o)
		if !slices.Equal(got.Impulse, want.Impulse[w*n:w*n+len(got.Impulse)]) ||
			!slices.Equal(got.Velocity, want.Velocity[w*m:w*m+len(got.Velocity)]) ||
			got.Sweeps[0] != want.Sweeps[w] || got.Steps[0] != want.Steps[w] || got.Status[0] != want.Status[w] {
			t.Fatalf("%s %v, %d sweeps: world %d has other bits alone", o.SIMD, o.Model, o.Sweeps, w)
		}
	}
}

// TestStartOfBodiesAlone: cubes that the ground stops are solved without a sweep, also beside a cube that slides, whose
// contacts leave their cones and are swept.
func TestStartOfBodiesAlone(t *testing.T) {
	for _, variant := range native.Supported() {
		for _, model := range []contact.Model{contact.NCP, contact.CCP} {
			worlds := pushedBoxes(20)
			for w := range worlds {
				two := pushedBoxes(2)
				if w%2 == 1 {
					two[1].Bodies[0].Velocity.X = 1 // slides
				}
				worlds[w].Bodies = append(worlds[w].Bodies, two[1].Bodies[0])
				for _, c := range two[1].Contacts {
					c.B = 1
					worlds[w].Contacts = append(worlds[w].Contacts, c)
				}
			}
			p := scenes.Pack(worlds)
			got := solve(t, p, contact.Options{Model: model, SIMD: variant})
			none := sweep(t, p, contact.Options{Model: model, SIMD: variant, Sweeps: 1, Steps: -1})
			for w := range worlds {
				if slides := w%2 == 1; slides != (got.Sweeps[w] > 0) {
					t.Errorf("%s %v, world %d: %d sweeps", variant, model, w, got.Sweeps[w])
				}
				for k := 6 * 2 * w; k < 6*2*w+6; k++ { // the first cube rests, to the rounding of float32
					if v := max(math.Abs(got.Velocity[k]), math.Abs(none.Velocity[k])); !(v < 1e-7) {
						t.Errorf("%s %v, world %d: a speed of %g of the cube that rests", variant, model, w, v)
					}
				}
			}
		}
	}
}

// TestRestIsExact: cubes that rest to the tolerance with their warm impulses are solved to rounding, so that they do
// not creep.
func TestRestIsExact(t *testing.T) {
	for _, variant := range native.Supported() {
		for _, model := range []contact.Model{contact.NCP, contact.CCP} {
			p := scenes.Pack(pushedBoxes(20))
			o := contact.Options{Model: model, SIMD: variant}
			p.Warm = slices.Clone(solve(t, p, o).Impulse)
			for i := range p.Warm {
				p.Warm[i] += 2e-9
			}
			warm := sweep(t, p, contact.Options{Model: model, SIMD: contact.Off, Sweeps: -1, Steps: -1})
			got := solve(t, p, o)
			least, most := 1.0, 0.0
			for w := range p.Worlds {
				least = min(least, warm.Relative(w))
				for _, v := range got.Velocity[6*w : 6*w+6] {
					most = max(most, math.Abs(v))
				}
			}
			if !(least > 1e-8) || slices.Contains(warm.Status, contact.Undecided) || !(most < 1e-12) {
				t.Errorf("%s %v: a speed of %g; warm residuals are at least %g, %v", variant, model, most, least,
					warm.Status)
			}
		}
	}
}

// TestSIMDIsRefused: a variant that this machine lacks is an error.
func TestSIMDIsRefused(t *testing.T) {
	p, out := scenes.Pack(worldsOf(t, "slide", 1, 1)), contact.Solution{}
	if err := contact.Solve(t.Context(), p, contact.Options{SIMD: "avx1024"}, &out); err == nil {
		t.Error("an unknown variant was taken")
	}
}

// TestScaleResolved: where float64 resolves no less of the speeds, every variant has the speed scale that this gives at
// the tolerance asked for.
func TestScaleResolved(t *testing.T) {
	p := scenes.Pack(worldsOf(t, "stick", 20, 3))
	p.Compliance = nil
	for b := range p.Worlds * p.Bodies { // all move at a speed that contacts hardly change
		v := p.Velocity[6*b : 6*b+6]
		for i := range v {
			v[i] *= 1e-7
		}
		if !math.IsInf(p.Mass[b], 1) {
			v[0] += 1e3
		}
	}
	for i := range p.Friction {
		p.Friction[i] = 0
	}
	for i := range p.Target {
		p.Target[i] = 0
	}
	for _, model := range []contact.Model{contact.NCP, contact.CCP} {
		want := sweep(t, p, contact.Options{Model: model, SIMD: contact.Off})
		for _, variant := range native.Supported() {
			got := sweep(t, p, contact.Options{Model: model, SIMD: variant})
			for w := range p.Worlds {
				if got.Status[w] != contact.Solved || !(math.Abs(got.Scale[w]-want.Scale[w]) <= 1e-12*want.Scale[w]) {
					t.Errorf("%s %v, world %d: %v, a speed scale of %g m/s, want %g", variant, model, w, got.Status[w],
						got.Scale[w], want.Scale[w])
				}
			}
		}
	}
}
