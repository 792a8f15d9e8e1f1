package ref

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
		if d.settled() || d.iter >= d.cap {
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
