package picture

import (
	"context"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/internal/fault"
)

// nothing is the body of a sample that no triangle covers.
const nothing = -1

// A lens maps points of the world onto an image. The third coordinate, the nearness, is linear over the image of a
// plane and greater for what is nearer: 1/depth of a perspective view, −depth of a parallel one.
type lens struct {
	origin        r3.Vec
	axes          [3]r3.Vec // to the right, upwards, forwards
	width, height float64
	scale         float64 // pixels at depth 1, or for a length of 1 of a parallel view
	near          float64 // depth below which nothing is drawn, of a perspective view
	parallel      bool
}

// local are the coordinates of a point: to the right, upwards, depth.
func (l *lens) local(p r3.Vec) r3.Vec {
	p = r3.Sub(p, l.origin)
	return r3.Vec{X: r3.Dot(p, l.axes[0]), Y: r3.Dot(p, l.axes[1]), Z: r3.Dot(p, l.axes[2])}
}

// image is the place of a point in the image, in pixels from its left upper corner, with its nearness.
func (l *lens) image(p r3.Vec) (x, y, nearness float64) {
	s, k := l.scale, -p.Z
	if !l.parallel {
		k = 1 / p.Z
		s *= k
	}
	return l.width/2 + s*p.X, l.height/2 - s*p.Y, k
}

// A triangle in the image: corners counter-clockwise as seen, with normals in world axes.
type triangle struct {
	x, y, k [3]float64
	normal  [3]r3.Vec
	body    int32
}

// triangles are those of the front sides of solids in the image.
func (l *lens) triangles(solids []solid) (out []triangle) {
	var at []r3.Vec
	for i := range solids {
		s := &solids[i]
		at = at[:0]
		for _, v := range s.vertices {
			at = append(at, l.local(v))
		}
		for _, t := range s.triangles {
			a, b, c := t[0], t[1], t[2]
			out = l.clip(out, s.body, [3]r3.Vec{at[a], at[b], at[c]},
				[3]r3.Vec{s.normals[a], s.normals[b], s.normals[c]})
		}
	}
	return out
}

// clip appends the part of a triangle beyond the near plane, of which there may be two triangles.
func (l *lens) clip(out []triangle, body int32, p, n [3]r3.Vec) []triangle {
	if l.parallel || p[0].Z >= l.near && p[1].Z >= l.near && p[2].Z >= l.near {
		return l.append(out, body, p, n)
	}
	var at, normals [4]r3.Vec
	count := 0
	add := func(p, n r3.Vec) { at[count], normals[count], count = p, n, count+1 }
	for i := range 3 {
		j := (i + 1) % 3
		if p[i].Z >= l.near {
			add(p[i], n[i])
		}
		if (p[i].Z >= l.near) != (p[j].Z >= l.near) {
			share := (l.near - p[i].Z) / (p[j].Z - p[i].Z)
			add(mix(p[i], p[j], share), mix(n[i], n[j], share))
		}
	}
	for i := 2; i < count; i++ {
		out = l.append(out, body, [3]r3.Vec{at[0], at[i-1], at[i]}, [3]r3.Vec{normals[0], normals[i-1], normals[i]})
	}
	return out
}

func (l *lens) append(out []triangle, body int32, p, n [3]r3.Vec) []triangle {
	t := triangle{body: body, normal: n}
	for i := range 3 {
		t.x[i], t.y[i], t.k[i] = l.image(p[i])
	}
	// The image has y downwards, so counter-clockwise corners have a negative area there.
	if area := t.area(); !(area < 0) || math.IsInf(area, 0) {
		return out
	}
	return append(out, t)
}

func (t *triangle) area() float64 {
	return (t.x[1]-t.x[0])*(t.y[2]-t.y[0]) - (t.x[2]-t.x[0])*(t.y[1]-t.y[0])
}

func mix(a, b r3.Vec, share float64) r3.Vec { return r3.Add(a, r3.Scale(share, r3.Sub(b, a))) }

// samples are what is seen at the centers of the pixels of an image.
type samples struct {
	width, height int
	nearness      []float32 // -Inf where nothing is
	body          []int32
	normal        [][3]float32 // nil if nobody asks
}

func newSamples(width, height int, normals bool) *samples {
	s := &samples{width: width, height: height, nearness: make([]float32, width*height)}
	for i := range s.nearness {
		s.nearness[i] = float32(math.Inf(-1))
	}
	if normals {
		s.normal, s.body = make([][3]float32, width*height), make([]int32, width*height)
		for i := range s.body {
			s.body[i] = nothing
		}
	}
	return s
}

// seam is how far triangles reach over their sides, so that rounding leaves no gap between neighbors.
const seam = 1e-9

// band is the number of rows of the image that a worker takes at a time.
const band = 32

// draw writes triangles into the samples. Each worker has rows of its own and takes the triangles in order.
func (s *samples) draw(ctx context.Context, workers int, triangles []triangle) error {
	bands := (s.height + band - 1) / band
	return fault.Each(ctx, workers, bands, func(i int) error {
		lo, hi := i*band, min((i+1)*band, s.height)
		for k := range triangles {
			s.fill(&triangles[k], lo, hi)
		}
		return nil
	})
}

// fill writes the samples of a triangle in rows lo to hi-1: those whose barycentric coordinates are not negative.
func (s *samples) fill(t *triangle, lo, hi int) {
	y0, y1 := span(min(t.y[0], t.y[1], t.y[2]), max(t.y[0], t.y[1], t.y[2]), lo, hi)
	x0, x1 := span(min(t.x[0], t.x[1], t.x[2]), max(t.x[0], t.x[1], t.x[2]), 0, s.width)
	if y0 >= y1 || x0 >= x1 {
		return
	}
	// Coordinate i is linear over the image: at a corner it is 1, and 0 on the opposite side.
	inverse := 1 / t.area()
	var at, right, down [3]float64
	for i := range 3 {
		j, k := (i+1)%3, (i+2)%3
		right[i] = -(t.y[k] - t.y[j]) * inverse
		down[i] = (t.x[k] - t.x[j]) * inverse
		at[i] = (float64(x0)+0.5-t.x[j])*right[i] + (float64(y0)+0.5-t.y[j])*down[i]
	}
	for y := y0; y < y1; y++ {
		b := at
		row := y * s.width
		for x := x0; x < x1; x++ {
			if b[0] >= -seam && b[1] >= -seam && b[2] >= -seam {
				s.put(row+x, t, &b)
			}
			for i := range 3 {
				b[i] += right[i]
			}
		}
		for i := range 3 {
			at[i] += down[i]
		}
	}
}

// span are the pixels from lo to hi-1 whose centers lie between two numbers.
func span(from, to float64, lo, hi int) (first, end int) {
	first = int(math.Ceil(min(max(from-0.5, float64(lo)), float64(hi))))
	end = int(math.Floor(min(max(to-0.5, float64(lo)-1), float64(hi)-1))) + 1
	return first, end
}

func (s *samples) put(i int, t *triangle, b *[3]float64) {
	k := float32(b[0]*t.k[0] + b[1]*t.k[1] + b[2]*t.k[2])
	if !(k > s.nearness[i]) {
		return
	}
	s.nearness[i] = k
	if s.normal == nil {
		return
	}
	s.body[i] = t.body
	// Over the surface, coordinates are weighted by the nearness of the corners.
	var n r3.Vec
	for c := range 3 {
		n = r3.Add(n, r3.Scale(b[c]*t.k[c], t.normal[c]))
	}
	n = r3.Unit(n)
	s.normal[i] = [3]float32{float32(n.X), float32(n.Y), float32(n.Z)}
}
