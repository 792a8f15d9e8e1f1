package contact

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// newtonMemory numbers the bodies that move and have contacts, and finds the pattern of the matrix.
func (s *worldSolver) newtonMemory() {
	n := &s.newton
	resize(&n.block, len(s.mass))
	for b := range n.block {
		n.block[b] = -1
	}
	n.bodies = n.bodies[:0]
	for i := range s.rows {
		for _, b := range [2]int{s.rows[i].a, s.rows[i].b} {
			if s.invMass[b] > 0 {
				n.block[b] = 0
			}
		}
	}
	for b, used := range n.block {
		if used == 0 {
			n.block[b] = len(n.bodies)
			n.bodies = append(n.bodies, b)
		}
	}
	rows, bodies, blocks := len(s.rows), len(s.mass), len(n.bodies)
	resize(&n.outer, rows)
	resize(&n.slip, rows)
	resize(&n.lambda, rows)
	resize(&n.curvature, rows)
	resize(&n.jacobians, rows)
	for i := range s.rows {
		r := &s.rows[i]
		n.jacobians[i] = [2][3][6]float64{r.jacobian(r.ra, -1), r.jacobian(r.rb, 1)}
	}
	resize(&n.prox, rows)
	resize(&n.shift, rows)
	for _, t := range []*[]twist{&n.base, &n.v, &n.try, &n.measured, &n.gradient, &n.step} {
		resize(t, bodies)
	}
	resize(&n.matrix, 36*blocks*blocks)
	resize(&n.pattern, blocks*blocks)
	resize(&n.right, 6*blocks)
	n.velocity = 0
	for _, b := range n.bodies {
		v := &s.free[b]
		n.velocity += s.mass[b]*dotVec(v.lin, v.lin) + dotVec(v.ang, s.inertia[b].mul(v.ang))
	}
	s.fillPattern()
}

// order numbers the blocks in the order of elimination by minimum degree [George1989]: the next body is the one with
// the fewest neighbours, of those the first, and its neighbours become neighbours of each other. In pattern are the
// neighbours before, and then also those that the elimination joins, by the old numbers.
func (s *worldSolver) order() {
	n := &s.newton
	size := len(n.bodies)
	resize(&n.place, size)
	resize(&n.degree, size)
	for i := range size {
		n.place[i], n.degree[i] = -1, 0
		for _, filled := range n.pattern[i*size : (i+1)*size] {
			if filled {
				n.degree[i]++
			}
		}
	}
	for k := range size {
		next := -1
		for i, place := range n.place {
			if place < 0 && (next < 0 || n.degree[i] < n.degree[next]) {
				next = i
			}
		}
		n.place[next] = k
		n.near = n.near[:0]
		for i, filled := range n.pattern[next*size : (next+1)*size] {
			if filled && n.place[i] < 0 {
				n.near = append(n.near, i)
			}
		}
		for _, i := range n.near {
			n.degree[i]-- // by next
			for _, j := range n.near {
				if i != j && !n.pattern[i*size+j] {
					n.pattern[i*size+j] = true
					n.degree[i]++
				}
			}
		}
	}
}

// fillPattern numbers the blocks and finds those of the matrix that are not zero, before and during the elimination.
func (s *worldSolver) fillPattern() {
	n := &s.newton
	size := len(n.bodies)
	clear(n.pattern)
	for i := range s.rows {
		if a, b := n.block[s.rows[i].a], n.block[s.rows[i].b]; a >= 0 && b >= 0 {
			n.pattern[a*size+b], n.pattern[b*size+a] = true, true
		}
	}
	s.order()
	filled := append(n.filled[:0], n.pattern...)
	n.filled = filled
	for i, place := range n.place {
		for j, other := range n.place {
			n.pattern[place*size+other] = i == j || filled[i*size+j]
		}
	}
	for b, i := range n.block {
		if i >= 0 {
			n.block[b] = n.place[i]
			n.bodies[n.place[i]] = b
		}
	}
}

// assemble forms M + JᵀHJ.
func (s *worldSolver) assemble() {
	n := &s.newton
	size := 6 * len(n.bodies)
	clear(n.matrix)
	for k, b := range n.bodies {
		for i := range 3 {
			n.matrix[(6*k+i)*size+6*k+i] = s.mass[b]
		}
		inertia := &s.inertia[b]
		full := [3][3]float64{
			{inertia[0], inertia[3], inertia[4]},
			{inertia[3], inertia[1], inertia[5]},
			{inertia[4], inertia[5], inertia[2]},
		}
		for i := range 3 {
			copy(n.matrix[(6*k+3+i)*size+6*k+3:], full[i][:])
		}
	}
	for i := range s.rows {
		r := &s.rows[i]
		h := &n.curvature[i]
		if h[2][2] == 0 {
			continue
		}
		blocks := [2]int{n.block[r.a], n.block[r.b]}
		jacobians := &n.jacobians[i]
		for p, bp := range blocks {
			if bp < 0 {
				continue
			}
			left := product(&jacobians[p], h)
			for q, bq := range blocks {
				if bq >= 0 {
					addBlock(n.matrix[6*bp*size+6*bq:], size, &left, &jacobians[q])
				}
			}
		}
	}
}

// jacobian returns the rows of J of one body, for the directions t1, t2 and n.
func (r *row) jacobian(arm r3.Vec, sign float64) (j [3][6]float64) {
	for i, d := range [3]r3.Vec{r.t1, r.t2, r.n} {
		c := crossVec(arm, d)
		j[i] = [6]float64{sign * d.X, sign * d.Y, sign * d.Z, sign * c.X, sign * c.Y, sign * c.Z}
	}
	return j
}

// product returns JᵀH, transposed.
func product(j *[3][6]float64, h *[3][3]float64) (left [3][6]float64) {
	for c := range 3 {
		for k := range 6 {
			left[c][k] = j[0][k]*h[0][c] + j[1][k]*h[1][c] + j[2][k]*h[2][c]
		}
	}
	return left
}

func addBlock(m []float64, stride int, left, right *[3][6]float64) {
	for i := range 6 {
		to := m[i*stride : i*stride+6]
		a, b, c := left[0][i], left[1][i], left[2][i]
		for j := range to {
			to[j] += a*right[0][j] + b*right[1][j] + c*right[2][j]
		}
	}
}

// factor solves for the Newton step by Gaussian elimination over the blocks of the pattern, without pivoting:
// the matrix of the convex model is positive definite. It reports false if a pivot vanishes or a step is not
// finite, which matrices of the NCP can do.
func (s *worldSolver) factor() bool {
	n := &s.newton
	blocks := len(n.bodies)
	size := 6 * blocks
	for k, b := range n.bodies {
		g := &n.gradient[b]
		copy(n.right[6*k:], []float64{-g.lin.X, -g.lin.Y, -g.lin.Z, -g.ang.X, -g.ang.Y, -g.ang.Z})
	}
	for k := range blocks {
		for c := 6 * k; c < 6*k+6; c++ {
			if !s.eliminate(k, c, blocks, size) {
				return false
			}
		}
	}
	for k := blocks - 1; k >= 0; k-- {
		for c := 6*k + 5; c >= 6*k; c-- {
			sum, line := n.right[c], n.matrix[c*size:(c+1)*size]
			for j := c + 1; j < 6*k+6; j++ {
				sum -= line[j] * n.right[j]
			}
			for q := k + 1; q < blocks; q++ {
				if n.pattern[k*blocks+q] {
					for j := 6 * q; j < 6*q+6; j++ {
						sum -= line[j] * n.right[j]
					}
				}
			}
			n.right[c] = sum / line[c]
		}
	}
	for k, b := range n.bodies {
		x := n.right[6*k : 6*k+6]
		if !finite(x...) {
			return false
		}
		n.step[b] = twist{vecOf(x), vecOf(x[3:])}
	}
	return true
}

// eliminate subtracts multiples of row c, of block k, from the rows below it.
func (s *worldSolver) eliminate(k, c, blocks, size int) bool {
	n := &s.newton
	pivot := n.matrix[c*size : (c+1)*size]
	if !(math.Abs(pivot[c]) > 0) {
		return false
	}
	inverse := 1 / pivot[c]
	for p := k; p < blocks; p++ {
		if !n.pattern[p*blocks+k] {
			continue
		}
		first := 6 * p
		if p == k {
			first = c + 1
		}
		for i := first; i < 6*p+6; i++ {
			line := n.matrix[i*size : (i+1)*size]
			f := line[c] * inverse
			if f == 0 {
				continue
			}
			for j := c + 1; j < 6*k+6; j++ {
				line[j] -= f * pivot[j]
			}
			for q := k + 1; q < blocks; q++ {
				if n.pattern[k*blocks+q] {
					to, from := line[6*q:6*q+6], pivot[6*q:6*q+6]
					for j := range to {
						to[j] -= f * from[j]
					}
				}
			}
			n.right[i] -= f * n.right[c]
		}
	}
	return true
}
