package view

import (
	"fmt"
	"math"

	"clearance/batch"

	"gonum.org/v1/gonum/spatial/r3"
)

// Results are the answers of the pairs of bodies of all cells of a document: of a query, or of a sweep.
type Results struct {
	rollout *batch.RolloutResults
	sweep   *batch.SweepResults
	worlds  *batch.Worlds
	pairs   bool    // one row per cell
	first   int     // world of the results that cell 0 is
	number  int     // of row 0, as people name it
	factor  bool    // whether the column distance has growth factors
	about   []about // [N] of scene descriptions, else nil
}

// An Answer is the answer of a pair of bodies of a cell.
type Answer struct {
	Row    int64 // in its results
	A, B   int32 // places in the cell; -1 if that is not known
	Class  Class
	Status string

	// Distance lies within Gap of the truth; NaN and +Inf if that is not known. Of motions they bound the
	// least distance.
	Distance, Gap float64

	index  int  // in its results
	Factor bool // whether the distance is a growth factor

	Points             bool // whether the three below are known
	Normal             r3.Vec
	WitnessA, WitnessB r3.Vec

	Iterations   int // -1 if that is not known
	Solver       string
	PartA, PartB int32 // -1 if they are not known

	T0, T1 float64 // of motions: bounds of the time of the first contact; else NaN
}

// check compares the form of results with a file of so many worlds with so many pairs each, 0 of all pairs.
func (r *Results) check(path string, worlds, perWorld int) error {
	got, want := 0, worlds*perWorld
	switch {
	case r.sweep != nil:
		got = r.sweep.N
	case r.rollout.Pair != nil:
		got, want = r.rollout.N, worlds
	case r.rollout.Offsets != nil:
		got, want = len(r.rollout.Offsets)-1, worlds
	default:
		got = r.rollout.N
	}
	if got != want {
		return fmt.Errorf("%s has answers for %d rows or worlds, want %d", path, got, want)
	}
	if r.rollout != nil && r.rollout.Status() == nil {
		return fmt.Errorf("%s has no column status", path)
	}
	return nil
}

// Range is the rows of a cell: from lo to hi-1.
func (r *Results) Range(cell int) (lo, hi int) {
	w := r.first + cell
	if r.pairs {
		return w, w + 1
	}
	rows := r.rows()
	return rows.Range(w)
}

// rows finds what the rows of worlds are about; those of motions are in the order of the pairs.
func (r *Results) rows() batch.RolloutRows {
	rows := batch.RolloutRows{Worlds: r.worlds, Results: r.rollout}
	if rows.Results == nil {
		rows.Results = new(batch.RolloutResults)
	}
	return rows
}

// places returns the places of both bodies of a row of a cell, -1 if they are not known.
func (r *Results) places(cell, row int) (a, b int32) {
	if r.pairs {
		return 0, 1
	}
	rows := r.rows()
	a, b, _ = rows.Places(r.first+cell, row)
	return a, b
}

// class returns the class of a row, of motions at a time: a contact counts from the time on before which there is none.
func (r *Results) class(row int, t float64) Class {
	if r.about != nil && t < r.about[row].from {
		return Clear
	}
	if r.sweep == nil {
		return ClassOf(batch.Status(r.rollout.Status()[row]))
	}
	switch batch.SweepState(r.sweep.State[row]) {
	case batch.SweepFree:
		return Clear
	case batch.SweepContact:
		if t < r.sweep.T0[row] {
			return Clear
		}
		return Contact
	case batch.SweepUndecided:
		return Undecided
	}
	return Invalid
}

// Classes writes the class of each place of a cell at a time: the worst of its rows. A row whose bodies are not known
// counts for all places.
func (r *Results) Classes(cell int, t float64, places []Class) {
	clear(places)
	lo, hi := r.Range(cell)
	for row := lo; row < hi; row++ {
		c := r.class(row, t)
		a, b := r.places(cell, row)
		if a < 0 || b < 0 {
			for k := range places {
				places[k] = max(places[k], c)
			}
			continue
		}
		places[a], places[b] = max(places[a], c), max(places[b], c)
	}
	if r.rollout != nil && r.rollout.Offsets != nil { // a pair without a row is separated
		for k := range places {
			places[k] = max(places[k], Clear)
		}
	}
}

// Answer returns what is known of a row of a cell at a time.
func (r *Results) Answer(cell, row int, t float64) Answer {
	nan := math.NaN()
	a := Answer{Row: int64(r.number + row), index: row, Class: r.class(row, t), Distance: nan, Gap: math.Inf(1),
		Iterations: -1, PartA: -1, PartB: -1, T0: nan, T1: nan}
	a.A, a.B = r.places(cell, row)
	if s := r.sweep; s != nil {
		a.Status = batch.SweepState(s.State[row]).String()
		a.Distance, a.Gap = (s.Lower[row]+s.Upper[row])/2, (s.Upper[row]-s.Lower[row])/2
		a.PartA, a.PartB, a.T0, a.T1 = s.PartA[row], s.PartB[row], s.T0[row], s.T1[row]
		return a
	}
	o := r.rollout
	a.Factor = r.factor
	a.Status = batch.Status(o.Status()[row]).String()
	if r.about != nil {
		a.Row, a.Status = r.about[row].number, r.about[row].status
	}
	if o.PartA != nil {
		a.PartA, a.PartB = o.PartA[row], o.PartB[row]
	}
	if v := o.Distance(); v != nil {
		a.Distance = v.At(row)
	}
	if g := o.Gap(); g != nil {
		a.Gap = float64(g[row])
	}
	if n, wa, wb := o.Normal(), o.WitnessA(), o.WitnessB(); n != nil && wa != nil && wb != nil {
		a.Normal, a.WitnessA, a.WitnessB = vector(n, row), vector(wa, row), vector(wb, row)
		a.Points = finite(a.Normal) && finite(a.WitnessA) && finite(a.WitnessB)
	}
	if n := o.Iterations(); n != nil {
		a.Iterations = int(n[row])
	}
	if m := o.Method(); m != nil {
		a.Solver = batch.Solver(m[row]).String()
	}
	return a
}

// vector is row i of a column of three numbers.
func vector(v *batch.Values, i int) r3.Vec {
	return r3.Vec{X: v.At(3 * i), Y: v.At(3*i + 1), Z: v.At(3*i + 2)}
}

func finite(v r3.Vec) bool {
	return !math.IsNaN(v.X+v.Y+v.Z) && !math.IsInf(v.X, 0) && !math.IsInf(v.Y, 0) && !math.IsInf(v.Z, 0)
}

// Answers returns the answers of a cell.
func (r *Results) Answers(cell int, t float64) (all []Answer) {
	lo, hi := r.Range(cell)
	for row := lo; row < hi; row++ {
		all = append(all, r.Answer(cell, row, t))
	}
	return all
}
