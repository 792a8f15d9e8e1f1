package fit

import (
	"fmt"
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/spatial/r3"
)

// startSharpness is where the sharpness starts, and hardest where it ends: beyond, single
// precision and RTR have a hard time.
const startSharpness, hardest = 10, 200

// The numbers of vertices that [SmoothHull] accepts.
const MinVertices, MaxVertices = 4, 1000

// SmoothHull fits a smooth hull of k vertices, [MinVertices] to [MaxVertices], about the center of the body: it
// starts at support points of the body far from each other and moves vertices and sharpness
// by L-BFGS, with gradients in closed form.
//
// It is an error if the body has no volume.
func SmoothHull(body geom.Shape, k int) (*geom.SmoothHull, error) {
	if k < MinVertices || k > MaxVertices {
		return nil, fmt.Errorf("fit: smooth hull of %d vertices, want %d to %d", k, MinVertices, MaxVertices)
	}
	if !(body.Inradius() > 0) || math.IsInf(body.BoundingRadius(), 1) {
		return nil, fmt.Errorf("fit: the %s has no volume, or no end", body.Kind())
	}
	t := newTarget(body)
	x := make([]float64, 3*k+1)
	for i, v := range t.spread(body, k) {
		x[3*i], x[3*i+1], x[3*i+2] = v.X, v.Y, v.Z
	}
	x[3*k] = within(startSharpness, geom.MinSharpness, hardest)
	f := hullFit{target: &t, k: k}
	x, err := minimize(optimize.Problem{
		Func: func(x []float64) float64 { return f.evaluate(x, nil) },
		Grad: func(g, x []float64) { f.evaluate(x, g) },
	}, x)
	if err != nil {
		return nil, err
	}
	vertices := make([]r3.Vec, k)
	for i := range vertices {
		vertices[i] = r3.Add(t.center, r3.Scale(t.size, f.vertex(x, i)))
	}
	beta, _ := between(x[3*k], geom.MinSharpness, hardest)
	s, err := geom.NewSmoothHull(vertices, beta, t.center)
	if err != nil {
		return nil, fmt.Errorf("fit: no smooth hull of %d vertices comes near the body; take more: %w", k, err)
	}
	return s, nil
}

// spread picks k support points of the body, relative to the center, each as far as can be
// from those before. If there are fewer the rest lie at half the distance from the center.
func (t *target) spread(body geom.Shape, k int) []r3.Vec {
	points := make([]r3.Vec, len(t.n))
	near := make([]float64, len(t.n)) // to what is picked
	for j, n := range t.n {
		points[j] = r3.Scale(1/t.size, r3.Sub(body.CoreSupport(n), t.center))
		near[j] = r3.Norm2(points[j])
	}
	var out []r3.Vec
	for len(out) < k {
		far := 0
		for j := range near {
			if near[j] > near[far] {
				far = j
			}
		}
		if near[far] < 1e-12 {
			break
		}
		out = append(out, points[far])
		for j := range near {
			near[j] = min(near[j], r3.Norm2(r3.Sub(points[j], points[far])))
		}
	}
	for _, n := range sphere(k - len(out)) {
		out = append(out, r3.Scale(0.5/t.size, r3.Sub(body.CoreSupport(n), t.center)))
	}
	return out
}

// minimize runs L-BFGS to its end or for a bounded number of steps.
func minimize(p optimize.Problem, x []float64) ([]float64, error) {
	settings := optimize.Settings{MajorIterations: 1000, GradientThreshold: 1e-9,
		Converger: &optimize.FunctionConverge{Absolute: 1e-14, Relative: 1e-5, Iterations: 30}}
	r, err := optimize.Minimize(p, x, &settings, &optimize.LBFGS{Store: 20})
	if r == nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	return r.X, nil // a line search that rounding ends leaves the best point
}

// between maps a coordinate of the search to lo..hi, by the logistic function, and returns the
// derivative as well.
func between(u, lo, hi float64) (v, slope float64) {
	r := 1 / (1 + math.Exp(-u))
	return lo + (hi-lo)*r, (hi - lo) * r * (1 - r)
}

// within is its inverse.
func within(v, lo, hi float64) float64 { return math.Log((v - lo) / (hi - v)) }

// hullFit is the mean square of the difference of support functions.
type hullFit struct {
	*target
	k int
}

func (f *hullFit) vertex(x []float64, i int) r3.Vec {
	return r3.Vec{X: x[3*i], Y: x[3*i+1], Z: x[3*i+2]}
}

// evaluate returns the value at x and, into g unless it is nil, the gradient. With y = <p, n>,
// m the largest y, t = y/m and S = Σ t^β over the y > 0, h = m·S^(1/β), so that
// ∂h/∂p = (y/h)^(β-1)·n and ∂(ln h)/∂β = (Σ t^β·ln t)/(β·S) - ln S/β².
func (f *hullFit) evaluate(x, g []float64) float64 {
	clear(g)
	beta, slope := between(x[3*f.k], geom.MinSharpness, hardest)
	w := make([]float64, f.k)
	total, scale := 0.0, 1/float64(len(f.n))
	for j, n := range f.n {
		m := 0.0
		for i := range f.k {
			w[i] = r3.Dot(f.vertex(x, i), n)
			m = max(m, w[i])
		}
		if !(m > 0) { // the center is outside: the body does not reach it
			total += scale * f.h[j] * f.h[j]
			continue
		}
		sum, logs := 0.0, 0.0
		for i, y := range w {
			if w[i] = 0; y > 0 {
				l := math.Log(y / m)
				w[i] = math.Exp((beta - 1) * l)
				sum += w[i] * y / m
				logs += w[i] * y / m * l
			}
		}
		h := m * math.Pow(sum, 1/beta)
		e := h - f.h[j]
		total += scale * e * e
		if g == nil {
			continue
		}
		down := 2 * scale * e * math.Pow(sum, 1/beta-1)
		for i := range f.k {
			c := down * w[i]
			g[3*i] += c * n.X
			g[3*i+1] += c * n.Y
			g[3*i+2] += c * n.Z
		}
		g[3*f.k] += 2 * scale * e * h * (logs/(beta*sum) - math.Log(sum)/(beta*beta)) * slope
	}
	return total
}
