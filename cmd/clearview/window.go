//go:build clearview && cgo

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-gl/glfw/v3.3/glfw"

	"clearance"
	"clearance/batch"
	"clearance/contact/scenes"
	"clearance/dataset/output"
	"clearance/internal/score"
	"clearance/internal/view"
	"clearance/rollout"
)

// start opens the files or makes the scene, with the engine, which end closes. Answers of a scene description are shown
// as they stand, without an engine.
func start(o *options) (a *view.App, end func() error, err error) {
	if o.description != "" {
		d, err := view.OpenScene(o.description)
		if err != nil {
			return nil, nil, err
		}
		a, err := begin(o, d, nil)
		return a, func() error { return nil }, err
	}
	h, err := clearance.Open(clearance.WithBackend(o.backend))
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	d, err := document(o, h)
	if err != nil {
		return nil, nil, err
	}
	live := view.NewLive(h, d, rollout.Options{Options: batch.Options{MaxIterations: o.maxIterations,
		Tolerance: o.tolerance}})
	a, err = begin(o, d, live)
	return a, func() error { return errors.Join(live.Close(), h.Close()) }, err
}

// begin returns the viewer of a document at the time to begin with.
func begin(o *options, d *view.Document, live *view.Live) (*view.App, error) {
	a := view.New(d, live, o.files.First, o.width, o.height)
	a.Speed = o.speed
	if err := a.Seek(o.time); err != nil {
		return nil, err
	}
	a.Playing = o.play
	return a, nil
}

// document opens files or makes a scene.
func document(o *options, h *clearance.Handle) (*view.Document, error) {
	if o.scene != "" {
		scene, state, err := scenes.Simulation(o.scene, o.files.Count, o.seed)
		if err != nil {
			return nil, fmt.Errorf("--scene: %w", err)
		}
		return view.Simulate(h, "scene "+o.scene, scene, state, o.step)
	}
	d, err := view.Open(o.files)
	if err != nil || !o.simulate {
		return d, err
	}
	if o.files.Worlds == "" {
		return nil, fmt.Errorf("--simulate: there are no --worlds")
	}
	scene, state, err := score.Simulation(o.files.Shapes, o.files.Worlds, d.Bodies, d.Worlds,
		batch.Physics{Friction: &o.friction, Density: &o.density})
	if err != nil {
		return nil, err
	}
	return view.Simulate(h, d.Title, scene, state, o.step)
}

// OpenGL contexts belong to a thread, and GLFW wants the main one.
func init() { runtime.LockOSThread() }

// run shows the window until it is closed, or draws the frames of a screenshot.
func run(o *options) (err error) {
	if o.screenshot != "" {
		if err := output.Check(o.screenshot); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	a, end, err := start(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	w, err := newWindow(o, "clearview: "+view.Printable(a.Doc.Title, 60))
	if err != nil {
		return err
	}
	defer glfw.Terminate()
	w.MakeContextCurrent()
	r, err := newRenderer()
	if err != nil {
		return err
	}
	defer r.close()
	if err := prepare(ctx, a, o); err != nil {
		return err
	}
	if o.screenshot != "" {
		return picture(ctx, a, r, o)
	}
	return loop(ctx, w, a, r, o)
}

// newWindow begins the use of GLFW, which panics where X11 has no display, after Init returned no error.
func newWindow(o *options, title string) (w *glfw.Window, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("there is no display: %v", fault)
		}
	}()
	if err := glfw.Init(); err != nil {
		return nil, fmt.Errorf("there is no display: %w", err)
	}
	glfw.WindowHint(glfw.ContextVersionMajor, 3)
	glfw.WindowHint(glfw.ContextVersionMinor, 3)
	glfw.WindowHint(glfw.OpenGLProfile, glfw.OpenGLCoreProfile)
	glfw.WindowHint(glfw.OpenGLForwardCompatible, glfw.True)
	if glfw.WindowHint(glfw.Samples, o.samples); o.screenshot != "" {
		glfw.WindowHint(glfw.Visible, glfw.False)
	}
	if w, err = glfw.CreateWindow(o.width, o.height, title, nil, nil); err != nil {
		glfw.Terminate()
		return nil, fmt.Errorf("there is no window with OpenGL 3.3: %w", err)
	}
	return w, nil
}

// prepare presses the keys and the button of the command line.
func prepare(ctx context.Context, a *view.App, o *options) error {
	for _, name := range strings.Split(o.view+","+o.keys, ",") {
		if name == "" {
			continue
		}
		if !slices.ContainsFunc(view.Keys(), func(k view.Key) bool { return k.Name == name }) {
			return fmt.Errorf("--keys: there is no key %q", name)
		}
		a.Press(name)
		if err := a.Advance(ctx, 0); err != nil {
			return err
		}
	}
	if o.click != "" {
		x, y, ok := strings.Cut(o.click, ",")
		at, errX := strconv.ParseFloat(x, 64)
		down, errY := strconv.ParseFloat(y, 64)
		if !ok || errX != nil || errY != nil {
			return fmt.Errorf("--click %q: want two numbers, as 640,400", o.click)
		}
		a.Click(at, down)
	}
	return nil
}

// report is the line that --screenshot prints, of the last frame and the times of all frames.
type report struct {
	Device    string  `json:"device"`
	Instances int     `json:"instances"`
	Triangles int     `json:"triangles"`
	Frames    int     `json:"frames"`
	Median    float64 `json:"median_ms"` // of a frame, with answers and drawing
	Drawing   float64 `json:"median_draw_ms"`
	Time      float64 `json:"time"`
	Text      string  `json:"text"`
}

// picture draws frames off-screen and writes the last one. The time line advances by a thirtieth of a second each,
// whatever the clock says, so that a picture does not depend on the speed of the machine.
func picture(ctx context.Context, a *view.App, r *renderer, o *options) error {
	var all, drawing []float64
	var f *view.Frame
	target, err := newTarget(a.Width, a.Height, o.samples)
	if err != nil {
		return err
	}
	defer target.close()
	for i := range o.frames {
		begin := time.Now()
		elapsed := 1.0 / 30
		if i == 0 {
			elapsed = 0
		}
		if err := a.Advance(ctx, elapsed); err != nil {
			return err
		}
		f = a.Draw()
		middle := time.Now()
		target.bind(r)
		r.draw(f, a.Width, a.Height)
		r.wait()
		all = append(all, 1e3*time.Since(begin).Seconds())
		drawing = append(drawing, 1e3*time.Since(middle).Seconds())
	}
	if err := writePNG(o.screenshot, target.pixels()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report{Device: r.device(), Instances: f.Instances(),
		Triangles: f.Triangles(), Frames: o.frames, Median: median(all), Drawing: median(drawing),
		Time: a.Time, Text: a.Info()})
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// loop shows frames until the window is closed.
func loop(ctx context.Context, w *glfw.Window, a *view.App, r *renderer, o *options) error {
	glfw.SwapInterval(1)
	shots := 0
	shoot := false
	w.SetKeyCallback(func(_ *glfw.Window, key glfw.Key, scan int, action glfw.Action, _ glfw.ModifierKey) {
		if action == glfw.Release {
			return
		}
		switch a.Press(keyName(key, scan)) {
		case view.Screenshot:
			shoot = true
		case view.Quit:
			w.SetShouldClose(true)
		}
	})
	var x, y, moved float64
	w.SetCursorPosCallback(func(_ *glfw.Window, nx, ny float64) {
		dx, dy := nx-x, ny-y
		x, y = nx, ny
		c := &a.Camera[a.View]
		switch {
		case w.GetMouseButton(glfw.MouseButtonLeft) == glfw.Press:
			c.Orbit(dx, dy)
		case w.GetMouseButton(glfw.MouseButtonRight) == glfw.Press:
			c.Pan(dx, dy, a.Height)
		}
		moved += max(dx, -dx) + max(dy, -dy)
	})
	w.SetMouseButtonCallback(func(_ *glfw.Window, b glfw.MouseButton, action glfw.Action, _ glfw.ModifierKey) {
		switch {
		case action == glfw.Press:
			moved = 0
		case b == glfw.MouseButtonLeft && moved < 4: // pixels: a click, and not the end of a rotation
			a.Click(x, y)
		}
	})
	w.SetScrollCallback(func(_ *glfw.Window, _, dy float64) { a.Camera[a.View].Zoom(dy) })
	last := time.Now()
	for !w.ShouldClose() && ctx.Err() == nil {
		a.Width, a.Height = w.GetSize()
		elapsed := time.Since(last).Seconds()
		last = time.Now()
		a.FrameSeconds = 0.9*a.FrameSeconds + 0.1*elapsed
		if err := a.Advance(ctx, min(elapsed, 0.1)); err != nil {
			return err
		}
		pixels, _ := w.GetFramebufferSize()
		f := a.Draw()
		r.bindScreen(pixels, a.Width)
		r.draw(f, a.Width, a.Height)
		if shoot {
			shoot = false
			shots++
			name := fmt.Sprintf("clearview-%03d.png", shots)
			a.Message = name + " saved"
			if err := shot(name, r, f, a.Width, a.Height, o.samples); err != nil {
				a.Message = err.Error()
			}
		}
		w.SwapBuffers()
		glfw.PollEvents()
	}
	return nil
}

// shot draws a frame off-screen and writes it.
func shot(name string, r *renderer, f *view.Frame, width, height, samples int) error {
	target, err := newTarget(width, height, samples)
	if err != nil {
		return err
	}
	defer target.close()
	target.bind(r)
	r.draw(f, width, height)
	return writePNG(name, target.pixels())
}

// keyName is the name of a key as package view has it: what it prints, or what it is.
func keyName(key glfw.Key, scan int) string {
	switch key {
	case glfw.KeyLeft:
		return "left"
	case glfw.KeyRight:
		return "right"
	case glfw.KeyUp:
		return "up"
	case glfw.KeyDown:
		return "down"
	case glfw.KeySpace:
		return "space"
	case glfw.KeyHome:
		return "home"
	case glfw.KeyTab:
		return "tab"
	case glfw.KeyEscape:
		return "q"
	}
	return strings.ToLower(glfw.GetKeyName(key, scan))
}
