package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Scatter is a figure of points on two logarithmic axes.
type Scatter struct {
	Title, X, Y string
	LeastY      float64 // smaller values, 0 among them, are drawn here
	Clouds      []Cloud
}

// Cloud is a number of points of one colour and glyph.
type Cloud struct {
	Name  string
	X, Y  []float64
	Color int
}

// glyphs tell clouds apart without colour.
var glyphs = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{},
	draw.RingGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{},
}

// Draw writes the figure to base.svg.
func (f *Scatter) Draw(base string) error {
	p := newPlot(f.Title, f.X, f.Y)
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, powers{}
	p.Add(plotter.NewGrid())
	n := 0
	for k, c := range f.Clouds {
		xy := make(plotter.XYs, len(c.X))
		for i := range xy {
			xy[i].X, xy[i].Y = c.X[i], max(c.Y[i], f.LeastY)
			if !shows(xy[i].X, true) || !shows(xy[i].Y, true) {
				return fmt.Errorf("figure %s: %s has the point (%g, %g), which logarithmic axes cannot show", base,
					c.Name, c.X[i], c.Y[i])
			}
		}
		n += len(xy)
		points, err := plotter.NewScatter(xy)
		if err != nil {
			return fmt.Errorf("figure %s: %s: %w", base, c.Name, err)
		}
		points.GlyphStyle = draw.GlyphStyle{Color: paint(c.Color), Radius: vg.Points(3.5), Shape: glyphs[k%len(glyphs)]}
		p.Add(points)
		p.Legend.Add(c.Name, points)
	}
	if n == 0 {
		return fmt.Errorf("figure %s: %w", base, errEmpty)
	}
	p.X.Min, p.X.Max = p.X.Min/1.3, p.X.Max*1.3
	p.Y.Min, p.Y.Max = f.LeastY/3, p.Y.Max*3
	p.Legend.Padding = vg.Points(3)
	return saveBeside(p, 20*vg.Centimeter, 11*vg.Centimeter, base)
}

// powers labels every second power of ten.
type powers struct{}

// Ticks implements plot.Ticker.
func (powers) Ticks(lo, hi float64) (out []plot.Tick) {
	for e := int(math.Ceil(math.Log10(lo))); float64(e) <= math.Log10(hi); e++ {
		t := plot.Tick{Value: math.Pow(10, float64(e))}
		if e%2 == 0 {
			t.Label = fmt.Sprintf("1e%d", e)
		}
		out = append(out, t)
	}
	return out
}
