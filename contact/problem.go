package contact

import "fmt"

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

var modelNames = [...]string{NCP: "ncp", CCP: "ccp"}

// String returns the name of the model in files and on the command line.
func (m Model) String() string {
	if int(m) < len(modelNames) {
		return modelNames[m]
	}
	return fmt.Sprintf("Model(%d)", uint8(m))
}

// ParseModel returns the model of that name.
func ParseModel(name string) (Model, error) {
	for m, s := range modelNames {
		if s == name {
			return Model(m), nil
		}
	}
	return 0, fmt.Errorf("contact: unknown model %q; the models are ncp and ccp", name)
}

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

var statusNames = [...]string{Solved: "solved", Undecided: "undecided", Invalid: "invalid"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

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
