package generate

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"

	"clearance/batch"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// DefaultShapes is the number of shapes of a library unless Options say otherwise.
const DefaultShapes = 256

// Options of a set. The zero value is the default of every set but mesh.
type Options struct {
	// Meshes are the files, or directories of files, of the set mesh; the others
	// take none. Of a file named *_parts.obj each group is a convex shape; of any
	// other the hull of the whole is one.
	Meshes []string

	// Shapes is the number of shapes of the library, 0 for [DefaultShapes]. The
	// sets adversarial and mesh have as many as there are.
	Shapes int
}

// Generator makes the rows of one set.
type Generator struct {
	set     string
	seed    uint64
	library *batch.Library
	draw    func(g *Generator, w *worker, i int) plan
	kinds   [][]int32 // mixed: the shapes of each kind; adversarial: of each role
	pool    sync.Pool // of *worker
}

// worker is the scratch memory of one goroutine.
type worker struct {
	rand *random
	ws   ref.Workspace
}

// plan says how a row is to be placed.
type plan struct {
	a, b   int32
	rotA   bool    // whether A is rotated at random, else it has the axes of the world
	rotB   rotB    // how B is rotated
	target float64 // separation
	origin float64 // the pair lies this far from the origin of the world, metres
	keep   bool    // a pair that the solver cannot place exactly stays in the set
	fixed  *fixed  // if not nil, the row is not placed by the solver
}

type rotB uint8

const (
	rotRandom rotB = iota // B is rotated at random
	rotSame               // B has the rotation of A
)

// sets in the order of Names.
var sets = []struct {
	name  string
	shape func(r *random, i int) geom.Shape // shape i of the library
}{
	{"ellipsoids", func(r *random, i int) geom.Shape { return geom.Ellipsoid{SemiAxes: r.lengths()} }},
	{"boxes", func(r *random, i int) geom.Shape { return geom.Box{HalfExtents: r.lengths()} }},
	{"capsule-cylinder-cone", roundShape},
	{"hull8", func(r *random, i int) geom.Shape { return randomHull(r, 8) }},
	{"hull32", func(r *random, i int) geom.Shape { return randomHull(r, 32) }},
	{"hull128", func(r *random, i int) geom.Shape { return randomHull(r, 128) }},
	{"hull512", func(r *random, i int) geom.Shape { return randomHull(r, 512) }},
	{"mixed", mixedShape},
	{"adversarial", nil},
	{"mesh", nil},
}

// Names returns the names of the sets.
func Names() []string {
	var s []string
	for _, set := range sets {
		s = append(s, set.name)
	}
	return s
}

// New prepares a set: it builds the library, but no rows. The error names the
// unknown set, the wrong option, or the mesh that cannot be read.
func New(set string, seed uint64, o Options) (*Generator, error) {
	i := slices.Index(Names(), set)
	if i < 0 {
		return nil, fmt.Errorf("generate: unknown set %q, want one of %s", set, strings.Join(Names(), ", "))
	}
	if set != "mesh" && len(o.Meshes) > 0 {
		return nil, fmt.Errorf("generate: set %s takes no meshes, set mesh does", set)
	}
	if o.Shapes < 0 || o.Shapes > batch.MaxShapes {
		return nil, fmt.Errorf("generate: %d shapes, want 1 to %d", o.Shapes, batch.MaxShapes)
	}
	if o.Shapes == 0 {
		o.Shapes = DefaultShapes
	}
	h := fnv.New64a()
	h.Write([]byte(set))
	g := &Generator{set: set, seed: mix(seed) ^ h.Sum64()}
	g.pool.New = func() any { return &worker{rand: newRandom()} }
	if err := g.build(sets[i].shape, &o); err != nil {
		return nil, fmt.Errorf("generate: set %s: %w", set, err)
	}
	return g, nil
}

// build makes the library and chooses how rows are drawn.
func (g *Generator) build(shape func(*random, int) geom.Shape, o *Options) (err error) {
	var shapes []geom.Shape
	var names []string
	switch g.set {
	case "adversarial":
		shapes, names, g.kinds = adversarialShapes(g.seed)
		g.draw = (*Generator).drawAdversarial
	case "mesh":
		if shapes, names, err = meshShapes(o.Meshes); err != nil {
			return err
		}
		g.draw = (*Generator).drawPlain
	default:
		r := newRandom()
		for i := range o.Shapes {
			r.seed(g.seed, streamShapes, i)
			shapes = append(shapes, shape(r, i))
		}
		g.draw = (*Generator).drawPlain
	}
	if g.set == "mixed" {
		if g.kinds, err = byKind(shapes); err != nil {
			return err
		}
		g.draw = (*Generator).drawMixed
	}
	g.library, err = batch.NewLibrary(shapes, names)
	return err
}

// Library returns the shapes that rows index.
func (g *Generator) Library() *batch.Library { return g.library }

// Fill sets all rows of dst to rows first, first+1, … of the set.
func (g *Generator) Fill(dst *batch.Pairs, first int) {
	w := g.pool.Get().(*worker)
	defer g.pool.Put(w)
	var row batch.Row
	for i := range dst.Len() {
		g.row(w, first+i, &row)
		dst.SetRow(i, &row)
	}
}

// Separation returns the separation of a row in metres: exact where it is
// positive, minus an upper bound of the depth where it is negative, both up to
// 1e-11 of the size of the pair. It is NaN if the row was not placed at one. It
// costs as much as filling the row.
func (g *Generator) Separation(row int) float64 {
	w := g.pool.Get().(*worker)
	defer g.pool.Put(w)
	var r batch.Row
	return g.row(w, row, &r)
}

// row makes row i and returns its separation.
func (g *Generator) row(w *worker, i int, row *batch.Row) float64 {
	w.rand.seed(g.seed, streamRows, i)
	p := g.draw(g, w, i)
	return g.place(w, &p, row)
}

// drawPlain draws two shapes of the library and the separation of the row's third.
func (g *Generator) drawPlain(w *worker, i int) plan {
	p := g.plain(w, i)
	n := g.library.Len()
	p.a, p.b = int32(w.rand.IntN(n)), int32(w.rand.IntN(n))
	return p
}

func (g *Generator) plain(w *worker, i int) plan {
	return plan{rotA: true, rotB: rotRandom, target: third(w.rand, i)}
}

// third draws the separation of row i.
func third(r *random, i int) float64 {
	switch i % 3 {
	case 0:
		return -0.1 * (1 - r.Float64())
	case 1:
		return 0.1 * (1 - r.Float64())
	default:
		return r.uniform(0.1, 2)
	}
}

// drawMixed draws the kinds first, so that every pair of kinds is equally likely.
func (g *Generator) drawMixed(w *worker, i int) plan {
	p := g.plain(w, i)
	for {
		a, b := g.kinds[w.rand.IntN(len(g.kinds))], g.kinds[w.rand.IntN(len(g.kinds))]
		p.a, p.b = a[w.rand.IntN(len(a))], b[w.rand.IntN(len(b))]
		if !g.half(p.a) || !g.half(p.b) {
			return p
		}
	}
}

func (g *Generator) half(i int32) bool { return g.library.Shape(i).Kind().Traits().Unbounded }

// extent is the radius of a shape around its center; that of a half-space is its margin.
func extent(s geom.Shape) float64 {
	if r := s.BoundingRadius(); !math.IsInf(r, 1) {
		return r
	}
	return s.Radius()
}

// center places the center of s at c.
func center(s geom.Shape, pose *geom.Pose, c r3.Vec) {
	m := pose.Matrix()
	pose.Position = r3.Sub(c, m.MulVec(s.Center()))
}
