package layout

import (
	"math/bits"
	"strings"

	"clearance/batch"
)

// Column is a result column that devices store.
type Column struct {
	Code  batch.Columns
	Name  string
	Width int  // numbers of a row
	Real  bool // float64 in double precision; else float32, or the status word
}

// Columns are the columns that devices store, in the order of their codes. In the output each has room for an even
// number of rows and follows the one before it; those that the caller does not want are left out. The status column
// holds the status word, from which iterations, method and bits follow, and is always there.
//
// The status word is status | Refined << 8 and ByDepth << 8, if so, | solver << SolverShift | iterations << 16; of a
// declined row, DeclinedKind and so on << 8.
var Columns = [...]Column{
	column(batch.ColDistance), column(batch.ColGap), column(batch.ColNormal), column(batch.ColWitnessA),
	column(batch.ColWitnessB), column(batch.ColStatus), column(batch.ColPoint),
}

// column is the row of a column, by the table of package batch.
func column(c batch.Columns) Column {
	info := c.Info()
	return Column{c, info.Name, info.Width, info.Type == batch.Real}
}

// Served are the columns that devices answer: a query for another one is refused.
const Served = Stored | batch.ColIterations | batch.ColMethod | batch.ColBits

// Stored is the set of Columns.
const Stored = batch.ColDistance | batch.ColGap | batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB |
	batch.ColStatus | batch.ColPoint

// Index is the number of a column in shaders: that of its bit.
func (c *Column) Index() int { return bits.TrailingZeros64(uint64(c.Code)) }

// Words is the number of words that a row of the column takes.
func (c *Column) Words(double bool) int {
	if c.Real && double {
		return 2 * c.Width
	}
	return c.Width
}

// columnConstants are what shaders know of the columns: their codes, their widths, and which of them are real.
func columnConstants() ConstantGroup {
	g := ConstantGroup{Doc: "Columns of the output."}
	var widths []uint32
	reals := uint32(0)
	for i := range Columns {
		c := &Columns[i]
		g.Constants = append(g.Constants, Constant{"COLUMN_" + strings.ToUpper(c.Name), uint32(c.Index())})
		for len(widths) <= c.Index() {
			widths = append(widths, 0)
		}
		widths[c.Index()] = uint32(c.Width)
		if c.Real {
			reals |= uint32(c.Code)
		}
	}
	g.Constants = append(g.Constants, Constant{"REAL_COLUMNS", reals})
	g.Arrays = []ConstantArray{{"COLUMN_WIDTHS", widths}}
	return g
}

// DerivativeRecord is what derivatives.comp is told. Its output is the derived columns, laid out as Columns: each has
// room for an even number of rows and follows the one before it. The smoothness takes a word per row.
type DerivativeRecord struct {
	Rows      uint32
	Columns   uint32    // of the answers, as in a QueryRecord
	Flags     uint32    // FlagCutOff, and FlagDouble of answers and derivatives
	LoopLimit uint32    // as in a QueryRecord
	Derived   uint32    // codes of the derived columns that are in the output
	Sets      uint32    // of rows that least.comp has selected, whose products alone are taken; 0: of all rows
	CutOff    [2]uint32 // metres, as float64, low word first
	Epsilon   [2]uint32 // of Gumbel noise, likewise; 0 for the default
}

// BodyRecord is what body_gradients.comp is told.
type BodyRecord struct {
	Worlds    uint32
	Bodies    uint32 // per world
	Pairs     uint32 // per world; of sets 0
	LoopLimit uint32 // as in a QueryRecord
	Sets      uint32 // of rows that least.comp has selected, 0: there are none
	Rows      uint32
	Positions uint32 // of the bodies of all worlds: the first word of them, three float64 each
}

// LeastRecord is what least.comp is told. The words of groups are the first set of each, with the end of the last one,
// the first row of each set likewise, and two float64 for each group.
type LeastRecord struct {
	Groups    uint32
	Sets      uint32
	Rows      uint32
	Columns   uint32    // of the answers, as in a QueryRecord
	Flags     uint32    // as in a DerivativeRecord
	LoopLimit uint32    // as in a QueryRecord
	CutOff    [2]uint32 // as in a DerivativeRecord
	Members   uint32    // the first word of the groups
	Others    uint32    // the first word of their bounds
}

// DerivedColumns are the columns of derivatives that devices store, in the order of their codes.
var DerivedColumns = [...]Column{
	column(batch.ColDDistance), column(batch.ColDNormal), column(batch.ColDWitnessA), column(batch.ColDWitnessB),
	column(batch.ColCurvature), column(batch.ColSmoothness),
}

// derivedConstants are what shaders know of these columns, and the codes of smoothness.
func derivedConstants() ConstantGroup {
	g := ConstantGroup{Doc: "Columns of derivatives."}
	var widths []uint32
	for i := range DerivedColumns {
		c := &DerivedColumns[i]
		g.Constants = append(g.Constants, Constant{"COLUMN_" + strings.ToUpper(c.Name), uint32(c.Index())})
		widths = append(widths, uint32(c.Width))
	}
	g.Constants = append(g.Constants, Constant{"NO_DERIVATIVE", uint32(batch.NoDerivative)},
		Constant{"SMOOTH_PAIR", uint32(batch.SmoothPair)}, Constant{"UNIQUE_FEATURES", uint32(batch.UniqueFeatures)},
		Constant{"NOT_UNIQUE", uint32(batch.NotUnique)}, Constant{"NEAR_SINGULAR", uint32(batch.NearSingular)},
		Constant{"SMOOTHED_PAIR", uint32(batch.SmoothedPair)}, Constant{"NOT_DERIVED", uint32(batch.NotDerived)})
	g.Constants = append(g.Constants, Constant{"PRODUCT_VJP", uint32(batch.VJP)},
		Constant{"PRODUCT_VALUE_VJP", uint32(batch.ValueVJP)}, Constant{"PRODUCT_JVP", uint32(batch.JVP)},
		Constant{"ANSWER_WIDTH", batch.AnswerWidth}, Constant{"TWIST_WIDTH", batch.TwistWidth})
	g.Arrays = []ConstantArray{{"DERIVED_WIDTHS", widths}}
	return g
}
