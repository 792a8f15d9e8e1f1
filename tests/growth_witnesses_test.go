package tests

import (
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dataset/generate"
	"clearance/internal/testkit/rowcheck"
	"clearance/kernels"
)

// thinTriangles are rows of the set adversarial, by seed, in which the axis meets a triangle that is some 10⁶ times as
// long as wide: needles and plates. Weights from its areas leave the point of the witnesses off the axis.
var thinTriangles = []struct {
	seed uint64
	row  int
}{
	{770182, 10892}, {770190, 24500}, {770229, 26152}, {770242, 15386}, {770246, 25718},
	{770248, 45878}, {770251, 6510}, {770282, 6328}, {770292, 4396}, {770296, 47866}, {770317, 51100},
	{770324, 55762}, {770339, 57176}, {770360, 54194}, {770366, 39480}, {770369, 15330},
	{770387, 42658}, {770407, 18354}, {770411, 12880}, {770416, 28826}, {770436, 59220},
	{770466, 34370}, {770473, 8806}, {770492, 4522}, {770558, 35266}, {770642, 45444},
	{770657, 50218}, {770657, 32816}, {770658, 41818}, {770660, 22246}, {770715, 42238},
	{770716, 43134}, {770721, 29484}, {770733, 48370}, {770767, 15344}, {770783, 34930},
	{770783, 33124}, {770794, 58058}, {770798, 2324}, {770833, 15008},
}

// TestGrowthWitnessesOfThinTriangles: the witnesses of these rows prove the upper bound, on every variant of the
// kernels and by the reference solvers.
func TestGrowthWitnessesOfThinTriangles(t *testing.T) {
	backends := map[string]cpu.Options{kernels.Off: {SIMD: kernels.Off}}
	for _, v := range kernels.Supported() {
		backends[v] = cpu.Options{SIMD: v}
	}
	o := batch.Options{Query: batch.Growth, Precision: batch.Double, Columns: batch.AllColumns}
	for _, c := range thinTriangles {
		g, err := generate.New("adversarial", c.seed, generate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		pairs := batch.NewPairs(1)
		g.Fill(pairs, c.row)
		for name, backend := range backends {
			out := answerWith(t, backend, g.Library(), pairs, o, 0)
			if s := batch.Status(out.Status()[0]); s >= batch.Undecided {
				t.Errorf("%s, seed %d, row %d: %v", name, c.seed, c.row, s)
			}
			rowcheck.Audit(t, &batch.Job{Library: g.Library(), Input: pairs, Options: o, Results: out})
		}
	}
}
