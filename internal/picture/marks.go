package picture

import (
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/internal/camera"
	"clearance/internal/scenefile"
)

// A mark is a distance that a picture shows: a segment between witnesses.
type mark struct {
	from, to r3.Vec
	color    [3]float64
	label    string
	state    state
	items    [2]int // of the picture, -1 for none
	drawn    bool   // whether there are witnesses
}

var markColors = [...][3]float64{apart: separatedColor, contact: contactColor, unanswered: unansweredColor}

// mostLabels is the number of rows of a picture beyond which distances have no labels.
const mostLabels = 12

// marks are those of the rows of the world at a time, or of the one row of a pair, and the further segments.
func (s *scene) marks(o *Options, time float64) (out []mark) {
	rows := &s.doc.Rows
	var chosen []int
	for i := range rows.Count {
		switch {
		case len(rows.World) == 0 || rows.World[o.Row] < 0:
			if i != o.Row {
				continue
			}
		case rows.World[i] != rows.World[o.Row]:
			continue
		case len(rows.Time) > 0 && !(math.Abs(rows.Time[i]-time) <= 1e-9*(1+math.Abs(time))):
			continue
		}
		chosen = append(chosen, i)
	}
	if o.NoMarks {
		chosen = nil
	}
	for _, i := range chosen {
		m := mark{items: [2]int{0, 1}}
		if len(rows.PlaceA) > 0 && len(rows.World) > 0 {
			m.items = [2]int{int(rows.PlaceA[i]), int(rows.PlaceB[i])}
		} else if s.world(i) != nil {
			m.items = [2]int{-1, -1}
		}
		switch status := s.doc.Statuses[rows.Status[i]]; {
		case scenefile.Contact(status):
			m.state = contact
		case scenefile.Unanswered(status):
			m.state = unanswered
		}
		m.color = markColors[m.state]
		m.from, m.to = three(rows.WitnessA, i), three(rows.WitnessB, i)
		m.drawn = finite(m.from) && finite(m.to)
		if s.doc.Value != "distance" {
			m.drawn = false
		}
		switch {
		case o.Labels != nil:
			m.label = o.Labels[i]
		case len(chosen) <= mostLabels:
			m.label = lengthText(rows.Value[i])
		}
		if !m.drawn { // at one point, for the fit of the camera
			m.from, m.to = r3.Vec{}, r3.Vec{}
		}
		out = append(out, m)
	}
	for _, g := range o.Segments {
		m := mark{color: g.Color, label: g.Label, items: [2]int{-1, -1}, drawn: true,
			from: r3.Vec{X: g.From[0], Y: g.From[1], Z: g.From[2]}, to: r3.Vec{X: g.To[0], Y: g.To[1], Z: g.To[2]}}
		out = append(out, m)
	}
	return out
}

func three(c scenefile.Numbers, i int) r3.Vec { return r3.Vec{X: c[3*i], Y: c[3*i+1], Z: c[3*i+2]} }

func finite(v r3.Vec) bool { n := r3.Norm(v); return !math.IsNaN(n) && !math.IsInf(n, 0) }

// lengthText is a signed length for people: in millimetres below a metre, of three digits or to a micrometre.
func lengthText(x float64) string {
	unit, digits := " m", 3
	if math.Abs(x) < 1 {
		x, unit = 1e3*x, " mm"
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64); err == nil {
		x = rounded // so that 99.99 has the digits of 100
	}
	whole := 1
	for v := math.Abs(x); v >= 10; v /= 10 {
		whole++
	}
	text := strconv.FormatFloat(x, 'f', max(digits-whole, 0), 64)
	if x < 0 {
		text = "\u2212" + text[1:]
	}
	return text + unit
}

// drawMarks draws segments over a picture: nothing hides them.
func drawMarks(out *image.NRGBA, c *camera.Camera, marks []mark) error {
	w, h := out.Rect.Dx(), out.Rect.Dy()
	unit := max(float64(h)/600, 0.6)
	type place struct{ x, y float64 }
	ends := make([][2]place, len(marks))
	for i, m := range marks {
		if !m.drawn {
			continue
		}
		ax, ay, okA := c.Project(m.from, w, h)
		bx, by, okB := c.Project(m.to, w, h)
		if marks[i].drawn = okA && okB; !marks[i].drawn {
			continue
		}
		ends[i] = [2]place{{ax, ay}, {bx, by}}
	}
	white := color.NRGBA{255, 255, 255, 220}
	for pass := range 2 { // all rims lie below all segments
		for i, m := range marks {
			if !m.drawn {
				continue
			}
			ink, wide, dot := colorOf(m.color), 2.6*unit, 4.2*unit
			if pass == 0 {
				ink, wide, dot = white, 5.2*unit, 6*unit
			}
			a, b := ends[i][0], ends[i][1]
			stroke(out, a.x, a.y, b.x, b.y, wide, ink)
			disc(out, a.x, a.y, dot, ink)
			disc(out, b.x, b.y, dot, ink)
		}
	}
	var plates []image.Rectangle
	for i, m := range marks {
		if !m.drawn || m.label == "" {
			continue
		}
		a, b := ends[i][0], ends[i][1]
		at := [2]float64{(a.x + b.x) / 2, (a.y + b.y) / 2}
		steep := math.Abs(b.y-a.y) > math.Abs(b.x-a.x)
		if err := label(out, at, steep, 15*unit, m.label, colorOf(m.color), &plates); err != nil {
			return err
		}
	}
	return nil
}

func colorOf(c [3]float64) color.NRGBA {
	byteOf := func(x float64) uint8 { return uint8(255*min(max(x, 0), 1) + 0.5) }
	return color.NRGBA{byteOf(c[0]), byteOf(c[1]), byteOf(c[2]), 255}
}

// stroke draws a segment of a width in pixels.
func stroke(out *image.NRGBA, ax, ay, bx, by, width float64, ink color.Color) {
	dx, dy := bx-ax, by-ay
	length := math.Hypot(dx, dy)
	if !(length > 0) {
		return
	}
	nx, ny := -dy/length*width/2, dx/length*width/2
	polygon(out, [][2]float64{{ax + nx, ay + ny}, {bx + nx, by + ny}, {bx - nx, by - ny}, {ax - nx, ay - ny}}, ink)
}

func disc(out *image.NRGBA, x, y, radius float64, ink color.Color) {
	corners := make([][2]float64, 24)
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(len(corners)))
		corners[i] = [2]float64{x + radius*cos, y + radius*sin}
	}
	polygon(out, corners, ink)
}

// polygon fills a polygon, with coverage as opacity at its sides. Far corners are cut to where the rasterizer takes
// them.
func polygon(out *image.NRGBA, corners [][2]float64, ink color.Color) {
	lo, hi := corners[0], corners[0]
	for _, c := range corners {
		for k := range 2 {
			lo[k], hi[k] = min(lo[k], c[k]), max(hi[k], c[k])
		}
	}
	box := image.Rect(int(max(lo[0], -1e4)), int(max(lo[1], -1e4)), int(min(hi[0], 1e4))+1, int(min(hi[1], 1e4))+1)
	box = box.Intersect(out.Rect)
	if box.Empty() {
		return
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	for i, c := range corners {
		x, y := float32(c[0]-float64(box.Min.X)), float32(c[1]-float64(box.Min.Y))
		if i == 0 {
			r.MoveTo(x, y)
		} else {
			r.LineTo(x, y)
		}
	}
	r.ClosePath()
	r.Draw(out, box, image.NewUniform(ink), image.Point{})
}

var labelFont = sync.OnceValues(func() (*opentype.Font, error) { return opentype.Parse(gomedium.TTF) })

// label draws a text on a plate near the middle of a segment, within the picture and off the plates of other labels: at
// the right of a steep segment and above another one, if there is place.
func label(out *image.NRGBA, at [2]float64, steep bool, size float64, text string, ink color.Color,
	plates *[]image.Rectangle) error {
	parsed, err := labelFont()
	if err != nil {
		return err
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return err
	}
	defer face.Close()
	wide, high := float64(font.MeasureString(face, text))/64+0.8*size, 1.5*size
	var left, top float64
	var plate image.Rectangle
	for k := range 24 { // rings of places on four sides
		away := size * (1.55 + 1.6*float64(k/4))
		left, top = at[0]-wide/2, at[1]-high/2
		side := k % 4
		if steep {
			side = (side + 2) % 4
			away -= 0.7 * size
		}
		switch side {
		case 0:
			top -= away
		case 1:
			top += away
		case 2:
			left += wide/2 + away
		case 3:
			left -= wide/2 + away
		}
		left = min(max(left, 2), float64(out.Rect.Dx())-wide-2)
		top = min(max(top, 2), float64(out.Rect.Dy())-high-2)
		plate = image.Rect(int(left), int(top), int(left+wide)+1, int(top+high)+1)
		if !slices.ContainsFunc(*plates, plate.Overlaps) {
			break
		}
	}
	*plates = append(*plates, plate)
	right, bottom := left+wide, top+high
	corners := [][2]float64{{left, top}, {right, top}, {right, bottom}, {left, bottom}}
	polygon(out, corners, color.NRGBA{255, 255, 255, 225})
	d := font.Drawer{Dst: out, Src: image.NewUniform(ink), Face: face,
		Dot: fixed.Point26_6{X: fixed.Int26_6(64 * (left + 0.4*size)), Y: fixed.Int26_6(64 * (top + 1.1*size))}}
	d.DrawString(text)
	return nil
}
