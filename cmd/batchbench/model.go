package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"clearance/batch"
	"clearance/dataset"
	"clearance/internal/console"
)

// modelFlags name a model in place of a file of shapes: a robot, which the Python package converts, or a mesh.
type modelFlags struct {
	model    string
	concave  string
	packages []string
	srdf     string
}

// concaveMeshes lists what may be taken for a mesh that is not convex.
var concaveMeshes = []string{"raise", "hull", "coacd"}

func (f *modelFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.model, "model", "", "in place of --shapes: a URDF or MJCF file, or a mesh, whose bodies are those "+
		"of 'convert'; all but .obj, .stl and .ply are read by the Python package")
	fs.StringVar(&f.concave, "concave", "raise", "of --model, what is taken for a mesh that is not convex: raise, an "+
		"error; hull; or coacd, convex parts")
	fs.StringArrayVar(&f.packages, "package", nil, "of --model, NAME=FOLDER of a package of ROS; may be repeated")
	fs.StringVar(&f.srdf, "srdf", "", "of --model, the SRDF file of a URDF file")
}

// check returns an error for flags of a model that do not go together, or beside a file of shapes.
func (f *modelFlags) check(shapes string) error {
	switch {
	case f.model == "" && (len(f.packages) > 0 || f.srdf != "" || f.concave != "raise" && f.concave != ""):
		return errors.New("--concave, --package and --srdf are about --model, which is missing")
	case f.model == "":
		return nil
	case shapes != "":
		return errors.New("--shapes and --model are two forms of the same input; give one of them")
	case !slices.Contains(concaveMeshes, f.concave):
		return fmt.Errorf("--concave %q: want %s", f.concave, strings.Join(concaveMeshes, ", "))
	case f.isMesh() && len(f.packages) > 0:
		return fmt.Errorf("--package is about URDF files, and --model %s is a mesh", f.model)
	case f.isMesh() && f.srdf != "":
		return fmt.Errorf("--srdf is about URDF files, and --model %s is a mesh", f.model)
	}
	return f.known()
}

// known refuses by name what the Python package would refuse, so that nobody installs it for that.
func (f *modelFlags) known() error {
	switch strings.ToLower(filepath.Ext(f.model)) {
	case ".sdf":
		return fmt.Errorf("--model %s is SDF, which is not read: convert the model to URDF or MJCF", f.model)
	case ".usd", ".usda", ".usdc", ".usdz":
		return fmt.Errorf("--model %s is USD, which is not read: convert the model to URDF or MJCF, or its meshes to "+
			"OBJ", f.model)
	}
	return nil
}

// isMesh reports whether the model is a mesh that needs no other program.
func (f *modelFlags) isMesh() bool {
	ext := strings.ToLower(filepath.Ext(f.model))
	return f.concave != "coacd" && (ext == ".obj" || ext == ".stl" || ext == ".ply")
}

// asShapes calls read with a file of the shapes and bodies of the model, which it then removes.
func (f *modelFlags) asShapes(ctx context.Context, e *env, read func(path string) error) (err error) {
	folder, err := os.MkdirTemp("", "batchbench-model-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "shapes.json")
	if f.isMesh() {
		err = f.writeMesh(path)
	} else {
		err = f.convert(ctx, e, path)
	}
	if err == nil {
		err = read(path)
	}
	if err != nil && ctx.Err() == nil { // the name of a file that is no longer there helps nobody
		err = errors.New(strings.ReplaceAll(err.Error(), path, "--model "+f.model))
	}
	return err
}

// writeMesh writes the body of a mesh file: its convex parts, or its hull.
func (f *modelFlags) writeMesh(path string) error {
	file, err := filepath.Abs(f.model)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	type entry map[string]any
	document := entry{"version": 1, "shapes": []entry{}, "bodies": []entry{{"name": name, "mesh": file}}}
	if f.concave == "hull" {
		document = entry{"version": 1, "shapes": []entry{{"kind": "convex", "mesh": file, "name": name}}}
	}
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// convert has the Python package write the shapes and bodies of the model.
func (f *modelFlags) convert(ctx context.Context, e *env, path string) error {
	args := []string{notOption(f.model), path, "--concave=" + f.concave}
	for _, p := range f.packages {
		args = append(args, "--package="+p)
	}
	if f.srdf != "" {
		args = append(args, "--srdf="+f.srdf)
	}
	said, err := callPython(ctx, "convert", "--model "+f.model, args)
	for line := range strings.Lines(string(said)) {
		if note, ok := strings.CutPrefix(line, "note: "); ok {
			e.Warn("--model: %s", strings.TrimSpace(note))
		}
	}
	return err
}

// notOption is a path that is not read as an option by another program.
func notOption(path string) string {
	if strings.HasPrefix(path, "-") {
		return "." + string(filepath.Separator) + path
	}
	return path
}

// library reads the shapes.
func (f *inputFlags) library(ctx context.Context, e *env) (lib *batch.Library, err error) {
	if f.model == "" {
		return dataset.ReadLibrary(f.shapes)
	}
	err = f.asShapes(ctx, e, func(path string) (err error) {
		lib, err = dataset.ReadLibrary(path)
		return err
	})
	return lib, err
}

// bodies reads the bodies.
func (f *inputFlags) bodies(ctx context.Context, e *env) (b *batch.Bodies, err error) {
	if f.model == "" {
		return dataset.ReadBodies(f.shapes)
	}
	err = f.asShapes(ctx, e, func(path string) (err error) {
		b, err = dataset.ReadBodies(path)
		return err
	})
	return b, err
}

// pythonVariable names the interpreter that has the Python package; python3 by default.
const pythonVariable = "CLEARANCE_PYTHON"

// newView returns a command of the Python package, whose page needs three.js. It is offered here as well, beside the
// other commands for files.
func newView(e *env) *cobra.Command {
	return pythonCommand(e, "view", "write an HTML page that shows pairs and their answers (Python package)")
}

// newDecompose returns a command of the Python package, for which CoACD has wheels.
func newDecompose(e *env) *cobra.Command {
	return pythonCommand(e, "decompose", "write the convex parts of a concave mesh, by CoACD (Python package)")
}

// newConvert returns a command of the Python package, which reads models. Flags --model run it.
func newConvert(e *env) *cobra.Command {
	return pythonCommand(e, "convert", "write a URDF or MJCF model, or a mesh, as a file of shapes and bodies "+
		"(Python package)")
}

// pythonCommand runs a command of the Python package with all arguments as they are.
func pythonCommand(e *env, name, short string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              short,
		DisableFlagParsing: true, // the package answers --help too
		RunE: func(c *cobra.Command, args []string) error {
			return runPackage(c.Context(), e, name, args)
		},
	}
}

func runPackage(ctx context.Context, e *env, name string, args []string) error {
	stdout, err := callPython(ctx, name, name, args)
	if err == nil {
		_, err = e.Stdout.Write(stdout)
	}
	return err
}

// callPython returns what a command of the Python package writes to standard output. Errors begin with what the user
// asked for.
func callPython(ctx context.Context, name, asked string, args []string) ([]byte, error) {
	interpreter := os.Getenv(pythonVariable)
	if interpreter == "" {
		interpreter = "python3"
	}
	// -P: a folder clearance in the current directory is not the package.
	stdout, reason, err := runPython(ctx, interpreter, append([]string{"-P", "-m", "clearance", name}, args...)...)
	if err == nil {
		return stdout, nil
	}
	_, missing, absent := runPython(ctx, interpreter, "-P", "-c", "import clearance")
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case absent != nil:
		return nil, fmt.Errorf("%s needs the Python package clearance, which %s does not load (%s): install the wheel "+
			"that 'make wheel' builds, or name the interpreter that has it in %s",
			asked, interpreter, missing, pythonVariable)
	}
	return nil, fmt.Errorf("%s: %s", asked, reason)
}

// runPython runs the interpreter. The reason of a failure is the last line on standard error.
func runPython(ctx context.Context, interpreter string, args ...string) (stdout []byte, reason string,
	err error) {
	var out, said bytes.Buffer
	c := exec.CommandContext(ctx, interpreter, args...)
	c.Stdout, c.Stderr = &out, &said
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = console.Grace / 2
	if err = c.Run(); err == nil {
		return out.Bytes(), "", nil
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	reason = strings.TrimPrefix(lines[len(lines)-1], "clearance: ")
	var exit *exec.ExitError
	if reason == "" || !errors.As(err, &exit) {
		reason = err.Error()
	}
	return out.Bytes(), reason, err
}
