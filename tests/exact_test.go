package tests

import (
	"math"
	"math/big"

	"gonum.org/v1/gonum/spatial/r3"
)

// Exact answers about points, segments and triangles that move along lines, in rational arithmetic.

// exactUnit is the spacing of the coordinates of these tests, so that integers represent them.
const exactUnit = 0x1p-40

func onGrid(v r3.Vec, unit float64) r3.Vec {
	return r3.Vec{X: unit * math.Round(v.X/unit), Y: unit * math.Round(v.Y/unit), Z: unit * math.Round(v.Z/unit)}
}

func coordinates(v r3.Vec) [3]float64 { return [3]float64{v.X, v.Y, v.Z} }

// firstContact returns the least t in [0, 1] for which the hulls of a and of b meet, where b is at p + t·v relative to
// a, or nil. It is the solution of a linear program in the weights α of a, β of b, and t, all of them at least 0,
//
//	min t:  Σ α·a − Σ β·b − t·v = p,  Σ α = 1,  Σ β = 1,  t ≤ 1,
//
// by the simplex method with the rule of Bland. The tableau holds integers over a common divisor, the last pivot
// [Edmonds 1967], so that all divisions are exact.
func firstContact(a, b []r3.Vec, p, v r3.Vec) *big.Rat {
	const rows = 6
	columns := len(a) + len(b) + 2 // t, and what is left of 1 to it
	last := columns + rows         // after the artificial variables
	table := make([][]*big.Int, rows+1)
	for i := range table {
		table[i] = make([]*big.Int, last+1)
		for j := range table[i] {
			table[i][j] = new(big.Int)
		}
	}
	put := func(j int, x r3.Vec, sign int64, ones ...int) {
		for i, c := range coordinates(x) {
			table[i][j].SetInt64(sign * int64(c/exactUnit))
		}
		for _, i := range ones {
			table[i][j].SetInt64(1)
		}
	}
	for k, x := range a {
		put(k, x, 1, 3)
	}
	for k, x := range b {
		put(len(a)+k, x, -1, 4)
	}
	t := len(a) + len(b)
	put(t, v, -1, 5)
	put(t+1, r3.Vec{}, 1, 5)
	put(last, p, 1, 3, 4, 5)
	basis := make([]int, rows)
	for i := range rows {
		if table[i][last].Sign() < 0 {
			for _, x := range table[i] {
				x.Neg(x)
			}
		}
		table[i][columns+i].SetInt64(1)
		basis[i] = columns + i
		for j := range columns { // the objective of phase 1: minus the sum of the artificial variables
			table[rows][j].Sub(table[rows][j], table[i][j])
		}
		table[rows][last].Sub(table[rows][last], table[i][last])
	}
	s := &tableau{table: table, basis: basis, divisor: big.NewInt(1)}
	s.minimize(columns)
	if s.table[rows][last].Sign() != 0 {
		return nil
	}
	for i := range rows { // artificial variables at 0 leave the basis where they can
		for j := 0; j < columns && s.basis[i] >= columns; j++ {
			if s.table[i][j].Sign() != 0 {
				s.pivot(i, j)
			}
		}
	}
	for j, x := range s.table[rows] { // phase 2: t
		x.SetInt64(0)
		if j == t {
			x.Set(s.divisor)
		}
	}
	for i, k := range s.basis {
		if k == t {
			for j, x := range s.table[rows] {
				x.Sub(x, s.table[i][j])
			}
		}
	}
	s.minimize(columns)
	return new(big.Rat).SetFrac(new(big.Int).Neg(s.table[rows][last]), s.divisor)
}

// tableau is a linear program in the form of a simplex tableau: its last row is the objective, its last column the
// right-hand side. All entries stand over the divisor.
type tableau struct {
	table   [][]*big.Int
	basis   []int
	divisor *big.Int
}

// minimize pivots until no column of the first n has a negative cost. The program is bounded.
func (s *tableau) minimize(n int) {
	cost := s.table[len(s.table)-1]
	for {
		enter := 0
		for enter < n && cost[enter].Sign() >= 0 {
			enter++
		}
		if enter == n {
			return
		}
		leave, x, y := -1, new(big.Int), new(big.Int)
		last := len(cost) - 1
		for i := range s.basis {
			if s.table[i][enter].Sign() <= 0 {
				continue
			}
			if leave >= 0 { // compare the ratios
				x.Mul(s.table[i][last], s.table[leave][enter])
				y.Mul(s.table[leave][last], s.table[i][enter])
				if c := x.Cmp(y); c > 0 || c == 0 && s.basis[i] > s.basis[leave] {
					continue
				}
			}
			leave = i
		}
		s.pivot(leave, enter)
	}
}

// pivot has column c enter the basis in row r.
func (s *tableau) pivot(r, c int) {
	p, x := new(big.Int).Set(s.table[r][c]), new(big.Int)
	for i, row := range s.table {
		if i == r {
			continue
		}
		f := new(big.Int).Set(row[c])
		for j := range row {
			row[j].Mul(row[j], p)
			row[j].Sub(row[j], x.Mul(f, s.table[r][j]))
			row[j].Quo(row[j], s.divisor)
		}
	}
	s.divisor.Set(p)
	s.basis[r] = c
	if p.Sign() < 0 { // the divisor stays positive
		s.divisor.Neg(s.divisor)
		for _, row := range s.table {
			for _, x := range row {
				x.Neg(x)
			}
		}
	}
}

// within reports whether the distance of the hulls of a and of b is at most the limit, where b is moved by d. The least
// distance is attained in the relative interiors of two faces whose affine hulls have one pair of nearest points, so
// that the normal equations of the weights have one solution.
func within(limit float64, a, b []r3.Vec, d [3]*big.Rat) bool {
	most := new(big.Rat).SetFloat64(limit)
	most.Mul(most, most)
	for i := 1<<len(a) - 1; i > 0; i-- {
		for j := 1<<len(b) - 1; j > 0; j-- {
			if q := faceDistance(face(a, i), face(b, j), d); q != nil && q.Cmp(most) <= 0 {
				return true
			}
		}
	}
	return false
}

func face(v []r3.Vec, of int) (f [][3]*big.Rat) {
	for k, x := range v {
		if of>>k&1 == 1 {
			f = append(f, rational(x))
		}
	}
	return f
}

func rational(v r3.Vec) (r [3]*big.Rat) {
	for i, c := range coordinates(v) {
		r[i] = new(big.Rat).SetFloat64(c)
	}
	return r
}

// faceDistance is the squared distance of the affine hulls of two faces if it is attained at one pair of points, within
// the faces, and nil otherwise.
func faceDistance(a, b [][3]*big.Rat, d [3]*big.Rat) *big.Rat {
	sub := func(x, y [3]*big.Rat) (z [3]*big.Rat) {
		for i := range z {
			z[i] = new(big.Rat).Sub(x[i], y[i])
		}
		return z
	}
	dot := func(x, y [3]*big.Rat) *big.Rat {
		sum := new(big.Rat)
		for i := range x {
			sum.Add(sum, new(big.Rat).Mul(x[i], y[i]))
		}
		return sum
	}
	r := sub(sub(a[0], b[0]), d)
	var e [][3]*big.Rat // r + Σ w·e is the difference of two points
	for _, x := range a[1:] {
		e = append(e, sub(x, a[0]))
	}
	for _, x := range b[1:] {
		e = append(e, sub(b[0], x))
	}
	n := len(e)
	m := make([][]*big.Rat, n) // normal equations
	for i := range m {
		for j := range e {
			m[i] = append(m[i], dot(e[i], e[j]))
		}
		m[i] = append(m[i], new(big.Rat).Neg(dot(e[i], r)))
	}
	for k := range n {
		at := k
		for at < n && m[at][k].Sign() == 0 {
			at++
		}
		if at == n {
			return nil
		}
		m[k], m[at] = m[at], m[k]
		for i := range n {
			if i == k {
				continue
			}
			f := new(big.Rat).Quo(m[i][k], m[k][k])
			for j := k; j <= n; j++ {
				m[i][j] = new(big.Rat).Sub(m[i][j], new(big.Rat).Mul(f, m[k][j]))
			}
		}
	}
	one := big.NewRat(1, 1)
	sums := [2]*big.Rat{new(big.Rat), new(big.Rat)}
	for k := range n {
		w := new(big.Rat).Quo(m[k][n], m[k][k])
		side := 0
		if k >= len(a)-1 {
			side = 1
		}
		sums[side].Add(sums[side], w)
		if w.Sign() < 0 || sums[side].Cmp(one) > 0 {
			return nil
		}
		for i := range r {
			r[i] = new(big.Rat).Add(r[i], new(big.Rat).Mul(w, e[k][i]))
		}
	}
	return dot(r, r)
}
