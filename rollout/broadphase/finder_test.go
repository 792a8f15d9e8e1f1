package broadphase

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/kernels"
)

// variants are the kernels of this machine, and Go.
var variants = append(kernels.Supported(), "")

// pair is two box indices.
type pair struct{ a, b int32 }

// brute returns all pairs of boxes that meet, by comparing all.
func brute(b *Boxes) []pair {
	var out []pair
	for i := range b.Len() {
		for j := i + 1; j < b.Len(); j++ {
			meets := true
			for k := range 3 {
				if b.Hi[k][i] < b.Lo[k][j] || b.Hi[k][j] < b.Lo[k][i] {
					meets = false
				}
			}
			if meets {
				out = append(out, pair{int32(i), int32(j)})
			}
		}
	}
	return out
}

// listed returns the pairs as a list.
func listed(p *Pairs) []pair {
	var out []pair
	for i := range len(p.Offset) - 1 {
		for _, j := range p.Of(i) {
			out = append(out, pair{int32(i), j})
		}
	}
	return out
}

// boxesOf returns n boxes made by f.
func boxesOf(n int, f func(i int) (lo, hi [3]float64)) *Boxes {
	b := NewBoxes(n)
	for i := range n {
		lo, hi := f(i)
		b.Set(i, lo, hi)
	}
	return b
}

// around returns the box with a center and half extents.
func around(c, h [3]float64) (lo, hi [3]float64) {
	for k := range 3 {
		lo[k], hi[k] = c[k]-h[k], c[k]+h[k]
	}
	return lo, hi
}

// scenes are sets of boxes by name, each with a number of boxes.
var scenes = []struct {
	name string
	make func(rng *rand.Rand, n int) *Boxes
}{
	{"uniform", func(rng *rand.Rand, n int) *Boxes {
		side := math.Cbrt(float64(n))
		return boxesOf(n, func(int) ([3]float64, [3]float64) {
			return around([3]float64{side * rng.Float64(), side * rng.Float64(), side * rng.Float64()},
				[3]float64{0.5 * rng.Float64(), 0.5 * rng.Float64(), 0.5 * rng.Float64()})
		})
	}},
	{"grid of touching boxes", func(_ *rand.Rand, n int) *Boxes {
		side := int(math.Cbrt(float64(n))) + 1
		return boxesOf(n, func(i int) ([3]float64, [3]float64) {
			return around([3]float64{float64(i % side), float64(i / side % side), float64(i / side / side)},
				[3]float64{0.5, 0.5, 0.5})
		})
	}},
	{"all the same", func(_ *rand.Rand, n int) *Boxes {
		return boxesOf(n, func(int) ([3]float64, [3]float64) {
			return around([3]float64{1, 2, 3}, [3]float64{1, 1, 1})
		})
	}},
	{"points, many the same", func(rng *rand.Rand, n int) *Boxes {
		return boxesOf(n, func(int) ([3]float64, [3]float64) {
			return around([3]float64{float64(rng.IntN(4)), float64(rng.IntN(4)), float64(rng.IntN(4))}, [3]float64{})
		})
	}},
	{"on a line", func(rng *rand.Rand, n int) *Boxes {
		return boxesOf(n, func(i int) ([3]float64, [3]float64) {
			return around([3]float64{0, float64((i*7919)%n) * 0.9, 0}, [3]float64{0.5, 0.5, 0.5})
		})
	}},
	{"on a plane, rods", func(rng *rand.Rand, n int) *Boxes {
		return boxesOf(n, func(int) ([3]float64, [3]float64) {
			return around([3]float64{rng.Float64(), rng.Float64(), 0}, [3]float64{0.4, 1e-3, 1e-3})
		})
	}},
	{"huge among tiny", func(rng *rand.Rand, n int) *Boxes {
		side := math.Cbrt(float64(n))
		return boxesOf(n, func(i int) ([3]float64, [3]float64) {
			h := 0.3
			if i%37 == 5 {
				h = 30
			}
			return around([3]float64{side * rng.Float64(), side * rng.Float64(), side * rng.Float64()},
				[3]float64{h, h, h})
		})
	}},
	{"sizes over ten decades", func(rng *rand.Rand, n int) *Boxes {
		return boxesOf(n, func(int) ([3]float64, [3]float64) {
			s := math.Pow(10, 10*rng.Float64()-5)
			return around([3]float64{s * rng.NormFloat64(), s * rng.NormFloat64(), s * rng.NormFloat64()},
				[3]float64{s * rng.Float64(), s * rng.Float64(), s * rng.Float64()})
		})
	}},
	{"tiny clusters a kilometer from one another", func(rng *rand.Rand, n int) *Boxes {
		return boxesOf(n, func(i int) ([3]float64, [3]float64) {
			far := 1000 * float64(i%3)
			return around([3]float64{far + 1e-6*rng.Float64(), -far + 1e-6*rng.Float64(), 1e-6 * rng.Float64()},
				[3]float64{1e-8, 1e-8, 1e-8})
		})
	}},
	{"half-infinite and infinite", func(rng *rand.Rand, n int) *Boxes {
		return boxesOf(n, func(i int) ([3]float64, [3]float64) {
			lo, hi := around([3]float64{rng.Float64(), rng.Float64(), rng.Float64()}, [3]float64{0.03, 0.03, 0.03})
			switch i % 40 {
			case 1:
				lo = [3]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1)}
				hi = [3]float64{math.Inf(1), math.Inf(1), 0.2}
			case 2:
				lo[i/40%3] = math.Inf(-1)
			case 3:
				lo = [3]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1)}
				hi = [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}
			case 4:
				lo[0], hi[0] = math.Inf(1), math.Inf(1)
			case 5:
				lo[1], hi[1] = -math.MaxFloat64, math.MaxFloat64
			}
			return lo, hi
		})
	}},
	{"neighbors in float64", func(rng *rand.Rand, n int) *Boxes {
		return boxesOf(n, func(i int) ([3]float64, [3]float64) {
			var lo, hi [3]float64
			for k := range 3 {
				a, b := 1+float64(rng.IntN(6))*0x1p-52, 1+float64(rng.IntN(6))*0x1p-52
				lo[k], hi[k] = min(a, b), max(a, b)
				if i%5 == 0 { // about zero, of either sign, with −0
					a, b := math.Copysign(float64(rng.IntN(2))*5e-324, float64(rng.IntN(2))-0.5), 0.0
					lo[k], hi[k] = min(a, b), max(a, b)
				}
			}
			return lo, hi
		})
	}},
}

// TestAgainstBruteForce compares the pairs of every scene with those of a comparison of all, for several numbers of
// boxes about the sizes of leaves and nodes, and of workers.
func TestAgainstBruteForce(t *testing.T) {
	sizes := []int{0, 1, 2, 7, 8, 9, 16, 17, 33, 63, 64, 65, 129, 300, 1000}
	if !testing.Short() {
		sizes = append(sizes, 5000)
	}
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			finders := make([]Finder, len(variants)) // reused, so that what is left of one call would show in the next
			for round, n := range sizes {
				rng := rand.New(rand.NewPCG(uint64(n), 3))
				b := s.make(rng, n)
				want := brute(b)
				for i, variant := range variants {
					f := &finders[i]
					f.SIMD, f.Workers = variant, round%4
					got, err := f.Find(b)
					if err != nil {
						t.Fatal(err)
					}
					if got := listed(got); !slices.Equal(got, want) {
						t.Fatalf("%q: %d boxes: %d pairs, want %d, %s", variant, n, len(got), len(want),
							firstDifference(got, want))
					}
				}
			}
		})
	}
}

func firstDifference(got, want []pair) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("the first difference is at %d: %v, want %v", i, got[i], want[i])
		}
	}
	return "the shorter list is the beginning of the longer one"
}

// TestLarge compares scenes with branches that several goroutines build, by sampled boxes.
func TestLarge(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 70_000
	}
	for _, name := range []string{"uniform", "huge among tiny"} {
		for _, s := range scenes {
			if s.name != name {
				continue
			}
			m := n
			if name != "uniform" {
				m = 3000
			}
			b := s.make(rand.New(rand.NewPCG(1, 2)), m)
			one, two := Finder{SIMD: variants[0], Workers: 1}, Finder{Workers: 3}
			p, err := one.Find(b)
			if err != nil {
				t.Fatal(err)
			}
			q, err := two.Find(b)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.Offset, q.Offset) || !slices.Equal(p.Partner, q.Partner) {
				t.Errorf("%s: other pairs in Go with 3 workers than by %q with 1", name, variants[0])
			}
			for i := 0; i < m; i += m / 50 {
				var want []int32
				for j := i + 1; j < m; j++ {
					if b.Meet(i, j) {
						want = append(want, int32(j))
					}
				}
				if !slices.Equal(p.Of(i), want) {
					t.Errorf("%s: box %d meets %v, want %v", name, i, p.Of(i), want)
				}
			}
		}
	}
}

// TestRefused gives boxes that are none, and arrays that differ in length.
func TestRefused(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct{ lo, hi float64 }{{nan, 1}, {0, nan}, {1, 0}, {inf, -inf}} {
		b := NewBoxes(20)
		b.Lo[1][13], b.Hi[1][13] = c.lo, c.hi
		_, err := new(Finder).Find(b)
		var bad *BoxError
		if !errors.As(err, &bad) || bad.Box != 13 || bad.Axis != 1 {
			t.Errorf("box from %g to %g: %v, want an error about box 13", c.lo, c.hi, err)
		}
	}
	for k := range 3 {
		b := NewBoxes(20)
		b.Hi[k] = b.Hi[k][:19]
		if _, err := new(Finder).Find(b); err == nil {
			t.Errorf("no error for 19 upper bounds of 20 boxes along axis %d", k)
		}
	}
}

// TestUnknownSIMD: an instruction set that this machine cannot run is an error, not another one in its place.
func TestUnknownSIMD(t *testing.T) {
	b := NewBoxes(3)
	for _, name := range append(kernels.Names(), kernels.Off, "mmx") {
		_, err := (&Finder{SIMD: name}).Find(b)
		if has := slices.Contains(kernels.Supported(), name); has != (err == nil) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestTooManyPairs meets the limit, and exceeds it by one.
func TestTooManyPairs(t *testing.T) {
	const n = 300
	b := NewBoxes(n) // all the same point
	for i := range 2 * len(variants) {
		f := Finder{SIMD: variants[i/2], Workers: 1 + i%2, MaxPairs: n * (n - 1) / 2}
		if p, err := f.Find(b); err != nil || p.Len() != n*(n-1)/2 {
			t.Errorf("%d pairs, %v, want all", p.Len(), err)
		}
		f.MaxPairs--
		var many *TooManyPairsError
		if _, err := f.Find(b); !errors.As(err, &many) || many.Max != f.MaxPairs {
			t.Errorf("error %v, want one about too many pairs", err)
		}
	}
}

// TestNoAllocation holds a scene whose boxes move.
func TestNoAllocation(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	b := scenes[0].make(rng, 2000)
	f := Finder{SIMD: variants[0], Workers: 1}
	step := func() {
		for i := range b.Lo[0] {
			d := 0.01 * rng.NormFloat64()
			b.Lo[0][i] += d
			b.Hi[0][i] += d
		}
		if _, err := f.Find(b); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		step()
	}
	if a := testing.AllocsPerRun(50, step); a > 0.5 {
		t.Errorf("%g allocations per step, want 0", a)
	}
}

// TestMoving moves the boxes of a Finder, little at first and then to other places: the order that it keeps may not
// show in the pairs.
func TestMoving(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	b := scenes[0].make(rng, 700)
	f := Finder{SIMD: variants[0]}
	for step := range 30 {
		far := 0.01
		if step > 20 {
			far = 5
		}
		for i := range b.Len() {
			for k := range 3 {
				d := far * rng.NormFloat64()
				b.Lo[k][i] += d
				b.Hi[k][i] += d
			}
		}
		p, err := f.Find(b)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(listed(p), brute(b)) {
			t.Fatalf("step %d: the pairs are not those of a comparison of all", step)
		}
	}
	// Far from its order, the boxes get a new one.
	if r := f.tree.place(b) / f.tree.spread; r > maxSpread {
		t.Errorf("leaves extend %g times as far as those of a new order", r)
	}
}

func FuzzFind(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint16(40), uint8(3))
	f.Fuzz(func(t *testing.T, a, b uint64, n uint16, quantum uint8) {
		rng := rand.New(rand.NewPCG(a, b))
		q := float64(quantum)/8 + 0.125
		boxes := boxesOf(int(n%512), func(int) ([3]float64, [3]float64) {
			var lo, hi [3]float64
			for k := range 3 {
				lo[k] = q * math.Round(8*rng.NormFloat64())
				hi[k] = lo[k] + q*math.Round(math.Abs(rng.NormFloat64()/rng.Float64()))
			}
			return lo, hi
		})
		want := brute(boxes)
		for _, variant := range variants {
			p, err := (&Finder{SIMD: variant, Workers: 1 + int(n%3)}).Find(boxes)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(listed(p), want) {
				t.Errorf("%q: the pairs are not those of a comparison of all", variant)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	for _, s := range scenes {
		for _, n := range []int{10, 100, 1000, 10_000, 100_000} {
			boxes := s.make(rand.New(rand.NewPCG(1, 2)), n)
			b.Run(fmt.Sprintf("%s/%d", s.name, n), func(b *testing.B) {
				f := Finder{SIMD: variants[0], Workers: 1, MaxPairs: 20_000_000}
				pairs := 0
				for b.Loop() {
					p, err := f.Find(boxes)
					if err != nil {
						b.Skip(err)
					}
					pairs = p.Len()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/box")
				b.ReportMetric(float64(pairs), "pairs")
			})
		}
	}
}

// TestSelection compares the item of a rank with that of sorted items, and both sides with it, for orders and numbers
// of equal centers that selections find hard.
func TestSelection(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	orders := map[string]func(i, n int) float64{
		"random":      func(int, int) float64 { return rng.Float64() },
		"ascending":   func(i, _ int) float64 { return float64(i) },
		"descending":  func(i, _ int) float64 { return float64(-i) },
		"equal":       func(int, int) float64 { return 1 },
		"few values":  func(int, int) float64 { return float64(rng.IntN(3)) },
		"two halves":  func(i, n int) float64 { return float64(i * 2 / n) },
		"organ pipes": func(i, n int) float64 { return float64(min(i, n-i)) },
		"one above":   func(i, n int) float64 { return float64(i / (n - 1)) },
		"one below":   func(i, _ int) float64 { return float64(min(i, 1)) },
	}
	for name, center := range orders {
		for _, n := range []int{2, 12, 13, 63, 64, 127, 128, 129, 191, 255, 256, 257, 300, 1000, 4099} {
			for _, k := range []int{0, 1, n / 3, n / 2, n - 1} {
				axis := k % 3
				s, want := make([]item, n), make([]float64, n)
				for i := range s {
					s[i].id, s[i].center[axis] = int32(i), center(i, n)
					want[i] = s[i].center[axis]
				}
				of := slices.Clone(want)
				slices.Sort(want)
				nth(s, k, axis)
				seen := make([]bool, n)
				for i, x := range s {
					c := x.center[axis]
					if seen[x.id] || c != of[x.id] {
						t.Fatalf("%s, %d items: item %d is lost", name, n, x.id)
					}
					seen[x.id] = true
					if i < k && c > want[k] || i > k && c < want[k] || i == k && c != want[k] {
						t.Fatalf("%s, %d items, rank %d: center %g at %d, want %g", name, n, k, c, i, want[k])
					}
				}
			}
		}
	}
}
