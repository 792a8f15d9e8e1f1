package ref

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/spatial/r3"
)

// witnessError returns the length by which the difference of the witnesses is off Distance·Normal.
func (e *expansion) witnessError() float64 { return norm(r3.Add(e.near.W, r3.Scale(e.lower, e.axis))) }

const (
	contactSteps  = 64
	contactPasses = 3     // each removes the rounding of the one before
	minTilt       = 1e-15 // of a support direction
)

// contact moves the near point within the support plane that bounds the depth towards the projection of
// the origin on that plane. Where many faces of the polytope lie in the plane (a small shape on a face
// of one 1e8 times larger), the face found closest by rounding need not contain the projection, and
// its closest point lies beside it. The bounds do not change; the near point changes only if it gets
// closer to the projection.
func (e *expansion) contact() {
	for range contactPasses {
		was, off := e.near, e.witnessError()
		if !(off > e.stop) || math.IsInf(off, 1) {
			return
		}
		if e.near = e.projection(); !(e.witnessError() < off) {
			e.near = was
			return
		}
	}
}

// projection returns the point of D in the support plane, or within the tolerance below it, that is
// closest to the projection of the origin on the plane, by GJK steps within the plane.
func (e *expansion) projection() Vertex {
	n := e.axis
	flat := func(w r3.Vec) r3.Vec { return r3.Sub(w, r3.Scale(r3.Dot(n, w), n)) }
	s := Simplex{N: 1, Lambda: [4]float64{1}}
	s.V[0] = e.near
	s.V[0].W = flat(e.near.W)
	for range contactSteps {
		x := s.point()
		length := norm(x)
		if s.N == 3 || !(length > e.rounding/4) {
			break
		}
		u := r3.Scale(-1/length, x)
		v := &s.V[s.N]
		if !e.supportNear(u, length, v) {
			break
		}
		v.W = flat(v.W)
		s.N++
		signedVolumes(&s, true)
		s.reduce()
	}
	return s.vertex()
}

// supportNear finds a vertex of D ahead of the near point along the unit vector u of the plane, where
// length is the distance to the projection: a support point of the axis tilted towards u, in the plane
// or so little below it that the difference up to the projection is within the tolerance. Smaller
// tilts are tried until the vertex qualifies.
func (e *expansion) supportNear(u r3.Vec, length float64, v *Vertex) bool {
	for tilt := 0.25; tilt > minTilt && e.iter < e.limit; tilt /= 16 {
		e.support(unit(r3.Add(e.axis, r3.Scale(tilt, u))), v)
		below, ahead := -e.lower-r3.Dot(e.axis, v.W), r3.Dot(u, v.W)+length
		if !(ahead > e.rounding/4) {
			return false
		}
		if below*min(1, length/ahead) <= e.stop/2 {
			return true
		}
	}
	return false
}

// ContactBody is a rigid body. Vectors are in world axes, units are SI.
type ContactBody struct {
	Mass    float64    // +Inf: impulses do not move it
	Inertia [6]float64 // about the center of mass: xx, yy, zz, xy, xz, yz
	// Velocity is v_f, without contact impulses: that of the center of mass, then the angular velocity.
	Velocity [6]float64
}

// ContactPoint is a contact between the bodies A and B; -1 is the world. Its frame is t1, t2, n with n from A to B.
// The impulse acts on B, and its opposite on A.
type ContactPoint struct {
	A, B       int
	ArmA, ArmB r3.Vec // from the centers of mass
	Frame      [3]r3.Vec
	Friction   float64
	Target     float64    // c*_N, m/s
	Compliance [2]float64 // diagonal of R: tangential, normal, 1/kg
}

// Contacts is a contact problem in dense form: c = Gλ + g with G = JM⁻¹Jᵀ + R and g = Jv_f − c*. Components of
// λ, c and g are ordered t1, t2, n by contact. A Contacts may be shared; solvers do not change it. All of its numbers
// are in its units; exported functions have SI units.
type Contacts struct {
	units    contactUnits
	bodies   []ContactBody
	columns  []int // of J, by body; -1 for a body that does not move
	islandOf []int // by body: the first body of its island; -1 for a body that does not move
	m        *mat.SymDense
	mass     mat.Cholesky  // of m
	j        *mat.Dense    // [3n, columns]
	g        *mat.Dense    // G [3n, 3n]
	offset   []float64     // g [3n]
	bias     []float64     // Jv_f − c* of bodies that do not move alone, so that c = Jv + bias + Rλ
	free     *mat.VecDense // v_f of the bodies that move
	mu       []float64
	r        []float64 // [3n]
	rigid    []float64 // [n]: the trace of the block of JM⁻¹Jᵀ
	island   []int     // [n]: the first body of its island
	speed    []float64 // [n]: |c*_N| + Σ(‖v_f‖ + ‖ω_f‖‖r‖) of both bodies
}

// NewContacts forms the matrices of a problem. It returns an error if a mass matrix is not positive definite, a body
// is absent, or neither body of a contact moves.
func NewContacts(bodies []ContactBody, points []ContactPoint) (*Contacts, error) {
	return contactsIn(contactUnitsOf(bodies, points), bodies, points)
}

// contactsIn is [NewContacts] with units.
func contactsIn(u contactUnits, bodies []ContactBody, points []ContactPoint) (*Contacts, error) {
	p := &Contacts{units: u, columns: make([]int, len(bodies))}
	size := 0
	for i, b := range bodies {
		p.bodies = append(p.bodies, u.body(b))
		p.columns[i] = -1
		if !math.IsInf(b.Mass, 1) {
			p.columns[i] = size
			size += 6
		}
	}
	if size == 0 || len(points) == 0 {
		return nil, errors.New("ref: a contact problem takes a body that moves and a contact")
	}
	p.m = mat.NewSymDense(size, nil)
	p.free = mat.NewVecDense(size, nil)
	for i, b := range p.bodies {
		if at := p.columns[i]; at >= 0 {
			p.setBody(at, b)
		}
	}
	if !p.mass.Factorize(p.m) {
		return nil, errors.New("ref: the mass of a body is not positive, or its inertia not positive definite")
	}
	var scaled []ContactPoint
	for _, c := range points {
		scaled = append(scaled, u.point(c))
	}
	if err := p.setPoints(scaled, size); err != nil {
		return nil, err
	}
	p.setIslands(scaled)
	return p, nil
}

func (p *Contacts) setBody(at int, b ContactBody) {
	for i := range 3 {
		p.m.SetSym(at+i, at+i, b.Mass)
		p.m.SetSym(at+3+i, at+3+i, b.Inertia[i])
	}
	p.m.SetSym(at+3, at+4, b.Inertia[3])
	p.m.SetSym(at+3, at+5, b.Inertia[4])
	p.m.SetSym(at+4, at+5, b.Inertia[5])
	for i, v := range b.Velocity {
		p.free.SetVec(at+i, v)
	}
}

func (p *Contacts) setPoints(points []ContactPoint, size int) error {
	n := 3 * len(points)
	p.j = mat.NewDense(n, size, nil)
	p.bias, p.r = make([]float64, n), make([]float64, n)
	p.mu = make([]float64, len(points))
	for k, c := range points {
		p.mu[k] = c.Friction
		p.r[3*k], p.r[3*k+1], p.r[3*k+2] = c.Compliance[0], c.Compliance[0], c.Compliance[1]
		p.bias[3*k+2] = -c.Target
		moves := false
		for _, side := range [...]struct {
			body int
			arm  r3.Vec
			sign float64
		}{{c.A, c.ArmA, -1}, {c.B, c.ArmB, 1}} {
			if side.body < -1 || side.body >= len(p.bodies) {
				return fmt.Errorf("ref: contact %d: body %d is absent", k, side.body)
			}
			if side.body < 0 {
				continue
			}
			moves = moves || p.columns[side.body] >= 0
			for i, d := range c.Frame { // d·(v + ω×r) = d·v + (r×d)·ω
				q := r3.Cross(side.arm, d)
				for l, x := range [6]float64{d.X, d.Y, d.Z, q.X, q.Y, q.Z} {
					if at := p.columns[side.body]; at >= 0 {
						p.j.Set(3*k+i, at+l, p.j.At(3*k+i, at+l)+side.sign*x)
					} else {
						p.bias[3*k+i] += side.sign * x * p.bodies[side.body].Velocity[l]
					}
				}
			}
		}
		if !moves {
			return fmt.Errorf("ref: contact %d: neither body %d nor body %d moves", k, c.A, c.B)
		}
	}
	var y mat.Dense
	if err := p.mass.SolveTo(&y, p.j.T()); err != nil {
		return fmt.Errorf("ref: mass matrix: %w", err)
	}
	p.g = mat.NewDense(n, n, nil)
	p.g.Mul(p.j, &y)
	p.rigid = make([]float64, len(points))
	for i := range n {
		p.rigid[i/3] += p.g.At(i, i)
		for l := range i {
			x := (p.g.At(i, l) + p.g.At(l, i)) / 2
			p.g.Set(i, l, x)
			p.g.Set(l, i, x)
		}
		p.g.Set(i, i, p.g.At(i, i)+p.r[i])
	}
	p.offset = p.relativeVelocity(p.free)
	return nil
}

// relativeVelocity is Jv − c* for velocities of the bodies that move.
func (p *Contacts) relativeVelocity(v *mat.VecDense) []float64 {
	c := make([]float64, len(p.bias))
	for i := range c {
		c[i] = p.bias[i] + dotSlices(p.j.RawRowView(i), v.RawVector().Data)
	}
	return c
}

// contactVelocity is c = Gλ + g.
func (p *Contacts) contactVelocity(lambda []float64) []float64 {
	c := make([]float64, len(lambda))
	for i := range c {
		c[i] = p.row(i, lambda)
	}
	return c
}

// row is component i of Gλ + g.
func (p *Contacts) row(i int, lambda []float64) float64 {
	return p.offset[i] + dotSlices(p.g.RawRowView(i), lambda)
}

// block is the diagonal block of G of contact k.
func (p *Contacts) block(k int) (b [3][3]float64) {
	for i := range b {
		for l := range b[i] {
			b[i][l] = p.g.At(3*k+i, 3*k+l)
		}
	}
	return b
}

// moved is v_f + M⁻¹Jᵀλ of the bodies that move.
func (p *Contacts) moved(lambda []float64) *mat.VecDense {
	var w mat.VecDense
	w.MulVec(p.j.T(), mat.NewVecDense(len(lambda), lambda))
	v := mat.NewVecDense(p.free.Len(), nil)
	if err := p.mass.SolveVecTo(v, &w); err != nil { // a condition number, which the residual judges
		for i := range v.Len() {
			v.SetVec(i, math.NaN())
		}
	}
	v.AddVec(v, p.free)
	return v
}

// Velocities returns v_f + M⁻¹Jᵀλ of every body.
func (p *Contacts) Velocities(lambda []float64) [][6]float64 {
	v := p.moved(scaledSlice(1/p.units.impulse(), lambda))
	out := make([][6]float64, len(p.bodies))
	for i, b := range p.bodies {
		out[i] = b.Velocity
		if at := p.columns[i]; at >= 0 {
			copy(out[i][:], v.RawVector().Data[at:at+6])
		}
		for l := range 3 {
			out[i][l] *= p.units.speed
			out[i][3+l] *= p.units.spin()
		}
	}
	return out
}

// Points is the number of contacts.
func (p *Contacts) Points() int { return len(p.mu) }

func dotSlices(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

func largestOf(x []float64) (most float64) {
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	return most
}

// contactUnits are those in which a contact problem is solved: powers of two near its masses, lengths and speeds.
// Multiplications by powers of two are exact, so that scaling masses, lengths or times of a problem by powers of two
// gives its solvers the same numbers: they make the same steps, and impulses scale bit for bit.
type contactUnits struct{ mass, length, speed float64 }

// siUnits leave a problem as it is.
var siUnits = contactUnits{1, 1, 1}

func (u contactUnits) impulse() float64 { return u.mass * u.speed }
func (u contactUnits) energy() float64  { return u.mass * u.speed * u.speed }
func (u contactUnits) spin() float64    { return u.speed / u.length }

// contactUnitsOf takes the middle of the exponents of masses and of those of radii of gyration of the bodies that
// move, and the exponent of the largest speed: of a body, of its rotation at the unit of length, or of a target.
// Exponents end at ±150, so that products of units are finite; beyond, answers do not scale bit for bit.
func contactUnitsOf(bodies []ContactBody, points []ContactPoint) contactUnits {
	light, heavy, short, long := math.MaxInt32, math.MinInt32, math.MaxInt32, math.MinInt32
	for _, b := range bodies {
		trace := b.Inertia[0] + b.Inertia[1] + b.Inertia[2]
		if math.IsInf(b.Mass, 1) || !(b.Mass > 0) || !(trace > 0) {
			continue
		}
		m := math.Ilogb(b.Mass)
		l := (math.Ilogb(trace) - m) >> 1
		light, heavy, short, long = min(light, m), max(heavy, m), min(short, l), max(long, l)
	}
	if light > heavy {
		return siUnits
	}
	power := func(e int) float64 { return math.Ldexp(1, max(-150, min(e, 150))) }
	u := contactUnits{power((light + heavy) >> 1), power((short + long) >> 1), 1}
	speed := 0.0
	for _, b := range bodies {
		for i := range 3 {
			speed = max(speed, math.Abs(b.Velocity[i]), math.Abs(b.Velocity[3+i])*u.length)
		}
	}
	for _, c := range points {
		speed = max(speed, math.Abs(c.Target))
	}
	if speed > 0 {
		u.speed = power(math.Ilogb(speed))
	}
	return u
}

// body and point are those of a problem in these units.
func (u contactUnits) body(b ContactBody) ContactBody {
	b.Mass /= u.mass
	for i := range b.Inertia {
		b.Inertia[i] /= u.mass * u.length * u.length
	}
	for i := range 3 {
		b.Velocity[i] /= u.speed
		b.Velocity[3+i] /= u.spin()
	}
	return b
}

func (u contactUnits) point(c ContactPoint) ContactPoint {
	c.ArmA, c.ArmB = r3.Scale(1/u.length, c.ArmA), r3.Scale(1/u.length, c.ArmB)
	c.Target /= u.speed
	c.Compliance[0] *= u.mass
	c.Compliance[1] *= u.mass
	return c
}

// residual is one in SI units.
func (u contactUnits) residual(e ContactResidual) ContactResidual {
	for _, x := range [...]*float64{&e.Natural, &e.Scale, &e.Dual} {
		*x *= u.speed
	}
	for _, x := range [...]*float64{&e.Primal, &e.Coulomb, &e.Internal} {
		*x *= u.impulse()
	}
	for _, x := range [...]*float64{&e.Complementarity, &e.Signorini, &e.Dissipation} {
		*x *= u.energy()
	}
	return e
}

// scaledSlice is x times f.
func scaledSlice(f float64, x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = f * v
	}
	return out
}
