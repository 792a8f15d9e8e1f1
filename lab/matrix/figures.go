package matrix

import (
	"math"

	"clearance/batch"
	"clearance/lab/plots"
)

// Figure is one picture of a report.
type Figure struct {
	Table, Name, Title string
	Draw               func(base string) error
}

// Figures returns the pictures that the points of the report give.
func (r *Report) Figures() []Figure {
	var out []Figure
	add := func(table, name, title string, draw func(string) error) {
		out = append(out, Figure{table, name, title, draw})
	}
	if f := r.regimeBars(); f != nil {
		add(Questions, "throughput-separation", f.Title, f.Draw)
	}
	if f := r.vertexLines(); f != nil {
		add(Questions, "throughput-vertices", f.Title, f.Draw)
	}
	if f := r.threadLines(); f != nil {
		add(Threads, "throughput-threads", f.Title, f.Draw)
	}
	if f := r.sizeLines(); f != nil {
		add(Sizes, "throughput-batch", f.Title, f.Draw)
	}
	return out
}

const rateAxis = "million pairs a second"

func mega(p *Point) float64 { return float64(p.Rate) / 1e6 }

// regimeBars shows signed distances by set and separation on one core.
func (r *Report) regimeBars() *plots.Bars {
	list := filter(r.find(Questions, CPU), func(p *Point) bool {
		return p.Query == batch.Distance.String() &&
			p.Precision == "single"
	})
	if len(list) == 0 {
		return nil
	}
	f := &plots.Bars{Title: "Signed distance on one core, by separation", Y: rateAxis,
		Groups: values(list, func(p *Point) string { return p.Set })}
	for k, regime := range Regimes() {
		s := plots.Series{Name: regime, Color: k}
		for _, set := range f.Groups {
			v := math.NaN()
			for _, p := range list {
				if p.Set == set && p.Regime == regime {
					v = mega(p)
				}
			}
			s.Values = append(s.Values, v)
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// vertexLines shows hulls by their number of vertices on one core.
func (r *Report) vertexLines() *plots.Lines {
	f := &plots.Lines{Title: "Hulls on one core, by vertices", X: "vertices of a hull", Y: rateAxis, LogX: true,
		LogY: true, Beside: true}
	for _, query := range []string{batch.Distance.String(), batch.Collide.String()} {
		for k, regime := range Regimes() {
			l := plots.Line{Name: query + ", " + regime, Color: k, Dashed: query == batch.Collide.String()}
			for _, s := range r.Sets {
				for _, p := range r.find(Questions, CPU) {
					if s.Vertices > 0 && p.Set == s.Name && p.Query == query && p.Regime == regime &&
						p.Precision == "single" {
						l.X, l.Y = append(l.X, s.Vertices), append(l.Y, mega(p))
					}
				}
			}
			if len(l.X) > 1 {
				f.Lines = append(f.Lines, l)
			}
		}
	}
	if len(f.Lines) == 0 {
		return nil
	}
	return f
}

// threadLines shows the gain of more threads, where there are enough of them for a curve.
func (r *Report) threadLines() *plots.Lines {
	f := &plots.Lines{Title: "Signed distance, by threads", X: "threads", Y: rateAxis, LogX: true, LogY: true,
		Beside: true}
	list := filter(r.find(Threads, CPU), func(p *Point) bool { return p.Regime == "close" })
	for k, set := range values(list, func(p *Point) string { return p.Set }) {
		l := plots.Line{Name: set, Color: k}
		for _, p := range list {
			if p.Set == set {
				l.X, l.Y = append(l.X, float64(p.Workers)), append(l.Y, mega(p))
			}
		}
		if len(l.X) > 2 {
			f.Lines = append(f.Lines, l)
		}
	}
	if len(f.Lines) == 0 {
		return nil
	}
	return f
}

// sizeLines shows what a call of so many pairs gives, on every back end.
func (r *Report) sizeLines() *plots.Lines {
	f := &plots.Lines{Title: "Signed distance, close pairs, by pairs of a call", X: "pairs of a call", Y: rateAxis,
		LogX: true, LogY: true, Beside: true}
	for i, d := range r.Devices {
		list := r.find(Sizes, d.Backend)
		name := d.Backend
		if d.Software {
			name += ", emulated"
		}
		for k, s := range r.Sets {
			l := plots.Line{Name: s.Name + ", " + name, Color: k, Dashed: i > 0}
			for _, p := range list {
				if p.Set == s.Name {
					l.X, l.Y = append(l.X, float64(p.Pairs)), append(l.Y, mega(p))
				}
			}
			if len(l.X) > 1 {
				f.Lines = append(f.Lines, l)
			}
		}
	}
	if len(f.Lines) == 0 {
		return nil
	}
	return f
}
