package contact

import (
	"fmt"
	"math"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
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
	case geom.Cylinder:
		return roundedFrustumMoments(s.R, s.R, s.HalfLength, margin), nil
	case geom.Cone:
		return roundedFrustumMoments(s.R, 0, s.HalfLength, margin), nil
	case geom.Frustum:
		return roundedFrustumMoments(s.RBottom, s.RTop, s.HalfLength, margin), nil
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
