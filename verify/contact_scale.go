package verify

import (
	"math"

	"clearance/contact"

	"gonum.org/v1/gonum/spatial/r3"
)

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
