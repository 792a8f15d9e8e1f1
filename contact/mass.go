package contact

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/geom/hull"
)

// MassProperties are those of a body of uniform density.
type MassProperties struct {
	Mass    float64
	Center  r3.Vec     // of mass, in the frame of the body
	Inertia [6]float64 // about Center, in the axes of the body: xx, yy, zz, xy, xz, yz
}

// MassOfBody returns the mass, the center of mass and the inertia of body i of a table, of a density in kg/m³: the
// integrals over its parts, margins included. Where parts intersect, both count. They are closed forms, but for smooth
// hulls, smooth revolutions, and ellipsoids with a margin, which are integrated over their normals to 1e-9.
// Half-spaces, flat hulls without a margin and superquadrics with one have none.
func MassOfBody(t *batch.Bodies, i int32, density float64) (MassProperties, error) {
	if !(density > 0) || math.IsInf(density, 1) {
		return MassProperties{}, fmt.Errorf("contact: density %g kg/m³; it is positive", density)
	}
	var sum moments
	for k, part := range t.Parts(i) {
		m, err := momentsOf(t.Library().Shape(part.Shape))
		if err != nil {
			return MassProperties{}, fmt.Errorf("contact: body %d, part %d: %w", i, k, err)
		}
		sum.add(m.moved(part.Pose))
	}
	c := r3.Scale(1/sum.volume, sum.first)
	// The second moments about the center: ∫xxᵀ − V·ccᵀ.
	s := sum.second
	xx, yy, zz := s[0]-sum.volume*c.X*c.X, s[1]-sum.volume*c.Y*c.Y, s[2]-sum.volume*c.Z*c.Z
	xy, xz, yz := s[3]-sum.volume*c.X*c.Y, s[4]-sum.volume*c.X*c.Z, s[5]-sum.volume*c.Y*c.Z
	p := MassProperties{Mass: density * sum.volume, Center: c}
	for j, v := range [6]float64{yy + zz, zz + xx, xx + yy, -xy, -xz, -yz} {
		p.Inertia[j] = density * v
	}
	return p, nil
}

// moments are the volume of a solid, ∫x and ∫xxᵀ (xx, yy, zz, xy, xz, yz) about the local origin.
type moments struct {
	volume float64
	first  r3.Vec
	second sym3
}

func (m *moments) add(o moments) {
	m.volume += o.volume
	m.first = r3.Add(m.first, o.first)
	for i := range m.second {
		m.second[i] += o.second[i]
	}
}

// moved returns the moments of the solid at a pose.
func (m moments) moved(pose geom.Pose) moments {
	r, p, v := pose.Matrix(), pose.Position, m.volume
	f := r.MulVec(m.first)
	s := rotated(&r, &m.second)
	return moments{v, r3.Add(f, r3.Scale(v, p)), sym3{
		s[0] + 2*f.X*p.X + v*p.X*p.X, s[1] + 2*f.Y*p.Y + v*p.Y*p.Y, s[2] + 2*f.Z*p.Z + v*p.Z*p.Z,
		s[3] + f.X*p.Y + p.X*f.Y + v*p.X*p.Y, s[4] + f.X*p.Z + p.X*f.Z + v*p.X*p.Z,
		s[5] + f.Y*p.Z + p.Y*f.Z + v*p.Y*p.Z}}
}

func momentsOf(shape geom.Shape) (moments, error) {
	core, margin := geom.WithoutMargin(shape)
	switch s := core.(type) {
	case geom.Sphere:
		r := s.R + margin
		return ellipsoidMoments(r3.Vec{X: r, Y: r, Z: r}), nil
	case geom.Capsule:
		return capsuleMoments(s.R+margin, s.HalfLength), nil
	case geom.FrustumShape:
		bottom, top, half := s.Discs()
		return roundedFrustumMoments(bottom, top, half, margin), nil
	case geom.Box:
		return roundedHullOf(boxHull(s.HalfExtents), boxMoments(s.HalfExtents), margin), nil
	case *geom.Convex:
		if s.Hull().Dim < 3 && margin == 0 {
			return moments{}, fmt.Errorf("a flat hull has no volume; give mass and inertia")
		}
		return roundedHullMoments(s, margin), nil
	case geom.Halfspace:
		return moments{}, fmt.Errorf("a half-space has no finite volume; it is fixed")
	case geom.Ellipsoid:
		if margin == 0 {
			return ellipsoidMoments(s.SemiAxes), nil
		}
	case geom.Superquadric:
		if margin > 0 {
			return moments{}, fmt.Errorf("the volume of a superquadric with a margin has no formula here; give mass " +
				"and inertia")
		}
		return superquadricMoments(s), nil
	}
	return smoothMoments(core, margin)
}

func boxMoments(h r3.Vec) moments {
	v := 8 * h.X * h.Y * h.Z
	return moments{volume: v, second: sym3{v * h.X * h.X / 3, v * h.Y * h.Y / 3, v * h.Z * h.Z / 3}}
}

func ellipsoidMoments(a r3.Vec) moments {
	v := 4 * math.Pi / 3 * a.X * a.Y * a.Z
	return moments{volume: v, second: sym3{v * a.X * a.X / 5, v * a.Y * a.Y / 5, v * a.Z * a.Z / 5}}
}

// capsuleMoments are those of a cylinder and two half balls, whose centers of mass are 3r/8 from their flat sides.
func capsuleMoments(r, half float64) moments {
	m := frustumMoments(r, r, half)
	b := ellipsoidMoments(r3.Vec{X: r, Y: r, Z: r})
	m.volume += b.volume
	m.second[0] += b.second[0]
	m.second[1] += b.second[1]
	m.second[2] += b.second[2] + b.volume*half*(half+0.75*r)
	return m
}

// frustumMoments integrates discs of radius ρ(z), linear in z, from −half to half: π·ρ², π·ρ²·z, π·ρ²·z² and π·ρ⁴/4.
func frustumMoments(bottom, top, half float64) moments {
	mean, slope := 0.5*(bottom+top), 0.5*(top-bottom)/half
	z2, z4 := 2*half*half*half/3, 2*math.Pow(half, 5)/5 // ∫z², ∫z⁴
	across := math.Pi / 4 * (math.Pow(mean, 4)*2*half + 6*mean*mean*slope*slope*z2 + math.Pow(slope, 4)*z4)
	return moments{
		volume: math.Pi * (mean*mean*2*half + slope*slope*z2),
		first:  r3.Vec{Z: math.Pi * 2 * mean * slope * z2},
		second: sym3{across, across, math.Pi * (mean*mean*z2 + slope*slope*z4)},
	}
}

// hullMoments sums tetrahedra over the facets, whose apex is a point inside, so that no term is negative.
func hullMoments(c *geom.Convex) (sum moments) {
	h, apex := c.Hull(), c.Center()
	for _, f := range h.Facets {
		p, q, r := r3.Sub(h.Vertices[f[0]], apex), r3.Sub(h.Vertices[f[1]], apex), r3.Sub(h.Vertices[f[2]], apex)
		v := r3.Dot(p, r3.Cross(q, r)) / 6
		s := r3.Add(p, r3.Add(q, r)) // ∫xxᵀ = V/20·(ssᵀ + ppᵀ + qqᵀ + rrᵀ)
		m := moments{volume: v, first: r3.Scale(v/4, s)}
		for _, u := range [4]r3.Vec{s, p, q, r} {
			for i, x := range [6]float64{u.X * u.X, u.Y * u.Y, u.Z * u.Z, u.X * u.Y, u.X * u.Z, u.Y * u.Z} {
				m.second[i] += v / 20 * x
			}
		}
		sum.add(m)
	}
	return sum.moved(geom.Translate(apex.X, apex.Y, apex.Z))
}

// superquadricMoments are those of a superquadric, by Dirichlet's integrals. At z its section is the
// superellipse at z = 0 scaled by s = (1 − |z/c|^(2/α1))^(α1/2): areas scale with s², second moments with s⁴.
func superquadricMoments(s geom.Superquadric) moments {
	a, e1, e2 := s.SemiAxes, s.Alpha1, s.Alpha2
	p := 2 / e2
	area := 4 / (p * p) * gammas([]float64{1 / p, 1 / p}, 1+2/p)
	square := 4 / (p * p) * gammas([]float64{3 / p, 1 / p}, 1+4/p)
	beta := func(x, y float64) float64 { return gammas([]float64{x, y}, x+y) }
	v := a.X * a.Y * a.Z
	across := v * square * e1 * beta(e1/2, 2*e1+1)
	return moments{volume: v * area * e1 * beta(e1/2, e1+1), second: sym3{a.X * a.X * across, a.Y * a.Y * across,
		v * a.Z * a.Z * area * e1 * beta(3*e1/2, e1+1)}}
}

// gammas is the product of Γ over x > 0, divided by Γ(y).
func gammas(x []float64, y float64) float64 {
	sum, _ := math.Lgamma(y)
	sum = -sum
	for _, v := range x {
		l, _ := math.Lgamma(v)
		sum += l
	}
	return math.Exp(sum)
}

// rule is a quadrature rule on [0, 1].
type rule struct{ points, weights []float64 }

func newRule(n int) rule {
	r := rule{make([]float64, n), make([]float64, n)}
	quad.Legendre{}.FixedLocations(r.points, r.weights, 0, 1)
	return r
}

var gauss32, gauss8 = newRule(32), newRule(8)

// Limits of the quadrature of smooth shapes: the error that is allowed relative to the size, and the number of
// spherical triangles that are split.
const (
	quadratureError  = 1e-9
	quadratureSplits = 1 << 13
)

// smoothMoments integrates over the normals u of a smooth core with a ball of radius r added. Its surface has the point
// x(u) = ∇h + ru, the support value s = h + r, and the area element det(∇²h + r) on the tangent plane, so that by the
// divergence theorem
//
//	V = ⅓∫s·det,  ∫x = ¼∫x·s·det,  ∫xxᵀ = ⅕∫xxᵀ·s·det.
//
// The faces of an octahedron on the sphere are split until each agrees with its four parts. The sum of the differences,
// which bounds the error wherever the rule converges, is at most 1e-9 of the result; else there is an error.
func smoothMoments(core geom.Shape, r float64) (moments, error) {
	smooth, ok := core.(geom.Smooth)
	if !ok {
		return moments{}, fmt.Errorf("the volume of a %v has no formula here; give mass and inertia", core.Kind())
	}
	q := quadrature{core: core, smooth: smooth, r: r, center: core.Center()}
	type triangle struct {
		corners [3]r3.Vec
		value   moments
	}
	var open []triangle
	var total moments
	for i := range 8 {
		sign := func(bit int) float64 { return float64(1 - 2*(i>>bit&1)) }
		t := triangle{corners: [3]r3.Vec{{X: sign(0)}, {Y: sign(1)}, {Z: sign(2)}}}
		t.value = q.triangle(t.corners)
		total.add(t.value)
		open = append(open, t)
	}
	size := core.BoundingRadius() + r
	var sum moments
	left := 0.0
	for splits := 0; len(open) > 0; splits++ {
		if splits == quadratureSplits {
			return moments{}, notFound(core)
		}
		t := open[len(open)-1]
		open = open[:len(open)-1]
		var parts [4]triangle
		var split moments
		middle := [3]r3.Vec{}
		for i := range 3 {
			middle[i] = r3.Unit(r3.Add(t.corners[i], t.corners[(i+1)%3]))
		}
		for i := range 3 {
			parts[i].corners = [3]r3.Vec{t.corners[i], middle[i], middle[(i+2)%3]}
		}
		parts[3].corners = middle
		for i := range parts {
			parts[i].value = q.triangle(parts[i].corners)
			split.add(parts[i].value)
		}
		// The share of a triangle in the error goes with its solid angle, a quarter at each level.
		change := difference(&t.value, &split, size)
		if change <= quadratureError*total.volume*solidAngle(t.corners)/(4*math.Pi) || change == 0 {
			left += change
			sum.add(split)
			continue
		}
		open = append(open, parts[:]...)
	}
	if !(left <= 2*quadratureError*sum.volume) || q.failed {
		return moments{}, notFound(core)
	}
	return sum.shifted(q.center), nil
}

func notFound(core geom.Shape) error {
	return fmt.Errorf("the volume of this %v is not found to %g by quadrature; give mass and inertia", core.Kind(),
		quadratureError)
}

// difference is the largest difference of two moments as volumes: moments are divided by the size.
func difference(a, b *moments, size float64) float64 {
	d := math.Abs(a.volume - b.volume)
	d = max(d, r3.Norm(r3.Sub(a.first, b.first))/size)
	for i := range a.second {
		d = max(d, math.Abs(a.second[i]-b.second[i])/(size*size))
	}
	return d
}

func solidAngle(c [3]r3.Vec) float64 {
	return 2 * math.Atan2(math.Abs(r3.Dot(c[0], r3.Cross(c[1], c[2]))),
		1+r3.Dot(c[0], c[1])+r3.Dot(c[1], c[2])+r3.Dot(c[2], c[0]))
}

type quadrature struct {
	core   geom.Shape
	smooth geom.Smooth
	r      float64
	center r3.Vec
	failed bool // a direction without a Hessian
}

// triangle integrates over a spherical triangle: over the plane triangle of its corners, whose points p are directions,
// with dΩ = ⟨p, n⟩/|p|³ dA, by a product of Gauss's rules on collapsed coordinates.
func (q *quadrature) triangle(c [3]r3.Vec) (m moments) {
	u, v := r3.Sub(c[1], c[0]), r3.Sub(c[2], c[0])
	normal := r3.Cross(u, v) // twice the area long
	height := math.Abs(r3.Dot(normal, c[0]))
	for i, s := range gauss8.points {
		for j, t := range gauss8.points {
			p := addScaled(addScaled(c[0], s*(1-t), u), s*t, v)
			length := r3.Norm(p)
			w := gauss8.weights[i] * gauss8.weights[j] * s * height / (length * length * length)
			q.add(&m, r3.Scale(1/length, p), w)
		}
	}
	return m
}

// add adds a direction with a weight. Moments are about the center, so that support values are positive.
func (q *quadrature) add(m *moments, u r3.Vec, w float64) {
	h, ok := q.smooth.SupportHessian(u)
	if !ok {
		q.failed = true
		return
	}
	x := r3.Sub(q.core.CoreSupport(u), q.center)
	x = addScaled(x, q.core.Radius()+q.r, u)
	for i := range 3 { // a ball adds its radius on the tangent plane
		h[4*i] += q.r
	}
	for i, a := range [3]float64{u.X, u.Y, u.Z} {
		for j, b := range [3]float64{u.X, u.Y, u.Z} {
			h[3*i+j] -= q.r * a * b
		}
	}
	trace := h[0] + h[4] + h[8]
	square := 0.0
	for _, v := range h {
		square += v * v
	}
	f := w * r3.Dot(x, u) * (trace*trace - square) / 2
	m.volume += f / 3
	m.first = addScaled(m.first, f/4, x)
	m.second.AddScaled(f/5, tensor(x))
}

// tensor is vvᵀ.
func tensor(v r3.Vec) sym3 {
	return sym3{v.X * v.X, v.Y * v.Y, v.Z * v.Z, v.X * v.Y, v.X * v.Z, v.Y * v.Z}
}

// symmetricProduct is uvᵀ + vuᵀ.
func symmetricProduct(u, v r3.Vec) sym3 {
	return sym3{2 * u.X * v.X, 2 * u.Y * v.Y, 2 * u.Z * v.Z, u.X*v.Y + v.X*u.Y, u.X*v.Z + v.X*u.Z, u.Y*v.Z + v.Y*u.Z}
}

// shifted returns the moments of the solid moved by p.
func (m moments) shifted(p r3.Vec) moments {
	out := moments{volume: m.volume, first: addScaled(m.first, m.volume, p), second: m.second}
	out.second.AddScaled(1, symmetricProduct(m.first, p))
	out.second.AddScaled(m.volume, tensor(p))
	return out
}

// tetrahedronMoments are those of a tetrahedron: ∫xxᵀ = V/20·(ssᵀ + Σvvᵀ) over its corners v with the sum s.
func tetrahedronMoments(a, b, c, d r3.Vec) moments {
	v := math.Abs(r3.Dot(r3.Sub(b, a), r3.Cross(r3.Sub(c, a), r3.Sub(d, a)))) / 6
	s := r3.Add(r3.Add(a, b), r3.Add(c, d))
	m := moments{volume: v, first: r3.Scale(v/4, s)}
	for _, u := range [5]r3.Vec{s, a, b, c, d} {
		m.second.AddScaled(v/20, tensor(u))
	}
	return m
}

// roundedHullMoments are those of a convex polytope with a ball of radius r added.
func roundedHullMoments(c *geom.Convex, r float64) moments {
	h := c.Hull()
	switch h.Dim {
	case 0:
		return ellipsoidMoments(r3.Vec{X: r, Y: r, Z: r}).shifted(h.Vertices[0])
	case 1:
		return rodMoments(h.Vertices[0], h.Vertices[1], r)
	case 2:
		return roundedHullOf(h, moments{}, r)
	}
	return roundedHullOf(h, hullMoments(c), r)
}

// roundedHullOf adds to the moments of a polytope those of a prism on each face, of a sector of a
// cylinder at each edge, and of a sector of a ball at each vertex. A flat polygon counts as two faces.
func roundedHullOf(h *hull.Hull, inside moments, r float64) moments {
	if r == 0 {
		return inside
	}
	s := surface{vertices: h.Vertices}
	for k := range len(h.FaceStart) - 1 {
		loop := make([]int, h.FaceCorners(k))
		for i := range loop {
			loop[i] = h.FaceCorner(k, i)
		}
		s.loops = append(s.loops, loop)
	}
	if h.Dim == 2 { // two faces, whatever the hull has
		back := slices.Clone(s.loops[0])
		slices.Reverse(back)
		s.loops = [][]int{s.loops[0], back}
	}
	inside.add(s.offset(r))
	return inside
}

// rodMoments are those of a capsule between two points.
func rodMoments(a, b r3.Vec, r float64) moments {
	half := r3.Scale(0.5, r3.Sub(b, a))
	length := r3.Norm(half)
	m := capsuleMoments(r, length)
	across := m.second[0]
	u := r3.Scale(1/length, half)
	m.second = sym3{across, across, across}
	m.second.AddScaled(capsuleMoments(r, length).second[2]-across, tensor(u))
	return m.shifted(r3.Add(a, half))
}

// surface is the closed surface of a convex polytope, of faces that are counter-clockwise as seen from outside.
type surface struct {
	vertices []r3.Vec
	loops    [][]int
}

// offset returns the moments of what a ball of radius r adds to the polytope.
func (s *surface) offset(r float64) (sum moments) {
	type side struct{ i, j int }
	normals := make([]r3.Vec, len(s.loops))
	solid := make([]float64, len(s.vertices)) // solid angle of the normals at a vertex: 2π less the angles of its faces
	for v := range solid {
		solid[v] = 2 * math.Pi
	}
	at := map[side]int{} // face that has a side in this direction
	for k, loop := range s.loops {
		n := len(loop)
		p := s.vertices[loop[0]]
		area := r3.Vec{}
		for i := 1; i+1 < n; i++ {
			area = r3.Add(area, r3.Cross(r3.Sub(s.vertices[loop[i]], p), r3.Sub(s.vertices[loop[i+1]], p)))
		}
		normals[k] = r3.Unit(area)
		up := r3.Scale(r, normals[k])
		for i := range n {
			q := s.vertices[loop[i]]
			u, w := r3.Sub(s.vertices[loop[(i+1)%n]], q), r3.Sub(s.vertices[loop[(i+n-1)%n]], q)
			solid[loop[i]] -= math.Atan2(r3.Norm(r3.Cross(u, w)), r3.Dot(u, w))
			at[side{loop[i], loop[(i+1)%n]}] = k
		}
		for i := 1; i+1 < n; i++ { // a prism on each triangle
			q, t := s.vertices[loop[i]], s.vertices[loop[i+1]]
			sum.add(tetrahedronMoments(p, q, t, r3.Add(t, up)))
			sum.add(tetrahedronMoments(p, q, r3.Add(q, up), r3.Add(t, up)))
			sum.add(tetrahedronMoments(p, r3.Add(p, up), r3.Add(q, up), r3.Add(t, up)))
		}
	}
	balls := make([]ballSector, len(s.vertices))
	for k, loop := range s.loops {
		for i, a := range loop {
			b := loop[(i+1)%len(loop)]
			other, ok := at[side{b, a}]
			if !ok || a > b { // each edge once: both of its sides have a face
				continue
			}
			along := r3.Sub(s.vertices[b], s.vertices[a])
			length := r3.Norm(along)
			e := r3.Scale(1/length, along)
			n, out := normals[k], r3.Unit(r3.Cross(e, normals[k]))
			angle := math.Abs(math.Atan2(r3.Dot(normals[other], out), r3.Dot(normals[other], n)))
			sector := newSector(n, out, angle)
			sum.add(sector.cylinder(s.vertices[a], e, length, r))
			balls[a].addSide(e, &sector)
			balls[b].addSide(r3.Scale(-1, e), &sector)
		}
	}
	for v := range balls {
		sum.add(balls[v].moments(solid[v], r).shifted(s.vertices[v]))
	}
	return sum
}

// sector is an arc of the unit circle, from a towards b ⊥ a by an angle.
type sector struct {
	angle float64
	arc   r3.Vec // ∫u along the arc
	twice sym3   // ∫uuᵀ
}

func newSector(a, b r3.Vec, angle float64) sector {
	sin, cos := math.Sincos(angle)
	s := sector{angle: angle, arc: addScaled(r3.Scale(sin, a), 1-cos, b)}
	s.twice.AddScaled((angle+sin*cos)/2, tensor(a))
	s.twice.AddScaled((angle-sin*cos)/2, tensor(b))
	s.twice.AddScaled(sin*sin/2, symmetricProduct(a, b))
	return s
}

// cylinder returns the moments of the sector of a cylinder of radius r about the edge from p along e.
func (s *sector) cylinder(p, e r3.Vec, length, r float64) moments {
	area := s.angle * r * r / 2
	first := r3.Scale(r*r*r/3, s.arc)
	m := moments{volume: length * area, first: r3.Scale(length, first)}
	m.second.AddScaled(length*r*r*r*r/4, s.twice)
	m.second.AddScaled(length*area*length*length/12, tensor(e))
	return m.shifted(addScaled(p, length/2, e))
}

// ballSector is the spherical polygon of the normals at a vertex, bounded by arcs of great circles. As Δu = −2u and
// Δ(uuᵀ) = 2·1 − 6uuᵀ on the unit sphere, and the outward conormal of an arc is the direction e of its edge,
//
//	∫u = −½Σ e·θ,  ∫uuᵀ = (2Ω·1 − Σ(e(∫u dl)ᵀ + (∫u dl)eᵀ))/6.
type ballSector struct {
	first  r3.Vec
	second sym3
}

func (b *ballSector) addSide(e r3.Vec, s *sector) {
	b.first = addScaled(b.first, -s.angle/2, e)
	b.second.AddScaled(-1.0/6, symmetricProduct(e, s.arc))
}

func (b *ballSector) moments(solid, r float64) moments {
	m := moments{volume: solid * r * r * r / 3, first: r3.Scale(r*r*r*r/4, b.first)}
	second := b.second
	second.AddScaled(solid/3, sym3{1, 1, 1})
	m.second.AddScaled(r*r*r*r*r/5, second)
	return m
}

// roundedFrustumMoments are those of a cylinder, cone or frustum with a ball of radius r added: a solid of revolution
// whose profile has a line along the side, and arcs about both rims. Discs of radius ρ are integrated over z: π·ρ²,
// π·ρ²·z, π·ρ²·z² and π·ρ⁴/4.
func roundedFrustumMoments(bottom, top, half, r float64) (sum moments) {
	tilt := math.Atan2(bottom-top, 2*half) // of the normal of the side against the plane of a disc
	sin, cos := math.Sincos(tilt)
	arc := func(radius, z, from, to float64) {
		sum.add(profileMoments(from, to, func(t float64) (rho, height, slope float64) {
			s, c := math.Sincos(t)
			return radius + r*c, z + r*s, r * c
		}))
	}
	arc(bottom, -half, -math.Pi/2, tilt)
	sum.add(profileMoments(0, 1, func(t float64) (rho, height, slope float64) {
		return bottom + t*(top-bottom) + r*cos, half*(2*t-1) + r*sin, 2 * half
	}))
	arc(top, half, tilt, math.Pi/2)
	return sum
}

// profileMoments integrates along a profile ρ(t), z(t) with slope dz/dt, a polynomial in t or in sine and cosine.
// Gauss's rule of 32 points is exact for the former and right to rounding for the latter.
func profileMoments(from, to float64, at func(t float64) (rho, z, slope float64)) (m moments) {
	for i, x := range gauss32.points {
		t := from + (to-from)*x
		rho, z, slope := at(t)
		w := gauss32.weights[i] * (to - from) * slope * math.Pi * rho * rho
		m.volume += w
		m.first.Z += w * z
		across := w * rho * rho / 4
		m.second.AddScaled(1, sym3{across, across, w * z * z})
	}
	return m
}
