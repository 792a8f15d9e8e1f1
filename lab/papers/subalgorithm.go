package papers

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// subAlgorithm finds the nearest point of a simplex; ok is false if it has no answer.
type subAlgorithm struct {
	name string
	run  func(s *ref.Simplex) (x r3.Vec, ok bool)
}

// subAlgorithmList are those of [Montanari2017, sec. 5]: SV, JB and JH. An origin inside is an
// answer of its own, whatever rounding makes of the sum of the weights.
var subAlgorithmList = []subAlgorithm{
	{"Signed Volumes", func(s *ref.Simplex) (r3.Vec, bool) {
		x, _ := ref.NearestSignedVolumes(s)
		return x, true
	}},
	{"Johnson + Backup", func(s *ref.Simplex) (r3.Vec, bool) {
		x, _ := ref.NearestJohnsonBackup(s)
		return x, true
	}},
	{"Johnson", func(s *ref.Simplex) (r3.Vec, bool) {
		x, _, ok := ref.NearestJohnson(s)
		return x, ok
	}},
}

// thinKinds are nearly degenerate simplices of unit size and altitude h, rotated at
// random, with the origin near: within the extent along the simplex and within
// twice the altitude across it.
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

// around moves the origin to a random place and rotates everything.
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

// determinants returns |det A| of Johnson's system [Montanari2017, eq. 14] and |det M| of
// Signed Volumes (eq. 20), both as float64 arithmetic gives them.
func determinants(s *ref.Simplex) (detA, detM float64) {
	p := s.V[0].W
	n := r3.Cross(r3.Sub(s.V[1].W, p), r3.Sub(s.V[2].W, p))
	detM = max(math.Abs(n.X), math.Abs(n.Y), math.Abs(n.Z)) // the largest shadow
	if s.N == 4 {
		detM = math.Abs(r3.Dot(n, r3.Sub(s.V[3].W, p)))
	}
	return ref.JohnsonDeterminant(s), detM
}

// median sorts v.
func median(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }

// ThinRow is what the sub-algorithms made of thin simplices of one kind and altitude.
type ThinRow struct {
	Kind   string  `json:"kind"`
	Height float64 `json:"height"`
	N      int     `json:"n"`
	DetA   float64 `json:"det_a"` // medians
	DetM   float64 `json:"det_m"`
	// Errors of the distance, relative to the longest vertex, in the order of
	// subAlgorithmList, and how many simplices got no answer.
	Median []float64 `json:"median"`
	Worst  []float64 `json:"worst"`
	Failed []int     `json:"failed"`
}

var thinExponents = []int{1, 2, 4, 6, 7, 8, 9, 10, 12, 14, 16}

// subAlgorithms measures the three sub-algorithms on thin simplices against exact
// arithmetic [Montanari2017, sec. 5.1, Fig. 14-15].
func subAlgorithms(ctx context.Context, lab *Lab, r *Results) error {
	n := lab.pick(100, 1000)
	var got []ThinRow
	for _, kind := range thinKinds {
		for _, e := range thinExponents {
			if err := ctx.Err(); err != nil {
				return err
			}
			h := math.Pow(10, -float64(e))
			g := rand.New(rand.NewPCG(2017, uint64(e)))
			errs := make([][]float64, len(subAlgorithmList))
			row := ThinRow{Kind: kind.name, Height: h, N: n, Failed: make([]int, len(errs))}
			var detA, detM []float64
			for range n {
				s, truth, scale, err := thinSimplex(kind.make(g, h))
				if err != nil {
					return err
				}
				a, m := determinants(&s)
				detA, detM = append(detA, a), append(detM, m)
				for k, sub := range subAlgorithmList {
					c := s
					if p, ok := sub.run(&c); ok {
						errs[k] = append(errs[k], off(p, truth)/scale)
					} else {
						row.Failed[k]++
					}
				}
			}
			row.DetA, row.DetM = median(detA), median(detM)
			for _, v := range errs {
				row.Median, row.Worst = append(row.Median, median(v)), append(row.Worst, slices.Max(v))
			}
			got = append(got, row)
		}
	}
	r.SubAlgorithm = got
	return nil
}

// thinSimplex returns a simplex, its exact distance from the origin, and the length of
// its longest vertex.
func thinSimplex(points []r3.Vec) (s ref.Simplex, distance *big.Float, scale float64, err error) {
	s.N = len(points)
	var exact []whole
	for i, p := range points {
		s.V[i].W = p
		scale = max(scale, r3.Norm(p))
		exact = append(exact, toWhole(p))
	}
	x, _, err := exactNearest(exact)
	if err != nil {
		return s, nil, 0, err
	}
	return s, x.distance(), scale, nil
}

func (r *Results) printSubAlgorithm() string {
	var rows [][]string
	for _, t := range r.SubAlgorithm {
		row := []string{t.Kind, fmt.Sprintf("%.0e", t.Height), fmt.Sprintf("%.0e", t.DetA), fmt.Sprintf("%.0e", t.DetM)}
		for k := range t.Median {
			row = append(row, fmt.Sprintf("%.0e", t.Median[k]), fmt.Sprintf("%.0e", t.Worst[k]))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.1f %%", 100*float64(t.Failed[2])/float64(t.N))))
	}
	return printTable([]string{
		"simplex", "altitude", "median abs. det A", "median abs. det M", "Signed Volumes: median", "worst",
		"Johnson + Backup: median", "worst", "Johnson: median", "worst", "no answer",
	}, rows)
}
