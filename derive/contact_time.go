package derive

import (
	"errors"
	"math"

	"clearance/batch"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// ContactTime is the derivative of the time of a first contact with respect to the way points beside it.
type ContactTime struct {
	// Regular says that the time is differentiable: the contact lies between two way points, at a pair of unique
	// witnesses that approach each other. Without it there are no derivatives, and Smoothness says why.
	Regular    bool
	Smoothness TimeSmoothness

	Time     float64 // at which the parts touch
	Rate     float64 // derivative of their distance by time
	WayPoint int     // the contact is between this and the next

	// A and B are the gradients with respect to the twists of both bodies at both way points.
	A, B [2][BodyWidth]float64
}

// TimeSmoothness says what the derivative of the time of a first contact is. The C interface has the codes: append,
// never renumber.
type TimeSmoothness uint8

// Codes of times of contact. All but TimeRegular have no derivative.
const (
	TimeNone           TimeSmoothness = iota // no contact, or none that is decided
	TimeRegular                              // between two way points, at unique witnesses that approach each other
	TimeWayPoint                             // at a way point, where velocities change, or at an end of the motion
	TimeNotUnique                            // the parts touch at several points, or along several normals
	TimeGrazing                              // the distance does not decrease: the time is the root of a double zero
	TimeHalfRevolution                       // a body rotates by half a revolution, in either direction
	TimeSmoothnessCount
)

// TimeSmoothnesses are the names of the codes.
var TimeSmoothnesses = batch.Names[TimeSmoothness]{What: "time smoothness", List: []string{
	"none", "regular", "way point", "not unique", "grazing", "half revolution"}}

func (s TimeSmoothness) String() string { return TimeSmoothnesses.Name(s) }

// leastRate is the least speed of approach of a regular contact, relative to the speeds of the bodies: below it the
// motions graze, and the time of the contact has the derivative of a root.
const leastRate = 1e-6

// ContactTime differentiates the time of the first contact of row i of a sweep. With δ the distance of the parts in
// contact, dt = -dδ/(∂δ/∂t), where the poses at that time follow the way points: positions by interpolation,
// rotations by the left Jacobian of the rotation vector. Motions have rotations of less than half a
// revolution between way points.
func (w *Workspace) ContactTime(bodies *batch.Bodies, motions *batch.Motions, results *batch.SweepResults, i int) (
	c ContactTime, err error) {
	if err := motions.CheckBodies(bodies); err != nil {
		return c, err
	}
	if err := results.Check(motions.Len()); err != nil {
		return c, err
	}
	if i < 0 || i >= results.N {
		return c, errors.New("derive: no such row of the sweep")
	}
	pair := i % len(motions.TemplateA)
	return w.contactTime(bodies, motions, &touch{World: i / len(motions.TemplateA),
		Place: [2]int32{motions.TemplateA[pair], motions.TemplateB[pair]},
		Part:  [2]int32{results.PartA[i], results.PartB[i]}, Time: results.T1[i],
		Decided: batch.SweepState(results.State[i]) == batch.SweepContact}), nil
}

// touch is a first contact as a sweep has found it.
type touch struct {
	World       int
	Place, Part [2]int32
	Time        float64
	Decided     bool
}

func (w *Workspace) contactTime(bodies *batch.Bodies, motions *batch.Motions, x *touch) (c ContactTime) {
	t, last := x.Time, float64(motions.WayPoints()-1)
	switch {
	case !x.Decided || !(t >= 0 && t <= last):
		return c
	case t == 0 || t == last:
		c.Smoothness = TimeWayPoint
		return c
	}
	c.WayPoint = int(t)
	var sides [2]mover
	for k, place := range x.Place {
		if place < 0 {
			return c
		}
		body, part := motions.Body(x.World, place), x.Part[k]
		if body < 0 || part < 0 || int(part) >= len(bodies.Parts(body)) {
			return c
		}
		from, errFrom := motions.Pose(x.World, c.WayPoint, place).Normalized()
		to, errTo := motions.Pose(x.World, c.WayPoint+1, place).Normalized()
		if errFrom != nil || errTo != nil {
			return c
		}
		sides[k] = newMover(from, to)
		sides[k].body, sides[k].part = body, int(part)
		sides[k].shape = bodies.Library().Shape(bodies.Parts(body)[part].Shape)
		if !(sides[k].angle < math.Pi-1e-6) {
			c.Smoothness = TimeHalfRevolution
			return c
		}
	}
	w.polish(bodies, &sides, t-float64(c.WayPoint), &c)
	return c
}

// polish finds the time s after the way point at which both sides touch, and differentiates it.
func (w *Workspace) polish(bodies *batch.Bodies, sides *[2]mover, s float64, c *ContactTime) {
	for range 8 { // Newton's method for δ = 0; the sweep ends within its tolerance of the contact
		d, g := w.touching(bodies, sides, s)
		if !d.Smoothness().Full() {
			c.Smoothness = TimeNotUnique
			return
		}
		c.Rate = 0
		speed := 0.0
		for k := range sides {
			m := &sides[k]
			c.Rate += r3.Dot(g[k][0], m.velocity) + r3.Dot(g[k][1], m.rotation)
			speed += r3.Norm(m.velocity) + r3.Norm(m.rotation)*m.shape.BoundingRadius()
		}
		if !(c.Rate < -leastRate*speed) {
			c.Smoothness = TimeGrazing
			return
		}
		step := -d.s.value / c.Rate
		if s += step; !(s > 0 && s < 1) {
			c.Smoothness = TimeWayPoint
			return
		}
		if c.Time = float64(c.WayPoint) + s; math.Abs(step) > 1e-9 { // the next one is of its square
			continue
		}
		for k, to := range [2]*[2][BodyWidth]float64{&c.A, &c.B} {
			sides[k].wayPoints(to, s, r3.Scale(-1/c.Rate, g[k][0]), r3.Scale(-1/c.Rate, g[k][1]))
		}
		c.Regular, c.Smoothness = true, TimeRegular
		return
	}
	c.Smoothness = TimeGrazing
}

// mover is a body between two way points: position from + s·velocity, rotation exp(s·rotation)·first.
type mover struct {
	from, velocity r3.Vec
	first          quat.Number
	rotation       r3.Vec // rotation vector in the world frame
	angle          float64

	body  int32
	part  int
	shape geom.Shape
}

func newMover(from, to geom.Pose) mover {
	m := mover{from: from.Position, velocity: r3.Sub(to.Position, from.Position), first: from.Rotation}
	d := quat.Mul(to.Rotation, quat.Conj(from.Rotation))
	if d.Real < 0 {
		d = quat.Scale(-1, d)
	}
	v := r3.Vec{X: d.Imag, Y: d.Jmag, Z: d.Kmag}
	if sin := r3.Norm(v); sin > 0 {
		m.angle = 2 * math.Atan2(sin, d.Real)
		m.rotation = r3.Scale(m.angle/sin, v)
	}
	return m
}

func (m *mover) at(s float64) geom.Pose {
	h := r3.Scale(s/2, m.rotation)
	return geom.Pose{Position: r3.Add(m.from, r3.Scale(s, m.velocity)),
		Rotation: quat.Mul(quat.Exp(quat.Number{Imag: h.X, Jmag: h.Y, Kmag: h.Z}), m.first)}
}

// touching differentiates the distance of both parts at s; g has, for A and B, the gradients with respect to the
// velocity and the angular velocity of the body.
func (w *Workspace) touching(bodies *batch.Bodies, sides *[2]mover, s float64) (d Derivative, g [2][2]r3.Vec) {
	var poses, parts [2]geom.Pose
	for k := range sides {
		poses[k] = sides[k].at(s)
		parts[k] = bodies.PartPose(sides[k].body, sides[k].part, poses[k])
	}
	p := ref.NewPair(sides[0].shape, sides[1].shape, parts[0], parts[1])
	answer := ref.Solve(&p, ref.Options{}, &w.solver)
	row := Row{A: sides[0].shape, B: sides[1].shape, PoseA: parts[0], PoseB: parts[1],
		Answered: answer.Status <= ref.Penetrating, Value: answer.Distance, Gap: answer.Gap(),
		Normal: p.DirToWorld(answer.Normal), WitnessA: p.ToWorld(answer.WitnessA), WitnessB: p.ToWorld(answer.WitnessB)}
	d = w.Exact(&row)
	v := d.Value()
	for k := range g {
		force := vec(&v, 6*k)
		arm := r3.Sub(parts[k].Position, poses[k].Position)
		g[k] = [2]r3.Vec{force, r3.Add(vec(&v, 6*k+3), r3.Cross(arm, force))}
	}
	return d, g
}

// wayPoints is the gradient with respect to the twists of both way points, from that with respect to the twist at s.
// With φ the rotation vector and J the left Jacobian of rotations,
//
//	ω(s) = s·J(sφ)·(J⁻¹(φ)·ω_1 - J⁻¹(-φ)·ω_0) + exp(sφ)·ω_0,  Jᵀ(φ) = J(-φ).
func (m *mover) wayPoints(to *[2][BodyWidth]float64, s float64, velocity, angular r3.Vec) {
	back := r3.Scale(-1, m.rotation)
	along := r3.Scale(s, leftJacobian(r3.Scale(s, back), angular))
	rotated := r3.Rotate(angular, -s*m.angle, m.axis())
	for k, x := range [2][2]r3.Vec{
		{r3.Scale(1-s, velocity), r3.Sub(rotated, inverseLeftJacobian(m.rotation, along))},
		{r3.Scale(s, velocity), inverseLeftJacobian(back, along)},
	} {
		to[k] = [BodyWidth]float64{x[0].X, x[0].Y, x[0].Z, x[1].X, x[1].Y, x[1].Z}
	}
}

func (m *mover) axis() r3.Vec {
	if m.angle == 0 {
		return r3.Vec{Z: 1}
	}
	return r3.Scale(1/m.angle, m.rotation)
}

// leftJacobian multiplies with J(φ) = I + (1 - cos θ)/θ²·[φ] + (θ - sin θ)/θ³·[φ]².
func leftJacobian(phi, v r3.Vec) r3.Vec {
	t := r3.Norm(phi)
	b, c := 0.5-t*t/24, 1./6-t*t/120
	if t > 1e-3 {
		half := math.Sin(t / 2)
		b, c = 2*half*half/(t*t), (t-math.Sin(t))/(t*t*t)
	}
	x := r3.Cross(phi, v)
	return r3.Add(v, r3.Add(r3.Scale(b, x), r3.Scale(c, r3.Cross(phi, x))))
}

// inverseLeftJacobian multiplies with J⁻¹(φ) = I - [φ]/2 + (1 - θ/2·cot(θ/2))/θ²·[φ]².
func inverseLeftJacobian(phi, v r3.Vec) r3.Vec {
	t := r3.Norm(phi)
	c := 1./12 + t*t/720
	if t > 1e-3 {
		c = (1 - t/2/math.Tan(t/2)) / (t * t)
	}
	x := r3.Cross(phi, v)
	return r3.Add(v, r3.Add(r3.Scale(-0.5, x), r3.Scale(c, r3.Cross(phi, x))))
}
