package dataset

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestReadColumns reads back columns of every type and width, whose widths the file states, of one row and of many.
func TestReadColumns(t *testing.T) {
	specs := []ColumnSpec{{Name: "real", Width: 5}, {Name: "one", Width: 1}, {Name: "ints", Width: 7, Ints: true},
		{Name: "many", Width: 3, Ints: true}, {Name: "code", Width: 1, Codes: true},
		{Name: "count", Width: 1, Ints: true},
		{Name: "wide", Width: 20_000}}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, ext := range []string{".npz", ".parquet"} {
		for _, n := range []int{1, 3, 1000} {
			specs := specs
			if n > 3 {
				specs = specs[:6]
			}
			path := filepath.Join(t.TempDir(), "f"+ext)
			w, err := CreateColumns(path, specs, int64(n))
			if err != nil {
				t.Fatal(err)
			}
			var values []any
			for _, s := range specs {
				switch {
				case s.Codes:
					v := make([]uint8, n)
					for i := range v {
						v[i] = uint8(rng.IntN(5))
					}
					values = append(values, v)
				case s.Ints:
					v := make([]int32, n*s.Width)
					for i := range v {
						v[i] = int32(rng.IntN(9)) - 1
						if s.Name == "many" {
							v[i] = int32(rng.Uint32())
						}
					}
					values = append(values, v)
				default:
					v := make([]float64, n*s.Width)
					for i := range v {
						v[i] = rng.NormFloat64()
					}
					values = append(values, v)
				}
			}
			w.Describe("key", "text")
			if err := w.Write(n, values...); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			var any []ColumnSpec
			for _, s := range specs {
				s.Width = 0
				any = append(any, s)
			}
			for _, ask := range [][]ColumnSpec{any, specs} {
				got, err := ReadColumns(path, ask)
				if err != nil {
					t.Fatalf("%s, %d rows: %v", ext, n, err)
				}
				if got.Rows != n || got.Metadata["key"] != "text" || got.Has("other") {
					t.Errorf("%s: %d rows, metadata %v", ext, got.Rows, got.Metadata)
				}
				for i, s := range specs {
					var same bool
					switch v := values[i].(type) {
					case []uint8:
						same = slices.Equal(v, got.Codes(s.Name))
					case []int32:
						same = slices.Equal(v, got.Ints(s.Name))
					case []float64:
						same = slices.Equal(v, got.Reals(s.Name))
					}
					if !same || got.Width(s.Name) != s.Width {
						t.Errorf("%s, %d rows: column %s of width %d differs", ext, n, s.Name, got.Width(s.Name))
					}
				}
			}
			bad := slices.Clone(specs)
			bad[0].Width = 4
			if _, err := ReadColumns(path, bad); err == nil || !strings.Contains(err.Error(), "real") {
				t.Errorf("%s: another width is read: %v", ext, err)
			}
			if _, err := ReadColumns(path, specs[1:]); err == nil || !strings.Contains(err.Error(), "real") {
				t.Errorf("%s: an unknown column is read: %v", ext, err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data[:len(data)*2/3], 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadColumns(path, specs); err == nil {
				t.Errorf("%s: a truncated file is read", ext)
			}
		}
	}
}

// TestPhysics writes what bodies state for time steps and reads it back.
func TestPhysics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.json")
	text := `{"version": 1, "shapes": [{"kind": "sphere", "radius": 1}], "bodies": [
		{"parts": [{"shape": 0}], "fixed": true, "friction": 0},
		{"parts": [{"shape": 0}], "mass": 2.5, "inertia": [1, 2, 3], "center_of_mass": [0, 0, 0.5],
		 "restitution": 0.25},
		{"parts": [{"shape": 0}], "density": 1e3},
		{"parts": [{"shape": 0}, {"shape": 0, "friction": 0.3, "restitution": 1}]}],
		"surfaces": [{"bodies": [0, 3], "parts": [null, 1], "friction": 0.1}, {"bodies": [1, 2], "restitution": 0}]}`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := ReadScene(path)
	if err != nil {
		t.Fatal(err)
	}
	p := s.Physics
	if len(p) != 4 || !p[0].Fixed || *p[0].Friction != 0 || *p[1].Mass != 2.5 || *p[1].Restitution != 0.25 ||
		!slices.Equal(p[1].Inertia, []float64{1, 2, 3, 0, 0, 0}) || p[1].Center[2] != 0.5 || *p[2].Density != 1000 ||
		!p[3].Stated() || p[3].Parts[0].Friction != nil || *p[3].Parts[1].Friction != 0.3 || p[2].Parts != nil ||
		!p[0].Stated() || p[1].Density != nil {
		t.Errorf("physics %+v", p)
	}
	again := filepath.Join(t.TempDir(), "t.json")
	if err := WritePhysics(again, s.Bodies, s.Pairs, p, s.Surfaces); err != nil {
		t.Fatal(err)
	}
	back, err := ReadScene(again)
	if err != nil {
		t.Fatal(err)
	}
	if q := back.Physics; len(q) != 4 || !q[0].Fixed || *q[1].Mass != 2.5 ||
		!slices.Equal(q[1].Inertia, p[1].Inertia) || *q[2].Density != 1000 || !reflect.DeepEqual(q[3], p[3]) {
		t.Errorf("physics written and read %+v", q)
	}
	if len(s.Surfaces) != 2 || s.Surfaces[0].PartA != -1 || s.Surfaces[0].PartB != 1 || s.Surfaces[1].Friction != nil ||
		!reflect.DeepEqual(back.Surfaces, s.Surfaces) {
		t.Errorf("surfaces %+v, written and read %+v", s.Surfaces, back.Surfaces)
	}
	for _, bad := range []string{`"mass": null`, `"inertia": [1, 2]`, `"center_of_mass": 3`, `"fixed": 1`,
		`"density": "x"`} {
		if err := os.WriteFile(path, []byte(strings.Replace(text, `"mass": 2.5`, bad, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadScene(path); err == nil || !strings.Contains(err.Error(), "body 1") {
			t.Errorf("%s: error %v", bad, err)
		}
	}
}

// TestColumnWriter reads back what it writes, in both formats, and refuses values of other types or lengths.
func TestColumnWriter(t *testing.T) {
	for _, name := range []string{"d.npz", "d.parquet"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := CreateColumns(path, []ColumnSpec{{Name: "d", Width: 12}, {Name: "code", Width: 1, Codes: true}}, 3)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		values := make([]float64, 36)
		for i := range values {
			values[i] = float64(i) / 8
		}
		codes := []uint8{1, 2, 5}
		for _, bad := range [][]any{{values[:24]}, {values[:12], codes[:2]}, {codes, codes}, {values, values}} {
			if w.Write(2, bad...) == nil {
				t.Errorf("%s: %d slices are accepted", name, len(bad))
			}
		}
		w.Describe("derivative", "exact")
		for _, part := range []struct{ lo, hi int }{{0, 2}, {2, 3}} {
			if err := w.Write(part.hi-part.lo, values[12*part.lo:12*part.hi], codes[part.lo:part.hi]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		src, err := openTable(path, w.columns, nil)
		if err != nil {
			t.Fatal(err)
		}
		d, c := make([]float64, 36), make([]uint8, 3)
		if err := src.Read([]any{d, c}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d, values) || !slices.Equal(c, codes) || src.Metadata()["derivative"] != "exact" {
			t.Errorf("%s: read %v, %v, %v", name, d, c, src.Metadata())
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := CreateColumns(filepath.Join(t.TempDir(), "d.npz"), nil, 1); err == nil {
		t.Error("a file without columns is created")
	}
}

// listsOf returns lists of the numbers 0, 1, … of the given lengths, with offsets of 32 or 64 bits.
func listsOf(long bool, lengths ...int) arrow.Array {
	number := arrow.PrimitiveTypes.Float64
	var b array.ListLikeBuilder = array.NewListBuilder(memory.DefaultAllocator, number)
	if long {
		b = array.NewLargeListBuilder(memory.DefaultAllocator, number)
	}
	v, x := b.ValueBuilder().(*array.Float64Builder), 0.0
	for _, n := range lengths {
		b.Append(true)
		for range n {
			v.Append(x)
			x++
		}
	}
	return b.NewArray()
}

// TestArrowLists: lists of one length are vectors in the memory of the column, also those of a slice of it; a list of
// another length is refused by its row, although the sum of the lengths is the same.
func TestArrowLists(t *testing.T) {
	for _, long := range []bool{false, true} {
		a := listsOf(long, 3, 3, 3, 3, 3)
		all, err := arrowVectors(a, 3)
		if err != nil || len(all) != 15 {
			t.Fatalf("%d numbers, %v", len(all), err)
		}
		some, err := arrowVectors(array.NewSlice(a, 1, 4), 3)
		if err != nil || !slices.Equal(some, all[3:12]) || &some[0] != &all[3] {
			t.Errorf("%v, %v, want %v in place", some, err, all[3:12])
		}
		for _, c := range []struct {
			lengths []int
			row     int
		}{{[]int{3, 2, 4, 3}, 1}, {[]int{2, 4, 3, 3}, 0}, {[]int{3, 3, 4, 2}, 2}, {[]int{3, 3}, -1}} {
			_, err := arrowVectors(array.NewSlice(listsOf(long, append([]int{7}, c.lengths...)...), 1,
				int64(len(c.lengths)+1)), 3)
			bad, _ := err.(*rowError)
			if (err != nil) != (c.row >= 0) || bad != nil && bad.row != c.row {
				t.Errorf("lengths %v: %v", c.lengths, err)
			}
		}
	}
}

func BenchmarkArrowLists(b *testing.B) {
	lengths := slices.Repeat([]int{4}, 1<<17)
	a := listsOf(false, lengths...)
	for b.Loop() {
		if _, err := arrowVectors(a, 4); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(lengths)), "ns/row")
}
