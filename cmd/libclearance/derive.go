package main

// #include "clearance.h"
import "C"

import (
	"context"
	"io"
	"math"
	"slices"
	"time"

	"clearance/batch"
	"clearance/derive"
	"clearance/dispatch"
	"clearance/rollout"
)

//export clearance_derive
func clearance_derive(handle C.clearance_engine, query *C.clearance_query, pairs *C.clearance_pairs,
	results *C.clearance_results, derivatives *C.clearance_derivatives, waitMs C.int64_t, out *C.clearance_job,
	report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		h, lib, o, err := questionOf(handle, query)
		if err != nil {
			return nil, err
		}
		in, _, err := pairsOf(pairs)
		if err != nil {
			return nil, err
		}
		answers, err := resultsOf(results, &o)
		if err != nil {
			return nil, err
		}
		twists := derive.TwistWidth * answers.N
		d, err := derivativesOf(derivatives, answers.N, twists, twists, &o)
		if err != nil {
			return nil, err
		}
		if err := checkOverlap(d.spans(spansOfPairs(nil, in, nil), answers)); err != nil {
			return nil, err
		}
		of := &batch.Job{Library: lib, Input: in, Options: o, Results: answers}
		d.pass.Answers, d.pass.SIMD = h.Answers(), h.SIMD()
		if err := d.pass.Check(of); err != nil {
			return nil, failure{codeArgument, err}
		}
		return start(h, d.work(lib, answers.N), func(ctx context.Context, _ *job) (dispatch.Report, error) {
			begin := time.Now()
			err := d.run(ctx, of)
			return dispatch.Report{Rows: answers.N, Done: answers.N, WorstGapRow: -1, Wall: time.Since(begin)}, err
		})
	}()
	return settle(j, err, waitMs, out, report, e)
}

// derivation is what a call asks for, in memory of the caller.
type derivation struct {
	pass       derive.Pass
	cotangents []float64      // [N,10], nil for no product
	values     []float64      // [N], nil for no product
	gradients  []float64      // [N,12], of rollouts by body [W,M,6]
	twists     []float64      // [N,12], of rollouts [W,M,6]; nil for no product
	tangents   []float64      // [N,10]
	smoothness *batch.Results // of that column alone, which may be nil
}

// derivativesOf are the arrays of n rows, with so many numbers of gradients and of twists.
func derivativesOf(c *C.clearance_derivatives, n, gradients, twists int, o *batch.Options) (*derivation, error) {
	if c == nil || c.rows != C.int64_t(n) {
		return nil, argument("no derivatives, or not those of %d rows", n)
	}
	if err := checkWorkers(c.workers); err != nil {
		return nil, err
	}
	d := &derivation{
		pass:       derive.Pass{Options: o.Derivative, FirstRow: uint64(c.first_row), Workers: int(c.workers)},
		cotangents: array[float64](c.cotangents, derive.AnswerWidth*n),
		values:     array[float64](c.values, n),
		gradients:  array[float64](c.gradients, gradients),
		twists:     array[float64](c.twists, twists),
		tangents:   array[float64](c.tangents, derive.AnswerWidth*n),
		smoothness: batch.EmptyResults(n, batch.ColSmoothness, batch.Double),
	}
	d.smoothness.SetColumn(batch.ColSmoothness, batch.Values{U8: array[uint8](c.smoothness, n)})
	switch {
	case c.cotangents != nil && c.values != nil:
		return nil, argument("gradients of cotangents and of values, want one of them")
	case c.by_row != 0 && c.by_row != 1:
		return nil, argument("gradients by row: %d, want 0 or 1", c.by_row)
	case n > 0 && (c.cotangents != nil || c.values != nil) != (c.gradients != nil),
		n > 0 && (c.twists == nil) != (c.tangents == nil):
		return nil, argument("a product needs both of its arrays")
	}
	return d, nil
}

// spans appends the memory of the call. The answers are read only.
func (d *derivation) spans(list []span, answers *batch.Results) []span {
	first := len(list)
	list = spansOf(list, answers)
	for i := first; i < len(list); i++ {
		list[i].written = false
	}
	return d.products(list)
}

// products appends the memory of the products and of the smoothness.
func (d *derivation) products(list []span) []span {
	list = append(list, spanOf("cotangents", d.cotangents, false), spanOf("values", d.values, false),
		spanOf("gradients", d.gradients, true), spanOf("twists", d.twists, false), spanOf("tangents", d.tangents, true))
	return spansOf(list, d.smoothness)
}

// wanted are the products that the call wants.
func (d *derivation) wanted() (list []batch.Product) {
	for _, p := range []batch.Product{{Kind: batch.VJP, Operands: d.cotangents, Results: d.gradients},
		{Kind: batch.ValueVJP, Operands: d.values, Results: d.gradients},
		{Kind: batch.JVP, Operands: d.twists, Results: d.tangents}} {
		if p.Operands != nil {
			list = append(list, p)
		}
	}
	return list
}

// work is the number of rows of a query that n rows may take as long as.
func (d *derivation) work(lib *batch.Library, n int) int {
	each := 1
	if d.pass.Mode == batch.ZerothDerivative {
		each = max(d.pass.Samples, 50)
	}
	return work(lib, int(min(float64(n)*float64(each), math.MaxInt32)))
}

// run fills the arrays. Each product is a pass of its own.
func (d *derivation) run(ctx context.Context, of *batch.Job) error {
	if d.smoothness.Column(batch.ColSmoothness).U8 != nil {
		if err := d.pass.Run(ctx, of, d.smoothness); err != nil {
			return err
		}
	}
	for _, p := range d.wanted() {
		if err := d.pass.Multiply(ctx, of, &p); err != nil {
			return err
		}
	}
	return nil
}

//export clearance_multiply
func clearance_multiply(handle C.clearance_engine, query *C.clearance_query, pairs *C.clearance_pairs,
	derivatives *C.clearance_derivatives, waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report,
	e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		h, lib, in, o, err := pairQuestionOf(handle, query, pairs)
		if err != nil {
			return nil, err
		}
		n := in.Len()
		d, err := unansweredOf(derivatives, n, derive.TwistWidth*n, &o)
		if err != nil {
			return nil, err
		}
		if err := checkOverlap(d.products(spansOfPairs(nil, in, o.WarmStart))); err != nil {
			return nil, err
		}
		return start(h, d.work(lib, n), func(ctx context.Context, _ *job) (dispatch.Report, error) {
			begin := time.Now()
			err := multiply(ctx, h, &batch.Job{Library: lib, Input: in, Options: o}, d.wanted())
			return productReport(n, begin, err), err
		})
	}()
	return settle(j, err, waitMs, out, report, e)
}

// unansweredOf is derivativesOf of rows that the call answers.
func unansweredOf(c *C.clearance_derivatives, n, gradients int, o *batch.Options) (*derivation, error) {
	d, err := derivativesOf(c, n, gradients, derive.TwistWidth*n, o)
	switch {
	case err != nil:
		return nil, err
	case o.Query.Info().Boolean():
		return nil, argument("the query %v answers with a status, which has no derivative", o.Query)
	case c.smoothness != nil || c.first_row != 0:
		return nil, argument("products without answers have no smoothness, and begin with row 0")
	}
	return d, nil
}

// multiply takes products of the rows of a job.
func multiply(ctx context.Context, h *engineHandle, job *batch.Job, products []batch.Product) error {
	for _, p := range products {
		if _, err := h.Dispatcher().Multiply(ctx, job, &p, h.run); err != nil {
			return err
		}
	}
	return nil
}

// productReport is that of a call whose answers nobody sees.
func productReport(n int, begin time.Time, err error) dispatch.Report {
	r := dispatch.Report{Rows: n, WorstGapRow: -1, Wall: time.Since(begin)}
	if err == nil {
		r.Done = n
	}
	return r
}

// multiplier is a rollout of which products are taken.
type multiplier interface {
	io.Closer

	// rows is what products of given answers need. They are served after the rollout has been released.
	rows() *rolloutRows

	// multiplies prepares the gradients of a step at poses of the caller, which it answers itself.
	multiplies(poses *C.clearance_reals, derivatives *C.clearance_derivatives, o batch.Derivative) (*job, error)
}

//export clearance_rollout_multiply
func clearance_rollout_multiply(handle C.clearance_rollout, query *C.clearance_query, poses *C.clearance_reals,
	results *C.clearance_results, more *C.clearance_more, derivatives *C.clearance_derivatives, waitMs C.int64_t,
	out *C.clearance_job, report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		r, err := rolloutOf[multiplier](handle)
		if err != nil {
			return nil, err
		}
		_, o, err := optionsOf(query)
		if err != nil {
			return nil, err
		}
		if results != nil {
			return r.rows().multiplies(poses, results, more, derivatives, &o)
		}
		return r.multiplies(poses, derivatives, o.Derivative)
	}()
	return settle(j, err, waitMs, out, report, e)
}

// rolloutRows is what the rows of a rollout are about.
type rolloutRows struct {
	engine  *engineHandle
	shapes  bool // every body is a shape, so that rows have no parts
	bodies  *batch.Bodies
	worlds  batch.Worlds // without poses
	numbers int          // of the poses
	options rollout.Options
}

// multiplies prepares products of answers of a step, which it leaves as they are.
func (r *rolloutRows) multiplies(poses *C.clearance_reals, results *C.clearance_results, more *C.clearance_more,
	derivatives *C.clearance_derivatives, o *batch.Options) (*job, error) {
	options := r.options
	options.Columns, options.Derivative = o.Columns, o.Derivative
	base, err := resultsOf(results, &options.Options)
	if err != nil {
		return nil, err
	}
	in, n := r.worlds, base.N
	in.Poses = array[float64](poses, r.numbers)
	if len(in.Poses) != r.numbers {
		return nil, argument("no poses")
	}
	answers, err := r.answers(&in, base, more)
	switch {
	case err != nil:
		return nil, err
	case options.Query.Info().Boolean():
		return nil, argument("the query %v answers with a status, which has no derivative", options.Query)
	case derive.Needs&^base.Columns != 0:
		return nil, argument("the answers lack the columns %v", derive.Needs&^base.Columns)
	}
	if derivatives == nil {
		return nil, argument("no derivatives")
	}
	bodies, byRow := derive.BodyWidth*(r.numbers/7), derivatives.by_row != 0
	gradients := bodies
	motion, err := motionOf(derivatives, in.M, in.Count())
	switch {
	case err != nil:
		return nil, err
	case motion != nil:
		gradients = product(n, motion.coordinates)
	case byRow:
		gradients = derive.TwistWidth * n
	}
	d, err := derivativesOf(derivatives, n, gradients, bodies, &options.Options)
	if err != nil {
		return nil, err
	}
	list := append(spansOfMore(answers), spanOf("offsets", answers.Offsets, false), spanOf("poses", in.Poses, false))
	if motion != nil {
		list = append(list, spanOf("screws", motion.screws, false), spanOf("moves", motion.moves, false),
			spanOf("coordinate", motion.coordinate, false))
	}
	for i := range list {
		list[i].written = false
	}
	if err := checkOverlap(d.spans(list, base)); err != nil {
		return nil, err
	}
	clear(d.gradients) // also those of no rows
	d.pass.Answers, d.pass.SIMD = r.engine.Answers(), r.engine.SIMD()
	of := &derive.Rollout{
		RolloutRows: batch.RolloutRows{Bodies: r.bodies, Worlds: &in, Results: answers}, Options: options}
	products := d.ofRollout(byRow)
	return start(r.engine, d.work(r.bodies.Library(), n), func(ctx context.Context, _ *job) (dispatch.Report, error) {
		begin := time.Now()
		err := d.ofRows(ctx, of, products, motion)
		return productReport(n, begin, err), err
	})
}

// ofRows takes the products of the rows of a rollout.
func (d *derivation) ofRows(ctx context.Context, of *derive.Rollout, products []batch.RolloutProduct,
	motion *motion) error {
	for i := range products {
		p := &products[i]
		gradients := p.ByRow && motion != nil
		if gradients {
			p.Results = make([]float64, derive.TwistWidth*of.Results.N)
		}
		if err := d.pass.RolloutProduct(ctx, of, p); err != nil {
			return err
		}
		if gradients {
			motion.add(&of.RolloutRows, p.Results, d.gradients)
		}
	}
	return nil
}

// motion is what coordinates of configurations do to bodies.
type motion struct {
	coordinates int
	screws      []float64 // [W,C,6]
	moves       []uint8   // [C,M]
	coordinate  []int32   // [C]
}

// motionOf returns the motions of w worlds of m bodies, nil without any.
func motionOf(c *C.clearance_derivatives, m, w int) (*motion, error) {
	if c.screws == nil {
		return nil, nil
	}
	n, k := int(c.columns), int(c.coordinates)
	if n < 0 || k < 0 || c.by_row == 0 {
		return nil, argument("%d columns of %d coordinates, want at least 0 of each, and gradients by row", n, k)
	}
	x := &motion{k, array[float64](c.screws, product(w, n, 6)), array[uint8](c.moves, product(n, m)),
		array[int32](c.coordinate, n)}
	if len(x.screws) != product(w, n, 6) || len(x.moves) != product(n, m) || len(x.coordinate) != n {
		return nil, argument("an array of the motions is missing")
	}
	for _, i := range x.coordinate {
		if i < 0 || int(i) >= k {
			return nil, argument("a column of coordinate %d of %d", i, k)
		}
	}
	return x, nil
}

// add adds gradients of rows with respect to the twists of their two bodies, [N,12], to those with respect to the
// coordinates of their worlds, [N,K]. The torque about the origin of the world of a force f at the position p of a body
// is that about p and p×f.
func (x *motion) add(rows *batch.RolloutRows, twists, to []float64) {
	m, columns := rows.Worlds.BodiesPerWorld(), len(x.coordinate)
	for world := range rows.Worlds.Count() {
		screws := x.screws[6*columns*world:][:6*columns]
		for i, last := rows.Range(world); i < last; i++ {
			a, b, ok := rows.Places(world, i)
			if !ok {
				continue
			}
			for side, place := range []int{int(a), int(b)} {
				g := (*[6]float64)(twists[derive.TwistWidth*i+6*side:])
				if *g == ([6]float64{}) { // the pose may be invalid
					continue
				}
				place = int(rows.Worlds.Carrier(world, int32(place)))
				p := (*[3]float64)(rows.Worlds.Poses[7*(m*world+place):])
				t0 := g[3] + (p[1]*g[2] - p[2]*g[1])
				t1 := g[4] + (p[2]*g[0] - p[0]*g[2])
				t2 := g[5] + (p[0]*g[1] - p[1]*g[0])
				for c, k := range x.coordinate {
					if x.moves[m*c+place] != 0 {
						s := (*[6]float64)(screws[6*c:])
						to[x.coordinates*i+int(k)] += s[0]*g[0] + s[1]*g[1] + s[2]*g[2] + s[3]*t0 + s[4]*t1 + s[5]*t2
					}
				}
			}
		}
	}
}

// answers are the results of a step with what their rows are about.
func (r *rolloutRows) answers(in *batch.Worlds, base *batch.Results, more *C.clearance_more) (*rollout.Results,
	error) {
	n, of := base.N, &rollout.Results{Results: base}
	switch {
	case more == nil && !r.shapes:
		return nil, argument("the answers of a scene lack what their rows are about")
	case more == nil: // every body is one part
		of.PartA = make([]int32, n)
		of.PartB = of.PartA
	default:
		of.PartA, of.PartB = array[int32](more.part_a, n), array[int32](more.part_b, n)
	}
	want, reduced := in.Len(), r.options.Reduce == rollout.ReduceWorld
	if reduced {
		want = in.Count()
	}
	if in.AllPairs {
		of.BodyA, of.BodyB = array[int32](more.body_a, n), array[int32](more.body_b, n)
		if !reduced {
			of.Offsets, want = array[int64](more.offsets, in.Count()+1), n
		}
	}
	switch {
	case n != want:
		return nil, argument("answers of %d rows, want %d", n, want)
	case len(of.PartA) != n || len(of.PartB) != n:
		return nil, argument("the answers lack the parts of their rows")
	case in.AllPairs && (len(of.BodyA) != n || len(of.BodyB) != n):
		return nil, argument("the answers of all pairs lack the bodies of their rows")
	case of.Offsets != nil && (of.Offsets[0] != 0 || of.Offsets[len(of.Offsets)-1] != int64(n) ||
		!slices.IsSorted(of.Offsets)), in.AllPairs && !reduced && of.Offsets == nil:
		return nil, argument("the answers of all pairs lack the rows of the worlds, in their order")
	}
	if reduced {
		of.Contacts, of.Any = make([]int32, n), make([]uint8, n)
		of.Failed = of.Contacts
		if of.Pair = array[int32](more.pair, n); len(of.Pair) != n {
			return nil, argument("the answers of worlds lack the pairs of their rows")
		}
	}
	return of, nil
}

// ofRollout are the products that the call wants of a rollout, the smoothness first.
func (d *derivation) ofRollout(byRow bool) (list []batch.RolloutProduct) {
	if s := d.smoothness.Column(batch.ColSmoothness).U8; s != nil {
		list = append(list, batch.RolloutProduct{Smoothness: s})
	}
	for _, p := range d.wanted() {
		list = append(list, batch.RolloutProduct{Kind: p.Kind, Operands: p.Operands, Results: p.Results,
			ByRow: byRow && p.Kind != batch.JVP})
	}
	return list
}

// gradientsOf are the cotangents or values of n rows and the gradients of so many poses.
func gradientsOf(c *C.clearance_derivatives, n, poses int, o *batch.Options, at []float64) (*derivation, error) {
	d, err := unansweredOf(c, n, derive.BodyWidth*poses, o)
	switch {
	case err != nil:
		return nil, err
	case c.twists != nil || c.gradients == nil || c.by_row != 0:
		return nil, argument("without answers rollouts have gradients by body alone, of cotangents or of values")
	}
	if err := checkOverlap(d.products([]span{spanOf("poses", at, false)})); err != nil {
		return nil, err
	}
	clear(d.gradients) // also those of no rows
	return d, nil
}

func (r *rolloutHandle) multiplies(poses *C.clearance_reals, derivatives *C.clearance_derivatives,
	o batch.Derivative) (*job, error) {
	in := r.worlds
	if in.Poses = array[float64](poses, r.numbers); len(in.Poses) != r.numbers {
		return nil, argument("no poses")
	}
	options := r.options
	options.Derivative = o
	n := in.Len()
	d, err := gradientsOf(derivatives, n, r.numbers/7, &options, in.Poses)
	if err != nil {
		return nil, err
	}
	products := d.wanted()
	for i := range products {
		products[i].Sums = &batch.Sums{}
	}
	return start(r.engine, work(r.library, n), func(ctx context.Context, _ *job) (dispatch.Report, error) {
		begin := time.Now()
		err := multiply(ctx, r.engine, &batch.Job{Library: r.library, Input: &in, Options: options}, products)
		return productReport(n, begin, err), err
	})
}

func (s *sceneHandle) multiplies(poses *C.clearance_reals, derivatives *C.clearance_derivatives,
	o batch.Derivative) (*job, error) {
	in, err := s.at(poses)
	if err != nil {
		return nil, err
	}
	of, err := s.open()
	if err != nil {
		return nil, err
	}
	options := s.options.Options
	options.Derivative = o
	n := of.Len()
	switch {
	case s.worlds.AllPairs && s.options.Reduce != rollout.ReduceWorld:
		return nil, argument("gradients of all pairs, whose number is not known before; want rows that are worlds")
	case o.Mode == batch.ZerothDerivative:
		return nil, argument("rollouts of scenes have no estimates of order zero")
	}
	d, err := gradientsOf(derivatives, n, s.numbers/7, &options, in.Poses)
	if err != nil {
		return nil, err
	}
	return start(s.engine, s.stepRows, func(ctx context.Context, j *job) (dispatch.Report, error) {
		products := d.wanted()
		if len(products) == 0 { // there are no rows
			return dispatch.Report{WorstGapRow: -1}, nil
		}
		p := products[0]
		rep, err := of.Multiply(ctx, in, nil, o,
			&batch.RolloutProduct{Kind: p.Kind, Operands: p.Operands, Results: p.Results})
		return j.of(&rep), err
	})
}
