package derive

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/geom/hull"
)

// Names of the options, see package batch.
type (
	// Options configure derivatives. The zero value asks for exact ones.
	Options = batch.Derivative

	// Mode says which derivatives are taken.
	Mode = batch.DerivativeMode
)

// Modes.
const (
	Exact    = batch.ExactDerivative
	Gumbel   = batch.GumbelDerivative
	Gaussian = batch.GaussianDerivative
	Zeroth   = batch.ZerothDerivative
)

// Of returns the derivatives of row number index of a batch, but those of order zero: see [Workspace.ZerothOrder]. The
// options must have passed [Options.Check].
func (w *Workspace) Of(r *Row, o *Options, index uint64) Derivative {
	d := w.Exact(r)
	if o.Mode == Exact || d.smoothness == None {
		return d
	}
	s := &d.s
	a, b := feature{point: s.a.point}, feature{point: s.b.point}
	n, value := s.n, s.value
	// Smoothing makes no difference to a choice between normals. Parallel features were not searched for others.
	if d.smoothness == NotUnique && !d.other && !d.p.growth && value < equalTolerance*d.p.size {
		d.other = w.otherThan(&d.p, n, n)
	}
	// Of a pair that meets as it grows, or whose cores touch or overlap, rounding chooses the normal where curvatures
	// vanish or are infinite, and no zone about it is free of other minima. And superquadrics, whose curvature may be
	// infinite, have no other Hessians with Gumbel noise.
	same := o.Mode == Gumbel && (isSuperquadric(d.p.a.core) || isSuperquadric(d.p.b.core))
	if d.other || d.smoothness == NearSingular && (same || d.p.growth || d.p.coresMeet(value)) {
		d.smoothness = NearSingular
		return d
	}
	ok := w.smoothed(&a, &d.p.a, n, o, index, 0, d.p.size, &s.e)
	ok = w.smoothed(&b, &d.p.b, r3.Scale(-1, n), o, index, 1, d.p.size, &s.e) && ok
	s.assemble(&d.p, n, a, b)
	s.value = value
	d.smoothness = Smoothed
	if !ok || s.solve() != regular || s.isLarge(&d.p) || !s.movesAlong(&d.p) {
		s.asReported(&d.p, n, a.point, b.point, value)
		d.smoothness = NearSingular
	}
	return d
}

// gumbelShare is the default length of Gumbel noise, as a share of the size of the pair.
const gumbelShare = 1e-2

// maxDeparture is the angle, and the length relative to the size, by which a common rotation of both bodies by a radian
// may move an answer otherwise than the bodies.
const maxDeparture = 1e-3

// movesAlong reports whether a common motion of both bodies moves the answer along. A smoothed system does not know
// where the answer is: it takes it for one that meets the optimality conditions. What their residual moves the normal
// and the witnesses by is also what a rotation of it, by a radian, leaves of them.
func (s *system) movesAlong(p *problem) bool {
	x, ok := s.newton(p)
	bentA, bentB := s.a.h.mul(x.dn), s.b.h.mul(x.dn)
	most := maxDeparture * p.size
	return ok && math.Hypot(x.dn[0], x.dn[1]) <= maxDeparture && math.Hypot(bentA[0], bentA[1]) <= most &&
		math.Hypot(bentB[0], bentB[1]) <= most
}

// smoothed sets the smoothed Hessian of a shape with the outward normal n. A half-space keeps its plane: it has no
// support point in other directions. which is 0 for A and 1 for B, whose noise is independent.
func (w *Workspace) smoothed(f *feature, s *placed, n r3.Vec, o *Options, index uint64, which uint32, size float64,
	e *basis) bool {
	if s.unbounded {
		*f = w.at(s, n, f.point, finestAngle, e)
		return true
	}
	ok := true
	if o.Mode == Gaussian {
		epsilon, samples := o.Noise()
		g := newNoise(o.Seed, index)
		g.stopped = w.stopped
		m := gaussianHessian(s, n, epsilon, samples, &g, which)
		f.h = e.form(&m)
		f.h.clamp()
	} else {
		epsilon := o.Epsilon
		if epsilon == 0 {
			epsilon = gumbelShare * size
		}
		var m geom.Mat3
		d := s.rot.MulVecT(n)
		m, ok = w.gumbelHessian(s.core, d, epsilon, o.Rings)
		local := basis{s.rot.MulVecT(e[0]), s.rot.MulVecT(e[1])}
		f.h = local.form(&m)
	}
	f.h.add(sym2{s.radius, 0, s.radius})
	return ok && f.h[0]+f.h[2] <= math.MaxFloat64
}

// form returns the symmetric part of a matrix on the tangent plane.
func (e *basis) form(m *geom.Mat3) sym2 {
	m0, m1 := m.MulVec(e[0]), m.MulVec(e[1])
	return sym2{r3.Dot(e[0], m0), (r3.Dot(e[0], m1) + r3.Dot(e[1], m0)) / 2, r3.Dot(e[1], m1)}
}

// clamp sets a negative eigenvalue to zero.
func (h *sym2) clamp() {
	least := h.least()
	if least >= 0 {
		return
	}
	greatest := h[0] + h[2] - least
	if !(greatest > 0) {
		*h = sym2{}
		return
	}
	// H - λ₁·(H - λ₂)/(λ₁ - λ₂): the projector to the eigenvector of λ₁ is (H - λ₂)/(λ₁ - λ₂).
	k := least / (least - greatest)
	*h = sym2{h[0] - k*(h[0]-greatest), h[1] - k*h[1], h[2] - k*(h[2]-greatest)}
}

// gaussianHessian is the estimate of the Hessian of the core in world axes, neither symmetric nor projected. The noise
// is that of the frame of the shape, so that a rotation of the world rotates it as well.
func gaussianHessian(s *placed, n r3.Vec, epsilon float64, samples int, g *noise, which uint32) (m geom.Mat3) {
	d := s.rot.MulVecT(n)
	for j := range samples {
		if g.stopped != nil && g.stopped() {
			return m
		}
		four := g.normals(uint32(j), which)
		zl := r3.Vec{X: four[0], Y: four[1], Z: four[2]}
		world := s.rot.MulVec(zl)
		z := [3]float64{world.X, world.Y, world.Z}
		step := r3.Scale(epsilon, zl)
		x := r3.Sub(s.core.CoreSupport(r3.Add(d, step)), s.core.CoreSupport(r3.Sub(d, step)))
		x = r3.Scale(0.5/(float64(samples)*epsilon), s.rot.MulVec(x))
		for i, v := range [3]float64{x.X, x.Y, x.Z} {
			for k := range 3 {
				m[3*i+k] += v * z[k]
			}
		}
	}
	return m
}

// gumbelHessian is the Hessian of a smoothed core in its own frame, for the unit direction d.
func (w *Workspace) gumbelHessian(core geom.Shape, d r3.Vec, epsilon float64, rings int) (m geom.Mat3, ok bool) {
	switch c := core.(type) {
	case geom.Sphere:
	case geom.Capsule:
		m[8] = gumbelSegment(c.HalfLength, d.Z, epsilon)
	case geom.Box:
		// The weights of the corners are products over the axes.
		m[0] = gumbelSegment(c.HalfExtents.X, d.X, epsilon)
		m[4] = gumbelSegment(c.HalfExtents.Y, d.Y, epsilon)
		m[8] = gumbelSegment(c.HalfExtents.Z, d.Z, epsilon)
	case geom.FrustumShape:
		bottom, top, half := c.Discs()
		m = gumbelFrustum(bottom, top, half, d, epsilon)
	case *geom.Convex:
		m = w.gumbelHull(c.Hull(), d, epsilon, rings)
	case geom.Smooth:
		return hessian(c, d)
	default:
		panic(unknown(c))
	}
	return m, true
}

// gumbelSegment is the second derivative of ε·log(exp(hx/ε) + exp(-hx/ε)), (h²/ε)·sech²(hx/ε).
func gumbelSegment(half, x, epsilon float64) float64 {
	c := math.Cosh(min(math.Abs(half*x/epsilon), 300))
	return half * half / (epsilon * c * c)
}

// negligible is the logarithm of the weight, relative to the largest, below which vertices are left out.
const negligible = 20.0

// gumbelHull is the covariance of the vertices under the weights softmax(<v, d>/ε), over ε.
func (w *Workspace) gumbelHull(h *hull.Hull, d r3.Vec, epsilon float64, rings int) (m geom.Mat3) {
	first := h.Support(d)
	top := h.Vertices[first]
	var total float64
	var mean r3.Vec // relative to the support vertex
	add := func(i int32) {
		v := r3.Sub(h.Vertices[i], top)
		weight := math.Exp(r3.Dot(v, d) / epsilon)
		total += weight
		mean = r3.Add(mean, r3.Scale(weight, v))
		addOuter(&m, weight, v)
	}
	if rings > 0 {
		for _, i := range w.ring(h, int32(first), d, rings) {
			add(i)
		}
	} else {
		bound := r3.Dot(top, d) - negligible*epsilon
		for i, v := range h.Vertices {
			if r3.Dot(v, d) >= bound {
				add(int32(i))
			}
		}
	}
	for i := range m {
		m[i] /= total
	}
	mean = r3.Scale(1/total, mean)
	addOuter(&m, -1, mean)
	for i := range m {
		m[i] /= epsilon
	}
	return m
}

// ring returns the vertices up to a number of edges from the feature that supports a hull at its vertex first: which of
// the vertices of an edge or a face has the largest support value is for rounding to say.
func (w *Workspace) ring(h *hull.Hull, first int32, d r3.Vec, rings int) []int32 {
	w.face = append(w.face[:0], first)
	if w.seen == nil {
		w.seen = map[int32]bool{}
	}
	clear(w.seen)
	w.seen[first] = true
	grow := func(i int32, within func(v r3.Vec) bool) {
		for _, j := range h.Adj[h.Start[i]:h.Start[i+1]] {
			if !w.seen[j] && within(h.Vertices[j]) {
				w.seen[j] = true
				w.face = append(w.face, j)
			}
		}
	}
	for at := 0; at < len(w.face); at++ {
		grow(w.face[at], func(v r3.Vec) bool {
			r := r3.Sub(v, h.Vertices[first])
			return -r3.Dot(d, r) <= finestAngle*r3.Norm(r)
		})
	}
	for start := 0; rings > 0 && start < len(w.face); rings-- {
		for end := len(w.face); start < end; start++ {
			grow(w.face[start], func(r3.Vec) bool { return true })
		}
	}
	return w.face
}

func addOuter(m *geom.Mat3, k float64, v r3.Vec) {
	c := [3]float64{v.X, v.Y, v.Z}
	for i := range 3 {
		for j := range 3 {
			m[3*i+j] += k * c[i] * c[j]
		}
	}
}

// gumbelFrustum smooths the support function of two discs of radius r at z = ∓half: h = ε·log Σ exp(hᵢ/ε) with
// hᵢ = √((rᵢρ)² + ε²) + zᵢ·d.Z and ρ the horizontal part of d. The square root smooths a disc over the angle ε/r.
// The Hessian is Σ wᵢ·∇²hᵢ + cov(∇hᵢ)/ε.
func gumbelFrustum(bottom, top, half float64, d r3.Vec, epsilon float64) (m geom.Mat3) {
	rho2 := d.X*d.X + d.Y*d.Y
	var value [2]float64
	var gradient [2]r3.Vec
	var root [2]float64
	radius := [2]float64{bottom, top}
	for i, z := range [2]float64{-half, half} {
		root[i] = math.Sqrt(radius[i]*radius[i]*rho2 + epsilon*epsilon)
		value[i] = root[i] + z*d.Z
		k := radius[i] * radius[i] / root[i]
		gradient[i] = r3.Vec{X: k * d.X, Y: k * d.Y, Z: z}
	}
	rise := (value[1] - value[0]) / epsilon
	weights := [2]float64{1 / (1 + math.Exp(rise)), 1 / (1 + math.Exp(-rise))} // without the cancellation of 1 - w
	for i, w := range weights {
		k := w * radius[i] * radius[i] / root[i]
		m[0] += k
		m[4] += k
		addOuter(&m, -k*radius[i]*radius[i]/(root[i]*root[i]), r3.Vec{X: d.X, Y: d.Y})
	}
	addOuter(&m, weights[0]*weights[1]/epsilon, r3.Sub(gradient[1], gradient[0]))
	return m
}

// philox is the counter-based generator Philox4x32-10 [Salmon2011]: a bijection of counters that a key selects. A draw
// depends on its counter alone, so that estimates depend neither on chunks nor on workers.
func philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	c := counter
	for range 10 {
		h0, l0 := bits.Mul32(0xD2511F53, c[0])
		h1, l1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{h1 ^ c[1] ^ key[0], l1, h0 ^ c[3] ^ key[1], l0}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return c
}

// noise draws standard normal numbers of one row.
type noise struct {
	key     [2]uint32
	row     uint64
	stopped func() bool // reports whether samples are to end; nil for never
}

// Normals returns four independent standard normal numbers of a block of a sample: functions of these numbers alone.
func Normals(seed, row uint64, sample, block uint32) [4]float64 {
	g := newNoise(seed, row)
	return g.normals(sample, block)
}

func newNoise(seed, row uint64) noise {
	return noise{key: [2]uint32{uint32(seed), uint32(seed >> 32)}, row: row}
}

// normals returns four independent standard normal numbers of a sample: Box and Muller's transform of the block.
func (g *noise) normals(sample, block uint32) (z [4]float64) {
	x := philox([4]uint32{uint32(g.row), uint32(g.row >> 32), sample, block}, g.key)
	for i := 0; i < 4; i += 2 {
		// Uniform in (0, 1): never 0, of which the logarithm is infinite.
		u, v := (float64(x[i])+0.5)*0x1p-32, (float64(x[i+1])+0.5)*0x1p-32
		r := math.Sqrt(-2 * math.Log(u))
		sin, cos := math.Sincos(2 * math.Pi * v)
		z[i], z[i+1] = r*cos, r*sin
	}
	return z
}
