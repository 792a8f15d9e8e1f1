package engine

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"clearance/batch"
	"clearance/derive"
	"clearance/internal/testkit"
)

var (
	structuredPoses = flag.Int("structured.poses", 200, "poses of TestStructuredDerivatives")
	structuredFirst = flag.Int("structured.first", 0, "number of the block of 400 poses that it begins with")
)

// TestStructuredDerivatives draws poses with symmetries of all kinds with all kinds, in several frames of the world.
// The smoothness that the device states is that of package derive, exact and with Gumbel smoothing, and the same in all
// frames in which it decides the row. Rows that it leaves to the host have that of the host.
func TestStructuredDerivatives(t *testing.T) {
	names, shapes := testkit.StructuredShapes()
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, Options{Timeout: time.Hour}) // a device of software beside other work
	const block = 400
	for seed := 0; seed*block < *structuredPoses; seed++ {
		rng := rand.New(rand.NewPCG(45, uint64(*structuredFirst+seed)))
		n := min(block, *structuredPoses-seed*block)
		pairs := batch.NewPairs(n * testkit.WorldFrames)
		var drawn []string
		for i := range n {
			s := testkit.DrawStructured(rng, names, shapes)
			drawn = append(drawn, s.Name)
			for k, frame := range testkit.WorldPoses(rng) {
				row := batch.Row{ShapeA: int32(s.A), ShapeB: int32(s.B)}
				row.PoseA, row.PoseB = s.In(frame)
				pairs.SetRow(i*testkit.WorldFrames+k, &row)
			}
		}
		for _, mode := range []batch.DerivativeMode{batch.ExactDerivative, batch.GumbelDerivative} {
			o := batch.Options{Precision: batch.Double, Tolerance: 1e-12, Derivative: batch.Derivative{Mode: mode}}
			job, got := derivedOf(t, b, lib, pairs, o)
			want := batch.NewResults(got.N, &batch.Options{Precision: o.Precision, Columns: batch.DerivedColumns})
			if err := (&derive.Pass{Options: o.Derivative}).Run(t.Context(), job, want); err != nil {
				t.Fatal(err)
			}
			flags, device := want.Column(batch.ColSmoothness).U8, got.Column(batch.ColSmoothness).U8
			first := make([]batch.Smoothness, n)
			stated := 0
			for i, f := range flags {
				name := drawn[i/testkit.WorldFrames]
				if s := batch.Smoothness(device[i]); s != batch.NotDerived {
					stated++
					if device[i] != f {
						t.Errorf("%s, %v: %v, package derive says %v", name, mode, s, batch.Smoothness(f))
					}
				}
				if s := batch.Smoothness(f); s != batch.NoDerivative { // the device does not decide all frames
					at := i / testkit.WorldFrames
					if first[at] == batch.NoDerivative {
						first[at] = s
					} else if s != first[at] {
						t.Errorf("%s, %v: %v, in another frame %v", name, mode, s, first[at])
					}
				}
			}
			if stated < got.N/3 {
				t.Errorf("%v: the device states the smoothness of %d of %d rows", mode, stated, got.N)
			}
		}
	}
}
