package dataset

import (
	"path/filepath"
	"testing"
)

// TestGolden reads what numpy and pyarrow wrote (testdata/make.py): both byte
// orders, int64 and float32, header versions 1 to 3, stored and deflated, plain
// and fixed-size lists, nullable and required, one and several row groups.
func TestGolden(t *testing.T) {
	npz, _ := filepath.Glob("testdata/*.npz")
	parquet, _ := filepath.Glob("testdata/*.parquet")
	if len(npz) != 4 || len(parquet) != 3 {
		t.Fatalf("golden files %v and %v, want 4 and 3", npz, parquet)
	}
	for _, path := range append(npz, parquet...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			p, err := ReadPairs(path)
			if err != nil {
				t.Fatal(err)
			}
			if p.Len() != 11 {
				t.Fatalf("%d pairs, want 11", p.Len())
			}
			for i := range p.Len() {
				if p.ShapeA[i] != int32(i) || p.ShapeB[i] != int32(100-i) {
					t.Errorf("row %d: shapes %d and %d", i, p.ShapeA[i], p.ShapeB[i])
				}
				for _, c := range []struct {
					name  string
					got   []float64
					width int
					start float64
				}{
					{"position_a", p.PositionA, 3, 0.5}, {"position_b", p.PositionB, 3, -20},
					{"rotation_a", p.RotationA, 4, 1}, {"rotation_b", p.RotationB, 4, -7.25},
				} {
					for j := range c.width {
						if want := c.start + float64(i) + float64(j)/8; c.got[c.width*i+j] != want {
							t.Errorf("row %d: %s[%d] = %g, want %g", i, c.name, j, c.got[c.width*i+j], want)
						}
					}
				}
			}
		})
	}
}
