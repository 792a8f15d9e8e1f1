package dataset

import (
	"fmt"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/dataset/npz"
	"clearance/dataset/output"
	"clearance/dataset/parquet"
	"clearance/dataset/table"
	"clearance/geom"
)

// PairReader streams a file of pairs.
type PairReader struct{ tableReader }

// OpenPairs opens a Parquet or NPZ file of pairs and checks its columns. Values
// are not judged here: batch does that, row by row. A null is NaN, or the index -1, so that its row is invalid. Other
// columns are not read, see [PairReader.Extra].
func OpenPairs(path string, opts ...Option) (*PairReader, error) {
	src, err := openTableWith(path, table.Pairs, table.Leniency{Extra: true, Nulls: true}, opts)
	if err != nil {
		return nil, err
	}
	return &PairReader{tableReader{path: path, src: src}}, nil
}

// Len returns the number of pairs that the file declares.
func (r *PairReader) Len() int64 { return r.src.Rows() }

// Next fills dst from its first row on and returns the number of rows filled, at
// most dst.Len(). At the end of the file it returns 0 and io.EOF. Checksums are
// compared by the call that reads the last row.
func (r *PairReader) Next(dst *batch.Pairs) (int, error) {
	if err := dst.CheckShape(); err != nil {
		return 0, err
	}
	return r.advance(dst.Len(), len(table.Pairs), func(i, n int) any {
		return pairValues(dst, i, n)
	})
}

// parallelPairs is the number of pairs from which on the columns of a new list are allocated by a worker each: the
// runtime clears memory that was used before.
const parallelPairs = 1 << 15

// pairsIn is batch.PairsIn.
func pairsIn(used batch.Input, n int) *batch.Pairs {
	if p, ok := used.(*batch.Pairs); n < parallelPairs || ok && p.Len() >= n {
		return batch.PairsIn(used, n)
	}
	p := new(batch.Pairs)
	columns := []func(){
		func() { p.RotationA = make([]float64, 4*n) }, func() { p.RotationB = make([]float64, 4*n) },
		func() { p.PositionA = make([]float64, 3*n) }, func() { p.PositionB = make([]float64, 3*n) },
		func() { p.ShapeA, p.ShapeB = make([]int32, n), make([]int32, n) },
	}
	_ = table.Parallel(table.WorkersOr(0), len(columns),
		func(i int) error { columns[i](); return nil }) // no function fails
	return p
}

// Rows returns rows [lo, hi) of the file, fewer where it ends, in the memory of used if that suffices. Ranges ascend;
// rows in between are not read where the format allows that. With it the file is a source of a stream, see package
// dispatch.
func (r *PairReader) Rows(lo, hi int, used batch.Input) (batch.Input, error) {
	if lo < hi && int64(lo) < r.next {
		return nil, fmt.Errorf("dataset: %s: rows from %d are asked for, and %d have been read", r.path, lo, r.next)
	}
	end := min(int64(hi), r.Len())
	first := min(int64(lo), end)
	if err := r.src.Skip(max(first-r.next, 0)); err != nil {
		return nil, notEnd(err)
	}
	r.next = max(r.next, first)
	pairs := pairsIn(used, int(end-first))
	if pairs.Len() == 0 {
		return pairs, nil
	}
	_, err := r.Next(pairs) // all of them
	return pairs, err
}

// Close closes the file.
func (r *PairReader) Close() error { return r.src.Close() }

// pairValues is the first n rows of column i.
func pairValues(p *batch.Pairs, i, n int) any {
	switch i {
	case 0:
		return p.ShapeA[:n]
	case 1:
		return p.ShapeB[:n]
	case 2:
		return p.PositionA[:3*n]
	case 3:
		return p.PositionB[:3*n]
	case 4:
		return p.RotationA[:4*n]
	default:
		return p.RotationB[:4*n]
	}
}

// PairWriter writes a file of pairs. Close completes it; Abort drops it.
type PairWriter struct {
	tableWriter
	fs output.FS
}

// CreatePairs begins a Parquet or NPZ file of exactly n pairs.
func CreatePairs(path string, n int64) (*PairWriter, error) {
	return createPairs(output.Disk{}, path, n)
}

func createPairs(fs output.FS, path string, n int64) (*PairWriter, error) {
	out, err := createTable(fs, path, table.Pairs, n)
	if err != nil {
		return nil, err
	}
	return &PairWriter{tableWriter{path: path, out: out, n: n}, fs}, nil
}

// CloseWithLibrary completes the file together with a library as [WriteLibrary] writes it: the
// library is on disk before the pairs get their name, and where it cannot get its own, the
// pairs are removed.
func (w *PairWriter) CloseWithLibrary(path string, l *batch.Library) error {
	library := &output.Staging{FS: w.fs}
	p, err := partsOf(l)
	if err == nil {
		err = writeShapes(library, path, p)
	}
	if err != nil {
		w.Abort()
		return err
	}
	if err := w.Close(); err != nil {
		library.Drop()
		return err
	}
	if err := library.Publish(); err != nil {
		_ = w.fs.Remove(w.path)
		return err
	}
	return nil
}

// Write appends all rows of p.
func (w *PairWriter) Write(p *batch.Pairs) error {
	if err := p.CheckShape(); err != nil {
		return err
	}
	vals := make([]any, len(table.Pairs))
	for i := range vals {
		vals[i] = pairValues(p, i, p.Len())
	}
	return w.append(vals, p.Len())
}

// ReadPairs reads a whole file of pairs into memory.
func ReadPairs(path string) (*batch.Pairs, error) {
	r, err := OpenPairs(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := table.CheckMemory[[15]float64](fmt.Sprintf("%d pairs", r.Len()), r.Len()); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	// Grow with what has been read: the length of a damaged file may be a lie.
	all := batch.NewPairs(0)
	chunk := batch.NewPairs(int(min(r.Len(), 1<<16)))
	for int64(all.Len()) < r.Len() {
		n, err := r.Next(chunk)
		if err != nil {
			return nil, err
		}
		c := chunk.Slice(0, n)
		all.ShapeA, all.ShapeB = append(all.ShapeA, c.ShapeA...), append(all.ShapeB, c.ShapeB...)
		all.PositionA, all.PositionB = append(all.PositionA, c.PositionA...), append(all.PositionB, c.PositionB...)
		all.RotationA, all.RotationB = append(all.RotationA, c.RotationA...), append(all.RotationB, c.RotationB...)
	}
	return all, nil
}

// WritePairs writes a whole pair list.
func WritePairs(path string, p *batch.Pairs) error {
	w, err := CreatePairs(path, int64(p.Len()))
	if err != nil {
		return err
	}
	if err := w.Write(p); err != nil {
		w.Abort()
		return err
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	return nil
}

// Extra are the columns of a file of pairs that are not those of a pair, such as names of objects or labels. Results
// carry them: the writer reads them row by row and writes them as they are. See [CreateResultsWith].
type Extra struct {
	path    string
	names   []string
	npz     *npz.Extra // one of both
	parquet *parquet.Extra
}

// Extra opens the columns of the file that are not those of a pair once more, nil if there are none.
func (r *PairReader) Extra(opts ...Option) (*Extra, error) {
	if parts, ok := r.src.(*partsSource); ok {
		return nil, parts.noExtra(opts)
	}
	f, err := formatOf(r.path)
	if err != nil {
		return nil, err
	}
	e := &Extra{path: r.path}
	if f == formatParquet {
		e.parquet, e.names, err = parquet.OpenExtra(r.path, newLimits(opts))
	} else {
		e.npz, e.names, err = npz.OpenExtra(r.path, r.Len())
	}
	if err == nil && len(e.names) == 0 {
		return nil, e.Close()
	}
	if err == nil {
		err = e.check()
	}
	if err != nil {
		_ = e.Close()
		return nil, fmt.Errorf("dataset: %s: %w", r.path, err)
	}
	return e, nil
}

// noExtra returns an error if a part has other columns than those of pairs.
func (s *partsSource) noExtra(opts []Option) error {
	for _, p := range s.parts {
		r, err := OpenPairs(p.path, opts...)
		if err != nil {
			return err
		}
		extra, err := r.Extra(opts...)
		_ = r.Close()
		if err != nil {
			return err
		}
		if extra != nil {
			_ = extra.Close()
			return fmt.Errorf("dataset: %s has the columns %s besides those of pairs, which results of a folder "+
				"cannot carry: leave them out, or write one file", p.path, strings.Join(extra.Names(), ", "))
		}
	}
	return nil
}

// check reports a name that results use.
func (e *Extra) check() error {
	taken := []string{metaQuery, metaValue, metaPrecision, metaSolvers, oldSolvers, "method", "tolerance", "cutoff",
		"part_a", "part_b"}
	for a := range geom.AttributeCount {
		taken = append(taken, a.Info().Plural)
	}
	for _, c := range table.Results() {
		taken = append(taken, c.Name, c.Name+npz.TextSuffix)
	}
	for _, name := range e.names {
		if slices.Contains(taken, name) {
			return fmt.Errorf("column %q: results have something of that name; give the column another one", name)
		}
	}
	return nil
}

// matches reports that a results file cannot carry the columns.
func (e *Extra) matches(out string) error {
	f, err := outputFormat(out)
	if err != nil {
		return err
	}
	if have, _ := formatOf(e.path); f != have {
		return fmt.Errorf("dataset: %s has the columns %s besides those of pairs, which results carry in a file of "+
			"the same format alone, or in a folder of Parquet files: give %s its extension", e.path,
			strings.Join(e.names, ", "), out)
	}
	return nil
}

// Names returns the names of the columns.
func (e *Extra) Names() []string { return e.names }

// Close closes the file.
func (e *Extra) Close() error {
	switch {
	case e.npz != nil:
		return e.npz.Close()
	case e.parquet != nil:
		return e.parquet.Close()
	}
	return nil
}
