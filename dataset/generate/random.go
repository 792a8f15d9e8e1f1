package generate

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

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
