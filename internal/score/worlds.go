package score

import (
	"maps"
	"strconv"

	"clearance/batch"
	"clearance/dataset"
)

// WorldSource is worlds of a file of bodies, or of shapes, which are bodies of one part.
type WorldSource struct {
	*dataset.WorldReader[*batch.Worlds]
	Bodies   *batch.Bodies
	allPairs bool // whatever pairs the file lists
}

// OpenWorlds opens a file of worlds of bodies of a table or, where the file lists shapes, of its library.
func OpenWorlds(path string, bodies *batch.Bodies, allPairs bool) (*WorldSource, error) {
	has, err := dataset.HasBodies(path)
	if err != nil {
		return nil, err
	}
	s := &WorldSource{Bodies: bodies, allPairs: allPairs}
	if has {
		s.WorldReader, err = dataset.OpenRollout(path, bodies)
	} else {
		s.Bodies = batch.BodiesOfShapes(bodies.Library())
		s.WorldReader, err = dataset.OpenWorlds(path)
	}
	return s, err
}

// RowsPerWorld is the number of pairs of a world, 0 of all pairs.
func (s *WorldSource) RowsPerWorld() int {
	if s.allPairs {
		return 0
	}
	return s.WorldReader.RowsPerWorld()
}

// Worlds returns worlds [lo, hi).
func (s *WorldSource) Worlds(lo, hi int) (*batch.Worlds, error) {
	w, err := s.WorldReader.Worlds(lo, hi)
	if err != nil {
		return nil, err
	}
	if s.allPairs {
		w.AllPairs, w.TemplateA, w.TemplateB = true, nil, nil
	}
	return w, w.CheckBodies(s.Bodies)
}

// WorldsOf returns the worlds [lo, hi) of a file of n, or an error if it does not have them. hi may be [ToEnd].
func WorldsOf(lo, hi, n int) (Rows, error) { return rangeOf("worlds", lo, hi, n, "worlds") }

// Meta is what results of worlds with so many pairs each state of the worlds and rows that they are of. All pairs,
// whose number is given as 0, have no numbers of rows. Results of all worlds state nothing.
func (r Rows) Meta(pairs int) map[string]string {
	switch {
	case r.all():
		return nil
	case pairs == 0:
		return map[string]string{dataset.MetaWorlds: r.text(1)}
	}
	return map[string]string{MetaRows: r.text(pairs), dataset.MetaWorlds: r.text(1)}
}

// CreateRollout begins a file of results of a range of worlds of a source, with the options as metadata. Rows of all
// pairs have the numbers of their worlds in the file.
func (s *WorldSource) CreateRollout(path string, o *batch.RolloutOptions, r Rows) *dataset.RolloutWriter {
	rows := int64(r.Len()) * int64(s.RowsPerWorld())
	switch {
	case o.Reduce == batch.ReduceWorld:
		rows = int64(r.Len())
	case s.RowsPerWorld() == 0:
		rows = dataset.UnknownRows
	}
	meta := map[string]string{MetaMethod: o.Method.String(), MetaTolerance: number(o.Tolerance)}
	maps.Copy(meta, r.Meta(s.RowsPerWorld()))
	w := dataset.CreateRolloutResults(path, o, r.Len(), rows, meta)
	w.From(r.Lo)
	if rows == dataset.UnknownRows && o.EveryPair() {
		w.AtLeast(int64(r.Len()) * s.pairs())
	}
	return w
}

// pairs is the number of pairs that every world has at least, of all pairs.
func (s *WorldSource) pairs() int64 {
	n := int64(0)
	for _, body := range s.SharedList() {
		if body >= 0 {
			n++
		}
	}
	return max(n*(n-1)/2-int64(s.Skips()), 0)
}

// CreateSweep begins a file of results of a range of worlds of motions, with both tolerances as metadata.
func CreateSweep(path string, from *dataset.WorldReader[*batch.Motions], tolerance, timeTolerance float64, r Rows) (
	*dataset.SweepWriter, error) {
	meta := map[string]string{MetaTolerance: number(tolerance), "time_tolerance": number(timeTolerance)}
	maps.Copy(meta, r.Meta(from.RowsPerWorld()))
	return dataset.CreateSweepResults(path, r.Len(), from.WayPoints(), int64(r.Len())*int64(from.RowsPerWorld()), meta)
}

// number is a float as metadata have it.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
