package peers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dataset"
	"clearance/derive"
	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// differences is the question that finite differences ask of a peer.
var differences = Question{Name: "differences", Rows: SeparatedRows, driver: "differences", wants: wantSeparated}

// ClearOfContact is the least distance in metres of the pairs whose derivatives are compared: no step of a difference
// makes them touch.
const ClearOfContact = 0.03

// DifferenceCalls is the number of calls of forward differences, one for each number of both poses, beside the call
// at the pose itself.
const DifferenceCalls = derive.TwistWidth

// differenceSteps are tried, in metres and radians; timedStep is that of the rounds.
var differenceSteps = [...]float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7}

const timedStep = 1e-4

// manner is how a peer is asked: each call from scratch or from the last answer, and to which tolerance.
type manner struct{ warm, tight bool }

// manners are those that are measured apart, where the peer has a configuration.
var manners = [...]manner{{false, false}, {true, false}, {false, true}, {true, true}}

// mannerOf reads the name of a configuration.
func mannerOf(configuration string) manner {
	return manner{
		warm:  strings.Contains(configuration, ", last answer"),
		tight: strings.HasSuffix(configuration, ", 1e-12"),
	}
}

// among returns the configurations that are asked so.
func (m manner) among(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return mannerOf(name) != m })
}

// of is how tables name a peer that is asked so.
func (m manner) of(peer Contestant) string {
	name := peer.Info().Name + ", 1e-6"
	if m.tight {
		name = peer.Info().Name + ", 1e-12"
	}
	if m.warm {
		return name + ", from the last answer"
	}
	return name
}

// Our work: without derivatives, and with all of them.
const (
	queryAlone     = "query alone"
	allDerivatives = "query, all derivatives"
)

// ourWork is how tables name our work.
func ourWork(p batch.Precision, work string) string { return "Clearance, " + p.String() + ": " + work }

// derivativeRun is what the rounds time: some work of ours, or the calls of the peer.
type derivativeRun struct {
	entry DerivativeTime
	run   func() (seconds float64, err error)
}

// MeasureDerivatives compares the derivatives of separated pairs with finite differences over the calls of a peer. Of
// the options it needs the sets, which are split into rows as by [Measure], the rows, the rounds and the seed. Call
// it, and start the peer, within [WithPinned].
func MeasureDerivatives(ctx context.Context, peer Contestant, version string, o Options) (*DerivativeReport, error) {
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	backend, err := cpu.New(cpu.Options{Workers: 1})
	if err != nil {
		return nil, err
	}
	defer backend.Close()
	r := &DerivativeReport{
		Setting: settingOf(&o),
		Contestants: []Info{
			{Name: "Clearance", Version: version, Flags: backend.SIMD() + " kernels, " + runtime.Version()},
			peer.Info(),
		},
	}
	for k, name := range o.Sets {
		set, err := NewSet(ctx, name, o.Seed, o.Rows, dir)
		if err != nil {
			return nil, fmt.Errorf("set %s: %w", name, err)
		}
		m := derivatives{ctx: ctx, o: &o, peer: peer, backend: backend, set: set, dir: dir}
		table, err := m.measure()
		if err != nil {
			return nil, fmt.Errorf("set %s: %w", name, err)
		}
		r.Tables = append(r.Tables, *table)
		if o.Progress != nil {
			o.Progress(k+1, len(o.Sets))
		}
	}
	return r, nil
}

// derivatives is the comparison on one set.
type derivatives struct {
	ctx     context.Context
	o       *Options
	peer    Contestant
	backend *cpu.Backend
	set     *Set
	dir     string

	pairs *batch.Pairs   // those compared
	truth *batch.Results // their derivatives in double precision
}

func (m *derivatives) measure() (*DerivativeTable, error) {
	t := &DerivativeTable{Set: m.set.Name}
	if err := m.choose(t); err != nil {
		return nil, err
	}
	if err := m.peer.Shapes(m.set); err != nil {
		return nil, err
	}
	names, err := m.peer.Configurations(&differences)
	if err != nil {
		return nil, err
	}
	single := newDifferentiated(m, batch.Single)
	runs := append(single.runs(m.ctx), newDifferentiated(m, batch.Double).runs(m.ctx)...)
	timed, err := m.part("timed", timedStep)
	if err != nil {
		return nil, err
	}
	if err := m.peer.Pairs(timed); err != nil {
		return nil, err
	}
	var chosen []string
	for _, asked := range manners {
		name, tried, err := fastest(m.peer, &differences, asked.among(names), m.pairs.Len())
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue
		}
		chosen = append(chosen, name)
		runs = append(runs, derivativeRun{
			DerivativeTime{
				Name: asked.of(m.peer), Peer: true, Warm: asked.warm, Tight: asked.tight,
				Configuration: name, Tried: tried,
			},
			func() (float64, error) { return m.peer.Run(&differences, name) },
		})
	}
	if err := m.rounds(runs); err != nil {
		return nil, err
	}
	for i := range runs {
		t.Times = append(t.Times, runs[i].entry)
	}
	// The last run of ours has left all derivatives in single precision.
	t.Errors = append(t.Errors, m.judge("Clearance, single", single.all, nil))
	for _, name := range chosen {
		list, err := m.differences(name)
		if err != nil {
			return nil, err
		}
		t.Errors = append(t.Errors, list...)
	}
	return t, nil
}

// choose takes the pairs that are certainly clear of contact and have all derivatives.
func (m *derivatives) choose(t *DerivativeTable) error {
	apart := batch.NewPairs(m.set.Pairs.Len())
	var row batch.Row
	for i, truth := range m.set.Truth {
		if truth.Distance-truth.Gap >= ClearOfContact {
			m.set.Pairs.Row(i, &row)
			apart.SetRow(t.Apart, &row)
			t.Apart++
		}
	}
	m.pairs = apart.Slice(0, t.Apart)
	first := newDifferentiated(m, batch.Double)
	if err := first.derive(m.ctx); err != nil {
		return err
	}
	full := batch.NewPairs(t.Apart)
	for i, s := range first.all.Column(batch.ColSmoothness).U8 {
		if batch.Smoothness(s).Full() {
			m.pairs.Row(i, &row)
			full.SetRow(t.Rows, &row)
			t.Rows++
		}
	}
	if t.Rows == 0 {
		return errors.New("no pair has all derivatives")
	}
	m.pairs = full.Slice(0, t.Rows)
	truth := newDifferentiated(m, batch.Double)
	m.truth = truth.all
	return truth.derive(m.ctx)
}

// part writes the pairs with their poses moved by a step, twelve rows a pair: the positions along the axes of the
// world and the rotations about them, of A, then of B. A step of 0 writes the pairs themselves.
func (m *derivatives) part(name string, step float64) (*Part, error) {
	p := &Part{Path: filepath.Join(m.dir, m.set.Name+"-"+name+".npz"), Pairs: m.pairs}
	if step != 0 {
		n := m.pairs.Len()
		p.Pairs = batch.NewPairs(DifferenceCalls * n)
		for i := range n {
			for k := range DifferenceCalls {
				var row batch.Row
				m.pairs.Row(i, &row)
				if k < DifferenceCalls/2 {
					row.PoseA = moved(row.PoseA, k, step)
				} else {
					row.PoseB = moved(row.PoseB, k-DifferenceCalls/2, step)
				}
				p.Pairs.SetRow(DifferenceCalls*i+k, &row)
			}
		}
	}
	return p, dataset.WritePairs(p.Path, p.Pairs)
}

// moved moves a pose by a step: 0 to 2 along an axis of the world, 3 to 5 about one through the position.
func moved(p geom.Pose, k int, step float64) geom.Pose {
	axis := [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}[k%3]
	if k < 3 {
		p.Position = r3.Add(p.Position, r3.Scale(step, axis))
	} else {
		p.Rotation = quat.Mul(geom.Rotate(axis, step).Rotation, p.Rotation)
	}
	return p
}

// rounds runs everything once a round, in a new order each time, each after a run without the clock.
func (m *derivatives) rounds(runs []derivativeRun) error {
	order := rand.New(rand.NewPCG(m.o.Seed, 0))
	for range m.o.Rounds {
		for _, i := range order.Perm(len(runs)) {
			if err := m.ctx.Err(); err != nil {
				return err
			}
			if _, err := runs[i].run(); err != nil {
				return err
			}
			s, err := runs[i].run()
			if err != nil {
				return err
			}
			runs[i].entry.add(s, m.pairs.Len())
		}
	}
	for i := range runs {
		runs[i].entry.summarize()
	}
	return nil
}

// differentiated is our work: a query, and derivatives of its answers.
type differentiated struct {
	backend   *cpu.Backend
	query     batch.Job // as the back end sees it
	answers   *batch.Results
	all, one  *batch.Results // with all columns of derivatives, and with d_distance alone
	precision batch.Precision

	cotangents, gradients []float64
}

// jacobian are the columns that finite differences yield.
const jacobian = batch.ColDDistance | batch.ColDNormal | batch.ColDWitnessA | batch.ColDWitnessB

func newDifferentiated(m *derivatives, p batch.Precision) *differentiated {
	n := m.pairs.Len()
	o := batch.Options{Precision: p, Columns: answerColumns}
	with := func(c batch.Columns) *batch.Results {
		return batch.NewResults(n, &batch.Options{Precision: p, Columns: answerColumns | c})
	}
	d := &differentiated{
		backend: m.backend, precision: p,
		query: batch.Job{Library: m.set.Library, Input: m.pairs, Options: o},
		all:   with(jacobian | batch.ColSmoothness), one: with(batch.ColDDistance),
		answers:    batch.NewResults(n, &o),
		cotangents: make([]float64, derive.AnswerWidth*n), gradients: make([]float64, derive.TwistWidth*n),
	}
	d.query.Results = d.answers
	for i := range d.cotangents {
		d.cotangents[i] = 1
	}
	return d
}

// fill answers the pairs in the columns of results that hold answers, then fills their columns of derivatives, if any.
func (d *differentiated) fill(ctx context.Context, out *batch.Results) error {
	answers := *out
	answers.Drop(batch.DerivedColumns)
	if err := d.backend.Run(ctx, &d.query, 0, out.N, &answers); err != nil {
		return err
	}
	if out.Columns&batch.DerivedColumns == 0 {
		return nil
	}
	job := d.query
	job.Options.Columns = out.Columns
	return (&derive.Differentiator{Workers: 1}).Differentiate(ctx, &job, 0, 0, out, nil)
}

func (d *differentiated) derive(ctx context.Context) error { return d.fill(ctx, d.all) }

// product answers the pairs and multiplies cotangents with their derivatives.
func (d *differentiated) product(ctx context.Context) error {
	if err := d.fill(ctx, d.answers); err != nil {
		return err
	}
	return (&derive.Pass{Workers: 1}).VJP(ctx, &d.query, d.cotangents, d.gradients)
}

// runs are what the rounds time.
func (d *differentiated) runs(ctx context.Context) []derivativeRun {
	var list []derivativeRun
	add := func(work string, f func() error) {
		entry := DerivativeTime{Name: ourWork(d.precision, work)}
		list = append(list, derivativeRun{entry, func() (float64, error) { return clocked(f) }})
	}
	add(queryAlone, func() error { return d.fill(ctx, d.answers) })
	add("query, d_distance", func() error { return d.fill(ctx, d.one) })
	add("query, gradient (VJP)", func() error { return d.product(ctx) })
	add(allDerivatives, func() error { return d.derive(ctx) })
	return list
}
