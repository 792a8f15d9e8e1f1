// Package hull builds the convex hull of 1 to 65,535 points of R³ and answers
// support queries on it.
//
// The hull may be a point, a segment, a flat polygon or a polyhedron;
// duplicate, collinear, coplanar and interior points are tolerated. Every
// combinatorial decision is made by the sign of a determinant that is computed
// exactly (a floating-point filter, then expansion arithmetic: Shewchuk, Adaptive
// Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates, 1997),
// so the result is the hull of the given coordinates, not an approximation of it:
// no point lies above any facet, by however little, and every vertex is extreme.
// The construction is quickhull with conflict lists (Barber, Dobkin and Huhdanpaa,
// The Quickhull Algorithm for Convex Hulls, 1996).
//
// The Go libraries for 3D hulls decide with a floating-point tolerance:
// github.com/markus-wa/quickhull-go is a port of akuukka/quickhull, whose open issue
// 23 shows surfaces that are not convex, and the one in EngoEngine/glm is float32. A
// missing vertex would falsify every certificate built on the support function, so
// this package has its own construction.
//
// # Range
//
// Coordinates are finite, at most 1e9 in magnitude. A coordinate smaller than
// 2⁻³⁰⁰ (5e-91) in magnitude counts as zero: above it, products of three
// coordinate differences and their rounding errors are multiples of 2⁻¹⁰⁵⁶, so
// nothing in the exact arithmetic under- or overflows.
//
// # Layers and threads
//
// hull imports gonum's r3 and the standard library only. A Hull is immutable once
// built and safe for any number of goroutines; its queries do not allocate.
// Errors come from [Build] only.
package hull

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/internal/poll"
)

// MaxPoints is the largest number of points that [Build] takes.
const MaxPoints = 65535

// MaxCoordinate is the largest magnitude of a coordinate, in metres.
const MaxCoordinate = 1e9

// minCoordinate: smaller magnitudes count as zero, see the package comment.
const minCoordinate = 0x1p-300

// Hull is the convex hull of a set of points. Its vertices are exactly the extreme
// points of the set; they stand in lexicographic order, so the hull does not
// depend on the order of the input.
type Hull struct {
	// Dim is 0 for a point, 1 for a segment, 2 for a flat polygon, 3 for a polyhedron.
	Dim int

	Vertices []r3.Vec // extreme points [V]
	Index    []int32  // lowest input index that has the coordinates of each vertex [V]

	// Facets are the triangles of the surface, counter-clockwise seen from outside
	// [F]. The triangles of one polygonal face follow each other, FaceStart
	// [faces+1] says where, and form a fan around its lowest vertex. A flat polygon
	// has two faces, one a side; points and segments have none.
	Facets    [][3]int32
	FaceStart []int32

	// Normals are the outward unit normals of the facets [F], equal within a face.
	// Offsets [F] are the largest float <n, v> over the corners of the face. The normals
	// are within 4 units of roundoff of the exact ones, however thin the facet, so the
	// hull lies in the half-space <n, x> ≤ offset up to that times its diameter and
	// the rounding of a dot product.
	Normals []r3.Vec
	Offsets []float64

	// The neighbours of vertex i are Adj[Start[i]:Start[i+1]], the other ends of the
	// true edges at i: diagonals of coplanar facets are left out.
	Start []int32 // [V+1]
	Adj   []int32

	extent    float64 // bound of the coordinate differences of two vertices
	seeds     []int32 // support vertices of a table of directions, or nil
	seedCells int     // cells along an edge of the table
}

// FaceCorners returns the number of corners of a face.
func (h *Hull) FaceCorners(face int) int {
	return int(h.FaceStart[face+1]-h.FaceStart[face]) + 2
}

// FaceCorner returns the vertex at corner i of a face, counter-clockwise.
func (h *Hull) FaceCorner(face, i int) int {
	first := h.FaceStart[face]
	if i < 2 {
		return int(h.Facets[first][i])
	}
	return int(h.Facets[first+int32(i)-2][2])
}

// Build returns the hull of points. It reports an error if there are none or more
// than [MaxPoints], or a coordinate is not finite or larger than [MaxCoordinate].
func Build(points []r3.Vec) (*Hull, error) { return BuildContext(context.Background(), points) }

// BuildContext is [Build]; it ends soon after the context, with the error of that.
func BuildContext(ctx context.Context, points []r3.Vec) (*Hull, error) {
	if len(points) == 0 {
		return nil, fmt.Errorf("hull: no points; a hull needs 1 to %d", MaxPoints)
	}
	if len(points) > MaxPoints {
		return nil, fmt.Errorf("hull: %d points; a hull takes at most %d", len(points), MaxPoints)
	}
	cloud, index, err := canonical(points)
	if err != nil {
		return nil, err
	}
	var vertices []int32 // extreme points, ascending
	var faces [][]int32  // counter-clockwise polygons of extreme points
	dim, simplex := initialSimplex(cloud)
	switch dim {
	case 0:
		vertices = []int32{0}
	case 1:
		vertices = []int32{0, int32(len(cloud) - 1)} // lexicographic order is order along a line
	case 2:
		ring := polygon(cloud, simplex)
		vertices = slices.Sorted(slices.Values(ring))
		back := slices.Clone(ring)
		slices.Reverse(back)
		faces = [][]int32{ring, back}
	case 3:
		q := newQuickhull(cloud, simplex, poll.Of(ctx))
		if q.run(); q.poll.Stopped() {
			return nil, ctx.Err()
		}
		vertices, faces = q.extract()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	h := &Hull{Dim: dim}
	h.assemble(cloud, index, vertices, faces)
	return h, nil
}

// canonical returns the distinct points in lexicographic order and the lowest input
// index of each.
func canonical(points []r3.Vec) (cloud []r3.Vec, index []int32, err error) {
	clean := make([]r3.Vec, len(points))
	order := make([]int32, len(points))
	for i, p := range points {
		for _, c := range [3]float64{p.X, p.Y, p.Z} {
			if !(math.Abs(c) <= MaxCoordinate) {
				return nil, nil, fmt.Errorf("hull: point %d (%g, %g, %g): coordinates must be finite and at most %g "+
					"in magnitude",
					i, p.X, p.Y, p.Z, float64(MaxCoordinate))
			}
		}
		clean[i] = r3.Vec{X: flush(p.X), Y: flush(p.Y), Z: flush(p.Z)}
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(compareLex(clean[i], clean[j]), cmp.Compare(i, j))
	})
	cloud = make([]r3.Vec, 0, len(points))
	for _, i := range order {
		if n := len(cloud); n > 0 && cloud[n-1] == clean[i] {
			continue
		}
		cloud = append(cloud, clean[i])
		index = append(index, i)
	}
	return cloud, index, nil
}

// flush returns +0 for magnitudes below minCoordinate.
func flush(x float64) float64 {
	if math.Abs(x) < minCoordinate {
		return 0
	}
	return x
}

func compareLex(a, b r3.Vec) int {
	switch {
	case a.X != b.X:
		return cmp.Compare(a.X, b.X)
	case a.Y != b.Y:
		return cmp.Compare(a.Y, b.Y)
	}
	return cmp.Compare(a.Z, b.Z)
}

// initialSimplex returns the dimension of the distinct, sorted points and the
// indices of dim+1 of them that are affinely independent, well apart where the
// set allows it.
func initialSimplex(cloud []r3.Vec) (dim int, s [4]int32) {
	if len(cloud) == 1 {
		return 0, s
	}
	a := cloud[0]
	s[1] = farthest(cloud, func(p r3.Vec) float64 { return r3.Norm2(r3.Sub(p, a)) })
	if cloud[s[1]] == a { // every distance underflowed
		s[1] = int32(len(cloud) - 1)
	}
	b := cloud[s[1]]
	u := scaleToUnitBox(r3.Sub(b, a))

	s[2] = farthest(cloud, func(p r3.Vec) float64 { return r3.Norm2(r3.Cross(u, r3.Sub(p, a))) })
	if Collinear(a, b, cloud[s[2]]) {
		i := slices.IndexFunc(cloud, func(p r3.Vec) bool { return !Collinear(a, b, p) })
		if i < 0 {
			return 1, s
		}
		s[2] = int32(i)
	}
	c := cloud[s[2]]
	n := unitNormal(a, b, c)

	s[3] = farthest(cloud, func(p r3.Vec) float64 { return math.Abs(r3.Dot(n, r3.Sub(p, a))) })
	if Orient3D(a, b, c, cloud[s[3]]) == 0 {
		i := slices.IndexFunc(cloud, func(p r3.Vec) bool { return Orient3D(a, b, c, p) != 0 })
		if i < 0 {
			return 2, s
		}
		s[3] = int32(i)
	}
	return 3, s
}

func farthest(cloud []r3.Vec, measure func(r3.Vec) float64) (best int32) {
	most := math.Inf(-1)
	for i, p := range cloud {
		if m := measure(p); m > most {
			most, best = m, int32(i)
		}
	}
	return best
}

// assemble fills the hull from the extreme points and the polygons of its faces.
func (h *Hull) assemble(cloud []r3.Vec, index, vertices []int32, faces [][]int32) {
	number := make(map[int32]int32, len(vertices))
	for i, v := range vertices {
		number[v] = int32(i)
		h.Vertices = append(h.Vertices, cloud[v])
		h.Index = append(h.Index, index[v])
	}
	size := extents(h.Vertices)
	h.extent = max(size.X, size.Y, size.Z)
	for k, face := range faces {
		for i, v := range face {
			face[i] = number[v]
		}
		low := slices.Index(face, slices.Min(face))
		faces[k] = slices.Concat(face[low:], face[:low])
	}
	slices.SortFunc(faces, slices.Compare)
	h.connect(faces)
	for _, face := range faces {
		h.FaceStart = append(h.FaceStart, int32(len(h.Facets)))
		n := unitNormal(h.Vertices[face[0]], h.Vertices[face[1]], h.Vertices[face[2]])
		offset := math.Inf(-1)
		for _, v := range face {
			offset = max(offset, r3.Dot(n, h.Vertices[v]))
		}
		for i := 2; i < len(face); i++ {
			h.Facets = append(h.Facets, [3]int32{face[0], face[i-1], face[i]})
			h.Normals = append(h.Normals, n)
			h.Offsets = append(h.Offsets, offset)
		}
	}
	h.FaceStart = append(h.FaceStart, int32(len(h.Facets)))
	if len(h.Vertices) > LinearLimit {
		h.buildSeeds()
	}
}

// extents returns the edge lengths of the bounding box of points.
func extents(points []r3.Vec) r3.Vec {
	lo, hi := points[0], points[0]
	for _, p := range points {
		lo = r3.Vec{X: min(lo.X, p.X), Y: min(lo.Y, p.Y), Z: min(lo.Z, p.Z)}
		hi = r3.Vec{X: max(hi.X, p.X), Y: max(hi.Y, p.Y), Z: max(hi.Z, p.Z)}
	}
	return r3.Sub(hi, lo)
}

// connect fills Start and Adj. Every edge is walked once in each direction by the
// faces, so each walk gives one entry.
func (h *Hull) connect(faces [][]int32) {
	n := len(h.Vertices)
	h.Start = make([]int32, n+1)
	if h.Dim == 1 {
		h.Start[1], h.Start[2] = 1, 2
		h.Adj = []int32{1, 0}
		return
	}
	for _, face := range faces {
		for _, v := range face {
			h.Start[v+1]++
		}
	}
	for i := range n {
		h.Start[i+1] += h.Start[i]
	}
	h.Adj = make([]int32, h.Start[n])
	fill := slices.Clone(h.Start[:n])
	for _, face := range faces {
		for i, v := range face {
			h.Adj[fill[v]] = face[(i+1)%len(face)]
			fill[v]++
		}
	}
	for i := range n {
		slices.Sort(h.Adj[h.Start[i]:h.Start[i+1]])
	}
}

// LinearLimit is the number of vertices up to which [Hull.Support] scans all of
// them. Nanoseconds a query (BenchmarkSupport: directions that converge to facet
// normals, points on a sphere, one core of an AMD EPYC server):
//
//	vertices     8   32   48   64   96  128  512  8000
//	scan         9   31   52   60   88  126  468  7276
//	climb       59   70   73   72   78   82  103   118
const LinearLimit = 80

// Support returns the index of a vertex that maximises <d, v>; d need not be unit.
// Up to [LinearLimit] vertices it scans, above it climbs from a table of seeds. The
// answer depends on d and the hull only. For d zero or not finite it is
// some vertex.
func (h *Hull) Support(d r3.Vec) int {
	if h.seeds == nil {
		return h.SupportLinear(d)
	}
	return h.SupportClimb(d, h.seed(d))
}

// orderKey maps floats to integers in the same order (-0 just below +0), so that
// the running maximum of a scan needs no branch to mispredict: 2.8 times as fast as
// the plain loop at 8 vertices.
func orderKey(s float64) int64 {
	b := int64(math.Float64bits(s))
	return b ^ int64(uint64(b>>63)>>1)
}

// fromOrderKey is the inverse of orderKey.
func fromOrderKey(k int64) float64 {
	return math.Float64frombits(uint64(k ^ int64(uint64(k>>63)>>1)))
}

// SupportLinear returns the lowest vertex index among those whose float dot product
// with d is largest; its true dot product is within 6 units of roundoff, times
// |d|₁ and the largest coordinate, of the maximum, as long as no product over- or
// underflows.
func (h *Hull) SupportLinear(d r3.Vec) int {
	best, most := 0, int64(math.MinInt64)
	for i := range h.Vertices {
		v := &h.Vertices[i]
		k := orderKey(d.X*v.X + d.Y*v.Y + d.Z*v.Z)
		if k > most {
			best = i
		}
		most = max(most, k)
	}
	return best
}

// SupportClimb walks from vertex start along edges, uphill, and returns a vertex that
// maximises <d, v> exactly; components of d below 1e-150 count as zero (after a scaling
// by a power of two where the largest is outside 1e-100..1e100). Among several such
// vertices the answer depends on start.
//
// It cannot be trapped: a polytope lies in the cone that its edges at a vertex span,
// so if no edge goes strictly uphill, no point is higher. A plateau is no
// exception, for a vertex on it that is not maximal still has a strictly rising edge.
// The argument needs exact slopes, as rounding that hides a tiny slope of a short
// edge could hide a large rise behind it; so slopes within their rounding error
// are compared exactly. Every step rises strictly, so the walk ends.
func (h *Hull) SupportClimb(d r3.Vec, start int) int {
	if !usable(d) {
		return start
	}
	if m := max(math.Abs(d.X), math.Abs(d.Y), math.Abs(d.Z)); !(m < 1e100 && m > 1e-100) {
		d = scaleToUnitBox(d)
	}
	d = r3.Vec{X: dropTiny(d.X), Y: dropTiny(d.Y), Z: dropTiny(d.Z)}
	// A slope is rounded in its difference, its product and two sums: 4 units of
	// roundoff of the sum of the magnitudes, which is at most |d|₁·extent.
	rounding := 5 * roundoff * h.extent * (math.Abs(d.X) + math.Abs(d.Y) + math.Abs(d.Z))
	at := int32(start)
	for {
		v := h.Vertices[at]
		best, most := at, orderKey(math.Inf(-1))
		for _, j := range h.Adj[h.Start[at]:h.Start[at+1]] {
			w := &h.Vertices[j]
			k := orderKey(d.X*(w.X-v.X) + d.Y*(w.Y-v.Y) + d.Z*(w.Z-v.Z))
			if k > most {
				best = j
			}
			most = max(most, k)
		}
		rise := fromOrderKey(most)
		switch {
		case rise > rounding:
			at = best
			continue
		case rise < -rounding:
			return int(at)
		}
		next := h.exactRise(d, at, rounding)
		if next == at {
			return int(at)
		}
		at = next
	}
}

// exactRise returns the first neighbour of a vertex that is with a strictly greater support value
// along d, or the vertex itself if there is none.
func (h *Hull) exactRise(d r3.Vec, at int32, rounding float64) int32 {
	v := h.Vertices[at]
	for _, j := range h.Adj[h.Start[at]:h.Start[at+1]] {
		w := h.Vertices[j]
		if d.X*(w.X-v.X)+d.Y*(w.Y-v.Y)+d.Z*(w.Z-v.Z) < -rounding {
			continue
		}
		if compareAlong(d, w, v) > 0 {
			return j
		}
	}
	return at
}

// usable reports whether d has a direction.
func usable(d r3.Vec) bool {
	m := max(math.Abs(d.X), math.Abs(d.Y), math.Abs(d.Z)) // NaN if any is NaN
	return m > 0 && m <= math.MaxFloat64
}

func dropTiny(x float64) float64 {
	if math.Abs(x) < 1e-150 {
		return 0
	}
	return x
}

// The seeds are the support vertices of a table of directions, so that a climb
// starts next to its goal. A direction finds its cell without a branch: scaled to
// |d|₁ = 1 it lies on the octahedron, and (sign of z, x, y) tell where. The table
// is a square grid over x, y ∈ [-1, 1] for either sign of z; the half of it
// outside |x| + |y| ≤ 1 is met only by cells that straddle the boundary.

// buildSeeds fills the table with about one useful cell a vertex.
func (h *Hull) buildSeeds() {
	h.seedCells = min(max(int(math.Sqrt(float64(len(h.Vertices)))), 4), 128)
	h.seeds = make([]int32, 2*h.seedCells*h.seedCells)
	at := 0
	for k := range h.seeds {
		at = h.SupportClimb(cellCenter(k, h.seedCells), at)
		h.seeds[k] = int32(at)
	}
}

// cellCenter returns the direction of the middle of cell k.
func cellCenter(k, cells int) r3.Vec {
	side, row, col := k/(cells*cells), k/cells%cells, k%cells
	x := (2*float64(row)+1)/float64(cells) - 1
	y := (2*float64(col)+1)/float64(cells) - 1
	z := max(0, 1-math.Abs(x)-math.Abs(y))
	if side == 1 {
		z = -z
	}
	return r3.Vec{X: x, Y: y, Z: z}
}

// seed returns the seed of the cell that d falls in, or vertex 0 if d has no direction.
func (h *Hull) seed(d r3.Vec) int {
	m := math.Abs(d.X) + math.Abs(d.Y) + math.Abs(d.Z)
	if !(m > 0 && m <= math.MaxFloat64) {
		return 0
	}
	n := h.seedCells
	half := 0.5 * float64(n)
	row := min(int((d.X/m+1)*half), n-1)
	col := min(int((d.Y/m+1)*half), n-1)
	side := int(math.Float64bits(d.Z) >> 63)
	return int(h.seeds[(side*n+row)*n+col])
}
