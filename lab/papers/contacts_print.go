package papers

import (
	"fmt"
	"math"
	"slices"

	"clearance/ref"
)

// paperContactTicks are the rows of [AGIMUS2023, Contacts, Table II]: Signorini's condition, Coulomb's law, maximum
// dissipation, no internal forces, robust. Its other columns are not measured here.
var paperContactTicks = map[string][5]bool{
	"lcp-pgs":       {true, false, false, false, false},
	"ccp-pgs":       {false, true, true, false, false},
	"ccp-admm":      {false, true, true, true, true},
	"raisim":        {true, true, false, false, false},
	"ncp-pgs":       {true, true, true, false, false},
	"ncp-staggered": {true, true, true, true, true},
}

// paperTimeSteps and paperTolerances are [AGIMUS2023, Contacts, Tables III and IV], m·s.
var (
	paperTimeSteps = map[string][3]float64{
		"ccp-pgs": {1.6e-3, 1.7e-2, 1.6e-1}, "raisim": {1.5e-3, 1.6e-2, 1.5e-1}, "ncp-pgs": {1.5e-3, 1.6e-2, 1.6e-1},
	}
	paperTolerances = map[string][3]float64{
		"ccp-pgs": {6.7e-7, 4.3e-5, 4.8e-2}, "raisim": {9.0e-8, 4.8e-5, 7.0e-4}, "ncp-pgs": {6.0e-10, 9.9e-8, 5.3e-6},
	}
)

// printContactProperties prints [AGIMUS2023, Contacts, Table II], the ticks beside what was measured.
func (r *Results) printContactProperties() string {
	c := r.Contacts
	var rows [][]string
	for i, s := range ref.ContactSolvers() {
		cells := []string{s.Name}
		measured := []string{"–", "–", "–"}
		for _, slide := range c.Slides {
			if slide.Solver == s.Name && slide.Angle != 0 {
				measured = []string{residual(slide.Signorini), residual(slide.Coulomb), residual(slide.Dissipation)}
			}
		}
		measured = append(measured, residual(c.Pushes[i].Internal), c.robust(s.Name))
		ticks, known := paperContactTicks[s.Name]
		for k, m := range measured {
			switch {
			case !known:
				m = "– " + m
			case ticks[k]:
				m = "✓ " + m
			default:
				m = "✗ " + m
			}
			cells = append(cells, m)
		}
		t := c.Towers[i]
		rows = append(rows, append(cells, fmt.Sprintf("%d of %d", t.Decided, t.Towers)))
	}
	return printTable([]string{"solver", "Signorini", "Coulomb", "dissipation", "internal", "mass ratio", "towers"},
		rows)
}

// residual prints a residual; below 1e-6, which every tolerance here is far below, it counts as none.
func residual(x float64) string {
	if x < 1e-6 {
		return "0"
	}
	return fmt.Sprintf("%.1e", x)
}

// robust is the largest of massRatios up to which a solver ends.
func (o *ContactResults) robust(solver string) string {
	most := "none"
	for _, r := range o.Ratios {
		if r.Solver != solver {
			continue
		}
		if !r.Decided {
			break
		}
		most = fmt.Sprintf("%.0e", r.Ratio)
	}
	return most
}

// printContactSlides prints what Fig. 9 and 10 show.
func (r *Results) printContactSlides() string {
	var rows [][]string
	for _, s := range r.Contacts.Slides {
		rows = append(rows, []string{s.Solver, fmt.Sprintf("%.0f", 1e3*s.Margin),
			fmt.Sprintf("%.0f°", s.Angle*180/math.Pi), fmt.Sprintf("%.1e", s.Energy),
			fmt.Sprintf("%.2f", 1e3*s.Sideways), fmt.Sprintf("%.2f", 1e3*s.Lift),
			fmt.Sprintf("%.3f", s.Way), fmt.Sprint(s.Undecided)})
	}
	return printTable([]string{"solver", "margin, mm", "axes", "energy, J", "sideways, mm", "lift, mm", "way",
		"undecided"}, rows)
}

// printContactPushes prints what Fig. 11 shows.
func (r *Results) printContactPushes() string {
	var rows [][]string
	for _, p := range r.Contacts.Pushes {
		rows = append(rows, []string{p.Solver, fmt.Sprintf("%.3f", p.Slip), residual(p.Internal),
			fmt.Sprintf("%.4f", p.Speed), fmt.Sprint(p.Undecided)})
	}
	return printTable([]string{"solver", "slips at, s", "internal share", "speed at the end, m/s", "undecided"}, rows)
}

// printContactRatios prints what Fig. 12 shows.
func (r *Results) printContactRatios() string {
	header := []string{"solver"}
	for _, m := range massRatios {
		header = append(header, fmt.Sprintf("%.0e", m))
	}
	var rows [][]string
	for list := range slices.Chunk(r.Contacts.Ratios, len(massRatios)) {
		row := []string{list[0].Solver}
		for _, c := range list {
			row = append(row, fmt.Sprintf("%.0e (%d)", c.Residual, c.Iterations))
		}
		rows = append(rows, row)
	}
	return printTable(header, rows)
}

// printContactSteps prints [AGIMUS2023, Contacts, Table III].
func (r *Results) printContactSteps() string {
	return printConsistency(r.Contacts.TimeSteps, "time step, s", paperTimeSteps)
}

// printContactTolerances prints [AGIMUS2023, Contacts, Table IV].
func (r *Results) printContactTolerances() string {
	return printConsistency(r.Contacts.Tolerances, "tolerance", paperTolerances)
}

func printConsistency(list []ContactConsistency, what string, paper map[string][3]float64) string {
	var rows [][]string
	for i, c := range list {
		row := []string{c.Solver, fmt.Sprintf("%.0e", c.Value), "–", fmt.Sprintf("%.1e", c.Error)}
		if p, ok := paper[c.Solver]; ok {
			row[2] = fmt.Sprintf("%.1e", p[i%len(p)])
		}
		if c.Swept > 0 {
			row = append(row, fmt.Sprintf("%.1e", c.Swept))
		}
		rows = append(rows, row)
	}
	header := []string{"solver", what, "paper, m·s", "ours, m·s"}
	if len(rows) > 0 && len(rows[0]) > len(header) {
		header = append(header, "with a sweep in every step")
	}
	return printTable(header, rows)
}

// contactFigures draws [AGIMUS2023, Contacts, Fig. 9 to 12].
func (r *Results) contactFigures() []figure {
	if r.Contacts == nil {
		return nil
	}
	sideways := figure{name: "contacts-fig9", title: "a sliding cube, tangent axes at 37°", x: "time, s",
		y: "way sideways, mm", beside: true}
	energy := figure{name: "contacts-fig10", title: "a sliding cube", x: "time, s", y: "energy, J", beside: true}
	for _, s := range r.Contacts.Slides {
		a := line{name: s.Solver, colorFrom: solverColor(s.Solver)}
		if s.Model() == ref.ContactCCP && s.Margin == 0 {
			a.name, a.dashed = a.name+", no margin", true
		}
		b := a
		for _, c := range s.Curve {
			a.x, a.y = append(a.x, c[0]), append(a.y, 1e3*c[2])
			b.x, b.y = append(b.x, c[0]), append(b.y, c[1])
		}
		if s.Angle != 0 {
			sideways.lines = append(sideways.lines, a)
		} else if slices.Contains(drawnSolvers, s.Solver) {
			energy.lines = append(energy.lines, b)
		}
	}
	speed := figure{name: "contacts-fig11-speed", title: "a cube under a growing force", x: "time, s", y: "speed, m/s",
		beside: true}
	forces := figure{name: "contacts-fig11-forces", title: "a cube under a growing force", x: "time, s",
		y: "friction of the four contacts, N", beside: true}
	for _, p := range r.Contacts.Pushes {
		if !slices.Contains(drawnSolvers, p.Solver) {
			continue
		}
		a := line{name: p.Solver, colorFrom: solverColor(p.Solver)}
		for _, c := range p.Curve {
			a.x, a.y = append(a.x, c[0]), append(a.y, c[1])
		}
		speed.lines = append(speed.lines, a)
		for k := range 4 {
			b := line{name: fmt.Sprintf("%s, %d", p.Solver, k+1), colorFrom: a.colorFrom, x: a.x}
			for _, c := range p.Curve {
				b.y = append(b.y, c[2+k])
			}
			forces.lines = append(forces.lines, b)
		}
	}
	ratio := figure{name: "contacts-fig12", title: "a heavy cube on a light one", x: "ratio of the masses",
		y: "residual", logX: true, logY: true, beside: true}
	for list := range slices.Chunk(r.Contacts.Ratios, len(massRatios)) {
		l := line{name: list[0].Solver, colorFrom: solverColor(list[0].Solver)}
		for _, c := range list {
			l.x, l.y = append(l.x, c.Ratio), append(l.y, max(c.Residual, 1e-16))
		}
		ratio.lines = append(ratio.lines, l)
	}
	return []figure{sideways, energy, speed, forces, ratio}
}

// drawnSolvers are those of Fig. 10 and 11, where all would hide each other.
var drawnSolvers = []string{"lcp-pgs", "ccp-pgs", "ccp-admm", "raisim", "ncp-pgs", "ncp-newton"}

// Model is that of the solver.
func (s *ContactSlide) Model() ref.ContactModel {
	return ref.ContactSolvers()[solverColor(s.Solver)].Model
}

// solverColor is the index of a solver in the table of solvers; 0 if it is not there.
func solverColor(name string) int {
	return max(0, slices.IndexFunc(ref.ContactSolvers(), func(s ref.ContactSolver) bool { return s.Name == name }))
}
