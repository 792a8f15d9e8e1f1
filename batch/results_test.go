package batch

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// present returns the set of columns that have memory.
func present(r *Results) (c Columns) {
	for _, x := range EveryColumn() {
		if r.Column(x).Len() > 0 {
			c |= x
		}
	}
	return c
}

func TestColumnSelection(t *testing.T) {
	for c := Columns(1); c <= anyColumns; c++ {
		for p := range PrecisionCount {
			r := NewResults(70, &Options{Columns: c, Precision: p})
			if got := present(r); got != c {
				t.Fatalf("%v precision: asked for %v, got %v", p, c, got)
			}
			if err := r.CheckShape(); err != nil {
				t.Fatal(err)
			}
			// Every method that writes a row accepts absent columns.
			r.Put(69, &Answer{})
			r.PutFailure(0, Invalid)
			r.PackBits(make([]uint8, 70))
		}
	}
	for q, want := range map[Query]Columns{Distance: AllColumns, Penetration: AllColumns,
		Collide: ColStatus | ColBits, Growth: AllColumns} {
		if got := present(NewResults(1, &Options{Query: q})); got != want {
			t.Errorf("default columns of %v: %v, want %v", q, got, want)
		}
	}
}

// A row without an answer never looks separated, whether its memory is new or reused.
func TestUnansweredRows(t *testing.T) {
	for p := range PrecisionCount {
		r := NewResults(70, &Options{Columns: anyColumns, Precision: p})
		check := func(what string) {
			t.Helper()
			for i := range r.N {
				if Status(r.Status()[i]) != Undecided || !math.IsNaN(r.Distance().At(i)) ||
					!math.IsInf(float64(r.Gap()[i]),
						1) ||
					!math.IsNaN(r.Normal().At(3*i+2)) || !math.IsNaN(r.WitnessA().At(3*i)) ||
					!math.IsNaN(r.WitnessB().At(3*i+1)) || !math.IsNaN(r.Point().At(3*i+2)) ||
					r.Iterations()[i] != 0 || Solver(r.Method()[i]) != SolverNone || !r.Bit(i) {
					t.Fatalf("%s: row %d looks answered", what, i)
				}
			}
			if r.Bits()[1]>>6 != 0 {
				t.Errorf("%s: bits beyond the last row are set", what)
			}
		}
		check("new")
		for i := range r.N {
			r.Put(i, &Answer{Status: Separated, Distance: 1, Lower: 1, Upper: 1, Iterations: 3, Solver: SolverEPA})
		}
		r.PackBits(r.Status())
		if r.Bit(0) || r.Status()[0] != uint8(Separated) || r.Method()[0] != uint8(SolverEPA) {
			t.Error("Put and PackBits have no effect")
		}
		r.Reset()
		check("reset")
	}
}

func TestPut(t *testing.T) {
	a := &Answer{
		Status: Penetrating, Distance: -0.1, Lower: -0.1 - 1e-9, Upper: -0.1, Iterations: 70000,
		Normal: r3.Vec{X: 1}, WitnessA: r3.Vec{X: 1, Y: 2, Z: 3}, WitnessB: r3.Vec{X: 4, Y: 5, Z: 6},
		Point: r3.Vec{X: 7, Y: 8, Z: 9},
	}
	for p := range PrecisionCount {
		r := NewResults(3, &Options{Precision: p, Columns: anyColumns})
		r.Put(1, a)
		if Status(r.Status()[1]) != Penetrating || r.Iterations()[1] != MaxIterations {
			t.Errorf("%v: status %d, iterations %d", p, r.Status()[1], r.Iterations()[1])
		}
		for k, want := range []float64{1, 0, 0} {
			if r.Normal().At(3+k) != want || r.WitnessA().At(3+k) != float64(k+1) ||
				r.WitnessB().At(3+k) != float64(k+4) ||
				r.Point().At(3+k) != float64(k+7) {
				t.Errorf("%v: component %d of a vector is wrong", p, k)
			}
		}
		if !math.IsNaN(r.Distance().At(0)) || !math.IsNaN(r.Distance().At(2)) {
			t.Errorf("%v: neighbouring rows were written", p)
		}
	}
}

// The stored interval contains both bounds exactly, in either precision, and is no wider
// than the bounds and the rounding of the distance and the gap require.
func TestGapHoldsTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(x) }
	for range 20000 {
		d := (rng.Float64() - 0.3) * math.Pow(10, float64(rng.IntN(20)-12))
		below := rng.Float64() * math.Pow(10, float64(rng.IntN(24)-18))
		above := 0.0
		if rng.IntN(2) == 0 {
			above = rng.Float64() * below
		}
		a := &Answer{Distance: d, Lower: d - below, Upper: d + above}
		for p := range PrecisionCount {
			r := NewResults(1, &Options{Precision: p, Columns: ColDistance | ColGap})
			r.Put(0, a)
			stored, gap := exact(r.Distance().At(0)), exact(float64(r.Gap()[0]))
			lo, hi := new(big.Float).Sub(stored, gap), new(big.Float).Add(stored, gap)
			if lo.Cmp(exact(a.Lower)) > 0 || hi.Cmp(exact(a.Upper)) < 0 {
				t.Fatalf("%v: %g in [%g, %g] is stored as %v ± %v", p, d, a.Lower, a.Upper, stored, gap)
			}
			half := 0.0
			if p == Single {
				half = math.Abs(d)*0x1p-24 + 0x1p-150
			}
			width := max(d-a.Lower, a.Upper-d)
			if limit := (width+half)*(1+0x1p-22) + 0x1p-148; float64(r.Gap()[0]) > limit {
				t.Fatalf("%v: gap %g for bounds %g apart, want at most %g", p, r.Gap()[0], width, limit)
			}
		}
	}
}

func TestGapOfOddBounds(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		d, lower, upper float64
		want            float64
	}{
		{1, 1, 1, 0},
		{1, nan, 1, inf}, {1, 0, nan, inf}, {nan, 0, 1, inf},
		{1, -inf, 1, inf}, {1, 1, inf, inf},
		{1, 2, 0, inf}, // lower bound above the upper one
		{1e300, 1e300, 1e300, inf},
	} {
		r := NewResults(1, &Options{})
		r.Put(0, &Answer{Distance: c.d, Lower: c.lower, Upper: c.upper})
		if got := float64(r.Gap()[0]); got != c.want {
			t.Errorf("distance %g in [%g, %g]: gap %g, want %g", c.d, c.lower, c.upper, got, c.want)
		}
	}
}

func TestRoundUp32(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want float32
	}{
		{0, 0}, {1, 1}, {1 + 0x1p-50, 1 + 0x1p-23}, {0.1, 0.1}, {-1 - 0x1p-50, -1},
		{1e-300, math.SmallestNonzeroFloat32}, {math.MaxFloat32 * 1.01, float32(math.Inf(1))},
	} {
		if got := RoundUp32(c.x); got != c.want || float64(got) < c.x {
			t.Errorf("RoundUp32(%g) = %g, want %g", c.x, got, c.want)
		}
	}
}

// A clear bit is a proof of separation; the bit of any other row is set.
func TestBits(t *testing.T) {
	r := NewResults(130, &Options{Columns: ColBits})
	status := make([]uint8, 130)
	for i := range status {
		status[i] = uint8(i % int(StatusCount))
	}
	r.PackBits(status)
	for i := range status {
		if want := Status(status[i]) != Separated; r.Bit(i) != want {
			t.Errorf("bit %d of a row that is %v is %t", i, Status(status[i]), r.Bit(i))
		}
	}
	if r.Bits()[2]>>2 != 0 {
		t.Error("bits beyond the last row are set")
	}
}

func TestSlice(t *testing.T) {
	for p := range PrecisionCount {
		r := NewResults(200, &Options{Columns: anyColumns, Precision: p})
		s := r.Slice(64, 200)
		if err := s.CheckShape(); err != nil {
			t.Fatal(err)
		}
		s.Put(1, &Answer{Distance: 5, Lower: 5, Upper: 5, Normal: r3.Vec{Z: 1}, Solver: SolverRTR})
		s.PackBits(s.Status())
		if r.Distance().At(65) != 5 || r.Normal().At(3*65+2) != 1 || r.Status()[65] != 0 ||
			r.Method()[65] != uint8(SolverRTR) || r.Bit(65) || !r.Bit(64) || r.Gap()[65] != 0 {
			t.Errorf("%v: a slice does not share memory", p)
		}
		if got := present(NewResults(200, &Options{Columns: ColGap}).Slice(3, 9)); got != ColGap {
			t.Errorf("a slice has the columns %v", got)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("rows that begin within a word of bits were sliced")
		}
	}()
	NewResults(200, &Options{Columns: ColBits}).Slice(1, 200)
}

// Pairs whose poses are not set are valid: every pose begins as the identity.
func TestNewPairs(t *testing.T) {
	lib, err := NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 5} {
		p := NewPairs(n)
		if err := p.CheckShape(); err != nil || p.Len() != n {
			t.Fatalf("%d pairs: length %d, %v", n, p.Len(), err)
		}
		var r Row
		for i := range n {
			p.Row(i, &r)
			if want := (Row{PoseA: geom.IdentityPose(), PoseB: geom.IdentityPose()}); r != want {
				t.Errorf("pair %d of %d is %+v, want %+v", i, n, r, want)
			}
			if err := lib.CheckRow(i, &r); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestPairsSlice(t *testing.T) {
	p := NewPairs(5)
	want := Row{ShapeA: 1, ShapeB: 2}
	want.PoseA.Position.Y, want.PoseB.Rotation.Kmag = 3, 4
	p.Slice(2, 4).SetRow(1, &want)
	var got Row
	p.Row(3, &got)
	if got != want {
		t.Errorf("row written through a slice reads %+v, want %+v", got, want)
	}
	if err := p.Slice(1, 5).CheckShape(); err != nil {
		t.Error(err)
	}
}

// TestSums: sums of two worlds of three bodies, and each way in which they are not those of the rows.
func TestSums(t *testing.T) {
	for _, c := range []struct {
		change func(p *Product)
		words  string // of the error, "" for none
	}{
		{func(*Product) {}, ""},
		{func(p *Product) { p.Sums.Sets[3] = 4 }, "sets"},
		{func(p *Product) { p.Sums.Sets[1] = 4 }, "sets"},
		{func(p *Product) { p.Sums.Groups[2] = 2 }, "groups"},
		{func(p *Product) { p.Sums.Worlds = p.Sums.Worlds[:2] }, "worlds"},
		{func(p *Product) { p.Sums.Others = p.Sums.Others[1:] }, "arrays"},
		{func(p *Product) { p.Sums.Positions = p.Sums.Positions[3:] }, "arrays"},
		{func(p *Product) { p.Sums.Bodies[4] = 3 }, "body 3 of set 2"},
		{func(p *Product) { p.Operands = p.Operands[1:] }, "numbers"},
		{func(p *Product) { p.Results = p.Results[6:] }, "numbers"},
		{func(p *Product) { p.Kind = JVP }, "tangent"},
		{func(p *Product) { p.Sums = &Sums{} }, "want worlds of shapes"},
	} {
		s := &Sums{Sets: []int32{0, 2, 3, 5}, Groups: []int32{0, 2, 3}, Worlds: []int32{0, 1, 2}, PerWorld: 3,
			Others: make([]float64, 4), Bodies: []int32{0, 1, 1, 2, 2, 0}, Positions: make([]float64, 18)}
		p := &Product{Kind: ValueVJP, Sums: s, Operands: make([]float64, 2), Results: make([]float64, 36)}
		if n := s.RowsTo(1); n != 3 {
			t.Errorf("%d rows in the first world, want 3", n)
		}
		c.change(p)
		switch err := p.Check(NewPairs(5)); {
		case c.words == "" && err != nil:
			t.Error(err)
		case c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)):
			t.Errorf("error %v, want %s", err, c.words)
		}
	}
}
