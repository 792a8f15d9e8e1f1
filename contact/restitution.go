package contact

// Restitution that creates no energy.
//
// Newton's law asks for the normal velocity −e·c_N after an impact. With friction it may create energy: friction does
// work on what the normal impulse sets in motion. The bounded law scales the velocities that the impacts of a group of
// bodies ask for by one factor, so that the kinetic energy of the group does not rise. A group is bodies that are
// joined by impulses. With v⁺ = v_f + M⁻¹Jᵀλ its energy changes by
//
//	E(v⁺) − E(v_f) = ½λᵀ(c⁺ + c_f) + the work of bodies that do not move,
//
// where c are the relative velocities of the contacts. At the factor 0 impacts are inelastic, and it falls: λᵀc⁺ ≤ 0,
// and ½λᵀ(c_f − c⁺) = −½λᵀJM⁻¹Jᵀλ. So there is a largest factor in [0, 1] for which it does not rise; the search ends
// at one that is below it by about 1 % of what it takes away.
//
// The velocity that an [entry] asks for is scaled too, whatever the restitution. Its points may then enter again, which
// makes new entries, and the world is stepped in parts or left as it is. In the least parts of a step a pair may creep
// deeper instead, see [partPair.allowed]: no entry does work so that a world advances.

import (
	"math"

	"clearance/batch"

	"gonum.org/v1/gonum/spatial/r3"
)

// A RestitutionLaw says which normal velocities impacts ask for.
type RestitutionLaw uint8

const (
	// BoundedRestitution is Newton's law, −e·c_N, scaled for the bodies of an impact so that their kinetic energy does
	// not rise above that before the step or without contacts.
	BoundedRestitution RestitutionLaw = iota
	// NewtonRestitution is Newton's law, which may create energy where there is friction.
	NewtonRestitution
)

// RestitutionLaws are the names of the laws.
var RestitutionLaws = batch.Names[RestitutionLaw]{What: "law of restitution", List: []string{
	BoundedRestitution: "bounded", NewtonRestitution: "newton"}}

func (l RestitutionLaw) String() string { return RestitutionLaws.Name(l) }

const (
	// energyRise is the share of the energies of the impacts of a step by which rounding and the search may let them
	// rise. A part has its share by its length, in a 1024th 1e-13; rounding is some units of 2⁻⁵³ of the energies.
	energyRise = 1e-10
	// mostBounceSolves is the number of solves of a step after which impacts are inelastic; 2 to 4 are usual.
	mostBounceSolves = 12
)

// bounce is the factor of the impacts of a body, and what the last one led to.
type bounce struct {
	factor, lastFactor float64
	lastExcess         float64 // NaN of the first solve
}

// impactGroup is a group of bodies that are joined by impulses.
type impactGroup struct {
	excess, size, slope float64
	before, free        float64 // kinetic energies
}

// startBounces makes the factors of all bodies, which are 1.
func (s *Simulation) startBounces() {
	s.bounces, s.bounceSolves = nil, nil
	if s.o.Restitution != BoundedRestitution {
		return
	}
	s.bounces = make([]bounce, len(s.bodies))
	s.bounceSolves = make([]int32, len(s.idle))
	for k := range s.bounces {
		s.bounces[k] = unscaled
	}
}

// unscaled is the state of a body before the first solve.
var unscaled = bounce{factor: 1, lastExcess: math.NaN()}

// resetBounces begins a step of a world. The factors are 1 if no solve has lowered them.
func (s *Simulation) resetBounces(w int) {
	if s.bounces == nil || s.bounceSolves[w] == 0 {
		return
	}
	for b := range s.scene.Body {
		s.bounces[w*len(s.scene.Body)+b] = unscaled
	}
	s.bounceSolves[w] = 0
}

// impact returns the velocity that contact i of a world asks for at the factor 1 and the speed of approach before the
// step, or zeros if it is no impact. A contact of the pair's own is one if its target is that of Newton's law, scaled
// by the factor; an entry (see [entry]) is one if its target parts its bodies.
func (s *Simulation) impact(w, i int, factor float64) (asked, closing float64) {
	p, c := &s.problem, w*s.problem.Contacts+i
	pair := &s.pairs[s.ids[s.contactsOf(w, 1-s.side[w])+i].pair]
	entered := i - (int(p.Count[w]) - len(s.entries[w])) // entries come last
	if !(p.Target[c] > 0) || !(pair.restitution > 0) && entered < 0 {
		return 0, 0
	}
	a, b := s.bodiesOf(w, pair)
	approach := speedBefore(a, b, vecOf(p.Frame[9*c+6:]), vecOf(p.ArmA[3*c:]), vecOf(p.ArmB[3*c:]))
	if entered >= 0 {
		return s.entries[w][entered].target, -approach
	}
	if !(approach < 0) {
		return 0, 0
	}
	asked = -pair.restitution * approach
	terms := approachTerms(a, b, vecOf(p.Frame[9*c+6:]), vecOf(p.ArmA[3*c:]), vecOf(p.ArmB[3*c:]))
	if math.Abs(p.Target[c]-factor*asked) <= approachRounding*pair.restitution*terms {
		return asked, -approach
	}
	return 0, 0
}

// approachRounding bounds the difference of two evaluations of [speedBefore], with or without contracted products and
// sums, relative to the sum of the absolute values of its terms: each term passes 8 roundings at most in either, and
// the factors of a target 2, of 2⁻⁵³. So the bound holds at every speed, also where a small approach is left of large
// velocities that cancel.
const approachRounding = 0x1p-48

// approachTerms is the sum of the absolute values of the terms of [speedBefore].
func approachTerms(a, b *bodyState, n, armA, armB r3.Vec) float64 {
	terms := func(body *bodyState, arm r3.Vec) float64 {
		v, w, r := absVec(body.velocity), absVec(body.spin), absVec(arm)
		return dotVec(absVec(n), r3.Vec{X: v.X + w.Y*r.Z + w.Z*r.Y, Y: v.Y + w.Z*r.X + w.X*r.Z,
			Z: v.Z + w.X*r.Y + w.Y*r.X})
	}
	return terms(a, armA) + terms(b, armB)
}

func absVec(v r3.Vec) r3.Vec { return r3.Vec{X: math.Abs(v.X), Y: math.Abs(v.Y), Z: math.Abs(v.Z)} }

// factorOf is that of the bodies of contact c of all.
func (s *Simulation) factorOf(w, c int) float64 {
	factor, first := 1.0, w*len(s.scene.Body)
	for _, b := range [2]int32{s.problem.BodyA[c], s.problem.BodyB[c]} {
		if s.scene.movable(b) {
			factor = min(factor, s.bounces[first+int(b)].factor)
		}
	}
	return factor
}

// scaleBounces scales the targets of the impacts of a world that is solved again.
func (s *Simulation) scaleBounces(w int) {
	if s.bounces == nil || s.bounceSolves[w] == 0 {
		return
	}
	for i := range int(s.problem.Count[w]) {
		c := w*s.problem.Contacts + i
		if f := s.factorOf(w, c); f < 1 {
			if asked, _ := s.impact(w, i, 1); asked > 0 {
				s.problem.Target[c] = f * asked
			}
		}
	}
}

// gainsEnergy lowers the factors of the groups of a world whose impacts create energy, and reports whether there are
// any. The world is solved again then.
func (s *Simulation) gainsEnergy(worker *stepWorker, w int) (gains bool) {
	if s.bounces == nil || s.bounceSolves[w] >= mostBounceSolves || !s.hasImpact(w) {
		return false
	}
	roots, groups := s.impactGroups(worker, w)
	first := w * len(s.scene.Body)
	rise := math.Ldexp(energyRise, -s.halvings)
	for b, root := range roots {
		g, k := &groups[root], &s.bounces[first+b]
		if !(g.slope > 0) || !(g.excess > rise*g.size) {
			continue
		}
		gains = true
		next := k.nextFactor(g)
		if s.bounceSolves[w] >= mostBounceSolves-2 || !(next < k.factor) {
			next = 0
		}
		*k = bounce{factor: next, lastFactor: k.factor, lastExcess: g.excess}
	}
	if gains {
		s.bounceSolves[w]++
	}
	return gains
}

// nextFactor is a factor a little below the largest one by which a group gains no energy, so that the search ends: by a
// tangent or a secant of the energy. Those are too slow for a much smaller factor, which is found as if the energy were
// Af² + B, as that of one impact without friction is.
func (k *bounce) nextFactor(g *impactGroup) float64 {
	slope := g.slope
	if secant := (k.lastExcess - g.excess) / (k.lastFactor - k.factor); secant > 0 {
		slope = secant
	}
	if next := k.factor - 1.01*g.excess/slope; next > 0.75*k.factor {
		return next
	}
	square := k.factor * k.factor
	curve := g.slope / (2 * k.factor)
	if secant := (k.lastExcess - g.excess) / (k.lastFactor*k.lastFactor - square); secant > 0 {
		curve = secant
	}
	return 0.98 * math.Sqrt(max(0, square-g.excess/curve))
}

func (s *Simulation) hasImpact(w int) bool {
	for i := range int(s.problem.Count[w]) {
		c := w*s.problem.Contacts + i
		if !(s.problem.Target[c] > 0) { // most contacts
			continue
		}
		if asked, _ := s.impact(w, i, s.factorOf(w, c)); asked > 0 {
			return true
		}
	}
	return false
}

// impactGroups finds the group of each body of a world, and the energy that each group gains.
func (s *Simulation) impactGroups(worker *stepWorker, w int) (roots []int32, groups []impactGroup) {
	p, bodies := &s.problem, len(s.scene.Body)
	resize(&worker.roots, bodies)
	resize(&worker.groups, bodies)
	roots, groups = worker.roots, worker.groups
	for b := range roots {
		roots[b], groups[b] = int32(b), impactGroup{}
	}
	find := func(b int32) int32 {
		for roots[b] != b {
			roots[b] = roots[roots[b]]
			b = roots[b]
		}
		return b
	}
	count := int(p.Count[w])
	for i := range count {
		c := w*p.Contacts + i
		a, b := p.BodyA[c], p.BodyB[c]
		if s.scene.movable(a) && s.scene.movable(b) && vecOf(s.solution.Impulse[3*c:]) != (r3.Vec{}) {
			ra, rb := find(a), find(b)
			roots[max(ra, rb)] = min(ra, rb)
		}
	}
	for b := range int32(bodies) {
		roots[b] = find(b)
		if k := w*bodies + int(b); s.scene.movable(b) {
			g := &groups[roots[b]]
			kinetic := func(v, spin r3.Vec) float64 {
				return 0.5*p.Mass[k]*dotVec(v, v) + 0.5*dotVec(spin, (*sym3)(p.Inertia[6*k:]).Mul(spin))
			}
			g.before += kinetic(s.bodies[k].velocity, s.bodies[k].spin)
			g.free += kinetic(vecOf(p.Velocity[6*k:]), vecOf(p.Velocity[6*k+3:]))
		}
	}
	for i := range count {
		s.addImpact(w, i, roots, groups)
	}
	for b := range groups {
		g := &groups[b]
		g.excess += min(0, g.free-g.before)
		g.size += g.free + g.before
	}
	return roots, groups
}

// addImpact adds the energy of contact i of a world to that of its group.
func (s *Simulation) addImpact(w, i int, roots []int32, groups []impactGroup) {
	p, c := &s.problem, w*s.problem.Contacts+i
	l := vecOf(s.solution.Impulse[3*c:])
	if l == (r3.Vec{}) {
		return
	}
	root := roots[p.BodyB[c]]
	if !s.scene.movable(p.BodyB[c]) {
		root = roots[p.BodyA[c]]
	}
	g, q := &groups[root], frameRows(p.Frame[9*c:])
	world := addScaled(addScaled(r3.Scale(l.X, q[0]), l.Y, q[1]), l.Z, q[2])
	relative := func(velocity []float64) r3.Vec {
		of := func(body int32, arm []float64) r3.Vec {
			v := velocity[6*(w*len(s.scene.Body)+int(body)):]
			return r3.Add(vecOf(v), r3.Cross(vecOf(v[3:]), vecOf(arm)))
		}
		return r3.Sub(of(p.BodyB[c], p.ArmB[3*c:]), of(p.BodyA[c], p.ArmA[3*c:]))
	}
	work := 0.5 * dotVec(world, r3.Add(relative(s.solution.Velocity), relative(p.Velocity)))
	g.excess += work
	g.size += math.Abs(work)
	if asked, closing := s.impact(w, i, s.factorOf(w, c)); asked > 0 {
		// d(½λᵀ(c⁺ + c_f)) = c*·dλ, where dλ = λ/(c* − c_f)·dc* of one contact. An entry may ask for an impulse of
		// bodies that part: other impulses make them approach.
		target := p.Target[c]
		g.slope += l.Z * asked * target / (target + max(closing, 0))
	} else if p.Target[c] > 0 { // the recovery of a penetration may do work
		g.excess -= l.Z * p.Target[c]
	}
}
