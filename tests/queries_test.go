package tests

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"clearance"
	"clearance/batch"
	"clearance/cpu"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/engine"
	"clearance/geom"
	"clearance/kernels"
	"clearance/verify"
)

// unserved are queries that no back end serves: those that are declared and not yet answered, and
// a code that is no query.
func unserved() []batch.Query {
	list := []batch.Query{batch.QueryCount, batch.QueryCount + 7}
	for q := range batch.QueryCount {
		if !q.Info().Answered {
			list = append(list, q)
		}
	}
	return list
}

// A query is answered if and only if ref serves it; cpu serves nothing that ref does not, and the kernels and the
// device, which decline rows, nothing that cpu cannot finish.
func TestServedQueries(t *testing.T) {
	reference := cpu.NewReference().Serves()
	for q := range batch.QueryCount {
		if served := reference.Query(q); served != q.Info().Answered {
			t.Errorf("query %v: answered is %t, and the reference serves it: %t", q, q.Info().Answered, served)
		}
	}
	host, err := cpu.New(cpu.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	for _, c := range []struct {
		name, behind  string
		table, within batch.Serves
	}{
		{"cpu", "ref", host.Serves(), reference},
		{"the kernels", "cpu", kernels.Serves, host.Serves()},
		{"vulkan", "cpu", new(engine.Backend).Serves(), host.Serves()},
	} {
		rows := 0
		for _, r := range c.table {
			for _, m := range r.Methods {
				for _, p := range r.Precisions {
					rows++
					if o := (batch.Options{Query: r.Query, Method: m, Precision: p}); !c.within.Has(&o) {
						t.Errorf("%s: %v, %v, %v are served, and not by %s", c.name, r.Query, m, p, c.behind)
					}
				}
			}
		}
		if rows == 0 {
			t.Errorf("%s: the table is empty", c.name)
		}
	}
}

// Every layer refuses a query that no back end serves, by name, and answers nothing.
func TestUnservedQueriesAreRefused(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fast, err := cpu.New(cpu.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer fast.Close()
	handle, err := clearance.Open(clearance.WithBackend("cpu"))
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	d := dispatch.New(fast, cpu.NewReference())
	backends := map[string]dispatch.Backend{"cpu": fast, "ref": cpu.NewReference()}
	if b, err := engine.Open(engine.Options{}); err == nil {
		defer b.Close()
		backends["vulkan"] = b
	}
	for _, q := range unserved() {
		job := func() *batch.Job {
			o := batch.Options{Query: q, Columns: batch.AllColumns}
			return &batch.Job{Library: lib, Input: batch.NewPairs(3), Options: o, Results: batch.NewResults(3, &o)}
		}
		layers := map[string]func() error{
			"options":       func() error { return (&batch.Options{Query: q}).Check() },
			"job":           func() error { return job().Check() },
			"choice":        func() error { _, err := d.Choose("", &batch.Options{Query: q}, 3); return err },
			"choice of cpu": func() error { _, err := d.Choose("cpu", &batch.Options{Query: q}, 3); return err },
			"run":           func() error { _, err := d.Run(t.Context(), job(), dispatch.Options{}); return err },
			"hold": func() error {
				_, err := d.Hold(t.Context(), lib, batch.NewPairs(3), batch.Options{Query: q}, dispatch.Options{})
				return err
			},
			"stream": func() error {
				_, err := d.RunStream(t.Context(), lib, none{}, batch.Options{Query: q}, none{}, dispatch.Options{})
				return err
			},
			"facade": func() error { _, err := handle.Run(t.Context(), job()); return err },
			"audit": func() error {
				_, err := verify.Audit(t.Context(), job(),
					verify.Options{})
				return err
			},
			"comparison": func() error {
				_, err := verify.Compare(t.Context(), job(),
					verify.CompareOptions{})
				return err
			},
			"writer, Parquet": func() error { return write(t, "r.parquet", q.String(), q) },
			"writer, NPZ":     func() error { return write(t, "r.npz", q.String(), q) },
			"reader, Parquet": func() error { return write(t, "r.parquet", q.String(), batch.Distance) },
			"reader, NPZ":     func() error { return write(t, "r.npz", q.String(), batch.Distance) },
		}
		for name, b := range backends {
			layers["plan of "+name] = func() error { _, err := b.Plan(&batch.Options{Query: q}); return err }
			layers["run of "+name] = func() error {
				j := job()
				err := b.Run(t.Context(), j, 0, 3, j.Results)
				for i, s := range j.Results.Status() {
					if batch.Status(s) != batch.Undecided {
						t.Errorf("query %v, %s: row %d is answered with %v", q, name, i, batch.Status(s))
					}
				}
				return err
			}
		}
		for name, ask := range layers {
			err := ask()
			switch {
			case err == nil:
				t.Errorf("query %v: %s does not refuse it", q, name)
			case !strings.Contains(err.Error(), q.String()):
				t.Errorf("query %v: %s refuses it with %q, which does not name it", q, name, err)
			case q < batch.QueryCount && !errors.Is(err, batch.ErrNotAvailable):
				t.Errorf("query %v: %s refuses it with %q, which does not say that it is not available", q, name, err)
			}
		}
		if err := layers["run"](); err == nil || !strings.Contains(err.Error(), "cpu, ref") {
			t.Errorf("query %v: %v does not name the back ends", q, err)
		}
	}
}

// none is a source without rows and a sink that takes none.
type none struct{}

func (none) Rows(int, int, batch.Input) (batch.Input, error) { return batch.NewPairs(0), nil }
func (none) Write(*batch.Results) error                      { return errors.New("nothing to write") }

// write writes a file of one row and reads it back. Its metadata says that it answers the query
// asked, or, where that has another name, the query named.
func write(t *testing.T, file, named string, asked batch.Query) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	w, err := dataset.CreateResults(path, batch.ColDistance, batch.Single, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if named != asked.String() {
		w.Describe("query", named)
	} else if err := w.DescribeQuery(asked, nil); err != nil {
		return err
	}
	if err := w.Write(batch.NewResults(1, &batch.Options{Columns: batch.ColDistance})); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := dataset.OpenResults(path)
	if err == nil {
		r.Close()
	}
	return err
}
