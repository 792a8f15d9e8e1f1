package layout

import (
	"fmt"
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
