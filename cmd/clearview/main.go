// Command clearview shows pairs, worlds and motions with their answers on the screen: contacts red, undecided rows
// yellow.
//
// It needs OpenGL 3.3, a C compiler and, on Linux, the headers of X11, so that it is built only with a tag:
//
//	go install -tags clearview clearance/cmd/clearview
//
// Without the tag the command says so and ends with code 2. All that needs no display is in package internal/view.
// Exit codes: 0 good, 2 bad input or usage, or no display.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"clearance/contact/scenes"
	"clearance/internal/view"
)

// options are the flags.
type options struct {
	files                    view.Files
	row, world               int
	scene, description       string
	seed                     uint64
	width, height, samples   int
	backend, screenshot      string
	frames                   int
	view, keys, click        string
	time, step               float64
	play, simulate           bool
	maxIterations            int
	tolerance                float64
	density, friction, speed float64
}

func parse(args []string) (*options, error) {
	o := &options{}
	fs := pflag.NewFlagSet("clearview", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.StringVar(&o.files.Shapes, "shapes", "", "shapes and bodies, shapes.json")
	fs.StringVar(&o.files.Pairs, "pairs", "", "rows of pairs, .parquet or .npz")
	fs.StringVar(&o.files.Worlds, "worlds", "", "worlds of bodies or of shapes, .parquet or .npz")
	fs.StringVar(&o.files.Motions, "motions", "", "worlds of moving bodies, .parquet or .npz")
	fs.StringVar(&o.files.Results, "results", "", "their results; without them an engine answers")
	fs.BoolVar(&o.files.AllPairs, "all-pairs", false, "all pairs of the bodies of a world, whatever their file lists")
	fs.StringVar(&o.scene, "scene", "", "in place of files, a kind of seeded scene that is simulated: "+
		strings.Join(scenes.SimulationKinds(), ", "))
	fs.Uint64Var(&o.seed, "seed", 1, "seed of --scene")
	fs.BoolVar(&o.simulate, "simulate", false, "let the bodies of --worlds fall, by their physics in --shapes")
	fs.Float64Var(&o.density, "density", 1000, "kg/m³ of bodies that state no mass")
	fs.Float64Var(&o.friction, "friction", 0.5, "of bodies that state none")
	fs.Float64Var(&o.step, "time-step", 5e-3, "seconds of a step of a simulation")
	fs.IntVar(&o.row, "row", 0, "the row of pairs to begin with")
	fs.IntVar(&o.world, "world", 0, "the world to begin with")
	fs.IntVar(&o.files.Count, "count", 1000, "rows or worlds in memory, and in the grid")
	fs.StringVar(&o.backend, "backend", "auto", "of the engine: auto, vulkan, cpu or ref")
	fs.IntVar(&o.maxIterations, "max-iterations", 0, "limit of each solver of the engine; 0 is its default")
	fs.Float64Var(&o.tolerance, "tolerance", 0, "largest gap of the engine, relative to the size of the pair; 0 is "+
		"its default")
	size := fs.String("size", "1280x800", "of the window, pixels")
	fs.IntVar(&o.samples, "samples", 4, "samples of a pixel; 1 is faster and has jagged edges")
	fs.StringVar(&o.view, "view", "1", "the view to begin with, by its key: 1, 2 or 3")
	fs.Float64Var(&o.time, "time", 0, "the time to begin with, in way points or seconds")
	fs.Float64Var(&o.speed, "speed", 1, "way points or seconds of the time line per second")
	fs.BoolVar(&o.play, "play", false, "play from the beginning on")
	fs.StringVar(&o.screenshot, "screenshot", "", "draw off-screen, write the picture to this PNG file, and end")
	fs.IntVar(&o.frames, "frames", 1, "frames to draw before --screenshot, a thirtieth of a second apart")
	fs.StringVar(&o.keys, "keys", "", "keys to press before the first frame, separated by commas, as tab,down,down")
	fs.StringVar(&o.click, "click", "", "pixel to click before the first frame, as 640,400")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if n, err := fmt.Sscanf(*size+"\n", "%dx%d\n", &o.width, &o.height); n != 2 || err != nil {
		return nil, fmt.Errorf("--size %q: want two numbers of pixels, as 1280x800", *size)
	}
	o.description = fs.Arg(0)
	given := o.scene + o.files.Shapes
	switch {
	case fs.NArg() > 1:
		return nil, fmt.Errorf("%q is no flag", fs.Arg(1))
	case fs.NArg() == 1 && given != "":
		return nil, fmt.Errorf("the scene description %q has shapes and rows of its own: leave out other input",
			fs.Arg(0))
	case o.width < 64 || o.height < 64 || o.width > 8192 || o.height > 8192:
		return nil, fmt.Errorf("a window of %d by %d pixels, want 64 to 8192", o.width, o.height)
	case o.frames < 1:
		return nil, fmt.Errorf("--frames %d: want 1 or more", o.frames)
	case o.samples < 1 || o.samples > 16:
		return nil, fmt.Errorf("--samples %d: want 1 to 16", o.samples)
	case !(o.step > 0) || !(o.speed > 0):
		return nil, fmt.Errorf("--time-step %g, --speed %g: want positive numbers", o.step, o.speed)
	}
	if o.files.First = o.world; o.files.Pairs != "" {
		o.files.First = o.row
	}
	return o, nil
}

func main() {
	o, err := parse(os.Args[1:])
	if err == pflag.ErrHelp {
		return
	}
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "clearview: %v\n", err)
		os.Exit(2)
	}
}
