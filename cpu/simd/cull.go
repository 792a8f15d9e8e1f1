//go:build cgo

package simd

// #include "cull_api.h"
import "C"

// CullLanes is the number of worlds that a [Culler] takes at a time.
const CullLanes = C.CLR_CULL_LANES

// CullBody is what culling needs of a body at a place of all worlds, in the frame of the body. See package rollout.
type CullBody struct {
	Center    [3]float64 // of the ball that contains it
	Radius    float64
	Magnitude float64    // of all coordinates of its bounds
	Far       float64    // largest coordinate of a valid position
	Inner     [3]float64 // center of the ball within it
	Inradius  float64
	Slack     float64 // Inner is this close to a point of the body
}

// CullOptions describe a [Culler].
type CullOptions struct {
	Stride    int     // numbers of the poses of a world, 7 for each place
	Threshold float64 // distance beyond which no pair matters
	Valued    bool    // pairs that are not the least of a world do not matter either
}

// A Culler compares the balls of pairs of bodies in several worlds at once. It belongs to one goroutine.
type Culler struct {
	variant       string
	c             *C.clr_cull
	place         []int32
	a, b          []int32
	bodies        []float64
	balls, lowers []float64
	open          []int32
	out           *C.clr_culled
}

// NewCuller returns a culler of a variant that [Choose] returned. Each place has a body; a and b are pairs of indices
// into places. It returns nil without a variant, or if there are no pairs.
func NewCuller(variant string, places []int32, bodies []CullBody, a, b []int32, o CullOptions) *Culler {
	if variant == "" || len(a) == 0 {
		return nil
	}
	u := &Culler{variant: variant, c: new(C.clr_cull), out: new(C.clr_culled), place: places, a: a, b: b}
	u.c.places, u.c.pairs, u.c.stride = C.int64_t(len(places)), C.int64_t(len(a)), C.int64_t(o.Stride)
	u.c.threshold, u.c.valued = C.double(o.Threshold), flag(o.Valued)
	for i := range bodies {
		x := &bodies[i]
		same := 0.0
		if x.Center == x.Inner {
			same = 1
		}
		u.bodies = append(u.bodies, x.Center[0], x.Center[1], x.Center[2], x.Radius, x.Magnitude, x.Far,
			x.Inner[0], x.Inner[1], x.Inner[2], x.Inradius, x.Slack, same)
	}
	u.balls = make([]float64, C.CLR_CULL_BALLS*len(places))
	u.lowers, u.open = make([]float64, CullLanes*len(a)), make([]int32, CullLanes*len(a))
	return u
}

// Run culls [CullLanes] worlds, whose poses are given. It returns the set of worlds whose poses are all valid, with
// quaternions of norms near 1; of the others nothing is known.
func (u *Culler) Run(poses []float64) (valid uint) {
	_ = poses[CullLanes*int(u.c.stride)-1]
	return uint(cull(u.variant, u.c, (*C.double)(&poses[0]), (*C.int32_t)(&u.place[0]), (*C.int32_t)(&u.a[0]),
		(*C.int32_t)(&u.b[0]), (*C.double)(&u.bodies[0]), (*C.double)(&u.balls[0]), (*C.double)(&u.lowers[0]),
		(*C.int32_t)(&u.open[0]), u.out))
}

// Culled is what is known of a world.
type Culled struct {
	Open    []int32 // pairs that balls do not rule out, ascending
	Nearest int     // the pair with the least lower bound, -1 for none
	Upper   float64 // upper bound of the distance of that pair
	Beyond  float64 // distance beyond which pairs are culled
	Least   float64 // least lower bound of the culled pairs, +Inf for none
}

// World returns what the last Run found of a world. It is valid until the next one.
func (u *Culler) World(l int) Culled {
	first := l * len(u.a)
	return Culled{Open: u.open[first : first+int(u.out.count[l])], Nearest: int(u.out.nearest[l]),
		Upper: float64(u.out.upper[l]), Beyond: float64(u.out.beyond[l]), Least: float64(u.out.least[l])}
}
