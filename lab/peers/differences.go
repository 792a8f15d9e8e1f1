package peers

import (
	"fmt"
	"math"
	"slices"

	"clearance/batch"
	"clearance/derive"
	"clearance/lab/stats"
	"clearance/verify"
)

// jacobianOf is the derivative of distance, normal and both witnesses of a row with respect to both poses.
type jacobianOf [derive.AnswerWidth][derive.TwistWidth]float64

// groups are the rows of a Jacobian that belong together: distance, normal, witnesses.
var groups = [...][2]int{{0, 1}, {1, 4}, {4, 10}}

// judge compares Jacobians with the truth. The error of a row is the largest difference of a group relative to the
// largest number of its truth, which is never near zero, since the answer moves with both bodies. of returns the
// Jacobian of a row, false if there is none; nil takes those of the results.
func (m *derivatives) judge(name string, got *batch.Results, of func(i int) (jacobianOf, bool)) DerivativeError {
	e := DerivativeError{Name: name}
	if of == nil {
		of = func(i int) (jacobianOf, bool) {
			return columnsJacobian(got, i), batch.Smoothness(got.Column(batch.ColSmoothness).U8[i]).Full()
		}
	}
	var lists [len(groups)][]float64
	for i := range m.pairs.Len() {
		j, ok := of(i)
		if !ok {
			e.Failed++
			continue
		}
		truth := columnsJacobian(m.truth, i)
		for g, rows := range groups {
			off, size := 0.0, 0.0
			for k := rows[0]; k < rows[1]; k++ {
				for c := range truth[k] {
					off = max(off, math.Abs(j[k][c]-truth[k][c]))
					size = max(size, math.Abs(truth[k][c]))
				}
			}
			lists[g] = append(lists[g], off/size)
		}
	}
	for g, to := range []*Spread{&e.Distance, &e.Normal, &e.Witnesses} {
		*to = Spread{Median: verify.Number(stats.Median(lists[g])), Worst: verify.Number(math.NaN())}
		if len(lists[g]) > 0 {
			to.Worst = verify.Number(slices.Max(lists[g]))
		}
	}
	return e
}

// columnsJacobian reads row i of the columns of derivatives.
func columnsJacobian(r *batch.Results, i int) (j jacobianOf) {
	k := 0
	for _, c := range []struct {
		column batch.Columns
		rows   int
	}{{batch.ColDDistance, 1}, {batch.ColDNormal, 3}, {batch.ColDWitnessA, 3}, {batch.ColDWitnessB, 3}} {
		v := r.Column(c.column)
		for row := range c.rows {
			for t := range derive.TwistWidth {
				j[k][t] = v.At((c.rows*i+row)*derive.TwistWidth + t)
			}
			k++
		}
	}
	return j
}

// differences judges forward and central differences over the answers of a configuration, both at the step whose
// normals have the least median error.
func (m *derivatives) differences(configuration string) ([]DerivativeError, error) {
	ask := func(name string, step float64) ([]Answer, error) {
		part, err := m.part(name, step)
		if err != nil {
			return nil, err
		}
		if err := m.peer.Pairs(part); err != nil {
			return nil, err
		}
		if _, err := m.peer.Run(&differences, configuration); err != nil {
			return nil, err
		}
		answers, err := m.peer.Answers()
		if err == nil && len(answers) != part.Pairs.Len() {
			err = fmt.Errorf("%d answers to %d pairs", len(answers), part.Pairs.Len())
		}
		return answers, err
	}
	base, err := ask("base", 0)
	if err != nil {
		return nil, err
	}
	best := make([]DerivativeError, 2)
	keep := func(k int, e DerivativeError, step float64) {
		e.Step = verify.Number(step)
		if best[k].Name == "" || e.Failed < best[k].Failed ||
			e.Failed == best[k].Failed && e.Normal.Median < best[k].Normal.Median {
			best[k] = e
		}
	}
	who := mannerOf(configuration).of(m.peer)
	for _, step := range differenceSteps {
		ahead, err := ask("ahead", step)
		if err != nil {
			return nil, err
		}
		behind, err := ask("behind", -step)
		if err != nil {
			return nil, err
		}
		at := func(i, k int) *Answer { return &ahead[DifferenceCalls*i+k] }
		keep(0, m.judge(who+": forward", nil, func(i int) (jacobianOf, bool) {
			return difference(func(k int) (*Answer, *Answer) { return at(i, k), &base[i] }, step)
		}), step)
		keep(1, m.judge(who+": central", nil, func(i int) (jacobianOf, bool) {
			return difference(func(k int) (*Answer, *Answer) {
				return at(i, k), &behind[DifferenceCalls*i+k]
			}, 2*step)
		}), step)
	}
	return best, nil
}

// difference is the Jacobian from the answers at both ends of each number, a length apart. It is false if one of the
// answers is not that of separated shapes.
func difference(ends func(k int) (ahead, behind *Answer), length float64) (j jacobianOf, ok bool) {
	for k := range DifferenceCalls {
		ahead, behind := ends(k)
		p, okAhead := components(ahead)
		q, okBehind := components(behind)
		if !okAhead || !okBehind {
			return j, false
		}
		for row := range p {
			j[row][k] = (p[row] - q[row]) / length
		}
	}
	return j, true
}

// components are distance, normal and witnesses. The normal is the direction between the witnesses.
func components(a *Answer) (v [derive.AnswerWidth]float64, ok bool) {
	d := math.Hypot(math.Hypot(a.B[0]-a.A[0], a.B[1]-a.A[1]), a.B[2]-a.A[2])
	if a.Verdict != Separated || !(d > 0) || math.IsInf(d, 1) {
		return v, false
	}
	v[0] = a.Distance
	for k := range 3 {
		v[1+k], v[4+k], v[7+k] = (a.B[k]-a.A[k])/d, a.A[k], a.B[k]
	}
	return v, !math.IsNaN(a.Distance)
}
