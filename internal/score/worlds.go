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

// Meta is what results of worlds with so many pairs each state of the rows that they are of. With all pairs, whose
// number is given as 0, a world has one row, its least. Results of all worlds state nothing.
func (r Rows) Meta(pairs int) map[string]string {
	if r.all() {
		return nil
	}
	return map[string]string{MetaRows: r.text(max(pairs, 1))}
}

// CreateRolloutOf begins a file of results of a range of worlds of a source. Rows of all pairs, which no range of rows
// describes, have the numbers of their worlds in the file.
func (s *WorldSource) CreateRolloutOf(path string, o *batch.RolloutOptions, r Rows) *dataset.RolloutWriter {
	if s.RowsPerWorld() > 0 || o.Reduce == batch.ReduceWorld {
		return s.CreateRollout(path, o, r.Len(), r.Meta(s.RowsPerWorld()))
	}
	w := s.CreateRollout(path, o, r.Len(), nil)
	w.From(r.Lo)
	return w
}

// CreateRollout begins a file of results of some worlds of a source, with the options and further entries as metadata.
func (s *WorldSource) CreateRollout(path string, o *batch.RolloutOptions, worlds int, meta map[string]string,
) *dataset.RolloutWriter {
	rows := int64(worlds) * int64(s.RowsPerWorld())
	switch {
	case o.Reduce == batch.ReduceWorld:
		rows = int64(worlds)
	case s.RowsPerWorld() == 0:
		rows = dataset.UnknownRows
	}
	entries := map[string]string{MetaMethod: o.Method.String(), MetaTolerance: number(o.Tolerance)}
	maps.Copy(entries, meta)
	return dataset.CreateRolloutResults(path, o, worlds, rows, entries)
}

// CreateSweep begins a file of results of some worlds of motions, with both tolerances and further entries as metadata.
func CreateSweep(path string, from *dataset.WorldReader[*batch.Motions], tolerance, timeTolerance float64, worlds int,
	meta map[string]string) (*dataset.SweepWriter, error) {
	entries := map[string]string{MetaTolerance: number(tolerance), "time_tolerance": number(timeTolerance)}
	maps.Copy(entries, meta)
	return dataset.CreateSweepResults(path, worlds, from.WayPoints(), int64(worlds)*int64(from.RowsPerWorld()), entries)
}

// number is a float as metadata have it.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
