package papers

import (
	"errors"
	"fmt"
	"path/filepath"

	"clearance/ref"
)

// check finds lists that are not of the length of those they stand beside, which the
// tables and figures rely on, and figures whose name would leave their folder.
func (r *Results) check() error {
	var err error
	want := func(have, want int, what string, args ...any) {
		if have != want && err == nil {
			err = fmt.Errorf("%s has %d values, want %d", fmt.Sprintf(what, args...), have, want)
		}
	}
	for i, s := range r.Sweeps {
		if len(s.Methods) == 0 || len(s.Points) == 0 {
			return fmt.Errorf("sweep %d has no methods or no points", i)
		}
		for k, p := range s.Points {
			want(len(p.Iterations), len(s.Methods), "sweep %d, point %d, iterations", i, k)
			want(len(p.Nanoseconds), len(s.Methods), "sweep %d, point %d, ns", i, k)
		}
	}
	for i, m := range r.Meshes {
		for _, n := range []int{len(m.Mean), len(m.SD), len(m.Iterations), len(m.SpeedUp)} {
			want(n, len(m.Methods), "mesh row %d, a list by method,", i)
		}
	}
	for i, g := range r.Generic {
		want(len(g.Mean), len(g.Methods), "generic row %d, ns", i)
		want(len(g.SD), len(g.Methods), "generic row %d, ns_sd", i)
	}
	for i, g := range r.Gear {
		for _, n := range []int{len(g.Last), len(g.Wrong), len(g.Worst)} {
			want(n, len(gearMethods), "gear row %d, a list by method,", i)
		}
	}
	for i, t := range r.SubAlgorithm {
		for _, n := range []int{len(t.Median), len(t.Worst), len(t.Failed)} {
			want(n, len(subAlgorithmList), "sub-algorithm row %d, a list by sub-algorithm,", i)
		}
	}
	if r.RTR != nil {
		want(len(r.RTR.Cells), len(paperRTR)*(len(paperRTR)+1)/2, "rtr, cells")
		for i, d := range r.RTR.Depths {
			want(len(d.Local), len(r.RTR.Starts), "rtr, depth %d, local", i)
			want(len(d.Time), len(r.RTR.Starts), "rtr, depth %d, us", i)
		}
		for i, m := range r.RTR.Meshes {
			if len(m.Vertices) == 0 {
				return fmt.Errorf("rtr, mesh %d has no vertices", i)
			}
			want(len(m.Hull), len(m.Vertices), "rtr, mesh %d, hull_us", i)
		}
	}
	if g := r.Growth; g != nil && (len(g.Times) == 0 || len(g.Vertices) == 0 || len(g.Curves) == 0) {
		return errors.New("growth: a table without rows")
	}
	if d := r.Derivatives; d != nil {
		want(len(d.Targets), len(targetEstimators()), "derivatives, targets")
		for i, t := range d.Targets {
			want(len(t.Quantiles), len(targetStarts), "derivatives, target row %d, quantiles", i)
		}
		for i, c := range d.Causes {
			want(len(c.Quantiles), len(causeEstimators()), "derivatives, cause %d, quantiles", i)
			want(len(c.Solved), len(causeEstimators()), "derivatives, cause %d, solved", i)
		}
	}
	if c := r.Contacts; c != nil {
		solvers := len(ref.ContactSolvers())
		want(len(c.Pushes), solvers, "contacts, pushes")
		want(len(c.Towers), solvers, "contacts, towers")
		want(len(c.Ratios), solvers*len(massRatios), "contacts, ratios")
		want(len(c.TimeSteps), len(consistent)*len(consistentSteps), "contacts, time_steps")
		want(len(c.Tolerances), len(consistent)*len(consistentEnds), "contacts, tolerances")
	}
	if err != nil {
		return err
	}
	for _, f := range r.figures() {
		if f.name != filepath.Base(f.name) {
			return fmt.Errorf("figure %q: shapes and question make no file name", f.name)
		}
	}
	return nil
}
