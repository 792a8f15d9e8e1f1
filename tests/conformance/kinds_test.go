package conformance

import (
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/cpu/kernels"
	"clearance/cpu/simd"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestEveryKindHasAKernel: every variant of the kernels answers separated pairs of every kind with every kind,
// in every query. A kind that is forgotten in cpu/kernels/table.go is answered by package ref, with good answers, so
// nothing else notices.
func TestEveryKindHasAKernel(t *testing.T) {
	forms := Forms()
	all, names := shapes(forms)
	lib, err := batch.NewLibrary(all, names)
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range simd.Supported() {
		b, err := cpu.New(cpu.Options{Workers: 1, SIMD: variant})
		if err != nil {
			t.Fatal(err)
		}
		for q := range batch.QueryCount {
			o := batch.Options{Query: q}
			if !kernels.Serves.Has(&o) {
				continue // the reference solvers answer all of its rows
			}
			for x := range forms {
				for y := range forms {
					if forms[x].Kind.Traits().Unbounded && forms[y].Kind.Traits().Unbounded {
						continue // no question
					}
					if q.Info().CheckShapes(lib, 0, int32(2*x), int32(2*y+1)) != nil {
						continue // the same
					}
					pairs := batch.NewPairs(1)
					pose := geom.IdentityPose()
					pose.Position = r3.Vec{X: 2, Y: 3, Z: 4}
					if forms[y].Kind.Traits().Unbounded {
						pose.Position.Z = -4
					}
					pairs.SetRow(0, &batch.Row{ShapeA: int32(2 * x), ShapeB: int32(2*y + 1), PoseA: geom.IdentityPose(),
						PoseB: pose})
					before, _ := b.RowsBy()
					job := &batch.Job{Library: lib, Input: pairs, Options: o}
					if err := b.Run(t.Context(), job, 0, 1, batch.NewResults(1, &o)); err != nil {
						t.Fatal(err)
					}
					after, _ := b.RowsBy()
					why := NoKernel[forms[x].Kind] + NoKernel[forms[y].Kind]
					switch served := after > before; {
					case !served && why == "":
						t.Errorf("%s kernels, query %v: %s × %s was left to the reference solvers; add the kind to "+
							"cpu/kernels/table.go, or to NoKernel with a reason",
							variant, q, forms[x].Name, forms[y].Name)
					case served && why != "":
						t.Errorf("%s kernels, query %v: %s × %s was answered; NoKernel says %q", variant, q,
							forms[x].Name, forms[y].Name, why)
					}
				}
			}
		}
		b.Close()
	}
}
