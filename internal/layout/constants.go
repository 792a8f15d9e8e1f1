package layout

import (
	"fmt"
	"math/bits"
	"reflect"
	"strings"

	"clearance/batch"
	"clearance/geom"
)

//go:generate go run ../../cmd/genlayout -glsl ../../shaders/layout.glsl -shaders ../../shaders -c ../../kernels/shape/layout.h -kernels ../../kernels -abi ../../cmd/libclearance/clearance.h -columns ../../python/src/clearance/_columns.py

// Record is a record of the layout with its name in generated code.
type Record struct {
	Name string
	Type reflect.Type
	Doc  string
}

// Records returns the records that Go, GLSL and C share. Their layout is that of
// std430 and of C at once; tests hold both.
func Records() []Record {
	return []Record{
		{"ShapeRecord", reflect.TypeFor[ShapeRecord](), "one shape of a packed library"},
		{"PairRecord", reflect.TypeFor[PairRecord](), "one pair with its relative pose"},
		{"RemainderRecord", reflect.TypeFor[RemainderRecord](), "what single precision leaves of a relative pose"},
		{"ShapeRecord64", reflect.TypeFor[ShapeRecord64](), "one shape of a packed library in double precision"},
		{"VertexRecord64", reflect.TypeFor[VertexRecord64](), "a vertex in double precision"},
		{"PoseRecord", reflect.TypeFor[PoseRecord](), "the pose of a body in the world"},
		{"TemplateRecord", reflect.TypeFor[TemplateRecord](), "one pair of bodies that every world has"},
		{"IndexRecord", reflect.TypeFor[IndexRecord](), "one pair by indices"},
		{"SearchRecord", reflect.TypeFor[SearchRecord](), "the result of the search in single precision"},
		{"SearchStateRecord", reflect.TypeFor[SearchStateRecord](), "a search between its phases"},
		{"DepthRecord", reflect.TypeFor[DepthRecord](), "a row that is left to depth.glsl"},
		{"QueryRecord", reflect.TypeFor[QueryRecord](), "what is the same for all rows"},
		{"ReductionRecord", reflect.TypeFor[ReductionRecord](), "what reduce.comp is told"},
		{"DerivativeRecord", reflect.TypeFor[DerivativeRecord](), "what derivatives.comp is told"},
		{"LeastRecord", reflect.TypeFor[LeastRecord](), "what least.comp is told"},
		{"BodyRecord", reflect.TypeFor[BodyRecord](), "what body_gradients.comp is told"},
	}
}

// Constant is a code or limit of the layout with its name in generated code.
type Constant struct {
	Name  string
	Value uint32
}

// ConstantGroup is a list of constants that belong together.
type ConstantGroup struct {
	Doc       string
	Constants []Constant
	Arrays    []ConstantArray
}

// ConstantArray is a list of numbers with its name in generated code.
type ConstantArray struct {
	Name   string
	Values []uint32
}

// GLSLConstants returns the codes and limits that shaders may read.
func GLSLConstants() []ConstantGroup {
	solvers := make([]Constant, len(Solvers))
	for i, s := range Solvers {
		solvers[i] = Constant{solverName(s), uint32(i)}
	}
	solvers = append(solvers, Constant{"SOLVER_COUNT", uint32(len(Solvers))})
	return append(constants(), ConstantGroup{Doc: "What ended a row.", Constants: solvers}, columnConstants(),
		derivedConstants())
}

// CConstants returns the codes and limits that kernels may read. Kernels store codes of
// [batch.Solver] as files hold them.
func CConstants() []ConstantGroup {
	var solvers []Constant
	for s := range batch.SolverCount {
		solvers = append(solvers, Constant{solverName(s), uint32(s)})
	}
	return append(constants(), ConstantGroup{Doc: "What ended a row.", Constants: solvers},
		ConstantGroup{Doc: "Result columns, by the order of their bits.", Constants: columnCodes()})
}

func solverName(s batch.Solver) string { return "SOLVER_" + strings.ToUpper(s.String()) }

// constants returns the codes and limits that GLSL and C share.
func constants() []ConstantGroup {
	return []ConstantGroup{
		{Doc: "Shape kinds.", Constants: codes("KIND", uint8(geom.KindCount),
			func(c uint8) string { return geom.Kind(c).String() })},
		{Doc: "Index of each parameter of a shape record.", Constants: paramConstants()},
		{Doc: "Statuses of an answer.", Constants: codes("STATUS", uint8(batch.StatusCount),
			func(c uint8) string { return batch.Status(c).String() })},
		{Doc: "Queries.", Constants: codes("QUERY", uint8(batch.QueryCount),
			func(c uint8) string { return batch.Query(c).String() })},
		{Doc: "Limits.", Constants: []Constant{
			{"PARAM_COUNT", ParamCount},
			{"MAX_SHAPES", batch.MaxShapes},
			{"MAX_VERTICES", batch.MaxVertices},
			{"MAX_TOTAL_VERTICES", MaxTotalVertices},
			{"MAX_ITERATIONS", batch.MaxIterations},
			{"MAX_LENGTH", batch.MaxLength},
			{"BITS_PER_WORD", batch.BitsPerWord},
		}},
		{Doc: "Methods.", Constants: codes("METHOD", uint8(batch.MethodCount),
			func(c uint8) string { return batch.Method(c).String() })},
		{Doc: "States of a search.", Constants: []Constant{
			{"SEARCH_CONVERGED", SearchConverged},
			{"SEARCH_INSIDE", SearchInside},
			{"SEARCH_STALLED", SearchStalled},
			{"SEARCH_LIMITED", SearchLimited},
			{"SEARCH_START", SearchStart},
			{"SEARCH_STATIONARY", SearchStationary},
		}},
		{Doc: "Flags of a query record, and marks.", Constants: []Constant{
			{"FLAG_CUT_OFF", FlagCutOff},
			{"FLAG_DOUBLE", FlagDouble},
			{"FLAG_WARM", FlagWarm},
			{"FLAG_ORDER", FlagOrder},
			{"FLAG_PACKED", FlagPacked},
			{"FLAG_STATUS_ALONE", FlagStatusAlone},
			{"FLAG_ITERATIONS", FlagIterations},
			{"FLAG_TOUCH_AT_ONE", FlagTouchAtOne},
			{"NO_SHAPE", NoShape},
			{"DECLINED", Declined},
			{"REFINED", Refined},
			{"SOLVER_SHIFT", SolverShift},
			{"BY_DEPTH", ByDepth},
			{"FROM_FLOAT32", FromFloat32},
			{"FLOAT32_FACES", Float32Faces},
			{"SIMPLEX_CORNERS", SimplexCorners},
			{"DEPTH_STATIONARY", DepthStationary},
			{"DEPTH_ANSWERED", DepthAnswered},
			{"BALL_VERTEX", BallVertex},
			{"CORNERS_GIVEN", CornersGiven},
			{"DECLINED_KIND", DeclinedKind},
			{"DECLINED_INTERSECTING", DeclinedIntersecting},
			{"DECLINED_GAP", DeclinedGap},
			{"DECLINED_LOOPS", DeclinedLoops},
			{"DECLINED_PRECISION", DeclinedPrecision},
			{"PACKED_BITS", PackedBits},
			{"PACKED_INVALID", PackedInvalid},
			{"PACKED_REFINED", PackedRefined},
			{"PACKED_DECLINED", PackedDeclined},
			{"PACKED_BY_DEPTH", PackedByDepth},
		}},
		{Doc: "Lists of rows, in the buffer of counts.", Constants: []Constant{
			{"LIST_CONTINUE", ListContinue},
			{"LIST_SEARCH", ListSearch},
			{"LIST_STATIONARY", ListStationary},
			{"LIST_UNPROVED", ListUnproved},
			{"LIST_AXES", ListAxes},
			{"LIST_DEPTHS", ListDepths},
			{"LIST_WORDS", ListWords},
			{"LIST_ROWS", ListRows},
			{"GROUP_SIZE", GroupSize},
		}},
		{Doc: "The output of reduce.comp.", Constants: []Constant{
			{"REDUCED_ITERATIONS", ReducedIterations},
			{"REDUCED_STATUSES", ReducedStatuses},
			{"REDUCED_MARKS", ReducedMarks},
			{"REDUCED_SOLVERS", ReducedSolvers},
			{"REDUCED_HEADER", ReducedHeader},
			{"PORTION_WORDS", PortionWords},
		}},
	}
}

// columnCodes are the codes of the columns that back ends fill, and what bounds them.
func columnCodes() (out []Constant) {
	count := 0
	for _, c := range batch.EveryColumn() {
		if c.Info().Derived {
			continue
		}
		out = append(out, Constant{"COLUMN_" + strings.ToUpper(c.Info().Name), uint32(c.Index())})
		count = c.Index() + 1
	}
	return append(out, Constant{"COLUMN_COUNT", uint32(count)})
}

func codes(prefix string, count uint8, name func(uint8) string) (out []Constant) {
	for c := range count {
		out = append(out, Constant{prefix + "_" + strings.ToUpper(name(c)), uint32(c)})
	}
	return append(out, Constant{prefix + "_COUNT", uint32(count)})
}

// Params returns the names of the parameters that a [ShapeRecord] of a kind holds, in their order.
// Vertices and the center of a shape are not among them: they have places of their own.
func Params(k geom.Kind) (names []string) {
	for _, p := range k.Params() {
		if !inRecord(&p) {
			continue
		}
		for i := range p.Width {
			names = append(names, strings.TrimSuffix(p.Name+"_"+p.Component(i), "_"))
		}
	}
	return names
}

func paramConstants() (out []Constant) {
	for k := range geom.KindCount {
		for i, p := range Params(k) {
			out = append(out, Constant{strings.ToUpper(fmt.Sprintf("%s_%s", k, p)), uint32(i)})
		}
	}
	return out
}

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
