package conformance

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"clearance/batch"
	"clearance/ref"
)

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
