package adjoint

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/internal/modes"
	"clearance/internal/memory"
)

// The linear system of a derivative, see package modes, in velocity space: its matrix M + JᵀAP⁻¹BᵀJ has blocks of 6×6
// numbers for the bodies, and for pairs of bodies with a contact between them.

// A world of bodies that contacts hold, so that JᵀE⁻¹J with E = h is regular, does without: with ε = 2⁻⁶⁰ the system
// has the precision of JᵀE⁻¹J, and one round ends it. heldPart bounds the diagonal of M·(M + ε⁻¹JᵀE⁻¹J)⁻¹, about ε/κ,
// so that κ is at least 2⁻²⁰. This holds for s = 0 alone; other s have a factor of ε⁻¹.
const heldRegularization, heldPart = 0x1p-60, 0x1p-40

// problemSystem is the matrix M + JᵀAP⁻¹BᵀJ in the order of elimination, and its factors.
type problemSystem struct {
	block   []int // place by body; -1 for a body that does not move or has no contact with a mode but open
	order   []int // body by place
	pattern []bool
	degree  []int
	near    []int32 // places after k that are joined with k, for all k one after the other
	first   []int32 // of each k in near
	upper   []int32 // blocks (k, q) and (q, k) for each of near
	lower   []int32
	slot    []int32 // by both places
	inverse [][6][6]float64
	blocks  [][6][6]float64
	right   [][6]float64
	sticks  []int // contacts that stick, by body
}

// number orders the bodies by minimum degree [George1989]: the next one is that with the fewest neighbors, of those the
// first, and its neighbors become neighbors of each other. It returns an error if the pattern or the blocks would take
// more memory than there is.
func (x *problemWorld) number() error {
	if err := x.findOrder(); err != nil {
		return err
	}
	for i := range x.rows {
		r := &x.rows[i]
		r.place = [2]int{x.system.block[r.a], x.system.block[r.b]}
	}
	return nil
}

// patternBytes is the memory of a place of the pattern, and blockBytes that of a block.
const patternBytes, blockBytes = 1 + 4, 36 * 8

// systemMemory returns an error if so many bytes are more than there are.
func systemMemory(bytes float64) error {
	return memory.Check("the system of a derivative of contacts", bytes)
}

func (x *problemWorld) findOrder() error {
	s := &x.system
	resize(&s.block, len(x.v))
	for b := range s.block {
		s.block[b] = -1
	}
	s.order = s.order[:0]
	for i := range x.rows {
		if r := &x.rows[i]; r.N > 0 {
			for _, b := range [2]int{r.a, r.b} {
				if x.invMass[b] > 0 && s.block[b] < 0 {
					s.block[b] = len(s.order)
					s.order = append(s.order, b)
				}
			}
		}
	}
	n := len(s.order)
	s.near, s.upper, s.lower = s.near[:0], s.upper[:0], s.lower[:0]
	resize(&s.first, n+1)
	resize(&s.inverse, n)
	resize(&s.right, n)
	joined := false
	for i := range x.rows {
		r := &x.rows[i]
		joined = joined || r.N > 0 && s.block[r.a] >= 0 && s.block[r.b] >= 0
	}
	if !joined {
		clear(s.first)
		s.blocks = s.blocks[:0]
		return nil
	}
	if places := float64(n) * float64(n); places > float64(cap(s.slot)) {
		if err := systemMemory(patternBytes * places); err != nil {
			return err
		}
	}
	resize(&s.pattern, n*n)
	clear(s.pattern)
	resize(&s.degree, n)
	clear(s.degree)
	for i := range x.rows {
		r := &x.rows[i]
		if p, q := s.block[r.a], s.block[r.b]; r.N > 0 && p >= 0 && q >= 0 && !s.pattern[p*n+q] {
			s.pattern[p*n+q], s.pattern[q*n+p] = true, true
			s.degree[p]++
			s.degree[q]++
		}
	}
	s.eliminate(n)
	if blocks := 2 * len(s.near); blocks > cap(s.blocks) {
		if err := systemMemory(blockBytes * float64(blocks)); err != nil {
			return err
		}
	}
	s.renumber(n)
	return nil
}

// eliminate finds the order and the pattern of the factors.
func (s *problemSystem) eliminate(n int) {
	const done = -1
	for k := range n {
		next := -1
		for i, d := range s.degree {
			if d != done && (next < 0 || d < s.degree[next]) {
				next = i
			}
		}
		s.first[k] = int32(len(s.near))
		for i, joined := range s.pattern[next*n : (next+1)*n] {
			if joined && s.degree[i] != done {
				s.near = append(s.near, int32(i)) // by old places
			}
		}
		s.degree[next] = done
		near := s.near[s.first[k]:]
		for _, i := range near {
			s.degree[i]--
			for _, j := range near {
				if i != j && !s.pattern[int(i)*n+int(j)] {
					s.pattern[int(i)*n+int(j)] = true
					s.degree[i]++
				}
			}
		}
		s.upper = append(s.upper, int32(next)) // the order, for now
	}
	s.first[n] = int32(len(s.near))
}

// renumber replaces old places by new ones, and gives each block of the pattern memory.
func (s *problemSystem) renumber(n int) {
	places := s.degree // of old places
	for k, old := range s.upper {
		places[old] = k
	}
	for b, old := range s.block {
		if old >= 0 {
			s.block[b] = places[old]
		}
	}
	for b, k := range s.block {
		if k >= 0 {
			s.order[k] = b
		}
	}
	resize(&s.slot, n*n)
	count := len(s.near)
	resize(&s.blocks, 2*count)
	resize(&s.upper, count)
	resize(&s.lower, count)
	for k := range n {
		for i := s.first[k]; i < s.first[k+1]; i++ {
			q := places[s.near[i]]
			s.near[i], s.upper[i], s.lower[i] = int32(q), 2*i, 2*i+1
			s.slot[k*n+q], s.slot[q*n+k] = 2*i, 2*i+1
		}
	}
}

// factor assembles and factors the matrix, and reports false if it is singular. A block of a diagonal is inverted with
// pivoting within the block.
func (x *problemWorld) factor() bool {
	s := &x.system
	clear(s.blocks)
	for k, b := range s.order {
		i, m := &x.inertia[b], x.bodyMass[b]
		s.inverse[k] = [6][6]float64{
			{m}, {1: m}, {2: m},
			{3: i[0], 4: i[3], 5: i[4]}, {3: i[3], 4: i[1], 5: i[5]}, {3: i[4], 4: i[5], 5: i[2]},
		}
	}
	n, symmetric := len(s.order), true
	for i := range x.rows {
		r := &x.rows[i]
		symmetric = symmetric && (r.Mode != Slide || r.Mu == 0 || x.model == contact.CCP)
		p, q := r.place[0], r.place[1]
		first := 0
		if r.Mode == Stick { // both tangential pivots are the same, and nearly always that of the normal
			f := r.Inverse[0]
			if p >= 0 {
				addStick(&s.inverse[p], r.ra, r.ra, f)
			}
			if q >= 0 {
				addStick(&s.inverse[q], r.rb, r.rb, f)
			}
			if p >= 0 && q >= 0 {
				addStick(&s.blocks[s.slot[p*n+q]], r.ra, r.rb, -f)
				addStick(&s.blocks[s.slot[q*n+p]], r.rb, r.ra, -f)
			}
			if first = 2; r.Inverse[2] == f {
				continue
			}
		}
		for k := first; k < r.N; k++ {
			f := r.Inverse[k]
			if first == 2 {
				f -= r.Inverse[0]
			}
			if p >= 0 {
				addOuter(&s.inverse[p], on(r.ra, r.onA[k]), on(r.ra, r.onB[k]), f)
			}
			if q >= 0 {
				addOuter(&s.inverse[q], on(r.rb, r.onA[k]), on(r.rb, r.onB[k]), f)
			}
			if p >= 0 && q >= 0 {
				addOuter(&s.blocks[s.slot[p*n+q]], on(r.ra, r.onA[k]), on(r.rb, r.onB[k]), -f)
				addOuter(&s.blocks[s.slot[q*n+p]], on(r.rb, r.onA[k]), on(r.ra, r.onB[k]), -f)
			}
		}
	}
	for k := range n {
		if !invert(&s.inverse[k], symmetric) {
			return false
		}
		lo, hi := s.first[k], s.first[k+1]
		for i := lo; i < hi; i++ {
			low := &s.blocks[s.lower[i]]
			*low = times(low, &s.inverse[k])
			p := int(s.near[i])
			for j := lo; j < hi; j++ {
				q := int(s.near[j])
				to := &s.inverse[p]
				if p != q {
					to = &s.blocks[s.slot[p*n+q]]
				}
				subtractProduct(to, low, &s.blocks[s.upper[j]])
			}
		}
	}
	return true
}

// addStick adds f·JᵀJ of the points of two bodies at arms p and q, J = (1, −[r]×), which no frame changes: the blocks
// are 1, −[q]×, [p]× and (p·q)·1 − qpᵀ.
func addStick(m *[6][6]float64, p, q r3.Vec, f float64) {
	a, b, g := r3.Scale(f, p), r3.Scale(f, q), f*dot(p, q)
	m[0][0] += f
	m[1][1] += f
	m[2][2] += f
	m[0][4] += b.Z
	m[0][5] -= b.Y
	m[1][3] -= b.Z
	m[1][5] += b.X
	m[2][3] += b.Y
	m[2][4] -= b.X
	m[3][1] -= a.Z
	m[3][2] += a.Y
	m[4][0] += a.Z
	m[4][2] -= a.X
	m[5][0] -= a.Y
	m[5][1] += a.X
	m[3][3] += g - b.X*p.X
	m[3][4] -= b.X * p.Y
	m[3][5] -= b.X * p.Z
	m[4][3] -= b.Y * p.X
	m[4][4] += g - b.Y*p.Y
	m[4][5] -= b.Y * p.Z
	m[5][3] -= b.Z * p.X
	m[5][4] -= b.Z * p.Y
	m[5][5] += g - b.Z*p.Z
}

// on is a force on a body and its moment, at an arm.
func on(arm, force r3.Vec) [6]float64 {
	m := cross(arm, force)
	return [6]float64{force.X, force.Y, force.Z, m.X, m.Y, m.Z}
}

func addOuter(m *[6][6]float64, left, right [6]float64, f float64) {
	a, b, c, d, e, g := right[0], right[1], right[2], right[3], right[4], right[5]
	for i := range m {
		to, l := &m[i], f*left[i]
		to[0] += l * a
		to[1] += l * b
		to[2] += l * c
		to[3] += l * d
		to[4] += l * e
		to[5] += l * g
	}
}

func times(a, b *[6][6]float64) (c [6][6]float64) {
	for i := range c {
		to := &c[i]
		for k, f := range a[i] {
			from := &b[k]
			to[0] += f * from[0]
			to[1] += f * from[1]
			to[2] += f * from[2]
			to[3] += f * from[3]
			to[4] += f * from[4]
			to[5] += f * from[5]
		}
	}
	return c
}

func subtractProduct(c, a, b *[6][6]float64) {
	for i := range c {
		to := &c[i]
		for k, f := range a[i] {
			from := &b[k]
			to[0] -= f * from[0]
			to[1] -= f * from[1]
			to[2] -= f * from[2]
			to[3] -= f * from[3]
			to[4] -= f * from[4]
			to[5] -= f * from[5]
		}
	}
}

// invert replaces a matrix by its inverse, by Gauss-Jordan elimination with pivoting of rows. A symmetric matrix is
// positive definite and needs no pivoting. It reports false if a pivot is zero or not finite.
func invert(m *[6][6]float64, symmetric bool) bool {
	var swap [6]int
	for k := range m {
		if !symmetric {
			p := k
			for i := k + 1; i < 6; i++ {
				if math.Abs(m[i][k]) > math.Abs(m[p][k]) {
					p = i
				}
			}
			swap[k] = p
			m[k], m[p] = m[p], m[k]
		}
		pivot := m[k][k]
		if f := 1 / pivot; f-f != 0 || pivot-pivot != 0 {
			return false
		}
		f, row := 1/pivot, &m[k]
		row[k] = 1
		a, b, c, d, e, h := f*row[0], f*row[1], f*row[2], f*row[3], f*row[4], f*row[5]
		for i := range m {
			if i == k {
				*row = [6]float64{a, b, c, d, e, h}
				continue
			}
			to, g := &m[i], m[i][k]
			to[k] = 0
			to[0] -= g * a
			to[1] -= g * b
			to[2] -= g * c
			to[3] -= g * d
			to[4] -= g * e
			to[5] -= g * h
		}
	}
	if symmetric {
		return true
	}
	for k := 5; k >= 0; k-- {
		if p := swap[k]; p != k {
			for i := range m {
				m[i][k], m[i][p] = m[i][p], m[i][k]
			}
		}
	}
	return true
}

func subtractTimes(to *[6]float64, m *[6][6]float64, v *[6]float64) {
	for i := range to {
		row := &m[i]
		to[i] -= row[0]*v[0] + row[1]*v[1] + row[2]*v[2] + row[3]*v[3] + row[4]*v[4] + row[5]*v[5]
	}
}

func subtractTransposed(to *[6]float64, m *[6][6]float64, v *[6]float64) {
	for i, f := range v {
		row := &m[i]
		for j := range to {
			to[j] -= f * row[j]
		}
	}
}

// solve replaces right by the solution, or by that of the transposed matrix.
func (s *problemSystem) solve(transposed bool) {
	n := len(s.order)
	for k := range n {
		b := &s.right[k]
		if transposed {
			b = s.divide(k, true)
		}
		for i := s.first[k]; i < s.first[k+1]; i++ {
			if to := &s.right[s.near[i]]; transposed {
				subtractTransposed(to, &s.blocks[s.upper[i]], b)
			} else {
				subtractTimes(to, &s.blocks[s.lower[i]], b)
			}
		}
	}
	for k := n - 1; k >= 0; k-- {
		b := &s.right[k]
		for i := s.first[k]; i < s.first[k+1]; i++ {
			if from := &s.right[s.near[i]]; transposed {
				subtractTransposed(b, &s.blocks[s.lower[i]], from)
			} else {
				subtractTimes(b, &s.blocks[s.upper[i]], from)
			}
		}
		if !transposed {
			s.divide(k, false)
		}
	}
}

// divide multiplies the right hand side of block k by the inverse of that block.
func (s *problemSystem) divide(k int, transposed bool) *[6]float64 {
	b := &s.right[k]
	var out [6]float64
	if transposed {
		subtractTransposed(&out, &s.inverse[k], b)
	} else {
		subtractTimes(&out, &s.inverse[k], b)
	}
	for i := range b {
		b[i] = -out[i]
	}
	return b
}

// sides returns the columns whose forces act on the bodies, and those whose velocities count: A and B, or B and A.
func (r *problemRow) sides(transposed bool) (force, speed *[3]r3.Vec) {
	if transposed {
		return &r.onB, &r.onA
	}
	return &r.onA, &r.onB
}

// Correct adds the correction of the residuals in right and left to v̂ and z.
func (x *problemWorld) Correct() {
	s, transposed := &x.system, x.transposed
	for i := range x.rows {
		r := &x.rows[i]
		force, _ := r.sides(transposed)
		var sum r3.Vec
		for k := range r.N {
			sum = axpy(sum, -r.Left[k]*r.Inverse[k], force[k])
		}
		s.push(r, sum)
	}
	s.solve(transposed)
	for k, b := range s.order {
		d := &s.right[k]
		x.hat[b].lin = r3.Add(x.hat[b].lin, vecOf(d[:]))
		x.hat[b].ang = r3.Add(x.hat[b].ang, vecOf(d[3:]))
	}
	for i := range x.rows {
		r := &x.rows[i]
		_, speed := r.sides(transposed)
		u := s.relative(r)
		for k := range r.N {
			r.Z[k] += (dot(u, speed[k]) + r.Left[k]) * r.Inverse[k]
		}
	}
}

// push adds a force on the body b, and its opposite on a, to the right hand side.
func (s *problemSystem) push(r *problemRow, force r3.Vec) {
	if k := r.place[0]; k >= 0 {
		to, m := &s.right[k], cross(r.ra, force)
		to[0] -= force.X
		to[1] -= force.Y
		to[2] -= force.Z
		to[3] -= m.X
		to[4] -= m.Y
		to[5] -= m.Z
	}
	if k := r.place[1]; k >= 0 {
		to, m := &s.right[k], cross(r.rb, force)
		to[0] += force.X
		to[1] += force.Y
		to[2] += force.Z
		to[3] += m.X
		to[4] += m.Y
		to[5] += m.Z
	}
}

// relative is the velocity in the right hand side of the point of b relative to that of a.
func (s *problemSystem) relative(r *problemRow) (u r3.Vec) {
	if k := r.place[1]; k >= 0 {
		v := &s.right[k]
		u = r3.Add(vecOf(v[:]), cross(vecOf(v[3:]), r.rb))
	}
	if k := r.place[0]; k >= 0 {
		v := &s.right[k]
		u = r3.Sub(u, r3.Add(vecOf(v[:]), cross(vecOf(v[3:]), r.ra)))
	}
	return u
}

// Measure sets the residuals: right = r − Mv̂ − JᵀAz and left = BᵀJv̂ + s − Sz. It returns the square of their norm,
// that of M⁻¹ and of 1/h.
func (x *problemWorld) Measure() (sum float64) {
	s, transposed := &x.system, x.transposed
	for k, b := range s.order {
		lin := axpy(x.bar[b].lin, -x.bodyMass[b], x.hat[b].lin)
		ang := r3.Sub(x.bar[b].ang, x.inertia[b].Mul(x.hat[b].ang))
		s.right[k] = [6]float64{lin.X, lin.Y, lin.Z, ang.X, ang.Y, ang.Z}
	}
	for i := range x.rows {
		r := &x.rows[i]
		force, speed := r.sides(transposed)
		u, weight := r.relative(x.hat), 1/r.H
		var sent r3.Vec
		for k := range r.N {
			sent = axpy(sent, -r.Z[k], force[k])
			left := dot(u, speed[k]) + r.Right[k] - r.S[k]*r.Z[k]
			r.Left[k] = left
			if r.S[k] > r.H {
				sum += left * left / r.S[k]
			} else {
				sum += left * left * weight
			}
		}
		s.push(r, sent)
	}
	for k, b := range s.order {
		d := &s.right[k]
		lin, ang := vecOf(d[:]), vecOf(d[3:])
		sum += x.invMass[b]*dot(lin, lin) + dot(ang, x.invInertia[b].Mul(ang))
	}
	return sum
}

// factorHeld factors the matrix with almost no regularization. It reports false if a contact slides, a body is not
// held, or the contacts are so compliant that none is regularized; the matrix is of no use then.
func (x *problemWorld) factorHeld() bool {
	s := &x.system
	resize(&s.sticks, len(x.v))
	clear(s.sticks)
	rigid := false
	for i := range x.rows {
		r := &x.rows[i]
		if r.Mode == Slide {
			return false
		}
		if r.Mode == Stick {
			s.sticks[r.a]++
			s.sticks[r.b]++
			rigid = rigid || min(r.S[0], r.S[2]) < modes.Regularization*r.H
		}
	}
	if !rigid {
		return false
	}
	for _, b := range s.order {
		if s.sticks[b] < 3 { // fewer points do not hold a body
			return false
		}
	}
	x.regularize(heldRegularization, false)
	if !x.factor() {
		return false
	}
	for k, b := range s.order {
		m, i, inverse := x.bodyMass[b], &x.inertia[b], &s.inverse[k]
		for j, f := range [6]float64{m, m, m, i[0], i[1], i[2]} {
			if part := f * inverse[j][j]; !(part >= 0 && part <= heldPart) {
				return false
			}
		}
	}
	return true
}

// regularize sets the pivots. The contacts share: see OneOfMany.
func (x *problemWorld) regularize(epsilon float64, share bool) {
	for i := range x.rows {
		x.rows[i].Regularize(epsilon, share)
	}
}

// Contacts and Contact make a world a [modes.System].
func (x *problemWorld) Contacts() int                { return len(x.rows) }
func (x *problemWorld) Contact(i int) *modes.Contact { return &x.rows[i].Contact }

// Rest sets the residuals of the bodies to zero.
func (x *problemWorld) Rest() { clear(x.system.right) }

// Begin sets v̂ and z to zero, and the residuals that belong to them like Measure.
func (x *problemWorld) Begin() (sum float64) {
	s := &x.system
	for k, b := range s.order {
		x.hat[b] = twist{}
		bar := &x.bar[b]
		s.right[k] = [6]float64{bar.lin.X, bar.lin.Y, bar.lin.Z, bar.ang.X, bar.ang.Y, bar.ang.Z}
		sum += x.invMass[b]*dot(bar.lin, bar.lin) + dot(bar.ang, x.invInertia[b].Mul(bar.ang))
	}
	for i := range x.rows {
		r := &x.rows[i]
		r.Z, r.Left = [3]float64{}, r.Right
		if x.transposed { // velocities of bodies that impulses do not move are known
			u := r.relative(x.hat)
			for k := range r.N {
				r.Left[k] += dot(u, r.onA[k])
			}
		}
		for k := range r.N {
			sum += r.Left[k] * r.Left[k] / max(r.H, r.S[k])
		}
	}
	return sum
}

// manyTimes is the ratio of masses above which residuals are made as small as they get. They hardly count errors of
// what light bodies do to heavy ones: in stacks with 1 : 1000, products of tangents and of cotangents differ by 6e-11
// at the usual residual, and by 4e-13 then.
const manyTimes = 16

// settle solves the system with bar and the right hand sides of the rows, which leaves v̂ in hat for the bodies of
// contacts. It returns the relative residual, and false without a solution.
func (x *problemWorld) settle(transposed bool) (residual float64, ok bool) {
	x.transposed = transposed
	if x.heaviest > manyTimes*x.lightest {
		return modes.SettleTo(x, modes.Utmost)
	}
	return modes.Settle(x)
}

// shared reports whether contacts share their load in more than one way. It leaves v̂ and z unspecified.
func (x *problemWorld) shared() bool {
	x.transposed = false
	return modes.Shared(x)
}
