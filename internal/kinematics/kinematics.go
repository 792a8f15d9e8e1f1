// Package kinematics has the forward kinematics of trees of joints, of many configurations at once.
//
// A pose is 7 numbers, position and quaternion (w, x, y, z); all are in the frame of the world. A [Tree] is immutable,
// and calls may share it. Trees are checked when they are made; values are not: one that is not finite, or a quaternion
// of length 0, gives poses with NaN. Every number depends on its own configuration alone.
package kinematics

import (
	"fmt"
	"math"
)

// Kind is the kind of a joint.
type Kind uint8

// The kinds of joints.
const (
	Fixed     Kind = iota
	Revolute       // rotates about its axis
	Prismatic      // moves along its axis
	Ball           // rotates by a quaternion of the configuration
	Free           // has a pose of the configuration, in the world
	KindCount
)

// width returns the numbers of a configuration that a joint of a kind reads.
func (k Kind) width() int { return [KindCount]int{0, 1, 1, 4, 7}[k] }

// Pose is a position and a quaternion (w, x, y, z).
type Pose [7]float64

// Joint moves a frame: the frame Above, moved by Place, and then by the joint. Its value is Multiplier times entry
// Index of the configuration, plus Offset; the numbers of a ball and of a free joint begin there.
type Joint struct {
	Kind               Kind
	Above              int32 // 0 is the root, i+1 the frame of joint i
	Index              int32
	Place              Pose       // a unit quaternion
	Axis               [3]float64 // a unit vector, in the frame of the joint
	Multiplier, Offset float64
}

// Place is a pose in a frame, which [Tree.Write] moves to the world.
type Place struct {
	Frame  int32
	Within Pose // a unit quaternion
}

// Tree is the joints that places depend on.
type Tree struct {
	dof    int
	frames int
	joints []moving
	places []placed
}

// placed is a place, and whether its pose in its frame is the identity.
type placed struct {
	Place
	plain bool
}

// moving is a joint with products that do not depend on the configuration.
type moving struct {
	Joint
	frame  int32
	driven [4]float64 // revolute: Place's rotation times the axis
	along  [3]float64 // prismatic: the axis, rotated by Place
}

// blockNumbers bounds the numbers of the frames of a block of configurations, which stay in the cache of a core.
const blockNumbers = 1 << 12

var rest = Pose{3: 1}

// New returns the tree of joints and places of configurations of dof numbers. A joint follows those above it.
func New(joints []Joint, places []Place, dof int) (*Tree, error) {
	t := &Tree{dof: dof, frames: len(joints) + 1}
	needed := make([]bool, t.frames)
	for i, p := range places {
		if p.Frame < 0 || int(p.Frame) >= t.frames {
			return nil, fmt.Errorf("place %d is in frame %d of %d", i, p.Frame, t.frames)
		}
		needed[p.Frame] = true
		t.places = append(t.places, placed{p, p.Within == rest})
	}
	for i, j := range joints {
		switch {
		case j.Kind >= KindCount:
			return nil, fmt.Errorf("joint %d is of kind %d of %d", i, j.Kind, KindCount)
		case j.Above < 0 || int(j.Above) > i:
			return nil, fmt.Errorf("joint %d is below frame %d, want one of those before it", i, j.Above)
		case j.Kind.width() > 0 && (j.Index < 0 || int(j.Index)+j.Kind.width() > dof):
			return nil, fmt.Errorf("joint %d reads %d numbers from %d on, a configuration has %d", i, j.Kind.width(),
				j.Index, dof)
		}
	}
	for i := len(joints); i > 0; i-- {
		if needed[i] && joints[i-1].Kind != Free {
			needed[joints[i-1].Above] = true
		}
	}
	for i, j := range joints {
		if needed[i+1] {
			m := moving{Joint: j, frame: int32(i + 1)}
			r := [4]float64(j.Place[3:])
			m.driven = product(r, [4]float64{0, j.Axis[0], j.Axis[1], j.Axis[2]})
			var along Pose
			along.set(&Pose{3: r[0], 4: r[1], 5: r[2], 6: r[3]}, j.Axis[0], j.Axis[1], j.Axis[2], 1, 0, 0, 0)
			m.along = [3]float64(along[:])
			t.joints = append(t.joints, m)
		}
	}
	return t, nil
}

// Write stores the poses of the places of configurations: of configuration w and place k at out[w*stride+7*k]. values
// are its numbers [worlds,dof]; base is the pose of the root, that of all worlds [7] or of each [worlds,7], or nil for
// the origin. Quaternions of base have unit length.
func (t *Tree) Write(out []float64, stride int, values, base []float64, worlds int) {
	block := max(8, blockNumbers/(7*t.frames))
	poses := make([]Pose, min(block, worlds)*t.frames)
	for lo := 0; lo < worlds; lo += block {
		n := min(block, worlds-lo)
		root := poses[:n]
		for w := range root {
			switch len(base) {
			case 0:
				root[w] = rest
			case 7:
				root[w] = Pose(base)
			default:
				root[w] = Pose(base[7*(lo+w):])
			}
		}
		for i := range t.joints {
			j := &t.joints[i]
			above, at := int(j.Above)*n, int(j.frame)*n
			j.move(poses[at:at+n], poses[above:above+n], values[lo*t.dof:], t.dof)
		}
		for w := range n {
			to := out[(lo+w)*stride:]
			for k := range t.places {
				p := &t.places[k]
				from := &poses[int(p.Frame)*n+w]
				if at := (*Pose)(to[7*k:]); p.plain {
					at.copy(from)
				} else {
					v := &p.Within
					at.set(from, v[0], v[1], v[2], v[3], v[4], v[5], v[6])
				}
			}
		}
	}
}

// move writes the poses of the frame of a joint from those of the frame above, in the same configurations.
func (j *moving) move(to, above []Pose, values []float64, dof int) {
	above = above[:len(to)]
	p, r := j.Place, [4]float64(j.Place[3:])
	switch j.Kind {
	case Fixed:
		for w := range to {
			to[w].set(&above[w], p[0], p[1], p[2], r[0], r[1], r[2], r[3])
		}
	case Revolute:
		d := j.driven
		for w := range to {
			s, c := sincos(0.5 * (j.Multiplier*values[w*dof+int(j.Index)] + j.Offset))
			to[w].set(&above[w], p[0], p[1], p[2], c*r[0]+s*d[0], c*r[1]+s*d[1], c*r[2]+s*d[2], c*r[3]+s*d[3])
		}
	case Prismatic:
		a := j.along
		for w := range to {
			v := j.Multiplier*values[w*dof+int(j.Index)] + j.Offset
			to[w].set(&above[w], p[0]+v*a[0], p[1]+v*a[1], p[2]+v*a[2], r[0], r[1], r[2], r[3])
		}
	case Ball:
		for w := range to {
			q := product(r, unit([4]float64(values[w*dof+int(j.Index):])))
			to[w].set(&above[w], p[0], p[1], p[2], q[0], q[1], q[2], q[3])
		}
	case Free:
		for w := range to {
			to[w] = Pose(values[w*dof+int(j.Index):])
			*(*[4]float64)(to[w][3:]) = unit([4]float64(to[w][3:]))
		}
	}
}

// copy stores a pose number by number: an assignment of arrays that may overlap is compiled to a call of memmove.
func (to *Pose) copy(p *Pose) {
	to[0], to[1], to[2], to[3], to[4], to[5], to[6] = p[0], p[1], p[2], p[3], p[4], p[5], p[6]
}

// set stores the pose in the world of one in the frame p: a position, and a rotation by a unit quaternion.
func (to *Pose) set(p *Pose, v0, v1, v2, s, a, b, c float64) {
	w, x, y, z := p[3], p[4], p[5], p[6]
	// v + 2 w (u × v) + 2 u × (u × v) with u = (x, y, z)
	tx, ty, tz := 2*(y*v2-z*v1), 2*(z*v0-x*v2), 2*(x*v1-y*v0)
	to[0] = p[0] + (v0 + w*tx + (y*tz - z*ty))
	to[1] = p[1] + (v1 + w*ty + (z*tx - x*tz))
	to[2] = p[2] + (v2 + w*tz + (x*ty - y*tx))
	to[3] = w*s - x*a - y*b - z*c
	to[4] = w*a + x*s + y*c - z*b
	to[5] = w*b - x*c + y*s + z*a
	to[6] = w*c + x*b - y*a + z*s
}

// product returns the product of two quaternions.
func product(q, r [4]float64) [4]float64 {
	var to Pose
	to.set(&Pose{3: q[0], 4: q[1], 5: q[2], 6: q[3]}, 0, 0, 0, r[0], r[1], r[2], r[3])
	return [4]float64(to[3:])
}

// unit returns a quaternion scaled to unit length: NaN if its length is 0.
func unit(q [4]float64) [4]float64 {
	n := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
	return [4]float64{q[0] / n, q[1] / n, q[2] / n, q[3] / n}
}

// Parts of π/2, of which the first two have 25 bits, so that their products with whole numbers of up to 28 bits are
// exact: twice those of π/4 in [Cephes], which package math has, too.
const (
	halfPi1 = 2 * 7.85398125648498535156e-1
	halfPi2 = 2 * 3.77489470793079817668e-8
	halfPi3 = 2 * 2.69515142907905952645e-15
)

// reduced is the largest argument that three parts of π/2 reduce.
const reduced = 1 << 20

// sincos returns sine and cosine as [math.Sincos] does, to two units in the last place of 1, without a branch on the
// octant, which nothing predicts: the polynomials of Cephes over [-π/4, π/4], exchanged and negated by bits.
func sincos(x float64) (float64, float64) {
	if !(math.Abs(x) <= reduced) {
		return math.Sincos(x)
	}
	const shift = 3 << 51 // a number of this size has no fraction
	t := x*(2/math.Pi) + shift
	k := math.Float64bits(t)
	n := t - shift
	r := ((x - n*halfPi1) - n*halfPi2) - n*halfPi3
	z := r * r
	// The coefficients in pairs, which a processor adds side by side.
	zz := z * z
	s := r + r*z*((-1.66666666666666307295e-1+8.33333333332211858878e-3*z)+
		zz*((-1.98412698295895385996e-4+2.75573136213857245213e-6*z)+
			zz*(-2.50507477628578072866e-8+1.58962301576546568060e-10*z)))
	c := 1 - 0.5*z + zz*((4.16666666666665929218e-2-1.38888888888730564116e-3*z)+
		zz*((2.48015872888517045348e-5-2.75573141792967388112e-7*z)+
			zz*(2.08757008419747316778e-9-1.13585365213876817300e-11*z)))
	sine, cosine := math.Float64bits(s), math.Float64bits(c)
	exchanged := (sine ^ cosine) & -(k & 1)
	sine ^= exchanged ^ (k&2)<<62
	cosine ^= exchanged ^ ((k+1)&2)<<62
	return math.Float64frombits(sine), math.Float64frombits(cosine)
}
