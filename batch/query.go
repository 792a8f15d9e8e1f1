package batch

import (
	"fmt"
	"slices"

	"clearance/geom"
)

// Query is the question that a batch puts to every pair.
type Query uint8

// Queries. Codes are not stored in files, which have names.
const (
	Distance    Query = iota // signed distance: minus the penetration depth where interiors intersect
	Collide                  // status alone
	Penetration              // penetration depth; separated pairs are only proved to be separated
	Growth                   // growth distance: factor of both shapes about their centers at which they touch
	QueryCount
)

// QueryInfo defines a query. It is the one place that says what a query is: options, back ends,
// the dispatcher, audits, files and the command line read it.
type QueryInfo struct {
	Name  string // in files, flags and reports
	Value string // the quantity in the distance column, as files state it

	// Answered says that some back end serves the query. [Options.Check] refuses the others.
	Answered bool

	// Columns are the columns that the query answers within the tolerance, and its default. Other
	// columns may be asked for, and hold what was computed on the way.
	Columns Columns

	// Attributes are those of shapes that the answers depend on. The metadata of results has them.
	Attributes []geom.Attribute

	// Touch is the value of shapes that touch: greater values are separated, smaller ones penetrating.
	Touch float64

	// EndsAtStatus says that rows end with their status where the caller requests no column that depends
	// on the value, see [Options.StatusAlone]. The bounds are others then, so that a row within the tolerance of
	// contact may touch with such a column and be separated or penetrating without, or the other way round.
	EndsAtStatus bool

	// SignedDistance says that the value is a signed distance in metres, or a bound of one: bounds of distances are
	// bounds of it.
	SignedDistance bool

	Depth     bool // penetrating pairs have a penetration depth
	CutOff    CutOffRule
	Tolerance ToleranceRule

	// CurvedTolerance is the default tolerance in double precision for curved shapes: for their depths, if the value is
	// a signed distance. [DoubleTolerance] is that for all else.
	CurvedTolerance float64

	// check returns the error of a row whose shapes have no value. nil: all shapes have one.
	check func(l *Library, i int, a, b int32) error
}

// Boolean reports whether the query is for a status alone: bounds may be as wide as the status
// allows.
func (q *QueryInfo) Boolean() bool { return q.Columns&ColDistance == 0 }

// CheckShapes returns the error of row i if the query has no value for its shapes. [Library.CheckRow] must have
// accepted the row.
func (q *QueryInfo) CheckShapes(l *Library, i int, a, b int32) error {
	if q.check == nil {
		return nil
	}
	return q.check(l, i, a, b)
}

// CutOffRule says where the cut-off of a query comes from.
type CutOffRule uint8

// Rules of cut-offs.
const (
	NoCutOff      CutOffRule = iota // there is none, and the caller may not give one
	CallersCutOff                   // that of the options
	CutOffAtTouch                   // 0: no caller may give another one
)

// ToleranceRule says what a tolerance is relative to.
type ToleranceRule uint8

// Rules of tolerances.
const (
	OfPairSize ToleranceRule = iota // the size of the pair, in metres
	OfValue                         // max(1, value), for values without a unit
)

// String names what tolerances are relative to, as reports do.
func (t ToleranceRule) String() string {
	if t == OfValue {
		return "max(1, factor)"
	}
	return "size"
}

// Scale is what the tolerance of a pair is relative to, given its size and its value.
func (t ToleranceRule) Scale(size, value float64) float64 {
	if t == OfValue {
		return max(1, value)
	}
	return size
}

// queries has one row per query. A query without a row, or with one that is not answered, is
// refused everywhere.
var queries = [QueryCount]QueryInfo{
	Distance: {
		Name: "distance", Value: "signed distance in metres, minus the penetration depth", Answered: true,
		Columns: AllColumns, SignedDistance: true, Depth: true, CutOff: CallersCutOff,
		Tolerance: OfPairSize, CurvedTolerance: DoubleCurvedDepthTolerance,
	},
	Collide: {
		Name: "collide", Value: "bound of the signed distance in metres", Answered: true,
		Columns: ColStatus | ColBits, SignedDistance: true, CutOff: NoCutOff,
		Tolerance: OfPairSize, CurvedTolerance: DoubleCurvedDepthTolerance,
	},
	Penetration: {
		Name: "penetration", Value: "minus the penetration depth in metres, a bound of the distance where separated",
		Answered: true,
		Columns:  AllColumns, SignedDistance: true, Depth: true, CutOff: CutOffAtTouch,
		Tolerance: OfPairSize, CurvedTolerance: DoubleCurvedDepthTolerance,
	},
	Growth: {
		Name: "growth", Value: "growth distance: factor of both shapes about their centers at which they touch",
		Answered: true, Columns: AllColumns, Touch: 1, EndsAtStatus: true,
		CutOff: CallersCutOff, Tolerance: OfValue, CurvedTolerance: DoubleCurvedGrowthTolerance,
		Attributes: []geom.Attribute{geom.AttributeCenter}, check: (*Library).CheckGrowth,
	},
}

// undeclared is what is known of a query without a row: that nobody answers it.
var undeclared QueryInfo

// Info returns the definition of a query. For a code that is no query all fields are zero.
func (q Query) Info() *QueryInfo {
	if q >= QueryCount {
		return &undeclared
	}
	return &queries[q]
}

// Available is every column that the query has.
func (q Query) Available() Columns { return columnsOf(q) }

// FileColumns is every column that a results file of the query can have.
func (q Query) FileColumns() Columns { return (FileColumns | ExtraColumns) & columnsOf(q) }

func (q Query) String() string { return namesOfQueries().Name(q) }

// ParseQuery is the inverse of [Query.String].
func ParseQuery(s string) (Query, error) { return namesOfQueries().Parse(s) }

func namesOfQueries() Names[Query] { return Names[Query]{"query", queryNames(nil)} }

// AnsweredQueries lists the names of the queries that some back end serves.
func AnsweredQueries() []string {
	return queryNames(func(q *QueryInfo) bool { return q.Answered })
}

// cutOffQueries lists the names of the queries whose cut-off callers give.
func cutOffQueries() []string {
	return queryNames(func(q *QueryInfo) bool { return q.Answered && q.CutOff == CallersCutOff })
}

// queryNames lists the names of queries that a condition holds for, or of all.
func queryNames(condition func(*QueryInfo) bool) (names []string) {
	for i := range queries {
		if q := &queries[i]; condition == nil || condition(q) {
			names = append(names, q.Name)
		}
	}
	return names
}

// Serves is the table of the configurations that a back end serves. What is not listed is
// refused: a new query or method is served by nobody until back ends list it. Pairs of shapes that
// a back end cannot answer in a configuration of its table are declined row by row.
type Serves []Served

// Served is one row of the table: a query, with each of the methods in each of the precisions, and each of the columns.
type Served struct {
	Query      Query
	Methods    []Method
	Precisions []Precision
	Columns    Columns // that it computes; 0: all that the query has
}

// computes reports whether all columns are among those of the row.
func (r *Served) computes(c Columns) bool { return r.Columns == 0 || c&^r.Columns == 0 }

// Query reports whether any configuration of the query is served.
func (s Serves) Query(q Query) bool {
	return slices.ContainsFunc(s, func(r Served) bool { return r.Query == q })
}

// Has reports whether the query, method, precision and columns of the options are served.
func (s Serves) Has(o *Options) bool {
	for i := range s {
		r := &s[i]
		if r.Query == o.Query && slices.Contains(r.Methods, o.Method) && slices.Contains(r.Precisions, o.Precision) &&
			r.computes(o.EffectiveColumns()) {
			return true
		}
	}
	return false
}

// Check returns an error that names the back end and what it does not support of the options. It
// wraps [ErrNotAvailable].
func (s Serves) Check(backend string, o *Options) error {
	switch {
	case s.Has(o):
		return nil
	case !s.Query(o.Query):
		return fmt.Errorf("the back end %s does not support the query %v: %w", backend, o.Query, ErrNotAvailable)
	}
	every := *o
	every.Columns = ColStatus
	if s.Has(&every) {
		return fmt.Errorf("the back end %s does not compute all of the columns %v: %w", backend, o.EffectiveColumns(),
			ErrNotAvailable)
	}
	return fmt.Errorf("the back end %s does not support the query %v by the method %v in %v precision: %w",
		backend, o.Query, o.Method, o.Precision, ErrNotAvailable)
}
