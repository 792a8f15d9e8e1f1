package main

import (
	"fmt"

	"clearance/batch"
	"clearance/verify"
)

// runReport is the report of the main job, for --json and for the table.
type runReport struct {
	Program   string        `json:"program"`
	Version   string        `json:"version"`
	Date      string        `json:"date"` // RFC 3339, UTC
	Platform  string        `json:"platform"`
	Backend   string        `json:"backend"`
	Device    string        `json:"device"`
	Cores     int           `json:"cores"`
	Query     string        `json:"query"`
	Method    string        `json:"method"`
	Precision string        `json:"precision"`
	Tolerance verify.Number `json:"tolerance"` // relative to the size of a pair; 0 is the default of the precision
	Columns   []string      `json:"columns"`
	Seed      uint64        `json:"seed"`
	Rounds    int           `json:"rounds"`
	Clock     string        `json:"clock"`
	side
	Beside *besideReport `json:"beside,omitempty"` // another back end on the same pairs
	Good   bool          `json:"good"`             // of both
}

// side is the part of one back end.
type side struct {
	Sets  []setReport `json:"sets"`
	Total setReport   `json:"total"`
}

// besideReport is the part of the second back end.
type besideReport struct {
	Backend string `json:"backend"`
	Device  string `json:"device"`
	side
}

// setReport is one line of the table.
type setReport struct {
	Set            string          `json:"set"`
	Pairs          int64           `json:"pairs"`
	Seconds        []verify.Number `json:"seconds"`                 // end to end, one entry per round
	PairsPerSecond verify.Number   `json:"pairs_per_second"`        // end to end, median of the rounds
	Spread         verify.Number   `json:"spread"`                  // half the range over the median
	KernelPerSec   *verify.Number  `json:"kernel_pairs_per_second"` // null where the back end has no device clock
	NsPerPair      verify.Number   `json:"ns_per_pair"`             // end to end
	MeanIterations verify.Number   `json:"mean_iterations"`         // evaluations of the support function per pair
	WorstGap       verify.Number   `json:"worst_gap_over_size"`     // largest gap relative to the size of its pair
	Counts         counts          `json:"counts"`                  // rows by status
	Undefined      int64           `json:"undefined,omitempty"`     // invalid ones, without a value of the query
	// rows by the solver that ended them; absent for statuses alone
	Solvers solverRows `json:"solvers,omitempty"`
	// rows that the back end declined, in the first round
	Declined int64 `json:"declined"`
	// of all rounds; absent if the back end does not count them
	DeviceRows *deviceRows `json:"device_rows,omitempty"`
	Audited    int64       `json:"audited"`         // rows checked from the shapes alone
	Refuted    int64       `json:"refuted"`         // rows that the audit refuted
	Compared   int64       `json:"compared"`        // rows solved again by the reference
	Mismatches int64       `json:"mismatches"`      // rows that the reference contradicts
	Proved     int64       `json:"depths_proved"`   // rows whose depth is proved from below
	Disproved  int64       `json:"depths_refuted"`  // rows with a smaller depth than claimed, less the gap
	Open       int64       `json:"depths_unproved"` // rows on which the proof reached its limit
	// rows answered again, once per round after the first
	Repeated int64 `json:"repeated"`
	// of these, rows with other bits than the first time
	Unrepeatable int64    `json:"unrepeatable"`
	Faults       []string `json:"faults,omitempty"` // the worst faults, as text

	// All results of the checks; null for the total.
	Audit   *verify.Report     `json:"audit"`
	Compare *verify.Comparison `json:"comparison"`
	Proof   *verify.Proof      `json:"proof"`
}

// counts is the number of rows of each status.
type counts struct {
	Separated   int64 `json:"separated"`
	Touching    int64 `json:"touching"`
	Penetrating int64 `json:"penetrating"`
	Undecided   int64 `json:"undecided"`
	Invalid     int64 `json:"invalid"`
}

func (c *counts) add(o counts) {
	c.Separated += o.Separated
	c.Touching += o.Touching
	c.Penetrating += o.Penetrating
	c.Undecided += o.Undecided
	c.Invalid += o.Invalid
}

// wrong is the number of faults. A row that fails two checks counts twice.
func (s *setReport) wrong() int64 { return s.Refuted + s.Mismatches + s.Disproved + s.Unrepeatable }

// bad is the number of invalid rows, less those whose shapes have no value of the query.
func (s *setReport) bad() int64 { return s.Counts.Invalid - s.Undefined }

// good reports whether every answer of the set is decided and none is wrong.
func (s *setReport) good() bool {
	return s.wrong() == 0 && s.Counts.Undecided == 0 && s.bad() == 0
}

// toleranceText describes a tolerance of a query, by its name.
func toleranceText(t verify.Number, query string) string {
	if t == 0 {
		return ""
	}
	return fmt.Sprintf(" (gap at most %.3g of the %v)", float64(t), scaleOf(query))
}

// scaleOf returns what the tolerances of a query are relative to.
func scaleOf(query string) batch.ToleranceRule {
	q, err := batch.ParseQuery(query)
	if err != nil {
		return batch.OfPairSize
	}
	return q.Info().Tolerance
}

// perSecond formats a rate with three significant digits.
func perSecond(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.3gG", v/1e9)
	case v >= 999.5e3:
		return fmt.Sprintf("%.2fM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.0fk", v/1e3)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// thousands formats n with commas between groups of three digits.
func thousands[T int | int64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural formats a count and its noun.
func plural[T int | int64](n T, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}
