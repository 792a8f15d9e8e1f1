package batch

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"
)

// TestExtendedLibrary compares libraries that were extended in steps with one that was made at once. Two that extend
// the same library do not see the shapes of each other.
func TestExtendedLibrary(t *testing.T) {
	ball := func(r float64) geom.Shape { return geom.Sphere{R: r} }
	first, err := NewLibrary([]geom.Shape{ball(3), geom.Halfspace{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var stated Attributes
	stated.Set(geom.AttributeCenter, 3, []float64{0.5, 0, 0})
	one, err := first.Extended([]geom.Shape{ball(2), ball(1)}, []string{"two", "one"}, &stated)
	if err != nil {
		t.Fatal(err)
	}
	other, err := first.Extended([]geom.Shape{ball(9), ball(8), ball(7)}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	last, err := one.Extended([]geom.Shape{geom.WithMargin(geom.Halfspace{}, 0.25)}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := NewLibrary([]geom.Shape{ball(3), geom.Halfspace{}, ball(2), ball(1),
		geom.WithMargin(geom.Halfspace{}, 0.25)}, []string{"", "", "two", "one", ""})
	if err == nil {
		want, err = want.WithAttributes(&stated)
	}
	if err != nil {
		t.Fatal(err)
	}
	if last.Len() != want.Len() || one.Len() != 4 || first.Len() != 2 || other.Len() != 5 {
		t.Fatalf("%d, %d, %d and %d shapes", last.Len(), one.Len(), first.Len(), other.Len())
	}
	for i := range int32(want.Len()) {
		if last.Shape(i) != want.Shape(i) || last.Name(i) != want.Name(i) ||
			last.GrowthInradius(i) != want.GrowthInradius(i) || last.GrowthCenter(i) != want.GrowthCenter(i) {
			t.Errorf("shape %d is %v %q, want %v %q", i, last.Shape(i), last.Name(i), want.Shape(i), want.Name(i))
		}
		if !slices.Equal(last.Attribute(geom.AttributeCenter, i), want.Attribute(geom.AttributeCenter, i)) ||
			last.PairSize(i, 0) != want.PairSize(i, 0) || last.CheckPair(i, 1) != want.CheckPair(i, 1) {
			t.Errorf("shape %d has other values", i)
		}
	}
	if last.MinPairSize() != want.MinPairSize() || other.Shape(2) != ball(9) {
		t.Errorf("MinPairSize is %g, want %g; shape 2 of the other library is %v", last.MinPairSize(),
			want.MinPairSize(), other.Shape(2))
	}
}

func TestExtendedRefuses(t *testing.T) {
	l := testLibrary(t)
	good := geom.Sphere{R: 1}
	var wrong, outside Attributes
	wrong.Set(geom.AttributeCenter, 5, []float64{9, 0, 0})
	outside.Set(geom.AttributeCenter, 0, []float64{0, 0, 0})
	var e *ShapeError
	_, err := l.Extended([]geom.Shape{good, geom.Sphere{}}, []string{"a", "b"}, nil)
	if testkit.WantError(t, err, "shape 5", `"b"`, "radius"); !errors.As(err, &e) || e.Index != 5 {
		t.Errorf("%v is not the error of shape 5", err)
	}
	_, err = l.Extended([]geom.Shape{good, good}, nil, &wrong)
	testkit.WantError(t, err, "shape 5", "center")
	_, err = l.Extended([]geom.Shape{good}, nil, &outside)
	testkit.WantError(t, err, "shape 0", "[4, 5)")
	_, err = l.Extended([]geom.Shape{good}, []string{"a", "b"}, nil)
	testkit.WantError(t, err, "2 names")
	_, err = l.Extended(slices.Repeat([]geom.Shape{good}, MaxShapes), nil, nil)
	testkit.WantError(t, err, "at most 1048576")
	if l.Len() != 4 {
		t.Error("a refused extension changed the library")
	}
}

// TestPrepared makes a value once however many goroutines ask for it, hands on what was made of a library that is
// extended, past one that nothing was made of, and does not keep a failure.
func TestPrepared(t *testing.T) {
	type key struct{}
	first := testLibrary(t)
	made := 0
	prepare := func(of any, shapes int) (any, error) {
		made++
		before, _ := of.([]int)
		return append(slices.Clip(before), shapes), nil
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if v, err := first.Prepared(key{}, prepare); err != nil || !slices.Equal(v.([]int), []int{0}) {
				t.Errorf("%v, %v", v, err)
			}
		})
	}
	group.Wait()
	if made != 1 {
		t.Errorf("made %d times", made)
	}
	second, err := first.Extended([]geom.Shape{geom.Sphere{R: 1}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	third, err := second.Extended([]geom.Shape{geom.Sphere{R: 1}, geom.Sphere{R: 2}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no memory")
	if _, err := third.Prepared(key{}, func(any, int) (any, error) { return nil, failure }); err != failure {
		t.Errorf("error %v", err)
	}
	if v, err := third.Prepared(key{}, prepare); err != nil || !slices.Equal(v.([]int), []int{0, 4}) {
		t.Errorf("%v, %v: want what was made of the first 4 shapes handed on", v, err)
	}
	changed, err := third.WithAttributes(&Attributes{})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := changed.Prepared(key{}, prepare); err != nil || !slices.Equal(v.([]int), []int{0}) {
		t.Errorf("%v, %v: other attributes may change what is made", v, err)
	}
}
