package contact

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestBuildManifolds: columns of every kind × kind have the points of Build, and of a bad row its status alone.
func TestBuildManifolds(t *testing.T) {
	lib, err := batch.NewLibrary(manifoldShapes(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	const n = 600
	p := &batch.Pairs{}
	for i := range n {
		a, b := int32(rng.IntN(lib.Len())), int32(rng.IntN(lib.Len()))
		q, r := testkit.Rotation(rng), testkit.Rotation(rng)
		d := r3.Scale(rng.Float64(), r3.Unit(r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()}))
		if i == 7 {
			d.X = math.NaN()
		}
		if i == 8 {
			b = int32(lib.Len())
		}
		p.ShapeA, p.ShapeB = append(p.ShapeA, a), append(p.ShapeB, b)
		p.PositionA, p.PositionB = append(p.PositionA, 0, 0, 0), append(p.PositionB, d.X, d.Y, d.Z)
		p.RotationA = append(p.RotationA, q.Real, q.Imag, q.Jmag, q.Kmag)
		p.RotationB = append(p.RotationB, 2*r.Real, 2*r.Imag, 2*r.Jmag, 2*r.Kmag) // not unit
	}
	const maxGap = 0.05
	var first *Manifolds
	for _, workers := range []int{1, 3} {
		job := &batch.Job{Library: lib, Input: p, Options: ManifoldOptions(maxGap)}
		job.Results = batch.NewResults(n, &job.Options)
		ctx := context.Background()
		if err := cpu.NewReference().Run(ctx, job, 0, n, job.Results); err != nil {
			t.Fatal(err)
		}
		out := NewManifolds(n)
		if err := BuildManifolds(ctx, job, workers, "", out); err != nil {
			t.Fatal(err)
		}
		if inGo := NewManifolds(n); !testkit.Fuses() {
			if err := buildManifolds(ctx, job, workers, Off, inGo); err != nil {
				t.Fatal(err)
			}
			sameColumns(t, out, inGo)
		}
		if first == nil {
			first = out
		} else if !slices.Equal(first.Count, out.Count) || !slices.Equal(first.Position, out.Position) ||
			!slices.Equal(first.Gap, out.Gap) || !slices.Equal(first.ID, out.ID) {
			t.Error("other bits by other workers")
		}
	}
	counts := map[ManifoldStatus]int{}
	for i, s := range first.Status {
		counts[s]++
		if (s == ManifoldFound) != (first.Count[i] > 0) {
			t.Errorf("row %d: status %d with %d points", i, s, first.Count[i])
		}
		for k := range int(first.Count[i]) {
			if g := first.Gap[MaxPoints*i+k]; !(g <= maxGap+1e-9) || !(g >= first.Lower[i]) {
				t.Errorf("row %d: point %d: gap %g, lower bound %g", i, k, g, first.Lower[i])
			}
		}
	}
	if first.Status[7] != ManifoldInvalid || first.Status[8] != ManifoldInvalid || counts[ManifoldInvalid] < 2 {
		t.Errorf("statuses of invalid rows %d and %d", first.Status[7], first.Status[8])
	}
	if counts[ManifoldFound] < 100 || counts[ManifoldNone] < 100 || counts[ManifoldUndecided] > 0 {
		t.Errorf("statuses %v", counts)
	}
}

// sameColumns holds the points of kernels to those of Go.
func sameColumns(t *testing.T, got, want *Manifolds) {
	t.Helper()
	if !slices.Equal(got.Status, want.Status) || !slices.Equal(got.Count, want.Count) {
		t.Fatal("the kernels have other points than Go")
	}
	for i := range want.N {
		points := MaxPoints*i + int(want.Count[i])
		// Lower bounds differ where there are powers, see TestManifoldKernel; poses and shapes are of a metre in all.
		if want.Count[i] > 0 && (math.Abs(got.Lower[i]-want.Lower[i]) > roundings ||
			!slices.Equal(got.Normal[3*i:3*i+3], want.Normal[3*i:3*i+3]) ||
			!slices.Equal(got.Position[3*MaxPoints*i:3*points], want.Position[3*MaxPoints*i:3*points]) ||
			!slices.Equal(got.Gap[MaxPoints*i:points], want.Gap[MaxPoints*i:points]) ||
			!slices.Equal(got.ID[MaxPoints*i:points], want.ID[MaxPoints*i:points])) {
			t.Errorf("row %d has other points than in Go", i)
		}
	}
}

// panics is a solver whose answers make the builder of points panic.
type panics struct{}

func (panics) Run(context.Context, *batch.Job, int, int, *batch.Results) error { panic("solver") }

// TestPanicIsAnError: a panic of a worker, or of the solver in a step, is an error of the call.
func TestPanicIsAnError(t *testing.T) {
	for _, workers := range []int{1, 4} {
		err := inParallel(context.Background(), workers, 100, worldChunk, func(_, world int) {
			if world == 50 {
				panic("here")
			}
		})
		if err == nil || !strings.Contains(err.Error(), "here") {
			t.Errorf("%d workers: error %v", workers, err)
		}
	}
	scene, state := stack(t, 1, 2, 0)
	s, err := NewSimulation(scene, state, panics{}, StepOptions{TimeStep: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Step(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "solver") {
		t.Errorf("error %v", err)
	}
}

// TestResume: a simulation that is resumed goes on with the same bits.
func TestResume(t *testing.T) {
	scene, state := stack(t, 3, 3, 0.3)
	o := StepOptions{TimeStep: 5e-3, Gravity: down}
	whole := simulation(t, scene, state, o)
	run(t, whole, 10, nil)
	part := simulation(t, scene, whole.State(), o)
	if err := part.Resume(whole.Warm()); err != nil {
		t.Fatal(err)
	}
	run(t, whole, 10, nil)
	run(t, part, 10, nil)
	a, b := whole.State(), part.State()
	if !slices.Equal(a.Pose, b.Pose) || !slices.Equal(a.Momentum, b.Momentum) || !slices.Equal(a.Steps, b.Steps) {
		t.Error("other bits")
	}
	if err := part.Resume(&Warm{}); err == nil {
		t.Error("contacts of another simulation are taken")
	}
}

// TestNewScene: mass, inertia and center from physics, and what is refused.
func TestNewScene(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Halfspace{}, geom.Box{HalfExtents: r3.Vec{X: 0.1, Y: 0.2, Z: 0.3}}},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := batch.NewBodies(lib, []batch.Body{
		{Parts: []batch.Part{{Shape: 0, Pose: geom.IdentityPose()}}},
		{Parts: []batch.Part{{Shape: 1, Pose: geom.Translate(1, 0, 0)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	mass, density, friction, bad := 3.0, 500.0, 0.25, -1.0
	s, err := NewScene(table, []int32{0, 1}, []batch.Physics{{}, {Mass: &mass}}, batch.Physics{Friction: &friction})
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{0.13, 0.1, 0.05, 0, 0, 0} // m/3 of sums of squares
	for j, x := range want {
		if math.Abs(s.Inertia[6+j]-x) > 1e-12 {
			t.Errorf("inertia %v, want %v", s.Inertia[6:], want)
			break
		}
	}
	if !math.IsInf(s.Mass[0], 1) || s.Mass[1] != 3 || math.Abs(s.Center[3]-1) > 1e-15 || s.Friction[1] != 0.25 {
		t.Errorf("mass %v, center %v, friction %v", s.Mass, s.Center, s.Friction)
	}
	s, err = NewScene(table, []int32{1}, nil, batch.Physics{Density: &density})
	if err != nil || math.Abs(s.Mass[0]-500*0.048) > 1e-12 {
		t.Errorf("mass %v, %v", s, err)
	}
	for _, c := range []struct {
		p    batch.Physics
		want string
	}{
		{batch.Physics{}, "neither a mass"}, {batch.Physics{Mass: &bad}, "-1 kg"},
		{batch.Physics{Fixed: true, Mass: &mass}, "fixed body with a mass"},
		{batch.Physics{Inertia: want}, "without a mass"},
		{batch.Physics{Mass: &mass, Center: []float64{0, 0, 0}}, "without an inertia"},
		{batch.Physics{Mass: &mass, Friction: &bad}, "friction: -1"},
		{batch.Physics{Mass: &mass, Restitution: &mass}, "restitution: 3"},
	} {
		if _, err := NewScene(table, []int32{0, 1}, []batch.Physics{{}, c.p}, batch.Physics{}); err == nil ||
			!strings.Contains(err.Error(), "body 1") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.p, err, c.want)
		}
	}
}
