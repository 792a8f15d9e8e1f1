package dataset

import (
	"errors"
	"fmt"
	"reflect"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/dataset/table"
)

// Keys of the metadata of results of sweeps.
const (
	metaStates    = "states"
	metaWayPoints = "way_points"
)

// sweepValues points to the slices of the values of table.Sweeps.
func sweepValues(r *batch.SweepResults) []any {
	return []any{&r.State, &r.Lower, &r.Upper, &r.Closest, &r.T0, &r.T1, &r.PartA, &r.PartB, &r.Evaluations}
}

// SweepWriter writes results of a sweep by ranges of worlds. Close completes the file; Abort drops it.
type SweepWriter struct{ tableWriter }

// CreateSweepResults begins a Parquet or NPZ file of results of a sweep of W worlds through T way points: the columns
// state, lower, upper, closest, t0, t1, part_a, part_b and evaluations of [batch.SweepResults]. rows is the number of
// rows of all worlds. The metadata states the codes of the states, W and T, and has the given entries, [MetaWorlds] in
// place of W.
func CreateSweepResults(path string, worlds, wayPoints int, rows int64, meta map[string]string) (*SweepWriter, error) {
	out, err := createOutput(output.Disk{}, path, table.Sweeps, rows, nil)
	if err != nil {
		return nil, err
	}
	out.Describe(metaQuery, "sweep")
	out.Describe(metaStates, codesText(batch.SweepStateCount))
	out.Describe(MetaWorlds, worldsText(worlds, meta))
	out.Describe(metaWayPoints, fmt.Sprint(wayPoints))
	describeOthers(out, meta)
	return &SweepWriter{tableWriter{path: path, out: out, n: rows}}, nil
}

// Write appends the results of the next worlds.
func (w *SweepWriter) Write(r *batch.SweepResults) error {
	at := sweepValues(r)
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
	src, err := openTable(path, table.Sweeps, opts)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	if err := checkTable(path, src, table.Sweeps); err != nil {
		return nil, nil, err
	}
	n := src.Rows()
	r := &batch.SweepResults{N: int(n)}
	for i, to := range sweepValues(r) {
		if err := readColumn(path, src, i, n, to); err != nil {
			return nil, nil, err
		}
	}
	return r, src.Metadata(), nil
}

// A SweepReader reads results of a sweep by ranges of worlds, see [ReadSweepResults].
type SweepReader struct {
	path   string
	src    table.Source
	lo, hi int
	next   int64
}

// OpenSweepResults opens a file of [WriteSweepResults], or a folder of parts.
func OpenSweepResults(path string, opts ...Option) (*SweepReader, error) {
	src, err := openTable(path, table.Sweeps, opts)
	if err != nil {
		return nil, err
	}
	r := &SweepReader{path: path, src: src}
	if _, stated := src.Metadata()[MetaWorlds]; stated {
		if r.lo, r.hi, err = worldsOfMeta(src.Metadata()); err != nil {
			return nil, errors.Join(fmt.Errorf("dataset: %s: %w", path, err), src.Close())
		}
	}
	return r, nil
}

// Len returns the number of rows.
func (r *SweepReader) Len() int64 { return r.src.Rows() }

// Metadata returns the metadata of the file.
func (r *SweepReader) Metadata() map[string]string { return r.src.Metadata() }

// Range returns the worlds that the results are of, see [RolloutReader.Range].
func (r *SweepReader) Range() (lo, hi int) { return r.lo, r.hi }

// Close closes the file.
func (r *SweepReader) Close() error { return r.src.Close() }

// Worlds returns the results of worlds [lo, hi), by their numbers in the file of motions, which have so many rows each.
// Ranges ascend and do not overlap.
func (r *SweepReader) Worlds(lo, hi, rows int) (*batch.SweepResults, error) {
	at, n := int64(lo-r.lo)*int64(rows), (hi-lo)*rows
	if at < r.next || n < 0 || at+int64(n) > r.Len() {
		return nil, beyond(r.path, lo, hi, rows, r.Len())
	}
	out := batch.NewSweepResults(n)
	columns := sweepValues(out)
	dst := make([]any, len(columns))
	for i, to := range columns {
		dst[i] = reflect.ValueOf(to).Elem().Interface()
	}
	err := r.src.Skip(at - r.next)
	if err == nil {
		err = r.src.Read(dst)
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", r.path, notEnd(err))
	}
	r.next = at + int64(n)
	return out, nil
}
