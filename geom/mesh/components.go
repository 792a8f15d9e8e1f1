package mesh

import (
	"context"
	"fmt"

	"clearance/geom/hull"
	"clearance/internal/poll"

	"gonum.org/v1/gonum/spatial/r3"
)

// ConvexPart is a convex part of a mesh, and how far its surface lies below its hull at most.
type ConvexPart struct {
	Part
	Dent float64

	Hull *hull.Hull // of the vertices; nil if that was not needed
}

// ConvexParts returns convex parts: each of the given ones that is convex to a tolerance, see [Part.CheckConvex], and
// the connected components of each that is not, if all of them are and enclose a volume with the same orientation, as
// disjoint solids do (a hollow one does not). Otherwise the error is that of the part. Component k of a part "name" is
// "name.k".
func ConvexParts(parts []Part, tol float64) ([]ConvexPart, error) {
	return ConvexPartsContext(context.Background(), parts, tol)
}

// ConvexPartsContext is [ConvexParts]; it ends soon after the context, with the error of that.
func ConvexPartsContext(ctx context.Context, parts []Part, tol float64) ([]ConvexPart, error) {
	var all []ConvexPart
	for _, p := range parts {
		d, err := p.dent(ctx)
		if err == nil {
			err = d.judge(p, tol)
		}
		if err == nil {
			all = append(all, ConvexPart{p, d.Depth, d.hull})
			continue
		}
		split, ok := convexComponents(ctx, p, tol)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !ok {
			return nil, err
		}
		all = append(all, split...)
	}
	return all, nil
}

// convexComponents returns the components of a part, and whether there are several, all of them convex solids.
func convexComponents(ctx context.Context, p Part, tol float64) ([]ConvexPart, bool) {
	components := p.components(ctx)
	if len(components) < 2 {
		return nil, false
	}
	outside := 0.0
	list := make([]ConvexPart, len(components))
	for i, c := range components {
		d, err := c.dent(ctx)
		volume := c.volume()
		if err != nil || d.flat || d.judge(c, tol) != nil || volume*outside < 0 || volume == 0 {
			return nil, false
		}
		outside = volume
		list[i] = ConvexPart{c, d.Depth, d.hull}
	}
	return list, true
}

// components returns the parts of the surface that have no point in common, in the order of their first faces.
// Once the context has ended they are some of them.
func (p Part) components(ctx context.Context) []Part {
	stop := poll.Of(ctx)
	// A vertex leads to another one of its component, or to itself.
	up := make([]int32, len(p.Vertices))
	same := make(map[r3.Vec]int32, len(p.Vertices))
	for i, v := range p.Vertices {
		if stop.Stopped() {
			return nil
		}
		up[i] = int32(i)
		if k, ok := same[r3.Vec{X: v.X + 0, Y: v.Y + 0, Z: v.Z + 0}]; ok { // -0 is 0
			up[i] = k
		} else {
			same[r3.Vec{X: v.X + 0, Y: v.Y + 0, Z: v.Z + 0}] = int32(i)
		}
	}
	root := func(i int32) int32 {
		for up[i] != i {
			up[i] = up[up[i]]
			i = up[i]
		}
		return i
	}
	for _, face := range p.Faces {
		if stop.Stopped() {
			return nil
		}
		for _, v := range face[1:] {
			up[root(v)] = root(face[0])
		}
	}
	var list []Part
	at := map[int32]int{}
	local := map[int32]int32{}
	for _, face := range p.Faces {
		if stop.Stopped() {
			return nil
		}
		r := root(face[0])
		k, ok := at[r]
		if !ok {
			k = len(list)
			at[r] = k
			list = append(list, Part{Name: fmt.Sprintf("%s.%d", p.Name, k), Rounding: p.Rounding})
		}
		c := &list[k]
		corners := make([]int32, len(face))
		for i, v := range face {
			place, ok := local[v]
			if !ok {
				place = int32(len(c.Vertices))
				local[v] = place
				c.Vertices = append(c.Vertices, p.Vertices[v])
			}
			corners[i] = place
		}
		c.Faces = append(c.Faces, corners)
	}
	return list
}

// volume is the volume that a closed surface encloses, negative if its faces are seen from outside in clockwise order.
func (p Part) volume() float64 {
	sum := 0.0
	for _, face := range p.Faces {
		a := r3.Sub(p.Vertices[face[0]], p.Vertices[0])
		for i := 2; i < len(face); i++ {
			b, c := r3.Sub(p.Vertices[face[i-1]], p.Vertices[0]), r3.Sub(p.Vertices[face[i]], p.Vertices[0])
			sum += r3.Dot(a, r3.Cross(b, c)) / 6
		}
	}
	return sum
}
