package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/layout"
	"clearance/internal/testkit/rowcheck"

	"gonum.org/v1/gonum/spatial/r3"
)

// depthsOf runs a job, has it audited and compared with the CPU, and returns how many depths the
// device answered and how many of these double precision only proved.
func depthsOf(t *testing.T, b *Backend, c dispatch.Backend, job *batch.Job) (depths, inFloat32, declined int64) {
	t.Helper()
	before := b.Stats()
	rep := run(t, job, dispatch.Options{}, b, c)
	after := b.Stats()
	rowcheck.Audit(t, job)
	want := &batch.Job{Library: job.Library, Input: job.Input, Options: job.Options}
	run(t, want, dispatch.Options{}, c)
	compare(t, job, job.Results, want.Results)
	return after.Depths - before.Depths, after.FoundInFloat32 - before.FoundInFloat32, int64(rep.Declined())
}

// TestDepthsInFloat32: of the depths of hulls single precision finds all but a few of a hundred, so that double
// precision only proves them; of round shapes and boxes, and where steps are capped, none.
func TestDepthsInFloat32(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(900, 900, 3000)
	for _, name := range []string{"hull8", "hull32", "hull128", "hull512", "boxes", "capsule-cylinder-cone"} {
		for _, o := range []batch.Options{{Query: batch.Penetration}, {Precision: batch.Double}, {MaxIterations: 60},
			{Query: batch.Collide, Columns: batch.AllColumns}} {
			t.Run(fmt.Sprintf("%s/%v/%v/%d", name, o.Query, o.Precision, o.MaxIterations), func(t *testing.T) {
				lib, pairs := set(t, name, 0, rows)
				depths, inFloat32, declined := depthsOf(t, b, c, &batch.Job{Library: lib, Input: pairs, Options: o})
				t.Logf("%d depths, %d found in single precision, %d rows declined", depths, inFloat32, declined)
				least, most := int64(0), int64(0)
				if strings.HasPrefix(name, "hull") && o.MaxIterations == 0 && o.Query != batch.Collide {
					least, most = depths*97/100, depths
				}
				if inFloat32 < least || inFloat32 > most || o.Query != batch.Collide && depths < int64(rows)/20 {
					t.Errorf("%d depths, %d of them found in single precision", depths, inFloat32)
				}
				s := b.Stats()
				took := s.Times.Of("epa_float32")
				if o.Query != batch.Collide && (took <= 0) != (s.FoundInFloat32 == 0) {
					t.Errorf("%d depths found in single precision in %v", s.FoundInFloat32, took)
				}
			})
		}
	}
}

// polytopes is hulls that make it hard, see oddHulls, and cores that are boxes, segments and points.
func polytopes(t *testing.T, g *rand.Rand) []geom.Shape {
	t.Helper()
	var out []geom.Shape
	for _, s := range oddHulls(t, g) {
		if s.Kind() != geom.KindEllipsoid {
			out = append(out, s)
		}
	}
	return append(out, geom.Box{HalfExtents: r3.Vec{X: 1e-3, Y: 1, Z: 1}}, geom.Capsule{R: 0.1, HalfLength: 2},
		geom.Sphere{R: 0.3})
}

// TestOddDepthsInFloat32: hulls that are flat, long, huge, tiny or have many coplanar corners, boxes, segments and
// points, deep in each other and touching, at the origin and 1 km away: the answers are those of
// the CPU, and single precision finds some of each.
func TestOddDepthsInFloat32(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	g := rand.New(rand.NewPCG(31, 7))
	lib, err := batch.NewLibrary(polytopes(t, g), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := size(600, 800, 3000)
	deep := scattered(g, lib, rows)
	var r batch.Row
	for i := range rows { // a fifth of the distance that scattered gives
		deep.Row(i, &r)
		r.PoseB.Position = r3.Add(r.PoseA.Position, r3.Scale(0.2, r3.Sub(r.PoseB.Position, r.PoseA.Position)))
		deep.SetRow(i, &r)
	}
	found := &batch.Job{Library: lib, Input: deep, Options: batch.Options{Precision: batch.Double}}
	run(t, found, dispatch.Options{}, c)
	// touching by 1e-5 of the size, more or less, and moved by 1 km
	touching, far := batch.NewPairs(rows), batch.NewPairs(rows)
	for i := range rows {
		deep.Row(i, &r)
		moved := r
		for _, p := range []*r3.Vec{&moved.PoseA.Position, &moved.PoseB.Position} {
			*p = r3.Add(*p, r3.Vec{X: 700, Y: -700, Z: 100})
		}
		far.SetRow(i, &moved)
		n := r3.Vec{X: found.Results.Normal().At(3 * i), Y: found.Results.Normal().At(3*i + 1),
			Z: found.Results.Normal().At(3*i + 2)}
		by := -found.Results.Distance().At(i) + 1e-5*g.NormFloat64()*lib.PairSize(r.ShapeA, r.ShapeB)
		if !math.IsNaN(by) {
			r.PoseB.Position = r3.Add(r.PoseB.Position, r3.Scale(by, n))
		}
		touching.SetRow(i, &r)
	}
	for what, pairs := range map[string]*batch.Pairs{"deep": deep, "touching": touching, "far": far} {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			t.Run(fmt.Sprintf("%s/%v", what, precision), func(t *testing.T) {
				depths, inFloat32, declined := depthsOf(t, b, c, &batch.Job{Library: lib, Input: pairs,
					Options: batch.Options{Precision: precision}})
				t.Logf("of %d rows %d depths, %d found in single precision, %d rows declined", rows, depths, inFloat32,
					declined)
				least := depths / 2
				if what == "touching" {
					least = depths / 20
				}
				if inFloat32 < least || inFloat32 > depths || declined > int64(rows)/20 {
					t.Errorf("%d depths, %d found in single precision, %d rows declined", depths, inFloat32, declined)
				}
			})
		}
	}
}

// TestFloat32Rounding: the rounding errors of offsets in single precision are within the bound of epa_float32.comp, on
// hulls of all sizes and distances.
func TestFloat32Rounding(t *testing.T) {
	b := open(t, Options{})
	if !b.direct {
		t.Skip("the device's memory is not mapped: what single precision found cannot be read")
	}
	g := rand.New(rand.NewPCG(17, 3))
	lib, err := batch.NewLibrary(polytopes(t, g), nil)
	if err != nil {
		t.Fatal(err)
	}
	single, err := layout.Pack(lib)
	if err != nil {
		t.Fatal(err)
	}
	packed := layout.Pack64(lib, single)
	const rows = 2000
	pairs := scattered(g, lib, rows)
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Precision: batch.Double,
		Query: batch.Penetration}}
	out := batch.NewResults(rows, &job.Options)
	if err := b.Run(t.Context(), job, 0, rows, out); err != nil {
		t.Fatal(err)
	}
	var slot *slot // that was used
	for range cap(b.workspaces) {
		l := <-b.workspaces
		if l.slots[0].rows > 0 {
			slot = &l.slots[0]
		}
		b.workspaces <- l
	}
	depths, indices := recordsIn[layout.DepthRecord](slot.work.depths.Bytes()),
		recordsIn[layout.IndexRecord](slot.work.indices.Bytes())
	n := slot.listed(layout.ListDepths)
	worst, found, thin := 0.0, 0, 0
	var r batch.Row
	for i := range depths[:n] {
		s := &depths[i]
		if s.Faces == 0 {
			continue
		}
		found++
		pairs.Row(int(indices[s.Slot].Row), &r)
		height, fat := math.Inf(1), math.Inf(1)
		for f := range s.Faces {
			h, area := lowest(packed, &r, s, s.Corners[3*f:3*f+3])
			height, fat = min(height, h), min(fat, area)
		}
		if fat < 0.01 { // along the normal that single precision found they are as high as it says
			thin++
			continue
		}
		worst = max(worst, math.Abs(height-float64(s.LeastOffset))/float64(s.Rounding))
		if !(s.OtherOffsets > s.LeastOffset) {
			t.Errorf("a face is %g high, and all others are higher than %g", s.LeastOffset, s.OtherOffsets)
		}
	}
	t.Logf("%d of %d found, %d with thin faces; rounding errors are %.3f of their bound", found, n, thin, worst)
	if found-thin < rows/20 || worst > 0.5 || worst < 0.001 {
		t.Errorf("%d found; rounding errors are %g of their bound", found, worst)
	}
}

// lowest returns the least support value of three vertices of A - B along the normal of their triangle, and
// its area as a share of the square of a longest edge.
func lowest(lib *layout.Packed64, r *batch.Row, s *layout.DepthRecord, corners []uint32) (height, area float64) {
	corner := func(shape int32, k uint32) r3.Vec {
		record := &lib.Shapes[shape]
		if record.Kind == uint32(geom.KindConvex) {
			p := lib.Vertices[record.VertexOffset+k].Position
			return r3.Vec{X: p[0], Y: p[1], Z: p[2]}
		}
		half := slices.Clone(record.Params[:3])
		switch geom.Kind(record.Kind) {
		case geom.KindSphere:
			half = []float64{0, 0, 0}
		case geom.KindCapsule:
			half = []float64{0, 0, half[1]}
		}
		for i, h := range half {
			if k>>i&1 != 0 {
				half[i] = -h
			}
		}
		return r3.Vec{X: half[0], Y: half[1], Z: half[2]}
	}
	var w [3]r3.Vec
	for i, c := range corners {
		if v := 3 * (c & 3); c >= layout.SimplexCorners {
			w[i] = r3.Vec{X: s.Vertices[v], Y: s.Vertices[v+1], Z: s.Vertices[v+2]}
			continue
		}
		inWorld := r.PoseB.Apply(corner(r.ShapeB, c>>16))
		w[i] = r3.Sub(corner(r.ShapeA, c&0xffff), r.PoseA.ApplyInverse(inWorld))
	}
	u, v := r3.Sub(w[0], w[2]), r3.Sub(w[1], w[2])
	n := r3.Cross(u, v)
	area = r3.Norm(n) / max(r3.Norm2(u), r3.Norm2(v), r3.Norm2(r3.Sub(u, v)))
	n = r3.Unit(n)
	return min(r3.Dot(n, w[0]), r3.Dot(n, w[1]), r3.Dot(n, w[2])), area
}
