package tests

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dataset"
	"clearance/dataset/generate"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/kernels"
	"clearance/tests/conformance"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

var update = flag.Bool("update", false, "write the golden answers anew (and the golden pairs, if they are not there)")

var (
	goldenShapes  = filepath.Join("testdata", "golden_shapes.json")
	goldenPairs   = filepath.Join("testdata", "golden_pairs.json")
	goldenAnswers = filepath.Join("testdata", "golden_answers.json")
)

// goldenPair is one fixed pair.
type goldenPair struct {
	Name      string     `json:"name"`
	ShapeA    int32      `json:"shape_a"`
	ShapeB    int32      `json:"shape_b"`
	PositionA [3]float64 `json:"position_a"`
	RotationA [4]float64 `json:"rotation_a"`
	PositionB [3]float64 `json:"position_b"`
	RotationB [4]float64 `json:"rotation_b"`
}

// goldenAnswer is the answer of one pair to one question. Distance and gap are left
// out where there is none.
type goldenAnswer struct {
	Status   string   `json:"status"`
	Distance *float64 `json:"distance,omitempty"`
	Gap      *float64 `json:"gap,omitempty"`
}

// goldenFile holds the answers by question, one for each pair.
type goldenFile struct {
	Arch    string                    `json:"arch"` // of the machine that wrote it
	Answers map[string][]goldenAnswer `json:"answers"`
}

var goldenQuestions = map[string]batch.Options{
	"distance single":          {},
	"distance double":          {Precision: batch.Double},
	"distance double nesterov": {Precision: batch.Double, Method: batch.Nesterov},
	"penetration single":       {Query: batch.Penetration},
	"penetration double":       {Query: batch.Penetration, Precision: batch.Double},
	"collide single":           {Query: batch.Collide},
}

// TestGolden compares the answers of fixed pairs of all kinds with those on file, so
// that a change of any answer is noticed. The inputs are on file too: no change of a
// generator touches them. A change that is meant is put on file with
//
//	go test ./tests -run TestGolden -update
func TestGolden(t *testing.T) {
	if *update {
		createGolden(t)
	}
	s := readGolden(t)
	var file goldenFile
	if !*update {
		readJSON(t, goldenAnswers, &file)
		if len(file.Answers) != len(goldenQuestions) {
			t.Fatalf("%s answers %d questions, want %d; run with -update", goldenAnswers, len(file.Answers),
				len(goldenQuestions))
		}
	}
	answers := map[string][]goldenAnswer{}
	for name, o := range goldenQuestions {
		answers[name] = s.answers(t, kernels.Off, o)
		if *update {
			continue
		}
		t.Run(name, func(t *testing.T) { s.compare(t, file.Arch, file.Answers[name], answers[name]) })
		for _, kernels := range kernels.Supported() {
			// Other arithmetic, other last digits: as on another processor.
			t.Run(name+"/"+kernels, func(t *testing.T) {
				s.compare(t, kernels, file.Answers[name],
					s.answers(t, kernels, o))
			})
		}
	}
	if *update {
		writeLines(t, goldenAnswers, goldenFile{runtime.GOARCH, answers})
	}
}

// goldenSet is the input on file.
type goldenSet struct {
	lib   *batch.Library
	pairs *batch.Pairs
	names []string
}

func readGolden(t *testing.T) *goldenSet {
	t.Helper()
	shapes, names, err := dataset.ReadShapes(goldenShapes)
	if err != nil {
		t.Fatal(err)
	}
	s := &goldenSet{}
	if s.lib, err = batch.NewLibrary(shapes, names); err != nil {
		t.Fatal(err)
	}
	var list []goldenPair
	readJSON(t, goldenPairs, &list)
	s.pairs = batch.NewPairs(len(list))
	kinds := map[geom.Kind]bool{}
	for i, g := range list {
		s.names = append(s.names, g.Name)
		s.pairs.SetRow(i, &batch.Row{ShapeA: g.ShapeA, ShapeB: g.ShapeB, PoseA: pose(g.PositionA, g.RotationA),
			PoseB: pose(g.PositionB, g.RotationB)})
		kinds[s.lib.Shape(g.ShapeA).Kind()], kinds[s.lib.Shape(g.ShapeB).Kind()] = true, true
	}
	for _, f := range conformance.Forms() {
		if !kinds[f.Kind] {
			t.Errorf("no golden pair has a %v", f.Kind)
		}
	}
	if len(list) < 200 {
		t.Errorf("%d golden pairs, want at least 200", len(list))
	}
	return s
}

func pose(p [3]float64, q [4]float64) geom.Pose {
	return geom.Pose{Position: r3.Vec{X: p[0], Y: p[1], Z: p[2]}, Rotation: quat.Number{Real: q[0], Imag: q[1],
		Jmag: q[2], Kmag: q[3]}}
}

// answers asks the CPU with one of its SIMD kernels, or with none ("off"), whose
// answers are the ones on file.
func (s *goldenSet) answers(t *testing.T, kernels string, o batch.Options) []goldenAnswer {
	res := answerWith(t, cpu.Options{Workers: 1, SIMD: kernels}, s.lib, s.pairs, o, 0)
	list := make([]goldenAnswer, res.N)
	for i := range list {
		list[i].Status = batch.Status(res.Status()[i]).String()
		if res.Distance().Len() != 0 && res.Gap() != nil && !math.IsNaN(res.Distance().At(i)) {
			d, gap := res.Distance().At(i), float64(res.Gap()[i])
			list[i].Distance, list[i].Gap = &d, &gap
		}
	}
	return list
}

// compare holds answers to those on file. On a machine whose arithmetic is that of the
// one that wrote them they agree to 1e-12 of the size of the pair, gaps included.
// Elsewhere (compilers for some processors fuse multiplication and addition) they
// agree within both gaps, and contact that is no more than a gap may have another
// status.
func (s *goldenSet) compare(t *testing.T, arch string, want, got []goldenAnswer) {
	if len(want) != len(got) {
		t.Fatalf("%d answers on file, %d pairs", len(want), len(got))
	}
	strict := arch == runtime.GOARCH && !testkit.Fuses()
	changed := 0
	for i := range want {
		w, g := &want[i], &got[i]
		var row batch.Row
		s.pairs.Row(i, &row)
		if g.same(w, s.lib.PairSize(row.ShapeA, row.ShapeB), strict) {
			continue
		}
		if changed++; changed <= 20 {
			t.Errorf("pair %d, %s: on file %v, now %v", i, s.names[i], w, g)
		}
	}
	if changed > 0 {
		t.Errorf("%d of %d answers changed; if that is meant, run go test ./tests -run TestGolden -update", changed,
			len(want))
	}
}

func (g *goldenAnswer) same(w *goldenAnswer, size float64, strict bool) bool {
	if (g.Distance == nil) != (w.Distance == nil) || (g.Gap == nil) != (w.Gap == nil) {
		return false
	}
	if g.Distance == nil {
		return g.Status == w.Status
	}
	off := math.Abs(*g.Distance - *w.Distance)
	if strict {
		// A half-space against a point has no size; its distances are of metres.
		tol := 1e-12 * math.Max(size, math.Abs(*w.Distance))
		return g.Status == w.Status && off <= tol && math.Abs(*g.Gap-*w.Gap) <= tol
	}
	within := *g.Gap + *w.Gap
	return off <= within && (g.Status == w.Status || math.Abs(*w.Distance) <= within)
}

func (g *goldenAnswer) String() string {
	if g.Distance == nil {
		return g.Status
	}
	return fmt.Sprintf("%s, %.17g ± %.3g", g.Status, *g.Distance, *g.Gap)
}

// TestGoldenCatchesChange: what TestGolden lets pass and what not.
func TestGoldenCatchesChange(t *testing.T) {
	number := func(status string, d, gap float64) *goldenAnswer {
		return &goldenAnswer{Status: status, Distance: &d, Gap: &gap}
	}
	for _, tt := range []struct {
		name            string
		was, is         *goldenAnswer
		strict, lenient bool
	}{
		{"no change", number("separated", 0.5, 1e-13), number("separated", 0.5, 1e-13), true, true},
		{"rounding", number("separated", 0.5, 1e-13), number("separated", 0.5+1e-15, 1e-13), true, true},
		{"another depth within the gaps", number("penetrating", -0.5, 1e-8), number("penetrating", -0.5-5e-9, 1e-8),
			false, true},
		{"a wider gap", number("separated", 0.5, 1e-13), number("separated", 0.5, 1e-11), false, true},
		{"another distance", number("separated", 0.5, 1e-13), number("separated", 0.5+1e-11, 1e-13), false, false},
		{"another status", number("touching", 1e-16, 1e-15), number("separated", 1e-16, 1e-17), false, true},
		{"a wrong status", number("separated", 0.5, 1e-13), number("penetrating", 0.5, 1e-13), false, false},
		{"NaN", number("separated", 0.5, 1e-13), number("separated", math.NaN(), 1e-13), false, false},
		{"no answer", number("separated", 0.5, 1e-13), &goldenAnswer{Status: "undecided"}, false, false},
	} {
		if got := tt.is.same(tt.was, 1, true); got != tt.strict {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.strict)
		}
		if got := tt.is.same(tt.was, 1, false); got != tt.lenient {
			t.Errorf("%s, on another machine: %t, want %t", tt.name, got, tt.lenient)
		}
	}
}

// createGolden writes shapes and pairs if they are not there: rows of the conformance
// suite, and two of each adversarial case.
func createGolden(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(goldenPairs); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err := os.MkdirAll("testdata", 0o777); err != nil {
		t.Fatal(err)
	}
	rows, err := conformance.NewRows(11, 53)
	if err != nil {
		t.Fatal(err)
	}
	adversarial, err := generate.New("adversarial", 11, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	extra := batch.NewPairs(2 * len(generate.Cases()))
	adversarial.Fill(extra, 0)

	var shapes []geom.Shape
	var names []string
	var list []goldenPair
	add := func(lib *batch.Library, in *batch.Pairs, name func(i int) string) {
		first := int32(len(shapes))
		for i := range lib.Len() {
			shapes, names = append(shapes, lib.Shape(int32(i))), append(names, lib.Name(int32(i)))
		}
		for i := range in.Len() {
			g := goldenPair{Name: name(i), ShapeA: first + in.ShapeA[i], ShapeB: first + in.ShapeB[i]}
			copy(g.PositionA[:], in.PositionA[3*i:])
			copy(g.PositionB[:], in.PositionB[3*i:])
			copy(g.RotationA[:], in.RotationA[4*i:])
			copy(g.RotationB[:], in.RotationB[4*i:])
			list = append(list, g)
		}
	}
	add(rows.Library, rows.Pairs, func(i int) string {
		_, what, _ := strings.Cut(rows.Describe(i), "(")
		return strings.TrimSuffix(what, ")")
	})
	add(adversarial.Library(), extra, func(i int) string {
		return fmt.Sprintf("%s × %s, %s", adversarial.Library().Name(extra.ShapeA[i]),
			adversarial.Library().Name(extra.ShapeB[i]),
			generate.Cases()[i%len(generate.Cases())])
	})
	if err := dataset.WriteShapes(goldenShapes, shapes, names); err != nil {
		t.Fatal(err)
	}
	writeLines(t, goldenPairs, list)
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// writeLines writes JSON with one pair or answer a line, so that a difference shows
// what changed.
func writeLines(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(`},{`, "},\n{", `[{`, "[\n{", `],"`, "],\n\"").Replace(string(data))
	if err := os.WriteFile(path, []byte(text+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
}
