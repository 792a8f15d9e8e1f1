package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
)

// liar is the CPU back end with a fault put in.
type liar struct {
	dispatch.Backend
	lacks bool // its table is empty
	check func(o *batch.Options) error
	spoil func(job *batch.Job, out *batch.Results)
}

func (l liar) Serves() batch.Serves {
	if l.lacks {
		return nil
	}
	return l.Backend.Serves()
}

func (l liar) Plan(o *batch.Options) (batch.Plan, error) {
	if l.check != nil {
		return nil, l.check(o)
	}
	return l.Backend.Plan(o)
}

func (l liar) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	err := l.Backend.Run(ctx, job, lo, hi, out)
	if err == nil && l.spoil != nil {
		l.spoil(job, out)
	}
	return err
}

// row returns the first row of the results with a status, or of kinds of shapes.
func row(job *batch.Job, out *batch.Results, s batch.Status, name string) int {
	p := job.Input.(*batch.Pairs)
	for i := range out.N {
		if batch.Status(out.Status()[i]) == s && strings.Contains(job.Library.Name(p.ShapeA[i]), name) {
			return i
		}
	}
	panic(fmt.Sprintf("no row of a %s is %v", name, s))
}

// TestSuiteCatchesFaults: back ends that are wrong in one row, or in what they say
// of themselves, fail the suite, with words that name the row.
func TestSuiteCatchesFaults(t *testing.T) {
	rows, err := NewRows(7, 5)
	if err != nil {
		t.Fatal(err)
	}
	honest := cpu.NewReference()
	broken := errors.New("this device has no such thing")
	all := batch.Options{Columns: batch.AllColumns | batch.ColBits}
	tests := []struct {
		name    string
		liar    liar
		options batch.Options
		want    string // part of a fault; "" for none
	}{
		{"honest", liar{}, all, ""},
		{"honest, double", liar{}, batch.Options{Precision: batch.Double, Query: batch.Penetration}, ""},
		{"honest, collide", liar{}, batch.Options{Query: batch.Collide}, ""},
		{"a failure as no contact", liar{spoil: func(j *batch.Job, r *batch.Results) {
			r.Status()[row(j, r, batch.Penetrating, "cone")] = uint8(batch.Separated)
		}}, batch.Options{Query: batch.Collide}, "(cone × "},
		{"no contact as contact", liar{spoil: func(j *batch.Job, r *batch.Results) {
			r.Status()[row(j, r, batch.Separated, "box")] = uint8(batch.Penetrating)
		}}, batch.Options{Query: batch.Collide}, "(box × "},
		{"an undecided row", liar{spoil: func(j *batch.Job, r *batch.Results) {
			r.PutFailure(row(j, r, batch.Penetrating, "plate"), batch.Undecided)
		}}, all, "undecided"},
		{"an answer to nonsense", liar{spoil: func(j *batch.Job, r *batch.Results) {
			r.Status()[row(j, r, batch.Invalid, "halfspace")] = uint8(batch.Touching)
		}}, batch.Options{Query: batch.Collide}, "(halfspace × halfspace"},
		{"a good row refused", liar{spoil: func(j *batch.Job, r *batch.Results) {
			r.PutFailure(row(j, r, batch.Separated, "ellipsoid"), batch.Invalid)
		}}, all, "(ellipsoid × "},
		{"a distance off", liar{spoil: func(j *batch.Job, r *batch.Results) {
			i := row(j, r, batch.Separated, "superquadric")
			r.Distance().Set(i, r.Distance().At(i)*1.001)
		}}, all, "(superquadric × "},
		{"a depth off", liar{spoil: func(j *batch.Job, r *batch.Results) {
			i := row(j, r, batch.Penetrating, "capsule")
			r.Distance().Set(i, r.Distance().At(i)*1.01)
		}}, all, "the reference bounds it"},
		{"a normal inverted", liar{spoil: func(j *batch.Job, r *batch.Results) {
			i := row(j, r, batch.Separated, "hull")
			for k := range 3 {
				r.Normal().Set(3*i+k, -r.Normal().At(3*i+k))
			}
		}}, all, "check plane"},
		{"a gap that promises too much", liar{spoil: func(j *batch.Job, r *batch.Results) {
			i := row(j, r, batch.Separated, "frustum")
			r.Distance().Set(i, r.Distance().At(i)+float64(r.Gap()[i]))
			r.Gap()[i] = 0
		}}, all, "(frustum × "},
		{"NaN", liar{spoil: func(j *batch.Job, r *batch.Results) {
			r.Distance().Set(row(j, r, batch.Separated, "segment"), math.NaN())
		}}, all, "segment"},
		{"refuses what it should do", liar{check: func(*batch.Options) error { return broken }}, all, broken.Error()},
		{"refuses what its table has", liar{check: func(o *batch.Options) error {
			return fmt.Errorf("query distance: %w", batch.ErrNotAvailable)
		}}, all, "refuses the configuration"},
		{"accepts what its table lacks", liar{lacks: true}, all, "that its table lacks"},
		{"refuses and runs", liar{lacks: true, check: func(o *batch.Options) error {
			return fmt.Errorf("query distance: %w", batch.ErrNotAvailable)
		}}, all, ""}, // the dispatcher does not run it: unavailable, and no fault
		{"refuses without words", liar{lacks: true, check: func(*batch.Options) error {
			return batch.ErrNotAvailable
		}}, all, "names neither"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.liar.Backend = honest
			v := rows.Check(t.Context(), tt.liar, tt.options)
			switch {
			case tt.want == "" && v.Count != 0:
				t.Fatalf("%d faults found where there are none: %q", v.Count, v.Faults)
			case tt.want == "":
			case v.OK() || !strings.Contains(strings.Join(v.Faults, "\n"), tt.want):
				t.Fatalf("want a fault with %q, got %d faults: %q", tt.want, v.Count, v.Faults)
			}
		})
	}
}

// narrow is a back end that does not support growth.
type narrow struct{ dispatch.Backend }

func (n narrow) Serves() batch.Serves {
	growth := func(r batch.Served) bool { return r.Query == batch.Growth }
	return slices.DeleteFunc(slices.Clone(n.Backend.Serves()), growth)
}

func (n narrow) Plan(o *batch.Options) (batch.Plan, error) {
	if err := n.Serves().Check(n.Name(), o); err != nil {
		return nil, err
	}
	return n.Backend.Plan(o)
}

// TestMatrixShowsFailure: a failed row makes its shapes fail in the page, and what
// never ran is not yet supported.
func TestMatrixShowsFailure(t *testing.T) {
	rows, err := NewRows(7, 5)
	if err != nil {
		t.Fatal(err)
	}
	var m Matrix
	o := batch.Options{}
	spoil := func(j *batch.Job, r *batch.Results) {
		i := row(j, r, batch.Separated, "cone")
		r.Distance().Set(i, r.Distance().At(i)*2)
	}
	m.Declare(narrow{dispatch.Label(cpu.NewReference(), "cpu")})
	m.Note("cpu", o, rows, rows.Check(t.Context(), liar{Backend: cpu.NewReference(), spoil: spoil}, o))
	page := m.Markdown(page)
	for _, want := range []string{
		"| cone | single fails | not yet | not yet | not yet | not yet |",
		"| superquadric | single | not yet | not yet | not yet | not yet |",
		"| smooth_hull | single | not yet | not yet | not yet | not yet |",
		"✗", "### Query growth\n\nNot served.", "has [a page of its own]", "## Back end ref\n\nNot yet.",
		"That was so in 0 runs of",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// TestPlacements: what placement says of a row does not come from a solver, and
// every relation is there in numbers.
func TestPlacements(t *testing.T) {
	rows, err := NewRows(3, 1)
	if err != nil {
		t.Fatal(err)
	}
	var count [Nonsense + 1]int
	for i, e := range rows.Expect {
		count[e.Relation]++
		if e.Relation != Nonsense && !(e.Round > 0 && e.Round < 1e-11) {
			t.Fatalf("%s: rounding %g", rows.Describe(i), e.Round)
		}
		if far := math.Abs(rows.Pairs.PositionA[3*i]) + math.Abs(rows.Pairs.PositionA[3*i+1]) +
			math.Abs(rows.Pairs.PositionA[3*i+2]); (far > away/2) != placements[rows.placement[i]].far {
			t.Fatalf("%s: A stands %g m from the origin", rows.Describe(i), far)
		}
	}
	for r, n := range count {
		if n < 4 {
			t.Errorf("%d rows of relation %d", n, r)
		}
	}
	if kinds := len(rows.Forms); rows.Len() < 4*kinds*(kinds-1)*len(placements) {
		t.Errorf("%d rows, want each of %d shapes against each, twice with margins", rows.Len(), kinds)
	}
}
