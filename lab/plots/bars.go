package plots

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars is a figure of groups of bars on a logarithmic axis.
type Bars struct {
	Title, Y string
	Groups   []string // names below the axis
	Series   []Series // the bars of each group, from left to right
}

// Series is one bar in each group; NaN leaves its place empty.
type Series struct {
	Name   string
	Values []float64 // above 0
	Color  int
	Label  bool // write the value above the bar
}

// mostGroups bounds the width of a figure, which grows with its groups.
const mostGroups = 100

// Draw writes the figure to base.svg.
func (f *Bars) Draw(base string) error {
	if len(f.Groups) > mostGroups {
		return fmt.Errorf("figure %s: %d groups of bars, want %d or fewer", base, len(f.Groups), mostGroups)
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range f.Series {
		if len(s.Values) != len(f.Groups) {
			return fmt.Errorf("figure %s: series %s has %d values for %d groups", base, s.Name, len(s.Values),
				len(f.Groups))
		}
		for _, v := range s.Values {
			if math.IsNaN(v) {
				continue
			}
			if !shows(v, true) {
				return fmt.Errorf("figure %s: series %s has the value %g, which a logarithmic axis cannot show", base,
					s.Name, v)
			}
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if math.IsInf(lo, 1) {
		return fmt.Errorf("figure %s: %w", base, errEmpty)
	}
	p := newPlot(f.Title, "", f.Y)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	// Bars begin below the least value, so that it is seen as well; room for labels above.
	p.Y.Min, p.Y.Max = lo/1.5, hi*1.3
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	p.Add(grid)
	names := make([]plot.Tick, len(f.Groups))
	for i, g := range f.Groups {
		names[i] = plot.Tick{Value: float64(i), Label: g}
	}
	p.X.Tick.Marker, p.X.Tick.Length = plot.ConstantTicks(names), 0
	p.X.Min, p.X.Max = -0.5, float64(len(f.Groups))-0.5
	const share = 0.84 // of a group that is bars
	width := share / float64(len(f.Series))
	for k, s := range f.Series {
		b := &bars{values: s.Values, offset: -share/2 + float64(k)*width, width: width, color: paint(s.Color)}
		if s.Label {
			b.style = label()
		}
		p.Add(b)
		p.Legend.Add(s.Name, b)
	}
	p.Legend.Padding = vg.Points(2)
	return saveBeside(p, max(16, 4+vg.Length(len(f.Groups))*2.9)*vg.Centimeter, 10*vg.Centimeter, base)
}

// label is the style of values above bars and of names beside points.
func label() *text.Style {
	return &text.Style{
		Color: color.Black, Font: font.From(plot.DefaultFont, 8), Handler: plot.DefaultTextHandler,
		XAlign: text.XCenter, YAlign: text.YBottom,
	}
}

// bars draws one series.
type bars struct {
	values        []float64
	offset, width float64 // in groups
	color         color.Color
	style         *text.Style // nil for no labels
}

// Plot implements plot.Plotter.
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, v := range b.values {
		if math.IsNaN(v) {
			continue
		}
		left, right := x(float64(i)+b.offset), x(float64(i)+b.offset+b.width)
		bottom, top := y(p.Y.Min), y(v)
		c.FillPolygon(b.color, []vg.Point{{X: left, Y: bottom}, {X: left, Y: top}, {X: right, Y: top},
			{X: right, Y: bottom}})
		if b.style != nil {
			c.FillText(*b.style, vg.Point{X: (left + right) / 2, Y: top + vg.Points(1)}, fmt.Sprintf("%.2g", v))
		}
	}
}

// Thumbnail implements plot.Thumbnailer.
func (b *bars) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(b.color, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
}

// decades labels 1, 2 and 5 times the powers of ten, or the powers alone where there
// are many, and puts small ticks between.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(lo, hi float64) (out []plot.Tick) {
	many := hi/lo > 1e4
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, e)
			if v < lo || v > hi {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || !many && (m == 2 || m == 5) {
				t.Label = tickText(m, int(e))
			}
			out = append(out, t)
		}
	}
	return out
}

// tickText writes m·10^e, in full where that is short.
func tickText(m float64, e int) string {
	if e < -3 || e > 3 {
		return fmt.Sprintf("%ge%d", m, e)
	}
	return fmt.Sprintf("%.4g", m*math.Pow(10, float64(e)))
}
