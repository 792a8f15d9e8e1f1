// Package table has what the file formats of package dataset share: the table of the columns of all files, the values
// of a column as slices, memory budgets and workers. Packages npz and parquet read and write tables by it, as [Source]
// and [Sink].
package table

import (
	"fmt"
	"slices"
	"strings"
)

// Type is the type of one value of a column.
type Type uint8

// Types of values.
const (
	Int32 Type = iota
	Int64
	Float32
	Float64
	Uint8
	Uint16
	TypeCount

	Text  = TypeCount     // one text, of an array of no dimension; no column holds it
	Other = TypeCount + 1 // of a column that is copied and not read
)

var typeNames = [TypeCount + 2]string{"int32", "int64", "float32", "float64", "uint8", "uint16", "text", "other"}

var typeSizes = [TypeCount + 2]int{4, 8, 4, 8, 1, 2, 4, 0}

// String names the type.
func (t Type) String() string { return typeNames[t] }

// Size is the number of bytes of a value.
func (t Type) Size() int { return typeSizes[t] }

// Column describes a column of a file.
type Column struct {
	Name     string
	Width    int    // values per row: 1 is [N], more is [N,width]
	Types    []Type // types that are read; the first is the one written
	Required bool   // a file must have it
	Meaning  string // in a line
}

// Shape names the shape of the column as error messages give it.
func (c *Column) Shape() string {
	if c.Width == 1 {
		return "[N]"
	}
	return fmt.Sprintf("[N,%d]", c.Width)
}

// Accepts reports whether values of a type are read.
func (c *Column) Accepts(t Type) bool { return slices.Contains(c.Types, t) }

// TypeNames are the types that are read, as error messages give them.
func (c *Column) TypeNames() string {
	s := make([]string, len(c.Types))
	for i, t := range c.Types {
		s[i] = t.String()
	}
	return strings.Join(s, " or ")
}

// Source is an open file of columns that all have the same number of rows. Its
// columns advance independently.
type Source interface {
	Rows() int64
	// TypeOf returns the type of column i, ok is false if the file lacks it.
	TypeOf(i int) (t Type, ok bool)
	// Read fills dst[i], a slice of the Go type of column i or one it converts to, with the next values of that
	// column, by several workers. Columns whose slice is nil are skipped.
	Read(dst []any) error
	// Skip passes over rows of all columns, which then have no checksum to compare. Stored NPZ arrays and whole row
	// groups of Parquet files are not read.
	Skip(rows int64) error
	Metadata() map[string]string
	Close() error
}

// Sink is a file of columns that is being written.
type Sink interface {
	// Write appends rows values of all columns; vals[i] is a slice of the type of
	// column i, rows × width long.
	Write(vals []any, rows int) error
	Describe(key, value string)
	SetWorkers(n int)
	// Complete makes all of the file but its name and returns its temporary path.
	Complete() (path string, err error)
	Commit() error // completes the file and names it
	Abort()
}

// Leniency says what a table may have besides its columns and values.
type Leniency struct {
	Extra bool // there may be others, which are not read
	Nulls bool // values may be null: NaN, or -1 of an index
}

// CheckName reports a name that is not one of the columns.
func CheckName(name string, cols []Column) error {
	for i := range cols {
		if cols[i].Name == name {
			return nil
		}
	}
	return fmt.Errorf("unknown column %q, want %s", name, columnNames(cols))
}

// NoColumns is the error of a file without any of the columns.
func NoColumns(cols []Column) error {
	return fmt.Errorf("no column found, want %s", columnNames(cols))
}

func columnNames(cols []Column) string {
	s := make([]string, len(cols))
	for i := range cols {
		s[i] = cols[i].Name
	}
	return strings.Join(s, ", ")
}
