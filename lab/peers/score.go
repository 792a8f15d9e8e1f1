package peers

import (
	"fmt"
	"math"

	"clearance/lab/stats"
	"clearance/verify"
)

// Accuracy says how good the answers of a contestant are. Lengths are metres; an
// error is that part of the difference which the gap of the reference cannot explain.
type Accuracy struct {
	Rows   int `json:"rows"`
	Failed int `json:"failed"` // no answer, one that is not a number, or one the library does not vouch for

	Wrong      int           `json:"wrong"`       // the verdict contradicts the certified one
	WorstWrong verify.Number `json:"worst_wrong"` // largest true distance or depth of such a pair

	Judged      int           `json:"judged"`       // answers with a distance
	MaxError    verify.Number `json:"max_error"`    // of these
	MedianError verify.Number `json:"median_error"` // of these; NaN if there are none
	Off         int           `json:"off"`          // of these, with an error above OffBy
	MaxWitness  verify.Number `json:"max_witness"`  // | |b − a| − |true distance| |, largest
	NoWitnesses int           `json:"no_witnesses"` // distances without witness points
}

// OffBy is the error in metres from which on an answer is listed as off: a
// thousandth of the bodies' size, which no user expects of a solver of 1e-6.
const OffBy = 1e-3

// Score judges the answers to a question by the truth.
func Score(q *Question, answers []Answer, truth []Truth) (Accuracy, error) {
	a := Accuracy{Rows: len(truth)}
	if len(answers) != len(truth) {
		return a, fmt.Errorf("%d answers to %d pairs", len(answers), len(truth))
	}
	var errors []float64
	for i := range answers {
		errors = a.judge(q, &answers[i], truth[i], errors)
	}
	a.Judged = len(errors)
	a.MedianError = verify.Number(stats.Median(errors))
	return a, nil
}

// judge adds one answer; it appends the error of a distance to errors.
func (a *Accuracy) judge(q *Question, got *Answer, truth Truth, errors []float64) []float64 {
	if got.Verdict == Failed {
		a.Failed++
		return errors
	}
	if c := truth.certain(); c != Failed && c != got.Verdict {
		a.Wrong++
		a.WorstWrong = max(a.WorstWrong, verify.Number(math.Abs(truth.Distance-truth.Touch)))
	}
	if q.wants == wantVerdict || (q.wants == wantSeparated && got.Verdict == Penetrating) {
		return errors
	}
	e := math.Abs(got.Distance-truth.Distance) - truth.Gap
	if math.IsNaN(e) || math.IsInf(e, 0) {
		a.Failed++
		return errors
	}
	e = max(e, 0)
	a.MaxError = max(a.MaxError, verify.Number(e))
	if e > OffBy {
		a.Off++
	}
	if q.wants == wantGrowth { // whose witnesses are in the shapes before they are scaled
		return append(errors, e)
	}
	w := math.Abs(math.Hypot(math.Hypot(got.B[0]-got.A[0], got.B[1]-got.A[1]),
		got.B[2]-got.A[2])-math.Abs(truth.Distance)) - truth.Gap
	if math.IsNaN(w) {
		a.NoWitnesses++
	} else {
		a.MaxWitness = max(a.MaxWitness, verify.Number(max(w, 0)))
	}
	return append(errors, e)
}

// Sound reports whether the answers can stand beside ours: none failed, no distance
// is off by more than tolerance, and no verdict is wrong about a pair that is
// farther than tolerance from touching.
func (a *Accuracy) Sound(tolerance float64) bool {
	return a.Failed == 0 && float64(a.MaxError) <= tolerance && float64(a.WorstWrong) <= tolerance
}
