package ref

import "gonum.org/v1/gonum/spatial/r3"

// sameBasin is the cosine of the angle (18°) to a known minimum within which no further run is started.
const sameBasin = 0.95

// restart searches for a lower minimum of h from further starting directions and keeps the lowest. The
// candidates are the axes of both shapes, in both senses: they are normal to the flat sides of many
// shapes. h is evaluated along each, and the runs start from the lowest.
func (t *trustRegion) restart(runs int) {
	type candidate struct {
		d r3.Vec
		h float64
	}
	var list [12]candidate
	n := 0
	var v Vertex
	for _, d := range [6]r3.Vec{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}} {
		list[n] = candidate{d, t.evaluate(d, &v)}
		d = t.p.rot.MulVec(d)
		list[n+1] = candidate{d, t.evaluate(d, &v)}
		n += 2
	}
	best := t.point
	for runs > 0 && n > 0 {
		low := 0
		for i := range n {
			if list[i].h < list[low].h {
				low = i
			}
		}
		d := list[low].d
		n--
		list[low] = list[n]
		if r3.Dot(d, best.x) > sameBasin || r3.Dot(d, t.x) > sameBasin {
			continue
		}
		if t.minimize(d); t.h < best.h {
			best = t.point
		}
		runs--
	}
	t.point = best
}
