package hull

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"
)

// polygon returns the extreme points of a flat set, counter-clockwise around the
// normal of the triangle s[0:3] of its points. Dropping a coordinate along which
// that normal has a component is an affine bijection of the plane, so the exact hull
// of the projections (Andrew's monotone chain) is the exact hull of the points.
func polygon(cloud []r3.Vec, s [4]int32) []int32 {
	axis, turn := 0, 0
	for axis = range 3 {
		turn = orient2D(project(cloud[s[0]], axis), project(cloud[s[1]], axis), project(cloud[s[2]], axis))
		if turn != 0 {
			break
		}
	}
	flat := make([]point2, len(cloud))
	order := make([]int32, len(cloud))
	for i, p := range cloud {
		flat[i], order[i] = project(p, axis), int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(flat[i].x, flat[j].x), cmp.Compare(flat[i].y, flat[j].y))
	})
	var ring []int32
	chain := func() {
		floor := len(ring) + 1
		for _, i := range order {
			for len(ring) > floor && orient2D(flat[ring[len(ring)-2]], flat[ring[len(ring)-1]], flat[i]) <= 0 {
				ring = ring[:len(ring)-1]
			}
			ring = append(ring, i)
		}
		ring = ring[:len(ring)-1] // the other chain starts there
	}
	chain()
	slices.Reverse(order)
	chain()
	if turn < 0 {
		slices.Reverse(ring)
	}
	return ring
}
