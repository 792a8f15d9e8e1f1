package dataset

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/geom"
)

// Keys of the metadata that this package reads.
const (
	metaQuery     = "query"
	metaValue     = "value" // what the distance column holds
	metaPrecision = "precision"
	metaSolvers   = "solvers"      // names of the codes of the method column
	oldSolvers    = "method_codes" // the same in files of earlier versions
)

// readMetadata checks the query that the file answers, and reads the names of its solvers.
func (r *ResultReader) readMetadata() error {
	meta := r.src.metadata()
	if s, ok := meta[metaQuery]; ok {
		q, err := batch.ParseQuery(s)
		if err != nil { // whose text may be long
			return fmt.Errorf("metadata %s: unknown query %.60q, want one of %v", metaQuery, s, batch.AnsweredQueries())
		}
		if err := (&batch.Options{Query: q}).Check(); err != nil {
			return fmt.Errorf("metadata %s: %w", metaQuery, err)
		}
	}
	for _, key := range []string{metaSolvers, oldSolvers} {
		if s, ok := meta[key]; ok {
			codes, err := parseSolvers(s)
			if err != nil {
				return fmt.Errorf("metadata %s: %w", key, err)
			}
			r.solvers = codes
			return nil
		}
	}
	return nil
}

// solverCodes translates the codes of a file into those of this version, by name.
type solverCodes struct {
	names [256]string
	codes [256]uint8
	known [256]bool
}

// parseSolvers reads the table of codes and names. A code that the table lacks stays as it is.
func parseSolvers(table string) (*solverCodes, error) {
	s := &solverCodes{}
	for code := range s.codes {
		s.codes[code], s.known[code] = uint8(code), true
	}
	for item := range strings.SplitSeq(table, ",") {
		number, name, ok := strings.Cut(item, "=")
		code, err := strconv.ParseUint(number, 10, 8)
		if !ok || err != nil || name == "" {
			return nil, fmt.Errorf("%.60q is not code=name, with a code of at most 255", item)
		}
		if s.names[code] != "" {
			return nil, fmt.Errorf("code %d occurs twice", code)
		}
		solver, err := batch.ParseSolver(name)
		s.names[code], s.codes[code], s.known[code] = name, uint8(solver), err == nil
	}
	return s, nil
}

// translate replaces the codes of a column. It returns the first index whose solver this version
// does not know, with its code, or -1.
func (s *solverCodes) translate(column []uint8) (unknown int, code uint8) {
	for i, c := range column {
		if !s.known[c] {
			return i, c
		}
		column[i] = s.codes[c]
	}
	return -1, 0
}

// statedText writes the values of an attribute that are not the default.
func statedText(l *batch.Library, a geom.Attribute) (string, error) {
	values := map[int32]any{}
	for i := range int32(l.Len()) {
		if v, ok := l.Stated(a, i); ok {
			values[i] = numberOrList(v)
		}
	}
	text, err := json.Marshal(values)
	return string(text), err
}
