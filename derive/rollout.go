package derive

import (
	"context"
	"errors"
	"fmt"

	"clearance/batch"
	"clearance/derive/lanes"

	"gonum.org/v1/gonum/spatial/r3"
)

// BodyWidth is the number of a gradient with respect to the twist of a body: of the velocity of the position of its
// pose, then of its angular velocity, in world axes.
const BodyWidth = batch.BodyWidth

// Rollout is a rollout with its results, whose columns must be [Needs]. Rows are pairs of bodies of each world, or
// worlds, the row of the least of its pairs.
type Rollout struct {
	Bodies  *batch.Bodies
	Worlds  *batch.Worlds
	Options batch.RolloutOptions
	Results *batch.RolloutResults
}

// RolloutVJP multiplies cotangents of the rows with their Jacobians from the left, and adds up the gradients of each
// body: gradients are [W,M,6]. Cotangents are those of the values alone, [N], or those of value, normal and witnesses,
// [N,10]. The gradients of a world are added in the order of its rows, A before B, so that they do not depend on the
// number of goroutines.
//
// A row is that of the parts that attain the least. Rows that bounds have ruled out, those beyond a largest distance
// and rows without an answer have no gradient. Cotangents of values alone take normal and witnesses as they are; the
// others polish the answers, see [Workspace.Exact]. Order zero is refused.
func (p *Pass) RolloutVJP(ctx context.Context, r *Rollout, cotangents, gradients []float64) error {
	rows, err := p.checkRollout(r)
	if err != nil {
		return err
	}
	w, m := r.Worlds.Count(), r.Worlds.BodiesPerWorld()
	width := 1
	if len(cotangents) == AnswerWidth*rows.answers.N {
		width = AnswerWidth
	}
	if len(cotangents) != width*rows.answers.N || len(gradients) != BodyWidth*w*m {
		return fmt.Errorf("derive: arrays of %d and %d numbers for %d rows, %d worlds and %d bodies, want [N] or "+
			"[N,%d], and [W,M,%d]", len(cotangents), len(gradients), rows.answers.N, w, m, AnswerWidth, BodyWidth)
	}
	clear(gradients)
	call := lanes.Call{Cotangents: cotangents}
	if table := p.table(rows, &call); table != nil && width == AnswerWidth {
		defer call.StopWith(ctx)()
		return p.inBlocks(ctx, w, worldBlock, func(k *worker, lo, hi int) {
			if k.parts == nil {
				k.parts = newPartRows(p, k, r, rows, call, table)
			}
			k.parts.run(ctx, lo, hi, gradients)
		})
	}
	return p.inBlocks(ctx, w, worldBlock, func(k *worker, lo, hi int) {
		for world := lo; world < hi && ctx.Err() == nil; world++ {
			to := gradients[BodyWidth*m*world : BodyWidth*m*(world+1)]
			first, last := r.rowsOf(world)
			for i := first; i < last; i++ {
				if g, ok := p.gradientOf(k, r, rows, world, i, cotangents[width*i:width*(i+1)]); ok {
					k.addTo(to, &g)
				}
			}
		}
	})
}

// gradientOf is the gradient of row i with respect to the poses of its parts; ok is false if it has none.
func (p *Pass) gradientOf(k *worker, r *Rollout, rows *rows, world, i int, cotangent []float64) (g Twists, ok bool) {
	var c Cotangent
	if len(cotangent) == 1 {
		c.Value = cotangent[0]
	} else {
		c = cotangentOf((*[AnswerWidth]float64)(cotangent))
	}
	if c == (Cotangent{}) || !r.read(k, rows, world, i) {
		return g, false
	}
	if len(cotangent) == 1 {
		g = k.reportedValue()
		for j := range g {
			g[j] *= c.Value
		}
		return g, true
	}
	d := k.w.Of(&k.r, &p.Options, p.FirstRow+uint64(i))
	return d.VJP(&c), true
}

// partRows are the rows of a rollout as pairs of parts, which the kernel of a goroutine takes by blocks.
type partRows struct {
	p          *Pass
	k          *worker
	r          *Rollout
	rows       *rows
	cotangents []float64
	gradients  []float64 // of a block

	first  int // row of the block
	world  int // of the row that was read last
	worlds [lanes.Block]int
	places [lanes.Block][2]int32
	arms   [lanes.Block][2]r3.Vec
	has    [lanes.Block]bool // rows with a gradient
}

// newPartRows sets the kernel of k, which takes the rows.
func newPartRows(p *Pass, k *worker, r *Rollout, rows *rows, call lanes.Call, table *lanes.Table) *partRows {
	x := &partRows{p: p, k: k, r: r, rows: rows, cotangents: call.Cotangents,
		gradients: make([]float64, TwistWidth*lanes.Block)}
	job := *rows.job
	job.Input = x
	call.Job, call.Gradients, call.OfBlock = &job, x.gradients, true
	k.kernel = lanes.NewSolver(table, &call)
	return x
}

// Len returns the number of rows.
func (x *partRows) Len() int { return x.rows.answers.N }

// Row reads the parts of a row, in rising order of the rows of a run. A row that has none gets an index that the
// kernel declines.
func (x *partRows) Row(i int, row *batch.Row) {
	for _, end := x.r.rowsOf(x.world); i >= end; _, end = x.r.rowsOf(x.world) {
		x.world++
	}
	k, j := x.k, i-x.first
	x.worlds[j] = x.world
	x.has[j] = x.r.parts(k, x.rows, x.world, i)
	if !x.has[j] {
		*row = batch.Row{ShapeA: -1, ShapeB: -1}
		return
	}
	*row, x.places[j], x.arms[j] = k.row, k.places, k.arms
}

// run adds up the gradients of worlds [lo, hi), row by row.
func (x *partRows) run(ctx context.Context, lo, hi int, gradients []float64) {
	k, width := x.k, BodyWidth*x.r.Worlds.BodiesPerWorld()
	begin, _ := x.r.rowsOf(lo)
	_, end := x.r.rowsOf(hi - 1)
	x.world = lo
	for x.first = begin; x.first < end && ctx.Err() == nil; x.first += lanes.Block {
		last := min(x.first+lanes.Block, end)
		for _, left := range k.kernel.Run(x.first, last) {
			i, j := int(left), int(left)-x.first
			var g Twists
			g, x.has[j] = x.p.gradientOf(k, x.r, x.rows, x.worlds[j], i, x.cotangents[AnswerWidth*i:AnswerWidth*(i+1)])
			copy(x.gradients[TwistWidth*j:], g[:])
		}
		for j := range last - x.first {
			if x.has[j] {
				k.places, k.arms = x.places[j], x.arms[j]
				k.addTo(gradients[width*x.worlds[j]:][:width], (*Twists)(x.gradients[TwistWidth*j:]))
			}
		}
	}
}

// worldBlock is the number of worlds that a goroutine takes at a time.
const worldBlock = 16

func (p *Pass) checkRollout(r *Rollout) (*rows, error) {
	switch {
	case r.Bodies == nil || r.Worlds == nil || r.Results == nil || r.Results.Results == nil:
		return nil, errors.New("derive: the rollout lacks its bodies, worlds or results")
	case p.Mode == Zeroth:
		return nil, errors.New("derive: rollouts have no estimates of order zero")
	}
	if err := r.Worlds.CheckBodies(r.Bodies); err != nil {
		return nil, err
	}
	n := r.Worlds.Len()
	switch {
	case r.Options.Reduce == batch.ReduceWorld:
		n = r.Worlds.Count()
	case r.Worlds.AllPairs:
		n = r.Results.N
		if len(r.Results.Offsets) != r.Worlds.Count()+1 || len(r.Results.BodyA) != n || len(r.Results.BodyB) != n {
			return nil, errors.New("derive: the results of all pairs lack their bodies")
		}
	}
	if err := r.Results.Check(n, &r.Options); err != nil {
		return nil, err
	}
	job := &batch.Job{Library: r.Bodies.Library(), Options: r.Options.Options}
	if r.Options.HasMaxDistance && !r.Options.HasCutOff && r.Options.Query.Info().CutOff == batch.CallersCutOff {
		job.Options.CutOff, job.Options.HasCutOff = r.Options.MaxDistance, true
	}
	rows := newRows(job, 0, r.Results.Results)
	return rows, p.check(rows)
}

// rowsOf returns the rows of a world.
func (r *Rollout) rowsOf(world int) (lo, hi int) {
	switch {
	case r.Options.Reduce == batch.ReduceWorld:
		return world, world + 1
	case r.Worlds.AllPairs:
		return int(r.Results.Offsets[world]), int(r.Results.Offsets[world+1])
	}
	pairs := len(r.Worlds.TemplateA)
	return world * pairs, (world + 1) * pairs
}

// places returns the places of both bodies of row i in its world; ok is false where a world does not tell its least
// pair.
func (r *Rollout) places(world, i int) (a, b int32, ok bool) {
	res, w := r.Results, r.Worlds
	switch {
	case res.BodyA != nil:
		return res.BodyA[i], res.BodyB[i], res.BodyA[i] >= 0 && res.BodyB[i] >= 0
	case res.Pair != nil:
		pair := res.Pair[i]
		if pair < 0 || int(pair) >= len(w.TemplateA) {
			return 0, 0, false
		}
		return w.TemplateA[pair], w.TemplateB[pair], true
	}
	pair := i - world*len(w.TemplateA)
	return w.TemplateA[pair], w.TemplateB[pair], true
}

// read takes row i with its parts and its answer; false if it has none.
func (r *Rollout) read(k *worker, rows *rows, world, i int) bool {
	if !r.parts(k, rows, world, i) {
		return false
	}
	k.take(rows, i)
	return k.r.usable()
}

// parts takes the parts of row i; false if it has no answer.
func (r *Rollout) parts(k *worker, rows *rows, world, i int) bool {
	out := rows.answers
	if batch.Status(out.Status()[i]) > batch.Penetrating {
		return false
	}
	a, b, ok := r.places(world, i)
	if m := int32(r.Worlds.BodiesPerWorld()); !ok || a >= m || b >= m {
		return false
	}
	partA, partB := r.Results.PartA[i], r.Results.PartB[i]
	bodyA, bodyB := r.Worlds.Body(world, a), r.Worlds.Body(world, b)
	if partA < 0 || partB < 0 || bodyA < 0 || bodyB < 0 || int(partA) >= len(r.Bodies.Parts(bodyA)) ||
		int(partB) >= len(r.Bodies.Parts(bodyB)) {
		return false
	}
	poseA, poseB := r.Worlds.Pose(world, a), r.Worlds.Pose(world, b)
	k.row = batch.Row{ShapeA: r.Bodies.Parts(bodyA)[partA].Shape, ShapeB: r.Bodies.Parts(bodyB)[partB].Shape,
		PoseA: r.Bodies.PartPose(bodyA, int(partA), poseA), PoseB: r.Bodies.PartPose(bodyB, int(partB), poseB)}
	if rows.job.Library.CheckRow(i, &k.row) != nil {
		return false
	}
	k.places = [2]int32{a, b}
	k.arms = [2]r3.Vec{r3.Sub(k.row.PoseA.Position, poseA.Position), r3.Sub(k.row.PoseB.Position, poseB.Position)}
	return true
}

// addTo adds the gradient of a row, which is about the positions of the parts, to those of the bodies of its world. A
// part at the arm r from the position of its body moves with v + ω×r.
func (k *worker) addTo(gradients []float64, g *Twists) {
	for side, place := range k.places {
		force := vec(g, 6*side)
		torque := r3.Add(vec(g, 6*side+3), r3.Cross(k.arms[side], force))
		to := gradients[BodyWidth*int(place):][:BodyWidth]
		for j, v := range [BodyWidth]float64{force.X, force.Y, force.Z, torque.X, torque.Y, torque.Z} {
			to[j] += v
		}
	}
}
