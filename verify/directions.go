package verify

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// tableSize is the number of random directions that rows draw from; a power of two.
const tableSize = 512

// compass holds the random directions of an audit: uniform on the sphere, the same
// for the same seed.
type compass [tableSize]r3.Vec

func newCompass(seed uint64) *compass {
	c := new(compass)
	for i := range c {
		z := 2*uniform(seed, uint64(2*i)) - 1
		s, t := math.Sincos(2 * math.Pi * uniform(seed, uint64(2*i+1)))
		r := math.Sqrt(1 - z*z)
		c[i] = r3.Vec{X: r * t, Y: r * s, Z: z}
	}
	return c
}

// uniform returns number i of a stream of uniform numbers in [0, 1).
func uniform(seed, i uint64) float64 { return float64(mix(seed, i)>>11) * 0x1p-53 }

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) applied to
// element i of the stream that starts at seed.
func mix(seed, i uint64) uint64 {
	x := seed + (i+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// search searches for the direction that proves the greatest lower bound −h(d).
type search struct {
	p     *placed
	lower float64
	dir   r3.Vec
}

func (s *search) try(d r3.Vec) {
	if l := -s.p.support(d); l > s.lower {
		s.lower, s.dir = l, d
	}
}

func (s *search) tryBoth(d r3.Vec) {
	s.try(d)
	s.try(r3.Vec{X: -d.X, Y: -d.Y, Z: -d.Z})
}

// sample tries the line of the centers, the axes of both bodies, their cross
// products (with these the separating axis theorem makes the search complete for
// boxes) and random directions of the compass. With a half-space one direction is all there is.
func (s *search) sample(c *compass, start uint64, random int) {
	p := s.p
	if p.half >= 0 {
		s.try(p.halfNormal)
		return
	}
	if n := norm(p.center); n > 0 {
		s.try(r3.Scale(-1/n, p.center))
	}
	var axis [2][3]r3.Vec
	for i := range 2 {
		m := &p.rot[i]
		for k := range 3 {
			axis[i][k] = r3.Vec{X: m[k], Y: m[3+k], Z: m[6+k]}
			s.tryBoth(axis[i][k])
		}
	}
	for i := range 3 {
		for j := range 3 {
			d := r3.Cross(axis[0][i], axis[1][j])
			// Axes parallel within 1e-6 give a direction of few digits; it
			// would still be a sound one, but says no more than the axes do.
			if n := norm(d); n > 1e-6 {
				s.tryBoth(r3.Scale(1/n, d))
			}
		}
	}
	for i := range random {
		s.try(c[(start+uint64(i))%tableSize])
	}
}

// descendSteps is enough to halve the first step, a quarter radian, down to 1e-9 and to
// progress as well.
const descendSteps = 48

// descend minimizes h over the sphere from the best direction so far. The gradient of h on
// the sphere is the component of the support point orthogonal to d. The step length grows
// after a decrease of h and shrinks otherwise.
func (s *search) descend() {
	if s.p.half >= 0 {
		return
	}
	h, point := s.p.supportPoint(s.dir)
	d, step := s.dir, 0.25
	for range descendSteps {
		g := r3.Sub(point, r3.Scale(r3.Dot(point, d), d))
		n := norm(g)
		if !(n > 0) {
			break
		}
		sin, cos := math.Sincos(step)
		e := unit(r3.Sub(r3.Scale(cos, d), r3.Scale(sin/n, g)))
		if he, pe := s.p.supportPoint(e); he < h {
			d, h, point = e, he, pe
			step = math.Min(2*step, 0.25)
		} else {
			step /= 2
		}
	}
	s.try(d)
}

// separateSteps is the iteration limit of the search for a separating plane.
const separateSteps = 64

// separate searches for a separating plane by the Frank-Wolfe method on ½|x|² over D
// [Montaut2022, Alg. 1]: x converges to the point of D that is closest to the origin, and
// every step tries the support plane with normal x/|x|. It stops at the first plane that
// proves a distance above want.
func (s *search) separate(want float64) {
	if s.p.half >= 0 {
		s.try(s.p.halfNormal)
		return
	}
	x := s.p.center
	for range separateSteps {
		n := norm(x)
		if !(n > 0) {
			return
		}
		d := r3.Scale(-1/n, x)
		h, point := s.p.supportPoint(d)
		if -h > s.lower {
			s.lower, s.dir = -h, d
		}
		if s.lower > want {
			return
		}
		// The point closest to the origin on the segment from x to the support point.
		e := r3.Sub(point, x)
		t := -r3.Dot(x, e) / r3.Dot(e, e)
		if !(t > 0) {
			return
		}
		x = r3.Add(x, r3.Scale(math.Min(t, 1), e))
	}
}
