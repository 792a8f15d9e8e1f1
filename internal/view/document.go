package view

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
	"clearance/internal/score"
	"clearance/rollout/sweep"

	"gonum.org/v1/gonum/spatial/r3"
)

// Files names what is opened: shapes, and pairs, worlds or motions over them, with results or without.
type Files struct {
	Shapes, Pairs, Worlds, Motions, Results string

	AllPairs bool // of worlds, whatever pairs their file lists

	// First is the row of pairs, or the world, that is shown first, and Count the largest number of cells in memory:
	// the range [k·Count, (k+1)·Count) that First lies in. 0 is 1,000.
	First, Count int
}

// A Document has the cells that the viewer shows, each of which is a world or a row of pairs. All cells are worlds of
// bodies here: a row of pairs is a world of two bodies and one pair.
type Document struct {
	Title  string
	Bodies *batch.Bodies
	Worlds *batch.Worlds // at the present time
	First  int           // the world, or the row, of cell 0
	Rows   bool          // whether cells are rows of pairs

	mover   Mover
	Results *Results // of files, else nil
}

// A Mover sets the poses of a document to the poses at a time, in seconds or way points.
type Mover interface {
	// Move writes the poses of the time t, [W,M,7].
	Move(t float64, poses []float64) error
	// Length is the time of the last poses, +Inf for what has no end.
	Length() float64
	Unit() string // of the time
}

// Open reads files. Its errors name the file, the row and the column.
func Open(f Files) (*Document, error) {
	if f.Count == 0 {
		f.Count = 1000
	}
	given := 0
	for _, path := range []string{f.Pairs, f.Worlds, f.Motions} {
		if path != "" {
			given++
		}
	}
	switch {
	case f.Shapes == "":
		return nil, errors.New("there are no shapes; give --shapes")
	case given != 1:
		return nil, fmt.Errorf("%d of --pairs, --worlds and --motions are given, want one", given)
	case f.First < 0 || f.Count < 1:
		return nil, fmt.Errorf("row or world %d, %d at a time: want at least 0 and 1", f.First, f.Count)
	}
	bodies, err := dataset.ReadBodies(f.Shapes)
	if err != nil {
		return nil, err
	}
	d := &Document{Bodies: bodies, First: f.First / f.Count * f.Count}
	switch {
	case f.Pairs != "":
		err = d.openPairs(&f)
	case f.Worlds != "":
		err = d.openWorlds(&f)
	default:
		err = d.openMotions(&f)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Document) openPairs(f *Files) error {
	file, err := dataset.OpenPairs(f.Pairs)
	if err != nil {
		return err
	}
	defer file.Close()
	d.Title, d.Rows, d.Bodies = filepath.Base(f.Pairs), true, batch.BodiesOfShapes(d.Bodies.Library())
	if err := inRange(f, "row", int(file.Len())); err != nil {
		return err
	}
	in, err := file.Rows(d.First, d.First+f.Count, nil)
	if err != nil {
		return err
	}
	d.Worlds = PairWorlds(in)
	if err := d.Worlds.CheckBodies(d.Bodies); err != nil {
		return fmt.Errorf("%s: rows from %d on as worlds: %w", f.Pairs, d.First, err)
	}
	if f.Results == "" {
		return nil
	}
	d.Results, err = readPairResults(f.Results, d.First, in.Len(), int(file.Len()))
	return err
}

// PairWorlds returns pairs as worlds of two bodies, which are shapes.
func PairWorlds(in batch.Input) *batch.Worlds {
	w := &batch.Worlds{M: 2, TemplateA: []int32{0}, TemplateB: []int32{1}}
	var r batch.Row
	for i := range in.Len() {
		in.Row(i, &r)
		w.Bodies = append(w.Bodies, r.ShapeA, r.ShapeB)
		for _, p := range []*geom.Pose{&r.PoseA, &r.PoseB} {
			w.Poses = append(w.Poses, p.Position.X, p.Position.Y, p.Position.Z,
				p.Rotation.Real, p.Rotation.Imag, p.Rotation.Jmag, p.Rotation.Kmag)
		}
	}
	return w
}

func inRange(f *Files, what string, n int) error {
	switch {
	case n == 0:
		return fmt.Errorf("%s has no %ss", f.Pairs+f.Worlds+f.Motions, what)
	case f.First >= n:
		return fmt.Errorf("%s %d of %s, which has %d", what, f.First, f.Pairs+f.Worlds+f.Motions, n)
	}
	return nil
}

func (d *Document) openWorlds(f *Files) error {
	file, err := score.OpenWorlds(f.Worlds, d.Bodies, f.AllPairs)
	if err != nil {
		return err
	}
	defer file.Close()
	d.Title, d.Bodies = filepath.Base(f.Worlds), file.Bodies
	if err := inRange(f, "world", file.Count()); err != nil {
		return err
	}
	if d.Worlds, err = file.Worlds(d.First, min(d.First+f.Count, file.Count())); err != nil {
		return err
	}
	if f.Results == "" {
		return nil
	}
	rows, meta, err := dataset.ReadRolloutResults(f.Results)
	if err != nil {
		return err
	}
	d.Results = &Results{rollout: rows, worlds: d.Worlds, first: d.First, factor: hasFactors(meta)}
	return d.Results.check(f.Results, file.Count(), file.RowsPerWorld())
}

func (d *Document) openMotions(f *Files) error {
	file, err := dataset.OpenMotions(f.Motions, d.Bodies)
	if err != nil {
		return err
	}
	defer file.Close()
	d.Title = filepath.Base(f.Motions)
	if err := inRange(f, "world", file.Count()); err != nil {
		return err
	}
	m, err := file.Worlds(d.First, min(d.First+f.Count, file.Count()))
	if err != nil {
		return err
	}
	d.Worlds = &batch.Worlds{M: m.BodiesPerWorld(), Bodies: m.Bodies, TemplateA: m.TemplateA, TemplateB: m.TemplateB,
		Poses: make([]float64, m.Count()*m.BodiesPerWorld()*7)}
	mover := &motion{motions: m}
	d.mover = mover
	if err := mover.Move(0, d.Worlds.Poses); err != nil {
		return err
	}
	if f.Results == "" {
		return nil
	}
	rows, _, err := dataset.ReadSweepResults(f.Results)
	if err != nil {
		return err
	}
	d.Results = &Results{sweep: rows, worlds: d.Worlds, first: d.First}
	return d.Results.check(f.Results, file.Count(), file.RowsPerWorld())
}

// readPairResults reads n rows of results from first on, of a file that has all of them.
func readPairResults(path string, first, n, all int) (*Results, error) {
	file, err := dataset.OpenResults(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if file.Len() != int64(all) {
		return nil, fmt.Errorf("%s has %d rows, the pairs %d", path, file.Len(), all)
	}
	o := &batch.Options{Columns: file.Columns(), Precision: file.Precision()}
	rows := batch.NewResults(n, o)
	if err = score.Skip(file, first); err == nil {
		err = score.Fill(n, func(at int) (int, error) { return file.Next(rows.Slice(at, n)) })
	}
	if err != nil {
		return nil, fmt.Errorf("%s: rows up to %d: %w", path, first+n-1, err)
	}
	if rows.Status() == nil {
		return nil, fmt.Errorf("%s has no column status", path)
	}
	return &Results{rollout: &batch.RolloutResults{Results: rows}, pairs: true, number: first,
		factor: hasFactors(file.Metadata())}, nil
}

// hasFactors reports whether results with some metadata have growth factors as distances.
func hasFactors(meta map[string]string) bool { return meta[score.MetaQuery] == batch.Growth.String() }

// motion is bodies that move along way points.
type motion struct{ motions *batch.Motions }

func (m *motion) Length() float64 { return float64(m.motions.WayPoints() - 1) }

func (m *motion) Unit() string { return "way points" }

func (m *motion) Move(t float64, poses []float64) error {
	t = min(max(t, 0), m.Length())
	k := min(int(t), m.motions.WayPoints()-2)
	places := m.motions.BodiesPerWorld()
	for w := range m.motions.Count() {
		for j := range places {
			if m.motions.Body(w, int32(j)) != batch.Absent {
				between(poses[7*(w*places+j):][:7], m.motions.Pose(w, k, int32(j)), m.motions.Pose(w, k+1, int32(j)),
					t-float64(k))
			}
		}
	}
	return nil
}

// between writes the pose at a share of the way between two poses, along which a body moves as in a sweep. If one of
// them is invalid it writes zeros, which the engine finds invalid as well.
func between(to []float64, from, next geom.Pose, share float64) {
	from, err := from.Normalized()
	next, errNext := next.Normalized()
	if err != nil || errNext != nil {
		clear(to)
		return
	}
	at := sweep.Between(from, next, share)
	p, q := at.Position, at.Rotation
	copy(to, []float64{p.X, p.Y, p.Z, q.Real, q.Imag, q.Jmag, q.Kmag})
}

// Count is the number of cells.
func (d *Document) Count() int { return d.Worlds.Count() }

// Moves reports whether the document has a time line.
func (d *Document) Moves() bool { return d.mover != nil }

// Name is the name of a body for people.
func (d *Document) Name(body int32) string {
	parts := d.Bodies.Parts(body)
	if name := d.Bodies.Name(body); name != "" {
		return Printable(name, 32)
	}
	if len(parts) == 1 {
		s := parts[0].Shape
		if name := d.Bodies.Library().Name(s); name != "" {
			return Printable(name, 32)
		}
		return fmt.Sprintf("%s %d", d.Bodies.Library().Shape(s).Kind(), s)
	}
	return fmt.Sprintf("body %d of %d parts", body, len(parts))
}

// extent is the radius of a ball about the origin of a body that contains it; +Inf with a half-space.
func (d *Document) extent(body int32) float64 {
	b := d.Bodies.Bounds(body)
	return r3.Norm(b.Center) + b.Radius
}

// cellBall returns a ball that contains the bodies of a cell but for half-spaces, and whether there are any.
func (d *Document) cellBall(cell int) (center r3.Vec, radius float64, ok bool) {
	var balls []ball
	for k := range int32(d.Worlds.BodiesPerWorld()) {
		if b := d.ballOf(cell, k); b.radius >= 0 {
			balls = append(balls, b)
		}
	}
	if len(balls) == 0 {
		return r3.Vec{}, 1, false
	}
	for _, b := range balls {
		center = r3.Add(center, r3.Scale(1/float64(len(balls)), b.center))
	}
	for _, b := range balls {
		radius = max(radius, r3.Norm(r3.Sub(b.center, center))+b.radius)
	}
	return center, radius, true
}

type ball struct {
	center r3.Vec
	radius float64 // negative if there is no bounded body
}

// ballOf is one that contains the body at place k of a cell.
func (d *Document) ballOf(cell int, k int32) ball {
	body := d.Worlds.Body(cell, k)
	if body == batch.Absent {
		return ball{radius: -1}
	}
	pose, err := d.Worlds.Pose(cell, k).Normalized()
	bounds := d.Bodies.Bounds(body)
	if err != nil || math.IsInf(bounds.Radius, 0) {
		return ball{radius: -1}
	}
	return ball{pose.Apply(bounds.Center), bounds.Radius}
}
