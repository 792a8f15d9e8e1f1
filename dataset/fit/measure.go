package fit

import (
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// Errors compare a fitted body with the one that it stands for, metres.
type Errors struct {
	Outside float64 `json:"outside_m"` // how far the fitted body sticks out
	Inside  float64 `json:"inside_m"`  // how far it falls short
	RMS     float64 `json:"rms_m"`     // of the support functions' difference
}

// Hausdorff is the two-sided error: no point of either body is further from the other.
func (e Errors) Hausdorff() float64 { return max(e.Outside, e.Inside) }

// measureDirections is the size of the grid of [Measure]: neighbours are 1° apart.
const measureDirections = 40_000

// Measure returns the errors of fitted, posed by pose in the frame of body, over a grid of
// 40,000 directions. Between neighbours, an angle of θ = 1° apart at most, a difference of
// support functions changes by less than θ times the sum of the bounding radii,
// and near its largest by the square of that angle only.
func Measure(body, fitted geom.Shape, pose geom.Pose) Errors {
	m := pose.Matrix()
	var e Errors
	for _, n := range sphere(measureDirections) {
		d := support(fitted, m.MulVecT(n)) + r3.Dot(n, pose.Position) - support(body, n)
		e.Outside, e.Inside = max(e.Outside, d), max(e.Inside, -d)
		e.RMS += d * d
	}
	e.RMS = math.Sqrt(e.RMS / measureDirections)
	return e
}

// support is the support value along a unit direction, margin included.
func support(s geom.Shape, n r3.Vec) float64 { return r3.Dot(n, s.CoreSupport(n)) + s.Radius() }

// sphere returns n directions, spread evenly on a spiral.
func sphere(n int) []r3.Vec {
	out := make([]r3.Vec, n)
	golden := math.Pi * (3 - math.Sqrt(5))
	for i := range out {
		z := 1 - (2*float64(i)+1)/float64(n)
		s, c := math.Sincos(golden * float64(i))
		q := math.Sqrt(1 - z*z)
		out[i] = r3.Vec{X: q * c, Y: q * s, Z: z}
	}
	return out
}

// target is a body about a center, scaled to a bounding radius of 1.
type target struct {
	center r3.Vec
	size   float64
	n      []r3.Vec  // directions
	h      []float64 // support values along them
}

// fitDirections is the size of the grid that fits are made on: neighbours are 5° apart.
const fitDirections = 1500

func newTarget(body geom.Shape) target {
	t := target{center: body.Center(), size: body.BoundingRadius() + body.Radius(), n: sphere(fitDirections)}
	for _, n := range t.n {
		t.h = append(t.h, (support(body, n)-r3.Dot(n, t.center))/t.size)
	}
	return t
}
