package papers

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"clearance/lab/plots"

	"gonum.org/v1/plot"
)

// figure is one picture, drawn as NAME.svg.
type figure struct {
	name, title string
	x, y        string
	logX, logY  bool
	beside      bool        // the legend stands right of the plot
	ticks       plot.Ticker // of the x axis; nil for plain numbers
	lines       []line
	bars        *plots.Bars // in place of lines
}

// line is a curve with a band around it; lo and hi may be nil.
type line struct {
	name      string
	x, y      []float64
	lo, hi    []float64
	dashed    bool
	colorFrom int // index of its colour, so that a method looks alike in every figure
}

var methodColors = map[string]int{
	"gjk": 0, "nesterov": 1, "nesterov-normalized": 2, "polyak": 3, "polyak-normalized": 4, "frank-wolfe": 5,
}

// draw writes the figure into dir.
func (f *figure) draw(dir string) error {
	if f.bars != nil {
		b := *f.bars
		b.Title, b.Y = f.title, f.y
		return b.Draw(filepath.Join(dir, f.name))
	}
	p := plots.Lines{Title: f.title, X: f.x, Y: f.y, LogX: f.logX, LogY: f.logY, Ticks: f.ticks, Beside: f.beside}
	for _, l := range f.lines {
		p.Lines = append(p.Lines, plots.Line{Name: l.name, X: l.x, Y: l.y, Lo: l.lo, Hi: l.hi, Dashed: l.dashed,
			Color: l.colorFrom})
	}
	return p.Draw(filepath.Join(dir, f.name))
}

// figures returns the pictures of the results that are there.
func (r *Results) figures() []figure {
	var out []figure
	for _, s := range r.Sweeps {
		shape := "ellipsoids"
		if s.Shapes != shape {
			shape = "hulls"
		}
		// The page shows counts of ellipsoids and times of hulls.
		f := figure{
			name: shape + "-" + s.Question + "-iterations", title: s.Shapes + ", " + s.Question,
			x: "signed distance, m", y: "iterations, mean and standard deviation", ticks: distanceTicks{},
		}
		counts := shape == "ellipsoids"
		if !counts {
			f.name, f.y = shape+"-"+s.Question+"-time", "time per pair, µs, median of rounds"
		}
		for i, m := range s.Methods {
			l := line{name: m, colorFrom: methodColors[m]}
			for _, p := range s.Points {
				l.x = append(l.x, distanceAxis(p.Distance))
				if v := p.Iterations[i]; counts {
					l.y = append(l.y, v.Mean)
					l.lo, l.hi = append(l.lo, max(v.Mean-v.SD, 0)), append(l.hi, v.Mean+v.SD)
				} else {
					l.y = append(l.y, p.Nanoseconds[i]/1e3)
				}
			}
			f.lines = append(f.lines, l)
		}
		out = append(out, f)
	}
	byShape := map[string]*figure{}
	var order []string
	for _, c := range r.Convergence {
		f := byShape[c.Shapes]
		if f == nil {
			f = &figure{
				name: "convergence-" + c.Shapes, title: c.Shapes + " 0 to 0.1 m apart", x: "support points asked for",
				y: "distance less the true one, m, quartiles", logY: true,
			}
			byShape[c.Shapes] = f
			order = append(order, c.Shapes)
		}
		l := line{name: c.Method, colorFrom: methodColors[c.Method]}
		for k, e := range c.Error {
			l.x, l.y = append(l.x, float64(k+1)), append(l.y, e[1])
			l.lo, l.hi = append(l.lo, e[0]), append(l.hi, e[2])
		}
		f.lines = append(f.lines, l)
	}
	for _, s := range order {
		out = append(out, *byShape[s])
	}
	return slices.Concat(out, r.rtrFigures(), r.growthFigures(), r.derivativeFigures(), r.contactFigures())
}

// emptyBars is n bars that are not there.
func emptyBars(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}

// distanceAxis spreads the distances around zero: linear below a millimetre, logarithmic
// above.
func distanceAxis(d float64) float64 { return math.Asinh(d / 1e-3) }

// distanceTicks labels the axis of distanceAxis.
type distanceTicks struct{}

func (distanceTicks) Ticks(lo, hi float64) []plot.Tick {
	var out []plot.Tick
	for _, d := range []float64{-0.1, -0.01, -0.001, 0, 0.001, 0.01, 0.1, 1} {
		if x := distanceAxis(d); x >= lo && x <= hi {
			out = append(out, plot.Tick{Value: x, Label: fmt.Sprint(d)})
		}
	}
	return out
}
