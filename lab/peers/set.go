package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dataset"
	"clearance/dataset/generate"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// ErrUnsupported is wrapped by the error of a contestant that has no such shapes.
var ErrUnsupported = errors.New("not supported")

// Set is a set of pairs with the answers that are known to be right.
type Set struct {
	Name       string
	ShapesPath string // JSON for drivers, with the triangles of hulls
	Library    *batch.Library
	Pairs      *batch.Pairs
	Truth      []Truth // of signed distances

	growth []Truth // of growth distances, solved when first asked for
	dir    string
	parts  map[Rows]*Part
}

// Truth is the certified answer to one pair: the signed distance, or the growth
// distance, lies in Distance ± Gap. Touch is that of shapes that touch, 0 or 1.
type Truth struct {
	Distance, Gap, Touch float64
}

// certain returns what is certified about the pair; Failed means nothing is.
func (t Truth) certain() Verdict {
	switch {
	case t.Distance-t.Gap > t.Touch:
		return Separated
	case t.Distance+t.Gap < t.Touch:
		return Penetrating
	}
	return Failed
}

// NewSet generates n pairs of a set of package generate, solves them with the
// reference in double precision, and writes the files of the drivers into dir.
func NewSet(ctx context.Context, name string, seed uint64, n int, dir string) (*Set, error) {
	gen, err := generate.New(name, seed, generate.Options{})
	if err != nil {
		return nil, err
	}
	pairs := batch.NewPairs(n)
	gen.Fill(pairs, 0)
	return NewSetOf(ctx, name, gen.Library(), pairs, dir)
}

// NewSetOf is NewSet for any pairs.
func NewSetOf(ctx context.Context, name string, lib *batch.Library, pairs *batch.Pairs, dir string) (*Set, error) {
	s := &Set{
		Name: name, Library: lib, Pairs: pairs,
		ShapesPath: filepath.Join(dir, name+".json"), dir: dir, parts: map[Rows]*Part{},
	}
	if err := writeShapes(s.ShapesPath, s.Library); err != nil {
		return nil, err
	}
	var err error
	s.Truth, err = solve(ctx, s.Library, s.Pairs, batch.Distance)
	return s, err
}

// truth returns what is known of the value that a question asks for.
func (s *Set) truth(ctx context.Context, q *Question) ([]Truth, error) {
	if q.wants != wantGrowth {
		return s.Truth, nil
	}
	var err error
	if s.growth == nil {
		s.growth, err = solve(ctx, s.Library, s.Pairs, batch.Growth)
	}
	return s.growth, err
}

// solve has the reference answer all pairs.
func solve(ctx context.Context, lib *batch.Library, pairs *batch.Pairs, query batch.Query) ([]Truth, error) {
	b, err := cpu.New(cpu.Options{SIMD: "off"})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	o := batch.Options{Query: query, Precision: batch.Double,
		Columns: batch.ColDistance | batch.ColGap | batch.ColStatus}
	res := batch.NewResults(pairs.Len(), &o)
	if err := b.Run(ctx, &batch.Job{Library: lib, Input: pairs, Options: o}, 0, pairs.Len(), res); err != nil {
		return nil, err
	}
	truth := make([]Truth, pairs.Len())
	for i := range truth {
		if batch.Status(res.Status()[i]) >= batch.Undecided {
			return nil, fmt.Errorf("the reference leaves pair %d %v; nothing can be judged by it", i,
				batch.Status(res.Status()[i]))
		}
		truth[i] = Truth{res.Distance().F64[i], float64(res.Gap()[i]), query.Info().Touch}
	}
	return truth, nil
}

// Part returns the pairs of a question and the truth about them.
func (s *Set) Part(ctx context.Context, q *Question) (*Part, []Truth, error) {
	all, err := s.truth(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	var rows []int
	for i := range s.Pairs.Len() {
		if q.Rows.has(i) {
			rows = append(rows, i)
		}
	}
	truth := make([]Truth, len(rows))
	for k, i := range rows {
		truth[k] = all[i]
	}
	if p := s.parts[q.Rows]; p != nil {
		return p, truth, nil
	}
	p := &Part{Path: filepath.Join(s.dir, fmt.Sprintf("%s-%d.npz", s.Name, q.Rows)), Pairs: batch.NewPairs(len(rows))}
	var row batch.Row
	for k, i := range rows {
		s.Pairs.Row(i, &row)
		p.Pairs.SetRow(k, &row)
	}
	if err := dataset.WritePairs(p.Path, p.Pairs); err != nil {
		return nil, nil, err
	}
	s.parts[q.Rows] = p
	return p, truth, nil
}

// driverShape is an entry of the file of shapes that drivers read: the names of
// shapes.json, and for hulls the triangles of the surface.
type driverShape struct {
	Kind        string       `json:"kind"`
	HalfExtents []float64    `json:"half_extents,omitempty"`
	SemiAxes    []float64    `json:"semi_axes,omitempty"`
	Radius      float64      `json:"radius,omitempty"`
	HalfLength  float64      `json:"half_length,omitempty"`
	Vertices    [][3]float64 `json:"vertices,omitempty"`
	Triangles   [][3]int32   `json:"triangles,omitempty"`
}

func writeShapes(path string, lib *batch.Library) error {
	var file struct {
		Shapes []driverShape `json:"shapes"`
	}
	for i := range lib.Len() {
		s, err := newDriverShape(lib.Shape(int32(i)))
		if err != nil {
			return fmt.Errorf("shape %d: %w", i, err)
		}
		file.Shapes = append(file.Shapes, s)
	}
	data, err := json.Marshal(file)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

func newDriverShape(shape geom.Shape) (driverShape, error) {
	d := driverShape{Kind: shape.Kind().String()}
	list := func(v r3.Vec) []float64 { return []float64{v.X, v.Y, v.Z} }
	switch s := shape.(type) {
	case geom.Box:
		d.HalfExtents = list(s.HalfExtents)
	case geom.Ellipsoid:
		d.SemiAxes = list(s.SemiAxes)
	case geom.Capsule:
		d.Radius, d.HalfLength = s.R, s.HalfLength
	case geom.Cylinder:
		d.Radius, d.HalfLength = s.R, s.HalfLength
	case geom.Cone:
		d.Radius, d.HalfLength = s.R, s.HalfLength
	case *geom.Convex:
		h := s.Hull()
		if h.Dim != 3 {
			return d, fmt.Errorf("%w: a hull without volume", ErrUnsupported)
		}
		for _, v := range h.Vertices {
			d.Vertices = append(d.Vertices, [3]float64{v.X, v.Y, v.Z})
		}
		d.Triangles = h.Facets
	default:
		return d, fmt.Errorf("%w: peers are compared on boxes, ellipsoids, capsules, cylinders, cones and hulls, not "+
			"on %v", ErrUnsupported, shape.Kind())
	}
	return d, nil
}
