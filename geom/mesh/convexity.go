package mesh

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom/hull"
	"clearance/internal/poll"
)

// FormatTolerance stands for the tolerance of [Part.CheckConvex] that rounding by the format of the file explains.
const FormatTolerance = -1

// DecompositionTolerance is a tolerance for the parts of published decompositions, which are simplified or retouched
// after the split and convex only roughly: of the 64 parts of the YCB set, 62 are within 1 % of
// their size, the worst are off by 1.1 % and 2.1 %. Parts that were never meant
// to be convex are off by more (an L of two equal bars 12 %, two cubes a cube
// apart 15 %), though a scan with a shallow dent may not be.
const DecompositionTolerance = 0.03

// roundings is the number of roundings of a coordinate that FormatTolerance allows for. Where coordinates move by at
// most e, points do by √3 e, and so do the points of the hull: a point of the surface lies at most 2√3 e = 3.5 e below
// the hull of the others. The rest allows for a second rounding, as of a mesh that was moved or scaled and then kept
// in float32.
const roundings = 8

// rounding bounds the error of a depth, relative to the size of the coordinates: few
// units of roundoff each for normal, offset, centroid and dot product.
const rounding = 32 * 0x1p-53

// NonConvexError says that a part is not convex.
type NonConvexError struct {
	Part      string
	Face      int     // the face that lies deepest below the hull of the part
	Depth     float64 // how deep, in units of the file
	Size      float64 // diagonal of the bounding box
	Tolerance float64 // relative to Size
	Rounded   bool    // whether the tolerance follows from the format
}

func (e *NonConvexError) Error() string {
	return e.Reason() + ": split it into convex parts, ask for its hull, or allow for a larger tolerance"
}

// Reason is the error without the advice.
func (e *NonConvexError) Reason() string {
	why := ""
	if e.Rounded {
		why = ", which the rounding of the file explains"
	}
	return fmt.Sprintf("part %q is not convex: face %d lies %.6g below the hull, %.2g of the size %.6g of the part "+
		"(tolerance %.2g%s)", e.Part, e.Face+1, e.Depth, e.Depth/e.Size, e.Size, e.Tolerance, why)
}

// CheckConvex reports a [*NonConvexError] if the surface of the part is not the one of
// its convex hull: if a corner or the centroid of a face lies deeper than
// tol × size below the hull, where size is the diagonal of the bounding box; tol = 0
// allows rounding of the check itself only, and [FormatTolerance] allows for that of the file. A part without faces is
// taken as it is.
//
// The centroids make the test complete: a centroid on a plane that supports the
// hull puts the whole face there, so a closed surface that passes with depth 0
// is the boundary of the hull. Corners alone would pass two boxes in a row.
// The error is another one if the part has no hull (see hull.Build).
func (p Part) CheckConvex(tol float64) error {
	_, err := p.Dent(tol)
	return err
}

// Dent returns how far the surface of the part lies below its hull at most, and the error of [Part.CheckConvex].
func (p Part) Dent(tol float64) (float64, error) {
	d, err := p.dent(context.Background())
	if err != nil {
		return 0, err
	}
	return d.Depth, d.judge(p, tol)
}

// dent is the place of a part that lies deepest below its hull.
type dent struct {
	NonConvexError
	reach float64 // largest distance from the origin
	flat  bool

	hull *hull.Hull // of the vertices of the part, if faces use all of them
}

// judge is the error of a part whose dent is beyond the tolerance.
func (d *dent) judge(p Part, tol float64) error {
	d.Tolerance = tol
	if d.Rounded = tol < 0; d.Rounded && d.Size > 0 {
		d.Tolerance = roundings * p.Rounding / d.Size
	}
	if d.Depth <= d.Tolerance*d.Size+rounding*d.reach {
		return nil
	}
	e := d.NonConvexError
	return &e
}

func (p Part) dent(ctx context.Context) (dent, error) {
	worst, _, err := p.dentCounted(ctx)
	return worst, err
}

// dentCounted is dent, and the number of facets looked at.
func (p Part) dentCounted(ctx context.Context) (worst dent, visits int, err error) {
	worst.Part, worst.flat = p.Name, true
	if len(p.Faces) == 0 {
		return worst, 0, nil
	}
	members := usedBy(p.Faces)
	points := make([]r3.Vec, len(members))
	for i, v := range members {
		points[i] = p.Vertices[v]
	}
	h, err := hull.BuildContext(ctx, points)
	if err != nil {
		return worst, 0, fmt.Errorf("part %q: %w", p.Name, err)
	}
	if len(members) == len(p.Vertices) {
		worst.hull = h
	}
	if h.Dim < 3 {
		return worst, 0, nil // flat: every point of it lies on the hull
	}
	worst.Size, worst.flat = diagonal(h.Vertices), false
	for _, q := range points {
		worst.reach = max(worst.reach, r3.Norm(q))
	}
	d := newDepths(h)
	known := make([]bool, len(p.Vertices)) // whether a vertex was looked at: it is no deeper than the worst
	for _, i := range h.Index {
		known[members[i]] = true // a vertex of the hull
	}
	stop := poll.Of(ctx)
	for f, face := range p.Faces {
		if stop.Stopped() {
			return worst, d.visits, ctx.Err()
		}
		var mean r3.Vec
		deepest := worst.Depth
		for _, v := range face {
			mean = r3.Add(mean, r3.Scale(1/float64(len(face)), p.Vertices[v]))
			if !known[v] {
				known[v] = true
				deepest = max(deepest, d.of(p.Vertices[v], deepest))
			}
		}
		deepest = max(deepest, d.of(mean, deepest))
		if deepest > worst.Depth {
			worst.Depth, worst.Face = deepest, f
		}
	}
	return worst, d.visits, nil
}

func diagonal(points []r3.Vec) float64 {
	lo, hi := points[0], points[0]
	for _, p := range points {
		lo = r3.Vec{X: min(lo.X, p.X), Y: min(lo.Y, p.Y), Z: min(lo.Z, p.Z)}
		hi = r3.Vec{X: max(hi.X, p.X), Y: max(hi.Y, p.Y), Z: max(hi.Z, p.Z)}
	}
	return r3.Norm(r3.Sub(hi, lo))
}

// ConvexPart is a convex part of a mesh, and how far its surface lies below its hull at most.
type ConvexPart struct {
	Part
	Dent float64

	Hull *hull.Hull // of the vertices; nil if that was not needed
}

// ConvexParts returns convex parts: each of the given ones that is convex to a tolerance, see [Part.CheckConvex], and
// the connected components of each that is not, if all of them are and enclose a volume with the same orientation, as
// disjoint solids do (a hollow one does not). Otherwise the error is about the part. Component k of a part "name" is
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

// leastDigits are the significant digits that a text is taken to have at least: those that C, C++ and most programs
// print by default. A coordinate of fewer digits may be exact.
const leastDigits = 6

// digits measures how precisely a text states its coordinates.
type digits struct {
	significant int  // the most of any number
	decimals    int  // of every number alike, while fixed
	fixed       bool // whether all numbers have equally many
	padded      bool // whether one of these ends in 0, which a program that drops zeros would not write
	any         bool
}

// note looks at a decimal number.
func (d *digits) note(field []byte) {
	mantissa := field
	if i := bytes.IndexAny(field, "eE"); i >= 0 {
		mantissa = field[:i]
	}
	significant, decimals, point := 0, 0, false
	for _, c := range mantissa {
		if c == '.' {
			point = true
		}
		if c < '0' || c > '9' {
			continue
		}
		if significant > 0 || c != '0' {
			significant++
		}
		if point {
			decimals++
		}
	}
	d.significant = max(d.significant, significant)
	if !d.any {
		d.decimals, d.fixed = decimals, true
	}
	d.any = true
	d.fixed = d.fixed && decimals == d.decimals && len(mantissa) == len(field)
	d.padded = d.padded || decimals > 1 && mantissa[len(mantissa)-1] == '0'
}

// rounding is half a unit of the last digit of coordinates up to reach: of the last decimal, if all numbers have
// as many.
func (d *digits) rounding(reach float64) float64 {
	if !d.any || reach == 0 {
		return 0
	}
	if d.fixed && d.padded {
		return 0.5 * math.Pow10(-d.decimals)
	}
	return 0.5 * math.Pow10(int(math.Floor(math.Log10(reach)))+1-max(d.significant, leastDigits))
}

// withRounding sets the rounding of parts: that of the digits of a text, and of float32 at least, as most programs
// keep their vertices in it.
func withRounding(parts []Part, d *digits) []Part {
	for i := range parts {
		reach := 0.0
		for _, v := range parts[i].Vertices {
			reach = max(reach, math.Abs(v.X), math.Abs(v.Y), math.Abs(v.Z))
		}
		parts[i].Rounding = max(0x1p-24*reach, d.rounding(reach))
	}
	return parts
}

// leafFacets is the number of facets that a search for the nearest one looks at one by one.
const leafFacets = 4

// depths answers how deep points lie in a polyhedron, by a tree of boxes around its facets.
//
// The depth of a point inside is its distance from the nearest plane of a face. The projection onto that plane lies on
// the face itself, since each other plane is at least as far: so the facets in a box that is farther away than a plane
// found before need no look. Facets stand along a Morton curve, so those of a range are close together; the tree halves
// the range.
type depths struct {
	h      *hull.Hull
	facets []int32 // along the curve
	boxes  []box   // of the nodes: the children of node i are 2i+1 and 2i+2
	visits int     // facets looked at
	stack  []node
}

type box struct{ lo, hi r3.Vec }

// node is the range of facets below a node, and a lower bound of the square of their distance from a point.
type node struct {
	index, first, last int
	distance2          float64
}

func newDepths(h *hull.Hull) *depths {
	d := &depths{h: h, facets: make([]int32, len(h.Facets))}
	all := around(h.Vertices)
	code := make([]uint32, len(h.Facets))
	for i, f := range h.Facets {
		d.facets[i] = int32(i)
		center := r3.Scale(1.0/3, r3.Add(h.Vertices[f[0]], r3.Add(h.Vertices[f[1]], h.Vertices[f[2]])))
		code[i] = morton(center, all)
	}
	slices.SortFunc(d.facets, func(a, b int32) int { return cmp.Or(cmp.Compare(code[a], code[b]), cmp.Compare(a, b)) })
	d.build(0, 0, len(d.facets))
	return d
}

// build makes the boxes of a node, whose facets are a range, and of those below it.
func (d *depths) build(index, first, last int) box {
	for len(d.boxes) <= index {
		d.boxes = append(d.boxes, box{})
	}
	var b box
	if last-first <= leafFacets {
		f := d.h.Facets[d.facets[first]]
		b = box{d.h.Vertices[f[0]], d.h.Vertices[f[0]]}
		for _, k := range d.facets[first:last] {
			for _, v := range d.h.Facets[k] {
				b = b.with(box{d.h.Vertices[v], d.h.Vertices[v]})
			}
		}
	} else {
		middle := (first + last) / 2
		b = d.build(2*index+1, first, middle).with(d.build(2*index+2, middle, last))
	}
	d.boxes[index] = b
	return b
}

// of returns the depth of a point, or a number at most enough if the depth is no greater than that.
func (d *depths) of(p r3.Vec, enough float64) float64 {
	least := math.Inf(1)
	d.stack = append(d.stack[:0], node{0, 0, len(d.facets), d.boxes[0].distance2(p)})
	for len(d.stack) > 0 && least > enough {
		n := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if n.distance2 > least*least || least < 0 {
			continue
		}
		if n.last-n.first <= leafFacets {
			d.visits += n.last - n.first
			for _, f := range d.facets[n.first:n.last] {
				least = min(least, d.h.Offsets[f]-r3.Dot(d.h.Normals[f], p))
			}
			continue
		}
		middle := (n.first + n.last) / 2
		near := node{2*n.index + 1, n.first, middle, d.boxes[2*n.index+1].distance2(p)}
		far := node{2*n.index + 2, middle, n.last, d.boxes[2*n.index+2].distance2(p)}
		if far.distance2 < near.distance2 {
			near, far = far, near
		}
		d.stack = append(d.stack, far, near)
	}
	return least
}

// distance2 is the square of the distance of a point from the box.
func (b box) distance2(p r3.Vec) float64 {
	x := max(b.lo.X-p.X, 0, p.X-b.hi.X)
	y := max(b.lo.Y-p.Y, 0, p.Y-b.hi.Y)
	z := max(b.lo.Z-p.Z, 0, p.Z-b.hi.Z)
	return x*x + y*y + z*z
}

func (b box) with(o box) box {
	return box{
		r3.Vec{X: min(b.lo.X, o.lo.X), Y: min(b.lo.Y, o.lo.Y), Z: min(b.lo.Z, o.lo.Z)},
		r3.Vec{X: max(b.hi.X, o.hi.X), Y: max(b.hi.Y, o.hi.Y), Z: max(b.hi.Z, o.hi.Z)},
	}
}

// around is the bounding box of points.
func around(points []r3.Vec) box {
	b := box{points[0], points[0]}
	for _, p := range points[1:] {
		b = b.with(box{p, p})
	}
	return b
}

// morton is the place of a point of a box along a Morton curve: the ten first binary digits of each coordinate in turn.
func morton(p r3.Vec, b box) uint32 {
	digits := func(x, lo, hi float64) uint32 {
		if !(hi > lo) {
			return 0
		}
		v := uint32(min(max((x-lo)/(hi-lo), 0), 1) * 1023)
		v = (v | v<<16) & 0x030000ff
		v = (v | v<<8) & 0x0300f00f
		v = (v | v<<4) & 0x030c30c3
		return (v | v<<2) & 0x09249249
	}
	return digits(p.X, b.lo.X, b.hi.X) | digits(p.Y, b.lo.Y, b.hi.Y)<<1 | digits(p.Z, b.lo.Z, b.hi.Z)<<2
}
