// Package generate generates seeded sets of pairs: a library of shapes and any number of rows
// with shapes of it, each with a known separation.
//
// # Sets
//
// ellipsoids, boxes, capsule-cylinder-cone, hull8, hull32, hull128 and hull512 are the sets
// for comparisons with other libraries: semi-axes, half-extents, radii and half-lengths are
// log-uniform in 0.1 to 1 m, and hulls are those of 8 to 512 points on such ellipsoids. mixed
// draws every pair of kinds equally often (except two half-spaces), half of the shapes with a
// margin. adversarial cycles through cases that are difficult for solvers, see [Cases]. mesh
// draws pairs of the hulls of given mesh files.
//
// # Separations
//
// Row i penetrates by up to 0.1 m if i mod 3 is 0, has a distance of up to 0.1 m if it is 1,
// and of 0.1 to 2 m if it is 2; the separations of adversarial rows depend on the case.
// Rotations are uniform and positions lie within 5 m of the origin of the world.
//
// A pair is placed with separated bodies and solved with package ref, and one body is moved
// along the normal. A positive separation is then exact, since the closest points remain
// closest along a fixed normal. A negative one is the overlap of the support planes along that
// normal, an upper bound of the depth, which may be smaller along another normal.
//
// # Determinism
//
// A row depends on the set, the options, the seed and its index alone, so that
// chunks that are filled separately, in any order, agree. Different machines agree
// where their floating-point arithmetic does (compilers for arm64 fuse
// multiplications and additions, those for amd64 do not).
//
// # Layers and threads
//
// generate imports geom, geom/mesh, batch and ref. No other part of dataset needs a solver.
// A Generator is safe for use by several goroutines.
package generate

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/ref"
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

// Limits of a placement.
const (
	// attempts at a pair whose bodies are to overlap. The point at the given depth
	// below the boundary of A − B may lie outside again where the body is thinner
	// than that or its corner acute; the pair is then drawn anew. One draw in ten
	// fails for the worst of the compared sets (hull8), so 40 failures in a row
	// come once in 10^40.
	attempts = 40

	// placed is the largest gap, relative to the size of the pair, with which a
	// solve counts as exact. The solver's default is 1e-12.
	placed = 1e-11

	// spread is the half-width of the cube that positions are drawn in, metres.
	spread = 5
)

// fixed gives the poses of a row that no solver places.
type fixed struct {
	poseA, poseB geom.Pose
	separation   float64 // NaN if unknown
}

// place makes the row that a plan asks for and returns its separation.
func (g *Generator) place(w *worker, p *plan, row *batch.Row) float64 {
	row.ShapeA, row.ShapeB = p.a, p.b
	if p.fixed != nil {
		row.PoseA, row.PoseB = p.fixed.poseA, p.fixed.poseB
		return p.fixed.separation
	}
	a, b := g.library.Shape(p.a), g.library.Shape(p.b)
	target := p.target
	if depth := -target; depth > 0 {
		// No body overlaps by more than it is thick.
		if limit := (thickness(a) + thickness(b)) / 2; depth > limit {
			target = -limit * depth / 0.1
		}
	}
	for range attempts {
		if sep, ok := g.attempt(w, p, a, b, target, row); ok {
			return sep
		}
	}
	return math.NaN()
}

// thickness is the inradius, that of a half-space without limit.
func thickness(s geom.Shape) float64 {
	if s.Kind().Traits().Unbounded {
		return math.Inf(1)
	}
	return s.Inradius()
}

// attempt draws the poses and moves B so that the separation becomes target. It
// reports whether that succeeded.
func (g *Generator) attempt(w *worker, p *plan, a, b geom.Shape, target float64, row *batch.Row) (float64, bool) {
	r := w.rand
	row.PoseA, row.PoseB = geom.IdentityPose(), geom.IdentityPose()
	if p.rotA {
		row.PoseA.Rotation = r.rotation()
	}
	switch p.rotB {
	case rotRandom:
		row.PoseB.Rotation = r.rotation()
	case rotSame:
		row.PoseB.Rotation = row.PoseA.Rotation
	}
	at := r.position(spread)
	if p.origin > 0 {
		at = r3.Add(at, r3.Scale(p.origin, r.unit()))
	}
	center(a, &row.PoseA, at)
	separate(r, a, b, row)

	pair := ref.NewPair(a, b, row.PoseA, row.PoseB)
	res := ref.Solve(&pair, ref.Options{}, &w.ws)
	exact := res.Upper-res.Lower <= placed*pair.Size()+2*pair.Roundoff()
	if !(exact || p.keep) || !geom.Finite(res.Normal) || !(math.Abs(res.Distance) < math.MaxFloat64) {
		return math.NaN(), false
	}
	n := pair.DirToWorld(res.Normal)
	before := row.PoseB.Position
	row.PoseB.Position = r3.Add(before, r3.Scale(target-res.Distance, n))
	// The separation that the rounded position has.
	sep := res.Distance + r3.Dot(n, r3.Sub(row.PoseB.Position, before))
	if !exact {
		sep = math.NaN()
	}
	if target >= 0 {
		return sep, true
	}
	pair = ref.NewPair(a, b, row.PoseA, row.PoseB)
	res = ref.Solve(&pair, ref.Options{Boolean: true}, &w.ws)
	return sep, res.Status == ref.Penetrating
}

// separate places B clearly apart from A, in a random direction; a half-space has its
// outward side to choose from only.
func separate(r *random, a, b geom.Shape, row *batch.Row) {
	ra, rb := extent(a), extent(b)
	d := r.unit()
	gap := (1 + r.Float64()) * max(ra, rb)
	mA, mB := row.PoseA.Matrix(), row.PoseB.Matrix()
	switch {
	case a.Kind().Traits().Unbounded:
		d = outward(&mA, d)
	case b.Kind().Traits().Unbounded:
		d = r3.Scale(-1, outward(&mB, d))
	}
	centerA := row.PoseA.Apply(a.Center())
	center(b, &row.PoseB, r3.Add(centerA, r3.Scale(ra+rb+gap, d)))
}

// outward is the outward normal of a half-space plus a lateral part of d.
func outward(m *geom.Mat3, d r3.Vec) r3.Vec {
	n := m.MulVec(r3.Vec{Z: 1})
	return r3.Add(n, r3.Sub(d, r3.Scale(r3.Dot(n, d), n)))
}

// stream tells apart the uses of one seed.
type stream uint64

const (
	streamShapes stream = 1 + iota // shape i of the library
	streamRows                     // row i
)

// random draws the numbers of one shape or row.
type random struct {
	pcg rand.PCG
	*rand.Rand
}

func newRandom() *random {
	r := &random{}
	r.Rand = rand.New(&r.pcg)
	return r
}

// seed starts the sequence of item i of a stream. The words are mixed, so that
// neighbouring items begin at unrelated states.
func (r *random) seed(seed uint64, s stream, i int) {
	a := mix(seed + uint64(s)*0x9e3779b97f4a7c15)
	r.pcg.Seed(a, mix(a^mix(uint64(i))))
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// logUniform draws a number in [lo, hi) whose logarithm is uniform.
func (r *random) logUniform(lo, hi float64) float64 {
	return lo * math.Pow(hi/lo, r.Float64())
}

// uniform draws a number in [lo, hi).
func (r *random) uniform(lo, hi float64) float64 { return lo + (hi-lo)*r.Float64() }

// length draws a size of the compared sets.
func (r *random) length() float64 { return r.logUniform(0.1, 1) }

func (r *random) lengths() r3.Vec { return r3.Vec{X: r.length(), Y: r.length(), Z: r.length()} }

// unit draws a direction, uniform on the sphere.
func (r *random) unit() r3.Vec {
	for {
		v := r3.Vec{X: r.NormFloat64(), Y: r.NormFloat64(), Z: r.NormFloat64()}
		if n := r3.Norm(v); n > 1e-3 {
			return r3.Scale(1/n, v)
		}
	}
}

// rotation draws a unit quaternion, uniform on the rotations: a normal vector of
// four components has no preferred direction.
func (r *random) rotation() quat.Number {
	for {
		q := quat.Number{Real: r.NormFloat64(), Imag: r.NormFloat64(), Jmag: r.NormFloat64(), Kmag: r.NormFloat64()}
		if n := quat.Abs(q); n > 1e-3 {
			return quat.Scale(1/n, q)
		}
	}
}

// position draws a point of the cube of half-width w around the origin.
func (r *random) position(w float64) r3.Vec {
	return r3.Vec{X: r.uniform(-w, w), Y: r.uniform(-w, w), Z: r.uniform(-w, w)}
}
