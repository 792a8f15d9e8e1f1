package papers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"clearance/ref"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// ContactResults are those of contact models and their solvers [AGIMUS2023, Contacts]. All but those of Fig. 12 are of
// a cube on a plane. Units are SI.
type ContactResults struct {
	Slides     []ContactSlide       `json:"slides"`     // Fig. 9 and 10: by solver, for each of slideAngles
	Pushes     []ContactPush        `json:"pushes"`     // Fig. 11
	Ratios     []ContactRatio       `json:"ratios"`     // Fig. 12
	TimeSteps  []ContactConsistency `json:"time_steps"` // Table III
	Tolerances []ContactConsistency `json:"tolerances"` // Table IV
	Towers     []ContactTowers      `json:"towers"`     // for Table II
}

// ContactSlide is a cube that slides with an initial speed of slideSpeed.
type ContactSlide struct {
	Solver   string  `json:"solver"`
	Margin   float64 `json:"margin"`   // contacts are those of corners below it, m
	Angle    float64 `json:"angle"`    // of the tangent axes of the contacts from the velocity, rad
	Energy   float64 `json:"energy"`   // largest |E - E_analytic|, J
	Sideways float64 `json:"sideways"` // the largest distance from the line, m
	Lift     float64 `json:"lift"`     // how far the cube lifts off at most, m
	Way      float64 `json:"way"`      // distance travelled, relative to v₀²/2μg
	// Largest residuals of Signorini's condition, Coulomb's law and maximum dissipation over the steps, divided by the
	// impulse of the weight, and but for Coulomb's law by the initial speed.
	Signorini   float64      `json:"signorini"`
	Coulomb     float64      `json:"coulomb"`
	Dissipation float64      `json:"dissipation"`
	Undecided   int          `json:"undecided"` // steps
	Curve       [][3]float64 `json:"curve"`     // time, energy, way sideways
}

// ContactPush is a cube at rest under a horizontal force that grows linearly.
type ContactPush struct {
	Solver    string  `json:"solver"`
	Slip      float64 `json:"slip"`     // when it first moves faster than slipSpeed, s; 0: never
	Internal  float64 `json:"internal"` // norm of the impulses that move no body over the norm of all, at pushMiddle
	Speed     float64 `json:"speed"`    // at the end, m/s
	Undecided int     `json:"undecided"`
	// Curve holds time, speed and the tangential force of each of the four contacts along the push, N.
	Curve [][6]float64 `json:"curve"`
}

// ContactRatio is a cube at rest on another one, whose mass is Ratio times smaller.
type ContactRatio struct {
	Solver string  `json:"solver"`
	Ratio  float64 `json:"ratio"`
	// Residual is ε_abs divided by max(1, the largest impulse); of RaiSim's model, whose law that leaves open, at least
	// the residual of the contacts in m/s.
	Residual   float64 `json:"residual"`
	Iterations int     `json:"iterations"`
	Decided    bool    `json:"decided"`
}

// ContactConsistency is the integral of the distance between two trajectories of the sliding cube: of one with Value
// as time step, s, or as tolerance, and of a reference.
type ContactConsistency struct {
	Solver string  `json:"solver"`
	Value  float64 `json:"value"`
	Error  float64 `json:"error"` // m·s
	Swept  float64 `json:"swept"` // Table IV: with at least one sweep a step, m·s
}

// ContactTowers counts the stacks of four cubes that a solver solves to the tolerance within its limit.
type ContactTowers struct {
	Solver  string `json:"solver"`
	Towers  int    `json:"towers"`
	Decided int    `json:"decided"`
}

// The cube. The paper states neither its edge nor its mass, friction, speed or duration. With speed and duration as
// below, the integrator's error for the time steps of Table III is 1.5e-3 to 1.6e-1 m·s, as in the paper.
const (
	cubeEdge        = 0.2 // m
	cubeMass        = 1.0 // kg
	cubeInertia     = cubeMass * cubeEdge * cubeEdge / 6
	cubeFriction    = 0.4
	cubeGravity     = 9.81 // m/s²
	slideSpeed      = 1.0  // m/s
	slideTime       = 0.4  // s
	cubeStep        = 1e-3 // s, where nothing else is said
	pushTime        = 0.5  // s
	pushSlips       = 0.25 // s: then the force is μmg
	pushMiddle      = 0.15 // s: the cube sticks, and equal forces on all contacts obey Coulomb's law
	slipSpeed       = 1e-4 // m/s
	cubeTolerance   = 1e-9
	cubeLimit       = 2000
	consistencyTime = 3.5  // s
	finestStep      = 1e-4 // s, the reference of Table III
)

var (
	slideAngles     = []float64{0, 37 * math.Pi / 180}
	consistentSteps = []float64{1e-3, 1e-2, 1e-1}
	consistentEnds  = []float64{1e-6, 1e-4, 1e-2} // tolerances; the reference of Table IV has cubeTolerance
	consistent      = []string{"ccp-pgs", "raisim", "ncp-pgs"}
	massRatios      = []float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6}
)

// paperOptions are those of the paper's experiments: its residuals end a solve.
func paperOptions(limit int) ref.ContactOptions {
	return ref.ContactOptions{Tolerance: cubeTolerance, Stop: ref.StopAbsolute, Limit: limit}
}

// speculative is the margin at which the corners of the cube always have contacts.
const speculative = 0.02

// slider is a cube on the plane z = 0. Its inertia is isotropic, so its rotation has no gyroscopic term.
type slider struct {
	solver   ref.ContactSolver
	options  ref.ContactOptions
	dt       float64
	margin   float64 // contacts are those of corners below it
	sweep    bool    // whether every step takes at least one sweep, also if warm impulses are within the tolerance
	frame    [3]r3.Vec
	position r3.Vec
	rotation quat.Number
	velocity [6]float64
	warm     [8][3]float64 // impulses of the last step, by corner

	problem *ref.Contacts // of the last step; nil: no contacts
	result  ref.ContactResult
	corners []int
}

func newSlider(solver string, dt, margin, angle float64) *slider {
	all := ref.ContactSolvers()
	i := slices.IndexFunc(all, func(s ref.ContactSolver) bool { return s.Name == solver })
	sin, cos := math.Sincos(angle)
	return &slider{solver: all[i], options: paperOptions(cubeLimit), dt: dt,
		margin: margin, frame: [3]r3.Vec{{X: cos, Y: sin}, {X: -sin, Y: cos}, {Z: 1}},
		position: r3.Vec{Z: cubeEdge / 2}, rotation: quat.Number{Real: 1}}
}

// corner is the vector from the center to a corner.
func (c *slider) corner(k int) r3.Vec {
	sign := func(bit int) float64 { return float64(k>>bit&1)*cubeEdge - cubeEdge/2 }
	return r3.Rotation(c.rotation).Rotate(r3.Vec{X: sign(0), Y: sign(1), Z: sign(2)})
}

// smallestTolerance is one that no answer meets but by chance.
const smallestTolerance = 1e-300

// touching is the gap, in m, below which a corner counts as touching: more than the tolerance lets it grow in
// slideTime. The four contacts of the cube are redundant. With targets that differ by rounding, sweeps shift impulses
// from one contact to another by that difference, and do not converge.
const touching = 1e-7

// step advances the cube by semi-implicit Euler under a force on its center. An undecided answer is used: the best of
// the solver.
func (c *slider) step(force r3.Vec) error {
	v := &c.velocity
	v[0] += c.dt * force.X / cubeMass
	v[1] += c.dt * force.Y / cubeMass
	v[2] += c.dt * (force.Z/cubeMass - cubeGravity)
	if err := c.solve(); err != nil {
		return err
	}
	c.position = r3.Add(c.position, r3.Scale(c.dt, r3.Vec{X: v[0], Y: v[1], Z: v[2]}))
	turn := quat.Exp(quat.Number{Imag: c.dt * v[3] / 2, Jmag: c.dt * v[4] / 2, Kmag: c.dt * v[5] / 2})
	c.rotation = quat.Mul(turn, c.rotation)
	c.rotation = quat.Scale(1/quat.Abs(c.rotation), c.rotation)
	return nil
}

// solve changes the free velocity into the one with contacts.
func (c *slider) solve() error {
	var points []ref.ContactPoint
	c.corners, c.options.Warm = c.corners[:0], c.options.Warm[:0]
	for k := range 8 {
		arm := c.corner(k)
		gap := c.position.Z + arm.Z
		if gap > max(c.margin, touching) {
			c.warm[k] = [3]float64{}
			continue
		}
		c.corners = append(c.corners, k)
		c.options.Warm = append(c.options.Warm, c.warm[k][:]...)
		target := 0.0
		if gap > touching {
			target = -gap / c.dt
		}
		points = append(points, ref.ContactPoint{A: -1, B: 0, ArmB: arm, Frame: c.frame, Friction: cubeFriction,
			Target: target})
	}
	c.problem = nil
	if len(points) == 0 {
		return nil
	}
	body := ref.ContactBody{Mass: cubeMass, Inertia: [6]float64{cubeInertia, cubeInertia, cubeInertia},
		Velocity: c.velocity}
	p, err := ref.NewContacts([]ref.ContactBody{body}, points)
	if err != nil {
		return err
	}
	options := c.options
	if c.sweep {
		once := ref.ContactOptions{Tolerance: smallestTolerance, Stop: ref.StopAbsolute, Limit: 1, Warm: options.Warm}
		options.Warm = c.solver.Solve(p, once).Impulse
	}
	c.problem, c.result = p, c.solver.Solve(p, options)
	c.velocity = p.Velocities(c.result.Impulse)[0]
	for i, k := range c.corners {
		c.warm[k] = [3]float64(c.result.Impulse[3*i:])
	}
	return nil
}

func (c *slider) undecided() bool { return c.problem != nil && !c.result.Decided }

// energy is kinetic and potential, zero at rest on the plane.
func (c *slider) energy() float64 {
	e := cubeMass * cubeGravity * (c.position.Z - cubeEdge/2)
	for i, m := range []float64{cubeMass, cubeMass, cubeMass, cubeInertia, cubeInertia, cubeInertia} {
		e += m * c.velocity[i] * c.velocity[i] / 2
	}
	return e
}

// contacts repeats the experiments of [AGIMUS2023, Contacts].
func contacts(ctx context.Context, lab *Lab, r *Results) error {
	out := &ContactResults{}
	for _, part := range []func(context.Context, *Lab) error{out.slides, out.pushes, out.ratios, out.timeSteps,
		out.tolerances, out.towers} {
		if err := part(ctx, lab); err != nil {
			return err
		}
	}
	r.Contacts = out
	return nil
}

// slides runs the sliding cube by every solver. The CCP, which lifts the cube, runs without a margin as well.
func (o *ContactResults) slides(ctx context.Context, lab *Lab) error {
	dt := cubeStep * float64(lab.pick(20, 1))
	for _, s := range ref.ContactSolvers() {
		for _, angle := range slideAngles {
			margins := []float64{speculative}
			if s.Model == ref.ContactCCP && angle == 0 {
				margins = append(margins, 0)
			}
			for _, margin := range margins {
				if err := ctx.Err(); err != nil {
					return err
				}
				slide, err := slideCube(s.Name, dt, margin, angle)
				if err != nil {
					return err
				}
				o.Slides = append(o.Slides, slide)
			}
		}
	}
	return nil
}

func slideCube(solver string, dt, margin, angle float64) (ContactSlide, error) {
	c := newSlider(solver, dt, margin, angle)
	c.velocity[0] = slideSpeed
	out := ContactSlide{Solver: solver, Margin: margin, Angle: angle}
	steps := int(math.Round(slideTime / dt))
	const impulse = cubeMass * cubeGravity
	for k := range steps {
		if err := c.step(r3.Vec{}); err != nil {
			return out, err
		}
		t := float64(k+1) * dt
		analytic := max(0, slideSpeed-cubeFriction*cubeGravity*t)
		out.Energy = max(out.Energy, math.Abs(c.energy()-cubeMass*analytic*analytic/2))
		out.Sideways = max(out.Sideways, math.Abs(c.position.Y))
		out.Lift = max(out.Lift, c.position.Z-cubeEdge/2)
		if c.problem != nil {
			e := &c.result.Residual
			out.Signorini = max(out.Signorini, e.Signorini/(impulse*dt*slideSpeed))
			out.Coulomb = max(out.Coulomb, e.Coulomb/(impulse*dt))
			out.Dissipation = max(out.Dissipation, e.Dissipation/(impulse*dt*slideSpeed))
		}
		if c.undecided() {
			out.Undecided++
		}
		if every := max(1, steps/80); k%every == every-1 {
			out.Curve = append(out.Curve, [3]float64{drawn(t), drawn(c.energy()), drawn(c.position.Y)})
		}
	}
	out.Way = math.Hypot(c.position.X, c.position.Y) / (slideSpeed * slideSpeed / (2 * cubeFriction * cubeGravity))
	return out, nil
}

// pushes runs the cube under a growing force by every solver.
func (o *ContactResults) pushes(ctx context.Context, lab *Lab) error {
	dt := cubeStep * float64(lab.pick(20, 1))
	for _, s := range ref.ContactSolvers() {
		if err := ctx.Err(); err != nil {
			return err
		}
		push, err := pushCube(s.Name, dt)
		if err != nil {
			return err
		}
		o.Pushes = append(o.Pushes, push)
	}
	return nil
}

func pushCube(solver string, dt float64) (ContactPush, error) {
	c := newSlider(solver, dt, speculative, 0)
	out := ContactPush{Solver: solver}
	steps := int(math.Round(pushTime / dt))
	for k := range steps {
		t := float64(k+1) * dt
		if err := c.step(r3.Vec{X: cubeFriction * cubeMass * cubeGravity * t / pushSlips}); err != nil {
			return out, err
		}
		if out.Slip == 0 && c.velocity[0] > slipSpeed {
			out.Slip = t
		}
		if c.undecided() {
			out.Undecided++
		}
		if k+1 == int(math.Round(pushMiddle/dt)) && c.problem != nil {
			all := 0.0
			for _, l := range c.result.Impulse {
				all += l * l
			}
			out.Internal = c.result.Residual.Internal / math.Sqrt(all)
		}
		if every := max(1, steps/80); k%every == every-1 {
			at := [6]float64{t, c.velocity[0]}
			for i, k := range c.corners {
				at[2+k%4] = c.result.Impulse[3*i] / dt
			}
			for k := range at {
				at[k] = drawn(at[k])
			}
			out.Curve = append(out.Curve, at)
		}
	}
	out.Speed = c.velocity[0]
	return out, nil
}

// ratios runs every solver on a heavy cube that stands on a light one, without a warm start.
func (o *ContactResults) ratios(ctx context.Context, lab *Lab) error {
	for _, s := range ref.ContactSolvers() {
		for _, ratio := range massRatios {
			if err := ctx.Err(); err != nil {
				return err
			}
			p, err := stack([]float64{1, ratio}, r3.Vec{})
			if err != nil {
				return err
			}
			r := s.Solve(p, paperOptions(lab.pick(150, 1000)))
			largest := 1.0
			for _, l := range r.Impulse {
				largest = max(largest, math.Abs(l))
			}
			residual := r.Residual.Absolute() / largest
			if s.Model == ref.ContactRaiSim {
				residual = max(residual, r.Residual.Natural)
			}
			o.Ratios = append(o.Ratios, ContactRatio{s.Name, ratio, residual, r.Iterations, r.Decided})
		}
	}
	return nil
}

// stack is a stack of cubes at rest that fell for a step of cubeStep; the topmost moves besides.
func stack(masses []float64, push r3.Vec) (*ref.Contacts, error) {
	var bodies []ref.ContactBody
	var points []ref.ContactPoint
	for i, m := range masses {
		inertia := m * cubeEdge * cubeEdge / 6
		b := ref.ContactBody{Mass: m, Inertia: [6]float64{inertia, inertia, inertia},
			Velocity: [6]float64{2: -cubeGravity * cubeStep}}
		if i == len(masses)-1 {
			b.Velocity[0], b.Velocity[1] = push.X, push.Y
		}
		bodies = append(bodies, b)
		for k := range 4 {
			arm := r3.Vec{X: (float64(k&1) - 0.5) * cubeEdge, Y: (float64(k>>1) - 0.5) * cubeEdge, Z: -cubeEdge / 2}
			points = append(points, ref.ContactPoint{A: i - 1, B: i, ArmA: r3.Add(arm, r3.Vec{Z: cubeEdge}), ArmB: arm,
				Frame: [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}, Friction: cubeFriction})
		}
	}
	return ref.NewContacts(bodies, points)
}

// trajectory is the position of the sliding cube after every step.
func trajectory(ctx context.Context, solver string, dt, tolerance, duration float64, sweep bool) ([]r3.Vec, error) {
	c := newSlider(solver, dt, speculative, 0)
	c.options.Tolerance, c.sweep = tolerance, sweep
	c.velocity[0] = slideSpeed
	out := make([]r3.Vec, int(math.Round(duration/dt)))
	for k := range out {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := c.step(r3.Vec{}); err != nil {
			return nil, err
		}
		out[k] = c.position
	}
	return out, nil
}

// apart is the integral of the distance of two trajectories; steps of the second are a multiple of those of the first.
func apart(fine, coarse []r3.Vec, dt float64) (sum float64) {
	every := len(fine) / len(coarse)
	for k, x := range coarse {
		sum += dt * r3.Norm(r3.Sub(x, fine[(k+1)*every-1]))
	}
	return sum
}

func (o *ContactResults) timeSteps(ctx context.Context, lab *Lab) error {
	duration, finest := consistencyTime, finestStep
	if lab.Quick {
		duration, finest = 0.2, 1e-3
	}
	for _, s := range consistent {
		fine, err := trajectory(ctx, s, finest, cubeTolerance, duration, false)
		if err != nil {
			return err
		}
		for _, dt := range consistentSteps {
			coarse, err := trajectory(ctx, s, dt, cubeTolerance, duration, false)
			if err != nil {
				return err
			}
			o.TimeSteps = append(o.TimeSteps, ContactConsistency{Solver: s, Value: dt, Error: apart(fine, coarse, dt)})
		}
	}
	return nil
}

func (o *ContactResults) tolerances(ctx context.Context, lab *Lab) error {
	duration := consistencyTime
	if lab.Quick {
		duration = 0.1
	}
	for _, s := range consistent {
		fine, err := trajectory(ctx, s, cubeStep, cubeTolerance, duration, false)
		if err != nil {
			return err
		}
		for _, tolerance := range consistentEnds {
			row := ContactConsistency{Solver: s, Value: tolerance}
			for _, sweep := range []bool{false, true} {
				other, err := trajectory(ctx, s, cubeStep, tolerance, duration, sweep)
				if err != nil {
					return err
				}
				if row.Swept = apart(fine, other, cubeStep); !sweep {
					row.Error = row.Swept
				}
			}
			o.Tolerances = append(o.Tolerances, row)
		}
	}
	return nil
}

// towers runs every solver on stacks of four cubes whose topmost is pushed.
func (o *ContactResults) towers(ctx context.Context, lab *Lab) error {
	for _, s := range ref.ContactSolvers() {
		rng := rand.New(rand.NewPCG(seed, 34))
		t := ContactTowers{Solver: s.Name, Towers: lab.pick(2, 50)}
		for range t.Towers {
			if err := ctx.Err(); err != nil {
				return err
			}
			push := r3.Vec{X: rng.NormFloat64() / 5, Y: rng.NormFloat64() / 5}
			p, err := stack([]float64{1, 1, 1, 1}, push)
			if err != nil {
				return fmt.Errorf("tower: %w", err)
			}
			if s.Solve(p, paperOptions(lab.pick(100, cubeLimit))).Decided {
				t.Decided++
			}
		}
		o.Towers = append(o.Towers, t)
	}
	return nil
}

// drawn rounds a value of a curve to the digits that a figure shows.
func drawn(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
	if err != nil {
		return v
	}
	return r
}
