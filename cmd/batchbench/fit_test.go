package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/dataset"
	"clearance/geom"
)

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
