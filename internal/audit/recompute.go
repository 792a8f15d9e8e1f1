package audit

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/derive"
	"clearance/geom"
	"clearance/internal/score"
	"clearance/ref"
	"clearance/verify"
)

// recomputer takes the derivatives of a job again.
type recomputer struct {
	job        *batch.Job
	o          *DerivativeOptions
	own        *batch.Results // the answers that were differentiated, nil if they are not known
	candidates []candidate
	verdicts   []verify.Recomputation

	ws  ref.Workspace
	one derive.Workspace
	in  batch.Row
}

// candidate has the derivatives of answers, which may be those of the job.
type candidate struct{ answers, derived *batch.Results }

// precision is the precision of the answers, single if it is not known.
func (r *recomputer) precision() batch.Precision {
	if r.own == nil {
		return batch.Single
	}
	return r.own.Precision
}

func newRecomputer(ctx context.Context, job *batch.Job, o *DerivativeOptions) (*recomputer, error) {
	r := &recomputer{job: job, o: o, own: o.Answers, verdicts: make([]verify.Recomputation, job.Results.N)}
	if r.own == nil && derive.Needs&^job.Results.Columns == 0 {
		r.own = job.Results
	}
	if err := r.take(ctx); err != nil {
		return nil, err
	}
	for i := range r.verdicts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.verdicts[i].Hessian = r.hessian(i)
		if v := &r.verdicts[i]; !v.Agrees {
			if err := r.settle(ctx, i, v); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// take compares all rows with the derivatives of their answer or, where it is not known, of those of the back end in
// the precision of the columns, then in the other if there are rows left.
func (r *recomputer) take(ctx context.Context) error {
	precisions := [2]batch.Precision{r.job.Results.Precision, batch.Single}
	if precisions[0] == batch.Single {
		precisions[1] = batch.Double
	}
	for _, p := range precisions {
		answers := r.own
		if answers == nil {
			options := r.job.Options
			options.Columns, options.Precision, options.Derivative = derive.Needs|batch.ColGap, p, batch.Derivative{}
			answers = batch.NewResults(r.job.Results.N, &options)
			job := &batch.Job{Library: r.job.Library, Input: r.job.Input, Options: options, Results: answers}
			if err := r.o.Solve(ctx, job); err != nil {
				return err
			}
		}
		c, err := r.derive(ctx, r.job.Input, answers, r.o.FirstRow, r.o.Solve)
		if err != nil {
			return err
		}
		left := false
		for i := range r.verdicts {
			if v := &r.verdicts[i]; !v.Agrees {
				*v = r.compare(i, &c, i)
				left = left || !v.Agrees
			}
		}
		r.candidates = append(r.candidates, c)
		if r.own != nil || !left {
			return nil
		}
	}
	return nil
}

// derive takes the derivatives of answers, whose first row has the number in the whole.
func (r *recomputer) derive(ctx context.Context, in batch.Input, answers *batch.Results, number int,
	solve batch.Answers) (c candidate, err error) {
	c.answers = answers
	c.derived = batch.NewResults(answers.N, &batch.Options{Columns: wanted(r.job), Precision: r.job.Results.Precision})
	pass := derive.Pass{Options: r.job.Options.Derivative, FirstRow: uint64(number), Workers: r.o.Workers,
		Answers: solve}
	job := &batch.Job{Library: r.job.Library, Input: in, Options: r.job.Options, Results: answers}
	return c, pass.Run(ctx, job, c.derived)
}

// compare compares row i of the job with row k of a candidate: the first column that differs is the fault.
func (r *recomputer) compare(i int, c *candidate, k int) verify.Recomputation {
	out := r.job.Results
	condition := r.condition(i, c, k)
	tight, loose := 1e-9+1e-14*condition, 1e-6+1e-13*condition*condition
	if out.Precision == batch.Single {
		tight, loose = tight+0x1p-22, loose+0x1p-20
	}
	var value *verify.DerivativeFault
	for _, column := range (out.Columns & batch.DerivedColumns).Each() {
		name := column.Info().Name
		x, y := out.Column(column), c.derived.Column(column)
		w := column.Info().Width
		if column == batch.ColSmoothness {
			if found, want := x.U8[i], y.U8[k]; found != want {
				reason := fmt.Sprintf("it claims %q; derivatives of the answer are %q",
					batch.Smoothness(found).String(),
					batch.Smoothness(want).String())
				return verify.Recomputation{Proved: r.own != nil, Fault: &verify.DerivativeFault{Column: name,
					Reason: reason, Found: verify.Number(found), Want: verify.Number(want)}}
			}
			continue
		}
		scale, worst, at := 0.0, 0.0, 0
		for m := range w {
			scale = max(scale, math.Abs(y.At(w*k+m)))
		}
		for m := range w {
			off := math.Abs(x.At(w*i+m) - y.At(w*k+m))
			if !(off <= worst) {
				worst, at = off, m
			}
		}
		if worst <= tight*scale {
			continue
		}
		f := &verify.DerivativeFault{Column: name, Reason: "not the derivative of the answer, taken again",
			Found: verify.Number(x.At(w*i + at)), Want: verify.Number(y.At(w*k + at)),
			Allowed: verify.Number(loose * scale)}
		if column == batch.ColDDistance && r.anyValue(i) {
			value = f
			continue
		}
		return verify.Recomputation{Proved: r.own != nil && !(worst <= loose*scale), Fault: f}
	}
	if v := r.compareAnswers(i, c, k); value == nil || !v.Agrees {
		return v
	}
	return verify.Recomputation{Value: true, Fault: value}
}

// anyValue reports whether d_distance of row i may be that of other witnesses than those at hand: its answer is not
// known and, as the row claims, not unique.
func (r *recomputer) anyValue(i int) bool {
	s := r.job.Results.Column(batch.ColSmoothness).U8
	return r.own == nil && r.job.Options.Derivative.Mode == derive.Exact && s != nil &&
		(batch.Smoothness(s[i]) == batch.NotUnique || batch.Smoothness(s[i]) == batch.NearSingular)
}

// compareAnswers compares columns of answers that no other column proves, of a row whose answer is not known.
func (r *recomputer) compareAnswers(i int, c *candidate, k int) verify.Recomputation {
	const told = batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB
	if r.own == nil {
		for _, column := range (r.job.Results.Columns & told).Each() {
			w := column.Info().Width
			x, y := r.job.Results.Column(column), c.answers.Column(column)
			for m := range w {
				found, want := x.At(w*i+m), y.At(w*k+m)
				if !(math.Abs(found-want) <= 0x1p-22*math.Abs(want)) && !(math.IsNaN(found) && math.IsNaN(want)) {
					return verify.Recomputation{Fault: &verify.DerivativeFault{Column: column.Info().Name,
						Reason: "not that of the answer, taken again", Found: verify.Number(found),
						Want: verify.Number(want)}}
				}
			}
		}
	}
	return verify.Recomputation{Agrees: true}
}

// hessian is the largest entry of the Hessians of a row.
func (r *recomputer) hessian(i int) (most float64) {
	for _, c := range r.candidates {
		if column := c.derived.Column(batch.ColCurvature); column.Len() > 0 {
			for m := range 6 {
				most = max(most, math.Abs(column.At(6*i+m)))
			}
		}
	}
	return most
}

// condition is about that of the system of a row, whose inverse the derivatives of the normal are.
func (r *recomputer) condition(i int, c *candidate, k int) float64 {
	column := c.derived.Column(batch.ColDNormal)
	if column.Len() == 0 {
		return 1
	}
	r.job.Input.Row(i, &r.in)
	most := 0.0
	for m := range 36 {
		if m%6 < 3 {
			most = max(most, math.Abs(column.At(36*k+m)))
		}
	}
	size := 0.0
	for _, s := range [2]int32{r.in.ShapeA, r.in.ShapeB} {
		if shape := r.shape(s); shape != nil {
			size += sizeOf(shape)
		}
	}
	return min(max(1, most*size), 1e12)
}

// shape is nil for the index of no shape.
func (r *recomputer) shape(i int32) geom.Shape {
	if i < 0 || int(i) >= r.job.Library.Len() {
		return nil
	}
	return r.job.Library.Shape(i)
}

func sizeOf(s geom.Shape) float64 {
	if s.Kind().Traits().Unbounded {
		return s.Radius()
	}
	return s.BoundingRadius()
}

// settle decides of a row that agrees with no candidate yet.
func (r *recomputer) settle(ctx context.Context, i int, v *verify.Recomputation) error {
	if _, err := r.job.Read(i, &r.in); err != nil {
		v.Proved = true // invalid: there is nothing that it may be the derivative of
		return nil
	}
	switch mode := r.job.Options.Derivative.Mode; {
	case r.own == nil:
		return r.byReference(ctx, i, v)
	case mode == derive.Zeroth && v.Proved: // the displaced pairs may have answers of another back end
		return r.displaced(ctx, i, v)
	case v.Proved && v.Fault.Column == batch.ColSmoothness.Info().Name && r.borderline(i):
		v.Proved = false
	}
	return nil
}

// byReference compares a row whose answer is not known with the derivatives of that of the reference. Exact derivatives
// of polished answers are the same whatever the answer: those that differ refute the row.
func (r *recomputer) byReference(ctx context.Context, i int, v *verify.Recomputation) error {
	in := batch.NewPairs(1)
	in.SetRow(0, &r.in)
	o := batch.Options{Query: r.job.Options.Query, Columns: derive.Needs | batch.ColGap, Precision: batch.Double}
	answers := batch.NewResults(1, &o)
	r.solve(&r.in, answers)
	c, err := r.derive(ctx, in, answers, r.o.FirstRow+i, nil)
	if err != nil {
		return err
	}
	last := r.compare(i, &c, 0)
	if last.Agrees {
		v.Agrees = true
		return nil
	}
	smoothness := r.job.Results.Column(batch.ColSmoothness).U8
	if r.job.Options.Derivative.Mode != derive.Exact || smoothness == nil {
		return nil
	}
	polished := func(s uint8) bool {
		return s == uint8(batch.SmoothPair) || s == uint8(batch.UniqueFeatures)
	}
	proved := polished(smoothness[i]) && r.condition(i, &c, 0) <= 1e4
	at := append([]candidate{c}, r.candidates...)
	for n := range at {
		k := i
		if n == 0 {
			k = 0
		}
		there := r.compare(i, &at[n], k)
		proved = proved && polished(at[n].derived.Column(batch.ColSmoothness).U8[k]) &&
			float64(there.Fault.Allowed) < math.Abs(float64(there.Fault.Found-there.Fault.Want))
	}
	v.Proved = proved
	return nil
}

// displaced compares an estimate of order zero with that by answers of the reference. The value of a displaced pair is
// certified, and differs among solvers by their gaps alone; normals and witnesses may differ more.
func (r *recomputer) displaced(ctx context.Context, i int, v *verify.Recomputation) error {
	in := batch.NewPairs(1)
	in.SetRow(0, &r.in)
	c, err := r.derive(ctx, in, r.own.Slice(i, i+1), r.o.FirstRow+i, nil)
	if err != nil {
		return err
	}
	last := r.compare(i, &c, 0)
	if last.Agrees {
		v.Agrees = true
		return nil
	}
	epsilon, _ := r.job.Options.Derivative.Noise()
	far := math.Abs(float64(last.Fault.Found - last.Fault.Want))
	allowed := 0.2
	if last.Fault.Column == batch.ColDDistance.Info().Name {
		allowed = 1e-6 / epsilon
	}
	scale := 0.0
	if column, err := batch.ParseColumn(last.Fault.Column); err == nil && column != batch.ColSmoothness {
		w := column.Info().Width
		for m := range w {
			scale = max(scale, math.Abs(c.derived.Column(column).At(m)))
		}
	}
	v.Proved = !(far <= allowed*scale)
	return nil
}

// solve answers a row by the reference.
func (r *recomputer) solve(row *batch.Row, out *batch.Results) {
	lib := r.job.Library
	p := ref.NewPair(lib.Shape(row.ShapeA), lib.Shape(row.ShapeB), row.PoseA, row.PoseB)
	var s ref.Result
	if r.job.Options.Query == batch.Growth {
		s = ref.Growth(&p, ref.GrowthCenters{A: lib.GrowthCenter(row.ShapeA), B: lib.GrowthCenter(row.ShapeB),
			InradiusA: lib.GrowthInradius(row.ShapeA), InradiusB: lib.GrowthInradius(row.ShapeB)}, ref.GrowthOptions{},
			&r.ws)
	} else {
		s = ref.Solve(&p, ref.Options{}, &r.ws)
	}
	out.Distance().Set(0, s.Distance)
	for _, v := range [...]struct {
		to *batch.Values
		x  r3.Vec
	}{{out.Normal(), p.DirToWorld(s.Normal)}, {out.WitnessA(), p.ToWorld(s.WitnessA)},
		{out.WitnessB(), p.ToWorld(s.WitnessB)}} {
		v.to.SetReals(0, []float64{v.x.X, v.x.Y, v.x.Z})
	}
	out.Gap()[0] = float32(s.Gap())
	out.Status()[0] = uint8(s.Status)
}

// borderline reports whether rounding decides of the smoothness of a row: whether the claimed one is that of the answer
// with another rounding of the pose of B or of the normal.
func (r *recomputer) borderline(i int) bool {
	claimed := batch.Smoothness(r.job.Results.Column(batch.ColSmoothness).U8[i])
	lib, out := r.job.Library, r.own
	row := derive.Row{A: lib.Shape(r.in.ShapeA), B: lib.Shape(r.in.ShapeB), PoseA: r.in.PoseA, PoseB: r.in.PoseB,
		Answered: batch.Status(out.Status()[i]) <= batch.Penetrating, Value: out.Distance().At(i),
		Normal: out.Normal().Vec(i), WitnessA: out.WitnessA().Vec(i), WitnessB: out.WitnessB().Vec(i)}
	if out.Gap() != nil {
		row.Gap = float64(out.Gap()[i])
	}
	if r.job.Options.Query == batch.Growth {
		row.Growth, row.CenterA, row.CenterB = true, lib.GrowthCenter(r.in.ShapeA), lib.GrowthCenter(r.in.ShapeB)
	}
	if cut, ok := r.job.Options.EffectiveCutOff(); ok && row.Value-row.Gap > cut {
		row.Answered = false
	}
	size := sizeOf(row.A) + sizeOf(row.B)
	for k := range 12 {
		by := [3]float64{}
		by[k%3] = 1e-14 * [2]float64{1, -1}[k/3%2]
		d := r3.Vec{X: by[0], Y: by[1], Z: by[2]}
		moved := row
		if k < 6 {
			moved.PoseB.Rotation = quat.Mul(quat.Exp(quat.Number{Imag: d.X, Jmag: d.Y, Kmag: d.Z}), row.PoseB.Rotation)
			moved.Normal = r3.Unit(r3.Add(row.Normal, d))
		} else {
			moved.PoseB.Position = r3.Add(row.PoseB.Position, r3.Scale(size, d))
		}
		if r.smoothness(&moved, i) == claimed {
			return true
		}
	}
	return false
}

func (r *recomputer) smoothness(row *derive.Row, i int) batch.Smoothness {
	d := r.one.Of(row, &r.job.Options.Derivative, uint64(r.o.FirstRow+i))
	return d.Smoothness()
}

// Derivatives are the findings of an audit of columns of derivatives.
type Derivatives struct {
	Derived *verify.DerivativeReport `json:"derivatives"`
	Answers *verify.Report           `json:"answers,omitempty"` // of the columns of answers beside them
}

// DerivativeOptions configure an audit of derivatives.
type DerivativeOptions struct {
	Workers  int
	FirstRow int // number of row 0 of the job, which the noise is keyed by

	// Answers are those that were differentiated. Nil: the columns of answers of the job if it has the columns
	// [derive.Needs], else they are not known.
	Answers *batch.Results

	// Solve answers pairs: those whose answers are not known, and the displaced ones of estimates of order zero.
	Solve batch.Answers

	Differences func(row int) bool // rows that are compared with differences too; nil is all
	Seed        uint64             // of the differences
	Progress    func(rows int)
}

// AuditDerivatives judges columns of derivatives, and those of answers beside them, which [verify.Audit] does. Nothing
// is believed: a row passes if its derivatives are proved, see [verify.AuditDerivatives], and if they are those that
// package derive takes of the answer of the row, column by column with the smoothness. Where that answer is not known,
// the row may be that of an answer of the back end in either precision or of the reference; if it is none of these, and
// not refuted, it is open.
func AuditDerivatives(ctx context.Context, job *batch.Job, o DerivativeOptions) (*Derivatives, error) {
	if err := job.Check(); err != nil {
		return nil, err
	}
	r, err := newRecomputer(ctx, job, &o)
	if err != nil {
		return nil, err
	}
	found := new(Derivatives)
	found.Derived, err = verify.AuditDerivatives(ctx, job, verify.DerivativeOptions{Workers: o.Workers,
		FirstRow: o.FirstRow, Differences: o.Differences, AnswerPrecision: r.precision(), Seed: o.Seed,
		Recomputed: func(i int) verify.Recomputation { return r.verdicts[i] }, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	found.Answers, err = r.auditAnswers(ctx)
	return found, err
}

// Merge adds the counts of another report, of later rows.
func (d *Derivatives) Merge(o *Derivatives) {
	d.Derived.Merge(o.Derived)
	switch {
	case d.Answers == nil:
		d.Answers = o.Answers
	case o.Answers != nil:
		d.Answers.Merge(o.Answers)
	}
}

// Refuted is the number of rows that are refuted, as derivatives or as answers.
func (d *Derivatives) Refuted() int {
	if d.Answers == nil {
		return d.Derived.Wrong
	}
	return max(d.Derived.Wrong, d.Answers.Wrong())
}

// auditAnswers audits the columns of answers, nil if there are none. A distance without the columns that prove it is
// proved by those of an answer that was taken again.
func (r *recomputer) auditAnswers(ctx context.Context) (*verify.Report, error) {
	answers := r.own
	if answers == nil || answers == r.job.Results {
		answers = r.job.Results
		claims := answers.Columns &^ batch.DerivedColumns
		if claims&score.AuditColumns == 0 {
			return nil, nil
		}
		with := batch.EmptyResults(answers.N, 0, answers.Precision)
		with.Adopt(answers, claims)
		if claims&batch.ColDistance != 0 && score.ProofColumns&^claims != 0 && len(r.candidates) > 0 {
			with.Drop(^score.AuditColumns)
			with.Adopt(r.candidates[0].answers, score.ProofColumns&^with.Columns)
		}
		answers = with
	}
	job := &batch.Job{Library: r.job.Library, Input: r.job.Input, Options: r.job.Options, Results: answers}
	job.Options.Columns, job.Options.Precision = answers.Columns, answers.Precision
	report, err := verify.Audit(ctx, job, verify.Options{Workers: r.o.Workers, FirstRow: r.o.FirstRow, Seed: r.o.Seed})
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	return report, nil
}

// wanted are the columns that are taken again: all, but for the derivative of a value alone, which follows from the
// answer as it is.
func wanted(job *batch.Job) batch.Columns {
	columns := job.Results.Columns & batch.DerivedColumns
	if columns == batch.ColDDistance && job.Options.Derivative.Mode != derive.Zeroth {
		return columns
	}
	return batch.DerivedColumns
}
