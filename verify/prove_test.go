package verify_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/geom"
	"clearance/tests/need"
	"clearance/verify"
)

func prove(t *testing.T, job *batch.Job, o verify.ProveOptions) *verify.Proof {
	t.Helper()
	p, err := verify.Prove(t.Context(), job, o)
	if err != nil {
		t.Fatal(err)
	}
	if p.Proved+p.Refuted+p.Unproved != p.Depths || p.Depths > p.Sampled {
		t.Errorf("the counts do not add up: %+v", p)
	}
	return p
}

// TestProve: the depths of all pairs of kinds are proved to their own gaps, and depths whose intervals end a hundredth
// of a gap beside the truth are refuted.
func TestProve(t *testing.T) {
	n := 1500
	if testing.Short() {
		n = 500
	}
	lib := newLibrary(t, mixedShapes()...)
	in := randomPairs(lib, n, 7, r3.Vec{X: 5})
	truth := solved(t, lib, in, batch.Options{Precision: batch.Double})
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		job := solved(t, lib, in, batch.Options{Precision: precision})
		p := prove(t, job, verify.ProveOptions{})
		if p.Depths < n/4 || p.Proved != p.Depths || p.Rows != n || p.Sampled != n {
			t.Errorf("%v: %+v", precision, p)
		}
		// The true depth is at most that of the double interval. The distance is rounded to its column, the gap
		// follows from it.
		wrong := 0
		for i := range n {
			if truth.Results.Status()[i] != uint8(batch.Penetrating) || job.Results.Distance().At(i) >= 0 {
				continue
			}
			end := truth.Results.Distance().At(i) - float64(truth.Results.Gap()[i])
			// Above the rounding error of the proof, and that of the column.
			gap := max(float64(job.Results.Gap()[i]), 1e-11, 1e-6*float64(1-precision))
			job.Results.Distance().Set(i, end-gap)
			job.Results.Gap()[i] = float32((end - job.Results.Distance().At(i)) / 1.01)
			wrong++
		}
		if p = prove(t, job, verify.ProveOptions{Worst: 3}); p.Refuted != wrong || wrong < n/4 || len(p.Worst) != 3 {
			t.Errorf("%v, %d wrong depths: %+v", precision, wrong, p)
		}
		var text strings.Builder
		if err := p.WriteText(&text); err != nil || !strings.Contains(text.String(), "refuted of") ||
			strings.Count(text.String(), "\n  row ") != 3 {
			t.Errorf("%v: %s", err, text.String())
		}
	}
}

// TestProveSample: samples are disjoint and of the size asked for, and merged reports add up.
func TestProveSample(t *testing.T) {
	lib := newLibrary(t, geom.Sphere{R: 1}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}})
	in := randomPairs(lib, 100, 3, r3.Vec{})
	job := solved(t, lib, in, batch.Options{})
	all := prove(t, job, verify.ProveOptions{})
	some := prove(t, job, verify.ProveOptions{Sample: 10, Seed: 4})
	if some.Sampled != 10 || all.Sampled != 100 || some.Depths > 10 || all.Depths < 30 {
		t.Errorf("%+v of %+v", some, all)
	}
	sum := *some
	sum.Merge(all)
	if sum.Sampled != 110 || sum.Proved != some.Proved+all.Proved || sum.Rows != 200 {
		t.Errorf("merged: %+v", sum)
	}
	if _, err := verify.Prove(t.Context(), job, verify.ProveOptions{Sample: -1}); err == nil {
		t.Error("a negative sample is no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := verify.Prove(ctx, job, verify.ProveOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestProveOnOneAxis: where the minima form a circle or a sphere, depths are proved to rounding.
func TestProveOnOneAxis(t *testing.T) {
	spun := quat.Number{Real: math.Cos(0.3), Kmag: math.Sin(0.3)}
	turned := geom.Pose{Rotation: quat.Number{Real: 0.5, Imag: 0.5, Jmag: 0.5, Kmag: 0.5}}
	shapes := []geom.Shape{
		geom.Cone{R: 0.5, HalfLength: 0.4}, geom.Cylinder{R: 0.3, HalfLength: 0.6}, geom.Sphere{R: 0.4},
		geom.Capsule{R: 0.2, HalfLength: 0.5}, geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.3, Y: 0.3, Z: 0.6}},
		geom.WithMargin(geom.Frustum{RBottom: 0.5, RTop: 0.2, HalfLength: 0.3}, 0.1),
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.3, Y: 0.3, Z: 0.3}}, hull(1, 1),
	}
	lib := newLibrary(t, shapes...)
	in := batch.NewPairs(len(shapes) * len(shapes))
	for i := range shapes {
		for k := range shapes {
			if i == len(shapes)-1 || k == len(shapes)-1 {
				continue
			}
			r := batch.Row{ShapeA: int32(i), ShapeB: int32(k), PoseA: turned, PoseB: turned}
			r.PoseB.Rotation = quat.Mul(r.PoseB.Rotation, spun)
			m := turned.Matrix()
			r.PoseB.Position = m.MulVec(r3.Vec{Z: 0.05 * float64(i-k)})
			in.SetRow(i*len(shapes)+k, &r)
		}
	}
	for i := range shapes { // rows without a pair: a point far away
		for _, row := range []int{i*len(shapes) + len(shapes) - 1, (len(shapes)-1)*len(shapes) + i} {
			r := batch.Row{ShapeA: 2, ShapeB: 2, PoseA: geom.IdentityPose(), PoseB: geom.IdentityPose()}
			r.PoseB.Position.X = 50
			in.SetRow(row, &r)
		}
	}
	job := solved(t, lib, in, batch.Options{Precision: batch.Double})
	p := prove(t, job, verify.ProveOptions{})
	if want := (len(shapes) - 1) * (len(shapes) - 1); p.Depths != want || p.Proved != want {
		t.Errorf("%d depths wanted: %+v", want, p)
	}
	if p.Directions > 20_000*int64(p.Depths) {
		t.Errorf("%d directions for %d depths", p.Directions, p.Depths)
	}
}

// TestProveSets: every depth of every generated set is proved from below to its own gap, and refuted where the interval
// ends a hundredth of a gap beside the truth. In full 10,000 depths of each set and 2,000 of the adversarial one.
func TestProveSets(t *testing.T) {
	for _, set := range generate.Names() {
		if set == "mesh" {
			continue // needs files
		}
		t.Run(set, func(t *testing.T) {
			want := 60
			if need.All() {
				if want = 10_000; set == "adversarial" {
					want = 2000
				}
			}
			g, err := generate.New(set, 24, generate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			const chunk = 512
			var proof, mutated verify.Proof
			wrong := 0
			for at := 0; proof.Depths < want; at += chunk {
				in := batch.NewPairs(chunk)
				g.Fill(in, at)
				job := solved(t, g.Library(), in, batch.Options{Query: batch.Penetration, Precision: batch.Double})
				p := prove(t, job, verify.ProveOptions{FirstRow: at})
				proof.Merge(p)
				wrong += mutateDepths(job.Results, g.Library(), in)
				mutated.Merge(prove(t, job, verify.ProveOptions{FirstRow: at}))
			}
			if proof.Proved != proof.Depths {
				t.Errorf("%d of %d depths proved, %d refuted; rows %v, %v", proof.Proved, proof.Depths, proof.Refuted,
					proof.Unproven, proof.Worst)
			}
			if mutated.Refuted != wrong || wrong < proof.Depths/2 {
				t.Errorf("%d of %d wrong depths of %d refuted", mutated.Refuted, wrong, proof.Depths)
			}
			t.Logf("%d of %d depths proved with %d directions each; %d of %d wrong depths refuted", proof.Proved,
				proof.Depths, proof.Directions/int64(proof.Depths), mutated.Refuted, wrong)
		})
	}
}

// mutateDepths makes the depths of res too large: the interval that distance and gap claim ends a hundredth of the gap
// beside the interval that they claimed before. A hundredth of a gap below 1e-11 of the size would be near the rounding
// error of the directions: such a gap is made larger. It returns the number of the rows.
func mutateDepths(res *batch.Results, lib *batch.Library, in *batch.Pairs) (wrong int) {
	var r batch.Row
	for i := range res.N {
		if batch.Status(res.Status()[i]) != batch.Penetrating {
			continue
		}
		in.Row(i, &r)
		scale := lib.PairSize(r.ShapeA, r.ShapeB) + r3.Norm(r3.Sub(r.PoseB.Position, r.PoseA.Position))
		end, gap := res.Distance().At(i)-float64(res.Gap()[i]), max(float64(res.Gap()[i]), 1e-11*scale)
		res.Distance().Set(i, end-1.01*gap)
		res.Gap()[i] = float32(gap)
		wrong++
	}
	return wrong
}
