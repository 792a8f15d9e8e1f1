package peers

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"clearance/batch"
	"clearance/cpu"
)

// ours is this module's CPU back end with one worker.
type ours struct {
	name, version string
	precision     batch.Precision
	backend       *cpu.Backend
	library       *batch.Library
	pairs         *batch.Pairs
	job           *batch.Job
	out           *batch.Results

	// Question gjk: the distance call for the pairs that the Boolean call found apart.
	apart   *batch.Pairs
	rows    []int // of pairs, for each row of apart
	second  *batch.Job
	results *batch.Results
	asked   string
}

// NewOurs returns this module as a contestant. simd is the variant of the kernels, ""
// for the best there is.
func NewOurs(version string, p batch.Precision, simd string) (Contestant, error) {
	b, err := cpu.New(cpu.Options{Workers: 1, SIMD: simd})
	if err != nil {
		return nil, err
	}
	return &ours{name: "Clearance, " + p.String(), version: version, precision: p, backend: b}, nil
}

func (o *ours) Info() Info {
	return Info{Name: o.name, Version: o.version, Flags: o.backend.SIMD() + " kernels, " + runtime.Version()}
}

func (o *ours) Shapes(s *Set) error { o.library = s.Library; return nil }

func (o *ours) Pairs(p *Part) error {
	o.pairs, o.asked = p.Pairs, ""
	return nil
}

func (o *ours) Configurations(*Question) ([]string, error) { return []string{o.backend.SIMD()}, nil }

// answerColumns is what a peer answers, and the bound that nobody else gives.
const answerColumns = batch.ColDistance | batch.ColGap | batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB |
	batch.ColStatus

// prepare makes room for the answers.
func (o *ours) prepare(q *Question) {
	if o.asked == q.Name {
		return
	}
	o.asked, o.second = q.Name, nil
	distance := batch.Options{Precision: o.precision, Columns: answerColumns}
	options := distance
	switch q.wants {
	case wantVerdict:
		options = batch.Options{Precision: o.precision, Query: batch.Collide, Columns: batch.ColStatus}
	case wantGrowth:
		options.Query = batch.Growth
	case wantSeparated:
		if !twoCalls(q) {
			break
		}
		options = batch.Options{Precision: o.precision, Query: batch.Collide, Columns: batch.ColStatus}
		o.apart = batch.NewPairs(o.pairs.Len())
		o.rows = make([]int, 0, o.pairs.Len())
		o.second = &batch.Job{Library: o.library, Options: distance}
		o.results = batch.NewResults(o.pairs.Len(), &distance)
	}
	o.job = &batch.Job{Library: o.library, Input: o.pairs, Options: options}
	o.out = batch.NewResults(o.pairs.Len(), &options)
}

// twoCalls reports whether the question takes a Boolean and a distance call.
func twoCalls(q *Question) bool { return q.wants == wantSeparated && q.Rows != SeparatedRows }

func (o *ours) Run(q *Question, _ string) (float64, error) {
	o.prepare(q)
	ctx, n := context.Background(), o.pairs.Len()
	return clocked(func() error {
		if err := o.backend.Run(ctx, o.job, 0, n, o.out); err != nil || o.second == nil {
			return err
		}
		o.gather()
		return o.backend.Run(ctx, o.second, 0, len(o.rows), o.results.Slice(0, len(o.rows)))
	})
}

// clocked returns the CPU time that f takes this thread, in seconds.
func clocked(f func() error) (float64, error) {
	start, err := threadSeconds()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	end, err := threadSeconds()
	return end - start, err
}

// gather copies the separated pairs.
func (o *ours) gather() {
	o.rows = o.rows[:0]
	var row batch.Row
	for i, s := range o.out.Status() {
		if batch.Status(s) == batch.Separated {
			o.pairs.Row(i, &row)
			o.apart.SetRow(len(o.rows), &row)
			o.rows = append(o.rows, i)
		}
	}
	o.second.Input = o.apart.Slice(0, len(o.rows))
}

func (o *ours) Answers() ([]Answer, error) {
	if o.out == nil {
		return nil, fmt.Errorf("%s: no run yet", o.name)
	}
	answers := make([]Answer, o.out.N)
	for i := range answers {
		answers[i] = answerOf(o.out, i)
	}
	if o.second != nil {
		for k, i := range o.rows {
			answers[i] = answerOf(o.results, k)
		}
	}
	return answers, nil
}

// answerOf reads row i. Touching counts as overlapping, as zero is within its bound.
func answerOf(r *batch.Results, i int) Answer {
	nan := math.NaN()
	a := Answer{Distance: nan, A: [3]float64{nan, nan, nan}, B: [3]float64{nan, nan, nan}, Verdict: Failed}
	switch batch.Status(r.Status()[i]) {
	case batch.Separated:
		a.Verdict = Separated
	case batch.Touching, batch.Penetrating:
		a.Verdict = Penetrating
	default:
		return a
	}
	if r.Distance().Len() == 0 {
		return a
	}
	a.Distance = r.Distance().At(i)
	for k := range 3 {
		a.A[k], a.B[k] = r.WitnessA().At(3*i+k), r.WitnessB().At(3*i+k)
	}
	return a
}

func (o *ours) Close() error { return o.backend.Close() }
