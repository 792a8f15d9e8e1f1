package audit

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/rollout"

	"gonum.org/v1/gonum/spatial/r3"
)

// auditedJob answers worlds of bodies of one and of two parts, by a template or of all pairs.
func auditedJob(t *testing.T, o rollout.Options, all bool) *rollout.Job {
	t.Helper()
	rng := rand.New(rand.NewPCG(12, 21))
	shapes := []geom.Shape{geom.Sphere{R: 0.2}, geom.Box{HalfExtents: r3.Vec{X: 0.1, Y: 0.2, Z: 0.3}}}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{
		{Parts: []batch.Part{{Shape: 0, Pose: geom.IdentityPose()}}},
		{Parts: []batch.Part{{Shape: 1, Pose: testkit.Pose(rng, 0.3)}, {Shape: 0, Pose: testkit.Pose(rng, 0.3)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{Bodies: []int32{0, 1, 1, 0, 1}, AllPairs: all}
	if !all {
		w.TemplateA, w.TemplateB = []int32{0, 1, 4, 2}, []int32{1, 2, 3, 0}
	}
	for range 20 * len(w.Bodies) {
		p := testkit.Pose(rng, 0.9)
		v, q := p.Position, p.Rotation
		w.Poses = append(w.Poses, v.X, v.Y, v.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
	}
	c, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(c)
	defer d.Close()
	job := &rollout.Job{Bodies: bodies, Worlds: w, Options: o}
	if _, err := rollout.Run(t.Context(), d, job, dispatch.Options{}); err != nil {
		t.Fatal(err)
	}
	return job
}

// inMemory is a source of worlds.
type inMemory struct{ of *batch.Worlds }

func (w inMemory) Count() int          { return w.of.Count() }
func (w inMemory) BodiesPerWorld() int { return w.of.BodiesPerWorld() }
func (w inMemory) WayPoints() int      { return 1 }
func (w inMemory) RowsPerWorld() int   { return w.of.RowsPerWorld() }

func (w inMemory) Worlds(lo, hi int) (*batch.Worlds, error) { return w.of.Slice(lo, hi), nil }

// auditInMemory audits the results of a job.
func auditInMemory(ctx context.Context, job *rollout.Job, s *Sample) (*Rollout, error) {
	if err := s.check(job, 0); err != nil {
		return nil, err
	}
	n := job.Worlds.Count()
	r := newRollout()
	r.OfWorlds = n
	return r, r.run(ctx, job, s, s.worldsOf(n, func(world int) int64 { return partPairs(job, world) }))
}

// TestAuditOfRollouts: results pass the audit, and each of these changes of one row is refuted.
func TestAuditOfRollouts(t *testing.T) {
	columns := batch.FileColumns
	for name, c := range map[string]struct {
		o   rollout.Options
		all bool
	}{
		"rows":     {o: rollout.Options{}},
		"culled":   {o: rollout.Options{MaxDistance: 0.1, HasMaxDistance: true}},
		"worlds":   {o: rollout.Options{Reduce: rollout.ReduceWorld}},
		"all":      {o: rollout.Options{MaxDistance: 0.3, HasMaxDistance: true}, all: true},
		"least":    {o: rollout.Options{Reduce: rollout.ReduceWorld}, all: true},
		"contacts": {o: rollout.Options{Reduce: rollout.ReduceWorld, Options: batch.Options{Query: batch.Penetration}}},
	} {
		c.o.Columns = columns
		audit := func(change func(r *rollout.Results, i int)) int {
			job := auditedJob(t, c.o, c.all)
			if change != nil {
				change(job.Results, job.Results.N/2)
			}
			a, err := auditInMemory(t.Context(), job, &Sample{Pairs: DefaultPairs})
			if err != nil {
				t.Fatal(err)
			}
			if a.Worlds != 20 || len(a.First) != min(a.Refuted, 5) || a.Rows != job.Results.N {
				t.Errorf("%s: %+v", name, a)
			}
			return a.Wrong()
		}
		if n := audit(nil); n != 0 {
			t.Errorf("%s: %d right rows are refuted", name, n)
		}
		changes := map[string]func(r *rollout.Results, i int){
			"nearer":  func(r *rollout.Results, i int) { r.Distance().F32[i] -= 2 + 2*r.Gap()[i] },
			"farther": func(r *rollout.Results, i int) { r.Distance().F32[i] += 2 + 2*r.Gap()[i] },
			"invalid": func(r *rollout.Results, i int) { r.Status()[i] = uint8(batch.Invalid) },
			"code":    func(r *rollout.Results, i int) { r.Status()[i] = 77 },
			"part":    func(r *rollout.Results, i int) { r.PartA[named(r)], r.PartB[named(r)] = 7, 1<<31-1 },
			"half":    func(r *rollout.Results, i int) { r.PartA[named(r)] = -1 },
			"gap":     func(r *rollout.Results, i int) { r.Gap()[named(r)] = 40 },
			"no gap":  func(r *rollout.Results, i int) { r.Gap()[i] = float32(math.NaN()) },
			"normal":  func(r *rollout.Results, i int) { r.Normal().F32[3*named(r)] *= -1 },
			"witness": func(r *rollout.Results, i int) { r.WitnessB().F32[3*named(r)+1] += 0.1 },
			"status": func(r *rollout.Results, i int) {
				for k := range r.N { // separated rows as penetrating, and the other way around
					r.Status()[k] = uint8(batch.Penetrating) - r.Status()[k]
				}
			},
		}
		if c.o.Reduce == rollout.ReduceWorld {
			changes["contacts"] = func(r *rollout.Results, i int) { r.Contacts[i] += 9 }
			changes["any"] = func(r *rollout.Results, i int) { r.Any[i] = 3 }
			changes["failed"] = func(r *rollout.Results, i int) { r.Failed[i] = -1 }
			changes["pair"] = func(r *rollout.Results, i int) { r.Pair[i] = 4 }
			if c.all {
				changes["pair"] = func(r *rollout.Results, i int) { r.BodyB[i] = 5 }
			}
			changes["least"] = func(r *rollout.Results, i int) {
				for k := range r.N { // some of which are of another pair
					if r.Pair[k] = 1; c.all {
						r.BodyA[k], r.BodyB[k] = 1, 2
					}
				}
			}
		} else if c.all {
			changes["pair"] = func(r *rollout.Results, i int) { r.BodyB[i]++ }
			changes["body"] = func(r *rollout.Results, i int) { r.BodyA[i] = -1 }
		}
		for what, change := range changes {
			if audit(change) == 0 {
				t.Errorf("%s: a row with another %s is not refuted", name, what)
			}
		}
	}
}

// named is the first row that names a pair of parts.
func named(r *rollout.Results) int {
	return slices.IndexFunc(r.PartA, func(a int32) bool { return a >= 0 })
}

// TestAuditSample: the worlds that are solved are spread over all of them, each is solved once, and a world with too
// many pairs of parts is refused by number.
func TestAuditSample(t *testing.T) {
	job := auditedJob(t, rollout.Options{}, true)
	const one = 1 + 2 + 2 + 1 + 2 // parts of a world
	if n := partPairs(job, 3); n != (one*one-(1+4+4+1+4))/2 {
		t.Errorf("%d pairs of parts", n)
	}
	for _, n := range []int{0, 1, 2, 7, 39_600} {
		for seed := range uint64(4) {
			seen, tenths, k := make([]int, n), make([]int, 10), 0
			for world := range (&Sample{Seed: seed}).order(n) {
				if seen[world]++; k < 606 {
					tenths[10*world/n]++
				}
				k++
			}
			if k != n || n > 0 && slices.Min(seen) != 1 {
				t.Errorf("%d worlds, seed %d: %d solved", n, seed, k)
			}
			if n > 606 && slices.Min(tenths) == 0 {
				t.Errorf("%d worlds, seed %d: by tenths of the worlds %v", n, seed, tenths)
			}
		}
	}
	w := &batch.Worlds{Poses: make([]float64, 7*2*5000), M: 2, Bodies: slices.Repeat([]int32{1, 1}, 5000)}
	w.Bodies[0] = batch.Absent
	sample := &Sample{Pairs: DefaultPairs}
	for _, c := range []struct {
		pairs int
		says  string
	}{{30, ""}, {20 * DefaultPairs, "world 1 has 1600000 pairs of parts"}} {
		w.TemplateA, w.TemplateB = make([]int32, c.pairs), slices.Repeat([]int32{1}, c.pairs)
		_, err := sample.Checked(job.Bodies, inMemory{w}).Worlds(0, w.Count())
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d pairs of bodies per world: %v, want %q", c.pairs, err, c.says)
		}
	}
}
