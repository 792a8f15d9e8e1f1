package contact

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

func dotVec(a, b r3.Vec) float64      { return a.X*b.X + a.Y*b.Y + a.Z*b.Z }
func crossVec(a, b r3.Vec) r3.Vec     { return r3.Cross(a, b) }
func vecOf(s []float64) r3.Vec        { return r3.Vec{X: s[0], Y: s[1], Z: s[2]} }
func frameRows(s []float64) [3]r3.Vec { return [3]r3.Vec{vecOf(s), vecOf(s[3:]), vecOf(s[6:])} }
func addScaled(a r3.Vec, f float64, b r3.Vec) r3.Vec {
	return r3.Vec{X: a.X + f*b.X, Y: a.Y + f*b.Y, Z: a.Z + f*b.Z}
}

// sym3 is a symmetric matrix: xx, yy, zz, xy, xz, yz.
type sym3 [6]float64

func (s *sym3) mul(v r3.Vec) r3.Vec {
	return r3.Vec{
		X: s[0]*v.X + s[3]*v.Y + s[4]*v.Z,
		Y: s[3]*v.X + s[1]*v.Y + s[5]*v.Z,
		Z: s[4]*v.X + s[5]*v.Y + s[2]*v.Z,
	}
}

// inverse is that of a positive definite matrix, by its adjugate.
func (s *sym3) inverse() sym3 {
	a, b, c, d, e, f := s[0], s[1], s[2], s[3], s[4], s[5]
	xx, xy, xz := b*c-f*f, e*f-d*c, d*f-b*e
	r := 1 / (a*xx + d*xy + e*xz)
	return sym3{xx * r, (a*c - e*e) * r, (a*b - d*d) * r, xy * r, xz * r, (d*e - a*f) * r}
}

// minEigenvalue is the least eigenvalue by the trigonometric solution of the characteristic polynomial.
func (s sym3) minEigenvalue() float64 {
	off := s[3]*s[3] + s[4]*s[4] + s[5]*s[5]
	if off == 0 {
		return min(s[0], s[1], s[2])
	}
	mean := (s[0] + s[1] + s[2]) / 3
	a, b, c := s[0]-mean, s[1]-mean, s[2]-mean
	radius := math.Sqrt((a*a + b*b + c*c + 2*off) / 6)
	a, b, c = a/radius, b/radius, c/radius
	d, e, f := s[3]/radius, s[4]/radius, s[5]/radius
	half := (a*(b*c-f*f) - d*(d*c-f*e) + e*(d*f-b*e)) / 2
	angle := math.Acos(max(-1, min(1, half))) / 3
	return mean + 2*radius*math.Cos(angle+2*math.Pi/3)
}

// largestBlock bounds the largest eigenvalue of a positive semidefinite 3×3 matrix from above, by at most 15 %:
// (tr(Gτ)⁸)^(1/8)/τ with τ = 1/tr G, by three squarings.
func largestBlock(g *[3][3]float64) float64 {
	trace := g[0][0] + g[1][1] + g[2][2]
	if !(trace > 0) {
		return 0
	}
	a := *g
	for i := range a {
		for j := range a[i] {
			a[i][j] /= trace
		}
	}
	for range 3 {
		var b [3][3]float64
		for i := range b {
			for j := range b[i] {
				b[i][j] = a[i][0]*a[0][j] + a[i][1]*a[1][j] + a[i][2]*a[2][j]
			}
		}
		a = b
	}
	return trace * math.Sqrt(math.Sqrt(math.Sqrt(a[0][0]+a[1][1]+a[2][2])))
}

// coneDistance is the distance of x from the cone {‖x_T‖ ≤ μx_N}. The order of the cases is that of μ = 0.
func coneDistance(x r3.Vec, mu float64) float64 {
	t := math.Sqrt(x.X*x.X + x.Y*x.Y)
	switch {
	case mu*t <= -x.Z:
		return math.Sqrt(t*t + x.Z*x.Z)
	case t <= mu*x.Z:
		return 0
	}
	return (t - mu*x.Z) / math.Sqrt(1+mu*mu)
}

// dualDistance is the distance of c from the dual cone {c_N ≥ μ‖c_T‖}.
func dualDistance(c r3.Vec, mu float64) float64 {
	t := math.Sqrt(c.X*c.X + c.Y*c.Y)
	switch {
	case c.Z >= mu*t:
		return 0
	case t <= -mu*c.Z:
		return math.Sqrt(t*t + c.Z*c.Z)
	}
	return (mu*t - c.Z) / math.Sqrt(1+mu*mu)
}

// projectCone is the closest point to x of the cone {‖x_T‖ ≤ μx_N}.
func projectCone(x r3.Vec, mu float64) r3.Vec {
	t := math.Sqrt(x.X*x.X + x.Y*x.Y)
	if mu*t <= -x.Z {
		return r3.Vec{}
	}
	if t <= mu*x.Z {
		return x
	}
	n := (mu*t + x.Z) / (1 + mu*mu)
	k := mu * n / t
	return r3.Vec{X: x.X * k, Y: x.Y * k, Z: n}
}
