package batch

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// Every query has a row that says what it is, and no two have one name.
func TestQueryTable(t *testing.T) {
	names := map[string]bool{}
	for q := range QueryCount {
		info := q.Info()
		if info.Name == "" || info.Value == "" || info.Columns == 0 || names[info.Name] {
			t.Errorf("query %d: the row %+v lacks something, or another one has its name", q, *info)
		}
		names[info.Name] = true
		if info.Answered && !(info.CurvedTolerance >= DoubleTolerance && info.CurvedTolerance < SingleTolerance) {
			t.Errorf("query %v is answered for curved shapes within %g in double precision", q, info.CurvedTolerance)
		}
		if info.Boolean() && info.Depth {
			t.Errorf("query %v has a depth and no distance", q)
		}
	}
	if info := QueryCount.Info(); !reflect.ValueOf(*info).IsZero() {
		t.Errorf("what is no query is %+v", *info)
	}
}

// A query that no back end answers is refused by name, and so is a code that is no query.
func TestUnansweredQueries(t *testing.T) {
	was := queries[Growth].Answered
	t.Cleanup(func() { queries[Growth].Answered = was })
	queries[Growth].Answered = false
	refused := 0
	for q := range QueryCount + 3 {
		err := (&Options{Query: q}).Check()
		if q.Info().Answered != (err == nil) {
			t.Errorf("query %v: %v", q, err)
		}
		if err == nil {
			continue
		}
		refused++
		if !strings.Contains(err.Error(), q.String()) || q < QueryCount && !errors.Is(err, ErrNotAvailable) {
			t.Errorf("query %v is refused with %q", q, err)
		}
	}
	if refused != 4 {
		t.Errorf("%d queries refused", refused)
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		rule        ToleranceRule
		value, want float64
	}{{OfPairSize, -7, 3}, {OfPairSize, 100, 3}, {OfValue, 0.5, 1}, {OfValue, 40, 40}} {
		if got := c.rule.Scale(3, c.value); got != c.want {
			t.Errorf("rule %d, value %g: scale %g, want %g", c.rule, c.value, got, c.want)
		}
	}
}

// A back end serves what its table lists and nothing else.
func TestServes(t *testing.T) {
	s := Serves{
		{Distance, []Method{Auto, GJK}, []Precision{Single, Double}, 0},
		{Distance, []Method{RTR}, []Precision{Double}, 0},
		{Collide, []Method{Auto}, []Precision{Single}, ColStatus | ColBits},
	}
	listed := map[[3]uint8]bool{
		{uint8(Distance), uint8(Auto), uint8(Single)}: true, {uint8(Distance), uint8(Auto), uint8(Double)}: true,
		{uint8(Distance), uint8(GJK), uint8(Single)}: true, {uint8(Distance), uint8(GJK), uint8(Double)}: true,
		{uint8(Distance), uint8(RTR), uint8(Double)}: true, {uint8(Collide), uint8(Auto), uint8(Single)}: true,
	}
	for q := range QueryCount + 1 {
		for m := range MethodCount + 1 {
			for p := range PrecisionCount + 1 {
				o := Options{Query: q, Method: m, Precision: p}
				want := listed[[3]uint8{uint8(q), uint8(m), uint8(p)}]
				err := s.Check("toy", &o)
				if s.Has(&o) != want || want != (err == nil) {
					t.Errorf("%v, %v, %v: served %t, %v", q, m, p, s.Has(&o), err)
				}
				if err == nil {
					continue
				}
				text := err.Error()
				if !errors.Is(err, ErrNotAvailable) || !strings.Contains(text, "toy") ||
					!strings.Contains(text, q.String()) {
					t.Errorf("%v, %v, %v: %q names neither the back end nor the query", q, m, p, err)
				}
			}
		}
	}
	if Serves(nil).Query(Distance) || !s.Query(Collide) || s.Query(Growth) {
		t.Error("wrong list of queries")
	}
}
