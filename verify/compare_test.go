package verify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/verify"

	"gonum.org/v1/gonum/spatial/r3"
)

func compare(t testing.TB, job *batch.Job, o verify.CompareOptions) *verify.Comparison {
	t.Helper()
	c, err := verify.Compare(context.Background(), job, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCompareAgrees(t *testing.T) {
	lib := newLibrary(t, mixedShapes()...)
	in := randomPairs(lib, 400, 13, r3.Vec{X: 5})
	for _, o := range []batch.Options{
		{}, {Precision: batch.Double}, {Query: batch.Collide}, {Query: batch.Penetration},
		{HasCutOff: true, CutOff: 0.05}, {Columns: batch.ColDistance},
		{Columns: batch.ColDistance, Precision: batch.Double},
		{Query: batch.Collide, Columns: batch.ColBits},
	} {
		job := solved(t, lib, in, o)
		if o.Columns == batch.ColBits {
			status := solved(t, lib, in, batch.Options{Query: batch.Collide})
			job.Results.PackBits(status.Results.Status())
		}
		c := compare(t, job, verify.CompareOptions{})
		if !c.OK() || c.Compared != in.Len() || c.RefUndecided != 0 || c.Unanswered != 0 {
			var b bytes.Buffer
			c.WriteText(&b)
			t.Errorf("%+v:\n%s", o, b.String())
		}
		if job.Results.Distance().Len() != 0 {
			if c.Distances != in.Len() {
				t.Errorf("%+v: %d distances compared", o, c.Distances)
			}
			if tol := max(o.EffectiveTolerance(1), batch.DoubleCurvedDepthTolerance); o.Query == batch.Distance &&
				!o.HasCutOff && float64(c.WorstError) > tol {
				t.Errorf("%+v: worst error %g of the size, want at most %g", o, c.WorstError, tol)
			}
		}
	}
}

func TestCompareClosedForms(t *testing.T) {
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		job, cases := closedJob(t, precision, r3.Vec{})
		if c := compare(t, job, verify.CompareOptions{}); !c.OK() || c.Compared != len(cases) {
			t.Errorf("%v: true answers refused: %+v", precision, c)
		}
		for i := range cases {
			job, _ := closedJob(t, precision, r3.Vec{})
			job.Results.Distance().Set(i, job.Results.Distance().At(i)-bound(job, i))
			c := compare(t, job, verify.CompareOptions{})
			if c.WrongDistances != 1 || c.Wrong() != 1 || c.Worst[0].Row != i || !c.Worst[0].Failed {
				t.Errorf("%v: wrong distance of %s: %+v", precision, cases[i].name, c)
			}
			// Separated and penetrating exclude each other; so does touching of a
			// pair that is neither close nor in contact.
			job, _ = closedJob(t, precision, r3.Vec{})
			job.Results.Status()[i] = uint8(batch.Penetrating) - job.Results.Status()[i]
			if c := compare(t, job, verify.CompareOptions{}); cases[i].distance != 0 && c.WrongStatuses != 1 {
				t.Errorf("%v: wrong status of %s: %+v", precision, cases[i].name, c)
			}
			job.Results.Status()[i] = uint8(batch.Touching)
			if c := compare(t, job, verify.CompareOptions{}); (c.WrongStatuses == 1) != (cases[i].distance != 0) {
				t.Errorf("%v: %s called touching: %+v", precision, cases[i].name, c)
			}
			job.Results.Status()[i] = uint8(batch.Undecided)
			if c := compare(t, job, verify.CompareOptions{}); c.Unanswered != 1 || !c.OK() {
				t.Errorf("%v: undecided %s: %+v", precision, cases[i].name, c)
			}
			job.Results.Status()[i] = 77
			if c := compare(t, job, verify.CompareOptions{}); c.WrongStatuses != 1 {
				t.Errorf("%v: status 77 passed", precision)
			}
		}
	}
}

func TestCompareSample(t *testing.T) {
	lib := newLibrary(t, mixedShapes()...)
	in := randomPairs(lib, 1000, 17, r3.Vec{})
	job := solved(t, lib, in, batch.Options{})
	for i := range in.Len() {
		job.Results.Distance().Set(i, job.Results.Distance().At(i)+1) // every row is wrong
	}
	var want []byte
	for _, workers := range []int{1, 3} {
		c := compare(t, job, verify.CompareOptions{Sample: 150, Seed: 4, Workers: workers, Worst: 150, FirstRow: 5000})
		if c.Compared != 150 || c.WrongDistances != 150 {
			t.Fatalf("%d compared, %d wrong, want 150", c.Compared, c.WrongDistances)
		}
		var rows []int
		for _, w := range c.Worst {
			rows = append(rows, w.Row)
		}
		slices.Sort(rows)
		if rows[0] < 5000 || rows[149] >= 6000 || len(slices.Compact(rows)) != 150 {
			t.Errorf("rows %v are not 150 different ones of the job", rows)
		}
		got, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d workers give another comparison", workers)
		}
	}
	a := compare(t, job, verify.CompareOptions{Sample: 150, Seed: 4})
	b := compare(t, job, verify.CompareOptions{Sample: 150, Seed: 5})
	if a.Worst[0].Row == b.Worst[0].Row && a.Worst[1].Row == b.Worst[1].Row && a.Worst[2].Row == b.Worst[2].Row {
		t.Error("the seed does not choose the rows")
	}
	if all := compare(t, job, verify.CompareOptions{Sample: 5000}); all.Compared != 1000 {
		t.Errorf("a sample larger than the job compared %d rows", all.Compared)
	}
	var text bytes.Buffer
	if err := a.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "150 of 1000 rows solved anew: 150 wrong (150 distances, 0 statuses)") {
		t.Errorf("text:\n%s", text.String())
	}
}
