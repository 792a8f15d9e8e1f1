package contact

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
)

// TestMassOfKinds compares the integrals of every kind, at a pose, with sums over a grid of points inside.
func TestMassOfKinds(t *testing.T) {
	pose, err := geom.Translate(0.1, -0.2, 0.3).Compose(geom.Rotate(r3.Vec{X: 1, Y: 2, Z: -1}, 0.7)).Normalized()
	if err != nil {
		t.Fatal(err)
	}
	const density = 1000
	compared := 0
	for _, s := range manifoldShapes(t) {
		if k := s.Kind(); testing.Short() && (k == geom.KindSmoothHull || k == geom.KindSmoothRevolution) {
			continue // TestMomentsSmooth encloses them
		}
		lib, err := batch.NewLibrary([]geom.Shape{s}, nil)
		if err != nil {
			t.Fatal(err)
		}
		bodies, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{{Shape: 0, Pose: pose}}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := MassOfBody(bodies, 0, density)
		if err != nil {
			continue
		}
		compared++
		lo, hi := s.AABB()
		const n = 40
		step := r3.Scale(1.0/n, r3.Sub(hi, lo))
		cell := step.X * step.Y * step.Z * density
		var sum moments
		for i := range n * n * n {
			at := r3.Vec{X: float64(i % n), Y: float64(i / n % n), Z: float64(i / n / n)}
			p := r3.Vec{X: lo.X + (at.X+0.5)*step.X, Y: lo.Y + (at.Y+0.5)*step.Y, Z: lo.Z + (at.Z+0.5)*step.Z}
			if s.Residual(p) <= 0 {
				w := pose.Apply(p)
				sum.add(moments{cell, r3.Scale(cell, w), sym3{cell * w.X * w.X, cell * w.Y * w.Y, cell * w.Z * w.Z,
					cell * w.X * w.Y, cell * w.X * w.Z, cell * w.Y * w.Z}})
			}
		}
		c := r3.Scale(1/sum.volume, sum.first)
		if math.Abs(got.Mass/sum.volume-1) > 0.01 || r3.Norm(r3.Sub(got.Center, c)) > 0.003 {
			t.Errorf("%v: mass %g at %v, by points %g at %v", s.Kind(), got.Mass, got.Center, sum.volume, c)
		}
		d := func(i int, x, y float64) float64 { return sum.second[i] - sum.volume*x*y }
		xx, yy, zz := d(0, c.X, c.X), d(1, c.Y, c.Y), d(2, c.Z, c.Z)
		want := [6]float64{yy + zz, zz + xx, xx + yy, -d(3, c.X, c.Y), -d(4, c.X, c.Z), -d(5, c.Y, c.Z)}
		for i := range want {
			if math.Abs(got.Inertia[i]-want[i]) > 0.01*(want[0]+want[1]+want[2]) {
				t.Errorf("%v: inertia %v, by points %v", s.Kind(), got.Inertia, want)
				break
			}
		}
	}
	if compared < 15 {
		t.Errorf("%d shapes have a mass", compared)
	}
}

func sameMoments(t *testing.T, what string, got, want moments, within float64) {
	t.Helper()
	size := math.Cbrt(want.volume)
	if d := difference(&got, &want, size); !(d <= within*want.volume) {
		t.Errorf("%s: %.10g, want %.10g: off by %.2g of the volume", what, got, want, d/want.volume)
	}
}

func momentsFor(t *testing.T, s geom.Shape) moments {
	t.Helper()
	m, err := momentsOf(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMomentsClosedForms compares shapes that are the same solid in two forms.
func TestMomentsClosedForms(t *testing.T) {
	const r = 0.17
	box := r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}
	ball := ellipsoidMoments(r3.Vec{X: r, Y: r, Z: r})
	convex := func(points ...r3.Vec) geom.Shape {
		c, err := geom.NewConvex(points)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	// A box with a ball, by its three slabs, twelve quarter cylinders and eight octants, from their own formulas.
	v := 8*box.X*box.Y*box.Z + 8*r*(box.X*box.Y+box.Y*box.Z+box.Z*box.X) +
		2*math.Pi*r*r*(box.X+box.Y+box.Z) + 4*math.Pi/3*r*r*r
	rounded := momentsFor(t, geom.WithMargin(geom.Box{HalfExtents: box}, r))
	if math.Abs(rounded.volume/v-1) > 1e-14 {
		t.Errorf("volume of a rounded box: %.16g, want %.16g", rounded.volume, v)
	}
	a, b := r3.Vec{X: -0.2, Y: 0.1, Z: 0.3}, r3.Vec{X: 0.4, Y: 0.2, Z: -0.1}
	capsule := capsuleMoments(r, r3.Norm(r3.Sub(b, a))/2)
	along := momentsFor(t, geom.WithMargin(convex(a, b), r))
	trace := func(m moments) float64 {
		c := r3.Scale(1/m.volume, m.first)
		return m.second[0] + m.second[1] + m.second[2] - m.volume*r3.Norm2(c)
	}
	if math.Abs(trace(along)/trace(capsule)-1) > 1e-13 || math.Abs(along.volume/capsule.volume-1) > 1e-13 {
		t.Errorf("a rod is %v, as a capsule %v", along, capsule)
	}
	sameMoments(t, "rounded point", momentsFor(t, geom.WithMargin(convex(a), r)), ball.shifted(a), 1e-14)
	// A polygon of many corners with a ball tends to a rounded disc, a thin prism to a polygon, a ball of many
	// vertices to a ball; cylinders with a ball to a frustum of nearly equal radii.
	var polygon, lower []r3.Vec
	const corners = 4000
	for k := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / corners)
		polygon = append(polygon, r3.Vec{X: 0.3 * cos, Y: 0.3 * sin})
		lower = append(lower, r3.Vec{X: 0.3 * cos, Y: 0.3 * sin, Z: -0.2}, r3.Vec{X: 0.3 * cos, Y: 0.3 * sin, Z: 0.2})
	}
	disc := roundedFrustumMoments(0.3, 0.3, 1e-9, r)
	sameMoments(t, "rounded polygon", momentsFor(t, geom.WithMargin(convex(polygon...), r)), disc, 2e-6)
	sameMoments(t, "rounded prism", momentsFor(t, geom.WithMargin(convex(lower...), r)),
		roundedFrustumMoments(0.3, 0.3, 0.2, r), 2e-6)
	sameMoments(t, "prism", momentsFor(t, convex(lower...)), frustumMoments(0.3, 0.3, 0.2), 2e-6)
	sameMoments(t, "rounded cone without radius", roundedFrustumMoments(0.3, 0.1, 0.2, 0),
		frustumMoments(0.3, 0.1, 0.2), 1e-14)
	sameMoments(t, "capsule", roundedFrustumMoments(0, 0, 0.4, r), capsuleMoments(r, 0.4), 1e-14)
	small := geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.2, Z: 0.2}}
	sameMoments(t, "ball", momentsFor(t, geom.WithMargin(small, 0.1)),
		ellipsoidMoments(r3.Vec{X: 0.3, Y: 0.3, Z: 0.3}), 1e-9)
	sameMoments(t, "superquadric as an ellipsoid", superquadricMoments(geom.Superquadric{SemiAxes: box, Alpha1: 1,
		Alpha2: 1}), ellipsoidMoments(box), 1e-13)
	sameMoments(t, "superquadric as a box", superquadricMoments(geom.Superquadric{SemiAxes: box, Alpha1: 1e-6,
		Alpha2: 1e-6}), boxMoments(box), 1e-5)
	octahedron := convex(r3.Vec{X: box.X}, r3.Vec{X: -box.X}, r3.Vec{Y: box.Y}, r3.Vec{Y: -box.Y}, r3.Vec{Z: box.Z},
		r3.Vec{Z: -box.Z})
	sameMoments(t, "superquadric as an octahedron", superquadricMoments(geom.Superquadric{SemiAxes: box, Alpha1: 2,
		Alpha2: 2}), momentsFor(t, octahedron), 1e-13)
	sameMoments(t, "superquadric as a cylinder", superquadricMoments(geom.Superquadric{
		SemiAxes: r3.Vec{X: 0.3, Y: 0.3, Z: 0.2}, Alpha1: 1e-7, Alpha2: 1}), frustumMoments(0.3, 0.3, 0.2), 1e-6)
}

// TestMomentsSmooth integrates an ellipsoid, whose closed form is known, by the rule of smooth shapes, and encloses
// those without one between the polytopes of their support points and support planes.
func TestMomentsSmooth(t *testing.T) {
	semi := r3.Vec{X: 0.5, Y: 0.2, Z: 0.3}
	m, err := smoothMoments(geom.Ellipsoid{SemiAxes: semi}, 0)
	if err != nil {
		t.Fatal(err)
	}
	sameMoments(t, "ellipsoid", m, ellipsoidMoments(semi), 1e-9)
	rng := rand.New(rand.NewPCG(34, 1))
	smoothHull, err := geom.NewSmoothHull(testkit.OnEllipsoid(rng, r3.Vec{X: 0.3, Y: 0.4, Z: 0.3}, 20), 12,
		r3.Vec{X: 0.02, Z: -0.01})
	if err != nil {
		t.Fatal(err)
	}
	revolution, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.3, Y: 0.35}, {X: 0.2, Y: -0.3}}, 20, 1e-2)
	if err != nil {
		t.Fatal(err)
	}
	sharp, err := geom.NewSmoothHull(testkit.OnEllipsoid(rng, r3.Vec{X: 0.3, Y: 0.4, Z: 0.3}, 12), 60, r3.Vec{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []geom.Shape{smoothHull, revolution, sharp, geom.WithMargin(smoothHull, 0.05),
		geom.WithMargin(revolution, 0.05), geom.WithMargin(geom.Ellipsoid{SemiAxes: semi}, 0.1)} {
		got := momentsFor(t, s)
		inner, outer := bracket(t, s)
		if !(inner.volume <= got.volume && got.volume <= outer.volume) {
			t.Errorf("%v: volume %.9g outside [%.9g, %.9g]", s.Kind(), got.volume, inner.volume, outer.volume)
		}
		for i := range 3 { // ∫x² about any point grows with the solid
			if !(inner.second[i] <= got.second[i] && got.second[i] <= outer.second[i]) {
				t.Errorf("%v: ∫x² %d: %.9g outside [%.9g, %.9g]", s.Kind(), i, got.second[i], inner.second[i],
					outer.second[i])
			}
		}
		if width := outer.volume/inner.volume - 1; width > 0.05 {
			t.Errorf("%v: polytopes enclose it by %.2g only", s.Kind(), width)
		}
	}
}

// bracket returns the moments of the hull of support points of a shape, and of the polytope of their support planes
// about its center: the polar dual of the hull of the planes.
func bracket(t *testing.T, s geom.Shape) (inner, outer moments) {
	t.Helper()
	const n = 3000
	var points, dual []r3.Vec
	c := s.Center()
	for i := range n {
		z := 1 - (2*float64(i)+1)/n
		sin, cos := math.Sincos(float64(i) * math.Pi * (3 - math.Sqrt(5)))
		rho := math.Sqrt(1 - z*z)
		u := r3.Vec{X: rho * cos, Y: rho * sin, Z: z}
		p := r3.Sub(geom.Support(s, u), c)
		points = append(points, p)
		dual = append(dual, r3.Scale(1/r3.Dot(p, u), u))
	}
	in, err := geom.NewConvex(points)
	if err != nil {
		t.Fatal(err)
	}
	d, err := geom.NewConvex(dual)
	if err != nil {
		t.Fatal(err)
	}
	h := d.Hull()
	var corners []r3.Vec
	for f := range len(h.FaceStart) - 1 { // a face {⟨n, x⟩ = o} of the dual is the corner n/o
		normal := h.Normals[h.FaceStart[f]]
		o := r3.Dot(normal, h.Vertices[h.FaceCorner(f, 0)])
		corners = append(corners, r3.Scale(1/o, normal))
	}
	out, err := geom.NewConvex(corners)
	if err != nil {
		t.Fatal(err)
	}
	return hullMoments(in).shifted(c), hullMoments(out).shifted(c)
}

// TestEveryKindHasMass: all kinds with a volume have a mass, with and without a margin; the others say why not.
func TestEveryKindHasMass(t *testing.T) {
	for _, s := range manifoldShapes(t) {
		lib, err := batch.NewLibrary([]geom.Shape{s}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := MassOfBody(batch.BodiesOfShapes(lib), 0, 1000)
		core, margin := geom.WithoutMargin(s)
		flat := core.Kind() == geom.KindHalfspace
		if c, ok := core.(*geom.Convex); ok && c.Hull().Dim < 3 && margin == 0 {
			flat = true
		}
		flat = flat || core.Kind() == geom.KindSuperquadric && margin > 0
		if flat != (err != nil) {
			t.Errorf("%v, margin %g: %v", s.Kind(), margin, err)
		}
		if err == nil && inertiaFault(sym3(got.Inertia)) != "" {
			t.Errorf("%v, margin %g: %v", s.Kind(), margin, inertiaFault(sym3(got.Inertia)))
		}
	}
}
