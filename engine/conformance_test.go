package engine

import (
	"context"
	"flag"
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

func (f *finished) Name() string                 { return f.b.Name() }
func (f *finished) Device() batch.Device         { return f.b.Device() }
func (f *finished) Serves() batch.Serves         { return f.b.Serves() }
func (f *finished) Check(o *batch.Options) error { return f.b.Check(o) }
func (f *finished) Close() error                 { return nil }

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
