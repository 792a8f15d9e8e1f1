package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"clearance/geom"
)

// Extra are the columns of a file of pairs that are not those of a pair, such as names of objects or labels. Results
// carry them: the writer reads them row by row and writes them as they are. See [CreateResultsWith].
type Extra struct {
	path    string
	names   []string
	npz     *npzExtra // one of both
	parquet *parquetExtra
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
		e.parquet, e.names, err = openParquetExtra(r.path, newLimits(opts))
	} else {
		e.npz, e.names, err = openNPZExtra(r.path, r.Len())
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
	for _, c := range resultColumns() {
		taken = append(taken, c.name, c.name+textSuffix)
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

// npzExtra are arrays of an NPZ file of any type but Python's objects.
type npzExtra struct {
	*npzFile
	columns []*npyArray
	buf     []byte
}

func openNPZExtra(path string, rows int64) (e *npzExtra, names []string, err error) {
	z, err := openNPZ(path, isPairColumn)
	if err != nil {
		return nil, nil, err
	}
	e = &npzExtra{npzFile: z}
	for _, name := range z.names() {
		a := z.arrays[name]
		if isPairColumn(name) || a.header.typ == typeText {
			continue
		}
		if len(a.header.shape) == 0 || a.header.shape[0] != rows {
			_ = z.Close()
			return nil, nil, fmt.Errorf("column %s has shape %s, want one entry per row, of which there are %d", name,
				a.header.shapeString(), rows)
		}
		e.columns, names = append(e.columns, a), append(names, name)
	}
	return e, names, nil
}

func isPairColumn(name string) bool { return checkName(name, pairColumns) == nil }

// specs are the arrays as they are to be written.
func (e *npzExtra) specs() []arraySpec {
	list := make([]arraySpec, len(e.columns))
	for i, a := range e.columns {
		list[i] = arraySpec{name: a.name, descr: a.header.descr, shape: a.header.shape, size: a.header.data()}
	}
	return list
}

// copy appends the next rows of every array to those of a writer from the first on.
func (e *npzExtra) copy(w *npzWriter, first, rows int) error {
	const block = 1 << 16
	if e.buf == nil {
		e.buf = make([]byte, block)
	}
	for i, a := range e.columns {
		row := int64(0)
		if n := a.header.shape[0]; n > 0 {
			row = a.header.data() / n
		}
		for left := row * int64(rows); left > 0; {
			b := e.buf[:min(left, block)]
			if _, err := io.ReadFull(a.in, b); err != nil {
				return fmt.Errorf("%s: column %s: %w", e.path, a.name, bodyError(err))
			}
			if err := w.appendBytes(first+i, b); err != nil {
				return err
			}
			left -= int64(len(b))
		}
		if a.left -= int64(rows) * (a.header.count() / max(a.header.shape[0], 1)); a.left == 0 {
			if _, err := a.in.ReadByte(); !errors.Is(err, io.EOF) {
				return fmt.Errorf("%s: column %s: %w", e.path, a.name, bodyError(err))
			}
		}
	}
	return nil
}
