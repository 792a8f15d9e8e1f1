package dataset

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

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
	f, err := readWorldFile(path, &formMotions, opts)
	if err != nil {
		return nil, err
	}
	m := &batch.Motions{M: f.m, T: f.t, Bodies: f.list, Poses: f.poses, TemplateA: f.templateA,
		TemplateB: f.templateB}
	return checked(path, m, m.CheckBodies(bodies))
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

// WriteSweepResults writes the results of a sweep of W worlds through T way points to a Parquet or NPZ file: the
// columns state, lower, upper, closest, t0, t1, part_a, part_b and evaluations of [batch.SweepResults]. The
// metadata states the codes of the states, W and T, and has the given entries.
func WriteSweepResults(path string, r *batch.SweepResults, worlds, wayPoints int, meta map[string]string) error {
	cols, at := sweepColumns(r)
	out, err := createTable(osFS{}, path, cols, int64(r.N))
	if err != nil {
		return err
	}
	w := &tableWriter{path: path, out: out, n: int64(r.N)}
	defer w.Abort()
	out.describe(metaQuery, "sweep")
	out.describe(metaStates, codesText(batch.SweepStateCount))
	out.describe(metaWorlds, fmt.Sprint(worlds))
	out.describe(metaWayPoints, fmt.Sprint(wayPoints))
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		out.describe(key, meta[key])
	}
	values := make([]any, len(at))
	for i, p := range at {
		values[i] = reflect.ValueOf(p).Elem().Interface()
	}
	if err := w.append(values, r.N); err != nil {
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
