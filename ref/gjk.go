package ref

import (
	"gonum.org/v1/gonum/spatial/r3"
)

// GJK finds the distance of the cores with the Gilbert-Johnson-Keerthi algorithm,
// which is fully-corrective Frank-Wolfe on ½‖x‖² [Montaut2022, Alg. 4],
// [Montanari2017, Alg. 1], with the Signed Volumes sub-algorithm [Montanari2017, Alg. 2-5].
//
// If the cores intersect the status is Penetrating (or Undecided, as the depth is
// unknown): [Solve] or [EPA] go on from Result.Simplex.
func GJK(p *Pair, o Options, ws *Workspace) Result { return gjk(p, &o, false, ws) }

// GJKJohnson is [GJK] with Johnson's sub-algorithm and the Backup procedure in
// place of Signed Volumes [Montanari2017, sec. 3.2, eq. 14-19].
func GJKJohnson(p *Pair, o Options, ws *Workspace) Result { return gjk(p, &o, true, ws) }

func gjk(p *Pair, o *Options, johnson bool, ws *Workspace) Result {
	d := ws.descent()
	d.reset(p, o, defaultGJKIterations)
	inside := d.descend(johnson)
	return d.result(inside)
}

// descend runs plain GJK steps from the current state until the question is
// answered, no step brings progress, or the cap is reached. It reports whether
// the cores intersect or cannot be told from touching.
//
// Departures from [Montanari2017, Alg. 1]: the loop stops on certified bounds rather
// than on eq. 10; "w is in the simplex already" and "the norm did not fall" (both
// mean that float64 is exhausted) end it; and a norm within rounding of zero
// replaces eq. 9.
func (d *descent) descend(johnson bool) (inside bool) {
	d.by = StepGJK
	for {
		d.support(d.direction(), true)
		if d.settled() || d.iter >= d.limit {
			return false
		}
		progress, inside := d.project(johnson)
		if inside {
			d.tracedInside()
			return true
		}
		if !progress {
			return d.norm <= d.rounding && !d.separated()
		}
		if d.norm <= d.rounding && !d.separated() {
			return true
		}
	}
}

// Nesterov finds the distance of the cores with Nesterov-accelerated GJK
// [Montaut2022, Alg. 7]. normalize applies Alg. 8 (eq. 30), which non-strictly convex
// shapes need: both terms of the momentum become unit vectors.
func Nesterov(p *Pair, o Options, normalize bool, ws *Workspace) Result {
	return accelerated(p, &o, true, normalize, ws)
}

// Polyak finds the distance of the cores with Polyak-accelerated GJK [AGIMUS2023,
// GJK++, Alg. 6, with yₖ = xₖ]. normalize applies its Alg. 7 to the heavy ball.
func Polyak(p *Pair, o Options, normalize bool, ws *Workspace) Result {
	return accelerated(p, &o, false, normalize, ws)
}

// accelerated is [AGIMUS2023, Alg. 6]. The support direction is a momentum d, a
// running mean of the gradients; once the step along it no longer helps (the
// fixed-point condition [Montaut2022, eq. 29]), the method goes on as plain GJK.
//
// Departures from the paper. ∇f is taken of ½‖x‖², which is x itself; the paper's
// f = ‖x‖² only rescales d. The momentum is dropped as well when a step brings no
// progress, and a plane found along d counts as a separation proof at once.
func accelerated(p *Pair, o *Options, nesterov, normalize bool, ws *Workspace) Result {
	d := ws.descent()
	d.reset(p, o, defaultGJKIterations)
	if length := norm(p.centers()); o.WarmStart != (r3.Vec{}) && length > 0 {
		// Momentum weighs x₀ against later points, in metres: a warm start gives its
		// direction, the centers its length.
		d.x = r3.Scale(length/d.norm, d.x)
		d.norm = length
	}
	inside := d.accelerate(nesterov, normalize)
	return d.result(inside)
}

func (d *descent) accelerate(nesterov, normalize bool) (inside bool) {
	d.by = StepPolyak
	if nesterov {
		d.by = StepNesterov
	}
	dir, last := d.x, d.x // d₋₁ = s₋₁ = x₀
	for k := 0; d.iter < d.limit-1; k++ {
		delta := float64(k+1) / float64(k+3)
		y := d.x
		if nesterov {
			y = r3.Add(r3.Scale(delta, d.x), r3.Scale(1-delta, last))
		}
		if normalize {
			dir = r3.Add(r3.Scale(delta, unit(dir)), r3.Scale(1-delta, unit(y)))
		} else {
			dir = r3.Add(r3.Scale(delta, dir), r3.Scale(1-delta, y))
		}
		if dir == (r3.Vec{}) {
			break
		}
		d.support(dir, false)
		if d.o.Boolean && d.settled() {
			return false
		}
		if d.o.HasCutOff && d.s.N > 0 && d.best-d.rounding-d.p.Radius > d.o.CutOff {
			break // the plain method proves it again along x, where the witnesses are
		}
		// Fixed-point condition: g(x) = 2<x, x − s> ≤ ε.
		if d.s.N > 0 && d.fixedPoint() {
			break
		}
		s := d.latest().W
		progress, in := d.project(false)
		if in {
			d.tracedInside()
			return true
		}
		if !progress {
			break
		}
		if d.norm <= d.rounding && !d.separated() {
			return true
		}
		last = s
	}
	return d.descend(false)
}

// fixedPoint is the criterion g ≤ ε of [Montaut2022, eq. 29], with ε in m² under
// [StopDuality] and as a bound on the distance itself under [StopGap].
func (d *descent) fixedPoint() bool {
	g := d.norm*d.norm - r3.Dot(d.x, d.latest().W)
	if d.o.StopRule == StopDuality {
		return 2*g <= d.o.Tolerance
	}
	return g <= d.stop*d.norm
}
