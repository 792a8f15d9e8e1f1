// Package view is the viewer without a display: documents of files, answers of an engine, camera, keys, the body below
// the mouse, and lists of meshes, lines, points and text. Command clearview draws these lists.
//
// # Layers and threads
//
// view may import any package but commands; it draws nothing itself. An [App] belongs to one goroutine. Errors are
// of files, which name file, row and column, or of the engine. A body whose pose is invalid is not drawn; its pairs are
// shown as invalid.
package view

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/tessellate"
)

// View is one of the ways to look at a document.
type View uint8

// The views.
const (
	CellView View = iota // one world, or one row of pairs
	GridView             // all cells in a grid
	PairView             // one pair of a cell, with the steps of its solver
	viewCount
)

// An App is the state of the viewer.
type App struct {
	Doc  *Document
	Live *Live // nil: only answers of files are shown

	View    View
	Cell    int
	Answers []Answer // of the cell, at the time
	Pair    int      // index into Answers, -1 for none: the nearest, unless it is pinned
	Body    int32    // place of the body that was clicked last, -1 for none

	Time    float64 // on the time line of the document
	Speed   float64 // seconds or way points of the time line per second of the clock
	Playing bool
	Stored  bool // whether answers are read from the file

	Help, Outlines, SeeThrough bool
	Message                    string // to the user
	FrameSeconds               float64

	Width, Height int
	Camera        [viewCount]Camera
	fitted        [viewCount]bool

	Steps  *Steps       // of the solver on the pair, nil outside of PairView
	Method batch.Method // of the solver of the steps

	pinned bool     // whether the pair was chosen
	all    *Results // of all cells, at the time
	fresh  [viewCount]bool
	meshes map[meshKey]*tessellate.Mesh
	extent float64 // half the size of a cell of the grid

	gridOrigin *r3.Vec // see cellCenter
}

type meshKey struct {
	shape int32
	level int
}

// New returns the viewer of a document, which begins with the cell that was asked for, a row or world by its number in
// the file.
func New(d *Document, l *Live, first, width, height int) *App {
	a := &App{Doc: d, Live: l, Cell: min(max(first-d.First, 0), d.Count()-1), Pair: -1, Body: -1, Speed: 1,
		Stored: d.Results != nil, Help: true, Outlines: true, Width: width, Height: height,
		meshes: map[meshKey]*tessellate.Mesh{}}
	for i := range a.Camera {
		a.Camera[i].Yaw, a.Camera[i].Pitch = -60*math.Pi/180, 25*math.Pi/180
	}
	a.Camera[GridView].Pitch = 45 * math.Pi / 180
	a.Camera[GridView].Yaw = -80 * math.Pi / 180
	for cell := range d.Count() {
		if _, r, ok := d.cellBall(cell); ok && finite(r3.Vec{X: r}) {
			a.extent = max(a.extent, r)
		}
	}
	if a.extent == 0 {
		a.extent = 1
	}
	return a
}

// Advance moves the time line by seconds of the clock, if it plays, and brings the answers that the view shows up to
// the time.
func (a *App) Advance(ctx context.Context, seconds float64) error {
	if a.Playing && a.Doc.Moves() {
		t := a.Time + a.Speed*seconds
		if end := a.Doc.mover.Length(); t >= end {
			t, a.Playing = end, false
		}
		if err := a.Seek(t); err != nil {
			return err
		}
	}
	return a.solve(ctx)
}

// Seek moves the bodies to a time.
func (a *App) Seek(t float64) error {
	if !a.Doc.Moves() {
		return nil
	}
	if err := a.Doc.mover.Move(t, a.Doc.Worlds.Poses); err != nil {
		return err
	}
	a.Time = t
	a.stale()
	return nil
}

// stale has the answers found again.
func (a *App) stale() { a.fresh = [viewCount]bool{} }

// solve finds the answers that the view shows.
func (a *App) solve(ctx context.Context) (err error) {
	if a.fresh[a.View] {
		return nil
	}
	a.fresh[a.View] = true
	stored := a.Stored && a.Doc.Results != nil || a.Live == nil
	if a.View == GridView {
		a.all = a.Doc.Results
		if !stored {
			a.all, err = a.Live.All(ctx)
		}
		return err
	}
	var chosen [2]int32
	if x := a.Answer(); x != nil && a.pinned {
		chosen = [2]int32{x.A, x.B}
	}
	a.Answers, a.Pair = nil, -1
	switch {
	case !stored:
		a.Answers, err = a.Live.Cell(ctx, a.Cell)
	case a.Doc.Results != nil:
		a.Answers = a.Doc.Results.Answers(a.Cell, a.Time)
	}
	if err != nil {
		return err
	}
	if a.pinned {
		a.Pair = a.nearest(func(x Answer) bool { return [2]int32{x.A, x.B} == chosen })
	}
	if a.Pair < 0 {
		a.Pair = a.nearest(func(Answer) bool { return true })
	}
	if a.View == PairView {
		a.pinned = true // the steps are of one pair, though bodies move
		a.fitted[PairView] = a.fitted[PairView] && !a.Playing
		a.findSteps()
	}
	return nil
}

// nearest is the index of the answer with the worst class and the least distance of those that a condition admits; -1
// for none.
func (a *App) nearest(admits func(Answer) bool) int {
	order := a.order(admits)
	if len(order) == 0 {
		return -1
	}
	return order[0]
}

// order lists the answers that a condition admits: those without an answer first, then by distance.
func (a *App) order(admits func(Answer) bool) (list []int) {
	for i := range a.Answers {
		if x := &a.Answers[i]; x.A >= 0 && x.B >= 0 && admits(*x) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(i, j int) int {
		x, y := &a.Answers[i], &a.Answers[j]
		if x.Class != y.Class {
			return int(y.Class) - int(x.Class)
		}
		switch {
		case x.Distance < y.Distance:
			return -1
		case y.Distance < x.Distance:
			return 1
		}
		return 0
	})
	return list
}

// Select shows a cell.
func (a *App) Select(cell int) {
	n := a.Doc.Count()
	a.Cell = ((cell % n) + n) % n
	a.Pair, a.Body, a.Steps, a.pinned = -1, -1, nil, false
	a.fresh[CellView], a.fresh[PairView] = false, false
	a.fitted[CellView], a.fitted[PairView] = false, false
}

// show switches to a view.
func (a *App) show(v View) {
	a.View = v
	a.fresh[v] = false
	if v == PairView {
		a.fitted[v] = false
	}
}

// Answer returns the selected one, nil for none.
func (a *App) Answer() *Answer {
	if a.Pair < 0 || a.Pair >= len(a.Answers) {
		return nil
	}
	return &a.Answers[a.Pair]
}

// fit moves the camera of the view to what it shows, once.
func (a *App) fit() *Camera {
	c := &a.Camera[a.View]
	if a.fitted[a.View] {
		return c
	}
	a.fitted[a.View] = true
	switch a.View {
	case GridView:
		c.Target = r3.Vec{}
		corners := a.grid().Corners(a.extent / 2)
		for range 4 { // near cells are larger: the middle of the grid is not in the middle of the picture
			c.FitPoints(corners, a.Width, a.Height)
			c.Center(corners, a.Width, a.Height)
		}
		c.FitPoints(corners, a.Width, a.Height)
		c.Distance *= 1.03
	case PairView:
		if x := a.Answer(); x != nil && x.A >= 0 && x.B >= 0 {
			if center, radius, ok := a.pairBall(x); ok {
				c.Fit(center, 1.15*radius, a.Width, a.Height)
				return c
			}
		}
		fallthrough
	default:
		center, radius, _ := a.Doc.cellBall(a.Cell)
		c.Fit(center, 1.1*radius, a.Width, a.Height)
	}
	return c
}

// pairBall is a ball that contains the bounded ones of the two bodies of an answer.
func (a *App) pairBall(x *Answer) (center r3.Vec, radius float64, ok bool) {
	p, q := a.Doc.ballOf(a.Cell, x.A), a.Doc.ballOf(a.Cell, x.B)
	switch {
	case p.radius < 0 && q.radius < 0:
		return center, 0, false
	case p.radius < 0:
		return q.center, q.radius, true
	case q.radius < 0:
		return p.center, p.radius, true
	}
	between := r3.Sub(q.center, p.center)
	d := r3.Norm(between)
	radius = max((d+p.radius+q.radius)/2, p.radius, q.radius)
	return r3.Add(p.center, r3.Scale(0.5, between)), radius, true
}

// grid is the grid of all cells.
func (a *App) grid() Grid { return NewGrid(a.Doc.Count(), 2.2*a.extent) }

// mesh returns the mesh of a shape at a level of detail, which is made once.
func (a *App) mesh(shape int32, level int) *tessellate.Mesh {
	key := meshKey{shape, level}
	m, ok := a.meshes[key]
	if !ok {
		var err error
		if m, err = tessellate.Shape(a.Doc.Bodies.Library().Shape(shape), level); err != nil {
			a.Message = fmt.Sprintf("shape %d is not drawn: %v", shape, err)
			m = &tessellate.Mesh{}
		}
		a.meshes[key] = m
	}
	return m
}

// parts calls f with each part of the body at place k of a cell, in the world of the cell.
func (d *Document) parts(cell int, k int32, f func(part int, shape int32, pose geom.Pose)) {
	body := d.Worlds.Body(cell, k)
	if body == batch.Absent {
		return
	}
	pose := d.Worlds.Pose(cell, k)
	if d.Bodies.CheckPose(body, pose) != nil {
		return
	}
	for i, p := range d.Bodies.Parts(body) {
		at, err := d.Bodies.PartPose(body, i, pose).Normalized()
		if err == nil {
			f(i, p.Shape, at)
		}
	}
}

// An Action is left to the window by a key.
type Action uint8

// The actions.
const (
	NoAction Action = iota
	Screenshot
	Quit
)

// A Key is a key of the keyboard by its name, and what it does.
type Key struct {
	Name, Help string
	press      func(*App) Action
}

// Keys are all keys, in the order in which the screen shows them.
func Keys() []Key {
	return []Key{
		{"1", "one world or row", func(a *App) Action { a.show(CellView); return NoAction }},
		{"2", "all in a grid", func(a *App) Action { a.show(GridView); return NoAction }},
		{"3", "the pair, with solver steps", func(a *App) Action { a.show(PairView); return NoAction }},
		{"left", "previous world or row", func(a *App) Action { a.Select(a.Cell - 1); return NoAction }},
		{"right", "next world or row", func(a *App) Action { a.Select(a.Cell + 1); return NoAction }},
		{"n", "next one that is in contact or has no answer", (*App).nextBad},
		{"tab", "next pair of the world", (*App).nextPair},
		{"down", "next step of the solver", func(a *App) Action { a.Steps.Move(1); return NoAction }},
		{"up", "previous step of the solver", func(a *App) Action { a.Steps.Move(-1); return NoAction }},
		{"m", "another method of the steps", (*App).nextMethod},
		{"space", "play or pause", (*App).play},
		{"home", "back to the first pose or step", (*App).home},
		{"-", "half the speed", func(a *App) Action { a.Speed /= 2; return NoAction }},
		{"=", "twice the speed", func(a *App) Action { a.Speed *= 2; return NoAction }},
		{"l", "answers of the file or of the engine", (*App).toggleStored},
		{"o", "outlines", func(a *App) Action { a.Outlines = !a.Outlines; return NoAction }},
		{"x", "see through", func(a *App) Action { a.SeeThrough = !a.SeeThrough; return NoAction }},
		{"f", "fit the camera", func(a *App) Action { a.fitted[a.View] = false; return NoAction }},
		{"p", "save a screenshot", func(*App) Action { return Screenshot }},
		{"h", "show or hide the keys", func(a *App) Action { a.Help = !a.Help; return NoAction }},
		{"q", "quit", func(*App) Action { return Quit }},
	}
}

var keys = Keys()

// Press does what a key does; keys without a meaning do nothing.
func (a *App) Press(name string) Action {
	for i := range keys {
		if keys[i].Name == name {
			a.Message = ""
			return keys[i].press(a)
		}
	}
	return NoAction
}

// keysText is the table of the keys, in two columns.
func keysText() string {
	var b strings.Builder
	for i := range keys {
		fmt.Fprintf(&b, "%-6s %s\n", keys[i].Name, keys[i].Help)
	}
	return b.String() + "mouse  drag: rotate, right: move, wheel: zoom, click: pick"
}

func (a *App) nextBad() Action {
	r := a.Doc.Results
	if !a.Stored || r == nil {
		r = a.all // of the grid, the last time that it was shown
	}
	if r == nil {
		a.Message = "no answers of all worlds yet: show the grid first (2)"
		return NoAction
	}
	classes := make([]Class, a.Doc.Worlds.BodiesPerWorld())
	for i := 1; i <= a.Doc.Count(); i++ {
		cell := (a.Cell + i) % a.Doc.Count()
		r.Classes(cell, a.Time, classes)
		for _, c := range classes {
			if c > Clear {
				a.Select(cell)
				return NoAction
			}
		}
	}
	a.Message = "nothing is in contact, and all have answers"
	return NoAction
}

func (a *App) nextPair() Action {
	order := a.order(func(Answer) bool { return true })
	for i, at := range order {
		if at == a.Pair {
			a.choose(order[(i+1)%len(order)])
			return NoAction
		}
	}
	if len(order) > 0 {
		a.choose(order[0])
	}
	return NoAction
}

// nextMethod has the steps of the next method that answers the pair.
func (a *App) nextMethod() Action {
	if x := a.Answer(); x != nil && x.Factor {
		a.Message = "growth distances have no choice of methods"
		return NoAction
	}
	for range batch.MethodCount {
		a.Method = (a.Method + 1) % batch.MethodCount
		a.Message = ""
		if a.findSteps(); a.Steps != nil {
			a.Message = "method " + a.Method.String()
			return NoAction
		}
	}
	return NoAction
}

func (a *App) play() Action {
	switch {
	case !a.Doc.Moves():
		a.Message = "nothing moves here"
	case !a.Playing && a.Time >= a.Doc.mover.Length():
		a.seek(0)
		a.Playing = true
	default:
		a.Playing = !a.Playing
	}
	return NoAction
}

func (a *App) home() Action {
	if a.View == PairView {
		a.Steps.Move(math.MinInt32)
		return NoAction
	}
	a.seek(0)
	return NoAction
}

func (a *App) seek(t float64) {
	if err := a.Seek(t); err != nil {
		a.Message = err.Error()
	}
}

func (a *App) toggleStored() Action {
	switch {
	case a.Doc.Results == nil:
		a.Message = "there is no file of results: these are answers of the engine"
	case a.Live == nil:
		a.Message = "there is no engine: these are answers of the file"
	default:
		a.Stored = !a.Stored
		a.stale()
	}
	return NoAction
}
