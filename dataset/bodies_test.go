package dataset

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
)

// cubes is two cubes as groups of an OBJ file.
func cubes() string {
	text, base := "", 1
	for _, g := range []struct{ name, x0, x1 string }{{"left", "-2", "-1"}, {"right", "1", "2"}} {
		text += "g " + g.name + "\n"
		for _, x := range []string{g.x0, g.x1} {
			for _, yz := range []string{"0 0", "1 0", "1 1", "0 1"} {
				text += "v " + x + " " + yz + "\n"
			}
		}
		for _, f := range [][]int{{4, 3, 2, 1}, {5, 6, 7, 8}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 4, 8, 7}, {4, 1, 5, 8}} {
			text += "f"
			for _, v := range f {
				text += " " + string(rune('0'+(base+v-1)/10)) + string(rune('0'+(base+v-1)%10))
			}
			text += "\n"
		}
		base += 8
	}
	return text
}

func bodiesOf(t *testing.T, document string) (*batch.Bodies, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"shapes.json": document, "cubes.obj": cubes(),
		"pair.obj": strings.ReplaceAll(strings.ReplaceAll(cubes(), "g left", "g pair"), "g right\n", ""),
		"bad.obj": "g L\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0.2 0.2 0.2\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 5\n" +
			"f 3 4 5\nf 4 2 5\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return ReadBodies(filepath.Join(dir, "shapes.json"))
}

// TestRotationsOfBodies: rotations are read back to their last bits, positions and names in full.
func TestRotationsOfBodies(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 7))
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	body := batch.Body{Name: "many"}
	for range 200 {
		body.Parts = append(body.Parts, batch.Part{Pose: testkit.Pose(rng, 1)})
	}
	b, err := batch.NewBodies(lib, []batch.Body{body})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bodies.json")
	if err := WriteBodies(path, b); err != nil {
		t.Fatal(err)
	}
	again, err := ReadBodies(path)
	if err != nil {
		t.Fatal(err)
	}
	for k, p := range again.Parts(0) {
		want := b.Parts(0)[k].Pose
		if d := quat.Abs(quat.Sub(p.Pose.Rotation, want.Rotation)); p.Pose.Position != want.Position || !(d <= 1e-15) {
			t.Errorf("part %d at %v is read back at %v", k, want, p.Pose)
		}
	}
}

const someShapes = `{"version": 1, "shapes": [{"kind": "sphere", "radius": 1, "name": "ball"}, ` +
	`{"kind": "sphere", "radius": 2}, {"kind": "sphere", "radius": 3, "name": "twice"}, ` +
	`{"kind": "sphere", "radius": 4, "name": "twice"}], "bodies": `

func TestReadBodies(t *testing.T) {
	b, err := bodiesOf(t, someShapes+`[
		{"name": "two", "parts": [{"shape": "ball"}, {"shape": 1, "position": [1, 2, 3], "rotation": [0, 0, 0, 2]}]},
		{"name": "cubes", "mesh": "cubes.obj"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	two, mesh := b.Parts(0), b.Parts(1)
	if b.Len() != 2 || b.Name(1) != "cubes" || len(two) != 2 || two[0].Shape != 0 || two[1].Shape != 1 ||
		two[0].Pose != geom.IdentityPose() || two[1].Pose.Position.Z != 3 || two[1].Pose.Rotation.Kmag != 1 {
		t.Errorf("bodies %v, %v", two, mesh)
	}
	if lib := b.Library(); lib.Len() != 6 || len(mesh) != 2 || lib.Name(mesh[1].Shape) != "cubes/right" ||
		lib.Shape(mesh[1].Shape).Center().X != 1.5 {
		t.Errorf("mesh %v, library of %d shapes", mesh, b.Library().Len())
	}
	path := filepath.Join(t.TempDir(), "again.json")
	if err := WriteBodies(path, b); err != nil {
		t.Fatal(err)
	}
	again, err := ReadBodies(path)
	if err != nil || again.Len() != 2 || again.Library().Len() != 6 || again.Parts(0)[1] != two[1] ||
		again.Name(1) != "cubes" {
		t.Errorf("read back: %v", err)
	}
	shapes := batch.BodiesOfShapes(b.Library())
	if err := WriteBodies(path, shapes); err != nil {
		t.Fatal(err)
	}
	again, err = ReadBodies(path)
	if err != nil || again.Len() != 6 || again.Name(0) != "ball" || again.Parts(3)[0] != shapes.Parts(3)[0] {
		t.Errorf("shapes alone are read back as %d bodies: %v", again.Len(), err)
	}
	if lib, err := ReadLibrary(path); err != nil || lib.Len() != 6 {
		t.Errorf("a library of a file with bodies: %v", err)
	}
	alone, err := bodiesOf(t, `{"version": 1, "shapes": [{"kind": "sphere", "radius": 1, "name": "ball"}]}`)
	if err != nil || alone.Len() != 1 || alone.Name(0) != "ball" {
		t.Errorf("shapes alone: %v", err)
	}
}

func TestBadBodies(t *testing.T) {
	for _, c := range [][2]string{
		{`[{"name": "b"}]`, `body 0 ("b"): no parts`},
		{`[{"parts": []}]`, "body 0: no parts"},
		{`[{"parts": [{"shape": "cup"}]}]`, `body 0: part 0: shape: no shape is named "cup"`},
		{`[{"parts": [{"shape": "twice"}]}]`, `several shapes are named "twice"`},
		{`[{"parts": [{"shape": "ball"}, {"shape": 4}]}]`,
			"part 1: shape: 4, want the name of a shape or an index in [0, 4)"},
		{`[{"parts": [{"shape": -1}]}]`, "-1, want"},
		{`[{"parts": [{"shape": 1.5}]}]`, "1.5, want"},
		{`[{"parts": [{"shape": null}]}]`, "null, want"},
		{`[{"parts": [{}]}]`, "part 0: no shape"},
		{`[{"parts": [{"shape": 0, "scale": 2}]}]`, `unknown field "scale"`},
		{`[{"parts": [{"shape": 0, "position": [1, 2]}]}]`, "position: 2 numbers, want 3"},
		{`[{"parts": [{"shape": 0, "position": [1, 2, null]}]}]`, "position: null"},
		{`[{"parts": [{"shape": 0, "rotation": "up"}]}]`, "rotation: string, want a list"},
		{`[{"parts": [{"shape": 0, "rotation": [0, 0, 0, 0]}]}]`, "body 0, part 0: rotation: "},
		{`[{"parts": [{"shape": 0}], "mesh": "cubes.obj"}]`, "parts and a mesh"},
		{`[{"mesh": "none.obj"}]`, "none.obj"},
		{`[{"name": "L", "mesh": "bad.obj"}]`, `body 0 ("L"): mesh: bad.obj: part "L" is not convex`},
		{`[{"mesh": "bad.obj"}]`, "convex decomposition"},
		{`[{"mesh": "bad.obj", "tolerance": 2}]`, "tolerance: 2, want 0 to 1"},
		{`[{"mesh": "bad.obj", "tolerance": "wide"}]`, "tolerance: string, want a number"},
		{`[{"parts": [{"shape": 0}], "tolerance": 0.1}]`, "a tolerance, but no mesh"},
		{`[{"bones": 1}]`, `unknown field "bones"`},
		{`{}`, "bodies: "},
	} {
		_, err := bodiesOf(t, someShapes+c[0]+"}")
		testkit.WantError(t, err, "shapes.json", c[1])
	}
}

// TestBodiesOfOneMesh: bodies of one mesh share its shapes; a part may be convex to a tolerance, or consist of convex
// components.
func TestBodiesOfOneMesh(t *testing.T) {
	var list []string
	for range 300 {
		list = append(list, `{"mesh": "cubes.obj"}`)
	}
	b, err := bodiesOf(t, someShapes+"["+strings.Join(list, ",")+"]}")
	if err != nil {
		t.Fatal(err)
	}
	if n := b.Library().Len(); b.Len() != 300 || n != 6 || b.Parts(299)[1] != b.Parts(0)[1] {
		t.Errorf("%d bodies, %d shapes", b.Len(), n)
	}
	b, err = bodiesOf(t, someShapes+`[{"mesh": "cubes.obj"}, {"mesh": "cubes.obj", "tolerance": 0.2},
		{"mesh": "bad.obj", "tolerance": 0.2}, {"name": "pair", "mesh": "pair.obj"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if lib := b.Library(); lib.Len() != 11 || len(b.Parts(2)) != 1 || len(b.Parts(3)) != 2 ||
		lib.Name(b.Parts(3)[1].Shape) != "pair/pair.1" {
		t.Errorf("%d shapes", b.Library().Len())
	}
}

// TestScene: a scene is bodies and the pairs that are asked about, by their indices or names.
func TestScene(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scene.json")
	read := func(pairs string) (Scene, error) {
		text := someShapes + `[{"name": "a", "parts": [{"shape": 0}]}, {"name": "b", "parts": [{"shape": 1}]},
			{"name": "b", "parts": [{"shape": 2}]}]` + pairs + "}"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ReadScene(path)
	}
	s, err := read(`, "pairs": [[0, 2], ["a", 1]]`)
	pairs := s.Pairs
	if !s.Listed || err != nil || !pairs.Stated || !slices.Equal(pairs.A, []int32{0, 0}) ||
		!slices.Equal(pairs.B, []int32{2, 1}) {
		t.Fatalf("%v, %v", pairs, err)
	}
	again := filepath.Join(t.TempDir(), "again.json")
	if err := WriteScene(again, s.Bodies, pairs); err != nil {
		t.Fatal(err)
	}
	c, err := ReadScene(again)
	same := c.Pairs
	if err != nil || c.Bodies.Len() != 3 || !same.Stated || !slices.Equal(same.A, pairs.A) ||
		!slices.Equal(same.B, pairs.B) {
		t.Errorf("read back: %v, %v", same, err)
	}
	if none, err := read(`, "pairs": []`); err != nil || !none.Pairs.Stated || len(none.Pairs.A) != 0 {
		t.Errorf("no pairs: %v, %v", none.Pairs, err)
	}
	if none, err := read(""); err != nil || none.Pairs.Stated {
		t.Errorf("pairs that are not stated: %v, %v", none.Pairs, err)
	}
	if b, err := ReadBodies(again); err != nil || b.Len() != 3 {
		t.Errorf("bodies of a scene: %v", err)
	}
	for _, c := range [][2]string{
		{`[[0, 3]]`, "pairs: pair 0: 3, want the name of a body or an index in [0, 3)"},
		{`[[0, 1], [1]]`, "pairs: pair 1: 1 bodies, want 2"},
		{`[["a", "b"]]`, `pair 0: several bodies are named "b"`},
		{`[["a", "c"]]`, `pair 0: no body is named "c"`},
		{`[[1, 1]]`, "pair 0: a body and itself"},
		{`[[0, null]]`, "pair 0: null"},
		{`{}`, "pairs: "},
	} {
		_, err := read(`, "pairs": ` + c[0])
		testkit.WantError(t, err, "scene.json", c[1])
	}
}
