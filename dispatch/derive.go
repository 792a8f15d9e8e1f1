package dispatch

import (
	"context"
	"fmt"
	"runtime"

	"clearance/batch"
)

// A Differentiator computes the columns of derivatives ([batch.DerivedColumns]) from answers that are final. The
// dispatcher calls it for each chunk, after declined rows are answered and before the chunk is settled, for the rows
// whose derivatives no back end has computed ([Deriving]).
type Differentiator interface {
	// Needs returns the columns of answers from which derivatives follow.
	Needs() batch.Columns

	// Differentiate fills the columns of derivatives of out, whose row 0 has the answer of row lo of the job. It
	// ignores job.Results, and rows that out.Marks do not say are answered get those of a failure. number is that of
	// row lo in the call. The derivatives of a row depend on that row alone. answers answers other pairs, without
	// derivatives, on the back ends of the call.
	Differentiate(ctx context.Context, job *batch.Job, lo, number int, out *batch.Results, answers batch.Answers) error

	// Complete is Differentiate for the rows of out whose smoothness is batch.NotDerived.
	Complete(ctx context.Context, job *batch.Job, lo, number int, out *batch.Results, answers batch.Answers) error

	// Multiply takes products of the Jacobians of the answers of a job, but sums by body. number is that of its first
	// row in the call.
	Multiply(ctx context.Context, job *batch.Job, number int, p *batch.Product, answers batch.Answers) error
}

// SetDifferentiator sets what computes derivatives, before the first call. Without it queries for them are refused.
func (d *Dispatcher) SetDifferentiator(p Differentiator) { d.derive = p }

// Differentiator returns what computes derivatives, nil for none.
func (d *Dispatcher) Differentiator() Differentiator { return d.derive }

var errNoDifferentiator = fmt.Errorf("dispatch: derivatives: %w: the dispatcher has no differentiator",
	batch.ErrNotAvailable)

// differentiatorOf returns what computes the derivatives that the options ask for, nil if they ask for none.
func (d *Dispatcher) differentiatorOf(o *batch.Options) (Differentiator, error) {
	switch {
	case o.EffectiveColumns()&batch.DerivedColumns == 0:
		return nil, nil
	case d.derive == nil:
		return nil, errNoDifferentiator
	}
	return d.derive, nil
}

// primaryOf returns the options that back ends see.
func primaryOf(p Differentiator, o *batch.Options) batch.Options {
	if p == nil {
		return *o
	}
	return o.Primary(p.Needs())
}

// differentiate fills the derivatives of a chunk. A panic is an error.
func differentiate(ctx context.Context, p *pool, c *chunk) (err error) {
	defer recovered("differentiator", &err)
	take := p.derive.Differentiate
	if c.deriving {
		take = p.derive.Complete
	}
	err = take(ctx, c.job, c.lo, c.base+c.lo, c.whole, p.answers)
	if err != nil && !ended(ctx, err) {
		err = fmt.Errorf("dispatch: derivatives of rows [%d, %d): %w", c.base+c.lo, c.base+c.hi, err)
	}
	return err
}

// answersBy returns a function that answers other jobs on the back ends of a choice that support them, else on the best
// ones.
func (d *Dispatcher) answersBy(c *Choice) batch.Answers {
	return func(ctx context.Context, job *batch.Job) error {
		if err := job.Check(); err != nil {
			return err
		}
		choice, err := d.best(&job.Options, manyRows)
		if err != nil {
			return err
		}
		choice.declined = choice.all
		if share, _ := sift(c.Share, &job.Options); len(share) > 0 {
			spare, _ := sift(c.Spare, &job.Options)
			choice.set(share, spare)
		}
		d.resolve(choice, nil, &job.Options, &job.Options)
		p, o := newPool(choice), Options{}
		o.ensureDefaults()
		o.setChunkRows(p.chunkRows(job.Input.Len()))
		rep := newReport(&o)
		return p.run(ctx, job, o, &rep)
	}
}

// Answers returns a function that answers jobs as [Dispatcher.Run], on back ends that are selected by name. [Auto]
// selects those for many rows, the same for all jobs.
func (d *Dispatcher) Answers(backend string) batch.Answers {
	return func(ctx context.Context, job *batch.Job) error {
		_, err := d.Run(ctx, job, Options{Backend: backend, EstimateRows: manyRows})
		return err
	}
}

// clearDerivatives gives the derivatives of all rows the value of a failure.
func clearDerivatives(whole *batch.Results) {
	only := *whole
	only.Drop(^batch.DerivedColumns)
	only.Fail(0, only.N)
}

// Multiplier is implemented by back ends that take products of the derivatives of answers which they keep.
type Multiplier interface {
	// Multiplies reports whether the back end takes products of the derivatives that the options configure.
	Multiplies(o *batch.Options) bool

	// Multiply takes the products of all rows of the job, and returns those that it declines, in rising order, whose
	// results are zero; of sums by body, the worlds with such rows. Which are declined depends on these rows alone.
	Multiply(ctx context.Context, job *batch.Job, p *batch.Product) (declined []int, err error)
}

// multipliedRows is the number of rows whose answers are held at a time: memory that caches hold, and work for all
// processors.
func multipliedRows() int { return min(4096*max(runtime.GOMAXPROCS(0), 2), 1<<16) }

// Multiply answers the rows of a job, whose results and columns it ignores, and multiplies their Jacobians with
// vectors, see [batch.Product]. A [Multiplier] hands back products alone; rows that it declines, and those of other
// back ends, are answered block by block and multiplied by the differentiator. It returns the number of rows that were
// not.
//
// Rows without an answer have zeros. With sums by body, worlds that have declined rows are answered as a whole.
func (d *Dispatcher) Multiply(ctx context.Context, job *batch.Job, p *batch.Product, o Options) (kept int, err error) {
	if err := job.CheckInputForm(); err != nil {
		return 0, err
	}
	if err := p.Check(job.Input); err != nil {
		return 0, err
	}
	if p.Sums != nil && !p.Sums.EveryRow() {
		return 0, fmt.Errorf("dispatch: sums of products of sets: %w", batch.ErrNotAvailable)
	}
	m := multiplication{d: d, job: *job, p: p, run: Options{Backend: o.Backend}, rows: 1}
	m.job.Results, m.job.Reduction, m.job.Options.Columns = nil, nil, batch.ColDNormal
	n := job.Input.Len()
	choice, err := d.Choose(o.Backend, &m.job.Options, n)
	if err != nil || n == 0 {
		return 0, err
	}
	m.derive, m.answers, m.job.Options = choice.derive, choice.answers, choice.primary
	if p.Sums != nil {
		m.worlds = job.Input.(*batch.Worlds)
		m.rows = len(m.worlds.TemplateA)
	}
	declined, tried, err := m.ask(ctx, choice.Share[0])
	if err != nil {
		return 0, err
	}
	if !tried {
		declined = make([]int, n/m.rows)
		for i := range declined {
			declined[i] = i
		}
	}
	for at, block := 0, max(multipliedRows()/m.rows, 1); at < len(declined); at += block {
		if err := m.complete(ctx, declined[at:min(at+block, len(declined))]); err != nil {
			return 0, err
		}
	}
	return n - len(declined)*m.rows, nil
}

// multiplication is one call of Multiply.
type multiplication struct {
	d       *Dispatcher
	job     batch.Job
	p       *batch.Product
	run     Options // of answers
	derive  Differentiator
	answers batch.Answers
	worlds  *batch.Worlds // of sums by body
	rows    int           // of what is declined as a whole: a row, or a world

	results  *batch.Results // of a block
	products []float64      // of its rows, where they are summed or copied
}

// ask has a back end take the products. tried is false if it is none that does, or fails.
func (m *multiplication) ask(ctx context.Context, b Backend) (declined []int, tried bool, err error) {
	defer recovered("back end "+b.Name(), &err)
	x, ok := As[Multiplier](b)
	if !ok || !x.Multiplies(&m.job.Options) {
		return nil, false, nil
	}
	declined, err = x.Multiply(ctx, &m.job, m.p)
	if err != nil && !ended(ctx, err) {
		return nil, false, nil // others answer the rows
	}
	return declined, true, err
}

// complete answers rows, or the rows of worlds, and takes their products.
func (m *multiplication) complete(ctx context.Context, declined []int) error {
	in, out := m.p.Kind.Widths()
	first, n := declined[0]*m.rows, len(declined)*m.rows
	part := batch.Product{Kind: m.p.Kind}
	sub := &batch.Job{Library: m.job.Library, Options: m.job.Options}
	sub.Options.WarmStart = nil // a start changes no answer beyond its gap
	consecutive := declined[len(declined)-1] == declined[0]+len(declined)-1
	var err error
	if consecutive {
		if sub.Input, err = m.rowsOf(first, first+n); err != nil {
			return err
		}
		part.Operands = m.p.Operands[in*first : in*(first+n)]
	} else {
		sub.Input, part.Operands = m.collect(declined)
	}
	if consecutive && m.worlds == nil {
		part.Results = m.p.Results[out*first : out*(first+n)]
	} else {
		part.Results = resized(&m.products, out*n)
	}
	if m.results == nil || m.results.N < n {
		m.results = batch.NewResults(n, &sub.Options)
	}
	sub.Results = m.results.Slice(0, n)
	if _, err := m.d.Run(ctx, sub, m.run); err != nil {
		return err
	}
	if err := m.derive.Multiply(ctx, sub, first, &part, m.answers); err != nil {
		return fmt.Errorf("dispatch: products of %d rows: %w", n, err)
	}
	for k, unit := range declined {
		from := part.Results[out*m.rows*k : out*m.rows*(k+1)]
		switch {
		case m.worlds != nil:
			width := batch.BodyWidth * m.worlds.BodiesPerWorld()
			m.sum(m.p.Results[width*unit:width*(unit+1)], from)
		case !consecutive:
			copy(m.p.Results[out*unit:], from)
		}
	}
	return nil
}

// rowsOf returns consecutive rows of the input, whose memory they share if it can.
func (m *multiplication) rowsOf(lo, hi int) (batch.Input, error) {
	type source interface {
		Rows(lo, hi int, used batch.Input) (batch.Input, error)
	}
	if s, ok := m.job.Input.(source); ok {
		return s.Rows(lo, hi, nil)
	}
	list := make([]int, (hi-lo)/m.rows)
	for i := range list {
		list[i] = lo/m.rows + i
	}
	pairs, _ := m.collect(list)
	return pairs, nil
}

// collect returns rows, or the rows of worlds, as a list, and their operands.
func (m *multiplication) collect(declined []int) (batch.Input, []float64) {
	in, _ := m.p.Kind.Widths()
	pairs := batch.NewPairs(len(declined) * m.rows)
	operands := make([]float64, 0, in*pairs.Len())
	var row batch.Row
	for k, unit := range declined {
		first := unit * m.rows
		for i := range m.rows {
			m.job.Input.Row(first+i, &row)
			pairs.SetRow(k*m.rows+i, &row)
		}
		operands = append(operands, m.p.Operands[in*first:in*(first+m.rows)]...)
	}
	return pairs, operands
}

// resized returns n numbers of the memory, which grows.
func resized(memory *[]float64, n int) []float64 {
	if len(*memory) < n {
		*memory = make([]float64, n)
	}
	return (*memory)[:n]
}

// sum adds up the gradients of the rows of a world by body, in the order of the rows, A before B.
func (m *multiplication) sum(to, rows []float64) {
	clear(to)
	for i := range m.rows {
		about := batch.RowParts{Places: [2]int32{m.worlds.TemplateA[i], m.worlds.TemplateB[i]}}
		about.AddTo(to, [batch.TwistWidth]float64(rows[batch.TwistWidth*i:][:batch.TwistWidth]))
	}
}
