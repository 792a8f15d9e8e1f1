package derive

import (
	"context"
	"math"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	kernel "clearance/kernels/derive"
	"clearance/ref"
)

// Solver answers the pair of a row at other poses. ok is false for an answer that is not decided.
type Solver func(poseA, poseB geom.Pose) (value float64, normal, witnessA, witnessB r3.Vec, ok bool)

// ZerothOrder returns the estimate of [Zeroth] for row number index of a batch, by one
// solution after the other. B moves; the derivatives along
// motions of A follow, since the answer moves along with both. A sample that is not answered leaves the row
// NearSingular, with the exact derivative of the value alone.
func (w *Workspace) ZerothOrder(r *Row, o *Options, index uint64, solve Solver) Derivative {
	d := r.reported()
	if d.smoothness == None {
		return d
	}
	epsilon, samples := o.Noise()
	x0 := r.answer().components()
	g := newNoise(o.Seed, index)
	length := [6]float64{d.p.size, d.p.size, d.p.size, 1, 1, 1}
	var j [10]Twists
	for m := range samples {
		if w.stopped() {
			return d
		}
		z := g.six(uint32(m))
		there, ok := answerOf(solve, r.PoseA, displacedBy(r.PoseB, epsilon, d.p.size, &z))
		if !ok {
			return d
		}
		for k, x := range there.components() {
			for i := range z {
				j[k][6+i] += (x - x0[k]) * z[i] / (float64(samples) * epsilon * length[i])
			}
		}
	}
	complete(&j, r)
	d.full, d.smoothness = &j, Smoothed
	return d
}

// reported returns the derivative of the value by normal and witnesses as they are, NearSingular, or None.
func (r *Row) reported() (d Derivative) {
	if !r.usable() {
		return d
	}
	d.p = r.problem()
	d.s.asReported(&d.p, r3.Unit(r.Normal), r3.Sub(r.WitnessA, d.p.origin), r3.Sub(r.WitnessB, d.p.origin), r.Value)
	if !d.p.growth || d.s.h > 0 {
		d.smoothness = NearSingular
	}
	return d
}

// answer is the answer of the row.
func (r *Row) answer() *Cotangent { return &Cotangent{r.Value, r.Normal, r.WitnessA, r.WitnessB} }

// six returns the noise of a sample.
func (g *noise) six(sample uint32) [6]float64 {
	a, b := g.normals(sample, 0), g.normals(sample, 1)
	return [6]float64{a[0], a[1], a[2], a[3], b[0], b[1]}
}

// displacedBy moves a pose by the noise of a sample: lengths are relative to the size.
func displacedBy(p geom.Pose, epsilon, size float64, z *[6]float64) geom.Pose {
	by := r3.Vec{X: z[0], Y: z[1], Z: z[2]}
	return displaced(p, r3.Scale(epsilon*size, by), r3.Scale(epsilon, r3.Vec{X: z[3], Y: z[4], Z: z[5]}))
}

// Reference answers a row at other poses by the reference, for estimates of order zero.
func Reference(r *Row) Solver {
	var ws ref.Workspace
	a, b := r.A, r.B
	growth := r.Growth
	c := ref.GrowthCenters{A: r.CenterA, B: r.CenterB}
	if growth {
		c.InradiusA, c.InradiusB = geom.InradiusAt(a, c.A), geom.InradiusAt(b, c.B)
	}
	return func(poseA, poseB geom.Pose) (value float64, normal, witnessA, witnessB r3.Vec, ok bool) {
		p := ref.NewPair(a, b, poseA, poseB)
		var s ref.Result
		if growth {
			s = ref.Growth(&p, c, ref.GrowthOptions{}, &ws)
		} else {
			s = ref.Solve(&p, ref.Options{}, &ws)
		}
		ok = s.Status <= ref.Penetrating && !math.IsNaN(s.Distance)
		return s.Distance, p.DirToWorld(s.Normal), p.ToWorld(s.WitnessA), p.ToWorld(s.WitnessB), ok
	}
}

func answerOf(solve Solver, poseA, poseB geom.Pose) (c Cotangent, ok bool) {
	c.Value, c.Normal, c.WitnessA, c.WitnessB, ok = solve(poseA, poseB)
	return c, ok
}

// displaced moves a pose by a vector and a rotation vector in world axes.
func displaced(p geom.Pose, by, rotation r3.Vec) geom.Pose {
	p.Position = r3.Add(p.Position, by)
	half := quat.Number{Imag: rotation.X / 2, Jmag: rotation.Y / 2, Kmag: rotation.Z / 2}
	p.Rotation = quat.Mul(quat.Exp(half), p.Rotation)
	return p
}

// complete fills in the columns of A: a motion of A is one of both bodies less one of B.
func complete(j *[10]Twists, r *Row) {
	between := r3.Sub(r.PoseB.Position, r.PoseA.Position)
	for i := range 6 {
		var t Twists
		t[i] = 1
		v, omega := vec(&t, 0), vec(&t, 3)
		t.spin(6, r3.Add(v, r3.Cross(omega, between)))
		t.spin(9, omega)
		common := Cotangent{
			Normal:   r3.Cross(omega, r.Normal),
			WitnessA: r3.Add(v, r3.Cross(omega, r3.Sub(r.WitnessA, r.PoseA.Position))),
			WitnessB: r3.Add(v, r3.Cross(omega, r3.Sub(r.WitnessB, r.PoseA.Position))),
		}
		for k, x := range common.components() {
			for c := 6; c < 12; c++ {
				x -= j[k][c] * t[c]
			}
			j[k][i] = x
		}
	}
}

// The largest numbers of rows and of pairs of a block, whose memory is some 30 MB.
const (
	estimateRows  = 1 << 12
	estimatePairs = 1 << 16
)

// estimates takes estimates of order zero of many rows together, as [Workspace.ZerothOrder] takes one: their displaced
// pairs are jobs, which [Pass.Answers] answers.
type estimates struct {
	p     *Pass
	r     *rows
	store func(i int, d *Derivative)

	block []estimate
	used  []*estimate // of the block, those that have an answer
	s     kernel.Samples
	pairs *batch.Pairs // of a block, and the answers
	out   *batch.Results
	job   batch.Job
}

// estimate is a row of a block.
type estimate struct {
	row    int
	pair   batch.Row
	r      Row
	d      Derivative // NearSingular until all samples are answered
	done   bool       // the derivatives of the row are there
	failed bool       // a sample is not answered
}

// zeroth takes estimates of order zero of all rows.
func (p *Pass) zeroth(ctx context.Context, r *rows, store func(i int, d *Derivative)) error {
	epsilon, samples := p.Noise()
	n := r.answers.N
	part := min(samples, estimatePairs)
	block := min(n, estimateRows, estimatePairs/part)
	o := batch.Options{Precision: batch.Double, Columns: Needs}
	if r.job.Options.Query == batch.Growth {
		o.Query = batch.Growth
	}
	e := &estimates{p: p, r: r, store: store, block: make([]estimate, block)}
	e.pairs, e.out = batch.NewPairs(block*part), batch.NewResults(block*part, &o)
	e.job = batch.Job{Library: r.job.Library, Options: o}
	e.s = kernel.Samples{Seed: p.Seed, Epsilon: epsilon, Noise: make([]float64, 6*block*(part+7)),
		Sums: make([]float64, 60*block)}
	for lo := 0; lo < n; lo += block {
		if err := e.take(ctx, lo, min(lo+block, n), samples, part); err != nil {
			return err
		}
	}
	return nil
}

// take takes rows [lo, hi), a part of the samples at a time.
func (e *estimates) take(ctx context.Context, lo, hi, samples, part int) error {
	block := e.block[:hi-lo]
	if err := e.each(ctx, len(block), func(w *worker, k int) { e.read(w, &block[k], lo+k) }); err != nil {
		return err
	}
	e.begin(block)
	for first := 0; first < samples && len(e.used) > 0; first += part {
		if err := e.sample(ctx, first, min(part, samples-first)); err != nil {
			return err
		}
	}
	scale := e.s.Epsilon * float64(samples)
	if err := e.each(ctx, len(e.used), func(w *worker, u int) { e.end(w, u, scale) }); err != nil {
		return err
	}
	return e.each(ctx, len(block), func(_ *worker, k int) {
		if x := &block[k]; !x.done && x.d.smoothness != Smoothed {
			e.store(x.row, &x.d)
		}
	})
}

// eachRows is the number of rows of a block that a goroutine takes at a time.
const eachRows = 16

// each calls f for 0 to n-1, by several goroutines.
func (e *estimates) each(ctx context.Context, n int, f func(w *worker, k int)) error {
	return e.p.inBlocks(ctx, n, eachRows, func(w *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			f(w, k)
		}
	})
}

func (e *estimates) read(w *worker, x *estimate, i int) {
	*x = estimate{row: i, done: e.r.done(i)}
	if x.done {
		return
	}
	w.read(e.r, i)
	x.pair, x.r = w.row, w.r
	x.d = w.r.reported()
}

// begin sets the rows of the samples.
func (e *estimates) begin(block []estimate) {
	e.used = e.used[:0]
	s := &e.s
	s.Number, s.Size, s.Position, s.Rotation, s.At = s.Number[:0], s.Size[:0], s.Position[:0], s.Rotation[:0], s.At[:0]
	for k := range block {
		x := &block[k]
		if x.done || x.d.smoothness == None {
			continue
		}
		e.used = append(e.used, x)
		p, q := x.r.PoseB.Position, x.r.PoseB.Rotation
		s.Number = append(s.Number, e.p.FirstRow+uint64(x.row))
		s.Size = append(s.Size, x.d.p.size)
		s.Position = append(s.Position, p.X, p.Y, p.Z)
		s.Rotation = append(s.Rotation, q.Real, q.Imag, q.Jmag, q.Kmag)
		at := x.r.answer().components()
		s.At = append(s.At, at[:]...)
	}
	clear(s.Sums)
}

// sample adds a part of the samples to the sums.
func (e *estimates) sample(ctx context.Context, first, count int) error {
	n := len(e.used) * count
	e.s.First, e.s.Count = first, count
	e.s.Pairs, e.s.Answers = e.pairs.Slice(0, n), e.out.Slice(0, n)
	variant, err := kernel.Choose(e.p.SIMD)
	if err != nil {
		return err
	}
	err = e.p.inBlocks(ctx, len(e.used), eachRows, func(_ *worker, lo, hi int) {
		for k := lo * count; k < hi*count; k++ {
			e.s.Pairs.SetRow(k, &e.used[k/count].pair)
		}
		if !e.s.Displace(variant, lo, hi) {
			e.displace(lo, hi)
		}
	})
	if err != nil {
		return err
	}
	e.job.Input, e.job.Results = e.s.Pairs, e.s.Answers
	if err := e.p.Answers(ctx, &e.job); err != nil {
		return err
	}
	answered := rows{answers: e.s.Answers}
	return e.p.inBlocks(ctx, len(e.used), eachRows, func(_ *worker, lo, hi int) {
		for k := lo * count; k < hi*count; k++ {
			if !answered.decided(k) {
				e.used[k/count].failed = true
			}
		}
		if !e.s.Add(variant, lo, hi) {
			e.add(lo, hi)
		}
	})
}

// displace is [kernel.Samples.Displace].
func (e *estimates) displace(lo, hi int) {
	s := &e.s
	stride := s.Stride()
	for k := lo * s.Count; k < hi*s.Count; k++ {
		u, m := k/s.Count, k%s.Count
		g := newNoise(s.Seed, s.Number[u])
		z := g.six(uint32(s.First + m))
		for c, v := range z {
			s.Noise[(6*u+c)*stride+m] = v
		}
		at := displacedBy(e.used[u].r.PoseB, s.Epsilon, s.Size[u], &z)
		p, q := at.Position, at.Rotation
		copy(s.Pairs.PositionB[3*k:], []float64{p.X, p.Y, p.Z})
		copy(s.Pairs.RotationB[4*k:], []float64{q.Real, q.Imag, q.Jmag, q.Kmag})
	}
}

// add is [kernel.Samples.Add].
func (e *estimates) add(lo, hi int) {
	s := &e.s
	a, stride := s.Answers, s.Stride()
	for k := lo * s.Count; k < hi*s.Count; k++ {
		u, m := k/s.Count, k%s.Count
		there := Cotangent{a.Distance().At(k), a.Normal().Vec(k), a.WitnessA().Vec(k), a.WitnessB().Vec(k)}
		for i, x := range there.components() {
			for c := range 6 {
				s.Sums[60*u+6*i+c] += (x - s.At[10*u+i]) * s.Noise[(6*u+c)*stride+m]
			}
		}
	}
}

// end makes the estimate of a row of its sums, which is stored.
func (e *estimates) end(w *worker, u int, scale float64) {
	x := e.used[u]
	if x.failed {
		return
	}
	w.full = [10]Twists{}
	for i := range w.full {
		for c := range 6 {
			length := 1.0
			if c < 3 {
				length = x.d.p.size
			}
			w.full[i][6+c] = e.s.Sums[60*u+6*i+c] / (scale * length)
		}
	}
	complete(&w.full, &x.r)
	x.d.full, x.d.smoothness = &w.full, Smoothed
	e.store(x.row, &x.d)
	x.d.full = nil
}
