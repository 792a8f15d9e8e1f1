package dispatch

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"clearance/batch"
)

// meeting blocks its first callers until the given number of them has arrived, so that a test
// does not depend on timing.
type meeting struct {
	wg   sync.WaitGroup
	once sync.Map
}

func newMeeting(n int) *meeting {
	m := new(meeting)
	m.wg.Add(n)
	return m
}

func (m *meeting) come(who string) {
	if _, seen := m.once.LoadOrStore(who, true); !seen {
		m.wg.Done()
	}
	m.wg.Wait()
}

// sharing returns n fakes of one kind of device, each of which starts a chunk before any ends one.
func sharing(n int) []*fake {
	m := newMeeting(n)
	var list []*fake
	for i := range n {
		f := device("gpu:"+string(rune('0'+i)), batch.DiscreteGPU, "A")
		f.at = func(int) error { m.come(f.name); return nil }
		list = append(list, f)
	}
	return list
}

func backends(list ...*fake) (out []Backend) {
	for _, f := range list {
		out = append(out, f)
	}
	return out
}

// Each row is answered once, each device answers some, and the results are those of one
// device.
func TestShareRows(t *testing.T) {
	lib, pairs := testPairs(t, 1000)
	for _, n := range []int{2, 3} {
		for _, name := range []string{Auto, "gpu"} {
			list := sharing(n)
			job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
			last := 0
			rep, err := New(backends(list...)...).Run(t.Context(), job, Options{Backend: name, ChunkRows: 64,
				Progress: func(done, total int) {
					if done != min(last+64, 1000) {
						t.Errorf("%d done after %d", done, last)
					}
					last = done
				}})
			if err != nil {
				t.Fatal(err)
			}
			checkRows(t, job.Results, pairs, 0, 1000)
			rows := 0
			for _, s := range rep.Shares {
				rows += s.Rows
			}
			if len(rep.Shares) != n || rows != 1000 || rep.Done != 1000 || last != 1000 {
				t.Errorf("%d devices: report %+v", n, rep)
			}
			next := 0
			for _, s := range rep.Spans {
				if s.Lo != next {
					t.Errorf("spans %+v", rep.Spans)
				}
				next = s.Hi
			}
			total := int64(0)
			for _, f := range list {
				total += f.rows.Load()
			}
			if total != 1000 || next != 1000 {
				t.Errorf("%d answers, spans to row %d", total, next)
			}
		}
	}
}

// In streams rows stay in order, whichever device answers them.
func TestShareStream(t *testing.T) {
	lib, pairs := testPairs(t, 1000)
	out := new(sink)
	rep, err := New(backends(sharing(2)...)...).RunStream(t.Context(), lib, &slowSource{pairs: pairs},
		allColumns, out, Options{Backend: "gpu", ChunkRows: 64})
	if err != nil || out.Len() != 1000 || len(rep.Shares) != 2 || rep.Done != 1000 {
		t.Fatalf("%d answers, report %+v, %v", out.Len(), rep, err)
	}
	for i, d := range out.distance {
		if d != fakeAnswer(float64(i%5)).Distance {
			t.Fatalf("row %d is wrong", i)
		}
	}
}

// The chunk of a device that fails is answered by another one, and nothing is lost or reported
// twice. If all devices fail, the spare ones take over, unless back ends were selected by name.
func TestShareFailover(t *testing.T) {
	lib, pairs := testPairs(t, 1000)
	for _, c := range []struct {
		what      string
		fail      []bool // which of the devices
		name      string
		failovers int
		good      bool
	}{
		{"first", []bool{true, false}, "gpu", 1, true},
		{"second", []bool{false, true}, Auto, 1, true},
		{"two of three", []bool{true, false, true}, "gpu", 2, true},
		{"all, with a spare", []bool{true, true}, Auto, 2, true},
		{"all, by name", []bool{true, true}, "gpu", 2, false},
	} {
		list := sharing(len(c.fail))
		for i, f := range list {
			meet, rows := f.at, new(atomic.Int64)
			if c.fail[i] {
				f.at = func(row int) error {
					meet(row)
					if rows.Add(1) == 10 { // in its first chunk, which every device gets
						return errDevice
					}
					return nil
				}
			}
		}
		cpu := device("cpu", batch.CPU, "")
		job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: used(1000, &allColumns)}
		rep, err := New(append(backends(list...), cpu)...).Run(t.Context(), job,
			Options{Backend: c.name, ChunkRows: 64})
		if len(rep.Failovers) != c.failovers || sum(rep.Counts) != 1000 || rep.Rows != 1000 {
			t.Errorf("%s: report %+v, %v", c.what, rep, err)
		}
		if c.good {
			if err != nil || rep.Done != 1000 {
				t.Errorf("%s: %d rows, %v", c.what, rep.Done, err)
			}
			checkRows(t, job.Results, pairs, 0, 1000)
			continue
		}
		if !errors.Is(err, errDevice) || rep.Done == 1000 || cpu.runs.Load() != 0 {
			t.Errorf("%s: %d rows, %d calls of the CPU, %v", c.what, rep.Done, cpu.runs.Load(), err)
		}
		answered := 0
		for i := range 1000 {
			if batch.Status(job.Results.Status()[i]) == batch.Undecided {
				checkUnanswered(t, job.Results, i, i+1)
			} else {
				checkRows(t, job.Results, pairs, i, i+1)
				answered++
			}
		}
		if answered != rep.Done {
			t.Errorf("%s: %d rows look answered, %d are reported", c.what, answered, rep.Done)
		}
	}
}

// Cancellation stops all devices; the rows answered until then are valid.
func TestShareCancel(t *testing.T) {
	lib, pairs := testPairs(t, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	list := sharing(2)
	for _, f := range list { // the device that reaches row 300
		meet := f.at
		f.at = func(i int) error {
			err := meet(i)
			if i >= 300 {
				cancel()
			}
			return err
		}
	}
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: used(1000, &allColumns)}
	rep, err := New(backends(list...)...).Run(ctx, job, Options{Backend: "gpu", ChunkRows: 64})
	cancel()
	if !errors.Is(err, context.Canceled) || sum(rep.Counts) != 1000 || len(rep.Failovers) != 0 {
		t.Errorf("report %+v, %v", rep, err)
	}
	for i := range 1000 {
		if batch.Status(job.Results.Status()[i]) == batch.Undecided {
			checkUnanswered(t, job.Results, i, i+1)
		} else {
			checkRows(t, job.Results, pairs, i, i+1)
		}
	}
}

// several is a back end that computes several chunks at a time.
type several struct {
	*fake
	n int
}

func (s several) CallsAtOnce() int { return s.n }

// A back end can compute several chunks at a time.
func TestCallsAtOnce(t *testing.T) {
	lib, pairs := testPairs(t, 1000)
	m := newMeeting(3)
	f := &fake{name: "a", at: func(i int) error { // rows 0, 64 and 128 meet
		if i%64 == 0 && i < 192 {
			m.come(string(rune('a' + i/64)))
		}
		return nil
	}}
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
	rep, err := New(several{f, 3}).Run(t.Context(), job, Options{ChunkRows: 64})
	if err != nil || rep.Done != 1000 || len(rep.Spans) != 1 {
		t.Errorf("report %+v, %v", rep, err)
	}
	checkRows(t, job.Results, pairs, 0, 1000)
	// The default chunk size gives each of them a chunk.
	f.at = nil
	f.runs.Store(0)
	_, big := testPairs(t, 200_000)
	if _, err := New(several{f, 3}).Run(t.Context(), &batch.Job{Library: lib, Input: big}, Options{}); err != nil ||
		f.runs.Load() != 6 {
		t.Errorf("%d chunks, %v", f.runs.Load(), err)
	}
}

// A panic in the caller's function ends the call and leaves no goroutine.
func TestProgressPanics(t *testing.T) {
	before := runtime.NumGoroutine()
	lib, pairs := testPairs(t, 1000)
	for range 20 {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(p.(string), "my own fault") {
					t.Errorf("recovered %v", p)
				}
			}()
			o := Options{ChunkRows: 64, Backend: "gpu", Progress: func(done, _ int) {
				if done > 200 {
					panic("my own fault")
				}
			}}
			New(backends(sharing(2)...)...).RunStream(t.Context(), lib, &slowSource{pairs: pairs}, allColumns,
				new(sink), o)
		}()
	}
	for range 60_000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}
