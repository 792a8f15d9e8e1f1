// Package camera holds the camera of the viewer and of pictures: a perspective view of a target, with z upwards.
//
// It imports nothing of this module. A Camera is plain data: goroutines may share one that none of them changes.
package camera

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// A Camera looks at a target, with the z axis of the world upwards on the screen. Lengths are in metres, angles in
// radians.
type Camera struct {
	Target     r3.Vec
	Yaw, Pitch float64 // of the eye as seen from the target: about z from x, and above the plane of x and y
	Distance   float64 // of the eye from the target
	Scene      float64 // radius of what is seen about the target: it sets the range of depths
}

// FieldOfView is the angle from the bottom of the screen to its top, as of a normal lens.
const FieldOfView = 40 * math.Pi / 180

// MaxPitch keeps the z axis upwards.
const MaxPitch = 89 * math.Pi / 180

// Eye returns the place of the camera.
func (c *Camera) Eye() r3.Vec {
	return r3.Sub(c.Target, r3.Scale(c.Distance, c.Axes()[2]))
}

// Axes are the directions to the right, upwards and forwards.
func (c *Camera) Axes() [3]r3.Vec {
	sy, cy := math.Sincos(c.Yaw)
	sp, cp := math.Sincos(c.Pitch)
	return [3]r3.Vec{{X: -sy, Y: cy}, {X: -sp * cy, Y: -sp * sy, Z: cp}, {X: -cp * cy, Y: -cp * sy, Z: -sp}}
}

// Fit moves the camera so that a ball fills a screen of width by height pixels.
func (c *Camera) Fit(center r3.Vec, radius float64, width, height int) {
	half := math.Atan(math.Tan(FieldOfView/2) * min(1, float64(width)/float64(max(height, 1))))
	c.Target, c.Scene = center, radius
	c.Distance = max(radius, math.SmallestNonzeroFloat32) / math.Sin(half)
}

// FitPoints moves the camera back or forth so that points fill a screen of width by height pixels about its target: a
// point p, in the axes of the camera, is on the screen if |p.right| ≤ tan·(Distance + p.forwards), and so for upwards.
func (c *Camera) FitPoints(points []r3.Vec, width, height int) {
	a := c.Axes()
	up := math.Tan(FieldOfView / 2)
	right := up * float64(width) / float64(max(height, 1))
	c.Distance, c.Scene = math.SmallestNonzeroFloat32, 0
	for _, p := range points {
		p = r3.Sub(p, c.Target)
		across := max(math.Abs(r3.Dot(p, a[0]))/right, math.Abs(r3.Dot(p, a[1]))/up)
		c.Distance = max(c.Distance, across-r3.Dot(p, a[2]))
		c.Scene = max(c.Scene, r3.Norm(p))
	}
}

// Center moves the target so that the middle of the points that are seen is in the middle of the screen.
func (c *Camera) Center(points []r3.Vec, width, height int) {
	loX, loY, hiX, hiY := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range points {
		if x, y, ok := c.Project(p, width, height); ok {
			loX, loY, hiX, hiY = min(loX, x), min(loY, y), max(hiX, x), max(hiY, y)
		}
	}
	if hiX >= loX {
		c.Pan(float64(width)/2-(loX+hiX)/2, float64(height)/2-(loY+hiY)/2, height)
	}
}

// Orbit rotates the camera about its target by a movement of the mouse in pixels.
func (c *Camera) Orbit(dx, dy float64) {
	c.Yaw = math.Remainder(c.Yaw-0.008*dx, 2*math.Pi)
	c.Pitch = min(max(c.Pitch+0.008*dy, -MaxPitch), MaxPitch)
}

// Pan moves the target with the mouse: by dx and dy pixels of a screen of so many pixels from top to bottom.
func (c *Camera) Pan(dx, dy float64, height int) {
	a := c.Axes()
	perPixel := 2 * c.Distance * math.Tan(FieldOfView/2) / float64(max(height, 1))
	c.Target = r3.Add(c.Target, r3.Add(r3.Scale(-dx*perPixel, a[0]), r3.Scale(dy*perPixel, a[1])))
}

// Zoom brings the eye nearer by steps of the wheel.
func (c *Camera) Zoom(steps float64) { c.Distance *= math.Pow(0.85, steps) }

// Depths is the range of depths that is drawn.
func (c *Camera) Depths() (near, far float64) {
	return max(c.Distance-4*c.Scene, c.Distance/200), c.Distance + 8*c.Scene
}

// Matrix returns the product of projection and view, column-major as OpenGL takes it, for points relative to the
// target: so float32 suffices far from the origin of the world.
func (c *Camera) Matrix(width, height int) (m [16]float32) {
	a := c.Axes()
	near, far := c.Depths()
	f := 1 / math.Tan(FieldOfView/2)
	fx := f * float64(height) / float64(max(width, 1))
	put := func(row int, v r3.Vec, w float64) {
		m[row], m[4+row], m[8+row], m[12+row] = float32(v.X), float32(v.Y), float32(v.Z), float32(w)
	}
	put(0, r3.Scale(fx, a[0]), 0)
	put(1, r3.Scale(f, a[1]), 0)
	// The depth z = ⟨forwards, x⟩ + Distance of a point becomes -1 at near and 1 at far.
	k := (far + near) / (far - near)
	put(2, r3.Scale(k, a[2]), k*c.Distance-2*far*near/(far-near))
	put(3, a[2], c.Distance)
	return m
}

// Project returns the pixel of a point of the world, from the left upper corner, and whether it lies before the camera.
func (c *Camera) Project(p r3.Vec, width, height int) (x, y float64, ok bool) {
	a := c.Axes()
	p = r3.Sub(p, c.Target)
	depth := r3.Dot(p, a[2]) + c.Distance
	if !(depth > 0) {
		return 0, 0, false
	}
	scale := float64(height) / 2 / math.Tan(FieldOfView/2) / depth
	return float64(width)/2 + scale*r3.Dot(p, a[0]), float64(height)/2 - scale*r3.Dot(p, a[1]), true
}

// Pixels returns about how many pixels a length spans at a point.
func (c *Camera) Pixels(p r3.Vec, length float64, height int) float64 {
	depth := r3.Dot(r3.Sub(p, c.Target), c.Axes()[2]) + c.Distance
	near, _ := c.Depths()
	return length * float64(height) / 2 / math.Tan(FieldOfView/2) / max(depth, near)
}

// Ray returns the ray from the eye through a pixel. The direction is of unit length.
func (c *Camera) Ray(x, y float64, width, height int) (origin, direction r3.Vec) {
	a := c.Axes()
	t := 2 * math.Tan(FieldOfView/2) / float64(height)
	d := r3.Add(a[2], r3.Add(r3.Scale(t*(x-float64(width)/2), a[0]), r3.Scale(t*(float64(height)/2-y), a[1])))
	return c.Eye(), r3.Unit(d)
}

// Sees reports whether a ball may be on the screen.
func (c *Camera) Sees(center r3.Vec, radius float64, width, height int) bool {
	a := c.Axes()
	p := r3.Sub(center, c.Target)
	depth := r3.Dot(p, a[2]) + c.Distance
	near, far := c.Depths()
	if depth+radius < near || depth-radius > far {
		return false
	}
	ty := math.Tan(FieldOfView / 2)
	tx := ty * float64(width) / float64(max(height, 1))
	// The sides of the frustum are planes through the eye, with the normals (±1, tx)/√(1+tx²) in right and forwards.
	outside := func(across, t float64) bool {
		return (math.Abs(across)-t*depth)/math.Sqrt(1+t*t) > radius
	}
	return !outside(r3.Dot(p, a[0]), tx) && !outside(r3.Dot(p, a[1]), ty)
}
