package ref

import (
	"errors"
	"fmt"
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// QuadraticProgram finds the distance of two polytopes by a general solver of quadratic
// programs [AGIMUS2023, GJK++, eq. 2 and sec. IV-C]: minimise ½‖a − b‖² over the six
// coordinates of a ∈ A and b ∈ B, one linear constraint per face. It is there to be
// compared with GJK: the work of every step grows with the number of faces, and
// nothing of the geometry is used.
//
// The objective is not strictly convex, so it is solved by proximal steps, each a
// strictly convex program for the dual active-set method of Goldfarb and Idnani
// (Mathematical Programming 27, 1983). A and B are boxes or solid convex hulls.
// It returns the distance, 0 if they intersect, and the number of changes of the
// active set.
func QuadraticProgram(p *Pair) (distance float64, steps int, err error) {
	var q program
	if err := q.addFaces(p.A, func(n r3.Vec, offset float64) { q.add(n, r3.Vec{}, offset) }); err != nil {
		return 0, 0, err
	}
	err = q.addFaces(p.B, func(n r3.Vec, offset float64) {
		m := p.rot.MulVec(n)
		q.add(r3.Vec{}, m, offset+r3.Dot(m, p.trans))
	})
	if err != nil {
		return 0, 0, err
	}
	a, b := p.A.Center(), r3.Add(p.rot.MulVec(p.B.Center()), p.trans)
	x := vec6{a.X, a.Y, a.Z, b.X, b.Y, b.Z}
	slack := 64 * eps * p.scale // rounding of a constraint, a few operations on such lengths
	last := math.Inf(1)
	for range 100 {
		y, n, err := q.step(x, slack)
		steps += n
		if err != nil {
			return 0, steps, err
		}
		x = y
		distance = math.Sqrt(sq(x[0]-x[3]) + sq(x[1]-x[4]) + sq(x[2]-x[5]))
		if !(last-distance > 1e-9*p.size) { // a proximal step gains no more
			return distance, steps, nil
		}
		last = distance
	}
	return distance, steps, nil
}

func sq(x float64) float64 { return x * x }

type vec6 [6]float64

func (v *vec6) dot(w *vec6) (d float64) {
	for k := range v {
		d += v[k] * w[k]
	}
	return d
}

// program is: minimise ½‖a − b‖² + ½ρ‖x − x₀‖² subject to <rows[i], x> ≤ offsets[i].
type program struct {
	rows    []vec6
	offsets []float64
}

// proximity is ρ: small beside the curvature 1 of the objective, so that few proximal
// steps suffice, and large beside rounding.
const proximity = 1e-3

func (q *program) add(a, b r3.Vec, offset float64) {
	q.rows = append(q.rows, vec6{a.X, a.Y, a.Z, b.X, b.Y, b.Z})
	q.offsets = append(q.offsets, offset)
}

// addFaces calls add with the outward normal and the offset of every face of a shape.
func (q *program) addFaces(s geom.Shape, add func(r3.Vec, float64)) error {
	switch s := s.(type) {
	case geom.Box:
		h := s.HalfExtents
		for _, n := range [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}} {
			offset := r3.Dot(n, h)
			add(n, offset)
			add(r3.Scale(-1, n), offset)
		}
		return nil
	case *geom.Convex:
		h := s.Hull()
		if h.Dim == 3 {
			for f := range len(h.FaceStart) - 1 {
				k := h.FaceStart[f]
				add(h.Normals[k], h.Offsets[k])
			}
			return nil
		}
	}
	return fmt.Errorf("ref: quadratic program: a %v has no faces; want a box or a solid hull", s.Kind())
}

// inverse applies the inverse of the Hessian: (1+2ρ+…) on the difference of the two
// halves and 1/ρ on their sum.
func inverse(v *vec6) (w vec6) {
	const along, across = 1 / proximity, 1 / (2 + proximity)
	for k := range 3 {
		sum, diff := (v[k]+v[k+3])/2, (v[k]-v[k+3])/2
		w[k], w[k+3] = along*sum+across*diff, along*sum-across*diff
	}
	return w
}

// step solves the program around x₀.
func (q *program) step(x0 vec6, slack float64) (x vec6, steps int, err error) {
	for k := range x0 {
		x[k] = proximity * x0[k]
	}
	x = inverse(&x) // the minimum without constraints
	var active []int
	var u []float64 // multipliers
	for {
		worst, most := -1, slack
		for i := range q.rows {
			if v := q.rows[i].dot(&x) - q.offsets[i]; v > most {
				worst, most = i, v
			}
		}
		if worst < 0 {
			return x, steps, nil
		}
		multiplier := 0.0
		for {
			if steps++; steps > 100*(len(q.rows)+10) {
				return x, steps, errors.New("ref: quadratic program: the active set does not settle")
			}
			// z is the step of x that moves against the violated constraint and along the
			// active ones, r what it does to their multipliers.
			z, r := q.direction(worst, active)
			full := math.Inf(1)
			if down := q.rows[worst].dot(&z); down > 1e-12/proximity {
				full = (q.rows[worst].dot(&x) - q.offsets[worst]) / down
			}
			partial, leaving := math.Inf(1), -1
			for j := range active {
				if r[j] > 0 && u[j]/r[j] < partial {
					partial, leaving = u[j]/r[j], j
				}
			}
			t := min(full, partial)
			if math.IsInf(t, 1) {
				return x, steps, errors.New("ref: quadratic program: no point satisfies all constraints")
			}
			if !math.IsInf(full, 1) {
				for k := range x {
					x[k] -= t * z[k]
				}
			}
			for j := range u {
				u[j] -= t * r[j]
			}
			multiplier += t
			if t == full {
				active, u = append(active, worst), append(u, multiplier)
				break
			}
			active = append(active[:leaving], active[leaving+1:]...)
			u = append(u[:leaving], u[leaving+1:]...)
		}
	}
}

// direction returns z = H·n and r = N*·n of Goldfarb and Idnani, for the normal n of
// the constraint and the active ones: r solves (NᵀG⁻¹N) r = NᵀG⁻¹n, z = G⁻¹(n − N r).
func (q *program) direction(constraint int, active []int) (z vec6, r []float64) {
	n := q.rows[constraint]
	g := inverse(&n)
	m := len(active)
	var a [6][7]float64
	for i, c := range active {
		row := q.rows[c]
		gi := inverse(&row)
		for j, d := range active {
			a[i][j] = gi.dot(&q.rows[d])
		}
		a[i][m] = row.dot(&g)
	}
	r = make([]float64, m)
	for i := range m { // elimination; the matrix is positive definite
		for j := i + 1; j < m; j++ {
			f := a[j][i] / a[i][i]
			for k := i; k <= m; k++ {
				a[j][k] -= f * a[i][k]
			}
		}
	}
	for i := m - 1; i >= 0; i-- {
		v := a[i][m]
		for j := i + 1; j < m; j++ {
			v -= a[i][j] * r[j]
		}
		r[i] = v / a[i][i]
	}
	left := n
	for i, c := range active {
		for k := range left {
			left[k] -= r[i] * q.rows[c][k]
		}
	}
	return inverse(&left), r
}
