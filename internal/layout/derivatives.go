package layout

import (
	"strings"

	"clearance/batch"
)

// DerivativeRecord is what derivatives.comp is told. Its output is the derived columns, laid out as Columns: each has
// room for an even number of rows and follows the one before it. The smoothness takes a word per row.
type DerivativeRecord struct {
	Rows      uint32
	Columns   uint32    // of the answers, as in a QueryRecord
	Flags     uint32    // FlagCutOff, and FlagDouble of answers and derivatives
	LoopLimit uint32    // as in a QueryRecord
	Derived   uint32    // codes of the derived columns that are in the output
	CutOff    [2]uint32 // metres, as float64, low word first
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
		Constant{"NOT_DERIVED", uint32(batch.NotDerived)})
	g.Arrays = []ConstantArray{{"DERIVED_WIDTHS", widths}}
	return g
}
