package papers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// flank is a slab with a crowned face, in the manner of a gear tooth: 36 points of
// an irregular grid of pitch 1/4, lowered by crown·r² but for the innermost four,
// which make a flat patch, and the corners of a back plate. face 1 faces +z,
// face −1 faces −z.
func flank(g *rand.Rand, crown, face float64, place func(r3.Vec) r3.Vec) []r3.Vec {
	var out []r3.Vec
	for i := -5; i <= 5; i += 2 {
		for j := -5; j <= 5; j += 2 {
			x, y := (float64(i)+g.Float64()-0.5)/8, (float64(j)+g.Float64()-0.5)/8
			depth := crown * (x*x + y*y)
			if i*i+j*j == 2 {
				depth = 0
			}
			out = append(out, place(r3.Vec{X: x, Y: y, Z: -face * depth}))
		}
	}
	for _, x := range [2]float64{-0.75, 0.75} {
		for _, y := range [2]float64{-0.75, 0.75} {
			out = append(out, place(r3.Vec{X: x, Y: y, Z: -face * 0.5}))
		}
	}
	return out
}

// exactDistance is GJK with every operation exact, from the direction d.
func exactDistance(a, b []whole, gap, d whole) (*big.Float, error) {
	var simplex []whole
	f := closest{d, big.NewInt(1)}
	for range 200 {
		w := least(a, f.num, 1).minus(least(b, f.num, -1)).minus(gap)
		if len(simplex) > 0 && f.optimal(w) {
			return f.distance(), nil
		}
		var err error
		if f, simplex, err = exactNearest(append(simplex, w)); err != nil {
			return nil, err
		}
		if len(simplex) == 4 {
			return new(big.Float), nil
		}
	}
	return nil, errors.New("exact GJK does not end")
}

// least returns the point with the least sign·<p, d>.
func least(points []whole, d whole, sign int) (best whole) {
	var h *big.Int
	for _, p := range points {
		if l := p.dot(d); h == nil || sign*l.Cmp(h) < 0 {
			h, best = l, p
		}
	}
	return best
}

// algorithm1 is GJK as printed [Montanari2017, Alg. 1, eq. 9-10] over a point cloud of
// differences, with any sub-algorithm. ε_rel is √ε, which makes the distance good
// to ε; ε_tol is ε², so that eq. 9 does not end the search at √ε by itself. A
// sub-algorithm without an answer, or 100 rounds, ends it where it is.
func algorithm1(a, b []r3.Vec, gap r3.Vec, sub subAlgorithm) float64 {
	v := r3.Vec{X: 1, Y: 0.5, Z: 0.25}
	var s ref.Simplex
	for range 100 {
		w := r3.Sub(farthest(a, r3.Scale(-1, v)), r3.Add(farthest(b, v), gap))
		vv := r3.Dot(v, v)
		known := false
		for i := range s.N {
			known = known || s.V[i].W == w
		}
		if s.N > 0 && (known || vv-r3.Dot(v, w) <= roundoff*vv) {
			break
		}
		next := s
		next.V[next.N].W = w
		next.N++
		x, ok := sub.run(&next)
		if !ok {
			break
		}
		if x == (r3.Vec{}) {
			return 0
		}
		next.Reduce()
		s, v = next, x
		longest := 0.0
		for i := range s.N {
			longest = max(longest, r3.Norm2(s.V[i].W))
		}
		if r3.Norm2(v) <= roundoff*roundoff*longest {
			break
		}
	}
	return r3.Norm(v)
}

func farthest(points []r3.Vec, d r3.Vec) (best r3.Vec) {
	h := math.Inf(-1)
	for _, p := range points {
		if l := r3.Dot(p, d); l > h {
			h, best = l, p
		}
	}
	return best
}

const (
	gearSteps = 50 // halvings of the distance

	roundoff = 0x1p-53 // unit of float64
)

var (
	gearCrowns  = []float64{1e-1, 1e-3, 1e-5, 1e-7, 1e-9, 0}
	gearMethods = []string{"Alg. 1, Signed Volumes", "Alg. 1, Johnson + Backup", "Alg. 1, Johnson", "ref.GJK",
		"ref.GJKJohnson"}
)

// GearRow is what the methods, in the order of gearMethods, made of teeth of one crown.
type GearRow struct {
	Crown float64 `json:"crown"` // 1/m
	Teeth int     `json:"teeth"` // pairs
	// Last holds the median of the last distance told, in metres: an answer tells a
	// distance if it is off by less than half of it.
	Last  []float64 `json:"last"`
	Wrong []int     `json:"wrong"` // distances not told, of Teeth × gearSteps
	Worst []float64 `json:"worst"` // error, m
}

// gear lets two crowned flanks approach face to face, halving the distance at each
// step until it is lost to rounding ([Montanari2017, Fig. 8], 14 and 15, with teeth of our
// own), and compares with GJK in exact arithmetic. GJK as printed runs with the
// three sub-algorithms, and so do GJK and GJKJohnson of package ref, which guard
// against what a bad sub-algorithm does.
func gear(ctx context.Context, lab *Lab, r *Results) error {
	teeth := lab.pick(5, 50)
	r.Gear = nil
	for _, crown := range gearCrowns {
		g := rand.New(rand.NewPCG(2017, math.Float64bits(crown)))
		row := GearRow{Crown: crown, Teeth: teeth, Wrong: make([]int, len(gearMethods)),
			Worst: make([]float64, len(gearMethods))}
		last := make([][]float64, len(gearMethods))
		for range teeth {
			if err := ctx.Err(); err != nil {
				return err
			}
			m, err := newTeeth(g, crown)
			if err != nil {
				return err
			}
			end := make([]float64, len(gearMethods))
			open := slices.Repeat([]bool{true}, len(gearMethods))
			for k := 1; k <= gearSteps; k++ {
				truth, got, err := m.approach(math.Ldexp(1, -k))
				if err != nil {
					return err
				}
				for i, d := range got {
					off := math.Abs(d - truth)
					row.Worst[i] = max(row.Worst[i], off)
					if told := off <= truth/2; !told {
						row.Wrong[i]++
						open[i] = false
					}
					if open[i] {
						end[i] = truth
					}
				}
			}
			for i, d := range end {
				last[i] = append(last[i], d)
			}
		}
		for _, v := range last {
			row.Last = append(row.Last, median(v))
		}
		r.Gear = append(r.Gear, row)
	}
	return nil
}

func (r *Results) printGear() string {
	var rows [][]string
	for _, g := range r.Gear {
		line := func(quantity string, cell func(i int) string) {
			row := []string{fmt.Sprint(g.Crown), quantity}
			for i := range gearMethods {
				row = append(row, cell(i))
			}
			rows = append(rows, row)
		}
		line("last distance told, median, m", func(i int) string { return fmt.Sprintf("%.0e", g.Last[i]) })
		line("distances not told", func(i int) string {
			return fmt.Sprintf("%.1f %%", 100*float64(g.Wrong[i])/float64(g.Teeth*gearSteps))
		})
		line("worst error, m", func(i int) string { return fmt.Sprintf("%.0e", g.Worst[i]) })
	}
	return printTable(append([]string{"crown, 1/m", "quantity"}, gearMethods...), rows)
}

// teeth is a pair of flanks.
type teeth struct {
	a, b   []r3.Vec
	ea, eb []whole
	ca, cb *geom.Convex
	normal r3.Vec // of the contact, from a to b
}

func newTeeth(g *rand.Rand, crown float64) (*teeth, error) {
	q := r3.Rotation(randomRotation(g))
	swing := r3.NewRotation(2*math.Pi*g.Float64(), r3.Vec{Z: 1})
	shift := r3.Vec{X: (g.Float64() - 0.5) / 8, Y: (g.Float64() - 0.5) / 8}
	m := &teeth{normal: q.Rotate(r3.Vec{Z: 1})}
	m.a = flank(g, crown, 1, q.Rotate)
	m.b = flank(g, crown, -1, func(v r3.Vec) r3.Vec { return q.Rotate(r3.Add(shift, swing.Rotate(v))) })
	for i := range m.a {
		m.ea, m.eb = append(m.ea, toWhole(m.a[i])), append(m.eb, toWhole(m.b[i]))
	}
	var err error
	if m.ca, err = geom.NewConvex(m.a); err != nil {
		return nil, err
	}
	m.cb, err = geom.NewConvex(m.b)
	return m, err
}

// approach moves b away from a by gap along the normal and returns the exact distance
// and that of every method. It is an error if ref.GJK's bounds do not hold the truth
// or if it is further off than rounding.
func (m *teeth) approach(gap float64) (truth float64, got []float64, err error) {
	shift := r3.Scale(gap, m.normal)
	d, err := exactDistance(m.ea, m.eb, toWhole(shift), toWhole(r3.Scale(-1, m.normal)))
	if err != nil {
		return 0, nil, err
	}
	truth, _ = d.Float64()
	for _, sub := range subAlgorithmList {
		got = append(got, algorithm1(m.a, m.b, shift, sub))
	}
	p := ref.NewPair(m.ca, m.cb, geom.IdentityPose(), geom.Pose{Position: shift, Rotation: quat.Number{Real: 1}})
	r, j := ref.GJK(&p, ref.Options{}, nil), ref.GJKJohnson(&p, ref.Options{}, nil)
	if !(r.Lower <= truth && truth <= r.Upper) {
		return 0, nil, fmt.Errorf("distance %g: GJK bounds it by [%g, %g]", truth, r.Lower, r.Upper)
	}
	if !(math.Abs(r.Distance-truth) <= p.Roundoff()) {
		return 0, nil, fmt.Errorf("distance %g: GJK finds %g, further off than rounding, %g", truth, r.Distance,
			p.Roundoff())
	}
	return truth, append(got, max(r.Distance, 0), max(j.Distance, 0)), nil
}
