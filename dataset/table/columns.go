// Package table has what the file formats of package dataset share: the table of the columns of all files, the values
// of a column as slices, memory budgets and workers. Packages npz and parquet read and write tables by it, as [Source]
// and [Sink].
package table

import (
	"fmt"
	"slices"
	"strings"

	"clearance/batch"
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

// This file is the table of the columns of all files, which readers and writers of both formats read. Columns of
// results are those of [batch.ColumnInfo], and columns of contacts of steps those of contact.ContactColumns.

// Types of columns: the first is the one that is written.
var (
	Codes    = []Type{Uint8}
	int32s   = []Type{Int32}
	float64s = []Type{Float64}
	Indices  = []Type{Int32, Int64}
	Reals    = []Type{Float64, Float32}
)

// Pairs are the columns of pairs, in the order of the fields of [batch.Pairs].
var Pairs = []Column{
	{"shape_a", 1, Indices, true, "index of the shape of A in the library"},
	{"shape_b", 1, Indices, true, "index of the shape of B in the library"},
	{"position_a", 3, Reals, true, "position of A in metres, world frame"},
	{"position_b", 3, Reals, true, "position of B in metres, world frame"},
	{"rotation_a", 4, Reals, true, "rotation of A, a quaternion w, x, y, z"},
	{"rotation_b", 4, Reals, true, "rotation of B, a quaternion w, x, y, z"},
}

// Names of columns that code asks for.
const (
	PartA    = "part_a"
	PartB    = "part_b"
	Pair     = "pair"
	Contacts = "contacts"
	Failed   = "failed"
	Any      = "any"
	BodyA    = "body_a"
	BodyB    = "body_b"
	World    = "world"
	Shape    = "shape"
	Body     = "body"
	WayPoint = "way_point"
	Position = "position"
	Rotation = "rotation"

	Shapes    = "shapes"
	Bodies    = "bodies"
	Poses     = "poses"
	TemplateA = "template_a"
	TemplateB = "template_b"
	SkipA     = "skip_a"
	SkipB     = "skip_b"
)

// Rollouts are the columns that results of rollouts have besides those of pairs. Which of them a file has depends
// on the reduction.
var Rollouts = []Column{
	{PartA, 1, int32s, true, "part of body A that attains the value, -1 for none"},
	{PartB, 1, int32s, true, "part of body B that attains the value, -1 for none"},
	{Pair, 1, int32s, false, "pair of the world that attains the least value, -1 for none"},
	{Contacts, 1, int32s, false, "number of rows of the world that are proved to be in contact"},
	{Failed, 1, int32s, false, "number of rows of the world without an answer"},
	{Any, 1, Codes, false, "code of whether the world has a contact"},
	{BodyA, 1, int32s, false, "place of body A in its world, -1 for none"},
	{BodyB, 1, int32s, false, "place of body B in its world, -1 for none"},
	{World, 1, int32s, false, "world of the row, of all pairs"},
}

// Sweeps are the columns of results of sweeps, in the order of the fields of [batch.SweepResults].
var Sweeps = []Column{
	{"state", 1, Codes, true, "code of the state"},
	{"lower", 1, float64s, true, "proved lower bound of the least distance, in metres"},
	{"upper", 1, float64s, true, "upper bound of it, attained at the time closest"},
	{"closest", 1, float64s, true, "time at which upper is attained"},
	{"t0", 1, float64s, true, "time before which no contact is"},
	{"t1", 1, float64s, true, "end of the interval that has the first contact, or the earliest known contact"},
	{PartA, 1, int32s, true, "part of body A of that contact, or of upper"},
	{PartB, 1, int32s, true, "part of body B of that contact, or of upper"},
	{"evaluations", 1, int32s, true, "number of poses of pairs of parts that solvers answered"},
}

// Worlds are the columns of worlds in Parquet, a row per body, of which a form has some.
var Worlds = []Column{
	{World, 1, Indices, true, "number of the world, from 0"},
	{Shape, 1, Indices, true, "index of the shape in the library"},
	{Body, 1, Indices, true, "index of the body, -1 for none"},
	{Position, 3, Reals, true, "position in metres, world frame"},
	{Rotation, 4, Reals, true, "rotation, a quaternion w, x, y, z"},
	{WayPoint, 1, Indices, true, "number of the way point, from 0"},
}

// WorldArrays are the arrays of worlds in NPZ, of which a form has some.
var WorldArrays = []Column{
	{Shapes, 1, Indices, true, "indices of the shapes of every world"},
	{Bodies, 1, Indices, true, "indices of the bodies of worlds, -1 for none"},
	{Poses, 1, Reals, true, "positions, then rotations"},
	{TemplateA, 1, Indices, true, "place of A in its world, of each pair"},
	{TemplateB, 1, Indices, true, "place of B in its world, of each pair"},
	{SkipA, 1, Indices, false, "place of A, of each pair that is left out of all pairs"},
	{SkipB, 1, Indices, false, "place of B, of each pair that is left out of all pairs"},
}

// Count says what a row has the values of a column for.
type Count uint8

// Counts.
const (
	PerRow Count = iota
	PerBody
	PerContact
)

// Sized is a column with Width values for the row, for each body or for each contact of its world.
type Sized struct {
	Column
	Of Count
}

// Size is the number of values a row.
func (s *Sized) Size(bodies, contacts int) int {
	return s.Width * [...]int{PerRow: 1, PerBody: max(bodies, 1), PerContact: max(contacts, 1)}[s.Of]
}

// WorldSteps are the columns that tell the rows of files of steps apart.
var WorldSteps = []Sized{
	{Column{"step", 1, Indices, false, "number of the step, from 1; 0 is the first state"}, PerRow},
	{Column{World, 1, Indices, false, "number of the world, from 0"}, PerRow},
}

// Problems are the columns of contact problems, a world a row, in the order of the fields of contact.Problem.
var Problems = []Sized{
	{Column{"mass", 1, Reals, true, "mass in kg, infinite of bodies that impulses do not move"}, PerBody},
	{Column{"inertia", 6, Reals, true, "inertia about the center of mass, xx, yy, zz, xy, xz, yz in kg·m²"}, PerBody},
	{Column{"velocity", 6, Reals, true, "velocity without contacts of the center of mass, angular velocity"}, PerBody},
	{Column{"count", 1, Indices, true, "number of contacts of the world"}, PerRow},
	{Column{BodyA, 1, Indices, true, "body A, -1 for the world itself"}, PerContact},
	{Column{BodyB, 1, Indices, true, "body B, -1 for the world itself"}, PerContact},
	{Column{"arm_a", 3, Reals, true, "from the center of mass of A to the contact, in metres"}, PerContact},
	{Column{"arm_b", 3, Reals, true, "from the center of mass of B to the contact, in metres"}, PerContact},
	{Column{"frame", 9, Reals, true, "two tangents and the normal from A to B, in rows"}, PerContact},
	{Column{"friction", 1, Reals, true, "coefficient of friction"}, PerContact},
	{Column{"target", 1, Reals, false, "normal velocity that is asked for, in m/s"}, PerContact},
	{Column{"compliance", 2, Reals, false, "compliance in 1/kg, of tangents and normal"}, PerContact},
	{Column{"warm", 3, Reals, false, "impulse to start from in N·s, in the frame of the contact"}, PerContact},
}

// Solutions are the columns of their solutions, in the order of the fields of contact.Solution.
var Solutions = append([]Sized{
	{Column{"impulse", 3, Reals, true, "impulse on B in N·s, in the frame of the contact"}, PerContact},
	{Column{"solved_velocity", 6, Reals, true, "velocity with the impulses, as velocity"}, PerBody}},
	append(slices.Clone(residuals),
		Sized{Column{"bound", 1, Reals, true, "bound of the error of contact velocities in m/s, NaN for none"}, PerRow},
		Sized{Column{"sweeps", 1, Indices, true, "number of sweeps of projected Gauss-Seidel"}, PerRow},
		Sized{Column{"newton_steps", 1, Indices, true, "number of steps of Newton's method"}, PerRow},
		Sized{Column{"status", 1, Codes, true, "code of how the world ended"}, PerRow})...)

// residuals are the columns of the residuals of a contact problem.
var residuals = []Sized{
	{Column{"residual", 1, Reals, true, "residual of the contact with the largest ratio of both, in m/s"}, PerRow},
	{Column{"scale", 1, Reals, true, "speed scale of this contact, in m/s"}, PerRow},
	{Column{"primal", 1, Reals, true, "largest distance of an impulse from its cone, in N·s"}, PerRow},
	{Column{"dual", 1, Reals, true, "largest distance of a velocity from its dual cone, in m/s"}, PerRow},
	{Column{"complementarity", 1, Reals, true, "largest product of impulse and velocity of a contact, in J"}, PerRow},
}

// States are the columns of states of simulations, a world-step a row, behind WorldSteps.
var States = append([]Sized{
	{Column{"pose", 7, Reals, true, "position in metres and quaternion w, x, y, z of the frame"}, PerBody},
	{Column{"velocity", 3, Reals, true, "velocity of the center of mass, in m/s"}, PerBody},
	{Column{"momentum", 3, Reals, true, "angular momentum in N·m·s, angular velocity of fixed bodies"}, PerBody},
	{Column{"status", 1, Codes, true, "code of how the step of the world ended"}, PerRow},
	{Column{"steps", 1, Indices, true, "number of steps that the world was advanced by"}, PerRow},
	{Column{Contacts, 1, Indices, true, "number of contacts of the step"}, PerRow},
	{Column{"solves", 1, Indices, true, "number of contact problems that were solved"}, PerRow},
	{Column{"parts", 1, Indices, true, "number of parts of the step"}, PerRow},
	{Column{"contact_force", 6, Reals, true, "force in N and torque in N·m of all contacts"}, PerBody},
	{Column{"energy", 1, Reals, true, "error of the energy identity, in J"}, PerRow}}, residuals...)

// Named returns the columns of a table with some names, in their order.
func Named(table []Column, names ...string) []Column {
	cols := make([]Column, len(names))
	for i, name := range names {
		cols[i] = table[slices.IndexFunc(table, func(c Column) bool { return c.Name == name })]
	}
	return cols
}

// Optional returns columns of which a file may lack any.
func Optional(cols []Column) []Column {
	cols = slices.Clone(cols)
	for i := range cols {
		cols[i].Required = false
	}
	return cols
}

// ResultBits are the columns of results that files can have, in their order.
var ResultBits = ResultColumns.Each()

// ResultColumns is every column of results that files can have.
var ResultColumns = batch.FileColumns | batch.ExtraColumns | batch.DerivedColumns

// elementTypes are the types in files of the elements of result columns, but for those of real numbers.
var elementTypes = map[batch.ElementType][]Type{batch.Float32: {Float32}, batch.Float64: float64s,
	batch.Uint8: Codes, batch.Uint16: {Uint16}}

// Results returns the columns of results, in the order of ResultBits; columns of real numbers take the given
// types.
func Results(real ...Type) []Column {
	var cols []Column
	for _, bit := range ResultBits {
		info := bit.Info()
		types := real
		if info.Type != batch.Real {
			types = elementTypes[info.Type]
		}
		cols = append(cols, Column{info.Name, info.Width, types, false, info.Text})
	}
	return cols
}

// RealOf is the type of the real columns of a precision.
func RealOf(p batch.Precision) Type {
	if p == batch.Double {
		return Float64
	}
	return Float32
}

// IsPair reports whether a column of pairs has the name.
func IsPair(name string) bool { return CheckName(name, Pairs) == nil }
