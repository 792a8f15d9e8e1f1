package conformance

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/rollout"
	"clearance/rollout/sweep"
)

// selection is how the rows of a rollout come about.
type selection struct {
	all    bool // all pairs of a world, in place of a template
	reduce rollout.Reduce
}

// selections are the columns of the table of rollouts.
var selections = []struct {
	selection
	title string
}{
	{selection{}, "template pairs"},
	{selection{reduce: rollout.ReduceWorld}, "template pairs, one row per world"},
	{selection{all: true}, "all pairs"},
	{selection{all: true, reduce: rollout.ReduceWorld}, "all pairs, one row per world"},
}

// rolloutCell is an entry of the table of rollouts.
type rolloutCell struct {
	backend string
	query   batch.Query
	prec    batch.Precision
	of      selection
}

// rolloutWorlds is the number of worlds of bodies.
const rolloutWorlds = 3

// bodies returns a body of two parts for each form, one of which has a margin, and a half-space.
func bodies(t *testing.T) *batch.Bodies {
	t.Helper()
	var shapes []geom.Shape
	var list []batch.Body
	rng := rand.New(rand.NewPCG(21, 1))
	for _, f := range Forms() {
		first := int32(len(shapes))
		shapes = append(shapes, f.shape, geom.WithMargin(f.shape, margin))
		body := batch.Body{Parts: []batch.Part{{Shape: first, Pose: geom.IdentityPose()}}}
		if !f.Kind.Traits().Unbounded {
			body.Parts = append(body.Parts, batch.Part{Shape: first + 1, Pose: testkit.Pose(rng, 0.4)})
		}
		list = append(list, body)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := batch.NewBodies(lib, list)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// rolloutScene returns worlds of one body of each form, the half-space last, and all of their pairs as a template.
func rolloutScene(b *batch.Bodies) *batch.Worlds {
	rng := rand.New(rand.NewPCG(21, 2))
	w := &batch.Worlds{}
	m := int32(b.Len())
	for k := range m {
		w.Bodies = append(w.Bodies, k)
		for j := range k {
			w.TemplateA, w.TemplateB = append(w.TemplateA, j), append(w.TemplateB, k)
		}
	}
	for range rolloutWorlds {
		for k := range m {
			p := testkit.Pose(rng, 1.2)
			if k == m-1 {
				p.Position.Z -= 1.5
			}
			v, q := p.Position, p.Rotation
			w.Poses = append(w.Poses, v.X, v.Y, v.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
		}
	}
	return w
}

// partList returns the pairs of parts of the template rows, and the end of those of each row.
func partList(b *batch.Bodies, w *batch.Worlds) (pairs *batch.Pairs, ends []int) {
	var rows []batch.Row
	for world := range w.Count() {
		for p, ka := range w.TemplateA {
			kb := w.TemplateB[p]
			x, y := w.Body(world, ka), w.Body(world, kb)
			for i, pa := range b.Parts(x) {
				for j, pb := range b.Parts(y) {
					rows = append(rows, batch.Row{ShapeA: pa.Shape, PoseA: b.PartPose(x, i, w.Pose(world, ka)),
						ShapeB: pb.Shape, PoseB: b.PartPose(y, j, w.Pose(world, kb))})
				}
			}
			ends = append(ends, len(rows))
		}
	}
	pairs = batch.NewPairs(len(rows))
	for i := range rows {
		pairs.SetRow(i, &rows[i])
	}
	return pairs, ends
}

// known is what the list of parts says of a row or of a world.
type known struct {
	lower, upper float64
	contact      bool // a pair of parts touches or penetrates
	invalid      bool
}

// add adds a row to what is known of a world.
func (k *known) add(x known) {
	k.lower, k.upper = min(k.lower, x.lower), min(k.upper, x.upper)
	k.contact, k.invalid = k.contact || x.contact, k.invalid || x.invalid
}

// knownRows answers the list of parts and reduces it by row.
func knownRows(t *testing.T, d *dispatch.Dispatcher, b *batch.Bodies, w *batch.Worlds, o batch.Options) []known {
	t.Helper()
	pairs, ends := partList(b, w)
	job := &batch.Job{Library: b.Library(), Input: pairs, Options: o}
	if _, err := d.Run(context.Background(), job, dispatch.Options{}); err != nil {
		t.Fatal(err)
	}
	r, first := job.Results, 0
	rows := make([]known, len(ends))
	for i, end := range ends {
		rows[i] = known{lower: math.Inf(1), upper: math.Inf(1)}
		for k := first; k < end; k++ {
			status := batch.Status(r.Status()[k])
			x := known{contact: status == batch.Touching || status == batch.Penetrating,
				invalid: status >= batch.Invalid}
			if !x.invalid {
				x.lower, x.upper = r.Distance().At(k)-float64(r.Gap()[k]), r.Distance().At(k)+float64(r.Gap()[k])
			}
			rows[i].add(x)
		}
		first = end
	}
	return rows
}

// Rollouts asks a back end about worlds of bodies with every query that it supports, compares the answers with the
// list of their pairs of parts, and notes the outcomes in the matrix, if there is one.
func Rollouts(t *testing.T, b dispatch.Backend, m *Matrix) {
	t.Helper()
	d := dispatch.New(b)
	table := bodies(t)
	scene := rolloutScene(table)
	for query := range batch.QueryCount {
		for precision := range batch.PrecisionCount {
			o := batch.Options{Query: query, Precision: precision}
			if !b.Serves().Has(&o) {
				continue
			}
			o.Columns = batch.ColDistance | batch.ColGap | batch.ColStatus
			rows := knownRows(t, d, table, scene, o)
			for _, s := range selections {
				got := passed
				if err := rolloutOf(d, table, scene, o, s.selection, rows); err != nil {
					t.Errorf("%s, %v, %v, %s: %v", b.Name(), query, precision, s.title, err)
					got = failed
				}
				m.noteRollout(rolloutCell{b.Name(), query, precision, s.selection}, got)
			}
		}
	}
	got := passed
	if err := sweepOf(d, table, scene); err != nil {
		t.Errorf("%s, sweep: %v", b.Name(), err)
		got = failed
	}
	m.noteRollout(rolloutCell{b.Name(), sweepQuery, batch.Double, selection{}}, got)
}

// rolloutOf runs one rollout and returns an error for the first row that contradicts the list.
func rolloutOf(d *dispatch.Dispatcher, b *batch.Bodies, w *batch.Worlds, o batch.Options, s selection,
	rows []known) error {
	of := *w
	if s.all {
		of.AllPairs, of.TemplateA, of.TemplateB = true, nil, nil
	}
	job := &rollout.Job{Bodies: b, Worlds: &of, Options: rollout.Options{Options: o, Reduce: s.reduce}}
	if _, err := rollout.Run(context.Background(), d, job, dispatch.Options{}); err != nil {
		return err
	}
	r, pairs := job.Results, len(w.TemplateA)
	if s.reduce == rollout.ReduceWorld {
		for world := range w.Count() {
			want := known{lower: math.Inf(1), upper: math.Inf(1)}
			for _, row := range rows[world*pairs : (world+1)*pairs] {
				want.add(row)
			}
			if err := want.check(r, world); err != nil {
				return fmt.Errorf("world %d: %w", world, err)
			}
		}
		return nil
	}
	seen := make([]bool, len(rows))
	for i := range r.N {
		at := i
		if s.all {
			world, _ := slices.BinarySearchFunc(r.Offsets[1:], int64(i), func(end, i int64) int {
				if end <= i {
					return -1
				}
				return 1
			})
			k, j := int(r.BodyB[i]), int(r.BodyA[i])
			at = world*pairs + k*(k-1)/2 + j
		}
		seen[at] = true
		if err := rows[at].check(r, i); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	for i, row := range rows {
		if !seen[i] && (!s.all || row.contact || row.invalid) {
			return fmt.Errorf("pair %d has no row", i)
		}
	}
	return nil
}

// check returns an error if row i contradicts what is known.
func (k *known) check(r *rollout.Results, i int) error {
	status := batch.Status(r.Status()[i])
	d, gap := r.Distance().At(i), float64(r.Gap()[i])
	contact := status == batch.Touching || status == batch.Penetrating
	switch {
	case k.invalid != (status == batch.Invalid):
		return fmt.Errorf("%v, the list has an invalid pair: %t", status, k.invalid)
	case k.invalid:
		return nil
	case status == batch.Undecided:
		return fmt.Errorf("undecided")
	case contact != k.contact:
		return fmt.Errorf("%v, the list has a contact: %t", status, k.contact)
	case !(d-gap <= k.upper && d+gap >= k.lower):
		return fmt.Errorf("%g ± %g excludes [%g, %g] of the list", d, gap, k.lower, k.upper)
	}
	return nil
}

// sweepOf sweeps the bodies from each world to the next, and samples the distances in between.
func sweepOf(d *dispatch.Dispatcher, b *batch.Bodies, w *batch.Worlds) error {
	m := &batch.Motions{T: w.Count(), Bodies: w.Bodies, Poses: w.Poses, TemplateA: w.TemplateA, TemplateB: w.TemplateB}
	job := &rollout.SweepJob{Bodies: b, Motions: m, Options: sweep.Options{TimeTolerance: 1e-4}}
	if _, err := rollout.Sweep(context.Background(), d, job, dispatch.Options{}); err != nil {
		return err
	}
	const samples = 8
	for k := range samples*(w.Count()-1) + 1 {
		time := float64(k) / samples
		at := &batch.Worlds{Bodies: w.Bodies, TemplateA: w.TemplateA, TemplateB: w.TemplateB}
		leg := min(int(time), w.Count()-2)
		for body := range int32(len(w.Bodies)) {
			p := sweep.Between(w.Pose(leg, body), w.Pose(leg+1, body), time-float64(leg))
			v, q := p.Position, p.Rotation
			at.Poses = append(at.Poses, v.X, v.Y, v.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
		}
		rows := &rollout.Job{Bodies: b, Worlds: at, Options: rollout.Options{Options: batch.Options{
			Precision: batch.Double}}}
		if _, err := rollout.Run(context.Background(), d, rows, dispatch.Options{}); err != nil {
			return err
		}
		for i := range job.Results.N {
			r, status := job.Results, batch.Status(rows.Results.Status()[i])
			upper := rows.Results.Distance().At(i) + float64(rows.Results.Gap()[i])
			switch state := sweep.State(r.State[i]); {
			case state == sweep.Undecided || state == sweep.Invalid:
				return fmt.Errorf("row %d: %v", i, state)
			case status == batch.Penetrating && time < r.T0[i]:
				return fmt.Errorf("row %d: a contact at %g, none was expected before %g", i, time, r.T0[i])
			case state == sweep.Free && !(upper >= r.Lower[i]):
				return fmt.Errorf("row %d: a distance of %g at %g, below the bound %g", i, upper, time, r.Lower[i])
			}
		}
	}
	return nil
}

// sweepQuery stands for sweeps among the queries of the table.
const sweepQuery = batch.QueryCount

func (m *Matrix) noteRollout(c rolloutCell, got outcome) {
	if m == nil {
		return
	}
	if m.rollouts == nil {
		m.rollouts = map[rolloutCell]outcome{}
	}
	m.rollouts[c] = max(m.rollouts[c], got)
}

// writeRollouts writes the table of rollouts.
func (m *Matrix) writeRollouts(b *strings.Builder, backends []string) {
	if len(m.rollouts) == 0 {
		return
	}
	b.WriteString("## Bodies in worlds\n\nPackage rollout answers queries about bodies of several parts in worlds, " +
		"culled by bounds and reduced to one row per world, and finds first contacts of moving bodies. Each kind of " +
		"shape is a body of two parts here, and meets each other one. An entry names the precisions in which all " +
		"answers agreed with those of the list of their pairs of parts; of sweeps, with distances at many times.\n\n")
	b.WriteString("| back end, query |")
	for _, s := range selections {
		fmt.Fprintf(b, " %s |", s.title)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(selections)) + "\n")
	for _, backend := range backends {
		for query := range sweepQuery + 1 {
			name := "sweep"
			if query < sweepQuery {
				name = query.String()
			}
			var entries []string
			for _, s := range selections {
				entries = append(entries, m.rolloutEntry(backend, query, s.selection))
			}
			if strings.Join(entries, "") != "" {
				fmt.Fprintf(b, "| %s, %s | %s |\n", backend, name, strings.Join(entries, " | "))
			}
		}
	}
	b.WriteString("\n")
}

func (m *Matrix) rolloutEntry(backend string, q batch.Query, s selection) string {
	var names []string
	for precision := range batch.PrecisionCount {
		switch m.rollouts[rolloutCell{backend, q, precision, s}] {
		case passed:
			names = append(names, precision.String())
		case failed:
			names = append(names, precision.String()+": failed")
		}
	}
	return strings.Join(names, ", ")
}
