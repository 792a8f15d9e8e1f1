package peers

import (
	"fmt"

	"clearance/batch"
)

// Rows says which pairs of a set a question is asked of. In the sets of package
// generate row i overlaps where i mod 3 is 0 and is separated otherwise.
type Rows uint8

// Parts of a set.
const (
	AllRows Rows = iota
	SeparatedRows
	PenetratingRows
)

// has reports whether row i of a set is in the part.
func (r Rows) has(i int) bool {
	switch r {
	case SeparatedRows:
		return i%3 != 0
	case PenetratingRows:
		return i%3 == 0
	}
	return true
}

// Question says what a round asks of every pair.
type Question struct {
	Name  string
	Title string // heading of its table
	Text  string // the query, and what the clock includes
	Rows  Rows

	driver string // its name in the protocol of the drivers, "" if no library with such a query can be had
	wants  wants
}

// wants says what a complete answer holds.
type wants uint8

const (
	wantVerdict   wants = iota // only whether the shapes intersect
	wantSeparated              // distance and witnesses of separated pairs
	wantDistance               // and depth and witnesses of penetrating pairs
	wantGrowth                 // the growth distance
)

// Questions are all questions, in the order of the report.
func Questions() []Question {
	return []Question{
		{
			Name: "distance", Title: "Distance and witnesses", Rows: SeparatedRows, driver: "gjk", wants: wantSeparated,
			Text: "Separated pairs. Everyone computes distance and witness points; nobody has a depth to compute.",
		},
		{
			Name: "boolean", Title: "Boolean", Rows: AllRows, driver: "boolean", wants: wantVerdict,
			Text: "All pairs, a third of them overlapping. Everyone says only whether the shapes intersect.",
		},
		{
			Name: "depth", Title: "Penetration", Rows: PenetratingRows, driver: "signed", wants: wantDistance,
			Text: "The overlapping third. Everyone computes depth and witness points.",
		},
		{
			Name: "gjk", Title: "Distance and witnesses, no depth", Rows: AllRows, driver: "gjk", wants: wantSeparated,
			Text: "All pairs. Distance and witness points of separated pairs; of penetrating pairs only that they " +
				"penetrate: " +
				"a peer's GJK stops there and no EPA follows. Clearance has no such query; its time is that of two " +
				"calls, " +
				"Boolean for all pairs and distance for those found apart.",
		},
		{
			Name: "signed", Title: "Signed distance and witnesses", Rows: AllRows, driver: "signed",
			wants: wantDistance,
			Text:  "All pairs, depths included: GJK, and EPA on the overlapping third, in one call for everyone.",
		},
		{
			Name: "growth", Title: "Growth distance", Rows: AllRows, wants: wantGrowth,
			Text: "All pairs: by what factor both shapes, scaled about their centers, just touch, with witnesses. No " +
				"peer has this query, and the library of its authors is in no package registry. Errors are of the " +
				"factor.",
		},
	}
}

// Near is the question of distances up to NearLimit, of pairs further apart only that they are. It is asked in a
// benchmark of package rollout and is not part of the report.
func Near() Question {
	return Question{
		Name: "near", Title: "Distances up to a limit", Rows: AllRows, driver: "near", wants: wantSeparated,
		Text: "All pairs. Distance and witness points of separated pairs closer than the limit.",
	}
}

// NearLimit is the limit of [Near] in metres, kNear of the drivers.
const NearLimit = 0.1

// ParseQuestion finds a question by name.
func ParseQuestion(name string) (Question, error) {
	var names []string
	for _, q := range Questions() {
		if q.Name == name {
			return q, nil
		}
		names = append(names, q.Name)
	}
	return Question{}, fmt.Errorf("unknown question %q, want one of %v", name, names)
}

// Contestant is a library that answers questions. The methods are called in the
// order Shapes, Pairs, Configurations, Run, Answers, each as often as needed. An
// error other than [ErrUnsupported] means that the contestant is of no more use.
type Contestant interface {
	Info() Info
	Shapes(s *Set) error // ErrUnsupported if it has no such shapes
	Pairs(p *Part) error
	Configurations(q *Question) ([]string, error) // none if it cannot answer
	Run(q *Question, configuration string) (seconds float64, err error)
	Answers() ([]Answer, error) // of the last run
	Close() error
}

// Info describes a contestant.
type Info struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Flags   string `json:"flags"`
}

// Verdict says what an answer says about a pair.
type Verdict uint8

// Verdicts. Failed stands for any answer that the library itself does not vouch for.
const (
	Separated Verdict = iota
	Penetrating
	Failed
)

// Answer is the answer to one pair, lengths in metres, points in the world frame.
// What was not asked for is NaN.
type Answer struct {
	Distance float64
	A, B     [3]float64 // witnesses
	Verdict  Verdict
}

// Part is the pairs of one question, in memory and on disk.
type Part struct {
	Path  string // NPZ
	Pairs *batch.Pairs
}
