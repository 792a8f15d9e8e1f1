package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
	"clearance/internal/testkit/rowcheck"
	"clearance/tests/need"
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

// proofs are devices whose proofs take sums of two floats: with double precision for other rows, and without.
var proofs = []struct {
	name    string
	options Options
}{
	{"two floats", Options{Proof: ProofTwoFloats}},
	{"no shaderFloat64", Options{disable: vk.Float64}},
}

// TestTwoFloatSets: with proofs in sums of two floats the audit refutes nothing on any set, and the answers are those
// of the CPU. A device without double precision proves most separated rows and declines the others, which are counted.
func TestTwoFloatSets(t *testing.T) {
	for _, p := range proofs {
		t.Run(p.name, func(t *testing.T) {
			b, c := open(t, p.options), processor(t)
			if want := describeProof(ProofTwoFloats, p.options.disable == 0); b.Device().Proof != want {
				t.Fatalf("proof %q, want %q", b.Device().Proof, want)
			}
			rows := size(300, 1000, 20000)
			for _, name := range setNames {
				for _, q := range []batch.Query{batch.Distance, batch.Collide} {
					t.Run(fmt.Sprintf("%s/%v", name, q), func(t *testing.T) {
						lib, pairs := set(t, name, 0, rows)
						job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: q}}
						before := b.Stats().Declined
						rep := run(t, job, dispatch.Options{}, b, c)
						after := b.Stats().Declined
						rowcheck.Audit(t, job)
						want := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: q}}
						wantRep := run(t, want, dispatch.Options{}, c)
						if q == batch.Distance {
							compare(t, job, job.Results, want.Results)
						}
						if rep.Counts[batch.Undecided] > wantRep.Counts[batch.Undecided] ||
							rep.Counts[batch.Invalid] != 0 {
							t.Errorf("statuses %v, on the CPU %v", rep.Counts, wantRep.Counts)
						}
						declined := after.Sum() - before.Sum()
						if after.Unknown != 0 || declined != int64(rep.Declined()) {
							t.Errorf("declined %+v, before %+v, report %d", after, before, rep.Declined())
						}
						t.Logf("%d of %d rows separated, %d declined", rep.Counts[batch.Separated], rows, declined)
					})
				}
			}
		})
	}
}

// meshes is where scanned objects lie, next to the project. They are not part of it.
var meshes = filepath.Join("..", "..", "shared", "data", "ycb")

// TestTwoFloatMillion: with proofs in sums of two floats, of a million mixed rows and a hundred thousand of every other
// set, those of adversarial pairs and of scanned objects included, the audit refutes none, and none is undecided.
func TestTwoFloatMillion(t *testing.T) {
	need.Full(t, "TestTwoFloatSets audits fewer rows")
	const portion = 100_000
	for _, p := range proofs {
		t.Run(p.name, func(t *testing.T) {
			b, c := openSpecialised(t, p.options), processor(t)
			for _, name := range append([]string{"mesh"}, setNames...) {
				portions := 1
				if name == "mixed" {
					portions = 10
				}
				t.Run(name, func(t *testing.T) {
					o := generate.Options{Shapes: 256}
					if name == "mesh" {
						if _, err := os.Stat(meshes); err != nil {
							t.Skip("SKIPPED: no scanned objects in ../shared/data/ycb, seen from the project's root")
						}
						o = generate.Options{Meshes: []string{meshes}}
					}
					for seed := range portions {
						g, err := generate.New(name, uint64(seed+1), o)
						if err != nil {
							t.Fatal(err)
						}
						pairs := batch.NewPairs(portion)
						g.Fill(pairs, 0)
						for _, q := range []batch.Query{batch.Distance, batch.Penetration, batch.Collide} {
							t.Run(fmt.Sprintf("%v %d", q, seed+1), func(t *testing.T) {
								twoFloatRows(t, &batch.Job{Library: g.Library(), Input: pairs,
									Options: batch.Options{Query: q}}, b, c)
							})
						}
					}
				})
			}
		})
	}
}

// twoFloatRows answers and audits a job, whose rows all have an answer.
func twoFloatRows(t *testing.T, job *batch.Job, backends ...dispatch.Backend) {
	rep := run(t, job, dispatch.Options{}, backends...)
	audit := rowcheck.Audit(t, job)
	if n := audit.Undecided() + audit.Status.Invalid; n > 0 {
		t.Errorf("%d rows undecided or invalid: %v", n, rep.Counts)
	}
	t.Logf("%d rows: %v, %d declined, %d refuted, %d undecided", audit.Rows, rep.Counts, rep.Declined(), audit.Wrong(),
		audit.Undecided())
}
