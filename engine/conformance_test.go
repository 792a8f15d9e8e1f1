package engine

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/tests/conformance"
)

var (
	stride = flag.Int("stride", 4, "conformance: one row in so many; 1 for all")
	update = flag.Bool("update", false, "conformance: write docs/support-vulkan.md anew, with -stride 1")
)

// page is the support matrix of the device.
var page = &conformance.Page{
	Path:     filepath.Join("..", "docs", "support-vulkan.md"),
	Title:    "What is supported on Vulkan",
	Command:  "go test ./engine -run TestConformance -stride 1 -update",
	Backends: []string{"vulkan"},
	Runs:     ", half of them with memory that host and device share and half with copies between the two",
	Note: "Rows that the device declines, a few of a hundred at most or the tests fail, are ended by the CPU: those " +
		"whose polytope " +
		"fills its memory, and pairs whose bounds stay too wide. The solvers below are those of the device alone. " +
		"[The other back ends](support.md) have a page of their own.",
	Solvers: "They are of a run on lavapipe, a driver that runs on the CPU.",
}

// finished is the back end with the CPU to end the rows that it declines, since the suite
// asks one back end for all rows.
type finished struct {
	b    *Backend
	rest dispatch.Backend

	mu       sync.Mutex
	declined map[askedRow]bool // what the device left
}

// askedRow is a row of a configuration.
type askedRow struct {
	query     batch.Query
	precision batch.Precision
	method    batch.Method
	row       int
}

func ask(o *batch.Options, row int) askedRow { return askedRow{o.Query, o.Precision, o.Method, row} }

func (f *finished) Name() string                              { return f.b.Name() }
func (f *finished) Device() batch.Device                      { return f.b.Device() }
func (f *finished) Serves() batch.Serves                      { return f.b.Serves() }
func (f *finished) Plan(o *batch.Options) (batch.Plan, error) { return f.b.Plan(o) }
func (f *finished) Close() error                              { return nil }

func (f *finished) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	if err := f.b.Run(ctx, job, lo, hi, out); err != nil {
		return err
	}
	rows := *out
	rows.Drop(batch.ColBits)
	for i, mark := range out.Marks {
		if mark != batch.Unanswered {
			continue
		}
		f.mu.Lock()
		f.declined[ask(&job.Options, lo+i)] = true
		f.mu.Unlock()
		if err := f.rest.Run(ctx, job, lo+i, lo+i+1, rows.Slice(i, i+1)); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere reports whether the CPU ended a row.
func (f *finished) elsewhere(o batch.Options, row int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.declined[ask(&o, row)]
}

// TestConformance runs the suite of all back ends, and compares the support matrix with the
// committed page, or writes it. Where the host and the device share memory the way with copies
// has half of the rows, since the bits are the same, unless all rows were asked for. There is no
// kind without a shader, depths are answered on the device but for a few, and nothing is lost.
func TestConformance(t *testing.T) {
	var m conformance.Matrix
	ran := 0
	eachPath(t, func(t *testing.T, o Options) {
		b := open(t, o)
		f := &finished{b: b, rest: processor(t), declined: map[askedRow]bool{}}
		suite := conformance.Options{Stride: *stride, Matrix: &m, Solvers: &m, SolversOf: b.Name(),
			Elsewhere: f.elsewhere}
		switch {
		case testing.Short():
			suite.Stride = 16
		case o.staged && *stride > 1:
			suite.Stride *= 2
		}
		conformance.Run(t, f, suite)
		ran++
		s := b.Stats()
		if d := s.Declined; d.Kind != 0 || d.Unknown != 0 || d.Budget != 0 || d.Sum()*20 > s.Rows ||
			s.Depths*20 < s.Rows {
			t.Errorf("declined of %d rows: %+v; %d depths", s.Rows, d, s.Depths)
		}
	})
	switch {
	case *update && (ran < 2 || testing.Short() || *stride > 1):
		t.Fatal("-update wants a device and -stride 1, without -short: the page is written from all rows")
	case *update:
		m.Update(t, page)
	case ran < 2 || testing.Short():
		m.Compare(t, page, conformance.Nothing)
	case *stride == 1:
		m.Compare(t, page, conformance.Whole)
	default:
		m.Compare(t, page, conformance.Tables)
	}
}

// TestPackedStatus: where only bits or statuses are requested, they take four bits per row,
// and agree with whole status words: of every row, declined and invalid ones among
// them, in chunks that end within a word, and in the counts.
func TestPackedStatus(t *testing.T) {
	for _, chunk := range []int{64, 4096} {
		t.Run(fmt.Sprint(chunk), func(t *testing.T) { testPackedStatus(t, chunk) })
	}
}

func testPackedStatus(t *testing.T, chunk int) {
	const rows = 1003
	b, c := open(t, Options{ChunkRows: chunk}), processor(t)
	for _, name := range []string{"mixed", "adversarial"} {
		lib, pairs := set(t, name, 0, rows)
		pairs.ShapeA[77], pairs.ShapeB[rows-1] = -1, -1
		for _, q := range []batch.Query{batch.Collide, batch.Distance} {
			var stats [2]Stats
			var out [2]*batch.Results
			for k, columns := range []batch.Columns{batch.ColStatus | batch.ColIterations, batch.ColStatus} {
				job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: q, Columns: columns}}
				out[k] = batch.NewResults(rows, &job.Options)
				for i := range out[k].Status() {
					out[k].Status()[i] = 99
				}
				if l := placementOf(out[k], rows); l.bytes != []uint64{4 * 1004, 4 * 126}[k] {
					t.Errorf("%d bytes for %d rows", l.bytes, rows)
				}
				before := b.Stats()
				if err := b.Run(t.Context(), job, 0, rows, out[k]); err != nil {
					t.Fatal(err)
				}
				stats[k] = b.Stats()
				stats[k].Refined -= before.Refined
				stats[k].Depths -= before.Depths
				stats[k].Declined.Depth -= before.Declined.Depth
				stats[k].Declined.Gap -= before.Declined.Gap
			}
			kinds := map[uint8]int{}
			for i, s := range out[0].Status() {
				kinds[s]++
				if out[1].Status()[i] != s {
					t.Fatalf("%s, %v, row %d: packed %d, status word %d", name, q, i, out[1].Status()[i], s)
				}
			}
			if kinds[uint8(batch.Invalid)] != 2 || kinds[uint8(batch.Separated)] == 0 || q == batch.Distance &&
				(stats[0].Depths == 0 || kinds[99] == 0 && name == "adversarial") {
				t.Errorf("%s, %v: statuses %v do not try all codes", name, q, kinds)
			}
			if stats[0].Refined != stats[1].Refined || stats[0].Depths != stats[1].Depths ||
				stats[0].Declined != stats[1].Declined {
				t.Errorf("%s, %v: %+v from packed statuses, %+v from words", name, q, stats[1], stats[0])
			}
		}
		bits := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Collide,
			Columns: batch.ColBits}}
		full := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Collide,
			Columns: batch.ColStatus | batch.ColBits | batch.ColIterations}}
		rep := run(t, bits, dispatch.Options{}, b, c)
		want := run(t, full, dispatch.Options{}, b, c)
		for i := range rows {
			if bits.Results.Bit(i) != full.Results.Bit(i) {
				t.Fatalf("%s, row %d: the bit is %v", name, i, bits.Results.Bit(i))
			}
		}
		if rep.Counts != want.Counts || rep.Iterations != 0 || want.Iterations == 0 {
			t.Errorf("%s: counts %v and %d iterations, want %v and 0", name, rep.Counts, rep.Iterations, want.Counts)
		}
	}
}
