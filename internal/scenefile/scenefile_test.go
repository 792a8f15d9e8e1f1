package scenefile

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

// example is a document of two rows that has every field.
func example() *Document {
	nan := math.NaN()
	identity := [7]float64{0, 0, 0, 1, 0, 0, 0}
	poses := append(Numbers(nil), identity[:]...)
	poses = append(poses, 1, 2, 3, 0, 0, 0, 1)
	return &Document{
		Format: Format, Version: Version, Title: "two rows", Value: "distance", TimeUnit: "s",
		Statuses: []string{"separated", "touching", "penetrating", "undecided", "invalid"},
		Shapes: []Shape{
			{Name: "</script><script>alert(1)", Kind: "sphere", Points: Numbers{1, 0, 0, 0, 1, 0, 0, 0, 1, -1, -1, -1}},
			{Name: "floor", Kind: Halfspace, Points: Numbers{}},
		},
		Bodies: []Body{{Name: "ball", Parts: []Part{{Shape: 0, Pose: identity}}},
			{Name: "", Parts: []Part{{1, identity}}}},
		Rows: Rows{Count: 2, Row: Integers{7, 3}, Status: Integers{0, 3}, BodyA: Integers{0, -1}, BodyB: Integers{1, 1},
			PoseA: poses, PoseB: poses, Value: Numbers{0.5, nan}, Gap: Numbers{1e-9, nan},
			Normal: Numbers{0, 0, -1, nan, nan, nan}, WitnessA: make(Numbers, 6), WitnessB: make(Numbers, 6),
			PlaneA: Numbers{1, nan}, PlaneB: Numbers{2, nan}, CenterA: make(Numbers, 6), CenterB: make(Numbers, 6),
			World: Integers{0, 0}, PlaceA: Integers{1, -1}, PlaceB: Integers{0, 0}, Time: Numbers{0.25, 0},
			ContactBegin: Integers{0, 1, 1}, ContactPoint: Numbers{1, 2, 3}, ContactNormal: Numbers{0, 0, 1},
			ContactGap: Numbers{-0.01}},
		Worlds: []World{{World: 5, Bodies: Integers{1, 0}, Times: Numbers{0, 0.5},
			Poses: append(append(Numbers(nil), poses...), poses...)}},
		Traces: []Trace{{Row: 1, Method: "gjk", Status: "undecided", Radius: 0.5, Lower: -1, Upper: Number(math.Inf(1)),
			Steps: []Step{
				{Solver: "gjk", Direction: [3]float64{1, 0, 0}, Support: &Vertex{A: [3]float64{1, 0, 0}},
					Simplex: []Vertex{{}, {}}, Iterate: &[3]float64{1, 1, 1},
					Gradient: Number(nan), Region: Number(nan),
					Lower: Number(math.Inf(-1)), Upper: 2},
				{Solver: "answer", Gradient: Number(nan), Region: Number(nan),
					Lower: -1, Upper: Number(math.Inf(1)),
					Witnesses: &Vertex{}},
			}}},
	}
}

// TestRoundTrip: a document is read as it was written, whether its lists are short or long.
func TestRoundTrip(t *testing.T) {
	for _, long := range []bool{false, true} {
		d := example()
		if long {
			for range 200 {
				d.Shapes[0].Points = append(d.Shapes[0].Points, 0.1, -1e-300, math.Pi)
			}
		}
		var text, again bytes.Buffer
		if err := Write(&text, d); err != nil {
			t.Fatal(err)
		}
		if long != strings.Contains(text.String(), `"float64":"`) {
			t.Errorf("long %t: %s", long, text.String())
		}
		if strings.Contains(text.String(), "<") {
			t.Error("the document contains <, which could end the element of a page that has it")
		}
		first := text.String()
		read, err := Read(&text)
		if err != nil {
			t.Fatal(err)
		}
		// NaN differs from itself: the second writing is compared.
		if err := Write(&again, read); err != nil {
			t.Fatal(err)
		}
		if again.String() != first {
			t.Errorf("written again:\n%s\nwant\n%s", again.String(), first)
		}
		if !reflect.DeepEqual(read.Shapes, d.Shapes) || !reflect.DeepEqual(read.Bodies, d.Bodies) {
			t.Errorf("read %v, want %v", read.Shapes, d.Shapes)
		}
	}
}

// TestTypes: columns of every element type are the same numbers.
func TestTypes(t *testing.T) {
	for _, form := range []string{
		`[1, 2, null]`, `{"float64": "AAAAAAAA8D8AAAAAAAAAQAAAAAAAAPh/"}`, `{"float32": "AACAPwAAAEAAAMB/"}`,
		`{"int32": "AQAAAAIAAAADAAAA"}`, `{"uint8": "AQID"}`,
	} {
		var n Numbers
		if err := n.UnmarshalJSON([]byte(form)); err != nil || len(n) != 3 || n[0] != 1 || n[1] != 2 ||
			n[2] != 3 && !math.IsNaN(n[2]) {
			t.Errorf("%s: %v, %v", form, n, err)
		}
		var i Integers
		err := i.UnmarshalJSON([]byte(form))
		if whole := !strings.Contains(form, "float"); strings.HasPrefix(form, "{") && (err == nil) != whole {
			t.Errorf("%s as integers: %v, %v", form, i, err)
		}
	}
}

// TestCheck: a document that does not fit together is refused with the name of the field.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		want   string
		damage func(d *Document)
	}{
		{`format "x"`, func(d *Document) { d.Format = "x" }},
		{"version 2", func(d *Document) { d.Version = 2 }},
		{`value "speed"`, func(d *Document) { d.Value = "speed" }},
		{"shape 0: a sphere of 2 coordinates", func(d *Document) { d.Shapes[0].Points = Numbers{1, 2} }},
		{"shape 0: points: number 3 is NaN", func(d *Document) { d.Shapes[0].Points[3] = math.NaN() }},
		{"body 1: part 0: shape 2 of 2", func(d *Document) { d.Bodies[1].Parts[0].Shape = 2 }},
		{"body 0: part 0: pose", func(d *Document) { d.Bodies[0].Parts[0].Pose[6] = math.Inf(1) }},
		{"world 0 has no times", func(d *Document) { d.Worlds[0].Times = nil }},
		{"world 0: poses has 14 numbers, want 2×2×7", func(d *Document) { d.Worlds[0].Poses = make(Numbers, 14) }},
		{"world 0: time 1 is 0, want one after 0", func(d *Document) { d.Worlds[0].Times[1] = 0 }},
		{"world 0: bodies: element 0 is 2, want -1 to 1", func(d *Document) { d.Worlds[0].Bodies[0] = 2 }},
		{"rows: pose_a has 13 numbers, want 2×7", func(d *Document) { d.Rows.PoseA = d.Rows.PoseA[:13] }},
		{"rows: normal has 0 numbers, want 2×3", func(d *Document) { d.Rows.Normal = nil }},
		{"rows: time has 1 numbers, want 2×1", func(d *Document) { d.Rows.Time = Numbers{1} }},
		{"rows: status: element 1 is 5, want 0 to 4", func(d *Document) { d.Rows.Status[1] = 5 }},
		{"rows: body_b: element 0 is 2", func(d *Document) { d.Rows.BodyB[0] = 2 }},
		{"rows: world: element 1 is 1", func(d *Document) { d.Rows.World[1] = 1 }},
		{"rows: place 2 in row 0, whose world has 2", func(d *Document) { d.Rows.PlaceA[0] = 2 }},
		{"without the column world", func(d *Document) { d.Rows.World = nil }},
		{"contact_begin: want 3 numbers from 0 to 1", func(d *Document) { d.Rows.ContactBegin = Integers{0, 1} }},
		{"contact_begin falls after row 1", func(d *Document) {
			d.Rows.ContactBegin = Integers{0, 2, 1}
		}},
		{"contact_point and contact_normal have 3 and 0", func(d *Document) { d.Rows.ContactNormal = nil }},
		{"trace 0: row 2 of 2", func(d *Document) { d.Traces[0].Row = 2 }},
		{"trace 0 has no steps", func(d *Document) { d.Traces[0].Steps = nil }},
		{"trace 0: step 0: 5 vertices", func(d *Document) { d.Traces[0].Steps[0].Simplex = make([]Vertex, 5) }},
		{"trace 0 ends at [-1, 2], and its answer is [-1, +Inf]", func(d *Document) { d.Traces[0].Steps[1].Upper = 2 }},
	} {
		d := example()
		c.damage(d)
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
	for _, text := range []string{``, `{}`, `[]`, `{"format": 3}`, `{"rows": {"row": {"float64": "?"}}}`,
		`{"rows": {"row": {"float64": "AAA="}}}`, `{"rows": {"row": {"text": ""}}}`, `{"rows": {"row": {}}}`} {
		if _, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

// TestPythonWritesIt: what clearance.show of Python writes is a valid document. python/tests/test_viewers.py compares
// the file, five pairs with contacts and a trace, with what it writes now.
func TestPythonWritesIt(t *testing.T) {
	file, err := os.Open("testdata/python.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if d.Rows.Count != 5 || len(d.Traces) != 1 || len(d.Rows.ContactGap) == 0 || len(d.Shapes) != 4 {
		t.Errorf("%d rows, %d traces, %d contacts, %d shapes", d.Rows.Count, len(d.Traces), len(d.Rows.ContactGap),
			len(d.Shapes))
	}
}

func FuzzRead(f *testing.F) {
	var text bytes.Buffer
	if err := Write(&text, example()); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Add([]byte(fmt.Sprintf(`{"format": %q, "version": 1, "value": "factor"}`, Format)))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var text bytes.Buffer
		if err := Write(&text, d); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&text); err != nil {
			t.Fatalf("%v: %s", err, text.String())
		}
	})
}
