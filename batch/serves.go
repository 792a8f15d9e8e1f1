package batch

import (
	"fmt"
	"slices"
)

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
