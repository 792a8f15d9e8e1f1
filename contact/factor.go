package contact

import (
	"math"

	"clearance/internal/memory"

	"gonum.org/v1/gonum/spatial/r3"
)

// patternBytes is the memory of a place of the pattern of the matrix, and blockBytes that of a block.
const patternBytes, blockBytes = 2*1 + 4, 36 * 8

// newtonMemory numbers the bodies that move and have contacts, and finds the pattern of the matrix. It reports false if
// there is no memory for it.
func (s *worldSolver) newtonMemory() bool {
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
	if s.room(patternBytes*(float64(blocks)*float64(blocks)-float64(cap(n.slot)))) != nil {
		return false
	}
	resize(&n.pattern, blocks*blocks)
	resize(&n.slot, blocks*blocks)
	resize(&n.right, 6*blocks)
	n.velocity = 0
	for _, b := range n.bodies {
		v := &s.free[b]
		n.velocity += s.mass[b]*dotVec(v.lin, v.lin) + dotVec(v.ang, s.inertia[b].mul(v.ang))
	}
	return s.fillPattern()
}

// room returns an error if Newton's method for a world would take so much more memory than there is, in all goroutines
// of the call.
func (s *worldSolver) room(bytes float64) error {
	if s.newton.memory != nil {
		return s.newton.memory(bytes)
	}
	return memory.Check("the matrix of Newton's method", bytes*float64(max(s.sharing, 1)))
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

// fillPattern numbers the blocks and finds those of the matrix that are not zero, before and during the elimination:
// these alone have memory. It reports false if there is none for them.
func (s *worldSolver) fillPattern() bool {
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
	count := 0
	for i, filled := range n.pattern {
		if n.slot[i] = -1; filled {
			n.slot[i] = int32(count)
			count++
		}
	}
	if s.room(blockBytes*float64(count-cap(n.matrix))) != nil {
		return false
	}
	resize(&n.matrix, count)
	return true
}

// at is the block of the matrix of the rows of block p and the columns of block q, which are in the pattern.
func (n *newtonState) at(p, q int) *[6][6]float64 { return &n.matrix[n.slot[p*len(n.bodies)+q]] }

// assemble forms M + JᵀHJ.
func (s *worldSolver) assemble() {
	n := &s.newton
	clear(n.matrix)
	for k, b := range n.bodies {
		m := n.at(k, k)
		for i := range 3 {
			m[i][i] = s.mass[b]
		}
		inertia := &s.inertia[b]
		full := [3][3]float64{
			{inertia[0], inertia[3], inertia[4]},
			{inertia[3], inertia[1], inertia[5]},
			{inertia[4], inertia[5], inertia[2]},
		}
		for i := range 3 {
			copy(m[3+i][3:], full[i][:])
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
					addBlock(n.at(bp, bq), &left, &jacobians[q])
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

func addBlock(m *[6][6]float64, left, right *[3][6]float64) {
	for i := range 6 {
		to := &m[i]
		a, b, c := left[0][i], left[1][i], left[2][i]
		for j := range to {
			to[j] += a*right[0][j] + b*right[1][j] + c*right[2][j]
		}
	}
}

// factor solves for the Newton step by Gaussian elimination over the blocks of the pattern, without pivoting:
// the matrix of the convex model is positive definite. It reports false if a pivot vanishes or a step is not
// finite, which matrices of the NCP can do, and where the context of the call has ended.
func (s *worldSolver) factor() bool {
	n := &s.newton
	blocks := len(n.bodies)
	for k, b := range n.bodies {
		g := &n.gradient[b]
		copy(n.right[6*k:], []float64{-g.lin.X, -g.lin.Y, -g.lin.Z, -g.ang.X, -g.ang.Y, -g.ang.Z})
	}
	for k := range blocks {
		if s.ended() {
			return false
		}
		for c := range 6 {
			if !s.eliminate(k, c) {
				return false
			}
		}
	}
	for k := blocks - 1; k >= 0; k-- {
		x := n.right[6*k : 6*k+6]
		for c := 5; c >= 0; c-- {
			sum, line := x[c], &n.at(k, k)[c]
			for j := c + 1; j < 6; j++ {
				sum -= line[j] * x[j]
			}
			for q := k + 1; q < blocks; q++ {
				if n.pattern[k*blocks+q] {
					for j, m := range n.at(k, q)[c] {
						sum -= m * n.right[6*q+j]
					}
				}
			}
			x[c] = sum / line[c]
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

// eliminate subtracts multiples of row c of block k from the rows below it.
func (s *worldSolver) eliminate(k, c int) bool {
	n := &s.newton
	blocks := len(n.bodies)
	pivot := &n.at(k, k)[c]
	if !(math.Abs(pivot[c]) > 0) {
		return false
	}
	inverse := 1 / pivot[c]
	for p := k; p < blocks; p++ {
		if !n.pattern[p*blocks+k] {
			continue
		}
		first, rows := 0, n.at(p, k)
		if p == k {
			first = c + 1
		}
		for i := first; i < 6; i++ {
			line := &rows[i]
			f := line[c] * inverse
			if f == 0 {
				continue
			}
			for j := c + 1; j < 6; j++ {
				line[j] -= f * pivot[j]
			}
			for q := k + 1; q < blocks; q++ {
				if n.pattern[k*blocks+q] {
					to, from := &n.at(p, q)[i], &n.at(k, q)[c]
					for j := range to {
						to[j] -= f * from[j]
					}
				}
			}
			n.right[6*p+i] -= f * n.right[6*k+c]
		}
	}
	return true
}
