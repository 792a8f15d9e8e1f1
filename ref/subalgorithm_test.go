package ref

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

// whole is a point with integer coordinates, in units of 2⁻²⁵⁶ m: fine enough for
// every float64 that these tests make, and for sums of them, without rounding.
type whole [3]*big.Int

const wholeShift = 256

func toWhole(v r3.Vec) (p whole) {
	for k, c := range [3]float64{v.X, v.Y, v.Z} {
		r := new(big.Rat).SetFloat64(c)
		r.Mul(r, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), wholeShift)))
		if !r.IsInt() {
			panic("coordinate too fine")
		}
		p[k] = r.Num()
	}
	return p
}

func (p whole) minus(q whole) (d whole) {
	for k := range d {
		d[k] = new(big.Int).Sub(p[k], q[k])
	}
	return d
}

func (p whole) dot(q whole) *big.Int {
	sum := new(big.Int)
	for k := range p {
		sum.Add(sum, new(big.Int).Mul(p[k], q[k]))
	}
	return sum
}

// foot is the point num/den, nearest to the origin.
type foot struct {
	num whole
	den *big.Int
}

// optimal reports whether p is not on the near side of the plane through the foot
// point: <x, p> ≥ <x, x>.
func (f foot) optimal(p whole) bool {
	xp := f.num.dot(p)
	return xp.Mul(xp, f.den).Cmp(f.num.dot(f.num)) >= 0
}

// distance returns the length of the foot point in metres.
func (f foot) distance() *big.Float {
	const prec = 600
	d := new(big.Float).SetPrec(prec).SetInt(f.num.dot(f.num))
	d.Sqrt(d)
	d.Quo(d, new(big.Float).SetPrec(prec).SetInt(f.den))
	return d.SetMantExp(d, -wholeShift)
}

// exactNearest returns the point of the hull of up to four points nearest to the
// origin, and the points that support it, with every operation exact: it is
// Johnson's recursion (paper 001, eq. 16-19) in integers. The answer is checked
// by the condition of optimality.
func exactNearest(t testing.TB, v []whole) (f foot, support []whole) {
	t.Helper()
	var dot [4][4]*big.Int
	for i := range v {
		for j := range v {
			dot[i][j] = v[i].dot(v[j])
		}
	}
	var delta [4][16]*big.Int
	for i := range v {
		delta[i][1<<i] = big.NewInt(1)
	}
	full := uint(1)<<len(v) - 1
	for w := uint(1); w <= full; w++ {
		l := bits.TrailingZeros(w)
		for i := range v {
			if w>>i&1 == 1 {
				continue
			}
			sum := new(big.Int)
			for j := range v {
				if w>>j&1 == 1 {
					d := new(big.Int).Sub(dot[j][l], dot[j][i])
					sum.Add(sum, d.Mul(d, delta[j][w]))
				}
			}
			delta[i][w|1<<i] = sum
		}
	}
subsets:
	for w := uint(1); w <= full; w++ {
		for j := range v {
			if s := delta[j][w|1<<j].Sign(); w>>j&1 == 1 && s <= 0 || w>>j&1 == 0 && s > 0 {
				continue subsets
			}
		}
		f = foot{num: whole{new(big.Int), new(big.Int), new(big.Int)}, den: new(big.Int)}
		for j := range v {
			if w>>j&1 == 1 {
				support = append(support, v[j])
				f.den.Add(f.den, delta[j][w])
				for k := range f.num {
					f.num[k].Add(f.num[k], new(big.Int).Mul(delta[j][w], v[j][k]))
				}
			}
		}
		for _, p := range v {
			if !f.optimal(p) {
				t.Fatalf("exact solution of %v is not optimal", v)
			}
		}
		return f, support
	}
	t.Fatalf("no subset of %v is optimal", v)
	return f, nil
}

// off returns | |x| − exact |.
func off(x r3.Vec, exact *big.Float) float64 {
	d := foot{toWhole(x), big.NewInt(1)}.distance()
	e, _ := d.Sub(d, exact).Float64()
	return math.Abs(e)
}

// subAlgorithm finds the nearest point of a simplex; ok is false if it has no answer.
type subAlgorithm struct {
	name string
	run  func(s *Simplex) (x r3.Vec, ok bool)
}

// subAlgorithms are those of paper 001, sec. 5: SV, JB and JH. An origin inside
// is an answer of its own, whatever rounding makes of the sum of the weights.
var subAlgorithms = []subAlgorithm{
	{"Signed Volumes", func(s *Simplex) (r3.Vec, bool) {
		x, inside := signedVolumes(s, false)
		if inside {
			x = r3.Vec{}
		}
		return x, true
	}},
	{"Johnson + Backup", func(s *Simplex) (r3.Vec, bool) {
		x, inside := johnsonBackup(s, false)
		if inside {
			x = r3.Vec{}
		}
		return x, true
	}},
	{"Johnson", johnsonAlone},
}

// johnsonAlone is Johnson's sub-algorithm without the Backup procedure: it fails
// where rounding leaves no subset that satisfies eq. 13.
func johnsonAlone(s *Simplex) (x r3.Vec, ok bool) {
	delta := johnsonCofactors(s)
	full := uint(1)<<s.N - 1
	for w := uint(1); w <= full; w++ {
		if johnsonOptimal(&delta, w, full) {
			johnsonWeights(s, &delta, w)
			if w == 15 {
				return r3.Vec{}, true
			}
			return s.point(), true
		}
	}
	return r3.Vec{}, false
}

// thinKinds are nearly degenerate simplices of unit size and height h, turned at
// random, with the origin near: within the extent along the simplex and within
// twice the height across it.
var thinKinds = []struct {
	name   string
	needle bool
	make   func(g *rand.Rand, h float64) []r3.Vec
}{
	// A triangle, and a fourth vertex h above its plane.
	{"flat tetrahedron", false, func(g *rand.Rand, h float64) []r3.Vec {
		return around(g, 1, h, r3.Vec{X: 1}, r3.Vec{X: -0.5, Y: 0.8}, r3.Vec{X: -0.4, Y: -0.9},
			r3.Vec{X: 0.6 * g.Float64(), Y: 0.4 * g.Float64(), Z: h})
	}},
	// Two edges that cross at distance h: all four faces are nearly coplanar.
	{"crossed edges", false, func(g *rand.Rand, h float64) []r3.Vec {
		return around(g, 1, h, r3.Vec{X: 1}, r3.Vec{X: -1}, r3.Vec{Y: 1, Z: h}, r3.Vec{Y: -1, Z: h})
	}},
	// Three vertices within h of each other.
	{"needle tetrahedron", true, func(g *rand.Rand, h float64) []r3.Vec {
		return around(g, h, h, r3.Vec{X: -1}, r3.Vec{X: 1}, r3.Vec{X: 1, Y: h}, r3.Vec{X: 1, Z: h})
	}},
	{"needle triangle", true, func(g *rand.Rand, h float64) []r3.Vec {
		return around(g, h, h, r3.Vec{X: -1}, r3.Vec{X: 1}, r3.Vec{X: g.Float64() - 0.5, Y: h})
	}},
}

// around moves the origin to a random place and turns everything.
func around(g *rand.Rand, acrossY, acrossZ float64, v ...r3.Vec) []r3.Vec {
	o := r3.Vec{X: g.Float64() - 0.5, Y: acrossY * (4*g.Float64() - 2), Z: acrossZ * (4*g.Float64() - 2)}
	if acrossY == 1 {
		o.Y = g.Float64() - 0.5
	}
	q := r3.Rotation(randomRotation(g))
	out := make([]r3.Vec, len(v))
	for i := range v {
		out[i] = q.Rotate(r3.Sub(v[i], o))
	}
	return out
}

// determinants returns |det A| of Johnson's system (paper 001, eq. 14) and |det M| of
// Signed Volumes (eq. 20), both as float64 arithmetic gives them.
func determinants(s *Simplex) (detA, detM float64) {
	delta := johnsonCofactors(s)
	full := uint(1)<<s.N - 1
	for j := range s.N {
		detA += delta[j][full]
	}
	p := s.V[0].W
	n := cross(r3.Sub(s.V[1].W, p), r3.Sub(s.V[2].W, p))
	detM = max(math.Abs(n.X), math.Abs(n.Y), math.Abs(n.Z)) // the largest shadow
	if s.N == 4 {
		detM = math.Abs(r3.Dot(n, r3.Sub(s.V[3].W, p)))
	}
	return math.Abs(detA), detM
}

// trials are the errors of one sub-algorithm on simplices of one height: of the
// distance, relative to the longest vertex.
type trials struct {
	errors []float64
	failed int
}

func median(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }

func (r *trials) worst() float64 { return slices.Max(r.errors) }

// TestSubAlgorithms measures the three sub-algorithms on thin simplices against exact
// arithmetic (paper 001, sec. 5.1, Fig. 14-15) and holds them to what explains
// the figures: det A falls with the square of the height, det M with the height,
// so that Johnson loses its last digit at a height of √ε and Signed Volumes,
// on flat simplices, none at all.
func TestSubAlgorithms(t *testing.T) {
	n := 100
	if *updateReport {
		n = 1000
	}
	var rows strings.Builder
	rows.WriteString("| simplex | height | median abs. det A | median abs. det M | Signed Volumes: median | worst | Johnson + Backup: median | worst | Johnson: median | worst | no answer |\n")
	rows.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, kind := range thinKinds {
		worstJohnson := 0.0
		for _, e := range []int{1, 2, 4, 6, 7, 8, 9, 10, 12, 14, 16} {
			h := math.Pow(10, -float64(e))
			g := rand.New(rand.NewPCG(2017, uint64(e)))
			r := make([]trials, len(subAlgorithms))
			var detA, detM []float64
			for range n {
				points := kind.make(g, h)
				s := Simplex{N: len(points)}
				scale := 0.0
				for i := range points {
					s.V[i].W = points[i]
					scale = max(scale, norm(points[i]))
				}
				var exact []whole
				for _, p := range points {
					exact = append(exact, toWhole(p))
				}
				x, _ := exactNearest(t, exact)
				truth := x.distance()
				a, m := determinants(&s)
				detA, detM = append(detA, a), append(detM, m)
				for k, sub := range subAlgorithms {
					c := s
					p, ok := sub.run(&c)
					if !ok {
						r[k].failed++
						continue
					}
					r[k].errors = append(r[k].errors, off(p, truth)/scale)
				}
			}
			sv, jb, jh := &r[0], &r[1], &r[2]
			worstJohnson = max(worstJohnson, jb.worst())
			fmt.Fprintf(&rows, "| %s | 1e-%d | %.0e | %.0e | %.0e | %.0e | %.0e | %.0e | %.0e | %.0e | %.1f %% |\n", kind.name, e,
				median(detA), median(detM), median(sv.errors), sv.worst(), median(jb.errors), jb.worst(), median(jh.errors), jh.worst(),
				100*float64(jh.failed)/float64(n))

			// A sum of at most four products with weights that are good to two units of
			// roundoff each is good to eight.
			if got := median(sv.errors); !(got <= 8*eps) {
				t.Errorf("%s, height %g: median error of Signed Volumes %g, want at most 8 units of roundoff", kind.name, h, got)
			}
			switch {
			case !kind.needle && h >= 1e-13:
				// Every face of a flat simplex is fat, and so is one of its shadows; only
				// the choice of the face hangs on the volume, and where that is wrong
				// two faces are as near as rounding tells. (Below 1e-13 the rounding of the
				// vertices is a part of the height and may turn the volume.)
				if got := sv.worst(); !(got <= 8*eps) {
					t.Errorf("%s, height %g: worst error of Signed Volumes %g, want at most 8 units of roundoff", kind.name, h, got)
				}
			case kind.needle && h >= 1e-15:
				// The rounding of the vertices turns the plane of a needle by ε/h, and the
				// foot point with it; four units each for the normal and the weights.
				if got := sv.worst(); !(got <= 8*eps/h) {
					t.Errorf("%s, height %g: worst error of Signed Volumes %g, want at most 8ε/h = %g", kind.name, h, got, 8*eps/h)
				}
			}
			// det A ∝ h² and det M ∝ h: within a factor of a hundred for the shapes at
			// hand (two vanishing extents square that), as long as rounding allows.
			if !kind.needle && h >= 1e-6 {
				if a, m := median(detA), median(detM); !(a < 100*h*h && a > h*h/100 && m < 100*h && m > h/100) {
					t.Errorf("%s, height %g: det A %g, det M %g", kind.name, h, a, m)
				}
			}
		}
		// h² reaches ε at h = √ε: there Johnson cannot tell the face, and the distance is
		// off by the height. A tenth of that shows it; on needles it is worse.
		if !(worstJohnson >= math.Sqrt(eps)/10) {
			t.Errorf("%s: worst error of Johnson with Backup %g, want about √ε = %g", kind.name, worstJohnson, math.Sqrt(eps))
		}
		if !kind.needle && !(worstJohnson <= 10*math.Sqrt(eps)) {
			t.Errorf("%s: worst error of Johnson with Backup %g, want about √ε = %g", kind.name, worstJohnson, math.Sqrt(eps))
		}
	}
	t.Log("\n" + rows.String())
	writeReport(t, "sub-algorithm", fmt.Sprintf("%d simplices a row.\n\n", n)+rows.String())
}

var updateReport = flag.Bool("update", false, "rewrite the tables of this package in docs/results/papers.md")

// writeReport replaces a table of the report if -update is given.
func writeReport(t *testing.T, name, block string) {
	t.Helper()
	if !*updateReport {
		return
	}
	const file = "../docs/results/papers.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), "<!-- begin "+name+" -->\n")
	_, after, ok2 := strings.Cut(rest, "<!-- end "+name+" -->")
	if !ok || !ok2 {
		t.Fatalf("%s: no block %q", file, name)
	}
	text := before + "<!-- begin " + name + " -->\n" + block + "<!-- end " + name + " -->" + after
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
