package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// npzTable is a source of the columns of an NPZ file.
type npzTable struct {
	*npzFile
	cols []*npyArray // nil where the file lacks the column
	n    int64
	meta map[string]string

	workers int
}

func openNPZTable(path string, cols []column, l *limits, may leniency) (*npzTable, error) {
	var known func(string) bool
	if may.extra {
		known = func(name string) bool { return checkName(name, cols) == nil }
	}
	z, err := openNPZWithin(path, known, l)
	if err != nil {
		return nil, err
	}
	t := &npzTable{npzFile: z, workers: l.workers}
	if err := t.bind(cols, may); err != nil {
		_ = z.Close()
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return t, nil
}

// bind finds the arrays of the columns and checks their types and shapes.
func (t *npzTable) bind(cols []column, may leniency) error {
	t.cols = make([]*npyArray, len(cols))
	first := ""
	for i := range cols {
		c := &cols[i]
		a := t.arrays[c.name]
		if a == nil {
			continue
		}
		t.cols[i] = a
		if !c.accepts(a.header.typ) {
			return fmt.Errorf("column %s is %s, want %s", c.name, a.header.typ, c.types())
		}
		shape := a.header.shape
		if !(c.width == 1 && len(shape) == 1 || c.width > 1 && len(shape) == 2 && shape[1] == int64(c.width)) {
			return fmt.Errorf("column %s has shape %s, want %s", c.name, a.header.shapeString(), c.shape())
		}
		if first == "" {
			first, t.n = c.name, shape[0]
		} else if shape[0] != t.n {
			return fmt.Errorf("column %s has %d rows, column %s has %d", c.name, shape[0], first, t.n)
		}
	}
	t.meta = map[string]string{}
	for _, name := range t.names() {
		if a := t.arrays[name]; a.header.typ == typeText {
			text, err := a.text(t.budget)
			if err != nil {
				return fmt.Errorf("array %s: %w", name, err)
			}
			t.meta[textKey(name)] = text
		} else if err := checkName(name, cols); err != nil && !may.extra {
			return err
		}
	}
	if first == "" {
		return noColumns(cols)
	}
	return nil
}

// checkName reports a name that is not one of the columns.
func checkName(name string, cols []column) error {
	for i := range cols {
		if cols[i].name == name {
			return nil
		}
	}
	return fmt.Errorf("unknown column %q, want %s", name, columnNames(cols))
}

func noColumns(cols []column) error {
	return fmt.Errorf("no column found, want %s", columnNames(cols))
}

func columnNames(cols []column) string {
	s := make([]string, len(cols))
	for i := range cols {
		s[i] = cols[i].name
	}
	return strings.Join(s, ", ")
}

func (t *npzTable) rows() int64 { return t.n }

func (t *npzTable) typeOf(i int) (dtype, bool) {
	if t.cols[i] == nil {
		return 0, false
	}
	return t.cols[i].header.typ, true
}

func (t *npzTable) read(dst []any) error {
	var parts []arrayPart
	for i, v := range dst {
		if v == nil {
			continue
		}
		more, err := t.cols[i].parts(v)
		if err != nil {
			return t.wrong(t.cols[i], err)
		}
		parts = append(parts, more...)
	}
	return readParts(parts, t.workers, t.wrong)
}

func (t *npzTable) skip(rows int64) error {
	for _, a := range t.cols {
		if a == nil {
			continue
		}
		if err := a.skip(rows * (a.header.count() / max(t.n, 1))); err != nil {
			return t.wrong(a, err)
		}
	}
	return nil
}

// wrong is an error of an array.
func (t *npzTable) wrong(a *npyArray, err error) error {
	return fmt.Errorf("dataset: %s: column %s: %w", t.path, a.name, err)
}

func (t *npzTable) metadata() map[string]string { return t.meta }

// textSuffix follows the key of a text where a column has the same name: "status" is a column, and
// "status_text" says what its codes mean.
const textSuffix = "_text"

// textName is the name of the array of a text with a key; textKey is its inverse.
func textName(key string) string {
	if checkName(key, resultColumns()) == nil {
		return key + textSuffix
	}
	return key
}

func textKey(name string) string {
	if key, ok := strings.CutSuffix(name, textSuffix); ok && checkName(key, resultColumns()) == nil {
		return key
	}
	return name
}

// npzSink writes the columns of a table.
type npzSink struct {
	*npzWriter
	extra *npzExtra // nil if there is none
}

func createNPZTable(fs fileSystem, path string, cols []column, n int64, extra *npzExtra) (npzSink, error) {
	arrays := make([]arraySpec, len(cols))
	for i, c := range cols {
		arrays[i] = arraySpec{name: c.name, typ: c.read[0], shape: []int64{n}}
		if c.width > 1 {
			arrays[i].shape = append(arrays[i].shape, int64(c.width))
		}
	}
	if extra != nil {
		arrays = append(arrays, extra.specs()...)
	}
	w, err := createNPZ(fs, path, arrays)
	return npzSink{w, extra}, err
}

func (s npzSink) write(vals []any, rows int) error {
	if err := s.appendAll(vals); err != nil {
		return err
	}
	if s.extra != nil {
		return s.extra.copy(s.npzWriter, len(vals), rows)
	}
	return nil
}

// describe keeps the last text of a key.
func (s npzSink) describe(key, value string) {
	name := textName(key)
	s.texts = slices.DeleteFunc(s.texts, func(t textArray) bool { return t.name == name })
	s.texts = append(s.texts, textArray{name, value})
}
