package plots

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Extension is that of the files of figures.
const Extension = ".svg"

// colors tell series apart for readers with any kind of colour vision: six of Okabe and
// Ito (2008), a grey, and the wine of Tol (2021).
var colors = []color.RGBA{
	{R: 0, G: 114, B: 178, A: 255}, {R: 213, G: 94, B: 0, A: 255}, {R: 0, G: 158, B: 115, A: 255},
	{R: 204, G: 121, B: 167, A: 255}, {R: 230, G: 159, B: 0, A: 255}, {R: 86, G: 180, B: 233, A: 255},
	{R: 90, G: 90, B: 90, A: 255}, {R: 136, G: 34, B: 85, A: 255},
}

func paint(i int) color.RGBA { return colors[i%len(colors)] }

// errEmpty is the error of a figure without anything to draw.
var errEmpty = errors.New("nothing to draw")

// Lines is a figure of curves.
type Lines struct {
	Title, X, Y string
	LogX, LogY  bool
	Ticks       plot.Ticker // of the x axis; nil for plain numbers
	Beside      bool        // the legend stands right of the plot, not in its corner
	Lines       []Line
}

// Line is a curve with a band around it; Lo and Hi may be nil.
type Line struct {
	Name   string
	X, Y   []float64
	Lo, Hi []float64
	Dashed bool
	Color  int // index of its colour, so that the same thing looks alike in every figure
}

// floor is what is drawn for zero, which has no logarithm.
const floor = 1e-17

// most is the largest absolute value that an axis shows, and one over it the least that a
// logarithmic one does: there is room for margins beyond it.
const most = 1e300

// shows reports whether an axis can show v.
func shows(v float64, log bool) bool {
	return math.Abs(v) <= most && (!log || v >= 1/most)
}

// widen makes room around an axis of one value alone. The plotter would subtract 1, which
// leads a logarithmic axis to 0 or below, and changes nothing of a large value.
func widen(a *plot.Axis, log bool) {
	switch {
	case a.Min != a.Max:
	case log:
		a.Min, a.Max = a.Min/2, a.Max*2
	default:
		d := max(1, math.Abs(a.Min)/1000)
		a.Min, a.Max = a.Min-d, a.Max+d
	}
}

// Draw writes the figure to base.svg.
func (f *Lines) Draw(base string) error {
	if len(f.Lines) == 0 {
		return fmt.Errorf("figure %s: %w", base, errEmpty)
	}
	p := newPlot(f.Title, f.X, f.Y)
	p.Add(plotter.NewGrid())
	least := math.Inf(-1)
	if f.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 0}
		least = floor
	}
	if f.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
		if f.LogY {
			p.Y.Tick.Marker = decades{}
		}
	}
	if f.Ticks != nil {
		p.X.Tick.Marker = f.Ticks
	}
	for _, l := range f.Lines {
		if err := addLine(p, &l, least, f.LogX); err != nil {
			return fmt.Errorf("figure %s: %w", base, err)
		}
	}
	widen(&p.X, f.LogX)
	widen(&p.Y, f.LogY)
	p.Legend.ThumbnailWidth = vg.Points(24)
	p.Legend.Padding = vg.Points(3)
	if f.Beside {
		return saveBeside(p, 18*vg.Centimeter, 10*vg.Centimeter, base)
	}
	if err := p.Save(16*vg.Centimeter, 10*vg.Centimeter, base+Extension); err != nil {
		return fmt.Errorf("figure %s: %w", base, err)
	}
	return nil
}

func addLine(p *plot.Plot, l *Line, least float64, logX bool) error {
	for i, x := range l.X {
		if !shows(x, logX) || !shows(max(l.Y[i], least), false) {
			return fmt.Errorf("line %s has the point (%g, %g), which the axes cannot show", l.Name, x, l.Y[i])
		}
		if l.Lo != nil && !(shows(max(l.Lo[i], least), false) && shows(max(l.Hi[i], least), false)) {
			return fmt.Errorf("line %s has the band from %g to %g, which the axis cannot show", l.Name, l.Lo[i],
				l.Hi[i])
		}
	}
	c := paint(l.Color)
	points := func(y []float64) plotter.XYs {
		xy := make(plotter.XYs, len(l.X))
		for i := range xy {
			xy[i].X, xy[i].Y = l.X[i], max(y[i], least)
		}
		return xy
	}
	if l.Lo != nil {
		outline, back := points(l.Lo), points(l.Hi)
		for i := len(back) - 1; i >= 0; i-- {
			outline = append(outline, back[i])
		}
		band, err := plotter.NewPolygon(outline)
		if err != nil {
			return err
		}
		band.Color = color.NRGBA{R: c.R, G: c.G, B: c.B, A: 36}
		band.LineStyle.Width = 0
		p.Add(band)
	}
	curve, err := plotter.NewLine(points(l.Y))
	if err != nil {
		return err
	}
	curve.Color, curve.Width = c, vg.Points(1.5)
	if l.Dashed {
		curve.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	}
	p.Add(curve)
	if l.Name != "" {
		p.Legend.Add(l.Name, curve)
	}
	return nil
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Legend.Top = true
	return p
}

// saveBeside writes the plot with its legend to the right of it.
func saveBeside(p *plot.Plot, width, height vg.Length, base string) error {
	legend := p.Legend
	p.Legend = plot.NewLegend()
	p.Title.Padding = vg.Points(6)
	legend.Top = true
	canvas, err := draw.NewFormattedCanvas(width, height, strings.TrimPrefix(Extension, "."))
	if err != nil {
		return fmt.Errorf("figure %s: %w", base, err)
	}
	c := draw.New(canvas)
	c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
	room := legend.Rectangle(c).Size().X + vg.Points(8)
	p.Draw(draw.Crop(c, vg.Points(2), -room, vg.Points(2), -vg.Points(4)))
	legend.Draw(draw.Crop(c, 0, -vg.Points(4), 0, -vg.Points(24)))
	if err := writeCanvas(base+Extension, canvas); err != nil {
		return fmt.Errorf("figure %s: %w", base, err)
	}
	return nil
}

func writeCanvas(path string, canvas io.WriterTo) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = canvas.WriteTo(f)
	return errors.Join(err, f.Close())
}
