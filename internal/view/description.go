package view

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/scenefile"

	"gonum.org/v1/gonum/spatial/r3"
)

// OpenScene reads a scene description. Its cells are its worlds or, if it has none, its rows. Shapes are the hulls of
// its points, so that no engine answers it anew: its answers and traces are shown as they stand.
func OpenScene(path string) (*Document, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	d, err := readScene(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if d.Title == "" {
		d.Title = filepath.Base(path)
	}
	return d, nil
}

func readScene(r io.Reader) (*Document, error) {
	s, err := scenefile.Read(r)
	if err != nil {
		return nil, err
	}
	d := &Document{Title: s.Title, Rows: len(s.Worlds) == 0}
	if s.Rows.Count+len(s.Worlds) == 0 {
		return nil, fmt.Errorf("there are no rows and no worlds")
	}
	if d.Bodies, err = bodiesOf(s); err != nil {
		return nil, err
	}
	order := make([]int, s.Rows.Count) // rows of the description by world
	for i := range order {
		order[i] = i
	}
	if d.Rows {
		d.Worlds = &batch.Worlds{M: 2, TemplateA: []int32{0}, TemplateB: []int32{1}}
		for i := range s.Rows.Count {
			d.Worlds.Bodies = append(d.Worlds.Bodies, s.Rows.BodyA[i], s.Rows.BodyB[i])
			d.Worlds.Poses = append(d.Worlds.Poses, s.Rows.PoseA[7*i:7*i+7]...)
			d.Worlds.Poses = append(d.Worlds.Poses, s.Rows.PoseB[7*i:7*i+7]...)
		}
	} else {
		timeline := newTimeline(s)
		d.Worlds = timeline.worlds()
		if timeline.Length() > 0 {
			d.mover = timeline
		}
		if err := timeline.Move(0, d.Worlds.Poses); err != nil {
			return nil, err
		}
		if len(s.Rows.World) == s.Rows.Count {
			sort.SliceStable(order, func(i, j int) bool { return s.Rows.World[order[i]] < s.Rows.World[order[j]] })
		}
	}
	if err := d.Worlds.CheckBodies(d.Bodies); err != nil {
		return nil, err
	}
	d.Results, err = resultsOf(s, order, d)
	return d, err
}

// bodiesOf are the bodies of a description over the hulls of its shapes.
func bodiesOf(s *scenefile.Document) (*batch.Bodies, error) {
	shapes := make([]geom.Shape, len(s.Shapes))
	names := make([]string, len(s.Shapes))
	for i, shape := range s.Shapes {
		names[i] = shape.Name
		if shape.Kind == scenefile.Halfspace {
			shapes[i] = geom.Halfspace{}
			continue
		}
		points := make([]r3.Vec, len(shape.Points)/3)
		for k := range points {
			points[k] = r3.Vec{X: shape.Points[3*k], Y: shape.Points[3*k+1], Z: shape.Points[3*k+2]}
		}
		hull, err := geom.NewConvex(points)
		if err != nil {
			return nil, fmt.Errorf("shape %d: %w", i, err)
		}
		shapes[i] = hull
	}
	lib, err := batch.NewLibrary(shapes, names)
	if err != nil {
		return nil, err
	}
	bodies := make([]batch.Body, len(s.Bodies))
	for i, b := range s.Bodies {
		bodies[i].Name = b.Name
		for _, p := range b.Parts {
			bodies[i].Parts = append(bodies[i].Parts, batch.Part{Shape: int32(p.Shape), Pose: poseOf(p.Pose[:])})
		}
	}
	return batch.NewBodies(lib, bodies)
}

// poseOf is the pose of seven numbers.
func poseOf(x []float64) (p geom.Pose) {
	p.Position = r3.Vec{X: x[0], Y: x[1], Z: x[2]}
	p.Rotation.Real, p.Rotation.Imag, p.Rotation.Jmag, p.Rotation.Kmag = x[3], x[4], x[5], x[6]
	return p
}

// resultsOf are the rows of a description in an order, by cells.
func resultsOf(s *scenefile.Document, order []int, d *Document) (*Results, error) {
	rows := &s.Rows
	n := len(order)
	r := batch.NewResults(n, &batch.Options{Precision: batch.Double, Columns: batch.ColDistance | batch.ColGap |
		batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB | batch.ColStatus})
	out := &Results{worlds: d.Worlds, pairs: d.Rows, factor: s.Value == "factor",
		rollout: &batch.RolloutResults{Results: r}}
	if !d.Rows {
		out.rollout.BodyA, out.rollout.BodyB = make([]int32, n), make([]int32, n)
		out.rollout.Offsets = make([]int64, len(s.Worlds)+1)
	}
	at := make([]int, n) // of a row of the description
	three := func(c scenefile.Numbers, i int) r3.Vec { return r3.Vec{X: c[3*i], Y: c[3*i+1], Z: c[3*i+2]} }
	for k, i := range order {
		at[i] = k
		name := s.Statuses[rows.Status[i]]
		status := batch.Separated
		switch {
		case scenefile.Contact(name):
			status = batch.Penetrating
		case name == batch.Invalid.String():
			status = batch.Invalid
		case scenefile.Unanswered(name):
			status = batch.Undecided
		}
		v, gap := rows.Value[i], rows.Gap[i]
		r.Put(k, &batch.Answer{Status: status, Distance: v, Lower: v - gap, Upper: v + gap,
			Normal: three(rows.Normal, i), WitnessA: three(rows.WitnessA, i), WitnessB: three(rows.WitnessB, i)})
		about := about{number: int64(rows.Row[i]), status: name, from: math.Inf(-1)}
		if len(rows.Time) > 0 && status == batch.Penetrating && !math.IsNaN(rows.Time[i]) {
			about.from = rows.Time[i]
		}
		if len(rows.ContactBegin) > 0 {
			for c := rows.ContactBegin[i]; c < rows.ContactBegin[i+1]; c++ {
				about.contacts = append(about.contacts, contactPoint{three(rows.ContactPoint, int(c)),
					three(rows.ContactNormal, int(c))})
			}
		}
		out.about = append(out.about, about)
		if d.Rows {
			continue
		}
		if len(rows.World) != n || len(rows.PlaceA) != n || len(rows.PlaceB) != n {
			return nil, fmt.Errorf("there are worlds, but rows without the columns world, place_a and place_b")
		}
		out.rollout.BodyA[k], out.rollout.BodyB[k] = rows.PlaceA[i], rows.PlaceB[i]
		out.rollout.Offsets[rows.World[i]+1] = int64(k + 1)
	}
	for w := range s.Worlds { // worlds without rows
		out.rollout.Offsets[w+1] = max(out.rollout.Offsets[w+1], out.rollout.Offsets[w])
	}
	for i := range s.Traces {
		t := &s.Traces[i]
		out.about[at[t.Row]].trace = t
	}
	return out, nil
}

// about has the entries of a description of a row that no column of results has.
type about struct {
	number   int64  // by which people name the row
	status   string // its name
	from     float64
	contacts []contactPoint
	trace    *scenefile.Trace
}

// A contactPoint is a point of a manifold, with the normal from A to B.
type contactPoint struct{ at, normal r3.Vec }

// timeline is the worlds of a description, whose times begin at 0 here.
type timeline struct {
	scene       *scenefile.Document
	places      int
	begin, last float64
}

func newTimeline(s *scenefile.Document) *timeline {
	t := &timeline{scene: s, begin: math.Inf(1), last: math.Inf(-1)}
	for i := range s.Worlds {
		w := &s.Worlds[i]
		t.places = max(t.places, len(w.Bodies))
		t.begin, t.last = min(t.begin, w.Times[0]), max(t.last, w.Times[len(w.Times)-1])
	}
	return t
}

func (t *timeline) Length() float64 { return t.last - t.begin }

func (t *timeline) Unit() string { return Printable(t.scene.TimeUnit, 16) }

// worlds returns the worlds of the description, padded to as many places.
func (t *timeline) worlds() *batch.Worlds {
	w := &batch.Worlds{M: t.places, AllPairs: true, Poses: make([]float64, 7*t.places*len(t.scene.Worlds))}
	for i := range t.scene.Worlds {
		list := t.scene.Worlds[i].Bodies
		w.Bodies = append(w.Bodies, list...)
		w.Bodies = append(w.Bodies, slices.Repeat([]int32{batch.Absent}, t.places-len(list))...)
	}
	return w
}

// Move places the bodies between the two times about t, as they move in a sweep.
func (t *timeline) Move(at float64, poses []float64) error {
	for i := range t.scene.Worlds {
		w := &t.scene.Worlds[i]
		m := len(w.Bodies)
		k := max(sort.SearchFloat64s(w.Times, at+t.begin)-1, 0)
		next := min(k+1, len(w.Times)-1)
		share := 0.0
		if next > k {
			share = min(max((at+t.begin-w.Times[k])/(w.Times[next]-w.Times[k]), 0), 1)
		}
		for j := range m {
			between(poses[7*(i*t.places+j):][:7], poseOf(w.Poses[7*(k*m+j):]), poseOf(w.Poses[7*(next*m+j):]), share)
		}
	}
	return nil
}
