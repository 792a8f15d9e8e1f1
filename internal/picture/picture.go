package picture

import (
	"context"
	"fmt"
	"image"
	"math"
	"runtime"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/camera"
	"clearance/internal/scenefile"
)

// sampling is the number of samples of a pixel in each direction.
const sampling = 2

// Limits of pictures.
const (
	MaxSide   = 4096
	MaxFrames = 2000
)

// Options say what a picture shows. The zero value is the documented default.
type Options struct {
	Width  int `json:"width"`  // pixels, 960 if 0
	Height int `json:"height"` // 600 if 0

	Row  int      `json:"row"`  // position among the rows of the document: it chooses the world or the pair
	Time *float64 `json:"time"` // on the time line of the world; nil for that of the row, or its first one

	Azimuth   *float64    `json:"azimuth"`   // degrees, of the eye as seen from the target, from x to y; -57 if nil
	Elevation *float64    `json:"elevation"` // degrees above the plane of x and y; 24 if nil
	Zoom      float64     `json:"zoom"`      // 1 if 0: all bodies fill the picture
	Target    *[3]float64 `json:"target"`    // metres, in the middle of the picture; nil for the middle of the bodies

	Colors    []*[3]float64 `json:"colors"`     // of bodies, sRGB from 0 to 1; null for those of the palette
	NoFloor   bool          `json:"no_floor"`   // draws no floor where the document has no half-space
	NoMarks   bool          `json:"no_marks"`   // draws no distances
	Untinted  bool          `json:"untinted"`   // leaves bodies in contact in their colors
	Labels    []string      `json:"labels"`     // of the rows; nil for the distances, none for ""
	Segments  []Segment     `json:"segments"`   // further ones
	FrameTime float64       `json:"frame_time"` // seconds of a frame of a film, 0.04 if 0
	Times     []float64     `json:"times"`      // of the frames of a film; nil for the times of the world

	Workers int `json:"-"` // all processors if 0
}

// A Segment is drawn over a picture, with a label.
type Segment struct {
	From  [3]float64 `json:"from"`
	To    [3]float64 `json:"to"`
	Color [3]float64 `json:"color"` // sRGB
	Label string     `json:"label"`
}

// palette has the colors of bodies in turn, sRGB.
var palette = [][3]float64{
	{0.36, 0.56, 0.80}, {0.95, 0.70, 0.36}, {0.50, 0.72, 0.52}, {0.72, 0.58, 0.78}, {0.84, 0.80, 0.62},
	{0.48, 0.72, 0.76}, {0.85, 0.60, 0.58}, {0.66, 0.69, 0.74},
}

var (
	contactColor    = [3]float64{0.82, 0.16, 0.13}
	separatedColor  = [3]float64{0.07, 0.45, 0.27}
	unansweredColor = [3]float64{0.93, 0.68, 0.0}
)

// Draw draws a row of a document, with its world.
func Draw(ctx context.Context, d *scenefile.Document, o Options) (*image.NRGBA, error) {
	s, o, err := prepared(d, o)
	if err != nil {
		return nil, err
	}
	time := s.timeOf(&o)
	v, err := s.viewOf(&o, []float64{time})
	if err != nil {
		return nil, err
	}
	return s.draw(ctx, &o, v, time)
}

// prepared checks options and fills in their defaults.
func prepared(d *scenefile.Document, o Options) (*scene, Options, error) {
	if o.Width == 0 && o.Height == 0 {
		o.Width, o.Height = 960, 600
	}
	o.Workers = workersOf(&o)
	if o.Zoom == 0 {
		o.Zoom = 1
	}
	switch {
	case min(o.Width, o.Height) < 16 || max(o.Width, o.Height) > MaxSide:
		return nil, o, fmt.Errorf("picture: a size of %d×%d pixels, want 16 to %d each", o.Width, o.Height, MaxSide)
	case d.Rows.Count == 0 && len(d.Worlds) == 0:
		return nil, o, fmt.Errorf("picture: the scene has no rows and no worlds")
	case d.Rows.Count == 0:
		o.Row = -1
	case o.Row < 0 || o.Row >= d.Rows.Count:
		return nil, o, fmt.Errorf("picture: row %d of %d", o.Row, d.Rows.Count)
	}
	if !(o.Zoom > 0) || math.IsInf(o.Zoom, 0) {
		return nil, o, fmt.Errorf("picture: zoom %g, want a positive number", o.Zoom)
	}
	for _, x := range []struct {
		name  string
		value *float64
		most  float64
	}{{"azimuth", o.Azimuth, math.Inf(1)}, {"elevation", o.Elevation, 90}, {"time", o.Time, math.Inf(1)}} {
		if x.value != nil && (math.IsNaN(*x.value) || math.IsInf(*x.value, 0) || math.Abs(*x.value) > x.most) {
			return nil, o, fmt.Errorf("picture: %s %g", x.name, *x.value)
		}
	}
	if len(o.Colors) > len(d.Bodies) {
		return nil, o, fmt.Errorf("picture: %d colors of %d bodies", len(o.Colors), len(d.Bodies))
	}
	if o.Labels != nil && len(o.Labels) != d.Rows.Count {
		return nil, o, fmt.Errorf("picture: %d labels of %d rows", len(o.Labels), d.Rows.Count)
	}
	s, err := newScene(d)
	return s, o, err
}

func workersOf(o *Options) int {
	if o.Workers > 0 {
		return o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// timeOf is the time that a picture shows.
func (s *scene) timeOf(o *Options) float64 {
	w := s.world(o.Row)
	switch {
	case o.Time != nil:
		return *o.Time
	case w == nil:
		return 0
	case o.Row >= 0 && len(s.doc.Rows.Time) > 0:
		return s.doc.Rows.Time[o.Row]
	}
	return w.Times[0]
}

// A view is what the pictures of a film share: the camera, and the ball that holds what is seen.
type view struct {
	camera camera.Camera
	center r3.Vec
	radius float64
	lowest float64 // z of the lowest point
}

// fitted is the number of times of a film by which the camera is placed.
const fitted = 24

// viewOf places the camera so that the bodies at all times fill the picture.
func (s *scene) viewOf(o *Options, times []float64) (*view, error) {
	var points []r3.Vec
	for k := 0; k < len(times); k += 1 + (len(times)-1)/fitted {
		items := s.items(o.Row, times[k])
		solids, _ := s.solids(items)
		for i := range solids {
			points = append(points, solids[i].vertices...)
		}
		for _, m := range s.marks(o, times[k]) {
			points = append(points, m.from, m.to)
		}
	}
	if len(points) == 0 {
		points = []r3.Vec{{X: -1, Y: -1}, {X: 1, Y: 1}}
	}
	inf := math.Inf(1)
	lo, hi := r3.Vec{X: inf, Y: inf, Z: inf}, r3.Vec{X: -inf, Y: -inf, Z: -inf}
	for _, p := range points {
		lo = r3.Vec{X: min(lo.X, p.X), Y: min(lo.Y, p.Y), Z: min(lo.Z, p.Z)}
		hi = r3.Vec{X: max(hi.X, p.X), Y: max(hi.Y, p.Y), Z: max(hi.Z, p.Z)}
	}
	v := &view{center: r3.Scale(0.5, r3.Add(lo, hi)), lowest: lo.Z}
	for _, p := range points {
		v.radius = max(v.radius, r3.Norm(r3.Sub(p, v.center)))
	}
	if !(v.radius > 0) || math.IsInf(v.radius, 0) {
		return nil, fmt.Errorf("picture: the bodies have a radius of %g m", v.radius)
	}
	v.camera = camera.Camera{Target: v.center, Yaw: -57 * math.Pi / 180, Pitch: 24 * math.Pi / 180}
	if o.Azimuth != nil {
		v.camera.Yaw = *o.Azimuth * math.Pi / 180
	}
	if o.Elevation != nil {
		v.camera.Pitch = min(max(*o.Elevation*math.Pi/180, -camera.MaxPitch), camera.MaxPitch)
	}
	for range 4 { // near points are farther from the middle of the picture: the target moves until it is the middle
		v.camera.FitPoints(points, o.Width, o.Height)
		if o.Target == nil {
			v.camera.Center(points, o.Width, o.Height)
		}
	}
	if o.Target != nil {
		v.camera.Target = r3.Vec{X: o.Target[0], Y: o.Target[1], Z: o.Target[2]}
		v.camera.FitPoints(points, o.Width, o.Height)
	} else {
		v.camera.FitPoints(points, o.Width, o.Height)
	}
	v.camera.Distance *= 1.08 / o.Zoom
	return v, nil
}

// draw draws a time.
func (s *scene) draw(ctx context.Context, o *Options, v *view, time float64) (*image.NRGBA, error) {
	items := s.items(o.Row, time)
	marks := s.marks(o, time)
	for _, m := range marks {
		for _, i := range m.items {
			if i >= 0 && i < len(items) {
				items[i].hit = max(items[i].hit, m.state)
			}
		}
	}
	solids, planes := s.solids(items)
	if len(planes) == 0 && !o.NoFloor {
		planes = append(planes, geom.Pose{Position: r3.Vec{Z: v.lowest}, Rotation: geom.IdentityPose().Rotation})
	}
	sun := sunOf(v.camera.Yaw)
	shadow, err := newShadow(ctx, o.Workers, shadowSize(o), solids, sun, v.center, v.radius)
	if err != nil {
		return nil, err
	}
	l := lensOf(&v.camera, o.Width*sampling, o.Height*sampling)
	sh := &shading{lens: l, seen: newSamples(o.Width*sampling, o.Height*sampling, true), shadow: shadow, sun: sun,
		eye: v.camera.Eye(), reach: 0.16 * v.radius, colors: s.colors(o, items)}
	for k, plane := range planes {
		f := newFloor(plane, v.center, v.radius, ground-int32(k))
		sh.floors, solids = append(sh.floors, f), append(solids, f.solid())
	}
	if err := sh.seen.draw(ctx, o.Workers, l.triangles(solids)); err != nil {
		return nil, err
	}
	out, err := sh.resolve(ctx, o.Workers)
	if err != nil {
		return nil, err
	}
	return out, drawMarks(out, &v.camera, marks)
}

// shadowSize is the number of texels of a side of the shadow map: about as many as the picture has samples.
func shadowSize(o *Options) int {
	size := 512
	for size < 2048 && size < 3*max(o.Width, o.Height)/2 {
		size *= 2
	}
	return size
}

// lensOf is a camera as a lens of an image.
func lensOf(c *camera.Camera, width, height int) lens {
	near, _ := c.Depths()
	return lens{origin: c.Eye(), axes: c.Axes(), width: float64(width), height: float64(height), near: near,
		scale: float64(height) / 2 / math.Tan(camera.FieldOfView/2)}
}

// colors are those of items, linear.
func (s *scene) colors(o *Options, items []item) [][3]float64 {
	out := make([][3]float64, len(items))
	for i, it := range items {
		c := palette[i%len(palette)]
		if it.body >= 0 && it.body < len(o.Colors) && o.Colors[it.body] != nil {
			c = *o.Colors[it.body]
		}
		if it.hit != apart && !o.Untinted {
			c = blended(c, markColors[it.hit], 0.65)
		}
		out[i] = linear(c)
	}
	return out
}

func blended(a, b [3]float64, share float64) [3]float64 {
	for i := range a {
		a[i] += share * (b[i] - a[i])
	}
	return a
}
