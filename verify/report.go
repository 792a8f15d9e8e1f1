package verify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"clearance/batch"
)

// checkID indexes the checks of a report, in the order they are printed.
type checkID int

const (
	checkColumns checkID = iota
	checkInvalid
	checkStatus
	checkBits
	checkGap
	checkIterations
	checkSolver
	checkNormal
	checkPlane
	checkMemberA
	checkMemberB
	checkTranslation
	checkWitnesses
	checkPoint
	checkDirections
	checkDescent
	checkSeparation
	checkCount
)

// checkTexts are the stable names and the descriptions of the checks.
var checkTexts = [checkCount][2]string{
	checkColumns: {"columns", "there are no columns that were not requested (counted once per job, not once per " +
		"row)"},
	checkInvalid:    {"invalid", "invalid exactly if the input is, with no answer stored"},
	checkStatus:     {"status", "the status is one of the codes and agrees with distance, gap and query"},
	checkBits:       {"bits", "a clear bit exactly if the status is separated"},
	checkGap:        {"gap", "the gap is finite, not negative and within the tolerance"},
	checkIterations: {"iterations", "at least one if a solver had to iterate"},
	checkSolver:     {"method", "the solver is one that can answer the query for these shapes"},
	checkNormal:     {"normal", "the normal is a unit vector"},
	checkPlane:      {"plane", "the support plane along the normal proves distance - gap"},
	checkMemberA:    {"member_a", "witness_a lies in A"},
	checkMemberB:    {"member_b", "witness_b lies in B"},
	checkTranslation: {"translation", "witness_b = witness_a + distance * normal (growth: the witness of a " +
		"half-space is the point where the scaled shape meets it)"},
	checkWitnesses:  {"witnesses", "the witnesses prove distance + gap"},
	checkPoint:      {"point", "the point is witness_a scaled by the growth distance about the center of A"},
	checkDirections: {"directions", "no direction tried proves more than distance + gap"},
	checkDescent:    {"descent", "neither does a descent from the best of them (on a sample)"},
	checkSeparation: {"separation", "without a normal: a separating plane is found"},
}

// A Report is the result of an audit. Its JSON form is stable.
type Report struct {
	Rows      int          `json:"rows"`
	WrongRows int          `json:"wrong_rows"` // rows, or the job itself, that failed a check
	Unproved  int          `json:"unproved"`   // status-only rows that could be neither proved nor refuted
	Status    StatusCounts `json:"status"`

	// Undefined is the number of rows that are rightly invalid as the query has no value for their shapes,
	// though their input is in order.
	Undefined int `json:"undefined,omitempty"`

	Checks []Check   `json:"checks"`
	Gaps   Histogram `json:"gap_over_size"`

	// Scale names what the gaps are relative to: "size", or "max(1, factor)" of growth distances.
	Scale string `json:"scale"`

	worst int // rows kept for each check
}

// StatusCounts is the number of rows of each status.
type StatusCounts struct {
	Separated   int `json:"separated"`
	Touching    int `json:"touching"`
	Penetrating int `json:"penetrating"`
	Undecided   int `json:"undecided"`
	Invalid     int `json:"invalid"`
	Unknown     int `json:"unknown"` // unknown codes, or no status column
}

func (s *StatusCounts) of(status batch.Status) *int {
	switch status {
	case batch.Separated:
		return &s.Separated
	case batch.Touching:
		return &s.Touching
	case batch.Penetrating:
		return &s.Penetrating
	case batch.Undecided:
		return &s.Undecided
	case batch.Invalid:
		return &s.Invalid
	}
	return &s.Unknown
}

// A Check is the result of one check.
type Check struct {
	Name    string `json:"name"`
	Text    string `json:"text"`
	Ran     int    `json:"ran"`     // rows on which it ran
	Skipped int    `json:"skipped"` // rows on which a missing column kept it from running
	Failed  int    `json:"failed"`

	// Residual is the largest excess over the expected value, relative to the excess that
	// the check allows: at most 1 if nothing failed.
	Residual Number `json:"worst_residual"`

	// Worst are the rows with the largest residuals, failed or not, worst first.
	Worst []WorstRow `json:"worst"`
}

// A WorstRow is a row with a large residual in a check.
type WorstRow struct {
	Row      int    `json:"row"` // -1 is the job itself
	Expected Number `json:"expected"`
	Found    Number `json:"found"`
	Residual Number `json:"residual"` // excess over the expected value, metres if it is a length
	Allowed  Number `json:"allowed"`  // largest residual that passes
	Failed   bool   `json:"failed"`
}

// A Number is a float64 whose JSON form supports NaN and the infinities, as the strings
// "NaN", "+Inf" and "-Inf".
type Number float64

// MarshalJSON implements [json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return json.Marshal(f)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Number) UnmarshalJSON(b []byte) error {
	s := string(b)
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("verify: %s is not a number", b)
	}
	*n = Number(f)
	return nil
}

func newReport(worst int) *Report {
	r := &Report{Checks: make([]Check, checkCount), worst: worst}
	for i := range r.Checks {
		r.Checks[i] = Check{Name: checkTexts[i][0], Text: checkTexts[i][1], Worst: make([]WorstRow, 0, worst)}
	}
	return r
}

// outcome is one check of one row. It passed if residual ≤ allowed.
type outcome struct {
	row               int
	expected, found   float64
	residual, allowed float64
}

// add records an outcome and reports whether it passed. NaN fails.
func (r *Report) add(id checkID, o outcome) bool {
	c := &r.Checks[id]
	c.Ran++
	ok := o.residual <= o.allowed
	if !ok {
		c.Failed++
	}
	w := WorstRow{o.row, Number(o.expected), Number(o.found), Number(o.residual), Number(o.allowed), !ok}
	if k := w.rank(); k > 0 {
		c.Residual = Number(math.Max(float64(c.Residual), k))
		c.keep(w, r.worst)
	}
	if !ok && o.row < 0 {
		r.WrongRows++
	}
	return ok
}

// skip records that a column was missing.
func (r *Report) skip(id checkID) { r.Checks[id].Skipped++ }

// rank is the residual in units of what is allowed; a failure ranks at least 1.
func (w *WorstRow) rank() float64 {
	k := float64(w.Residual) / float64(w.Allowed)
	switch {
	case w.Failed && !(k > 1):
		return math.Inf(1) // NaN, or nothing was allowed
	case math.IsNaN(k):
		return 0 // 0/0
	}
	return k
}

// keep inserts w into the worst rows: larger rank first, then smaller row, so that
// the list does not depend on the order of the calls.
func (c *Check) keep(w WorstRow, limit int) {
	k := w.rank()
	at := len(c.Worst)
	for at > 0 {
		p := &c.Worst[at-1]
		if pk := p.rank(); pk > k || (pk == k && p.Row <= w.Row) {
			break
		}
		at--
	}
	if at >= limit {
		return
	}
	if len(c.Worst) == limit {
		c.Worst = c.Worst[:limit-1]
	}
	c.Worst = slices.Insert(c.Worst, at, w)
}

// Merge adds the counts of other, a report on other rows of the same batch. The order of
// merges does not matter.
func (r *Report) Merge(other *Report) {
	if r.worst == 0 {
		*r = *newReport(max(other.worst, 1))
	}
	r.Scale = cmp.Or(r.Scale, other.Scale)
	r.Rows += other.Rows
	r.WrongRows += other.WrongRows
	r.Unproved += other.Unproved
	r.Undefined += other.Undefined
	r.Status.merge(&other.Status)
	r.Gaps.merge(&other.Gaps)
	for i := range r.Checks {
		c, d := &r.Checks[i], &other.Checks[i]
		c.Ran += d.Ran
		c.Skipped += d.Skipped
		c.Failed += d.Failed
		c.Residual = max(c.Residual, d.Residual)
		for _, w := range d.Worst {
			c.keep(w, r.worst)
		}
	}
}

func (s *StatusCounts) merge(o *StatusCounts) {
	s.Separated += o.Separated
	s.Touching += o.Touching
	s.Penetrating += o.Penetrating
	s.Undecided += o.Undecided
	s.Invalid += o.Invalid
	s.Unknown += o.Unknown
}

// OK reports whether every answer passed all checks and none is undecided.
func (r *Report) OK() bool { return r.Wrong() == 0 && r.Undecided() == 0 }

// Wrong is the number of rows that failed at least one check.
func (r *Report) Wrong() int { return r.WrongRows }

// Undecided is the number of rows without an answer. Invalid rows are not among them.
func (r *Report) Undecided() int { return r.Status.Undecided }

// Check returns the check of that name, or nil.
func (r *Report) Check(name string) *Check {
	for i := range r.Checks {
		if r.Checks[i].Name == name {
			return &r.Checks[i]
		}
	}
	return nil
}

// Decades of a histogram: bin k counts values in [10^(firstDecade+k), 10^(firstDecade+k+1)).
// The first bin includes all smaller values, the last all larger ones.
const (
	firstDecade = -18
	decades     = 19
)

// A Histogram counts magnitudes by decade.
type Histogram struct {
	Zero      int          `json:"zero"`
	First     decade       `json:"first_decade"` // always -18: bin k starts at 10^(-18+k)
	Counts    [decades]int `json:"counts"`
	NotFinite int          `json:"not_finite"`
}

// decade is the constant firstDecade, written out so that readers of the JSON form
// need not know it.
type decade struct{}

// MarshalJSON implements [json.Marshaler].
func (decade) MarshalJSON() ([]byte, error) { return fmt.Append(nil, firstDecade), nil }

// UnmarshalJSON implements [json.Unmarshaler].
func (decade) UnmarshalJSON(b []byte) error {
	if string(b) != fmt.Sprint(firstDecade) {
		return fmt.Errorf("verify: histogram starts at decade %s, want %d", b, firstDecade)
	}
	return nil
}

func (h *Histogram) add(v float64) {
	v = math.Abs(v)
	switch {
	case v == 0:
		h.Zero++
	case math.IsInf(v, 1) || math.IsNaN(v):
		h.NotFinite++
	default:
		k := int(math.Floor(math.Log10(v))) - firstDecade
		h.Counts[min(max(k, 0), decades-1)]++
	}
}

func (h *Histogram) merge(o *Histogram) {
	h.Zero += o.Zero
	h.NotFinite += o.NotFinite
	for i := range h.Counts {
		h.Counts[i] += o.Counts[i]
	}
}

// String lists the bins that are not empty, smallest first.
func (h *Histogram) String() string {
	var b strings.Builder
	if h.Zero > 0 {
		fmt.Fprintf(&b, "0: %d  ", h.Zero)
	}
	for i, n := range h.Counts {
		if n > 0 {
			fmt.Fprintf(&b, "1e%d: %d  ", firstDecade+i, n)
		}
	}
	if h.NotFinite > 0 {
		fmt.Fprintf(&b, "not finite: %d", h.NotFinite)
	}
	if b.Len() == 0 {
		return "none"
	}
	return strings.TrimSpace(b.String())
}

// WriteText writes the report as a short table: counts, checks, and the worst failures of
// each check.
func (r *Report) WriteText(w io.Writer) error {
	t := &printer{w: w}
	s := &r.Status
	t.printf("%d rows: %d separated, %d touching, %d penetrating, %d undecided, %d invalid",
		r.Rows, s.Separated, s.Touching, s.Penetrating, s.Undecided, s.Invalid)
	if r.Undefined > 0 {
		t.printf(" (of %d the shapes have no value of the query)", r.Undefined)
	}
	if s.Unknown > 0 {
		t.printf(", %d without a valid status", s.Unknown)
	}
	t.printf("\n%d wrong", r.Wrong())
	if r.Unproved > 0 {
		t.printf(", %d neither proved nor refuted", r.Unproved)
	}
	t.printf("\n\n")

	tab := tabwriter.NewWriter(t, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "check\tran\tskipped\tfailed\tworst/allowed\t")
	for i := range r.Checks {
		c := &r.Checks[i]
		if c.Ran == 0 && c.Skipped == 0 {
			continue
		}
		fmt.Fprintf(tab, "%s\t%d\t%d\t%d\t%.2g\t\n", c.Name, c.Ran, c.Skipped, c.Failed, float64(c.Residual))
	}
	t.keep(tab.Flush())
	t.printf("\ngap/%s  %s\n", r.Scale, r.Gaps.String())

	for i := range r.Checks {
		c := &r.Checks[i]
		if c.Failed == 0 {
			continue
		}
		t.printf("\n%s failed on %d of %d: %s\n", c.Name, c.Failed, c.Ran, c.Text)
		writeWorst(t, c.Worst)
	}
	return t.err
}

// writeWorst lists the failures among the worst rows.
func writeWorst(t *printer, worst []WorstRow) {
	for _, w := range worst {
		if w.Failed {
			t.printf("  row %d: found %.9g, expected %.9g, off by %.3g, allowed %.3g\n",
				w.Row, float64(w.Found), float64(w.Expected), float64(w.Residual), float64(w.Allowed))
		}
	}
}

// printer writes until the first error, which it records.
type printer struct {
	w   io.Writer
	err error
}

func (t *printer) printf(format string, args ...any) {
	_, err := fmt.Fprintf(t, format, args...)
	t.keep(err)
}

func (t *printer) Write(b []byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.w.Write(b)
	t.keep(err)
	return n, err
}

func (t *printer) keep(err error) {
	if t.err == nil {
		t.err = err
	}
}
