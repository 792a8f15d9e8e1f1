package dataset

import (
	"fmt"
	"reflect"

	"clearance/batch"
)

// Keys of the metadata of results of sweeps.
const (
	metaStates    = "states"
	metaWayPoints = "way_points"
)

// ReadMotions reads worlds of moving bodies from an NPZ file: bodies int32 [M], or [W,M] with -1 for none; poses
// float64 [W,T,M,7] (position, then quaternion w, x, y, z) at T way points; template_a and template_b int32 [P]. Or
// from a Parquet file of W·T·M rows: world, way_point and body int32, position float64 [3], rotation float64 [4], and
// the metadata template, a JSON array of pairs. int64 indices and float32 poses are read too.
func ReadMotions(path string, bodies *batch.Bodies, opts ...Option) (*batch.Motions, error) {
	return whole(OpenMotions(path, bodies, opts...))
}

// OpenMotions opens a file of [ReadMotions], whose worlds are read by ranges.
func OpenMotions(path string, bodies *batch.Bodies, opts ...Option) (*WorldReader[*batch.Motions], error) {
	return openWorldFile(path, &formMotions, opts, func(f *worldFile, first int) (*batch.Motions, error) {
		m := &batch.Motions{M: f.m, T: f.t, Bodies: f.list, Poses: f.poses, TemplateA: f.templateA,
			TemplateB: f.templateB}
		if err := f.checkIndices(bodies, first); err != nil {
			return nil, err
		}
		return m, m.CheckBodies(bodies)
	})
}

// WriteMotions writes worlds of moving bodies as an NPZ or a Parquet file.
func WriteMotions(path string, m *batch.Motions, bodies *batch.Bodies) error {
	if err := m.CheckBodies(bodies); err != nil {
		return wrong(path, err)
	}
	f := &worldFile{worldForm: &formMotions, m: m.BodiesPerWorld(), t: m.WayPoints(), list: m.Bodies, poses: m.Poses,
		templateA: m.TemplateA, templateB: m.TemplateB}
	return f.write(path)
}

// sweepColumns are the columns of results of sweeps, and where their values are: pointers to slices.
func sweepColumns(r *batch.SweepResults) (cols []column, at []any) {
	for _, c := range []struct {
		name string
		typ  dtype
		at   any
	}{
		{"state", typeUint8, &r.State}, {"lower", typeFloat64, &r.Lower}, {"upper", typeFloat64, &r.Upper},
		{"closest", typeFloat64, &r.Closest}, {"t0", typeFloat64, &r.T0}, {"t1", typeFloat64, &r.T1},
		{"part_a", typeInt32, &r.PartA}, {"part_b", typeInt32, &r.PartB}, {"evaluations", typeInt32, &r.Evaluations},
	} {
		cols, at = append(cols, column{c.name, 1, []dtype{c.typ}}), append(at, c.at)
	}
	return cols, at
}

// SweepWriter writes results of a sweep by ranges of worlds. Close completes the file; Abort drops it.
type SweepWriter struct{ tableWriter }

// CreateSweepResults begins a Parquet or NPZ file of results of a sweep of W worlds through T way points: the columns
// state, lower, upper, closest, t0, t1, part_a, part_b and evaluations of [batch.SweepResults]. rows is the number of
// rows of all worlds. The metadata states the codes of the states, W and T, and has the given entries, [MetaWorlds] in
// place of W.
func CreateSweepResults(path string, worlds, wayPoints int, rows int64, meta map[string]string) (*SweepWriter, error) {
	cols, _ := sweepColumns(&batch.SweepResults{})
	out, err := createOutput(osFS{}, path, cols, rows, nil)
	if err != nil {
		return nil, err
	}
	out.describe(metaQuery, "sweep")
	out.describe(metaStates, codesText(batch.SweepStateCount))
	out.describe(MetaWorlds, worldsText(worlds, meta))
	out.describe(metaWayPoints, fmt.Sprint(wayPoints))
	describeOthers(out, meta)
	return &SweepWriter{tableWriter{path: path, out: out, n: rows}}, nil
}

// Write appends the results of the next worlds.
func (w *SweepWriter) Write(r *batch.SweepResults) error {
	_, at := sweepColumns(r)
	values := make([]any, len(at))
	for i, p := range at {
		values[i] = reflect.ValueOf(p).Elem().Interface()
	}
	return w.append(values, r.N)
}

// WriteSweepResults writes the results of a sweep to a Parquet or NPZ file, see [CreateSweepResults].
func WriteSweepResults(path string, r *batch.SweepResults, worlds, wayPoints int, meta map[string]string) error {
	w, err := CreateSweepResults(path, worlds, wayPoints, int64(r.N), meta)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.Write(r); err != nil {
		return err
	}
	return w.Close()
}

// ReadSweepResults reads a file of [WriteSweepResults], and its metadata.
func ReadSweepResults(path string, opts ...Option) (*batch.SweepResults, map[string]string, error) {
	cols, _ := sweepColumns(&batch.SweepResults{})
	src, err := openTable(path, cols, true, opts)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	if err := checkTable(path, src, cols); err != nil {
		return nil, nil, err
	}
	n := src.rows()
	r := &batch.SweepResults{N: int(n)}
	_, columns := sweepColumns(r)
	for i, to := range columns {
		if err := readColumn(path, src, i, n, to); err != nil {
			return nil, nil, err
		}
	}
	return r, src.metadata(), nil
}
