package verify

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// nearestSteps is the limit of the steps of nearest.
const nearestSteps = 40

// nearest returns the norm of a point of D', close to the least: the iteration of Gilbert with three points. It proves
// what its point proves, however far it gets.
func (v *cover) nearest() float64 {
	x := v.at(r3.Vec{X: 1}).s
	t := [3]r3.Vec{x, x, x}
	least := norm(x)
	for range nearestSteps {
		if !(least > 0) || v.lowest < v.least {
			break
		}
		s := v.at(r3.Scale(-1/least, x)).s
		best, at := math.Inf(1), 3
		for k := range 4 { // without one of the four points
			u := t
			if k < 3 {
				u[k] = s
			}
			if y := nearestOf(u); norm(y) < best {
				best, at, x = norm(y), k, y
			}
		}
		if at < 3 {
			t[at] = s
		}
		if !(best < least) {
			break
		}
		least = best
	}
	return least
}

// nearestOf returns the point of a triangle that is closest to the origin. Any point that it returns is a convex
// combination; of needles too it is the closest one up to rounding, because the direction across the longest edge is
// made orthogonal to it.
func nearestOf(t [3]r3.Vec) r3.Vec {
	best, from, longest := t[0], 0, 0.0
	consider := func(x r3.Vec) {
		if r3.Norm2(x) < r3.Norm2(best) {
			best = x
		}
	}
	for i := range 3 {
		s, e := t[i], r3.Sub(t[(i+1)%3], t[i])
		ee := r3.Norm2(e)
		if ee > longest {
			from, longest = i, ee
		}
		w := 0.0
		for range 2 { // the second step removes the rounding of the first
			if ee > 0 {
				w = math.Min(math.Max(w-r3.Dot(r3.Add(s, r3.Scale(w, e)), e)/ee, 0), 1)
			}
		}
		consider(r3.Add(s, r3.Scale(w, e)))
	}
	s, e, f := t[from], r3.Sub(t[(from+1)%3], t[from]), r3.Sub(t[(from+2)%3], t[from])
	g := r3.Sub(f, r3.Scale(r3.Dot(f, e)/longest, e))
	x, y := 0.0, 0.0
	for range 2 {
		p := r3.Add(s, r3.Add(r3.Scale(x, e), r3.Scale(y, f)))
		dy := -r3.Dot(p, g) / r3.Norm2(g)
		p = r3.Add(p, r3.Scale(dy, f))
		x, y = x-r3.Dot(p, e)/longest, y+dy
	}
	if x >= 0 && y >= 0 && x+y <= 1 {
		consider(r3.Add(s, r3.Add(r3.Scale(x, e), r3.Scale(y, f))))
	}
	return best
}
