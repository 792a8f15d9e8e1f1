package adjoint

import (
	"clearance/contact"
	"clearance/derive"

	"gonum.org/v1/gonum/spatial/r3"
)

// The derivative of the contact points of a pair with respect to the poses of both shapes.
//
// A manifold is a function of the poses, of the normal, and where points lie at the witnesses of the distance and the
// witnesses; features are fixed. Package contact has the derivative of the points for a fixed normal, package derive
// that of the normal, the distance and the witnesses. Normals between parallel features, which the latter leaves out
// because the witnesses are not unique, rotate with the body of the face that determines them.

// PairCotangent is the gradient of a scalar with respect to a manifold: its normal, positions and gaps of its points.
// That of the normal counts by its part orthogonal to the normal.
type PairCotangent = contact.ManifoldCotangent

// PairWorkspace is the memory of derivatives of pairs. The zero value is ready. It belongs to one goroutine.
type PairWorkspace struct {
	points contact.Workspace
	derive derive.Workspace
	g      contact.PointsGradient
	row    derive.Row
	d      derive.Derivative
}

// VJP returns the vector-Jacobian product of a manifold, as [contact.Workspace.Build] made it of the pair: the
// gradients with respect to the twists of both poses (velocity of the position, angular velocity, world axes) of a
// scalar whose gradient with respect to the manifold is bar.
//
// The gradient is that of a differentiable function where smoothness is [derive.Smooth] or [derive.UniqueFeatures].
// Elsewhere the manifold has different derivatives in different directions, or none; of what is not determined, points
// move and the normal rotates with the mean of both bodies.
func (w *PairWorkspace) VJP(p *contact.Pair, m *contact.Manifold, bar *PairCotangent) (a, b [6]float64,
	smoothness derive.Smoothness) {
	g := &w.g
	w.points.PointsVJP(p, m, bar, g)
	a, b = g.A, g.B
	normal := r3.Add(g.Normal, bar.Normal)
	smoothness = w.normalVJP(p, normal, &a, &b)
	if g.OneSided && smoothness.Full() {
		smoothness = derive.NotUnique
	}
	return a, b, smoothness
}

// normalVJP adds the product of the normal, and of the distance and the witnesses where points lie there.
func (w *PairWorkspace) normalVJP(p *contact.Pair, normal r3.Vec, a, b *[6]float64) derive.Smoothness {
	g := &w.g
	if !g.AtWitnesses && (g.Certain || g.Parallel) {
		g.NormalVJP(p.Normal, normal, a, b)
		switch {
		case g.Rule == contact.Centers:
			return derive.Smooth
		case g.Certain:
			return derive.UniqueFeatures
		}
		return derive.NotUnique
	}
	w.row = derive.Row{A: p.A.Shape(), B: p.B.Shape(), PoseA: p.PoseA, PoseB: p.PoseB, Answered: true,
		Value: p.Distance, Gap: p.Gap, Normal: p.Normal, WitnessA: p.WitnessA, WitnessB: p.WitnessB}
	w.derive.ExactInto(&w.row, &w.d)
	smoothness := w.d.Smoothness()
	if smoothness.Full() {
		twists := w.d.VJP(&derive.Cotangent{Value: g.Distance, Normal: normal, WitnessA: g.WitnessA,
			WitnessB: g.WitnessB})
		for i := range a {
			a[i] += twists[i]
			b[i] += twists[6+i]
		}
		return smoothness
	}
	if g.AtWitnesses {
		middle := r3.Scale(0.5, r3.Add(p.WitnessA, p.WitnessB))
		along := r3.Scale(g.Distance, p.Normal)
		push(a, r3.Sub(g.WitnessA, along), r3.Sub(middle, p.PoseA.Position))
		push(b, r3.Add(g.WitnessB, along), r3.Sub(middle, p.PoseB.Position))
	}
	g.NormalVJP(p.Normal, normal, a, b)
	return smoothness
}

// push adds the wrench of a force at an arm.
func push(g *[6]float64, force, arm r3.Vec) {
	t := r3.Cross(arm, force)
	g[0] += force.X
	g[1] += force.Y
	g[2] += force.Z
	g[3] += t.X
	g[4] += t.Y
	g[5] += t.Z
}
