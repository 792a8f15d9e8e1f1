package derive

import (
	"math"

	"clearance/batch"

	"gonum.org/v1/gonum/spatial/r3"
)

// read takes row i with its answer. Rows that are bounds by the question, beyond a cut-off, count as not answered.
func (w *worker) read(r *rows, i int) {
	w.r = Row{}
	if w.answered(r, i) {
		w.take(r, i)
	}
}

// take takes the answer of row i, of the pair of w.row.
func (w *worker) take(r *rows, i int) {
	out, job := r.answers, r.job
	lib := job.Library
	w.r = Row{A: lib.Shape(w.row.ShapeA), B: lib.Shape(w.row.ShapeB), PoseA: w.row.PoseA, PoseB: w.row.PoseB,
		Answered: true, Value: out.Distance().At(i), Normal: out.Normal().Vec(i), WitnessA: out.WitnessA().Vec(i),
		WitnessB: out.WitnessB().Vec(i)}
	if gap := out.Gap(); gap != nil {
		w.r.Gap = float64(gap[i])
	}
	if job.Options.Query == batch.Growth {
		w.r.Growth, w.r.CenterA, w.r.CenterB = true, lib.GrowthCenter(w.row.ShapeA), lib.GrowthCenter(w.row.ShapeB)
	}
	if r.hasCutOff && w.r.Value-w.r.Gap > r.cutOff {
		w.r.Answered = false
	}
}

// decided reports whether the answer of row i is decided.
func (r *rows) decided(i int) bool {
	out := r.answers
	return (out.Marks == nil || out.Marks[i] == batch.Answered) && batch.Status(out.Status()[i]) <= batch.Penetrating
}

// answered reads the pair of row i and reports whether its answer is decided.
func (w *worker) answered(r *rows, i int) bool {
	if !r.decided(i) {
		return false
	}
	_, err := r.job.Read(r.first+i, &w.row)
	return err == nil
}

// reported returns the derivative of the value of row i in closed form, by normal and witnesses as they are:
// dδ = n·(v_b - v_a), and of growth distances n·(v_B(x) - v_A(x))/h with x the common point and h = n·(ā - b̄).
func (w *worker) reported(r *rows, i int) (g Twists) {
	if r.job.Options.Query == batch.Growth {
		if w.read(r, i); w.r.usable() {
			g = w.reportedValue()
		}
		return g
	}
	out := r.answers
	switch {
	case !r.decided(i):
		return g
	case r.valid: // positions alone are needed
		r.job.Input.Row(r.first+i, &w.row)
	case !w.answered(r, i):
		return g
	}
	value, gap := out.Distance().At(i), 0.0
	if column := out.Gap(); column != nil {
		gap = float64(column[i])
	}
	if r.hasCutOff && value-gap > r.cutOff {
		return g
	}
	// The scale of the pair, which shapes tell, is at least the distance.
	if !(gap <= maxRelativeGap*math.Abs(value)) {
		lib := r.job.Library
		w.r = Row{A: lib.Shape(w.row.ShapeA), B: lib.Shape(w.row.ShapeB), Value: value}
		if !(gap <= maxRelativeGap*w.r.scale()) {
			return g
		}
	}
	n, a, b := out.Normal().Vec(i), out.WitnessA().Vec(i), out.WitnessB().Vec(i)
	g.push(0, r3.Scale(-1, n), r3.Sub(a, w.row.PoseA.Position))
	g.push(6, n, r3.Sub(b, w.row.PoseB.Position))
	sum := value // not finite if any number is not
	for _, v := range g {
		sum += v * 0x1p-1000
	}
	if !(math.Abs(sum) <= math.MaxFloat64) || !(math.Abs(r3.Norm2(n)-1) < maxLengthError) {
		return Twists{}
	}
	return g
}

// reportedValue is reported of the row that was read.
func (w *worker) reportedValue() (g Twists) {
	n, a, b := w.r.Normal, w.r.WitnessA, w.r.WitnessB
	if w.r.Growth {
		p := w.r.problem()
		var s system
		s.asReported(&p, n, r3.Sub(a, p.origin), r3.Sub(b, p.origin), w.r.Value)
		if s.h > 0 {
			s.pushRelative(&p, &g, 1, vec2{})
		}
		return g
	}
	g.push(0, r3.Scale(-1, n), r3.Sub(a, w.r.PoseA.Position))
	g.push(6, n, r3.Sub(b, w.r.PoseB.Position))
	return g
}

// put stores the derivatives of row i.
func put(out *batch.Results, i int, d *Derivative) {
	if s := out.Column(batch.ColSmoothness).U8; s != nil {
		s[i] = uint8(d.smoothness)
	}
	if out.Columns&batch.ColDDistance != 0 {
		v := d.Value()
		out.Column(batch.ColDDistance).SetReals(i, v[:])
	}
	if out.Columns&batch.ColCurvature != 0 {
		v := d.Curvature()
		out.Column(batch.ColCurvature).SetReals(i, v[:])
	}
	const jacobian = batch.ColDNormal | batch.ColDWitnessA | batch.ColDWitnessB
	if out.Columns&jacobian == 0 {
		return
	}
	normal, a, b := d.Jacobian()
	for _, c := range [...]struct {
		column batch.Columns
		rows   *[3]Twists
	}{{batch.ColDNormal, &normal}, {batch.ColDWitnessA, &a}, {batch.ColDWitnessB, &b}} {
		if out.Columns&c.column == 0 {
			continue
		}
		for k := range c.rows {
			out.Column(c.column).SetReals(3*i+k, c.rows[k][:])
		}
	}
}
