package view

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance"
	"clearance/batch"
	"clearance/contact/scenes"
	"clearance/dataset"
	"clearance/geom"
	"clearance/internal/rowtrace"
	"clearance/internal/scenefile"
	"clearance/internal/score"
	"clearance/internal/testkit"
	"clearance/rollout"
)

// engine is the CPU without kernels, which every build has.
func engine(t *testing.T) *clearance.Handle {
	t.Helper()
	h, err := clearance.Open(clearance.WithBackend("cpu"), clearance.WithSIMD("off"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// TestCamera: the pixel of a point lies on the ray through the pixel, the matrix maps to the same pixel, and depths of
// what is seen are within the range.
func TestCamera(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const width, height = 640, 480
	for range 200 {
		c := Camera{Yaw: 7 * rng.Float64(), Pitch: 3*rng.Float64() - 1.5}
		center := r3.Scale(1e4, testkit.Normal(rng))
		radius := math.Exp(rng.NormFloat64())
		c.Fit(center, radius, width, height)
		p := r3.Add(center, r3.Scale(radius*rng.Float64(), testkit.Unit(rng)))
		x, y, ok := c.Project(p, width, height)
		if !ok || x < -0.5 || x > width+0.5 || y < -0.5 || y > height+0.5 {
			t.Fatalf("a point of the ball that fills the screen is at %g, %g, %v", x, y, ok)
		}
		origin, direction := c.Ray(x, y, width, height)
		to := r3.Sub(p, origin)
		if off := r3.Norm(r3.Cross(to, direction)); !(off < 1e-8*1e4) {
			t.Fatalf("the ray through the pixel passes the point at %g", off)
		}
		m := c.Matrix(width, height)
		q := r3.Sub(p, center)
		var clip [4]float64
		for row := range 4 {
			clip[row] = float64(m[row])*q.X + float64(m[4+row])*q.Y + float64(m[8+row])*q.Z + float64(m[12+row])
		}
		gx, gy := (clip[0]/clip[3]+1)*width/2, (1-clip[1]/clip[3])*height/2
		if math.Hypot(gx-x, gy-y) > 0.01 || math.Abs(clip[2]/clip[3]) > 1 {
			t.Fatalf("the matrix maps to pixel %g, %g and depth %g, want %g, %g", gx, gy, clip[2]/clip[3], x, y)
		}
		if !c.Sees(p, 0, width, height) || c.Sees(r3.Add(c.Eye(), r3.Sub(c.Eye(), p)), radius/100, width, height) {
			t.Fatal("a point before the camera is not seen, or one behind it is")
		}
	}
}

// TestFitPoints: all points are on the screen, and one of them at its edge.
func TestFitPoints(t *testing.T) {
	c := Camera{Yaw: 1, Pitch: 0.6}
	points := NewGrid(1000, 0.5).Corners(0.2)
	c.FitPoints(points, 800, 600)
	edge := math.Inf(1)
	for _, p := range points {
		x, y, ok := c.Project(p, 800, 600)
		if !ok || x < -1e-6 || x > 800+1e-6 || y < -1e-6 || y > 600+1e-6 {
			t.Errorf("%v is at pixel %g, %g, %v", p, x, y, ok)
		}
		edge = min(edge, x, y, 800-x, 600-y)
	}
	if edge > 1e-6 {
		t.Errorf("the point nearest to the edge is %g pixels from it", edge)
	}
}

// TestGrid: no two cells meet, all are within the corners, and 1,000 of them make 32 columns.
func TestGrid(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 1000} {
		g := NewGrid(n, 2)
		lo, hi := g.Corners(1)[0], g.Corners(1)[7]
		for i := range n {
			c := g.Center(i)
			if c.X-1 < lo.X-1e-9 || c.X+1 > hi.X+1e-9 || c.Y-1 < lo.Y-1e-9 || c.Y+1 > hi.Y+1e-9 {
				t.Errorf("%d cells: cell %d at %v is outside of %v to %v", n, i, c, lo, hi)
			}
			for j := range i {
				if d := r3.Sub(c, g.Center(j)); max(math.Abs(d.X), math.Abs(d.Y)) < 2-1e-9 {
					t.Fatalf("%d cells: cells %d and %d meet", n, i, j)
				}
			}
		}
	}
	if g := NewGrid(1000, 1); g.Columns != 32 || g.Rows() != 32 {
		t.Errorf("1,000 cells have %d columns and %d rows, want 32 and 32", g.Columns, g.Rows())
	}
}

// TestClasses: every status has a class, failures are never shown as no contact, and colors are red and yellow.
func TestClasses(t *testing.T) {
	want := map[batch.Status]Class{batch.Separated: Clear, batch.Touching: Contact, batch.Penetrating: Contact,
		batch.Undecided: Undecided, batch.Invalid: Invalid}
	for s := range batch.StatusCount + 5 {
		c, ok := want[s]
		if !ok {
			c = Invalid
		}
		if got := ClassOf(s); got != c {
			t.Errorf("status %v has class %d, want %d", s, got, c)
		}
	}
	if c := Contact.Color(); !(c[0] > 0.8 && c[1] < 0.2 && c[2] < 0.2) {
		t.Errorf("contacts are %v", c)
	}
	if c := Undecided.Color(); !(c[0] > 0.8 && c[1] > 0.8 && c[2] < 0.2) {
		t.Errorf("undecided rows are %v", c)
	}
}

// TestText: the glyphs of the atlas differ and stand where the quads say; what the font lacks is replaced.
func TestText(t *testing.T) {
	atlas := Atlas()
	ink := func(i int) (pixels string) {
		for y := cellOf(i).Min.Y; y < cellOf(i).Max.Y; y++ {
			for x := cellOf(i).Min.X; x < cellOf(i).Max.X; x++ {
				pixels += string('0' + rune(atlas.AlphaAt(x, y).A/255))
			}
		}
		return pixels
	}
	seen := map[string]int{}
	for i := range filled + 1 {
		if j, ok := seen[ink(i)]; ok {
			t.Errorf("glyphs %d and %d are alike", i, j)
		}
		seen[ink(i)] = i
	}
	if strings.Contains(ink(0), "1") || strings.Contains(ink(filled), "0") {
		t.Error("the space is not empty, or the filled cell has a hole")
	}
	quads := appendText(nil, 10, 20, 2, colorText, "a b\nc")
	places := []image.Rectangle{image.Rect(10, 20, 24, 46), image.Rect(38, 20, 52, 46), image.Rect(10, 50, 24, 76)}
	for i, letter := range []rune("abc") {
		if len(quads) != 3 || quads[i].Screen != places[i] || quads[i].Atlas != cellOf(int(letter-' ')) {
			t.Fatalf("quads of the text are %v", quads)
		}
	}
	if got := Printable("a\x1b[2J\u202e\n<script>", 40); got != "a\ufffd[2J\ufffd\ufffd<script>" {
		t.Errorf("a hostile name is shown as %q", got)
	}
	if got := Printable(strings.Repeat("x", 100), 10); got != "xxxxxxx..." {
		t.Errorf("a long name is shown as %q", got)
	}
}

// fallingBalls are worlds of a ball over a post: the ball of world w is w/2 − 1 metres above it.
func fallingBalls(t *testing.T, worlds int) (*batch.Bodies, *batch.Worlds) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.5}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}},
		[]string{"ball", "post"})
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{Bodies: []int32{0, 1}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for i := range worlds {
		w.Poses = append(w.Poses, 0, 0, 1.5+float64(i)/2-1, 1, 0, 0, 0)
		w.Poses = append(w.Poses, 0, 0, 0, 1, 0, 0, 0)
	}
	return batch.BodiesOfShapes(lib), w
}

func newApp(t *testing.T, d *Document) *App {
	t.Helper()
	live := NewLive(engine(t), d, rollout.Options{})
	t.Cleanup(func() { live.Close() })
	return New(d, live, d.First, 800, 600)
}

func advance(t *testing.T, a *App, seconds float64) {
	t.Helper()
	if err := a.Advance(context.Background(), seconds); err != nil {
		t.Fatal(err)
	}
}

// TestWorldsLive: the engine's answers make the colors: worlds 0 and 1 are in contact, world 2 touches, 3 is clear.
func TestWorldsLive(t *testing.T) {
	bodies, w := fallingBalls(t, 4)
	a := newApp(t, &Document{Title: "balls", Bodies: bodies, Worlds: w})
	a.Press("2")
	advance(t, a, 0)
	places := make([]Class, 2)
	for cell, want := range []Class{Contact, Contact, Contact, Clear} {
		if a.classes(cell, places); places[0] != want || places[1] != want {
			t.Errorf("world %d has the classes %v, want %d", cell, places, want)
		}
	}
	f := a.Draw()
	red, others := 0, 0
	for _, b := range f.Passes[0].Batches {
		for _, i := range b.Instances {
			if i.Color == Contact.Color() {
				red++
			} else {
				others++
			}
		}
	}
	if red != 6 || others != 2 || f.Instances() != 8 {
		t.Errorf("%d red and %d other instances of %d, want 6 and 2 of 8", red, others, f.Instances())
	}
	a.Press("1")
	a.Select(3)
	advance(t, a, 0)
	x := a.Answer()
	if x == nil || x.Status != "separated" || math.Abs(x.Distance-0.5) > x.Gap || !x.Points || x.Row != 3 {
		t.Fatalf("the answer of world 3 is %+v, want a distance of 0.5", x)
	}
	if want := "distance 0.5 +/- "; !strings.Contains(a.Info(), want) || !strings.Contains(a.Info(), "A ball, B post") {
		t.Errorf("the text is %q, want %q and the names in it", a.Info(), want)
	}
}

// TestPick: a click on the ball, and on the post below it, in one world and in the grid; beside them nothing is hit.
func TestPick(t *testing.T) {
	bodies, w := fallingBalls(t, 9)
	a := newApp(t, &Document{Title: "balls", Bodies: bodies, Worlds: w})
	a.Select(4)
	advance(t, a, 0)
	for k, p := range []r3.Vec{{Z: 2.5}, {Z: 0.2}} {
		x, y, _ := a.fit().Project(p, a.Width, a.Height)
		if cell, place, ok := a.Hit(x, y); !ok || cell != 4 || place != int32(k) {
			t.Errorf("pixel %g, %g of %v hits body %d of world %d, %v", x, y, p, place, cell, ok)
		}
	}
	if _, _, ok := a.Hit(2, 2); ok {
		t.Error("a body is hit in the corner")
	}
	a.Press("2")
	advance(t, a, 0)
	at := r3.Add(a.grid().Center(7), r3.Sub(r3.Vec{Z: 4}, a.cellCenter(7)))
	x, y, _ := a.fit().Project(at, a.Width, a.Height)
	a.Click(x, y)
	advance(t, a, 0)
	if a.View != CellView || a.Cell != 7 || a.Body != 0 {
		t.Errorf("a click on the ball of world 7 shows view %d, world %d, body %d", a.View, a.Cell, a.Body)
	}
}

// TestPickPairs: clicks on one body, then another, select their pair among all pairs.
func TestPickPairs(t *testing.T) {
	bodies, _ := fallingBalls(t, 1)
	w := &batch.Worlds{Bodies: []int32{0, 0, 0}, AllPairs: true}
	for _, x := range []float64{0, 1.2, 3} {
		w.Poses = append(w.Poses, x, 0, 0, 1, 0, 0, 0)
	}
	a := newApp(t, &Document{Title: "balls", Bodies: bodies, Worlds: w})
	advance(t, a, 0)
	click := func(x float64) [2]int32 {
		px, py, _ := a.fit().Project(r3.Vec{X: x}, a.Width, a.Height)
		a.Click(px, py)
		advance(t, a, 0)
		return [2]int32{a.Answer().A, a.Answer().B}
	}
	if got := click(3); got != [2]int32{1, 2} {
		t.Errorf("the nearest pair of the third ball is %v", got)
	}
	if got := click(1.2); got != [2]int32{1, 2} {
		t.Errorf("the pair of the third ball and the second is %v", got)
	}
	a.Body = -1
	if got := click(0); got != [2]int32{0, 1} {
		t.Errorf("the nearest pair of the first ball is %v", got)
	}
}

// TestMotion: a ball that moves to a post by three way points; at a time the pose lies between two of them, contacts
// appear live, and stored answers make one from the time of the first contact on.
func TestMotion(t *testing.T) {
	bodies, _ := fallingBalls(t, 1)
	dir := t.TempDir()
	m := &batch.Motions{Bodies: []int32{0, 1}, T: 3, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for _, z := range []float64{4, 3, 1} {
		m.Poses = append(m.Poses, 0, 0, z, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0)
	}
	shapes, motions, results := filepath.Join(dir, "s.json"), filepath.Join(dir, "m.npz"), filepath.Join(dir, "r.npz")
	stored := batch.NewSweepResults(1)
	stored.State[0], stored.T0[0], stored.T1[0], stored.Closest[0] = uint8(batch.SweepContact), 1.75, 1.75, 1.75
	stored.PartA[0], stored.PartB[0] = 0, 0
	stored.Upper[0] = 0
	for _, err := range []error{dataset.WriteBodies(shapes, bodies), dataset.WriteMotions(motions, m, bodies),
		dataset.WriteSweepResults(results, stored, 1, 3, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"", results} {
		d, err := Open(Files{Shapes: shapes, Motions: motions, Results: file})
		if err != nil {
			t.Fatal(err)
		}
		a := newApp(t, d)
		a.Press("2")
		a.Press("space")
		places := make([]Class, 2)
		for _, c := range []struct{ seconds, z float64 }{{0.5, 3.5}, {1, 2}, {0.2, 1.6}, {0.1, 1.4}, {5, 1}} {
			advance(t, a, c.seconds)
			if z := d.Worlds.Poses[2]; math.Abs(z-c.z) > 1e-12 {
				t.Errorf("at %g the ball is at %g, want %g", a.Time, z, c.z)
			}
			want := Clear
			if c.z <= 1.5 {
				want = Contact
			}
			if a.classes(0, places); places[0] != want {
				t.Errorf("results %q, time %g: class %d, want %d", file, a.Time, places[0], want)
			}
		}
		if a.Playing || a.Time != 2 {
			t.Errorf("at the end of the time line it plays on: %v, %g", a.Playing, a.Time)
		}
	}
}

// TestPairsOfFiles: a range of rows with results; an undecided row is yellow, an invalid one is not drawn as clear.
// Wrong input is refused by name.
func TestPairsOfFiles(t *testing.T) {
	bodies, _ := fallingBalls(t, 1)
	dir := t.TempDir()
	shapes, pairs := filepath.Join(dir, "s.json"), filepath.Join(dir, "p.parquet")
	results := filepath.Join(dir, "r.parquet")
	p := batch.NewPairs(10)
	for i := range 10 {
		p.SetRow(i, &batch.Row{ShapeA: 0, ShapeB: 1, PoseA: geom.Translate(0, 0, 1.5+float64(i)),
			PoseB: geom.IdentityPose()})
	}
	r := batch.NewResults(10, &batch.Options{})
	for i := range 10 {
		z := float64(i)
		r.Put(i, &batch.Answer{Status: batch.Separated, Distance: z, Lower: z - 1e-7, Upper: z + 1e-7,
			Normal: r3.Vec{Z: -1}})
	}
	r.PutFailure(7, batch.Undecided)
	r.PutFailure(8, batch.Invalid)
	writer, err := dataset.CreateResults(results, r.Columns, r.Precision, 10)
	if err == nil {
		if err = writer.Write(r); err == nil {
			err = writer.Close()
		}
	}
	for _, err := range []error{err, dataset.WriteBodies(shapes, bodies), dataset.WritePairs(pairs, p)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(Files{Shapes: shapes, Pairs: pairs, Results: results, First: 7, Count: 4})
	if err != nil {
		t.Fatal(err)
	}
	if d.First != 4 || d.Count() != 4 {
		t.Fatalf("rows %d to %d are in memory, want 4 to 7", d.First, d.First+d.Count()-1)
	}
	a := New(d, nil, 7, 800, 600)
	advance(t, a, 0)
	if x := a.Answer(); a.Cell != 3 || x == nil || x.Row != 7 || x.Class != Undecided || x.Points {
		t.Fatalf("cell %d has the answer %+v, want undecided row 7", a.Cell, x)
	}
	if f := a.Draw(); f.Passes[0].Batches[0].Instances[0].Color != Undecided.Color() {
		t.Error("the shapes of an undecided row are not yellow")
	}
	a.Press("left")
	advance(t, a, 0)
	if x := a.Answer(); x.Row != 6 || x.Distance != 6 {
		t.Errorf("the answer before it is %+v", x)
	}
	if a.Press("n"); a.Cell != 3 {
		t.Errorf("the next row without an answer is that of cell %d, want 3", a.Cell)
	}
	for _, c := range []struct {
		f    Files
		want string
	}{
		{Files{}, "--shapes"}, {Files{Shapes: shapes}, "want one"},
		{Files{Shapes: shapes, Pairs: pairs, Worlds: pairs}, "want one"},
		{Files{Shapes: shapes, Pairs: pairs, First: 10}, "row 10 of " + pairs},
		{Files{Shapes: shapes, Pairs: pairs, First: -1}, "at least 0"},
		{Files{Shapes: shapes, Worlds: pairs}, pairs},
		{Files{Shapes: shapes, Pairs: filepath.Join(dir, "none.npz")}, "none.npz"},
	} {
		if _, err := Open(c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error with %q", c.f, err, c.want)
		}
	}
}

// TestSteps: the trace of the pair ends at the answer, its bounds contain it, and the difference contains the vertices
// of its simplices.
func TestSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	lib, err := batch.NewLibrary([]geom.Shape{testkit.Hull(rng, r3.Vec{X: 1, Y: 1, Z: 1}, 30),
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 0.6, Z: 0.3}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, apart := range []float64{2.5, 1} {
		pairs := batch.NewPairs(1)
		pose := testkit.Pose(rng, 0)
		pose.Position = r3.Vec{X: 100 + apart, Y: 20}
		pairs.SetRow(0, &batch.Row{ShapeA: 0, ShapeB: 1, PoseA: geom.Translate(100, 20, 0), PoseB: pose})
		a := newApp(t, &Document{Title: "pair", Rows: true, Bodies: batch.BodiesOfShapes(lib),
			Worlds: PairWorlds(pairs)})
		a.Press("3")
		advance(t, a, 0)
		x, s := a.Answer(), a.Steps
		if s == nil || x == nil || len(s.Trace.Steps) < 3 {
			t.Fatalf("answer %+v has the steps %+v (%s)", x, s, a.Message)
		}
		last := &s.Trace.Steps[len(s.Trace.Steps)-1]
		if s.At != len(s.Trace.Steps)-1 || last.Solver != "answer" {
			t.Errorf("step %d of %d is shown first, and the last is of %s", s.At, len(s.Trace.Steps), last.Solver)
		}
		lower, upper := s.Bounds()
		if !(lower <= x.Distance+x.Gap && upper >= x.Distance-x.Gap && upper-lower < 1e-6) {
			t.Errorf("bounds %g to %g of the distance %g within %g", lower, upper, x.Distance, x.Gap)
		}
		for i := range s.Trace.Steps {
			for _, v := range s.Trace.Steps[i].Simplex {
				y := r3.Sub(vec(v.A), vec(v.B))
				if off := r3.Norm(r3.Sub(y, s.Difference.Center)); off > s.Difference.Radius*(1+1e-9) {
					t.Errorf("step %d: a vertex is %g from the center of the difference, of radius %g", i, off,
						s.Difference.Radius)
				}
			}
		}
		if f := a.Draw(); len(f.Passes) != 2 || len(f.Passes[1].Points) < 2 {
			t.Errorf("%d passes are drawn, want the bodies and the difference", len(f.Passes))
		}
		text := a.Info()
		a.Press("up")
		if a.Info() == text || a.Steps.At != len(s.Trace.Steps)-2 {
			t.Errorf("after a step back the text is the same: %q", text)
		}
		a.Press("home")
		if a.Steps.At != 0 {
			t.Errorf("home leads to step %d", a.Steps.At)
		}
	}
}

// TestGrowthSteps: next to stored growth distances the steps are those of the growth distance, and end at the stored
// factor.
func TestGrowthSteps(t *testing.T) {
	bodies, _ := fallingBalls(t, 1)
	dir := t.TempDir()
	shapes, pairs, results := filepath.Join(dir, "s.json"), filepath.Join(dir, "p.npz"), filepath.Join(dir, "r.npz")
	p := batch.NewPairs(1)
	p.SetRow(0, &batch.Row{ShapeA: 0, ShapeB: 1, PoseA: geom.Translate(0, 0, 2.5), PoseB: geom.IdentityPose()})
	o := &batch.Options{Query: batch.Growth, Precision: batch.Double}
	r := batch.NewResults(1, o)
	lib := bodies.Library()
	run, err := rowtrace.Of(&batch.Job{Library: lib, Input: p, Options: *o}, 0)
	if err != nil {
		t.Fatal(err)
	}
	factor := float64(run.Value)
	r.Put(0, &batch.Answer{Status: batch.Separated, Distance: factor, Lower: float64(run.Lower),
		Upper: float64(run.Upper), Normal: r3.Vec{Z: -1}})
	writer, err := dataset.CreateResults(results, r.Columns, r.Precision, 1)
	if err == nil {
		writer.Describe(score.MetaQuery, batch.Growth.String())
		if err = writer.Write(r); err == nil {
			err = writer.Close()
		}
	}
	for _, err := range []error{err, dataset.WriteBodies(shapes, bodies), dataset.WritePairs(pairs, p)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(Files{Shapes: shapes, Pairs: pairs, Results: results})
	if err != nil {
		t.Fatal(err)
	}
	a := New(d, nil, 0, 800, 600)
	a.Press("3")
	advance(t, a, 0)
	if a.Steps == nil {
		t.Fatalf("there are no steps: %s", a.Message)
	}
	lower, upper := a.Steps.Bounds()
	if !(lower <= factor && factor <= upper && upper-lower < 1e-9) {
		t.Errorf("bounds %g to %g of the factor %g", lower, upper, factor)
	}
	if want := " <= growth factor <= "; !strings.Contains(a.Steps.Text(), want) {
		t.Errorf("the text is %q, want %q in it", a.Steps.Text(), want)
	}
	if f := a.Draw(); len(f.Passes) != 2 || len(f.Passes[1].Points) < 2 {
		t.Errorf("%d passes are drawn, want the bodies and the difference", len(f.Passes))
	}
	if a.Press("m"); a.Steps == nil || !strings.Contains(a.Message, "no choice of methods") {
		t.Errorf("another method of a growth distance: %q", a.Message)
	}
}

// TestSimulation: bodies fall to the ground and stay above it; back at the beginning they stand where they stood.
func TestSimulation(t *testing.T) {
	scene, state, err := scenes.Simulation("stack4", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	h := engine(t)
	d, err := Simulate(h, "stack", scene, state, 5e-3)
	if err != nil {
		t.Fatal(err)
	}
	a := New(d, NewLive(h, d, rollout.Options{}), 0, 400, 300)
	t.Cleanup(func() { a.Live.Close() })
	first := slices.Clone(d.Worlds.Poses)
	a.Press("2")
	a.Press("space")
	for range 4 {
		advance(t, a, 0.01)
	}
	if slices.Equal(first, d.Worlds.Poses) || math.Abs(a.Time-0.04) > 1e-12 {
		t.Errorf("after %g s nothing has moved", a.Time)
	}
	a.Press("home")
	if a.Message != "" || !slices.Equal(first, d.Worlds.Poses) || a.Time != 0 {
		t.Errorf("back at %g the poses are not those of the beginning %s", a.Time, a.Message)
	}
}

// TestKeys: names are unique, each is on the screen, and none fails without answers, results or motion.
func TestKeys(t *testing.T) {
	bodies, w := fallingBalls(t, 2)
	a := New(&Document{Bodies: bodies, Worlds: w}, nil, 0, 400, 300)
	seen := map[string]bool{}
	for _, k := range Keys() {
		if seen[k.Name] || !strings.Contains(keysText(), k.Name) || k.Help == "" {
			t.Errorf("key %q is there twice, not on the screen, or not explained", k.Name)
		}
		seen[k.Name] = true
		if got := a.Press(k.Name); (got == Quit) != (k.Name == "q") || (got == Screenshot) != (k.Name == "p") {
			t.Errorf("key %q has action %d", k.Name, got)
		}
		advance(t, a, 0)
		a.Draw()
	}
	if a.Press("no key") != NoAction {
		t.Error("an unknown key does something")
	}
}

// TestPage: the page of the viewer lists each key with its text.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "clearview.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Keys() {
		if want := "| " + k.Name + " | " + k.Help + " |\n"; !strings.Contains(string(page), want) {
			t.Errorf("docs/clearview.md lacks %q", want)
		}
	}
}

// description has a cube of half-width 1 and a small hull above it, in two rows: separated by 0.5, with a trace, and in
// contact, with a point of contact.
func description(worlds bool) *scenefile.Document {
	cube := scenefile.Shape{Name: "cube", Kind: "box"}
	for i := range 8 {
		for k := range 3 {
			cube.Points = append(cube.Points, float64(i>>k&1*2-1))
		}
	}
	diamond := scenefile.Shape{Name: "<b>", Kind: "ellipsoid", Points: scenefile.Numbers{0.5, 0, 0, -0.5, 0, 0,
		0, 0.5, 0, 0, -0.5, 0, 0, 0, 0.5, 0, 0, -0.5}}
	part := func(i int) []scenefile.Part {
		return []scenefile.Part{{Shape: i, Pose: [7]float64{0, 0, 0, 1, 0, 0, 0}}}
	}
	vertex := &scenefile.Vertex{A: [3]float64{0, 0, 1.5}, B: [3]float64{0, 0, 1}}
	nan := scenefile.Number(math.NaN())
	d := &scenefile.Document{Title: "two rows", Value: "distance", Statuses: []string{"separated", "penetrating"},
		Shapes: []scenefile.Shape{cube, diamond},
		Bodies: []scenefile.Body{{Name: "cube", Parts: part(0)}, {Name: "<b>", Parts: part(1)}},
		Rows: scenefile.Rows{Count: 2, Row: scenefile.Integers{7, 40}, Status: scenefile.Integers{0, 1},
			BodyA: scenefile.Integers{1, 1}, BodyB: scenefile.Integers{0, 0},
			PoseA: scenefile.Numbers{0, 0, 2, 1, 0, 0, 0, 0, 0, 1.25, 1, 0, 0, 0},
			PoseB: scenefile.Numbers{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0},
			Value: scenefile.Numbers{0.5, -0.25}, Gap: scenefile.Numbers{0, 0},
			Normal: scenefile.Numbers{0, 0, -1, 0, 0, -1}, WitnessA: scenefile.Numbers{0, 0, 1.5, 0, 0, 0.75},
			WitnessB:     scenefile.Numbers{0, 0, 1, 0, 0, 1},
			ContactBegin: scenefile.Integers{0, 0, 1}, ContactPoint: scenefile.Numbers{0, 0, 0.9},
			ContactNormal: scenefile.Numbers{0, 0, -1}, ContactGap: scenefile.Numbers{-0.25}},
		Traces: []scenefile.Trace{{Row: 0, Method: "gjk", Status: "separated", Value: 0.5, Lower: 0.5, Upper: 0.5,
			Evaluations: 1, Steps: []scenefile.Step{
				{Solver: "gjk", Evaluation: 1, Direction: [3]float64{0, 0, -1}, Support: vertex, Gradient: nan,
					Region: nan, Lower: 0.4, Upper: scenefile.Number(math.Inf(1))},
				{Solver: "answer", Evaluation: 1, Direction: [3]float64{0, 0, -1}, Witnesses: vertex, Gradient: nan,
					Region: nan, Lower: 0.5, Upper: 0.5}}}},
	}
	if worlds {
		d.TimeUnit = "s"
		d.Worlds = []scenefile.World{
			{World: 3, Bodies: scenefile.Integers{0}, Times: scenefile.Numbers{1},
				Poses: scenefile.Numbers{0, 0, 0, 1, 0, 0, 0}},
			{World: 4, Bodies: scenefile.Integers{0, 1}, Times: scenefile.Numbers{1, 3}, Poses: scenefile.Numbers{
				0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0}}}
		d.Rows.World = scenefile.Integers{1, 1}
		d.Rows.PlaceA, d.Rows.PlaceB = scenefile.Integers{1, 1}, scenefile.Integers{0, 0}
	}
	return d
}

func reread(t *testing.T, d *scenefile.Document) *Document {
	t.Helper()
	var b bytes.Buffer
	if err := scenefile.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	got, err := readScene(&b)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestDescription: rows of a scene description have their names, answers, points of contact and traces.
func TestDescription(t *testing.T) {
	a := New(reread(t, description(false)), nil, 0, 800, 600)
	a.Press("3")
	advance(t, a, 0)
	x := a.Answer()
	if x == nil || x.Row != 7 || x.Status != "separated" || x.Distance != 0.5 || x.Gap != 0 || a.Steps == nil {
		t.Fatalf("row 7 is %+v, its steps %+v", x, a.Steps)
	}
	text := a.Info()
	if !strings.Contains(text, "A <b>, B cube: row 7") || !strings.Contains(text, "step 2 of 2: answer") {
		t.Errorf("the text is %q", text)
	}
	a.Press("up")
	if lower, upper := a.Steps.Bounds(); lower != 0.4 || !math.IsInf(upper, 1) {
		t.Errorf("the first step proves %g to %g, want 0.4 to infinity", lower, upper)
	}
	a.Press("right")
	advance(t, a, 0)
	if x := a.Answer(); x.Row != 40 || x.Class != Contact || a.Steps != nil {
		t.Errorf("row 40 is %+v, with steps %+v", x, a.Steps)
	}
	red := 0
	for _, p := range a.Draw().Passes[0].Points {
		if p.Color == Contact.Color() {
			red++
		}
	}
	if red != 3 { // both witnesses and a point of the manifold
		t.Errorf("%d red points, want 3", red)
	}
}

// TestDescriptionOfWorlds: worlds of different sizes and times; a row is that of its world.
func TestDescriptionOfWorlds(t *testing.T) {
	d := reread(t, description(true))
	a := New(d, nil, 0, 800, 600)
	a.Press("2")
	for _, c := range []struct{ at, z float64 }{{0, 2}, {0.5, 1.75}, {2, 1}, {9, 1}} {
		if err := a.Seek(c.at); err != nil {
			t.Fatal(err)
		}
		if z := d.Worlds.Poses[7*3+2]; math.Abs(z-c.z) > 1e-12 {
			t.Errorf("at %g the body is at %g, want %g", c.at, z, c.z)
		}
	}
	advance(t, a, 0)
	places := make([]Class, 2)
	for cell, want := range []string{"[1 1]", "[2 2]"} {
		if a.classes(cell, places); fmt.Sprint(places) != want {
			t.Errorf("world %d has the classes %v, want %s", cell, places, want)
		}
	}
	if n := a.Draw().Instances(); n != 3 {
		t.Errorf("%d instances, want 3", n)
	}
	a.Press("1")
	a.Select(1)
	advance(t, a, 0)
	if len(a.Answers) != 2 || a.Answer().Row != 40 {
		t.Errorf("world 1 has the answers %+v", a.Answers)
	}
}
