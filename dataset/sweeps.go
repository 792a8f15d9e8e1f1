package dataset

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"clearance/batch"
	"clearance/rollout"
	advancement "clearance/rollout/sweep"
)

// Keys of the metadata of results of sweeps.
const (
	metaStates    = "states"
	metaWayPoints = "way_points"
)

// ReadMotions reads worlds of moving bodies from an NPZ file: bodies int32 [M], or [W,M] with -1 for none; poses
// float64 [W,T,M,7] (position, then quaternion w, x, y, z) at T way points; template_a and template_b int32 [P].
// int64 indices and float32 poses are read too.
func ReadMotions(path string, bodies *batch.Bodies) (*rollout.Motions, error) {
	if f, err := formatOf(path); err != nil || f != formatNPZ {
		return nil, fmt.Errorf("dataset: %s: motions are read from .npz files", path)
	}
	z, err := openNPZ(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	m := &rollout.Motions{}
	if err := readMotions(z, m); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	if err := m.CheckShape(bodies); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return m, nil
}

func readMotions(z *npzFile, m *rollout.Motions) error {
	cols := rolloutArrays()[:4]
	for _, name := range z.names() {
		if err := checkName(name, cols); err != nil {
			return err
		}
	}
	dims := []string{"[M] or [W,M]", "[W,T,M,7]", "[P]", "[P]"}
	ranks := [][]int{{1, 2}, {4}, {1}, {1}}
	for i := range cols {
		c := &cols[i]
		a := z.arrays[c.name]
		switch {
		case a == nil:
			return fmt.Errorf("array %s is missing, want %s %s", c.name, c.read[0], dims[i])
		case !c.accepts(a.header.typ):
			return fmt.Errorf("array %s is %s, want %s", c.name, a.header.typ, c.types())
		case !slices.Contains(ranks[i], len(a.header.shape)):
			return fmt.Errorf("array %s has shape %s, want %s", c.name, a.header.shapeString(), dims[i])
		}
	}
	list, p := z.arrays[worldBodies].header.shape, z.arrays[worldPoses].header.shape
	n := list[len(list)-1]
	if p[1] < 2 || p[1] > 1<<30 || p[2] != n || p[3] != 7 || len(list) == 2 && list[0] != p[0] {
		return fmt.Errorf("array %s has shape %s, want [W,T,%d,7] with at least 2 way points for bodies of shape %s",
			worldPoses, z.arrays[worldPoses].header.shapeString(), n, z.arrays[worldBodies].header.shapeString())
	}
	m.M, m.T = int(n), int(p[1])
	return errors.Join(readInto(z, worldBodies, &m.Bodies), readInto(z, worldPoses, &m.Poses),
		readInto(z, worldTemplateA, &m.TemplateA), readInto(z, worldTemplateB, &m.TemplateB))
}

// WriteMotions writes worlds of moving bodies as an NPZ file.
func WriteMotions(path string, m *rollout.Motions, bodies *batch.Bodies) error {
	if f, err := formatOf(path); err != nil || f != formatNPZ {
		return fmt.Errorf("dataset: %s: motions are written to .npz files", path)
	}
	if err := m.CheckShape(bodies); err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	n, worlds, p := int64(m.BodiesPerWorld()), int64(m.Len()), int64(len(m.TemplateA))
	shape := []int64{n}
	if int64(len(m.Bodies)) != n {
		shape = []int64{worlds, n}
	}
	z, err := createNPZ(osFS{}, path, []arraySpec{
		{worldBodies, typeInt32, shape}, {worldPoses, typeFloat64, []int64{worlds, int64(m.WayPoints()), n, 7}},
		{worldTemplateA, typeInt32, []int64{p}}, {worldTemplateB, typeInt32, []int64{p}},
	})
	if err != nil {
		return err
	}
	for i, v := range []any{m.Bodies, m.Poses, m.TemplateA, m.TemplateB} {
		if err := z.append(i, v); err != nil {
			z.abort()
			return fmt.Errorf("dataset: cannot write %s: %w", path, err)
		}
	}
	return z.commit()
}

// sweepColumns are the columns of results of sweeps, and where their values are: pointers to slices.
func sweepColumns(r *rollout.SweepResults) (cols []column, at []any) {
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
// columns state, lower, upper, closest, t0, t1, part_a, part_b and evaluations of [rollout.SweepResults]. The
// metadata states the codes of the states, W and T, and has the given entries.
func WriteSweepResults(path string, r *rollout.SweepResults, worlds, wayPoints int, meta map[string]string) error {
	cols, at := sweepColumns(r)
	out, err := createTable(osFS{}, path, cols, int64(r.N))
	if err != nil {
		return err
	}
	w := &tableWriter{path: path, out: out, n: int64(r.N)}
	defer w.Abort()
	out.describe(metaQuery, "sweep")
	out.describe(metaStates, codesText(advancement.StateCount))
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
func ReadSweepResults(path string, opts ...Option) (*rollout.SweepResults, map[string]string, error) {
	cols, _ := sweepColumns(&rollout.SweepResults{})
	src, err := openTable(path, cols, true, opts)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	n := src.rows()
	r := &rollout.SweepResults{N: int(n)}
	_, columns := sweepColumns(r)
	for i, to := range columns {
		if err := readColumn(src, i, n, to); err != nil {
			return nil, nil, err
		}
	}
	return r, src.metadata(), nil
}
