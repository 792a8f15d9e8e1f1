//go:build !clearview || !cgo

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
	"clearance/internal/view"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// envPictures is the variable of the environment that names a folder into which the test copies pictures for the
// documents.
const envPictures = "CLEARANCE_PICTURES"

// A window is the command, built with its tag, on a display in memory.
type window struct {
	command string
	env     []string
	dir     string
}

// shotReport is the line that the command prints.
type shotReport struct {
	Device    string
	Instances int
	Triangles int
	Median    float64 `json:"median_ms"`
	Drawing   float64 `json:"median_draw_ms"`
	Time      float64
	Text      string
}

func newWindow(t *testing.T) *window {
	t.Helper()
	server, err := exec.LookPath("Xvfb")
	if err != nil {
		need.Display(t, "there is no Xvfb to draw on; install xvfb")
	}
	need.CC(t)
	w := &window{dir: t.TempDir()}
	w.command = filepath.Join(w.dir, "clearview")
	build := exec.Command("go", "build", "-tags", "clearview", "-o", w.command, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		for _, missing := range []string{"GL/gl.h", "X11/", "cannot find -l", "Package gl was not found"} {
			if strings.Contains(string(out), missing) {
				need.Display(t, "the headers of OpenGL or X11 are missing; install libgl1-mesa-dev and xorg-dev")
			}
		}
		t.Fatalf("go build -tags clearview: %v\n%s", err, out)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	x := exec.Command(server, "-displayfd", "3", "-screen", "0", "1280x1024x24", "-nolisten", "tcp")
	x.ExtraFiles = []*os.File{write}
	err = x.Start()
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Process.Kill(); x.Wait() })
	display, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb ended without a display: %v", err)
	}
	w.env = append(os.Environ(), "DISPLAY=:"+strings.TrimSpace(display), "LIBGL_ALWAYS_SOFTWARE=1")
	return w
}

// shot runs the command and returns its picture.
func (w *window) shot(t *testing.T, name string, args ...string) (image.Image, shotReport) {
	t.Helper()
	path := filepath.Join(w.dir, name+".png")
	run := exec.Command(w.command, append([]string{"--screenshot", path, "--backend", "cpu", "--size",
		"960x600"}, args...)...)
	run.Env = w.env
	var errors bytes.Buffer
	run.Stderr = &errors
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, errors.Bytes())
	}
	var r shotReport
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v prints %q: %v", args, out, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil || picture.Bounds() != image.Rect(0, 0, 960, 600) {
		t.Fatalf("%v writes a picture of %v: %v", args, picture.Bounds(), err)
	}
	if folder := os.Getenv(envPictures); folder != "" {
		save(t, filepath.Join(folder, "clearview-"+name+".png"), picture)
	}
	return picture, r
}

// save writes a picture for a document, with 16 shades of a component, which makes it smaller.
func save(t *testing.T, path string, p image.Image) {
	t.Helper()
	small := image.NewNRGBA(p.Bounds())
	for y := range p.Bounds().Dy() {
		for x := range p.Bounds().Dx() {
			r, g, b, _ := p.At(x, y).RGBA()
			shade := func(v uint32) uint8 { return uint8(min(v>>8+8, 255) / 16 * 17) }
			small.SetNRGBA(x, y, color.NRGBA{shade(r), shade(g), shade(b), 255})
		}
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, small); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// near reports whether a pixel has a color, to a share of it.
func near(p image.Image, x, y float64, want view.Color, within float64) bool {
	r, g, b, _ := p.At(int(x), int(y)).RGBA()
	for i, v := range []uint32{r, g, b} {
		if math.Abs(float64(v)/0xffff-float64(want[i])) > within {
			return false
		}
	}
	return true
}

// hue reports whether a pixel is a shade of a color: all three components are that color's by one factor from 0.3 to
// 1.05.
func hue(p image.Image, x, y float64, want view.Color) bool {
	r, g, b, _ := p.At(int(x), int(y)).RGBA()
	got := [3]float64{float64(r) / 0xffff, float64(g) / 0xffff, float64(b) / 0xffff}
	factor := got[0] / float64(want[0])
	for i := range 3 {
		if math.Abs(got[i]-factor*float64(want[i])) > 0.03 {
			return false
		}
	}
	return factor > 0.3 && factor < 1.05
}

// readLine reads a line of text of the panel in the left upper corner, glyph by glyph, by the font alone.
func readLine(p image.Image, line int) string {
	atlas := view.Atlas()
	const columns, first, last = 16, ' ', '~'
	dark := func(x, y int) bool {
		return color.GrayModel.Convert(p.At(x, y)).(color.Gray).Y < 128
	}
	var b strings.Builder
	for column := range 110 {
		left, top := 14+view.GlyphWidth*column, 14+(view.GlyphHeight+2)*line
		found := '?'
		for c := rune(first); c <= last && found == '?'; c++ {
			i := int(c - first)
			same := true
			for k := 0; k < view.GlyphWidth*view.GlyphHeight && same; k++ {
				dx, dy := k%view.GlyphWidth, k/view.GlyphWidth
				ink := atlas.AlphaAt(i%columns*view.GlyphWidth+dx, i/columns*view.GlyphHeight+dy).A > 0
				same = ink == dark(left+dx, top+dy)
			}
			if same {
				found = c
			}
		}
		b.WriteRune(found)
	}
	return strings.TrimRight(b.String(), " ?")
}

func readText(p image.Image) string {
	var lines []string
	for i := range 12 {
		lines = append(lines, readLine(p, i))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// files writes a ball of radius 0.5 m and a cube of half-width 1 m, ten pairs of them, and 1,000 worlds of ten bodies.
// The ball of pair i is at the distance (i−2)/4 m from the cube, but row 7 of the results is undecided and row 8
// invalid. In world w one of nine balls touches the cube with a depth of 0.25 m if w is a multiple of three, else none.
func files(t *testing.T, dir string) (shapes, pairs, results, worlds string) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.5}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}},
		[]string{"ball", "cube"})
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	shapes, pairs, results, worlds = path("shapes.json"), path("pairs.npz"), path("results.npz"), path("worlds.npz")
	p := batch.NewPairs(10)
	o := &batch.Options{Precision: batch.Double, Columns: batch.AllColumns}
	r := batch.NewResults(10, o)
	for i := range 10 {
		d := float64(i-2) / 4
		p.SetRow(i, &batch.Row{ShapeA: 0, ShapeB: 1, PoseA: geom.Translate(0, 0, 1.5+d), PoseB: geom.IdentityPose()})
		a := &batch.Answer{Status: batch.Separated, Distance: d, Lower: d - 1e-9, Upper: d + 1e-9,
			Normal: r3.Vec{Z: -1}, WitnessA: r3.Vec{Z: 1 + d}, WitnessB: r3.Vec{Z: 1},
			Iterations: 3, Solver: batch.SolverGJK}
		switch {
		case d < 0:
			a.Status = batch.Penetrating
		case d == 0:
			a.Status = batch.Touching
		}
		r.Put(i, a)
	}
	r.PutFailure(7, batch.Undecided)
	r.PutFailure(8, batch.Invalid)
	w := &batch.Worlds{Bodies: []int32{1, 0, 0, 0, 0, 0, 0, 0, 0, 0}}
	for k := range int32(9) {
		w.TemplateA, w.TemplateB = append(w.TemplateA, 0), append(w.TemplateB, k+1)
	}
	for i := range 1000 {
		w.Poses = append(w.Poses, 0, 0, 0, 1, 0, 0, 0)
		for k := range 9 {
			angle := 2 * math.Pi * float64(k) / 9
			radius, z := 3.0, 0.0
			if k == 4 && i%3 == 0 {
				radius, z = 0, 1.25
			}
			w.Poses = append(w.Poses, radius*math.Cos(angle), radius*math.Sin(angle), z, 1, 0, 0, 0)
		}
	}
	bodies := batch.BodiesOfShapes(lib)
	writer, err := dataset.CreateResults(results, r.Columns, r.Precision, 10)
	if err == nil {
		if err = writer.Write(r); err == nil {
			err = writer.Close()
		}
	}
	for _, err := range []error{err, dataset.WriteBodies(shapes, bodies), dataset.WritePairs(pairs, p),
		dataset.WriteRollout(worlds, w, bodies)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return shapes, pairs, results, worlds
}

// TestScreenshots: what pictures show, on Xvfb and a driver of the CPU: the pixel of a contact is red, an undecided row
// is yellow, 1,000 worlds have their colors and 10,000 instances, the text of a bound can be read, a click picks, and
// steps of a solver are drawn beside the Minkowski difference. CLEARANCE_PICTURES names a folder for the pictures.
func TestScreenshots(t *testing.T) {
	w := newWindow(t)
	shapes, pairs, results, worlds := files(t, w.dir)
	// pixel is where a point of a cell is drawn; it draws nothing itself.
	pixel := func(f view.Files, first int, keys []string, p r3.Vec) (x, y float64) {
		t.Helper()
		d, err := view.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		a := view.New(d, nil, first, 960, 600)
		for _, k := range keys {
			a.Press(k)
		}
		a.Draw()
		x, y, _ = a.Camera[a.View].Project(p, 960, 600)
		return x, y
	}
	of := view.Files{Shapes: shapes, Pairs: pairs, Results: results}
	contact := func(row int) (image.Image, shotReport) {
		return w.shot(t, []string{"contact", "", "touching", "", "separated", "", "", "undecided"}[row], "--shapes",
			shapes, "--pairs", pairs, "--results", results, "--row", string(rune('0'+row)), "--keys", "h")
	}
	t.Run("contact", func(t *testing.T) {
		p, r := contact(0) // the deepest point of the ball, 0.5 m inside of the cube
		x, y := pixel(of, 0, nil, r3.Vec{Z: 0.5})
		if !near(p, x, y, view.Contact.Color(), 0.02) {
			t.Errorf("pixel %g, %g of the contact is %v, want red", x, y, p.At(int(x), int(y)))
		}
		if !strings.Contains(r.Device, "llvmpipe") && !strings.Contains(r.Device, "softpipe") {
			t.Logf("drawn by %s", r.Device)
		}
		if r.Instances != 2 {
			t.Errorf("%d instances, want 2", r.Instances)
		}
	})
	t.Run("separated", func(t *testing.T) {
		p, r := contact(4)
		for _, z := range []float64{1, 1.5} { // both witnesses
			x, y := pixel(of, 4, nil, r3.Vec{Z: z})
			if near(p, x, y, view.Contact.Color(), 0.2) || !near(p, x, y, view.Color{0.12, 0.13, 0.15}, 0.02) {
				t.Errorf("pixel %g, %g of a witness is %v, want dark, and not red", x, y, p.At(int(x), int(y)))
			}
		}
		want := "separated, distance 0.5 +/- 1e-09 m"
		if text := readText(p); !strings.Contains(text, want) || !strings.Contains(text, "A ball, B cube: row 4") {
			t.Errorf("the picture says\n%s\nwant %q", text, want)
		}
		if !strings.Contains(r.Text, want) {
			t.Errorf("the report says %q, want %q", r.Text, want)
		}
	})
	t.Run("undecided", func(t *testing.T) {
		p, _ := contact(7)
		for _, z := range []float64{1.5 + 5.0/4, 0.3} {
			x, y := pixel(of, 7, nil, r3.Vec{Z: z})
			if !hue(p, x, y, view.Undecided.Color()) {
				t.Errorf("pixel %g, %g of a shape of an undecided row is %v, want yellow", x, y, p.At(int(x), int(y)))
			}
		}
		if text := readText(p); !strings.Contains(text, "undecided, no distance") {
			t.Errorf("the picture says\n%s", text)
		}
	})
	t.Run("grid", func(t *testing.T) {
		p, r := w.shot(t, "grid", "--shapes", shapes, "--worlds", worlds, "--view", "2", "--keys", "h", "--frames", "3")
		if r.Instances != 10_000 {
			t.Errorf("%d instances, want 10,000", r.Instances)
		}
		t.Logf("%d triangles, %.0f ms a frame, of which %.0f ms are drawing, by %s", r.Triangles, r.Median, r.Drawing,
			r.Device)
		if text := readText(p); !strings.Contains(text, "1000 worlds from 0 on: 334 in contact (red), 0 undecided") {
			t.Errorf("the picture says\n%s", text)
		}
		d, err := view.Open(view.Files{Shapes: shapes, Worlds: worlds})
		if err != nil {
			t.Fatal(err)
		}
		a := view.New(d, nil, 0, 960, 600)
		a.Press("2")
		a.Draw()
		checked, wrong := 0, 0
		for cell := 0; cell < 1000; cell += 7 {
			x, y, _ := a.Camera[a.View].Project(a.At(cell, r3.Vec{Y: -0.5, Z: 0.9}), 960, 600)
			if x < 570 && y < 76 {
				continue // behind the text
			}
			checked++
			want := view.Clear.Color()
			if cell%3 == 0 {
				want = view.Contact.Color()
			}
			if !hue(p, x, y, want) {
				if wrong++; wrong < 4 {
					t.Errorf("pixel %g, %g of the cube of world %d is %v", x, y, cell, p.At(int(x), int(y)))
				}
			}
		}
		if wrong > 0 || checked < 100 {
			t.Errorf("%d of %d worlds have another color than their contacts", wrong, checked)
		}
	})
	t.Run("click", func(t *testing.T) {
		f := view.Files{Shapes: shapes, Worlds: worlds}
		// The last of the nine balls stands nearest to the camera. Its distance from an edge of the cube is known.
		sin, cos := math.Sincos(2 * math.Pi * 8 / 9)
		x, y := pixel(f, 3, nil, r3.Vec{X: 3 * cos, Y: 3 * sin})
		distance := math.Hypot(3*cos-1, 3*sin+1) - 0.5
		click := strings.Join([]string{number(x), number(y)}, ",")
		_, r := w.shot(t, "click", "--shapes", shapes, "--worlds", worlds, "--world", "3", "--click", click)
		if want := fmt.Sprintf("row 35\nseparated, distance %.9g +/- ", distance); !strings.Contains(r.Text, want) {
			t.Errorf("after a click on the last ball of world 3 the text is %q, want %q", r.Text, want)
		}
	})
	t.Run("steps", func(t *testing.T) {
		p, r := w.shot(t, "steps", "--shapes", shapes, "--pairs", pairs, "--row", "4", "--view", "3", "--keys", "up")
		text := readText(p)
		if !strings.Contains(text, "step ") || !strings.Contains(text, "proved so far: ") {
			t.Errorf("the picture says\n%s", text)
		}
		if r.Instances != 3 {
			t.Errorf("%d instances, want both shapes and their difference", r.Instances)
		}
		// The corner is white behind the difference, which nothing else is.
		if !near(p, 960-12, 600-12, view.Color{1, 1, 1}, 0.01) {
			t.Error("there is no Minkowski difference in the corner")
		}
		black, red := 0, 0
		for x := 960 - 240; x < 952; x++ {
			for y := 600 - 240; y < 592; y++ {
				if near(p, float64(x), float64(y), view.Color{}, 0.01) {
					black++
				}
				if near(p, float64(x), float64(y), view.Contact.Color(), 0.02) {
					red++
				}
			}
		}
		if black < 20 || red < 20 {
			t.Errorf("%d black pixels of the origin and %d red ones of the iterate, want 20 each", black, red)
		}
	})
	t.Run("play", func(t *testing.T) {
		_, r := w.shot(t, "play", "--scene", "mixed", "--count", "20", "--view", "2", "--play", "--frames", "10",
			"--keys", "h")
		if math.Abs(r.Time-0.3) > 1e-9 || r.Instances != 160 {
			t.Errorf("after ten frames the time is %g with %d instances, want 0.3 s and 160", r.Time, r.Instances)
		}
	})
	t.Run("no display", func(t *testing.T) {
		run := exec.Command(w.command, "--scene", "mixed", "--count", "1", "--backend", "cpu", "--screenshot",
			filepath.Join(w.dir, "none.png"))
		for _, e := range os.Environ() {
			if !strings.HasPrefix(e, "DISPLAY=") && !strings.HasPrefix(e, "WAYLAND_DISPLAY=") {
				run.Env = append(run.Env, e)
			}
		}
		out, _ := run.CombinedOutput()
		if run.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "there is no display") {
			t.Errorf("without a display: code %d, %s", run.ProcessState.ExitCode(), out)
		}
	})
}

// number is a pixel as --click takes it.
func number(x float64) string {
	b, _ := json.Marshal(x)
	return string(b)
}

// TestFlags: wrong flags are refused by name, and the build without a window says how to get one.
func TestFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--frames 0", "--frames 0"},
		{"--size 1x800", "a window of 1 by 800"}, {"--size 12", "--size"},
		{"--size 640x480x3", "--size"}, {"x y", `"y" is no flag`},
		{"x --shapes s", `description "x"`},
		{"--no-such-flag", "no-such-flag"}, {"--speed 0", "--speed 0"},
	} {
		if _, err := parse(strings.Fields(c.args)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.args, err, c.want)
		}
	}
	o, err := parse(strings.Fields("--pairs p.npz --row 7"))
	if err != nil || o.files.First != 7 || o.files.Count != 1000 {
		t.Errorf("--row 7 begins with %+v, %v", o, err)
	}
	if err := run(o); err == nil || !strings.Contains(err.Error(), "make viewer") {
		t.Errorf("the build without a window says %v", err)
	}
}
