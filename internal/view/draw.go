package view

import (
	"fmt"
	"image"
	"image/draw"
	"math"
	"strings"

	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/tessellate"
)

// A Frame lists passes, which are drawn one after the other, then the quads of text.
type Frame struct {
	Passes []Pass
	Quads  []Quad
}

// A Pass is a part of the screen with a camera of its own. Positions are relative to the target of the camera.
type Pass struct {
	Screen image.Rectangle // pixels from the left upper corner
	Matrix [16]float32     // see [Camera.Matrix]
	Eye    [3]float32      // direction from the target to the eye

	Batches []Batch // opaque ones first, then the others
	Lines   []Point // pairs of ends, over all else
	Points  []Point // discs, over all else
}

// A Batch is the instances of a mesh.
type Batch struct {
	Mesh      *tessellate.Mesh
	Instances []Instance
	Outlines  bool
}

// An Instance is a mesh at a place: x ↦ M·x + t, with the rows of M and t side by side, [3,4].
type Instance struct {
	Rows  [12]float32
	Color Color
}

// A Point is the end of a line, or a disc of a size in pixels.
type Point struct {
	At    [3]float32
	Size  float32
	Color Color
}

// Instances is the number of instances of a frame.
func (f *Frame) Instances() (n int) {
	for _, p := range f.Passes {
		for _, b := range p.Batches {
			n += len(b.Instances)
		}
	}
	return n
}

// Triangles is the number of triangles of a frame.
func (f *Frame) Triangles() (n int) {
	for _, p := range f.Passes {
		for _, b := range p.Batches {
			n += len(b.Instances) * len(b.Mesh.Triangles)
		}
	}
	return n
}

// outlined is the number of pixels of radius from which on a shape has outlines in the grid.
const outlined = 24

// Draw lists what the view shows.
func (a *App) Draw() *Frame {
	camera := a.fit()
	screen := image.Rect(0, 0, a.Width, a.Height)
	f := &Frame{Passes: []Pass{a.scene(camera, screen)}}
	if a.View == PairView && a.Steps != nil && a.Steps.Difference != nil {
		f.Passes = append(f.Passes, a.differencePass(camera))
	}
	a.text(f)
	return f
}

// newPass begins a pass of a camera.
func newPass(c *Camera, screen image.Rectangle) Pass {
	eye := r3.Scale(-1, c.Axes()[2])
	return Pass{Screen: screen, Matrix: c.Matrix(screen.Dx(), screen.Dy()), Eye: float3(eye)}
}

func float3(v r3.Vec) [3]float32 { return [3]float32{float32(v.X), float32(v.Y), float32(v.Z)} }

// scene is the pass of the bodies.
func (a *App) scene(camera *Camera, screen image.Rectangle) Pass {
	p := newPass(camera, screen)
	b := batcher{index: map[batchKey]int{}}
	classes := make([]Class, a.Doc.Worlds.BodiesPerWorld())
	last := -1
	lib := a.Doc.Bodies.Library()
	a.eachBody(func(cell int, k int32, offset r3.Vec) {
		if cell != last {
			a.classes(cell, classes)
			last = cell
		}
		color := a.colorOf(k, classes)
		if bounds := a.Doc.ballOf(cell, k); bounds.radius >= 0 &&
			!camera.Sees(r3.Add(bounds.center, offset), bounds.radius, a.Width, a.Height) {
			return
		}
		a.Doc.parts(cell, k, func(_ int, shape int32, pose geom.Pose) {
			s := lib.Shape(shape)
			scale, of := 1.0, color
			level, pixels := tessellate.Fine, math.Inf(1)
			if s.Kind() == geom.KindHalfspace {
				scale = a.groundHalf()
				if of == Contact.Color() || of == Clear.Color() || of == Unknown.Color() {
					of = colorGround // else one body on the ground makes most of the picture red
				}
			} else {
				pixels = camera.Pixels(r3.Add(pose.Position, offset), s.BoundingRadius(), a.Height)
				if a.View == GridView {
					level = levelOf(pixels)
				}
			}
			m := a.mesh(shape, level)
			at := r3.Sub(r3.Add(pose.Position, offset), camera.Target)
			lines := a.Outlines && (a.View != GridView || pixels > outlined && !math.IsInf(pixels, 0))
			b.add(m, lines, instance(pose.Matrix(), at, scale, of))
			if len(m.Triangles) == 0 { // a point, or a segment
				for _, v := range m.Vertices {
					p.Points = append(p.Points, Point{float3(r3.Add(at, r3.Sub(pose.Apply(v), pose.Position))), 5, of})
				}
			}
		})
	})
	p.Batches = b.list
	if a.View != GridView {
		a.contacts(&p, camera)
	}
	if a.View == PairView && a.Steps != nil {
		a.Steps.drawStep(&p, camera)
	}
	return p
}

// levelOf is the level of detail of a shape of a radius in pixels.
func levelOf(pixels float64) int {
	switch {
	case pixels < 6:
		return tessellate.Tiny
	case pixels < 16:
		return tessellate.Coarse
	case pixels < 60:
		return tessellate.Medium
	}
	return tessellate.Fine
}

// classes sets the classes of the places of a cell by the answers that the view has.
func (a *App) classes(cell int, places []Class) {
	clear(places)
	if a.View == GridView {
		if a.all != nil {
			a.all.Classes(cell, a.Time, places)
		}
		return
	}
	for i := range a.Answers {
		x := &a.Answers[i]
		if x.A >= 0 && x.B >= 0 {
			places[x.A], places[x.B] = max(places[x.A], x.Class), max(places[x.B], x.Class)
		}
	}
	if a.Doc.Worlds.AllPairs && len(a.Answers) > 0 {
		for k := range places {
			places[k] = max(places[k], Clear)
		}
	}
}

// colorOf is the color of the body at a place: by its class, in the view of a pair by its side.
func (a *App) colorOf(k int32, classes []Class) Color {
	x := a.Answer()
	side := colorOther.withAlpha(0.15)
	switch {
	case a.View != PairView && !a.Doc.Rows, a.View == GridView, a.View == CellView && classes[k] > Contact:
		side = classes[k].Color()
	case x != nil && x.A == k:
		side = colorA
	case x != nil && x.B == k:
		side = colorB
	case x == nil && a.Doc.Rows:
		side = classes[k].Color()
	}
	if a.SeeThrough && side[3] == 1 {
		side[3] = 0.45
	}
	return side
}

type batchKey struct {
	mesh   *tessellate.Mesh
	lines  bool
	opaque bool
}

// A batcher collects instances by mesh.
type batcher struct {
	list  []Batch
	index map[batchKey]int
}

func (b *batcher) add(m *tessellate.Mesh, lines bool, i Instance) {
	key := batchKey{m, lines, i.Color[3] == 1}
	at, ok := b.index[key]
	if !ok {
		at = len(b.list)
		b.index[key] = at
		b.list = append(b.list, Batch{Mesh: m, Outlines: lines})
	}
	b.list[at].Instances = append(b.list[at].Instances, i)
}

// instance places a mesh, scaled, at a point relative to the target.
func instance(m geom.Mat3, at r3.Vec, scale float64, c Color) (i Instance) {
	t := [3]float64{at.X, at.Y, at.Z}
	for row := range 3 {
		for k := range 3 {
			i.Rows[4*row+k] = float32(scale * m[3*row+k])
		}
		i.Rows[4*row+3] = float32(t[row])
	}
	i.Color = c
	return i
}

// contacts draws the witnesses and the normal of answers: of the selected one, and of all in contact.
func (a *App) contacts(p *Pass, camera *Camera) {
	for i := range a.Answers {
		x := &a.Answers[i]
		if told := a.told(x); told != nil && (i == a.Pair || a.View != PairView) {
			for _, c := range told.contacts {
				at := r3.Sub(c.at, camera.Target)
				p.line(at, r3.Add(at, r3.Scale(camera.Distance/20, c.normal)), colorStep)
				p.Points = append(p.Points, Point{float3(at), 8, Contact.Color()})
			}
		}
		if !x.Points || i != a.Pair && (a.View == PairView || x.Class != Contact) {
			continue
		}
		wa, wb := r3.Sub(x.WitnessA, camera.Target), r3.Sub(x.WitnessB, camera.Target)
		color := x.Class.Color()
		if x.Class == Clear {
			color = EdgeColor
		}
		if i == a.Pair {
			tip := r3.Add(wa, r3.Scale(camera.Distance/10, x.Normal))
			p.line(wa, tip, colorStep)
			p.line(wa, wb, color)
			p.errorCross(x.Gap, wb)
		}
		size := float32(8)
		if i == a.Pair {
			size = 12
		}
		p.Points = append(p.Points, Point{float3(wa), size, color}, Point{float3(wb), size, color})
	}
}

// errorCross draws the interval distance ± gap about a witness as a cross, whose arms are as long as the gap.
func (p *Pass) errorCross(gap float64, at r3.Vec) {
	if !(gap > 0) || math.IsInf(gap, 0) {
		return
	}
	for _, axis := range []r3.Vec{{X: gap}, {Y: gap}, {Z: gap}} {
		p.line(r3.Sub(at, axis), r3.Add(at, axis), Undecided.Color())
	}
}

func (p *Pass) line(from, to r3.Vec, c Color) {
	p.Lines = append(p.Lines, Point{float3(from), 1, c}, Point{float3(to), 1, c})
}

// differencePass draws A − B, with the origin, in the right lower corner, seen from the direction of the camera.
func (a *App) differencePass(camera *Camera) Pass {
	side := min(a.Width, a.Height) * 2 / 5
	screen := image.Rect(a.Width-side-8, a.Height-side-8, a.Width-8, a.Height-8)
	m := a.Steps.Difference
	toOrigin := r3.Norm(m.Center)
	center, radius := m.Center, m.Radius // of a ball that contains the mesh and the origin
	if toOrigin > m.Radius {
		center = r3.Scale(1-(toOrigin-m.Radius)/2/toOrigin, m.Center)
		radius = (m.Radius + toOrigin) / 2
	}
	c := Camera{Yaw: camera.Yaw, Pitch: camera.Pitch}
	c.Fit(center, 1.1*radius, side, side)
	p := newPass(&c, screen)
	b := batcher{index: map[batchKey]int{}}
	b.add(m, a.Outlines, instance(geom.Identity3(), r3.Scale(-1, c.Target), 1, colorOther.withAlpha(0.35)))
	p.Batches = b.list
	origin := r3.Scale(-1, c.Target)
	p.Points = append(p.Points, Point{float3(origin), 9, colorOrigin})
	a.Steps.drawDifference(&p, c.Target)
	return p
}

// text lists the quads of the texts.
func (a *App) text(f *Frame) {
	f.Quads, _ = panel(f.Quads, 8, 8, 1, a.Info())
	if a.Help {
		lines := strings.Count(keysText(), "\n") + 1
		f.Quads, _ = panel(f.Quads, 8, a.Height-8-lines*(GlyphHeight+2)-12, 1, keysText())
	}
}

// Info is the text of the upper left corner.
func (a *App) Info() string {
	var b strings.Builder
	what := "world"
	if a.Doc.Rows {
		what = "row"
	}
	fmt.Fprintf(&b, "%s\n", Printable(a.Doc.Title, 60))
	if a.View == GridView {
		n := [Invalid + 1]int{}
		classes := make([]Class, a.Doc.Worlds.BodiesPerWorld())
		for cell := range a.Doc.Count() {
			a.classes(cell, classes)
			worst := Unknown
			for _, c := range classes {
				worst = max(worst, c)
			}
			n[worst]++
		}
		fmt.Fprintf(&b, "%d %ss from %d on: %d in contact (red), %d undecided (yellow), %d invalid\n",
			a.Doc.Count(), what, a.Doc.First, n[Contact], n[Undecided], n[Invalid])
	} else {
		fmt.Fprintf(&b, "%s %d of %d bodies, pairs with answers: %d\n", what, a.Doc.First+a.Cell,
			a.Doc.Worlds.BodiesPerWorld(), len(a.Answers))
	}
	source := "engine"
	if a.Stored {
		source = "file"
	}
	fmt.Fprintf(&b, "answers of the %s", source)
	if a.Doc.Moves() {
		fmt.Fprintf(&b, ", time %.3f %s", a.Time, a.Doc.mover.Unit())
	}
	if a.FrameSeconds > 0 {
		fmt.Fprintf(&b, ", %.1f ms a frame", 1e3*a.FrameSeconds)
	}
	if x := a.Answer(); x != nil && a.View != GridView {
		b.WriteString("\n" + a.describe(x))
	}
	if a.View == PairView && a.Steps != nil {
		b.WriteString("\n" + a.Steps.Text())
	}
	if a.Message != "" {
		b.WriteString("\n" + Printable(a.Message, 100))
	}
	return b.String()
}

// describe is an answer in words.
func (a *App) describe(x *Answer) string {
	var b strings.Builder
	name := func(k, part int32) string {
		if k < 0 {
			return "?"
		}
		body := a.Doc.Worlds.Body(a.Cell, k)
		if body == batch.Absent {
			return "nothing"
		}
		s := a.Doc.Name(body)
		if part >= 0 && len(a.Doc.Bodies.Parts(body)) > 1 {
			s += fmt.Sprintf(" (part %d)", part)
		}
		return s
	}
	fmt.Fprintf(&b, "A %s, B %s: ", name(x.A, x.PartA), name(x.B, x.PartB))
	if a.Doc.Worlds.AllPairs && !a.Stored {
		fmt.Fprintf(&b, "bodies %d and %d\n", x.A, x.B)
	} else {
		fmt.Fprintf(&b, "row %d\n", x.Row)
	}
	fmt.Fprintf(&b, "%s, %s", x.Status, bound(x))
	if !math.IsNaN(x.T0) {
		fmt.Fprintf(&b, "\nno contact before %.6g", x.T0)
		if !math.IsNaN(x.T1) && x.Class == Contact {
			fmt.Fprintf(&b, ", contact by %.6g", x.T1)
		}
	}
	if x.Solver != "" {
		fmt.Fprintf(&b, "\n%s", x.Solver)
		if x.Iterations >= 0 {
			fmt.Fprintf(&b, ", %d iterations", x.Iterations)
		}
	}
	return b.String()
}

// bound is the value of an answer and the bound of its error, in characters of the font.
func bound(x *Answer) string {
	switch {
	case math.IsNaN(x.Distance):
		return "no distance"
	case x.Factor:
		return fmt.Sprintf("growth factor %.9g +/- %.2g", x.Distance, x.Gap)
	}
	return fmt.Sprintf("distance %.9g +/- %.2g m", x.Distance, x.Gap)
}

// Grid places n cells of a size, in metres, in the plane z = 0 about the origin: row by row, as nearly square as
// possible.
type Grid struct {
	N, Columns int
	Size       float64
}

// NewGrid returns the grid of n cells.
func NewGrid(n int, size float64) Grid {
	return Grid{N: n, Columns: max(int(math.Ceil(math.Sqrt(float64(n)))), 1), Size: size}
}

// Rows is the number of rows of the grid.
func (g Grid) Rows() int { return (g.N + g.Columns - 1) / g.Columns }

// Center is the middle of cell i. The first row is the farthest along y.
func (g Grid) Center(i int) r3.Vec {
	return r3.Vec{
		X: g.Size * (float64(i%g.Columns) - float64(g.Columns-1)/2),
		Y: g.Size * (float64(g.Rows()-1)/2 - float64(i/g.Columns)),
	}
}

// Corners returns the corners of the grid, at a distance above and below its plane.
func (g Grid) Corners(above float64) (points []r3.Vec) {
	x, y := g.Size/2*float64(min(g.Columns, max(g.N, 1))), g.Size/2*float64(g.Rows())
	// Cells of an incomplete first row stand at its left.
	shift := g.Size / 2 * float64(min(g.Columns, max(g.N, 1))-g.Columns)
	for i := range 8 {
		points = append(points, r3.Vec{X: shift + x*float64(i&1*2-1), Y: y * float64(i>>1&1*2-1),
			Z: above * float64(i>>2*2-1)})
	}
	return points
}

// A Color is red, green, blue and opacity, from 0 to 1.
type Color [4]float32

// Class is a group of statuses that share a color.
type Class uint8

// The classes, the worse the later. A body has the class of its worst pair, so that no pair without an answer is
// hidden.
const (
	Unknown   Class = iota // not in any pair
	Clear                  // proved to be separated
	Contact                // touching or penetrating
	Undecided              // without an answer
	Invalid                // bad input
)

var classColors = [...]Color{
	Unknown: {0.55, 0.57, 0.60, 1}, Clear: {0.45, 0.58, 0.74, 1}, Contact: {0.86, 0.10, 0.08, 1},
	Undecided: {1, 0.86, 0.05, 1}, Invalid: {0.85, 0.10, 0.85, 1},
}

// Color returns the color of a class: contacts are red, pairs without an answer yellow.
func (c Class) Color() Color { return classColors[min(c, Invalid)] }

// ClassOf returns the class of a status.
func ClassOf(s batch.Status) Class {
	switch s {
	case batch.Separated:
		return Clear
	case batch.Touching, batch.Penetrating:
		return Contact
	case batch.Undecided:
		return Undecided
	}
	return Invalid // codes that this version does not know, too
}

// Colors of the two sides of a pair, and of what is drawn about them.
var (
	colorA      = Color{0.30, 0.55, 0.90, 1}
	colorB      = Color{0.93, 0.62, 0.25, 1}
	colorOther  = Color{0.62, 0.64, 0.67, 1}
	colorGround = Color{0.80, 0.81, 0.82, 1}
	colorText   = Color{0.10, 0.11, 0.13, 1}
	colorPanel  = Color{1, 1, 1, 0.82}
	colorStep   = Color{0.05, 0.45, 0.20, 1}
	colorOrigin = Color{0, 0, 0, 1}
)

// Background is the color behind all, EdgeColor the color of edges.
var (
	Background = Color{0.93, 0.94, 0.95, 1}
	EdgeColor  = Color{0.12, 0.13, 0.15, 1}
)

// withAlpha returns c with another opacity.
func (c Color) withAlpha(a float32) Color { c[3] = a; return c }

// dark returns a darker color.
func (c Color) dark() Color {
	for i := range 3 {
		c[i] *= 0.55
	}
	return c
}

// Cells of the font, in pixels at scale 1.
const (
	GlyphWidth  = 7
	GlyphHeight = 13
	// glyphColumns is the number of glyphs of a row of the atlas.
	glyphColumns = 16
)

// The atlas has the printable ASCII characters, then one for what is not printable, then a filled cell.
const (
	firstGlyph  = ' '
	unprintable = int('~'-firstGlyph) + 1
	filled      = unprintable + 1
)

// Atlas returns the glyphs of a font of fixed width as coverage, [GlyphWidth]×[GlyphHeight] pixels each.
func Atlas() *image.Alpha {
	rows := (filled + glyphColumns) / glyphColumns
	atlas := image.NewAlpha(image.Rect(0, 0, glyphColumns*GlyphWidth, rows*GlyphHeight))
	for i := range filled {
		c := rune(firstGlyph + i)
		if i == unprintable {
			c = '\ufffd'
		}
		at := image.Pt(i%glyphColumns*GlyphWidth, i/glyphColumns*GlyphHeight)
		dot := fixed.P(at.X, at.Y+basicfont.Face7x13.Ascent)
		r, mask, from, _, ok := basicfont.Face7x13.Glyph(dot, c)
		if ok {
			draw.DrawMask(atlas, r.Intersect(cellOf(i)), image.Opaque, image.Point{}, mask, from, draw.Over)
		}
	}
	draw.Draw(atlas, cellOf(filled), image.Opaque, image.Point{}, draw.Src)
	return atlas
}

// cellOf is the place of a glyph in the atlas.
func cellOf(i int) image.Rectangle {
	at := image.Pt(i%glyphColumns*GlyphWidth, i/glyphColumns*GlyphHeight)
	return image.Rectangle{Min: at, Max: at.Add(image.Pt(GlyphWidth, GlyphHeight))}
}

// A Quad is a rectangle of the screen, in pixels from the left upper corner, with its part of the atlas, in pixels.
type Quad struct {
	Screen image.Rectangle
	Atlas  image.Rectangle
	Color  Color
}

// Printable returns a text in the characters of the font: others, as names in files may have them, become "\ufffd", and
// a text of more than limit characters ends in "...".
func Printable(text string, limit int) string {
	clean := strings.Map(func(c rune) rune {
		if c >= firstGlyph && c <= '~' {
			return c
		}
		return '\ufffd'
	}, text)
	if r := []rune(clean); len(r) > limit {
		return string(r[:max(limit-3, 0)]) + "..."
	}
	return clean
}

// appendText appends the quads of lines of text with the left upper corner at x, y.
func appendText(quads []Quad, x, y, scale int, color Color, text string) []Quad {
	column := 0
	for _, c := range text {
		if c == '\n' {
			column, y = 0, y+scale*(GlyphHeight+2)
			continue
		}
		i := int(c) - firstGlyph
		if i < 0 || i >= unprintable {
			i = unprintable
		}
		if i > 0 { // not a space
			at := image.Pt(x+scale*GlyphWidth*column, y)
			quads = append(quads, Quad{image.Rectangle{at, at.Add(image.Pt(scale*GlyphWidth, scale*GlyphHeight))},
				cellOf(i), color})
		}
		column++
	}
	return quads
}

// panel appends a text on a panel, which begins at x, y, and returns the size of the panel.
func panel(quads []Quad, x, y, scale int, text string) ([]Quad, image.Point) {
	lines := strings.Split(text, "\n")
	columns := 0
	for _, l := range lines {
		columns = max(columns, len([]rune(l)))
	}
	margin := 6 * scale
	size := image.Pt(columns*GlyphWidth*scale+2*margin, len(lines)*(GlyphHeight+2)*scale+2*margin)
	at := image.Pt(x, y)
	full := cellOf(filled)
	quads = append(quads, Quad{image.Rectangle{at, at.Add(size)}, full.Inset(2), colorPanel})
	return appendText(quads, x+margin, y+margin, scale, colorText, text), size
}
