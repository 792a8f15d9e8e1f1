package contact

import (
	"fmt"
	"math"

	"clearance/batch"
)

// Model is a law of contact and friction. With the friction cone K = {‖λ_T‖ ≤ μλ_N}, its dual cone
// K* = {c_N ≥ μ‖c_T‖} and Γ = (0, 0, μ‖c_T‖):
type Model uint8

const (
	// NCP is Coulomb's law with the Signorini condition, K ∋ λ ⊥ c + Γ ∈ K* [AGIMUS2023, Contacts, eq. 14].
	// Its solutions need not be unique.
	NCP Model = iota
	// CCP is its convex relaxation, K ∋ λ ⊥ c ∈ K* [AGIMUS2023, Contacts, eq. 15]. The velocity is unique.
	// Bodies that slide are lifted: c_N = μ‖c_T‖.
	CCP
)

// Models are the names of the models.
var Models = batch.Names[Model]{What: "model", List: []string{NCP: "ncp", CCP: "ccp"}}

func (m Model) String() string { return Models.Name(m) }

// Problem is the contact problem of every world of a batch. Columns are row-major; W, B and C are Worlds,
// Bodies and Contacts. Vectors are in world axes, units are SI.
//
// Contact i lies between the bodies a = BodyA and b = BodyB. Its frame is t1, t2, n, with n from a to b. The
// relative velocity c = v_b + ω_b×r_b − v_a − ω_a×r_a is taken in this frame. The impulse λ acts on b and
// −λ on a, at the arms r_b and r_a from the centers of mass. Solvers seek λ and
//
//	v = v_f + M⁻¹Jᵀλ,  c = Jv − c* + Rλ
//
// that satisfy the model, where c* has a normal component only.
type Problem struct {
	Worlds, Bodies, Contacts int

	// Mass [W,B] is in kg. +Inf marks a body that impulses do not move, and rows without a body.
	Mass []float64
	// Inertia [W,B,6] is about the center of mass: xx, yy, zz, xy, xz, yz, in kg·m². It is not read where
	// the mass is +Inf.
	Inertia []float64
	// Velocity [W,B,6] is the velocity v_f without contact impulses: that of the center of mass, then the
	// angular velocity.
	Velocity []float64

	// Count [W] is the number of contacts of each world. Rows of contacts from Count on are not read.
	Count []int32
	// BodyA and BodyB [W,C] are bodies of the same world; -1 is the world itself.
	BodyA, BodyB []int32
	// ArmA and ArmB [W,C,3] run from the center of mass to the contact. Arms of the world are not read.
	ArmA, ArmB []float64
	// Frame [W,C,3,3] has the rows t1, t2 and n, an orthonormal right-handed frame.
	Frame []float64
	// Friction [W,C] is μ.
	Friction []float64
	// Target [W,C] is the normal velocity c*_N. Nil: zero.
	Target []float64
	// Compliance [W,C,2] is the diagonal of R in 1/kg: of both tangential axes, then of the normal. Nil: zero.
	Compliance []float64
	// Warm [W,C,3] are impulses to start from, in the frames of the contacts. Nil: zero.
	Warm []float64
}

// Resize sets the counts and makes every column large enough, keeping memory that suffices. Target, Compliance
// and Warm are resized only if they are not nil. The contents are unspecified afterwards.
func (p *Problem) Resize(worlds, bodies, contacts int) {
	p.Worlds, p.Bodies, p.Contacts = worlds, bodies, contacts
	wb, wc := worlds*bodies, worlds*contacts
	resize(&p.Mass, wb)
	resize(&p.Inertia, 6*wb)
	resize(&p.Velocity, 6*wb)
	resize(&p.Count, worlds)
	resize(&p.BodyA, wc)
	resize(&p.BodyB, wc)
	resize(&p.ArmA, 3*wc)
	resize(&p.ArmB, 3*wc)
	resize(&p.Frame, 9*wc)
	resize(&p.Friction, wc)
	for _, c := range []struct {
		column *[]float64
		per    int
	}{{&p.Target, 1}, {&p.Compliance, 2}, {&p.Warm, 3}} {
		if *c.column != nil {
			resize(c.column, c.per*wc)
		}
	}
}

func resize[T any](s *[]T, n int) {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	*s = (*s)[:n]
}

// Status says how the problem of a world ended.
type Status uint8

const (
	// Solved: the residual, recomputed in float64 from the impulses alone, is at most the tolerance times its scale.
	Solved Status = iota
	// Undecided: no solver reached the tolerance within its limit. The impulses are the best ones found.
	Undecided
	// Invalid: the input of the world breaks a rule of [Problem.CheckWorld]. Its columns are NaN.
	Invalid
)

// Statuses are the names of the statuses of a problem.
var Statuses = batch.Names[Status]{What: "status", List: []string{Solved: "solved", Undecided: "undecided",
	Invalid: "invalid"}}

func (s Status) String() string { return Statuses.Name(s) }

// Solution is the answer of [Solve], in columns by world.
//
// Residual and Scale are those of the contact at which r/s is largest, both in m/s; a world is solved if r ≤
// Tolerance·s. With h the trace of the block G_ii of the contact,
//
//	r = h·‖λ − Π_K(λ − (c + Γ)/h)‖,
//
// which is 0 at solutions alone and does not change when masses, inertias and impulses are scaled. s is the largest r
// of the contacts of its island without impulses, λ = 0, where an island is the bodies that move and are joined by
// contacts; at least, it is 2⁻⁴⁴/Tolerance of the largest |c*_N| + Σ(‖v_f‖ + ‖ω_f‖‖r‖) of a contact of the island,
// which float64 resolves.
//
// Primal is ε_p, the largest distance of an impulse from its cone K, in N·s. Dual is ε_d, the largest distance
// of c + Γ from K*, in m/s. Complementarity is ε_c, the largest |⟨λ, c + Γ⟩|, in J. Γ is zero for the CCP. All
// are recomputed from the impulses; these have units, and decide nothing. A small residual of the NCP bounds no error:
// the problem may have other solutions, far away.
type Solution struct {
	Impulse  []float64 // [W,C,3] λ in the frames of the contacts, N·s; zero from Count on
	Velocity []float64 // [W,B,6] v_f + M⁻¹Jᵀλ

	Residual, Scale               []float64 // [W] m/s
	Primal, Dual, Complementarity []float64 // [W]
	// Bound [W] is a proved bound of the error of the velocities c of all contacts, in m/s, where v* solves the CCP;
	// +Inf if the proof fails. It is NaN for the NCP, and unless Options.Bound asks for it.
	Bound  []float64
	Sweeps []int32 // [W] sweeps of projected Gauss-Seidel
	Steps  []int32 // [W] steps of Newton's method
	Status []Status
}

func (s *Solution) resize(p *Problem) {
	resize(&s.Impulse, 3*p.Worlds*p.Contacts)
	resize(&s.Velocity, 6*p.Worlds*p.Bodies)
	for _, c := range []*[]float64{&s.Residual, &s.Scale, &s.Primal, &s.Dual, &s.Complementarity, &s.Bound} {
		resize(c, p.Worlds)
	}
	resize(&s.Sweeps, p.Worlds)
	resize(&s.Steps, p.Worlds)
	resize(&s.Status, p.Worlds)
}

// Relative returns the largest residual of a contact of a world relative to its scale, which Tolerance limits.
func (s *Solution) Relative(world int) float64 {
	if s.Residual[world] == 0 {
		return 0
	}
	return s.Residual[world] / s.Scale[world]
}

// A WorldError says what is wrong with the input of a world. Body and Contact are -1 where the fault is not
// that of a body or of a contact.
type WorldError struct {
	World, Body, Contact int
	Column, Reason       string
}

func (e *WorldError) Error() string {
	at := fmt.Sprintf("contact: world %d", e.World)
	if e.Contact >= 0 {
		at += fmt.Sprintf(", contact %d", e.Contact)
	}
	if e.Body >= 0 {
		at += fmt.Sprintf(", body %d", e.Body)
	}
	return at + ": " + e.Column + ": " + e.Reason
}

// Check returns an error if a column has the wrong length, and otherwise the fault of the first invalid world.
func (p *Problem) Check() error {
	if err := p.CheckShape(); err != nil {
		return err
	}
	for w := range p.Worlds {
		if err := p.CheckWorld(w); err != nil {
			return err
		}
	}
	return nil
}

func (p *Problem) CheckShape() error {
	if p.Worlds < 0 || p.Bodies < 0 || p.Contacts < 0 {
		return fmt.Errorf("contact: %d worlds, %d bodies, %d contacts: a count is negative", p.Worlds, p.Bodies,
			p.Contacts)
	}
	wb, wc := p.Worlds*p.Bodies, p.Worlds*p.Contacts
	for _, c := range [...]struct {
		name      string
		got, want int
		optional  bool
	}{
		{"mass", len(p.Mass), wb, false}, {"inertia", len(p.Inertia), 6 * wb, false},
		{"velocity", len(p.Velocity), 6 * wb, false}, {"count", len(p.Count), p.Worlds, false},
		{"body_a", len(p.BodyA), wc, false}, {"body_b", len(p.BodyB), wc, false},
		{"arm_a", len(p.ArmA), 3 * wc, false}, {"arm_b", len(p.ArmB), 3 * wc, false},
		{"frame", len(p.Frame), 9 * wc, false}, {"friction", len(p.Friction), wc, false},
		{"target", len(p.Target), wc, true}, {"compliance", len(p.Compliance), 2 * wc, true},
		{"warm", len(p.Warm), 3 * wc, true},
	} {
		if c.got != c.want && !(c.optional && c.got == 0) {
			return fmt.Errorf("contact: column %s has %d values; %d worlds of %d bodies and %d contacts take %d",
				c.name, c.got, p.Worlds, p.Bodies, p.Contacts, c.want)
		}
	}
	return nil
}

// frameTolerance is the largest error of an inner product of two axes of a frame. Solvers treat frames as
// orthonormal; the error of an impulse is of this order.
const frameTolerance = 1e-6

// CheckWorld returns a *[WorldError] if the input of a world is no contact problem: a mass that is not
// positive, an inertia that no body has, a contact of a body that is absent, bodies that both do not move, a
// frame that is not orthonormal and right-handed, a negative friction or compliance, and NaN or ±Inf anywhere
// but in masses.
func (p *Problem) CheckWorld(w int) error { return p.checkWorld(w, true) }

// ValidWorld reports whether CheckWorld finds no fault. It does not allocate.
func (p *Problem) ValidWorld(w int) bool { return p.plain(w) || p.CheckWorld(w) == nil }

// checkWorld is CheckWorld, with inertias or, where they are known to be those of bodies, without.
func (p *Problem) checkWorld(w int, inertias bool) error {
	for b := w * p.Bodies; b < (w+1)*p.Bodies; b++ {
		if column, reason := p.bodyFault(b, inertias); reason != "" {
			return &WorldError{w, b - w*p.Bodies, -1, column, reason}
		}
	}
	if n := int(p.Count[w]); n < 0 || n > p.Contacts {
		return &WorldError{w, -1, -1, "count", fmt.Sprintf("%d contacts; there is room for 0 to %d", n, p.Contacts)}
	}
	for k := w * p.Contacts; k < w*p.Contacts+int(p.Count[w]); k++ {
		if body, column, reason := p.contactFault(w, k); reason != "" {
			return &WorldError{w, body, k - w*p.Contacts, column, reason}
		}
	}
	return nil
}

func finite(values ...float64) bool {
	for _, x := range values {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// bodyFault returns the column and the reason why body b of all worlds is invalid.
func (p *Problem) bodyFault(b int, inertias bool) (column, reason string) {
	m := p.Mass[b]
	if !(m > 0) {
		return "mass", fmt.Sprintf("%g kg; a mass is positive, or +Inf for a body that impulses do not move", m)
	}
	if !finite(p.Velocity[6*b : 6*b+6]...) {
		return "velocity", fmt.Sprintf("%v is not finite", p.Velocity[6*b:6*b+6])
	}
	if math.IsInf(m, 1) || !inertias {
		return "", ""
	}
	return "inertia", inertiaFault(sym3(p.Inertia[6*b : 6*b+6]))
}

// inertiaFault says why no body has this inertia. That of a body is ∫(|x|²·1 − xxᵀ)dm, so
// ½·trace·1 − inertia = ∫xxᵀdm is positive semidefinite: the triangle inequality of the principal moments.
// Rounding of the input is allowed for. A needle without any thickness has no inverse and is refused too.
func inertiaFault(i sym3) string {
	if !finite(i[:]...) {
		return fmt.Sprintf("%v is not finite", i)
	}
	const slack = 1e-9 // of the trace
	half := (i[0] + i[1] + i[2]) / 2
	if least := i.MinEigenvalue(); !(least > 1e-14*half) {
		return fmt.Sprintf("%v is not positive definite: its least principal moment is %.3g kg·m²", i, least)
	}
	second := sym3{half - i[0], half - i[1], half - i[2], -i[3], -i[4], -i[5]}
	if !(second.MinEigenvalue() >= -slack*half) {
		return fmt.Sprintf("%v: a principal moment exceeds the sum of the other two, which no body has", i)
	}
	return ""
}

// contactFault returns the body, or -1, the column and the reason why contact k of all worlds is invalid.
func (p *Problem) contactFault(w, k int) (body int, column, reason string) {
	moves := false
	for _, side := range [...]struct {
		column string
		body   int32
		arm    []float64
	}{{"body_a", p.BodyA[k], p.ArmA}, {"body_b", p.BodyB[k], p.ArmB}} {
		b := int(side.body)
		if b < -1 || b >= p.Bodies {
			return b, side.column, fmt.Sprintf("body %d is absent; bodies are 0 to %d, and -1 is the world", b,
				p.Bodies-1)
		}
		if b < 0 {
			continue
		}
		if !finite(side.arm[3*k : 3*k+3]...) {
			return b, "arm" + side.column[4:], fmt.Sprintf("%v is not finite", side.arm[3*k:3*k+3])
		}
		moves = moves || !math.IsInf(p.Mass[w*p.Bodies+b], 1)
	}
	if p.BodyA[k] == p.BodyB[k] {
		return int(p.BodyA[k]), "body_b", "a contact of a body with itself"
	}
	if !moves {
		return -1, "body_a", fmt.Sprintf("neither body %d nor body %d moves; leave the contact out", p.BodyA[k],
			p.BodyB[k])
	}
	reason = p.lawFault(k, &column)
	return -1, column, reason
}

// lawFault returns why the frame or a number of the law of contact k is invalid, and names its column.
func (p *Problem) lawFault(k int, column *string) string {
	*column = "frame"
	if reason := frameFault(p.Frame[9*k : 9*k+9]); reason != "" {
		return reason
	}
	*column = "friction"
	if mu := p.Friction[k]; !(mu >= 0) || !finite(mu) {
		return fmt.Sprintf("%g; a friction coefficient is not negative", mu)
	}
	*column = "target"
	if len(p.Target) > 0 && !finite(p.Target[k]) {
		return fmt.Sprintf("%g m/s is not finite", p.Target[k])
	}
	*column = "compliance"
	if len(p.Compliance) > 0 {
		if r := p.Compliance[2*k : 2*k+2]; !finite(r...) || !(r[0] >= 0) || !(r[1] >= 0) {
			return fmt.Sprintf("%v; compliances are not negative", r)
		}
	}
	*column = "warm"
	if len(p.Warm) > 0 && !finite(p.Warm[3*k:3*k+3]...) {
		return fmt.Sprintf("%v is not finite", p.Warm[3*k:3*k+3])
	}
	return ""
}

func frameFault(f []float64) string {
	if !finite(f...) {
		return fmt.Sprintf("%v is not finite", f)
	}
	q := frameRows(f)
	for i := range 3 {
		for j := range i + 1 {
			want := 0.0
			if i == j {
				want = 1
			}
			if d := dotVec(q[i], q[j]); !(math.Abs(d-want) <= frameTolerance) {
				return fmt.Sprintf("singular frame: the product of rows %d and %d is %.9g in place of %g", j, i, d,
					want)
			}
		}
	}
	if !(dotVec(crossVec(q[0], q[1]), q[2]) > 0) {
		return "left-handed frame: t1 × t2 points against n"
	}
	return ""
}

// plain is a fast sufficient test of the validity of world w; [Problem.CheckWorld] decides the rest, and has the
// reasons. It takes a fifth of the time. Comparisons with NaN are false.
func (p *Problem) plain(w int) bool {
	n := int(p.Count[w])
	if n < 0 || n > p.Contacts {
		return false
	}
	for b := w * p.Bodies; b < (w+1)*p.Bodies; b++ {
		m := p.Mass[b]
		if !(m > 0) || !finite(p.Velocity[6*b:6*b+6]...) ||
			m <= math.MaxFloat64 && !plainInertia((*[6]float64)(p.Inertia[6*b:])) {
			return false
		}
	}
	for k := w * p.Contacts; k < w*p.Contacts+n; k++ {
		if !p.plainBodies(w, k) || !plainFrame((*[9]float64)(p.Frame[9*k:])) || !p.plainLaw(k) {
			return false
		}
	}
	return true
}

// plainInertia is about [inertiaFault].
func plainInertia(i *[6]float64) bool {
	half := (i[0] + i[1] + i[2]) / 2
	return definite(half, i[0], i[1], i[2], i[3], i[4], i[5]) &&
		definite(half, half-i[0], half-i[1], half-i[2], -i[3], -i[4], -i[5])
}

// definite reports whether a symmetric matrix with a trace of at most 2·half has a least eigenvalue above 1e-10·half,
// far from rounding: by its minors and by det, which is at most that eigenvalue times half². Where 1e-10·half³ leaves
// the range of float64 it reports false, and [inertiaFault] decides.
func definite(half, xx, yy, zz, xy, xz, yz float64) bool {
	minor := xx*yy - xy*xy
	det := xx*(yy*zz-yz*yz) - xy*(xy*zz-yz*xz) + xz*(xy*yz-yy*xz)
	return xx > 0 && minor > 1e-10*half*half && det > 1e-10*half*half*half && half >= 1e-90 && half <= 1e100
}

// plainBodies is about the bodies and arms of contact k of all worlds.
func (p *Problem) plainBodies(w, k int) bool {
	a, b := int(p.BodyA[k]), int(p.BodyB[k])
	if a < -1 || a >= p.Bodies || b < -1 || b >= p.Bodies || a == b {
		return false
	}
	moves := false
	if a >= 0 {
		moves = p.Mass[w*p.Bodies+a] <= math.MaxFloat64
		if !finite(p.ArmA[3*k : 3*k+3]...) {
			return false
		}
	}
	if b >= 0 {
		moves = moves || p.Mass[w*p.Bodies+b] <= math.MaxFloat64
		if !finite(p.ArmB[3*k : 3*k+3]...) {
			return false
		}
	}
	return moves
}

// plainFrame is about [frameFault].
func plainFrame(f *[9]float64) bool {
	near := func(x, want float64) bool { return math.Abs(x-want) <= frameTolerance }
	return near(f[0]*f[0]+f[1]*f[1]+f[2]*f[2], 1) && near(f[3]*f[3]+f[4]*f[4]+f[5]*f[5], 1) &&
		near(f[6]*f[6]+f[7]*f[7]+f[8]*f[8], 1) && near(f[0]*f[3]+f[1]*f[4]+f[2]*f[5], 0) &&
		near(f[0]*f[6]+f[1]*f[7]+f[2]*f[8], 0) && near(f[3]*f[6]+f[4]*f[7]+f[5]*f[8], 0) &&
		f[6]*(f[1]*f[5]-f[2]*f[4])+f[7]*(f[2]*f[3]-f[0]*f[5])+f[8]*(f[0]*f[4]-f[1]*f[3]) > 0
}

// plainLaw is about the law and the warm impulse of contact k of all worlds.
func (p *Problem) plainLaw(k int) bool {
	mu := p.Friction[k]
	if !(mu >= 0 && mu <= math.MaxFloat64) || len(p.Target) > 0 && !finite(p.Target[k]) ||
		len(p.Warm) > 0 && !finite(p.Warm[3*k:3*k+3]...) {
		return false
	}
	if len(p.Compliance) > 0 {
		r := p.Compliance[2*k : 2*k+2]
		return r[0] >= 0 && r[1] >= 0 && finite(r...)
	}
	return true
}
