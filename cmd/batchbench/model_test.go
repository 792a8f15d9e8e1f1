package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
)

const wedge = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"

// modelFolder has a file of bodies, another form of them that only Python would read, and worlds and pairs of them.
func modelFolder(t *testing.T) (dir string, in func(name string) string) {
	t.Helper()
	dir = t.TempDir()
	in = func(name string) string { return filepath.Join(dir, name) }
	t.Setenv("TMPDIR", t.TempDir())
	put := func(name, text string) {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("wedge.obj", wedge)
	put("arm.urdf", `<robot name="arm"/>`)
	put("shapes.json", streamed)
	put("mesh.json", `{"version": 1, "shapes": [], "bodies": [{"name": "wedge", "mesh": "wedge.obj"}]}`)
	bodies, err := dataset.ReadBodies(in("shapes.json"))
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{Bodies: []int32{0, 1, 2}, TemplateA: []int32{0, 0}, TemplateB: []int32{1, 2}}
	for range 3 {
		w.Poses = append(w.Poses, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 1, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0)
	}
	if err := dataset.WriteRollout(in("worlds.npz"), w, bodies); err != nil {
		t.Fatal(err)
	}
	two := &batch.Worlds{Shapes: []int32{0, 0}, Poses: []float64{0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 1, 0, 0, 0},
		TemplateA: []int32{0}, TemplateB: []int32{0}}
	two.TemplateB[0] = 1
	if err := dataset.WriteWorlds(in("wedges.npz"), two); err != nil {
		t.Fatal(err)
	}
	return dir, in
}

// sameFiles compares two files, and finds no folder of a model that was left.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	left, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	right, err := os.ReadFile(b)
	if err != nil || !bytes.Equal(left, right) {
		t.Errorf("%s and %s differ (%v)", a, b, err)
	}
	if entries, err := os.ReadDir(os.TempDir()); err != nil || len(entries) > 0 {
		t.Errorf("files of the model were left: %v, %v", entries, err)
	}
}

// TestModelByPython answers the bodies of a model that the Python package converts, as those of the file of shapes that
// it writes.
func TestModelByPython(t *testing.T) {
	dir, in := modelFolder(t)
	t.Setenv("SHAPES", in("shapes.json"))
	t.Setenv("ARGUMENTS", in("arguments"))
	interpreter(t, `[ "$2" = -c ] && exit 0
case "$5" in -*) exit 4;; esac
cp "$SHAPES" "$6"
shift 6
echo "$@" >"$ARGUMENTS"`)
	more := []string{"--concave", "hull", "--package", "a=/b", "--srdf", in("arm.srdf")}
	for _, name := range []string{"rollout", "verify rollout"} {
		args := append(strings.Fields(name), "--worlds", in("worlds.npz"))
		if name == "rollout" {
			command(append(args, "--shapes", in("shapes.json"), "--out", in("want.npz"))...).want(t, exitGood)
			args = append(args, "--out", in("got.npz"))
		} else {
			args = append(args, "--results", in("got.npz"))
		}
		command(append(append(args, "--model", in("arm.urdf")), more...)...).want(t, exitGood)
		sameFiles(t, in("want.npz"), in("got.npz"))
		said, err := os.ReadFile(in("arguments"))
		if want := "--concave=hull --package=a=/b --srdf=" + in("arm.srdf") + "\n"; err != nil || string(said) != want {
			t.Errorf("%s ran convert with %q, want %q", name, said, want)
		}
	}
	// A name that begins as an option does is a path.
	if err := os.WriteFile(in("-arm.urdf"), []byte(`<robot name="arm"/>`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	command("rollout", "--worlds", in("worlds.npz"), "--out", in("got.npz"), "--model", "-arm.urdf").want(t, exitGood)
	sameFiles(t, in("want.npz"), in("got.npz"))
	// A mesh that only Python has parts of.
	command("rollout", "--worlds", in("worlds.npz"), "--out", in("got.npz"), "--model", in("wedge.obj"), "--concave",
		"coacd").want(t, exitGood)
	sameFiles(t, in("want.npz"), in("got.npz"))

	interpreter(t, `[ "$2" = -c ] && exit 0
echo "out: 3 bodies"; echo "note: arm.urdf, line 3: left out"; cp "$SHAPES" "$6"`)
	o := command("rollout", "--worlds", in("worlds.npz"), "--out", in("got.npz"), "--model", in("arm.urdf"))
	o.says(t, "batchbench: --model: arm.urdf, line 3: left out")
	if o.code != exitGood {
		t.Errorf("exit code %d", o.code)
	}
	interpreter(t, `[ "$2" = -c ] && exit 0
echo "clearance: arm.urdf: no link" >&2
exit 3`)
	bad := filepath.Join(dir, "bad.npz")
	command("sweep", "--worlds", in("worlds.npz"), "--out", bad, "--model", in("arm.urdf")).want(t, exitBadInput).
		says(t, "--model "+in("arm.urdf")+": arm.urdf: no link")
	interpreter(t, `echo "No module named 'clearance'" >&2
exit 1`)
	command("score", "--worlds", in("wedges.npz"), "--out", bad, "--model", in("arm.urdf")).want(t, exitBadInput).
		says(t, "--model "+in("arm.urdf")+" needs the Python package clearance")
	if _, err := os.Stat(bad); err == nil {
		t.Error("a run that failed left results")
	}
}

// TestModelOfMesh reads OBJ, STL and PLY without Python.
func TestModelOfMesh(t *testing.T) {
	_, in := modelFolder(t)
	t.Setenv(pythonVariable, in("none"))
	for _, name := range []string{"rollout", "score"} {
		args := []string{name, "--worlds", in("wedges.npz")}
		command(append(args, "--shapes", in("mesh.json"), "--out", in("want.npz"))...).want(t, exitGood)
		for _, concave := range []string{"raise", "hull"} {
			command(append(args, "--model", in("wedge.obj"), "--out", in("got.npz"), "--concave", concave)...).
				want(t, exitGood)
			sameFiles(t, in("want.npz"), in("got.npz"))
		}
	}
	bent := "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv .2 .2 .2\nf 1 2 3\nf 1 2 4\nf 1 5 2\n"
	if err := os.WriteFile(in("bent.obj"), []byte(bent), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"rollout", "--worlds", in("wedges.npz"), "--out", in("bent.npz"), "--model", in("bent.obj")}
	o := command(args...).want(t, exitBadInput).says(t, "--model "+in("bent.obj")).says(t, "not convex")
	if strings.Contains(o.stderr, "batchbench-model") {
		t.Errorf("an error names a file that is gone: %s", o.stderr)
	}
	command(append(args, "--concave", "hull")...).want(t, exitGood)
}

// TestModelRefused refuses by name what is not read, and flags that do not go together.
func TestModelRefused(t *testing.T) {
	_, in := modelFolder(t)
	t.Setenv(pythonVariable, in("none"))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--model", "world.SDF"}, "--model world.SDF is SDF, which is not read"},
		{[]string{"--model", "robot.usda"}, "--model robot.usda is USD, which is not read"},
		{[]string{"--model", "robot.usdz"}, "is USD"},
		{[]string{"--model", in("wedge.obj"), "--shapes", in("shapes.json")}, "give one of them"},
		{[]string{"--shapes", in("shapes.json"), "--concave", "hull"}, "--model, which is missing"},
		{[]string{"--shapes", in("shapes.json"), "--package", "a=b"}, "--model, which is missing"},
		{[]string{"--model", in("wedge.obj"), "--concave", "convex"}, "want raise, hull, coacd"},
		{[]string{"--model", in("wedge.obj"), "--package", "a=b"}, "--package is about URDF files, and --model"},
		{[]string{"--model", in("wedge.obj"), "--srdf", in("arm.srdf")}, "--srdf is about URDF files, and --model"},
		{nil, "--shapes is missing"},
		{[]string{"--model", in("wedge.obj"), "--out", in("wedge.obj")}, "one file"},
		{[]string{"--model", in("arm.urdf"), "--json", in("wedge.obj")}, "might be a mesh of --model"},
	} {
		for _, name := range []string{"rollout", "sweep", "score"} {
			args := append([]string{name, "--worlds", in("wedges.npz"), "--out", in("out.npz")}, c.args...)
			command(args...).want(t, exitBadInput).says(t, c.says)
		}
	}
}

// interpreter makes a shell script the interpreter of the Python package. The first argument is -P; an import has two
// more, a command of the package -m, clearance, its name and its own arguments.
func interpreter(t *testing.T, script string) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(pythonVariable, path)
}

// TestPythonCommands gives all arguments to the Python package, and takes its output and its error.
func TestPythonCommands(t *testing.T) {
	interpreter(t, `[ "$2" = -c ] && exit 0
echo "$@"`)
	for _, name := range []string{"view", "decompose"} {
		got := command(name, "--pairs", "a b", "--help").want(t, exitGood).stdout
		if want := "-P -m clearance " + name + " --pairs a b --help\n"; got != want {
			t.Errorf("%s ran %q, want %q", name, got, want)
		}
	}
	interpreter(t, `[ "$2" = -c ] && exit 0
echo "usage: view" >&2
echo "clearance: pairs.npz has no column shape_a" >&2
exit 3`)
	command("view").want(t, exitBadInput).says(t, "view: pairs.npz has no column shape_a")
}

// TestPythonMissing says what to install where the package or the interpreter is missing.
func TestPythonMissing(t *testing.T) {
	interpreter(t, `echo "ModuleNotFoundError: No module named 'clearance'" >&2
exit 1`)
	for _, name := range []string{"view", "decompose"} {
		command(name).want(t, exitBadInput).says(t, "No module named 'clearance'").says(t, "make wheel").
			says(t, pythonVariable)
	}
	t.Setenv(pythonVariable, filepath.Join(t.TempDir(), "none"))
	command("view").want(t, exitBadInput).says(t, "no such file").says(t, "make wheel")
}

// TestPythonInterrupted ends the interpreter.
func TestPythonInterrupted(t *testing.T) {
	interpreter(t, `[ "$2" = -c ] && exit 0
exec sleep 36000`)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	got := commandContext(ctx, "decompose", "a.stl", "a.obj").want(t, exitInterrupted)
	if !strings.Contains(got.stderr, "interrupted") {
		t.Errorf("ended with %q", got.stderr)
	}
}

// boxOBJ writes a box of 200 × 120 × 80 mm as triangles.
func boxOBJ(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for i := range 8 {
		sign := func(bit int) float64 { return float64(1 - 2*(i>>bit&1)) }
		fmt.Fprintf(&b, "v %g %g %g\n", 0.1*sign(0), 0.06*sign(1), 0.04*sign(2))
	}
	for _, f := range [][4]int{{1, 3, 7, 5}, {2, 6, 8, 4}, {1, 5, 6, 2}, {3, 4, 8, 7}, {1, 2, 4, 3}, {5, 7, 8, 6}} {
		fmt.Fprintf(&b, "f %d %d %d\nf %d %d %d\n", f[0], f[1], f[2], f[0], f[2], f[3])
	}
	path := filepath.Join(t.TempDir(), "brick.obj")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFit fits both kinds to a box and reads the shapes back.
func TestFit(t *testing.T) {
	mesh := boxOBJ(t)
	for _, kind := range []geom.Kind{geom.KindSmoothHull, geom.KindSuperquadric} {
		dir := t.TempDir()
		shapes, report := filepath.Join(dir, "shapes.json"), filepath.Join(dir, "report.json")
		o := command("fit", "--kind", kind.String(), "--vertices", "8", "--mesh", mesh, "--shapes", shapes, "--json",
			report).want(t, exitGood)
		if !strings.Contains(o.stdout, "brick") {
			t.Errorf("%s: the table does not name the mesh:\n%s", kind, o.stdout)
		}
		list, names, err := dataset.ReadShapes(shapes)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 || list[0].Kind() != kind || names[0] != "brick" {
			t.Errorf("%s: the file holds %v, %v", kind, list, names)
		}
		rows := readReport[[]fitRow](t, report)
		if len(rows) != 1 || rows[0].Vertices != 8 || !(rows[0].Relative > 0 && rows[0].Relative < 0.1) {
			t.Errorf("%s: report %+v, want an error below a tenth of the size", kind, rows)
		}
		if (rows[0].Rotation != nil) != (kind == geom.KindSuperquadric) {
			t.Errorf("%s: pose %v", kind, rows[0].Rotation)
		}
	}
}

// TestFitErrors: a mesh that cannot be fitted gives an error with the reason.
func TestFitErrors(t *testing.T) {
	mesh, out := boxOBJ(t), filepath.Join(t.TempDir(), "shapes.json")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--mesh is missing", []string{"--shapes", out}},
		{"--shapes is missing", []string{"--mesh", mesh}},
		{"want smooth_hull or superquadric", []string{"--mesh", mesh, "--shapes", out, "--kind", "box"}},
		{"want 4 to", []string{"--mesh", mesh, "--shapes", out, "--vertices", "3"}},
		{"no such file", []string{"--mesh", mesh + ".stl", "--shapes", out}},
	} {
		command(append([]string{"fit"}, c.args...)...).want(t, exitBadInput).says(t, c.want)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a failed run left a file of shapes")
	}
}
