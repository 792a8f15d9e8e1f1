package view

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"clearance/internal/scenefile"
)

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
