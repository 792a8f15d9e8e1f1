package conformance

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/kernels"
	"clearance/tests/need"
)

var update = flag.Bool("update", false, "write docs/support.md anew")

// page is the support matrix of the back ends that every machine has.
var page = &Page{
	Path:     filepath.Join("..", "..", "docs", "support.md"),
	Title:    "What is supported",
	Command:  "go test ./tests/conformance -run TestSupportMatrix -update",
	Backends: []string{"cpu", "ref"},
	Runs:     "; the back end cpu ran with three workers",
	Note:     "The back end vulkan, which needs a driver, has [a page of its own](support-vulkan.md).",
	Solvers:  "The back end cpu ran with its portable kernels, which every build with a C compiler has.",
}

// portable is the variant of the kernels that every build with a C compiler has.
const portable = "portable"

// kernelMethods are the methods that kernels serve. All others the back end cpu hands to the reference
// solvers, whatever the variant of the kernels.
var kernelMethods = []batch.Method{batch.Auto, batch.GJK, batch.RTR}

// open returns the back end cpu with one variant of the kernels.
func open(t *testing.T, kernels string) dispatch.Backend {
	t.Helper()
	b, err := cpu.New(cpu.Options{Workers: 3, SIMD: kernels})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// TestSupportMatrix runs the suite on every back end there is and compares the matrix with the
// committed page, or writes the page with -update. The reference and the portable kernels have all
// rows and all methods, the other variants of the kernels one row in four and the methods they serve.
func TestSupportMatrix(t *testing.T) {
	var m Matrix
	t.Run("ref", func(t *testing.T) {
		Run(t, cpu.NewReference(), Options{Matrix: &m, Solvers: &m, SolversOf: "ref"})
		Rollouts(t, cpu.NewReference(), &m)
	})
	variants := append(kernels.Supported(), kernels.Off)
	whole := portable
	if len(variants) == 1 {
		whole = kernels.Off
	}
	for _, kernels := range variants {
		t.Run("cpu, kernels "+kernels, func(t *testing.T) {
			switch {
			case kernels == whole:
				Run(t, open(t, kernels), Options{Matrix: &m, Solvers: &m, SolversOf: "cpu"})
				Rollouts(t, open(t, kernels), &m)
			case need.All():
				Run(t, open(t, kernels), Options{})
			default:
				Run(t, open(t, kernels), Options{Stride: 4, Methods: kernelMethods})
			}
		})
	}
	kernels := slices.Contains(kernels.Supported(), portable)
	switch {
	case *update && (testing.Short() || !kernels):
		t.Fatal(
			"not written: the page is written from all rows, without -short, and names solvers of the kernels, which " +
				"need a C compiler",
		)
	case *update:
		m.Update(t, page)
	case testing.Short():
		m.Compare(t, page, Nothing)
	case !kernels: // there are none to name the solvers of
		m.Compare(t, page, Tables)
	default:
		m.Compare(t, page, Whole)
	}
}

// TestEveryKindHasAForm: every kind is put to the test.
func TestEveryKindHasAForm(t *testing.T) {
	tested := map[geom.Kind]bool{}
	for _, f := range Forms() {
		tested[f.Kind] = true
		if err := f.shape.Validate(); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if f.Flat != flat(f.shape) {
			t.Errorf("%s: inradius %g, said to be flat: %t", f.Name, f.shape.Inradius(), f.Flat)
		}
	}
	for k := range geom.KindCount {
		if !tested[k] {
			t.Errorf("no form of %v; add one to Forms", k)
		}
	}
}

// TestEveryKindHasAKernel: every variant of the kernels answers separated pairs of every kind with every kind,
// in every query. A kind that is forgotten in kernels/table.go is answered by package ref, with good answers, so
// nothing else notices.
func TestEveryKindHasAKernel(t *testing.T) {
	forms := Forms()
	all, names := shapes(forms)
	lib, err := batch.NewLibrary(all, names)
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range kernels.Supported() {
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
							"kernels/table.go, or to NoKernel with a reason",
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

// The suite knows the answers to every query that is answered.
func TestEveryQueryIsKnown(t *testing.T) {
	for q, k := range factsOf {
		switch answered := batch.Query(q).Info().Answered; {
		case answered != (k != nil):
			t.Errorf("query %v: answered is %t, and the table has a row: %t", batch.Query(q), answered, k != nil)
		case k != nil && (k.interval == nil || k.truth == nil || k.status == nil):
			t.Errorf("query %v: a function of its row is missing", batch.Query(q))
		}
	}
}

// TestRollouts asks about worlds of bodies with the kernels that the processor has.
func TestRollouts(t *testing.T) {
	var m Matrix
	Rollouts(t, open(t, ""), &m)
	if n := len(m.rollouts); n != 4*2*4+1 {
		t.Errorf("%d entries of rollouts", n)
	}
	var text strings.Builder
	m.writeRollouts(&text, []string{"cpu"})
	for _, line := range []string{
		"| cpu, collide | single, double | single, double | single, double | single, double |",
		"| cpu, sweep | double |  |  |  |",
	} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("the page lacks %q:\n%s", line, &text)
		}
	}
}

// TestRolloutFaults: rows that contradict the list of parts are found, by rows and by worlds.
func TestRolloutFaults(t *testing.T) {
	d := dispatch.New(open(t, ""))
	table := bodies(t)
	scene := rolloutScene(table)
	o := batch.Options{Precision: batch.Double, Columns: batch.ColDistance | batch.ColGap | batch.ColStatus}
	for name, change := range map[string]func(rows []known){
		"none":          nil,
		"lower":         func(rows []known) { rows[40].lower += 100; rows[40].upper += 100 },
		"contact":       func(rows []known) { rows[40].contact = !rows[40].contact },
		"invalid":       func(rows []known) { rows[40].invalid = true },
		"least missing": func(rows []known) { rows[41].lower, rows[41].upper = -100, -99 },
	} {
		rows := knownRows(t, d, table, scene, o)
		if change != nil {
			change(rows)
		}
		failed := 0
		for _, s := range selections {
			if rolloutOf(d, table, scene, o, s.selection, rows) != nil {
				failed++
			}
		}
		if (failed > 0) != (change != nil) {
			t.Errorf("%s: %d selections failed", name, failed)
		}
	}
}
