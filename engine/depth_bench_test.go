package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/dataset/generate"
)

// overlapping returns n pairs of a generated set that overlap: every third row.
func overlapping(b *testing.B, name string, n int) (*batch.Library, *batch.Pairs) {
	b.Helper()
	gen, err := generate.New(name, 1, generate.Options{Shapes: 64})
	if err != nil {
		b.Fatal(err)
	}
	all := batch.NewPairs(3 * n)
	gen.Fill(all, 0)
	pairs := batch.NewPairs(n)
	var r batch.Row
	for i := range n {
		all.Row(3*i, &r)
		pairs.SetRow(i, &r)
	}
	return gen.Library(), pairs
}

// BenchmarkDepths times the depths of the overlapping third of the generated sets: the
// kernels one by one, and end to end.
func BenchmarkDepths(b *testing.B) {
	e := benchBackend(b, Options{})
	const rows = 16384
	for _, name := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128",
		"hull512", "mixed"} {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			b.Run(fmt.Sprintf("%s/%v", name, precision), func(b *testing.B) {
				lib, pairs := overlapping(b, name, rows)
				job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Penetration,
					Precision: precision}}
				benchKernels(b, e, job)
				perRow(b, rows)
			})
		}
	}
}

// BenchmarkSmoothDepths times the depths of penetrating smooth pairs by each method.
func BenchmarkSmoothDepths(b *testing.B) {
	e := benchBackend(b, Options{})
	const rows = 4096
	for _, name := range []string{"superquadrics", "smooth", "ellipsoids"} {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			for _, m := range []batch.Method{batch.GJK, batch.Auto, batch.RTR} {
				b.Run(fmt.Sprintf("%s/%v/%v", name, precision, m), func(b *testing.B) {
					lib, pairs := smoothOverlaps(b, name, rows)
					benchKernels(b, e, &batch.Job{Library: lib, Input: pairs,
						Options: batch.Options{Query: batch.Penetration, Precision: precision, Method: m,
							Columns: batch.FileColumns}})
				})
			}
		}
	}
}

// smoothOverlaps returns rows of penetrating smooth pairs, from coinciding centers to shallow.
func smoothOverlaps(b *testing.B, name string, rows int) (*batch.Library, *batch.Pairs) {
	b.Helper()
	g := rand.New(rand.NewPCG(7, 31))
	lib := smoothLibrary(b, g, name)
	return lib, nested(g, lib, rows, 0.95)
}
