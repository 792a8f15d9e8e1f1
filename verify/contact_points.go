package verify

import (
	"errors"
	"fmt"
	"math"

	"clearance/batch"
	"clearance/contact"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// ContactPoints audits where the contacts of steps lie, see [ContactPoints.World]. It belongs to one goroutine.
type ContactPoints struct {
	scene    *contact.Scene
	timeStep float64
	skip     map[[2]int32]bool
	features map[int32]*contact.Features // by shape

	workspace contact.Workspace
	solver    ref.Workspace
	pair      placed
	poses     []geom.Pose
	centers   []r3.Vec // of mass
	spins     []r3.Vec // of bodies that impulses do not move
	solved    pairKey  // the pair of parts of which lower is
	lower     float64
}

// pairKey is a pair of parts of two bodies.
type pairKey struct{ a, b, partA, partB int32 }

// NewContactPoints returns an audit of steps of a scene by a time step in seconds.
func NewContactPoints(scene *contact.Scene, timeStep float64) (*ContactPoints, error) {
	if err := scene.Check(); err != nil {
		return nil, err
	}
	if !(timeStep > 0) {
		return nil, fmt.Errorf("verify: time step %g s; it is positive", timeStep)
	}
	n := len(scene.Body)
	a := &ContactPoints{scene: scene, timeStep: timeStep, skip: map[[2]int32]bool{},
		features: map[int32]*contact.Features{}, poses: make([]geom.Pose, n), centers: make([]r3.Vec, n),
		spins: make([]r3.Vec, n)}
	for i, k := range scene.SkipA {
		a.skip[[2]int32{min(k, scene.SkipB[i]), max(k, scene.SkipB[i])}] = true
	}
	return a, nil
}

// ContactStep is a step of one world, in one part, and its contacts.
type ContactStep struct {
	Pose, Momentum []float64 // [B,7], [B,3] before the step, see [contact.State]
	Solves         int       // contact problems that were solved in the step

	Problem *contact.Problem
	World   int // of the problem

	Contacts *contact.Contacts
	First    int // of the contacts of the world, as many as the problem has
}

// mergedPoints is the distance, relative to the size of a pair, up to which points are made one: 1e-5, for up to four
// in a row.
const mergedPoints = 4e-5

// World audits the contacts of a step of a world, whose problem the impulses were found for. fail is called with the
// number of a contact and what refutes it.
//
//   - The bodies and parts are there, and the pair may have contacts.
//   - The normal has unit length, and its planes prove the distance that the reference finds, within the tolerance of
//     the solvers.
//   - The position agrees with the arms of the problem.
//   - The points half a gap from it along the normal lie in their parts. So the gap between the parts over the position
//     is at most the one stated. No larger one is needed: it is the gap of the features that the ID names over the
//     position, or the distance of the parts by the normal.
//   - The position is where the features that the ID names meet. No other contact of the pair has the ID.
//
// Contacts that a solve has added at points which would enter within the step have no gap. They come last, with IDs
// that count them, in worlds that were solved again. Their parts are not audited: open is the number of these, of
// bodies of more than one part.
func (a *ContactPoints) World(s *ContactStep, fail func(i int, reason string)) (open int) {
	if i, reason := a.place(s); reason != "" {
		fail(0, fmt.Sprintf("the state before the step: body %d: %s", i, reason))
		return 0
	}
	n, seen, entered := int(s.Problem.Count[s.World]), map[contactKey]bool{}, 0
	a.solved = pairKey{-1, -1, -1, -1}
	for i := range n {
		k := s.First + i
		c := s.Contacts
		key := pairKey{c.BodyA[k], c.BodyB[k], c.PartA[k], c.PartB[k]}
		reason := a.parts(key)
		if reason == "" && seen[contactKey{key, c.ID[k]}] {
			reason = fmt.Sprintf("the ID %x of another contact of the pair", c.ID[k])
		}
		seen[contactKey{key, c.ID[k]}] = true
		number := contact.Entered(c.ID[k])
		if reason == "" {
			reason = a.arms(s, i, number > 0)
		}
		switch {
		case reason != "":
		case number == 0 && entered > 0:
			reason = fmt.Sprintf("the ID %x behind contacts that points have that entered", c.ID[k])
		case number == 0:
			reason = a.point(s, i, key)
		case s.Solves < 2 || number != entered+1 || !math.IsNaN(c.Gap[k]):
			reason = fmt.Sprintf("the ID %x and the gap %g m of contact %d at points that entered, with %d solves",
				c.ID[k], c.Gap[k], number, s.Solves)
		default:
			entered++
			if len(a.partsOf(key.a)) > 1 || len(a.partsOf(key.b)) > 1 {
				open++
			}
		}
		if reason != "" {
			fail(i, reason)
		}
	}
	return open
}

// contactKey names a contact of a world.
type contactKey struct {
	pair pairKey
	id   uint64
}

// place reads the state before a step. It returns what is wrong with a body.
func (a *ContactPoints) place(s *ContactStep) (body int, reason string) {
	for b := range a.poses {
		p := s.Pose[7*b : 7*b+7]
		pose := geom.Pose{Position: triple(p)}
		pose.Rotation.Real, pose.Rotation.Imag, pose.Rotation.Jmag, pose.Rotation.Kmag = p[3], p[4], p[5], p[6]
		q := pose.Rotation
		// A step leaves quaternions of length 1 to rounding as they are.
		if !(math.Abs(q.Real*q.Real+q.Imag*q.Imag+q.Jmag*q.Jmag+q.Kmag*q.Kmag-1) <= 0x1p-50) || !(norm(pose.Position) <
			batch.MaxLength) {
			if !batch.CheckPose(&pose) {
				return b, "no pose"
			}
		}
		a.poses[b], a.spins[b] = pose, triple(s.Momentum[3*b:])
		a.centers[b] = pose.Position
		if len(a.scene.Center) > 0 {
			rot := pose.Matrix()
			a.centers[b] = r3.Add(pose.Position, rot.MulVec(triple(a.scene.Center[3*b:])))
		}
	}
	return 0, ""
}

func (a *ContactPoints) moves(b int32) bool { return !math.IsInf(a.scene.Mass[b], 1) }

func (a *ContactPoints) partsOf(b int32) []batch.Part { return a.scene.Bodies.Parts(a.scene.Body[b]) }

// parts says what is wrong with the bodies and parts of a contact.
func (a *ContactPoints) parts(k pairKey) string {
	n := int32(len(a.scene.Body))
	switch {
	case k.a < 0 || k.a >= k.b || k.b >= n:
		return fmt.Sprintf("bodies %d and %d, want two in ascending order below %d", k.a, k.b, n)
	case a.skip[[2]int32{k.a, k.b}] || !a.moves(k.a) && !a.moves(k.b):
		return fmt.Sprintf("bodies %d and %d, which have no contacts", k.a, k.b)
	case k.partA < 0 || int(k.partA) >= len(a.partsOf(k.a)) || k.partB < 0 || int(k.partB) >= len(a.partsOf(k.b)):
		return fmt.Sprintf("parts %d and %d of %d and %d", k.partA, k.partB, len(a.partsOf(k.a)), len(a.partsOf(k.b)))
	}
	return ""
}

// carried is the rotation of arms and normals of a pair by the body that impulses do not move, about an axis by an
// angle φ with sin φ = θ/2, where it rotates by θ ≤ 2 in the step: so points that stick to it keep their distance from
// its axis. ok is false if there is none.
func (a *ContactPoints) carried(k pairKey) (rot geom.Mat3, ok bool) {
	spin := r3.Vec{}
	switch {
	case !a.moves(k.a):
		spin = a.spins[k.a]
	case !a.moves(k.b):
		spin = a.spins[k.b]
	}
	angle := a.timeStep * norm(spin)
	if !(angle > 0 && angle <= 2) {
		return rot, false
	}
	pose := geom.Rotate(unit(spin), math.Asin(angle/2))
	return pose.Matrix(), true
}

// arms compares the position of contact i with the arms of the problem.
func (a *ContactPoints) arms(s *ContactStep, i int, entered bool) string {
	c, k, p := s.Contacts, s.First+i, s.Problem
	at := triple(c.Position[3*k:])
	rot, carried := a.carried(pairKey{a: c.BodyA[k], b: c.BodyB[k]})
	for _, side := range contactSides(p, s.World*p.Contacts+i) {
		center := a.centers[side.body]
		arm := r3.Sub(at, center)
		if carried && !entered {
			arm = rot.MulVec(arm)
		}
		// Of the pose, the rotation of the center of mass, the position and the arm: a few units each.
		allowed := 64 * eps * (norm(at) + norm(center) + norm(a.poses[side.body].Position) + norm(side.arm))
		if off := norm(r3.Sub(arm, side.arm)); !(off <= allowed) {
			return fmt.Sprintf("position %v, %g m from where the arm of the problem from body %d ends",
				c.Position[3*k:3*k+3], off, side.body)
		}
	}
	return ""
}

// featuresOf are the features of a shape.
func (a *ContactPoints) featuresOf(shape int32) (*contact.Features, error) {
	f := a.features[shape]
	if f == nil {
		var err error
		if f, err = contact.NewFeatures(a.scene.Bodies.Library().Shape(shape)); err != nil {
			return nil, err
		}
		a.features[shape] = f
	}
	return f, nil
}

// point audits normal, gap and ID of contact i, which is one of features or of witnesses.
func (a *ContactPoints) point(s *ContactStep, i int, key pairKey) string {
	c, k, lib := s.Contacts, s.First+i, a.scene.Bodies.Library()
	gap, at, n, id := c.Gap[k], triple(c.Position[3*k:]), triple(c.Normal[3*k:]), c.ID[k]
	if length := norm(n); !(math.Abs(length-1) <= 32*eps) {
		return fmt.Sprintf("normal %v of length %.17g", n, length)
	}
	if !(math.Abs(gap) < math.Inf(1)) {
		return fmt.Sprintf("gap %g", gap)
	}
	rot, carried := a.carried(key)
	if carried {
		n = rot.MulVecT(n)
	}
	partA, partB := a.partsOf(key.a)[key.partA], a.partsOf(key.b)[key.partB]
	poseA := a.scene.Bodies.PartPose(a.scene.Body[key.a], int(key.partA), a.poses[key.a])
	poseB := a.scene.Bodies.PartPose(a.scene.Body[key.b], int(key.partB), a.poses[key.b])
	p := &a.pair
	p.place(lib.Shape(partA.Shape), lib.Shape(partB.Shape), &poseA, &poseB)
	rounding := p.rounding + 64*eps*(p.lever(n)+norm(at)+norm(poseA.Position)+norm(poseB.Position))
	tolerance := float64(batch.DoubleCurvedDepthTolerance) // the widest gap of a distance that points are built from
	if polytope(p.shape[0]) && polytope(p.shape[1]) {
		tolerance = batch.DoubleTolerance
	}
	slack := tolerance*p.size + rounding

	// The planes, and the distance that they have to prove.
	plane := math.Inf(-1)
	if p.half < 0 {
		plane = -p.support(n)
	} else if norm(r3.Sub(n, p.halfNormal)) <= 64*eps {
		plane = -p.support(p.halfNormal)
	}
	if a.solved != key {
		pair := ref.NewPair(lib.Shape(partA.Shape), lib.Shape(partB.Shape), poseA, poseB)
		a.solved, a.lower = key, ref.Solve(&pair, ref.Options{}, &a.solver).Lower
	}
	if !(plane >= a.lower-2*slack) {
		return fmt.Sprintf("normal %v, whose planes prove a distance of %g m, where it is at least %g", n, plane,
			a.lower)
	}

	// The points half a gap from the position.
	for side, x := range [2]r3.Vec{r3.Sub(at, r3.Scale(gap/2, n)), r3.Add(at, r3.Scale(gap/2, n))} {
		if out, round := p.member(side, x, eps); !(out <= round+slack) {
			return fmt.Sprintf("gap %g m: its point of part %d of body %d is %g m outside", gap,
				[2]int32{key.partA, key.partB}[side], [2]int32{key.a, key.b}[side], out)
		}
	}
	// A distance and twice its gap from the planes.
	tight := gap-plane >= -slack && gap-plane <= 2*slack
	if contact.Witness(id) {
		if !tight {
			return fmt.Sprintf("gap %g m of the witnesses of the pair, whose distance is %g", gap, plane)
		}
		return ""
	}
	featuresA, errA := a.featuresOf(partA.Shape)
	featuresB, errB := a.featuresOf(partB.Shape)
	if err := errors.Join(errA, errB); err != nil {
		return err.Error()
	}
	named := a.workspace.Named(&contact.Pair{A: featuresA, B: featuresB, PoseA: poseA, PoseB: poseB, Normal: n},
		&contact.Point{Position: at, Gap: gap, ID: id})
	switch {
	case !named.Known:
		return fmt.Sprintf("the ID %x, which names no features of the pair along its normal", id)
	case !(named.Across <= mergedPoints*p.size):
		return fmt.Sprintf("position %v, %g m from the features that the ID %x names", at, named.Across, id)
	case !tight && !(math.Abs(gap-named.Gap) <= 2*named.Round+rounding):
		return fmt.Sprintf("gap %g m, where that of the features is %g", gap, named.Gap)
	}
	return ""
}
