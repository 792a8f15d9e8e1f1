package picture

import (
	"bytes"
	"context"
	"image"
	"image/gif"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/scenefile"
	"clearance/internal/tessellate"
)

// pointsOf are the vertices of the mesh of a shape, as a description has them.
func pointsOf(t testing.TB, s geom.Shape) (out scenefile.Numbers) {
	t.Helper()
	m, err := tessellate.Shape(s, tessellate.Fine)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range m.Vertices {
		out = append(out, v.X, v.Y, v.Z)
	}
	return out
}

func pose(x, y, z float64) []float64 { return []float64{x, y, z, 1, 0, 0, 0} }

// twoBodies is a description of one row: a ball of radius 0.5 at the origin and a unit cube, with their distance.
func twoBodies(t testing.TB, at []float64) *scenefile.Document {
	t.Helper()
	gap := at[0] - 1
	d := &scenefile.Document{
		Value: "distance", Statuses: []string{"separated", "penetrating", "undecided"},
		Shapes: []scenefile.Shape{{Kind: "sphere", Points: pointsOf(t, geom.Sphere{R: 0.5})},
			{Kind: "box", Points: pointsOf(t, geom.Box{HalfExtents: r3.Vec{X: 0.5, Y: 0.5, Z: 0.5}})}},
		Bodies: []scenefile.Body{{Name: "ball", Parts: []scenefile.Part{{Pose: [7]float64(pose(0, 0, 0))}}},
			{Name: "cube", Parts: []scenefile.Part{{Shape: 1, Pose: [7]float64(pose(0, 0, 0))}}}},
	}
	d.Rows = scenefile.Rows{Count: 1, Row: scenefile.Integers{0}, Status: scenefile.Integers{0},
		BodyA: scenefile.Integers{0}, BodyB: scenefile.Integers{1}, PoseA: pose(0, 0, 0), PoseB: at,
		Value: scenefile.Numbers{gap}, Gap: scenefile.Numbers{0}, Normal: scenefile.Numbers{1, 0, 0},
		WitnessA: scenefile.Numbers{0.5, 0, 0}, WitnessB: scenefile.Numbers{at[0] - 0.5, 0, 0}}
	if gap < 0 {
		d.Rows.Status[0] = 1
	}
	d.Format, d.Version = scenefile.Format, scenefile.Version
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	return d
}

// alone is a description of one body at the origin.
func alone(t testing.TB, s geom.Shape) *scenefile.Document {
	t.Helper()
	d := twoBodies(t, pose(2, 0, 0))
	d.Shapes[0] = scenefile.Shape{Kind: "convex", Points: pointsOf(t, s)}
	d.Rows.BodyB[0] = -1
	return d
}

func draw(t testing.TB, d *scenefile.Document, o Options) *image.NRGBA {
	t.Helper()
	m, err := Draw(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// covered is the number of pixels that differ from the background, by their share of difference from it at its rim.
func covered(m *image.NRGBA) (n int) {
	for i := 0; i < len(m.Pix); i += 4 {
		if [3]uint8(m.Pix[i:i+3]) != [3]uint8{encode(background[0]), encode(background[1]), encode(background[2])} {
			n++
		}
	}
	return n
}

// TestSilhouettes: a ball at the distance d from the eye is a disc of radius scale·R/√(d²-R²) pixels, and a cube seen
// along z a square of scale·side/(d-half) pixels: the areas agree up to the pixels of the rim, whose half counts.
func TestSilhouettes(t *testing.T) {
	o := Options{Width: 300, Height: 300, NoFloor: true, NoMarks: true}
	for _, radius := range []float64{1e-3, 0.5, 2e4} {
		d := alone(t, geom.Sphere{R: radius})
		m := draw(t, d, o)
		s, checked, err := prepared(d, o)
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.viewOf(&checked, []float64{0})
		if err != nil {
			t.Fatal(err)
		}
		l := lensOf(&v.camera, 300, 300)
		away := r3.Norm(v.camera.Eye())
		disc := l.scale * radius / math.Sqrt(away*away-radius*radius)
		want := math.Pi * disc * disc
		// Samples touch the rim within half a pixel; the polyhedron lies within 0.1 % of the ball.
		slack := 2*math.Pi*disc*0.75 + 0.004*want
		if got := float64(covered(m)); math.Abs(got-want) > slack {
			t.Errorf("ball of %g: %g pixels, want %g ± %g", radius, got, want, slack)
		}
	}
	up, around := 90.0, -90.0
	o.Elevation, o.Azimuth = &up, &around
	d := alone(t, geom.Box{HalfExtents: r3.Vec{X: 0.5, Y: 0.5, Z: 0.5}})
	s, checked, err := prepared(d, o)
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.viewOf(&checked, []float64{0})
	if err != nil {
		t.Fatal(err)
	}
	// The camera stands 1 degree off the vertical, so that a strip of a side is seen, too.
	l := lensOf(&v.camera, 300, 300)
	side := l.scale / (v.camera.Eye().Z - 0.5)
	strip := side * l.scale * math.Sin(math.Pi/180) / v.camera.Eye().Z
	if got := float64(covered(draw(t, d, o))); got < side*side-4*side || got > side*side+strip+4*side {
		t.Errorf("cube: %g pixels, want %g to %g", got, side*side, side*side+strip)
	}
}

// TestNearestIsSeen: of two bodies on a line of sight the nearer one is drawn.
func TestNearestIsSeen(t *testing.T) {
	d := twoBodies(t, pose(2, 0, 0))
	red, blue := &[3]float64{1, 0, 0}, &[3]float64{0, 0, 1}
	level := 0.0
	for _, c := range []struct {
		azimuth  float64
		dominant int
	}{{0, 2}, {180, 0}} { // from the side of the cube, and of the ball
		o := Options{Width: 100, Height: 100, Elevation: &level, Azimuth: &c.azimuth, Colors: []*[3]float64{red, blue},
			NoMarks: true, NoFloor: true}
		m := draw(t, d, o)
		p := m.NRGBAAt(50, 50)
		rgb := [3]uint8{p.R, p.G, p.B}
		if rgb[c.dominant] < 60 || rgb[2-c.dominant] > 30 {
			t.Errorf("azimuth %g: %v in the middle", c.azimuth, p)
		}
	}
}

// TestShadow: the floor is darker where the ray to the sun meets the ball than in the open at the same distance.
func TestShadow(t *testing.T) {
	d := alone(t, geom.Sphere{R: 0.5})
	s, o, err := prepared(d, Options{Width: 200, Height: 200})
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.viewOf(&o, []float64{0})
	if err != nil {
		t.Fatal(err)
	}
	sun := sunOf(v.camera.Yaw)
	solids, _ := s.solids(s.items(0, 0))
	shadow, err := newShadow(context.Background(), 1, 512, solids, sun, v.center, v.radius)
	if err != nil {
		t.Fatal(err)
	}
	below := r3.Sub(r3.Vec{}, r3.Scale(0.9/sun.Z, sun)) // on the line through the center, under the ball
	if got := shadow.light(below, r3.Vec{Z: 1}); got != 0 {
		t.Errorf("light %g in the shadow", got)
	}
	if got := shadow.light(r3.Vec{X: 2 * sun.X, Y: 2 * sun.Y, Z: -0.5}, r3.Vec{Z: 1}); got != 1 {
		t.Errorf("light %g towards the sun", got)
	}
	for _, dir := range []r3.Vec{{Z: 1}, sun, r3.Unit(r3.Add(sun, r3.Vec{Z: 0.5}))} { // no acne
		if got := shadow.light(r3.Scale(0.5, dir), dir); got != 1 {
			t.Errorf("light %g on the side of the sun, in direction %v", got, dir)
		}
	}
}

// TestMarks: a distance is a segment of the color of its sign, and bodies in contact are red.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		x     float64
		color [3]float64
		text  string
	}{{2.5, separatedColor, "1.50 m"}, {0.9, contactColor, "\u2212100 mm"}} {
		d := twoBodies(t, pose(c.x, 0, 0))
		o := Options{Width: 480, Height: 600} // of which a segment is wider than two pixels
		s, checked, err := prepared(d, o)
		if err != nil {
			t.Fatal(err)
		}
		marks := s.marks(&checked, 0)
		if len(marks) != 1 || marks[0].label != c.text || marks[0].color != c.color {
			t.Fatalf("%g: marks %+v", c.x, marks)
		}
		m := draw(t, d, o)
		v, err := s.viewOf(&checked, []float64{0})
		if err != nil {
			t.Fatal(err)
		}
		x, y, _ := v.camera.Project(r3.Scale(0.5, r3.Add(marks[0].from, marks[0].to)), 480, 600)
		if got, want := m.NRGBAAt(int(x), int(y)), colorOf(c.color); got != want {
			t.Errorf("%g: color %v in the middle of the segment, want %v", c.x, got, want)
		}
		if o.NoMarks = true; bytes.Equal(m.Pix, draw(t, d, o).Pix) {
			t.Errorf("%g: a picture without distances is the same", c.x)
		}
	}
}

func TestLengths(t *testing.T) {
	for x, want := range map[float64]string{0.0123456: "12.3 mm", -0.0005: "\u22120.50 mm", 12.34: "12.3 m",
		2: "2.00 m", 0.4567: "457 mm", math.NaN(): "", math.Inf(1): "", 0: "0.00 mm", 1234.5: "1230 m",
		0.09999: "100 mm"} {
		if got := lengthText(x); got != want {
			t.Errorf("%g: %q, want %q", x, got, want)
		}
	}
}

// TestWorkers: the same input gives the same bytes, whatever the number of workers.
func TestWorkers(t *testing.T) {
	d := twoBodies(t, pose(1.2, 0.1, 0.3))
	o := Options{Width: 90, Height: 70, Workers: 1}
	want := draw(t, d, o)
	o.Workers = 7
	if !bytes.Equal(draw(t, d, o).Pix, want.Pix) {
		t.Error("other pixels by seven workers")
	}
	file, err := PNG(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(file))
	if err != nil || m.Bounds() != image.Rect(0, 0, 90, 70) {
		t.Fatal(m.Bounds(), err)
	}
	pixels, err := Pixels(context.Background(), d, o)
	if err != nil || len(pixels) != 3*90*70 {
		t.Fatal(len(pixels), err)
	}
	for i := range 90 * 70 {
		r, g, b, _ := m.At(i%90, i/90).RGBA()
		if want := []byte{byte(r >> 8), byte(g >> 8), byte(b >> 8)}; !bytes.Equal(pixels[3*i:3*i+3], want) {
			t.Fatalf("pixel %d: %v, and %v in the file", i, pixels[3*i:3*i+3], want)
		}
	}
}

// moving is a ball that falls by 1 m in 1 s beside a cube, with four times.
func moving(t testing.TB) *scenefile.Document {
	d := twoBodies(t, pose(1.5, 0, 0))
	w := scenefile.World{Bodies: scenefile.Integers{0, 1, -1}, Times: scenefile.Numbers{0, 0.25, 0.5, 1}}
	for _, time := range w.Times {
		w.Poses = append(w.Poses, pose(0, 0, -time)...)
		w.Poses = append(w.Poses, 1.5, 0, 0, math.Cos(time), 0, 0, math.Sin(time))
		w.Poses = append(w.Poses, make([]float64, 7)...)
	}
	d.Worlds, d.TimeUnit = []scenefile.World{w}, "s"
	d.Rows.World, d.Rows.Time = scenefile.Integers{0}, scenefile.Numbers{0.5}
	d.Rows.PlaceA, d.Rows.PlaceB = scenefile.Integers{0}, scenefile.Integers{1}
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestInterpolation: between two times a position moves along a line, a rotation about a fixed axis.
func TestInterpolation(t *testing.T) {
	s, _, err := prepared(moving(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, time := range []float64{-1, 0, 0.1, 0.25, 0.6, 1, 3} {
		in := min(max(time, 0), 1)
		items := s.items(0, time)
		if len(items) != 3 || items[2].body != -1 {
			t.Fatal(items)
		}
		if p := items[0].pose.Position; math.Abs(p.Z+in) > 1e-12 {
			t.Errorf("%g: z = %g", time, p.Z)
		}
		if q := items[1].pose.Rotation; math.Hypot(q.Real-math.Cos(in), q.Kmag-math.Sin(in)) > 1e-12 {
			t.Errorf("%g: rotation %v", time, q)
		}
	}
}

// TestFilm: a film has a frame of each time. Played, its frames are those of Frames in the colors of its palette; the
// mean error of the palette is a few of 255 levels.
func TestFilm(t *testing.T) {
	d := moving(t)
	o := Options{Width: 96, Height: 64, FrameTime: 0.1, Times: []float64{0, 0.25, 0.4, 0.5, 0.5, 1}}
	file, err := Film(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gif.DecodeAll(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	frames, err := Frames(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Image) != 6 || g.LoopCount != 0 || !slices.Equal(g.Delay, []int{10, 10, 10, 10, 10, 10}) {
		t.Fatalf("%d frames, %d loops, delays %v", len(g.Image), g.LoopCount, g.Delay)
	}
	if b := g.Image[4].Rect; b.Dx() != 1 || b.Dy() != 1 {
		t.Errorf("a frame like the one before changes %v", b)
	}
	shown := image.NewNRGBA(frames[0].Rect)
	for i, m := range g.Image {
		for y := m.Rect.Min.Y; y < m.Rect.Max.Y; y++ {
			for x := m.Rect.Min.X; x < m.Rect.Max.X; x++ {
				if _, _, _, a := m.At(x, y).RGBA(); a != 0 {
					shown.Set(x, y, m.At(x, y))
				}
			}
		}
		off := 0.0
		for k := range shown.Pix {
			off += math.Abs(float64(shown.Pix[k])-float64(frames[i].Pix[k])) / float64(len(shown.Pix))
		}
		if off > 3 {
			t.Errorf("frame %d: off by %.2f levels", i, off)
		}
	}
	o.Times = nil
	if file, err = Film(context.Background(), d, o); err != nil {
		t.Fatal(err)
	}
	if g, err = gif.DecodeAll(bytes.NewReader(file)); err != nil || len(g.Image) != 4 {
		t.Errorf("%d frames of a world of 4 times: %v", len(g.Image), err)
	}
}

// TestHalfspace: a half-space is drawn as the floor that it is: one that stands upright, too.
func TestHalfspace(t *testing.T) {
	d := alone(t, geom.Sphere{R: 0.5})
	d.Shapes[1] = scenefile.Shape{Kind: scenefile.Halfspace}
	d.Rows.BodyB[0], d.Rows.PoseB = 1, pose(0, 0, -0.8)
	s, o, err := prepared(d, Options{Width: 120, Height: 80, NoFloor: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, planes := s.solids(s.items(0, 0)); len(planes) != 1 || planes[0].Position.Z != -0.8 {
		t.Fatalf("planes %v", planes)
	}
	lying := draw(t, d, o)
	h := math.Sqrt(0.5)
	d.Rows.PoseB = []float64{0, 3, 0, h, h, 0, 0} // z of its frame is −y of the world
	standing := draw(t, d, o)
	if n := covered(lying); n < 120*80/2 {
		t.Errorf("%d pixels of a floor", n)
	}
	if bytes.Equal(lying.Pix, standing.Pix) {
		t.Error("a wall looks like a floor")
	}
}

// TestClipped: what reaches behind the eye is cut, not mirrored.
func TestClipped(t *testing.T) {
	l := lens{axes: [3]r3.Vec{{X: 1}, {Z: 1}, {Y: 1}}, width: 100, height: 100, scale: 50, near: 0.1}
	normals := []r3.Vec{{Z: 1}, {Z: 1}, {Z: 1}}
	floor := solid{vertices: []r3.Vec{{X: -50, Y: -50, Z: -1}, {X: 50, Y: -50, Z: -1}, {Y: 50, Z: -1}},
		normals: normals, triangles: [][3]int32{{0, 1, 2}}}
	seen := newSamples(100, 100, true)
	if err := seen.draw(context.Background(), 1, l.triangles([]solid{floor})); err != nil {
		t.Fatal(err)
	}
	for y, want := range map[int]int32{10: nothing, 40: nothing, 60: 0, 95: 0} {
		if got := seen.body[100*y+50]; got != want {
			t.Errorf("row %d: body %d, want %d", y, got, want)
		}
	}
	// At the row 99.5 the ray falls by 49.5 of 50: it meets the floor at a depth of 50/49.5.
	if got := 1 / float64(seen.nearness[100*99+50]); math.Abs(got-50/49.5) > 1e-5 {
		t.Errorf("depth %g", got)
	}
}

func TestRefused(t *testing.T) {
	d := twoBodies(t, pose(2, 0, 0))
	none := *d
	none.Rows = scenefile.Rows{}
	nan := math.NaN()
	for _, c := range []struct {
		d    *scenefile.Document
		o    Options
		want string
	}{
		{d, Options{Width: 8, Height: 600}, "8×600 pixels"}, {d, Options{Width: 600}, "600×0 pixels"},
		{d, Options{Row: 1}, "row 1 of 1"}, {&none, Options{}, "no rows and no worlds"},
		{d, Options{Zoom: -1}, "zoom"}, {d, Options{Azimuth: &nan}, "azimuth"},
		{d, Options{Labels: []string{"a", "b"}}, "2 labels of 1 rows"},
		{d, Options{Colors: make([]*[3]float64, 3)}, "3 colors of 2 bodies"},
	} {
		if _, err := Draw(context.Background(), c.d, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := Film(context.Background(), d, Options{}); err == nil || !strings.Contains(err.Error(), "0 frames") {
		t.Error(err)
	}
	if _, err := Film(context.Background(), moving(t), Options{Width: 32, Height: 32, FrameTime: 0.001}); err == nil {
		t.Error("a frame of a millisecond")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Draw(ended, d, Options{}); err == nil {
		t.Error("a picture after the context has ended")
	}
}
