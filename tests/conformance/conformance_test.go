package conformance

import (
	"flag"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clearance/cpu"
	"clearance/cpu/simd"
	"clearance/dispatch"
)

var update = flag.Bool("update", false, "write docs/support.md anew")

// page is the support matrix of the back ends that every machine has.
var page = &Page{
	Path:     filepath.Join("..", "..", "docs", "support.md"),
	Title:    "What is supported",
	Command:  "go test ./tests/conformance -run TestSupportMatrix -update",
	Backends: []string{"cpu", "ref"},
	Runs:     "; the back end cpu ran with one worker and with three",
	Note:     "The back end vulkan, which needs a driver, has [a page of its own](support-vulkan.md).",
	Solvers:  "The back end cpu ran with its portable kernels, which every build with a C compiler has.",
}

// portable is the variant of the kernels that every build with a C compiler has.
const portable = "portable"

// backends returns what the suite runs on, by the name of the sub-test. The CPU back
// end is there with one worker and with several.
func backends(t *testing.T) map[string]dispatch.Backend {
	t.Helper()
	list := map[string]dispatch.Backend{"ref": cpu.NewReference()}
	for name, workers := range map[string]int{"cpu, one worker": 1, "cpu, three workers": 3} {
		b, err := cpu.New(cpu.Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		list[name] = b
	}
	for _, kernels := range append(simd.Supported(), simd.Off) {
		b, err := cpu.New(cpu.Options{Workers: 2, SIMD: kernels})
		if err != nil {
			t.Fatal(err)
		}
		list["cpu, kernels "+kernels] = b
	}
	t.Cleanup(func() {
		for _, b := range list {
			b.Close()
		}
	})
	return list
}

// TestSupportMatrix runs the suite on every back end there is and compares the
// matrix with the committed page, or writes the page with -update.
func TestSupportMatrix(t *testing.T) {
	var m Matrix
	list := backends(t)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		o := Options{Matrix: &m}
		if strings.Contains(name, "kernels") {
			o = Options{Stride: 4} // the page is the same for all of them
		}
		switch name { // what runs wherever there is a C compiler, and what runs everywhere
		case "ref":
			o.Solvers, o.SolversOf = &m, "ref"
		case "cpu, kernels " + portable:
			o = Options{Solvers: &m, SolversOf: "cpu"}
		}
		t.Run(name, func(t *testing.T) { Run(t, list[name], o) })
	}
	kernels := slices.Contains(simd.Supported(), portable)
	switch {
	case *update && (testing.Short() || !kernels):
		t.Fatal("not written: the page is written from all rows, without -short, and names solvers of the kernels, which need a C compiler")
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
