package verify

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/internal/memory"
	"clearance/ref"
)

// ContactAudit configures [AuditContacts].
type ContactAudit struct {
	Model     contact.Model
	Tolerance float64 // that of the solve, > 0: of residuals relative to speed scales, see [contact.Solution]
	// Bounds has the CCP solved again by package ref, to refute bounds of the error. It costs far more than the rest.
	Bounds bool
}

// ContactWorld has the findings of the audit about a world, from its impulses alone.
type ContactWorld struct {
	// Residual and Scale are those of the contact at which their ratio is largest, in m/s, see [contact.Solution].
	Residual, Scale               float64
	Primal, Dual, Complementarity float64 // ε_p in N·s, ε_d in m/s, ε_c in J
	Velocity                      float64 // largest difference of a stored velocity and v_f + M⁻¹Jᵀλ, of m/s and rad/s
	// Energy is the error of the identity of energy, J:
	// vᵀM(v − v_f) = Σ λ_N·c*_N − λᵀRλ − Σ μλ_N‖c_T‖, for the CCP without the last sum. Bodies that impulses do not
	// move add the power that they transmit.
	Energy float64
	// Error is the largest ‖J_i(v − v')‖ of a contact, where v' is the solution of package ref, less the bound of the
	// latter, in m/s. NaN if not computed.
	Error    float64
	farthest float64 // with the bound of the latter added, or the bound of the impulses by package ref if that is less
}

// ContactFailure is a claim of a solution that its impulses refute.
type ContactFailure struct {
	World         int
	Check, Reason string
}

func (f ContactFailure) String() string {
	return fmt.Sprintf("world %d: %s: %s", f.World, f.Check, f.Reason)
}

// ContactReport is the result of [AuditContacts].
type ContactReport struct {
	Worlds                     []ContactWorld
	Solved, Undecided, Invalid int
	Unaudited                  int // worlds with a bound of the error that is neither refuted nor confirmed
	Wrong                      int // claims that are refuted
	// Failures are the first [MaxContactFailures] of the refuted claims.
	Failures []ContactFailure
}

// MaxContactFailures is the largest number of refuted claims that a report lists.
const MaxContactFailures = 1000

// AuditContacts recomputes velocities, residuals and energies of a solution from its impulses, and compares them with
// what the solution claims. It shares no code with the solvers of package contact. Residuals of the NCP bound no error
// of the velocity, which need not be unique.
func AuditContacts(p *contact.Problem, s *contact.Solution, o ContactAudit) (*ContactReport, error) {
	if len(s.Status) != p.Worlds || len(s.Residual) != p.Worlds || len(s.Scale) != p.Worlds ||
		len(s.Impulse) != 3*p.Worlds*p.Contacts || len(s.Velocity) != 6*p.Worlds*p.Bodies {
		return nil, fmt.Errorf("verify: the solution is not that of %d worlds of %d bodies and %d contacts", p.Worlds,
			p.Bodies, p.Contacts)
	}
	if !(o.Tolerance > 0) {
		return nil, fmt.Errorf("verify: tolerance %g; it is positive", o.Tolerance)
	}
	if err := contactRoom(p); err != nil {
		return nil, err
	}
	r := &ContactReport{Worlds: make([]ContactWorld, p.Worlds)}
	for w := range p.Worlds {
		fault := p.CheckWorld(w)
		switch {
		case s.Status[w] == contact.Invalid:
			r.Invalid++
			if fault == nil {
				r.fail(w, "status", "the world is valid")
			}
			r.invalid(p, s, w)
			continue
		case fault != nil:
			r.fail(w, "status", "the world is invalid: %v", fault)
			continue
		case s.Status[w] == contact.Solved:
			r.Solved++
		default:
			r.Undecided++
		}
		r.world(p, s, &o, w)
		r.claims(p, s, &o, w)
	}
	return r, nil
}

// contactRoom returns an error if the audit of a problem takes more memory than there is: a report of each world, and
// the bodies, islands and scales of one world.
func contactRoom(p *contact.Problem) error {
	most := 0
	for _, n := range p.Count {
		most = max(most, min(int(n), p.Contacts))
	}
	const perContact = 8 + 2*(8+8) + 2*8 + int(unsafe.Sizeof(islandScale{})) + 4*48 // the last: a map by body
	bytes := float64(p.Worlds)*float64(unsafe.Sizeof(ContactWorld{})) +
		2*(float64(p.Bodies)*float64(unsafe.Sizeof(contactBody{}))+float64(perContact*most)) // of the last world, too
	what := fmt.Sprintf("the audit of %d worlds of %d bodies and %d contacts", p.Worlds, p.Bodies, p.Contacts)
	if err := memory.Check(what, bytes); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	return nil
}

func (r *ContactReport) fail(w int, check, format string, a ...any) {
	if r.Wrong++; r.Wrong > MaxContactFailures {
		return
	}
	r.Failures = append(r.Failures, ContactFailure{w, check, fmt.Sprintf(format, a...)})
}

// contactBody is a body with its velocity and the impulses on it.
type contactBody struct {
	mass                 float64 // +Inf: does not move
	inertia              [6]float64
	lin, ang             r3.Vec // v_f, then v
	push, twist          r3.Vec // linear and angular impulse
	storedLin, storedAng r3.Vec
	// Sums of the lengths of the terms of both velocities, the free ones and what each contact adds.
	linTerms, angTerms float64
	lightness          float64 // bound of the norm of the inverse of the inertia
}

// world audits one world. The rounding error of its own sums is at most some n·2⁻⁵³ of what is added up.
func (r *ContactReport) world(p *contact.Problem, s *contact.Solution, o *ContactAudit, w int) {
	out := &r.Worlds[w]
	out.Error = math.NaN()
	bodies := make([]contactBody, p.Bodies)
	for b := range bodies {
		k := 6 * (w*p.Bodies + b)
		bodies[b] = contactBody{mass: p.Mass[w*p.Bodies+b], inertia: [6]float64(p.Inertia[k:]),
			lin: triple(p.Velocity[k:]), ang: triple(p.Velocity[k+3:]),
			storedLin: triple(s.Velocity[k:]), storedAng: triple(s.Velocity[k+3:])}
	}
	scales := contactScales(p, w, o, bodies)
	for b := range bodies {
		bodies[b].startTerms()
	}
	largest := 0.0
	each := func(f func(k int, l r3.Vec, q [3]r3.Vec)) {
		for k := w * p.Contacts; k < w*p.Contacts+int(p.Count[w]); k++ {
			q := p.Frame[9*k:]
			f(k, triple(s.Impulse[3*k:]), [3]r3.Vec{triple(q), triple(q[3:]), triple(q[6:])})
		}
	}
	each(func(k int, l r3.Vec, q [3]r3.Vec) {
		largest = max(largest, math.Abs(l.X), math.Abs(l.Y), math.Abs(l.Z))
		impulse := r3.Add(r3.Add(r3.Scale(l.X, q[0]), r3.Scale(l.Y, q[1])), r3.Scale(l.Z, q[2]))
		for _, side := range contactSides(p, k) {
			if side.body >= 0 {
				b := &bodies[side.body]
				f := r3.Scale(side.sign, impulse)
				b.push, b.twist = r3.Add(b.push, f), r3.Add(b.twist, r3.Cross(side.arm, f))
				b.linTerms += r3.Norm(f) / b.mass
				b.angTerms += b.lightness * r3.Norm(side.arm) * r3.Norm(f)
			}
		}
	})
	work := 0.0
	for b := range bodies {
		body := &bodies[b]
		if !math.IsInf(body.mass, 1) {
			body.lin = r3.Add(body.lin, r3.Scale(1/body.mass, body.push))
			body.ang = r3.Add(body.ang, cramer(body.inertia, body.twist))
		}
		work += r3.Dot(body.lin, body.push) + r3.Dot(body.ang, body.twist) // vᵀM(v − v_f) = vᵀJᵀλ
		r.judgeVelocity(w, b, body, p.Count[w])
	}
	speed, law, terms := 0.0, 0.0, math.Abs(work)
	var n natural
	each(func(k int, l r3.Vec, _ [3]r3.Vec) {
		c, sum := relativeVelocity(p, k, bodies)
		h, of := contactTrace(p, k, bodies), scales[k-w*p.Contacts]
		sum = max(sum, of.speed)
		if len(p.Target) > 0 {
			c.Z -= p.Target[k]
			sum += math.Abs(p.Target[k])
			law += l.Z * p.Target[k]
			terms += math.Abs(l.Z * p.Target[k])
		}
		if len(p.Compliance) > 0 {
			rT, rN := p.Compliance[2*k], p.Compliance[2*k+1]
			c = r3.Add(c, r3.Vec{X: rT * l.X, Y: rT * l.Y, Z: rN * l.Z})
			h += 2*rT + rN
			sum += max(rT, rN) * r3.Norm(l)
			law -= rT*(l.X*l.X+l.Y*l.Y) + rN*l.Z*l.Z
		}
		speed = max(speed, sum)
		terms += r3.Norm(l) * r3.Norm(c)
		if slip := p.Friction[k] * math.Hypot(c.X, c.Y); o.Model == contact.NCP {
			c.Z += slip
			law -= slip * l.Z
		}
		out.measure(l, c, p.Friction[k])
		n.add(l, c, p.Friction[k], h, of, contactTerms(p, k, bodies), k == w*p.Contacts)
	})
	out.Residual, out.Scale = n.residual, n.scale
	out.Energy = math.Abs(work - law)
	r.judgeScale(s, o, w, &n, scales)
	r.judge(p, s, w, speed, largest, terms)
}

// measure adds a contact, whose c includes Γ, to the residuals.
func (c *ContactWorld) measure(l, u r3.Vec, mu float64) {
	c.Primal = max(c.Primal, r3.Norm(r3.Sub(l, nearestInCone(l, mu))))
	c.Dual = max(c.Dual, r3.Norm(nearestInCone(r3.Scale(-1, u), mu)))
	c.Complementarity = max(c.Complementarity, math.Abs(r3.Dot(l, u)))
}

// contactRounding is the rounding error of residuals and energies that the audit allows itself and the solver, relative
// to the speeds, impulses and energies of the world: of sums of some hundred terms and of the inverse of an inertia
// with a condition of 1e4.
const contactRounding = 1e-9

// judgeVelocity compares the velocity of a body with the stored one, lengths with lengths and angles with angles: a
// small body that rotates fast has no large speed. Rounding of a sum of n terms is at most n units of 2⁻⁵³ of the norms
// of its terms; a hundred units more are those of each term, and the rounding error of the inverse of an inertia grows
// with its condition, which is at most lightness times the trace.
func (r *ContactReport) judgeVelocity(w, b int, body *contactBody, n int32) {
	lin, ang := r3.Norm(r3.Sub(body.lin, body.storedLin)), r3.Norm(r3.Sub(body.ang, body.storedAng))
	out := &r.Worlds[w]
	out.Velocity = max(out.Velocity, lin, ang)
	units := float64(n+100) * 0x1p-53
	condition := 1.0
	if body.lightness > 0 { // else the inertia is not read
		condition = max(condition, body.lightness*(body.inertia[0]+body.inertia[1]+body.inertia[2]))
	}
	if !(lin <= units*body.linTerms) || !(ang <= units*condition*body.angTerms) {
		r.fail(w, "velocity", "body %d: the stored velocity differs from v_f + M⁻¹Jᵀλ by %g m/s and %g rad/s", b, lin,
			ang)
	}
}

// judge compares ε_p, ε_d and ε_c, and the identity of energy. speed is the largest sum of speeds that the velocity
// of a contact is made from, largest the largest component of an impulse, and terms what the energies are the sum of.
func (r *ContactReport) judge(p *contact.Problem, s *contact.Solution, w int, speed, largest, terms float64) {
	c := &r.Worlds[w]
	for _, e := range [...]struct {
		name              string
		stored, own, unit float64
	}{{"primal", s.Primal[w], c.Primal, largest}, {"dual", s.Dual[w], c.Dual, speed},
		{"complementarity", s.Complementarity[w], c.Complementarity, largest * speed}} {
		if !(math.Abs(e.own-e.stored) <= contactRounding*e.unit) {
			r.fail(w, e.name, "the stored residual is %g, the recomputed one %g", e.stored, e.own)
		}
	}
	n := float64(p.Count[w])
	if limit := n*c.Complementarity + contactRounding*(terms+largest*speed); !(c.Energy <= limit) {
		r.fail(w, "energy", "the identity of energy is off by %g J; residuals explain %g", c.Energy, limit)
	}
}

// refute solves the CCP again and compares: both bounds together must cover the difference.
func (r *ContactReport) refute(p *contact.Problem, s *contact.Solution, w int) {
	dense, err := DenseContacts(p, w)
	if errors.As(err, new(*memory.Error)) { // nothing is refuted, and nothing confirmed
		r.Worlds[w].farthest = math.Inf(1)
		return
	}
	if err != nil {
		r.fail(w, "bound", "%v", err)
		return
	}
	solved := dense.CCPNewton(ref.ContactOptions{Tolerance: 1e-14, Limit: 200})
	off := make([]contactBody, p.Bodies) // the differences of the velocities
	for b, v := range dense.Velocities(solved.Impulse) {
		k := w*p.Bodies + b
		off[b] = contactBody{mass: p.Mass[k], inertia: [6]float64(p.Inertia[6*k:])}
		if !math.IsInf(p.Mass[k], 1) {
			off[b].lin = r3.Sub(triple(v[:]), triple(s.Velocity[6*k:]))
			off[b].ang = r3.Sub(triple(v[3:]), triple(s.Velocity[6*k+3:]))
		}
	}
	own := dense.ErrorBounds(solved.Impulse)
	c := &r.Worlds[w]
	impulses := make([]float64, 3*p.Count[w])
	copy(impulses, s.Impulse[3*w*p.Contacts:])
	of := dense.ErrorBounds(impulses)
	c.Error, c.farthest = 0, 0
	for i := range int(p.Count[w]) {
		u, _ := relativeVelocity(p, w*p.Contacts+i, off)
		c.Error = max(c.Error, r3.Norm(u)-own[i])
		c.farthest = max(c.farthest, min(r3.Norm(u)+own[i], of[i]))
	}
	if !(c.Error <= s.Bound[w]) {
		r.fail(w, "bound", "the velocity of a contact is off by at least %g m/s; the bound is %g", c.Error, s.Bound[w])
	}
}

// DenseContacts is the problem of a valid world for package ref. The error is a *[contact.WorldError], or that of too
// little memory for its matrices and those of the solvers.
func DenseContacts(p *contact.Problem, w int) (*ref.Contacts, error) {
	if err := p.CheckWorld(w); err != nil {
		return nil, err
	}
	moving := 0.0
	for _, m := range p.Mass[w*p.Bodies : (w+1)*p.Bodies] {
		if !math.IsInf(m, 1) {
			moving++
		}
	}
	// With n components of impulses and v of velocities: of the problem M and its factor, J and M⁻¹Jᵀ, G; of solvers
	// two more of each at a time.
	n, v := 3*float64(p.Count[w]), 6*moving
	what := fmt.Sprintf("%.0f bodies that move and %d contacts in dense matrices", moving, p.Count[w])
	if err := memory.Check(what, 8*(4*v*v+4*n*v+3*n*n)); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	bodies := make([]ref.ContactBody, p.Bodies)
	for b := range bodies {
		k := w*p.Bodies + b
		bodies[b] = ref.ContactBody{Mass: p.Mass[k], Inertia: [6]float64(p.Inertia[6*k:]),
			Velocity: [6]float64(p.Velocity[6*k:])}
	}
	points := make([]ref.ContactPoint, p.Count[w])
	for i := range points {
		k := w*p.Contacts + i
		c := ref.ContactPoint{A: int(p.BodyA[k]), B: int(p.BodyB[k]),
			ArmA: triple(p.ArmA[3*k:]), ArmB: triple(p.ArmB[3*k:]),
			Frame:    [3]r3.Vec{triple(p.Frame[9*k:]), triple(p.Frame[9*k+3:]), triple(p.Frame[9*k+6:])},
			Friction: p.Friction[k]}
		if len(p.Target) > 0 {
			c.Target = p.Target[k]
		}
		if len(p.Compliance) > 0 {
			c.Compliance = [2]float64(p.Compliance[2*k:])
		}
		points[i] = c
	}
	return ref.NewContacts(bodies, points)
}

type contactSide struct {
	body int
	arm  r3.Vec
	sign float64
}

func contactSides(p *contact.Problem, k int) [2]contactSide {
	return [2]contactSide{{int(p.BodyA[k]), triple(p.ArmA[3*k:]), -1}, {int(p.BodyB[k]), triple(p.ArmB[3*k:]), 1}}
}

func triple(x []float64) r3.Vec { return r3.Vec{X: x[0], Y: x[1], Z: x[2]} }

// cramer solves I·x = v by Cramer's rule.
func cramer(i [6]float64, v r3.Vec) r3.Vec {
	a, b, c := r3.Vec{X: i[0], Y: i[3], Z: i[4]}, r3.Vec{X: i[3], Y: i[1], Z: i[5]}, r3.Vec{X: i[4], Y: i[5], Z: i[2]}
	det := r3.Dot(a, r3.Cross(b, c))
	return r3.Vec{
		X: r3.Dot(v, r3.Cross(b, c)) / det,
		Y: r3.Dot(a, r3.Cross(v, c)) / det,
		Z: r3.Dot(a, r3.Cross(b, v)) / det,
	}
}

// nearestInCone is the closest point to x of {‖x_T‖ ≤ μx_N}, on the ray in the half-plane of x.
func nearestInCone(x r3.Vec, mu float64) r3.Vec {
	t := math.Hypot(x.X, x.Y)
	if t <= mu*x.Z {
		return x
	}
	along := (mu*t + x.Z) / math.Sqrt(1+mu*mu)
	if along <= 0 {
		return r3.Vec{}
	}
	n := along / math.Sqrt(1+mu*mu)
	return r3.Vec{X: mu * n * x.X / t, Y: mu * n * x.Y / t, Z: n}
}

// claims checks what a solution states of a valid world besides its velocities and residuals: impulses of contacts that
// the world lacks, numbers of steps, and the bound of the error.
func (r *ContactReport) claims(p *contact.Problem, s *contact.Solution, o *ContactAudit, w int) {
	for k := 3 * (w*p.Contacts + int(p.Count[w])); k < 3*(w+1)*p.Contacts; k++ {
		if s.Impulse[k] != 0 {
			r.fail(w, "impulse", "an impulse of %g N·s at contact %d of %d", s.Impulse[k], k/3-w*p.Contacts, p.Count[w])
			break
		}
	}
	if s.Sweeps[w] < 0 || s.Steps[w] < 0 {
		r.fail(w, "steps", "%d sweeps and %d steps", s.Sweeps[w], s.Steps[w])
	}
	switch bound := s.Bound[w]; {
	case math.IsNaN(bound), math.IsInf(bound, 1) && o.Model == contact.CCP: // it is not claimed, or the proof failed
	case o.Model != contact.CCP:
		r.fail(w, "bound", "a bound of the error of %g, which the %v does not have", bound, o.Model)
	case !(bound >= 0):
		r.fail(w, "bound", "a bound of the error of %g", bound)
	case !o.Bounds:
		r.Unaudited++
	case p.Count[w] > 0:
		before := r.Wrong
		r.refute(p, s, w)
		if r.Wrong == before && !(r.Worlds[w].farthest <= bound*(1+1e-3)) {
			r.Unaudited++
		}
	}
}

// invalid requires that the columns of an invalid world are NaN.
func (r *ContactReport) invalid(p *contact.Problem, s *contact.Solution, w int) {
	for _, c := range [...]struct {
		name string
		v    []float64
	}{{"impulse", s.Impulse[3*w*p.Contacts : 3*(w+1)*p.Contacts]},
		{"velocity", s.Velocity[6*w*p.Bodies : 6*(w+1)*p.Bodies]}, {"residual", s.Residual[w : w+1]},
		{"scale", s.Scale[w : w+1]}, {"primal", s.Primal[w : w+1]},
		{"dual", s.Dual[w : w+1]}, {"complementarity", s.Complementarity[w : w+1]}, {"bound", s.Bound[w : w+1]}} {
		for _, x := range c.v {
			if !math.IsNaN(x) {
				r.fail(w, c.name, "%g in an invalid world", x)
				break
			}
		}
	}
}

// contactResolved is the part of the speeds at a contact that float64 resolves, below which residuals mean nothing; see
// contact.Solution.
const contactResolved = 0x1p-44

// contactRound is the part of the terms of c that rounding may make of a residual: those of its own impulse and of the
// velocities, by which a solver judges whether it can meet the tolerance, and those of all impulses on both bodies,
// which may cancel, in what two sums of them differ by.
const contactRound = 0x1p-49

// islandScale is the speed scale of the contacts of an island, and the largest sum of speeds that it is the difference
// of.
type islandScale struct{ scale, speed float64 }

// contactScales are the speed scales of the contacts of a world, given its bodies at their free velocities: the largest
// residual of the contacts of its island without impulses, and at least what float64 resolves.
func contactScales(p *contact.Problem, w int, o *ContactAudit, bodies []contactBody) []islandScale {
	n, first := int(p.Count[w]), w*p.Contacts
	island := make([]int, n)
	for i := range island {
		island[i] = i
	}
	moving := func(i int) (list []int) {
		for _, side := range contactSides(p, first+i) {
			if side.body >= 0 && !math.IsInf(bodies[side.body].mass, 1) {
				list = append(list, side.body)
			}
		}
		return list
	}
	for again := true; again; { // contacts of the same bodies have the least number of them
		again = false
		least := map[int]int{}
		for i := range island {
			for _, b := range moving(i) {
				if k, ok := least[b]; !ok || island[i] < k {
					least[b] = island[i]
				}
			}
		}
		for i := range island {
			for _, b := range moving(i) {
				if least[b] < island[i] {
					island[i], again = least[b], true
				}
			}
		}
	}
	violation, speed := make([]float64, n), make([]float64, n)
	for i := range n {
		k := first + i
		c, terms := relativeVelocity(p, k, bodies)
		if len(p.Target) > 0 {
			c.Z -= p.Target[k]
			terms += math.Abs(p.Target[k])
		}
		if o.Model == contact.NCP {
			c.Z += p.Friction[k] * math.Hypot(c.X, c.Y)
		}
		of := island[i]
		violation[of] = max(violation[of], r3.Norm(nearestInCone(r3.Scale(-1, c), p.Friction[k])))
		speed[of] = max(speed[of], terms)
	}
	scales := make([]islandScale, n)
	for i, of := range island {
		scales[i] = islandScale{max(violation[of], contactResolved/o.Tolerance*speed[of]), speed[of]}
	}
	return scales
}

// relativeVelocity is Jv of contact k of all worlds, and the sum of the speeds that it is the difference of.
func relativeVelocity(p *contact.Problem, k int, bodies []contactBody) (c r3.Vec, terms float64) {
	var u r3.Vec
	for _, side := range contactSides(p, k) {
		if side.body >= 0 {
			b := &bodies[side.body]
			u = r3.Add(u, r3.Scale(side.sign, r3.Add(b.lin, r3.Cross(b.ang, side.arm))))
			terms += r3.Norm(b.lin) + r3.Norm(b.ang)*r3.Norm(side.arm)
		}
	}
	q := p.Frame[9*k:]
	return r3.Vec{X: r3.Dot(triple(q), u), Y: r3.Dot(triple(q[3:]), u), Z: r3.Dot(triple(q[6:]), u)}, terms
}

// contactTrace is the trace of the block of JM⁻¹Jᵀ of contact k of all worlds, for orthonormal axes. It is a sum over
// the axes of the world in place of those of the contact.
func contactTrace(p *contact.Problem, k int, bodies []contactBody) (h float64) {
	for _, side := range contactSides(p, k) {
		if side.body < 0 || math.IsInf(bodies[side.body].mass, 1) {
			continue
		}
		b := &bodies[side.body]
		h += 3 / b.mass
		for _, axis := range [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}} {
			q := r3.Cross(side.arm, axis)
			h += r3.Dot(q, cramer(b.inertia, q))
		}
	}
	return h
}

// startTerms sets the sums of terms to those of the free velocities. The norm of the inverse of an inertia is at most
// that of its columns together.
func (b *contactBody) startTerms() {
	b.linTerms, b.angTerms = r3.Norm(b.lin), r3.Norm(b.ang)
	if math.IsInf(b.mass, 1) {
		return
	}
	sum := 0.0
	for _, axis := range [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}} {
		sum += r3.Norm2(cramer(b.inertia, axis))
	}
	b.lightness = math.Sqrt(sum)
}

// contactTerms is the sum of the lengths of all terms that the velocity at contact k of all worlds is the sum of.
func contactTerms(p *contact.Problem, k int, bodies []contactBody) (terms float64) {
	for _, side := range contactSides(p, k) {
		if side.body >= 0 {
			terms += bodies[side.body].linTerms + bodies[side.body].angTerms*r3.Norm(side.arm)
		}
	}
	return terms
}

// naturalResidual is h·‖λ − Π_K(λ − u/h)‖ for u = c + Γ, in m/s.
func naturalResidual(l, u r3.Vec, mu, h float64) float64 {
	return h * r3.Norm(r3.Sub(l, nearestInCone(r3.Sub(l, r3.Scale(1/h, u)), mu)))
}

// natural has the largest residuals of a world.
type natural struct {
	residual, scale, ratio float64 // of the contact with the largest ratio, as contact.Solution has them
	certain, possible      float64 // largest ratio less rounding, and with it
	blurred                float64 // largest rounding relative to the scale
}

// add adds a contact with u = c + Γ, the sum of terms.
func (n *natural) add(l, u r3.Vec, mu, h float64, of islandScale, terms float64, first bool) {
	over := func(x float64) float64 {
		if x == 0 {
			return 0
		}
		return x / of.scale
	}
	e, round := naturalResidual(l, u, mu, h), contactRound*(of.speed+h*r3.Norm(l))
	if ratio := over(e); first || !(ratio <= n.ratio || math.IsNaN(n.ratio)) {
		n.residual, n.scale, n.ratio = e, of.scale, ratio
	}
	sums := max(round, contactRound*(1+mu)*terms)
	n.possible = max(n.possible, over(e+sums))
	n.certain, n.blurred = max(n.certain, over(max(e-sums, 0))), max(n.blurred, over(round))
}

// judgeScale compares the residuals with those that a solution claims.
func (r *ContactReport) judgeScale(s *contact.Solution, o *ContactAudit, w int, n *natural, scales []islandScale) {
	known := len(scales) == 0 && s.Scale[w] == 0
	for _, of := range scales { // which one depends on rounding, where residuals are rounding
		known = known || math.Abs(s.Scale[w]-of.scale) <= contactRounding*of.scale+contactRound*of.speed
	}
	switch {
	case !known:
		r.fail(w, "scale", "the stored speed scale, %g m/s, is that of no contact; the recomputed one is %g",
			s.Scale[w],
			n.scale)
	case !(n.certain*s.Scale[w] <= (1+contactRounding)*s.Residual[w]),
		!(s.Residual[w] <= (1+contactRounding)*n.possible*s.Scale[w]):
		r.fail(w, "residual", "the stored residual is %g m/s, the recomputed one %g at a speed scale of %g",
			s.Residual[w], n.residual, n.scale)
	}
	if s.Status[w] != contact.Solved {
		return
	}
	switch {
	case !(n.certain <= (1+contactRounding)*o.Tolerance):
		r.fail(w, "status", "the residual %g m/s exceeds the tolerance %g of the speed scale %g m/s", n.residual,
			o.Tolerance, n.scale)
	case !(n.blurred <= o.Tolerance):
		r.fail(w, "status", "impulses of this size leave a rounding error of %g of the speed scale, beyond the "+
			"tolerance %g", n.blurred, o.Tolerance)
	}
}
