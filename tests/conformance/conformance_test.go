package conformance

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/cpu/simd"
	"clearance/dispatch"
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
	variants := append(simd.Supported(), simd.Off)
	whole := portable
	if len(variants) == 1 {
		whole = simd.Off
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
	kernels := slices.Contains(simd.Supported(), portable)
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
