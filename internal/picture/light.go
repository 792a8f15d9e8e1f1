package picture

import (
	"context"
	"image"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/internal/fault"
)

// Light, in units of the irradiance that makes a white surface white. The sky is a hemisphere: a surface that faces up
// has all its light, one that faces down that of the floor.
const (
	skyLight   = 0.62
	floorLight = 0.30
	sunLight   = 0.55
	shine      = 0.10 // of the highlight of Blinn and Phong, with the exponent
	gloss      = 40
)

// softness is the radius of the filter that softens the edges of shadows, as a share of the shadow map.
const softness = 1.1 / 1024

// A picture is lit by a sun that stands at the left behind the eye.
func sunOf(yaw float64) r3.Vec {
	sin, cos := math.Sincos(yaw - 0.9)
	return r3.Unit(r3.Vec{X: 0.62 * cos, Y: 0.62 * sin, Z: 1})
}

// A shadow map is the surface that the sun sees.
type shadow struct {
	lens lens
	seen *samples
	soft float64 // radius of the filter, texels
	bias float64 // distance below which a surface does not shadow another: half a texel, and rounding
}

// newShadow draws the shadow map, of so many texels a side, of solids within a ball.
func newShadow(ctx context.Context, workers, size int, solids []solid, sun, center r3.Vec, radius float64) (
	*shadow, error) {
	right := r3.Unit(r3.Cross(r3.Vec{Z: 1}, sun))
	s := &shadow{seen: newSamples(size, size, false), soft: softness * float64(size)}
	s.lens = lens{origin: center, axes: [3]r3.Vec{right, r3.Cross(sun, right), r3.Scale(-1, sun)},
		width: float64(size), height: float64(size), scale: float64(size) / (2.02 * radius), parallel: true}
	s.bias = 1.5 / s.lens.scale
	return s, s.seen.draw(ctx, workers, s.lens.triangles(solids))
}

// taps are the places of the filter of shadows: a spiral over the unit disc.
var taps = func() (out [12][2]float64) {
	for i := range out {
		r := math.Sqrt((float64(i) + 0.5) / float64(len(out)))
		sin, cos := math.Sincos(2.399963229728653 * float64(i)) // the golden angle
		out[i] = [2]float64{r * cos, r * sin}
	}
	return out
}()

// light is the share of the sun that a point has, of a surface with a normal.
func (s *shadow) light(p, normal r3.Vec) float64 {
	// Along the normal by the width of the filter, so that no surface shadows itself.
	p = r3.Add(p, r3.Scale((s.soft+1)/s.lens.scale, normal))
	x, y, k := s.lens.image(s.lens.local(p))
	hidden := 0
	for _, t := range taps {
		i, j := int(x+s.soft*t[0]), int(y+s.soft*t[1])
		if i < 0 || j < 0 || i >= s.seen.width || j >= s.seen.width {
			continue
		}
		if float64(s.seen.nearness[j*s.seen.width+i]) > k+s.bias {
			hidden++
		}
	}
	return 1 - float64(hidden)/float64(len(taps))
}

// directions are those in which ambient occlusion looks: over the unit ball, at different distances.
var directions = func() (out [20]r3.Vec) {
	for i := range out {
		z := 1 - (2*float64(i)+1)/float64(len(out))
		sin, cos := math.Sincos(2.399963229728653 * float64(i))
		r := math.Sqrt(1 - z*z)
		length := 0.15 + 0.85*math.Pow(math.Mod(float64(i)*0.618033988749895, 1), 1.5)
		out[i] = r3.Scale(length, r3.Vec{X: r * cos, Y: r * sin, Z: z})
	}
	return out
}()

// A shading turns samples into colors.
type shading struct {
	lens   lens
	seen   *samples
	shadow *shadow
	sun    r3.Vec
	eye    r3.Vec
	reach  float64      // of ambient occlusion, metres
	colors [][3]float64 // of bodies, linear
	floors []floor
}

// point is the place in the world of a sample.
func (s *shading) point(i int) r3.Vec {
	depth := 1 / float64(s.seen.nearness[i])
	x := float64(i%s.seen.width) + 0.5 - s.lens.width/2
	y := s.lens.height/2 - float64(i/s.seen.width) - 0.5
	p := r3.Scale(depth, s.lens.axes[2])
	p = r3.Add(p, r3.Scale(depth*x/s.lens.scale, s.lens.axes[0]))
	p = r3.Add(p, r3.Scale(depth*y/s.lens.scale, s.lens.axes[1]))
	return r3.Add(s.lens.origin, p)
}

func (s *shading) normal(i int) r3.Vec {
	n := s.seen.normal[i]
	return r3.Vec{X: float64(n[0]), Y: float64(n[1]), Z: float64(n[2])}
}

// open is the share of the sky that a sample sees: points about it, in the half-space of its normal, are hidden if the
// picture has a surface before them that is not much nearer than the reach [Mittring, Finding Next Gen, 2007].
func (s *shading) open(i int) float64 {
	p, n := s.point(i), s.normal(i)
	// Each pixel of a 4×4 pattern rotates the directions about the vertical, which a filter averages.
	x, y := i%s.seen.width/sampling, i/s.seen.width/sampling
	sin, cos := math.Sincos(2 * math.Pi / 16 * float64((x&3)+4*(y&3)))
	p = r3.Add(p, r3.Scale(0.02*s.reach, n))
	hidden := 0.0
	for _, d := range directions {
		d = r3.Vec{X: cos*d.X - sin*d.Y, Y: sin*d.X + cos*d.Y, Z: d.Z}
		if r3.Dot(d, n) < 0 {
			d = r3.Scale(-1, d)
		}
		at := s.lens.local(r3.Add(p, r3.Scale(s.reach, d)))
		if at.Z <= s.lens.near {
			continue
		}
		u, v, k := s.lens.image(at)
		if !(u >= 0 && v >= 0 && u < s.lens.width && v < s.lens.height) {
			continue
		}
		seen := float64(s.seen.nearness[int(v)*s.seen.width+int(u)])
		if seen <= k {
			continue
		}
		before := 1/k - 1/seen // how far the surface lies before the point
		if before > 0.01*s.reach {
			hidden += min(1, 1.5*s.reach/before)
		}
	}
	return 1 - hidden/float64(len(directions))
}

// openness is the share of the sky of each pixel: of its first sample that shows a surface, averaged over 4×4 pixels of
// about the same depth.
func (s *shading) openness(ctx context.Context, workers int) ([]float32, error) {
	w, h := s.seen.width/sampling, s.seen.height/sampling
	raw, depth, out := make([]float32, w*h), make([]float32, w*h), make([]float32, w*h)
	err := fault.Each(ctx, workers, h, func(y int) error {
		for x := range w {
			raw[y*w+x] = 1
			for k := range sampling * sampling {
				i := (y*sampling+k/sampling)*s.seen.width + x*sampling + k%sampling
				if s.seen.body[i] != nothing {
					raw[y*w+x], depth[y*w+x] = float32(s.open(i)), 1/s.seen.nearness[i]
					break
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, fault.Each(ctx, workers, h, func(y int) error {
		for x := range w {
			sum, count, own := float32(0), float32(0), depth[y*w+x]
			for j := max(y-2, 0); j < min(y+2, h); j++ {
				for i := max(x-2, 0); i < min(x+2, w); i++ {
					if d := depth[j*w+i] - own; d < float32(s.reach)/2 && -d < float32(s.reach)/2 {
						sum, count = sum+raw[j*w+i], count+1
					}
				}
			}
			if out[y*w+x] = 1; count > 0 {
				out[y*w+x] = sum / count
			}
		}
		return nil
	})
}

// resolve lights all samples and averages those of a pixel.
func (s *shading) resolve(ctx context.Context, workers int) (*image.NRGBA, error) {
	open, err := s.openness(ctx, workers)
	if err != nil {
		return nil, err
	}
	w, h := s.seen.width/sampling, s.seen.height/sampling
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	return out, fault.Each(ctx, workers, h, func(y int) error {
		for x := range w {
			c := s.pixel(x, y, float64(open[y*w+x]))
			p := out.Pix[4*(y*w+x):]
			for j := range c {
				p[j] = encode(c[j])
			}
			p[3] = 255
		}
		return nil
	})
}

// pixel is the mean of the samples of a pixel, linear. Samples of one surface that is not strongly curved have one
// light.
func (s *shading) pixel(x, y int, open float64) (mean [3]float64) {
	var at [sampling * sampling]int
	for k := range at {
		at[k] = (y*sampling+k/sampling)*s.seen.width + x*sampling + k%sampling
	}
	body, n := s.seen.body[at[0]], s.normal(at[0])
	one := true
	for _, i := range at {
		one = one && s.seen.body[i] == body && (body == nothing || r3.Dot(s.normal(i), n) > 0.995 && !s.edge(i))
	}
	if body == nothing && one {
		return background
	}
	var light, glint float64
	for k, i := range at {
		if k == 0 || !one {
			light, glint = s.light(i, open)
		}
		c := s.color(i, light, glint)
		for j := range mean {
			mean[j] += c[j] / float64(len(at))
		}
		if one && body >= 0 {
			return c
		}
	}
	return mean
}

// light is that of a sample, and its highlight.
func (s *shading) light(i int, open float64) (light, glint float64) {
	body := s.seen.body[i]
	if body == nothing {
		return 0, 0
	}
	p, n := s.point(i), s.normal(i)
	sun := max(r3.Dot(n, s.sun), 0)
	if sun > 0 {
		sun *= s.shadow.light(p, n)
	}
	up := (1 + n.Z) / 2
	light = (floorLight+(skyLight-floorLight)*up)*open + sunLight*sun
	if body < 0 {
		return light / (skyLight + sunLight*s.sun.Z), 0 // a floor in the open is as bright as its color
	}
	if s.edge(i) {
		light *= 0.45
	}
	if sun > 0 {
		half := r3.Unit(r3.Add(s.sun, r3.Unit(r3.Sub(s.eye, p))))
		glint = shine * sun * math.Pow(max(r3.Dot(n, half), 0), gloss)
	}
	return light, glint
}

// color is that of a sample in a light, linear.
func (s *shading) color(i int, light, glint float64) (c [3]float64) {
	body := s.seen.body[i]
	if body == nothing {
		return background
	}
	surface, share := [3]float64{}, 1.0
	if body >= 0 {
		surface = s.colors[body]
	} else {
		surface, share = s.floors[ground-body].color(s.point(i))
	}
	for j := range c {
		c[j] = background[j] + share*(surface[j]*light+glint-background[j])
	}
	return c
}

// edge reports whether a sample is the nearer one of two neighbors of different bodies.
func (s *shading) edge(i int) bool {
	if s.seen.body[i] < 0 {
		return false
	}
	w := s.seen.width
	x, y := i%w, i/w
	for _, d := range [4][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
		a, b := x+d[0], y+d[1]
		if a < 0 || b < 0 || a >= w || b >= s.seen.height {
			continue
		}
		if j := b*w + a; s.seen.body[j] != s.seen.body[i] && s.seen.nearness[j] < s.seen.nearness[i] {
			return true
		}
	}
	return false
}

// linear and encode are the transfer function of sRGB and its inverse.
func linear(c [3]float64) [3]float64 {
	for i, v := range c {
		if v <= 0.04045 {
			c[i] = v / 12.92
		} else {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return c
}

func encode(v float64) uint8 { return encoded[int(min(max(v, 0), 1)*float64(len(encoded)-1)+0.5)] }

// encoded has the bytes of the numbers from 0 to 1, close enough that no byte is passed over.
var encoded = func() (out [1 << 13]uint8) {
	for i := range out {
		v := float64(i) / float64(len(out)-1)
		if v <= 0.0031308 {
			v *= 12.92
		} else {
			v = 1.055*math.Pow(v, 1/2.4) - 0.055
		}
		out[i] = uint8(255*v + 0.5)
	}
	return out
}()

// background is the color where nothing is, linear.
var background = linear([3]float64{0.969, 0.973, 0.980})
