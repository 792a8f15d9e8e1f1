package contact

import (
	"math"
	"slices"

	"clearance/geom"
	"clearance/geom/hull"

	"gonum.org/v1/gonum/spatial/r3"
)

// tensor is vvᵀ.
func tensor(v r3.Vec) sym3 {
	return sym3{v.X * v.X, v.Y * v.Y, v.Z * v.Z, v.X * v.Y, v.X * v.Z, v.Y * v.Z}
}

// symmetricProduct is uvᵀ + vuᵀ.
func symmetricProduct(u, v r3.Vec) sym3 {
	return sym3{2 * u.X * v.X, 2 * u.Y * v.Y, 2 * u.Z * v.Z, u.X*v.Y + v.X*u.Y, u.X*v.Z + v.X*u.Z, u.Y*v.Z + v.Y*u.Z}
}

func (s *sym3) addScaled(f float64, t sym3) {
	for i := range s {
		s[i] += f * t[i]
	}
}

// shifted returns the moments of the solid moved by p.
func (m moments) shifted(p r3.Vec) moments {
	out := moments{volume: m.volume, first: addScaled(m.first, m.volume, p), second: m.second}
	out.second.addScaled(1, symmetricProduct(m.first, p))
	out.second.addScaled(m.volume, tensor(p))
	return out
}

// tetrahedronMoments are those of a tetrahedron: ∫xxᵀ = V/20·(ssᵀ + Σvvᵀ) over its corners v with the sum s.
func tetrahedronMoments(a, b, c, d r3.Vec) moments {
	v := math.Abs(r3.Dot(r3.Sub(b, a), r3.Cross(r3.Sub(c, a), r3.Sub(d, a)))) / 6
	s := r3.Add(r3.Add(a, b), r3.Add(c, d))
	m := moments{volume: v, first: r3.Scale(v/4, s)}
	for _, u := range [5]r3.Vec{s, a, b, c, d} {
		m.second.addScaled(v/20, tensor(u))
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
	m.second.addScaled(capsuleMoments(r, length).second[2]-across, tensor(u))
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
	s.twice.addScaled((angle+sin*cos)/2, tensor(a))
	s.twice.addScaled((angle-sin*cos)/2, tensor(b))
	s.twice.addScaled(sin*sin/2, symmetricProduct(a, b))
	return s
}

// cylinder returns the moments of the sector of a cylinder of radius r about the edge from p along e.
func (s *sector) cylinder(p, e r3.Vec, length, r float64) moments {
	area := s.angle * r * r / 2
	first := r3.Scale(r*r*r/3, s.arc)
	m := moments{volume: length * area, first: r3.Scale(length, first)}
	m.second.addScaled(length*r*r*r*r/4, s.twice)
	m.second.addScaled(length*area*length*length/12, tensor(e))
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
	b.second.addScaled(-1.0/6, symmetricProduct(e, s.arc))
}

func (b *ballSector) moments(solid, r float64) moments {
	m := moments{volume: solid * r * r * r / 3, first: r3.Scale(r*r*r*r/4, b.first)}
	second := b.second
	second.addScaled(solid/3, sym3{1, 1, 1})
	m.second.addScaled(r*r*r*r*r/5, second)
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
		m.second.addScaled(1, sym3{across, across, w * z * z})
	}
	return m
}
