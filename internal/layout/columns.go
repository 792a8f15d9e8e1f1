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
