package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/ref"
)

// Options configure the suite. The zero value is the default.
type Options struct {
	// Seed draws rotations and directions; 0 is 1.
	Seed uint64

	// Stride keeps one row in so many, for slow machines; 0 keeps all, or one in
	// eight with -short.
	Stride int

	// Methods are those to ask for; nil is all.
	Methods []batch.Method

	// Matrix, if not nil, takes down what ran and how it ended.
	Matrix *Matrix

	// Solvers, if not nil, takes down what ended the rows of a back end that is called
	// SolversOf on the page.
	Solvers   *Matrix
	SolversOf string

	// Elsewhere, if not nil, says that another back end answered a row in a
	// configuration; its solver is not taken down.
	Elsewhere func(o batch.Options, row int) bool
}

// cache holds the rows of the last seed and stride, so that the back ends of one
// test binary share them.
var cache struct {
	sync.Mutex
	seed   uint64
	stride int
	rows   *Rows
}

func cachedRows(seed uint64, stride int) (*Rows, error) {
	cache.Lock()
	defer cache.Unlock()
	if cache.rows == nil || cache.seed != seed || cache.stride != stride {
		rows, err := NewRows(seed, stride)
		if err != nil {
			return nil, err
		}
		cache.seed, cache.stride, cache.rows = seed, stride, rows
	}
	return cache.rows, nil
}

// Run runs the suite on a back end: every query, precision and method, a sub-test
// each. The back end stays open.
func Run(t *testing.T, backend dispatch.Backend, o Options) {
	t.Helper()
	if d := backend.Device(); !d.Usable() {
		t.Fatalf("back end %s is not usable: %s", backend.Name(), d.Reason)
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Stride == 0 {
		o.Stride = 1
		if testing.Short() {
			o.Stride = 8
		}
	}
	rows, err := cachedRows(o.Seed, o.Stride)
	if err != nil {
		t.Fatal(err)
	}
	if o.Matrix != nil {
		o.Matrix.Declare(backend)
	}
	for q := range batch.QueryCount {
		for p := range batch.PrecisionCount {
			for m := range batch.MethodCount {
				if o.Methods != nil && !slices.Contains(o.Methods, m) {
					continue
				}
				options := batch.Options{Query: q, Precision: p, Method: m}
				t.Run(fmt.Sprintf("%v/%v/%v", q, p, m), func(t *testing.T) {
					v := rows.Check(t.Context(), backend, options)
					if o.Matrix != nil {
						o.Matrix.Note(backend.Name(), options, rows, v)
					}
					if o.Solvers != nil {
						o.Solvers.NoteSolvers(o.SolversOf, options, rows, v, o.Elsewhere)
					}
					report(t, v)
				})
			}
		}
	}
}

// report turns a verdict into the outcome of a test.
func report(t *testing.T, v *Verdict) {
	t.Helper()
	for _, f := range v.Faults {
		t.Error(f)
	}
	if more := v.Count - len(v.Faults); more > 0 {
		t.Errorf("and %d more faults", more)
	}
	if v.Unavailable {
		return
	}
	for _, s := range []batch.Status{batch.Separated, batch.Touching, batch.Penetrating} {
		if v.Status[s] < v.Rows/20 {
			t.Errorf("%d of %d rows are %v; the suite does not put that to the test", v.Status[s], v.Rows, s)
		}
	}
	t.Logf(
		"%d rows: %d separated, %d touching, %d penetrating, %d invalid",
		v.Rows,
		v.Status[batch.Separated],
		v.Status[batch.Touching],
		v.Status[batch.Penetrating],
		v.Status[batch.Invalid],
	)
}

// Rows is the input of the suite with what is known of every row.
type Rows struct {
	Forms   []Form
	Library *batch.Library
	Pairs   *batch.Pairs

	Expect []Expect
	Truth  []ref.Result // a reference solve of every row; zero where it is refused

	placement []int // index into placements

	once   sync.Once
	growth []ref.Result // see growthTruth
}

// NewRows places every form against every form, without margins, with one and with
// both, in every placement, and solves each row with package ref. Of every stride
// rows it keeps one, of other cells in every placement; 1 keeps all. Pairs that make no sense
// are always there.
func NewRows(seed uint64, stride int) (*Rows, error) {
	r := &Rows{Forms: Forms()}
	all, names := shapes(r.Forms)
	var err error
	if r.Library, err = batch.NewLibrary(all, names); err != nil {
		return nil, err
	}
	var rows []batch.Row
	rng := rand.New(rand.NewPCG(seed, 0))
	for a := range all {
		for b := range all {
			for k := range placements {
				row, e := place(rng, r.Library, int32(a), int32(b), &placements[k])
				nonsense := e.Relation == Nonsense // once, wherever it stands
				if nonsense && k > 0 || !nonsense && (len(all)*a+b+k)%stride != 0 {
					continue
				}
				rows = append(rows, row)
				r.Expect = append(r.Expect, e)
				r.placement = append(r.placement, k)
			}
		}
	}
	r.Pairs = batch.NewPairs(len(rows))
	r.Truth = make([]ref.Result, len(rows))
	var ws ref.Workspace
	for i := range rows {
		row := &rows[i]
		r.Pairs.SetRow(i, row)
		if r.Expect[i].Relation == Nonsense {
			continue
		}
		p := ref.NewPair(r.Library.Shape(row.ShapeA), r.Library.Shape(row.ShapeB), row.PoseA, row.PoseB)
		r.Truth[i] = ref.Solve(&p, ref.Options{}, &ws)
	}
	return r, nil
}

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.Expect) }

// Describe names a row: its shapes, and how they are placed.
func (r *Rows) Describe(i int) string {
	return fmt.Sprintf("row %d (%s × %s, %s)", i,
		r.Library.Name(r.Pairs.ShapeA[i]), r.Library.Name(r.Pairs.ShapeB[i]), placements[r.placement[i]].name)
}
