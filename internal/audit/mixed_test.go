package audit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/rollout"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestAuditOfMixedBodies: rows of bodies of parts of many kinds and sizes pass the audit.
func TestAuditOfMixedBodies(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	shapes := []geom.Shape{geom.Sphere{R: 0.01}, geom.Box{HalfExtents: r3.Vec{X: 0.1, Y: 0.2, Z: 0.3}},
		geom.Capsule{R: 0.1, HalfLength: 0.4}, geom.Cylinder{R: 0.3, HalfLength: 0.2},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.1, Y: 0.4, Z: 0.2}}, geom.Cone{R: 0.2, HalfLength: 0.3}}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []batch.Body
	for range 8 {
		var b batch.Body
		for range 1 + rng.IntN(4) {
			b.Parts = append(b.Parts, batch.Part{Shape: int32(rng.IntN(len(shapes))), Pose: testkit.Pose(rng, 0.4)})
		}
		list = append(list, b)
	}
	bodies, err := batch.NewBodies(lib, list)
	if err != nil {
		t.Fatal(err)
	}
	worlds := 40
	if !testing.Short() {
		worlds = 400
	}
	w := &batch.Worlds{M: 6}
	for range worlds * w.M {
		w.Bodies = append(w.Bodies, int32(rng.IntN(len(list)+1))-1)
		p := testkit.Pose(rng, 0.9)
		w.Poses = append(w.Poses, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
			p.Rotation.Jmag, p.Rotation.Kmag)
	}
	c, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(c)
	defer d.Close()
	for k := range 48 {
		o := rollout.Options{Reduce: rollout.Reduce(k & 1), Options: batch.Options{
			Precision: batch.Precision(k >> 1 & 1),
			Query:     []batch.Query{batch.Distance, batch.Penetration, batch.Collide, batch.Growth}[k>>2&3],
		}}
		if w.TemplateA, w.TemplateB, w.AllPairs = nil, nil, k>>4 == 2; !w.AllPairs {
			w.TemplateA, w.TemplateB = []int32{0, 1, 2, 4, 5}, []int32{1, 2, 3, 5, 0}
		}
		if o.Query == batch.Distance && k>>4 > 0 {
			o.MaxDistance, o.HasMaxDistance = 0.2, true
		}
		if w.AllPairs && o.Query == batch.Growth && o.Reduce == rollout.ReduceNone {
			continue // which all pairs do not support
		}
		job := &rollout.Job{Bodies: bodies, Worlds: w, Options: o}
		if _, err := rollout.Run(t.Context(), d, job, dispatch.Options{}); err != nil {
			t.Fatal(err)
		}
		a, err := auditInMemory(t.Context(), job, &Sample{Pairs: int64(worlds) * 30})
		if err != nil {
			t.Fatal(err)
		}
		if a.Wrong() != 0 {
			t.Errorf("%d: %s", k, fmt.Sprintf("%+v", a))
		}
	}
}
