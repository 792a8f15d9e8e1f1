package engine

import (
	"fmt"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/layout"
	"clearance/internal/testkit/rowcheck"
)

// listed returns the number of rows in a list of the latest chunk.
func (s *slot) listed(list int) int {
	return int(recordsIn[uint32](s.work.counts.Bytes())[layout.ListWords*list+layout.ListRows])
}

// listed returns the number of rows in a list of the latest call, which was one chunk on every workspace that it used.
func listed(b *Backend, list int) (n int) {
	workspaces := make([]*workspace, cap(b.workspaces))
	for k := range workspaces {
		workspaces[k] = <-b.workspaces
		for i := range workspaces[k].slots {
			if s := &workspaces[k].slots[i]; s.rows > 0 {
				n += s.listed(list)
			}
		}
	}
	for _, l := range workspaces {
		b.workspaces <- l
	}
	return n
}

// separated returns so many separated rows of a set, or fewer.
func separated(t *testing.T, name string, rows int) (*batch.Library, *batch.Pairs) {
	t.Helper()
	lib, all := set(t, name, 0, 2*rows)
	truth := &batch.Job{Library: lib, Input: all}
	run(t, truth, dispatch.Options{}, processor(t))
	pairs := batch.NewPairs(rows)
	n := 0
	var r batch.Row
	for i := range all.Len() {
		if truth.Results.Status()[i] == uint8(batch.Separated) && n < rows {
			all.Row(i, &r)
			pairs.SetRow(n, &r)
			n++
		}
	}
	return lib, pairs.Slice(0, n)
}

// TestListedByTwoFloats: of separated rows, prove_two_floats.comp leaves few to prove.comp, and that takes no others.
// The limits are twice what is measured.
func TestListedByTwoFloats(t *testing.T) {
	const rows = 2000
	for _, c := range []struct {
		set  string
		most float64 // share of the separated rows
	}{{"boxes", 0.17}, {"hull32", 0.06}, {"ellipsoids", 0.02}, {"capsule-cylinder-cone", 0.18}} {
		t.Run(c.set, func(t *testing.T) {
			b := open(t, Options{ChunkRows: rows, Proof: ProofTwoFloats})
			if !b.direct {
				t.Skip("the device's memory is not mapped: the lists cannot be read")
			}
			lib, pairs := separated(t, c.set, rows)
			job := &batch.Job{Library: lib, Input: pairs}
			run(t, job, dispatch.Options{}, b, processor(t))
			rowcheck.Audit(t, job)
			left := listed(b, layout.ListUnproved)
			if float64(left) > c.most*float64(pairs.Len()) {
				t.Errorf("%d of %d rows are left to prove.comp", left, pairs.Len())
			}
			t.Logf("%d of %d rows are left to prove.comp", left, pairs.Len())
			if more := listed(b, layout.ListContinue) + listed(b, layout.ListStationary); more > left {
				t.Errorf("prove.comp leaves %d of %d rows", more, left)
			}
		})
	}
}

// TestProved: of separated rows, prove.comp leaves few to certify.comp and trust_region.comp. The limits are twice what
// is measured; half of the rows with solids of revolution need more than one support plane along the normal of single
// precision.
func TestProved(t *testing.T) {
	const rows = 2000
	loose := batch.Options{Tolerance: 1e-5}
	double, collide := batch.Options{Precision: batch.Double}, batch.Options{Query: batch.Collide}
	for _, c := range []struct {
		set     string
		options batch.Options
		most    float64 // share of the separated rows
	}{
		{"boxes", batch.Options{}, 0.002}, {"boxes", double, 0.02}, {"boxes", collide, 0.01},
		{"hull32", batch.Options{}, 0.002}, {"hull32", double, 0.02}, {"hull32", collide, 0.01},
		{"capsule-cylinder-cone", batch.Options{}, 0.15}, {"capsule-cylinder-cone", collide, 0.01},
		{"ellipsoids", batch.Options{}, 0.03}, {"ellipsoids", loose, 0}, {"ellipsoids", collide, 0.01},
		{"ellipsoids", double, 0.15},
	} {
		name := fmt.Sprintf("%s %v %v %g", c.set, c.options.Precision, c.options.Query, c.options.Tolerance)
		t.Run(name, func(t *testing.T) {
			b := open(t, Options{ChunkRows: rows})
			if !b.direct {
				t.Skip("the device's memory is not mapped: the lists cannot be read")
			}
			lib, pairs := separated(t, c.set, rows)
			n := pairs.Len()
			job := &batch.Job{Library: lib, Input: pairs, Options: c.options}
			run(t, job, dispatch.Options{}, b, processor(t))
			rowcheck.Audit(t, job)
			for list, name := range map[int]string{layout.ListContinue: "certify.comp",
				layout.ListStationary: "trust_region.comp"} {
				if left := listed(b, list); float64(left) > c.most*float64(n) {
					t.Errorf("%d of %d rows are left to %s", left, n, name)
				}
			}
		})
	}
}

// TestGrowthProved: growth_prove.comp leaves few rows to growth_certify.comp. The limits are twice what is measured.
// Superquadrics and half-spaces are left, and in double precision all pairs with a curved surface.
func TestGrowthProved(t *testing.T) {
	const rows = 2000
	for _, c := range []struct {
		set       string
		precision batch.Precision
		most      float64 // share of the rows
	}{
		{"boxes", batch.Single, 0.09}, {"boxes", batch.Double, 0.1}, {"hull8", batch.Single, 0.1},
		{"hull32", batch.Single, 0.07}, {"hull32", batch.Double, 0.07}, {"ellipsoids", batch.Single, 0.18},
		{"capsule-cylinder-cone", batch.Single, 0.33}, {"mixed", batch.Single, 0.87},
	} {
		t.Run(fmt.Sprintf("%s %v", c.set, c.precision), func(t *testing.T) {
			b := open(t, Options{ChunkRows: rows, phases: true})
			if !b.direct {
				t.Skip("the device's memory is not mapped: the lists cannot be read")
			}
			lib, pairs := set(t, c.set, 0, rows)
			job := &batch.Job{Library: lib, Input: pairs,
				Options: batch.Options{Query: batch.Growth, Precision: c.precision, Columns: growthColumns}}
			run(t, job, dispatch.Options{}, b, processor(t))
			rowcheck.Audit(t, job)
			if left := listed(b, layout.ListContinue); float64(left) > c.most*rows {
				t.Errorf("%d of %d rows are left to growth_certify.comp", left, rows)
			}
		})
	}
}
