package derive

import (
	"math"

	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Solver answers the pair of a row at other poses. ok is false for an answer that is not decided.
type Solver func(poseA, poseB geom.Pose) (value float64, normal, witnessA, witnessB r3.Vec, ok bool)

// ZerothOrder returns the estimate of [Zeroth] for row number index of a batch, by one
// solution after the other. B moves; the derivatives along
// motions of A follow, since the answer moves along with both. A sample that is not answered leaves the row
// NearSingular, with the exact derivative of the value alone.
func (w *Workspace) ZerothOrder(r *Row, o *Options, index uint64, solve Solver) Derivative {
	d := r.reported()
	if d.smoothness == None {
		return d
	}
	epsilon, samples := o.Noise()
	x0 := r.answer().components()
	g := newNoise(o.Seed, index)
	length := [6]float64{d.p.size, d.p.size, d.p.size, 1, 1, 1}
	var j [10]Twists
	for m := range samples {
		if w.stopped() {
			return d
		}
		z := g.six(uint32(m))
		there, ok := answerOf(solve, r.PoseA, displacedBy(r.PoseB, epsilon, d.p.size, &z))
		if !ok {
			return d
		}
		for k, x := range there.components() {
			for i := range z {
				j[k][6+i] += (x - x0[k]) * z[i] / (float64(samples) * epsilon * length[i])
			}
		}
	}
	complete(&j, r)
	d.full, d.smoothness = &j, Smoothed
	return d
}

// reported returns the derivative of the value by normal and witnesses as they are, NearSingular, or None.
func (r *Row) reported() (d Derivative) {
	if !r.usable() {
		return d
	}
	d.p = r.problem()
	d.s.asReported(&d.p, r3.Unit(r.Normal), r3.Sub(r.WitnessA, d.p.origin), r3.Sub(r.WitnessB, d.p.origin), r.Value)
	if !d.p.growth || d.s.h > 0 {
		d.smoothness = NearSingular
	}
	return d
}

// answer is the answer of the row.
func (r *Row) answer() *Cotangent { return &Cotangent{r.Value, r.Normal, r.WitnessA, r.WitnessB} }

// six returns the noise of a sample.
func (g *noise) six(sample uint32) [6]float64 {
	a, b := g.normals(sample, 0), g.normals(sample, 1)
	return [6]float64{a[0], a[1], a[2], a[3], b[0], b[1]}
}

// displacedBy moves a pose by the noise of a sample: lengths are relative to the size.
func displacedBy(p geom.Pose, epsilon, size float64, z *[6]float64) geom.Pose {
	by := r3.Vec{X: z[0], Y: z[1], Z: z[2]}
	return displaced(p, r3.Scale(epsilon*size, by), r3.Scale(epsilon, r3.Vec{X: z[3], Y: z[4], Z: z[5]}))
}

// Reference answers a row at other poses by the reference, for estimates of order zero.
func Reference(r *Row) Solver {
	var ws ref.Workspace
	a, b := r.A, r.B
	growth := r.Growth
	c := ref.GrowthCenters{A: r.CenterA, B: r.CenterB}
	if growth {
		c.InradiusA, c.InradiusB = geom.InradiusAt(a, c.A), geom.InradiusAt(b, c.B)
	}
	return func(poseA, poseB geom.Pose) (value float64, normal, witnessA, witnessB r3.Vec, ok bool) {
		p := ref.NewPair(a, b, poseA, poseB)
		var s ref.Result
		if growth {
			s = ref.Growth(&p, c, ref.GrowthOptions{}, &ws)
		} else {
			s = ref.Solve(&p, ref.Options{}, &ws)
		}
		ok = s.Status <= ref.Penetrating && !math.IsNaN(s.Distance)
		return s.Distance, p.DirToWorld(s.Normal), p.ToWorld(s.WitnessA), p.ToWorld(s.WitnessB), ok
	}
}

func answerOf(solve Solver, poseA, poseB geom.Pose) (c Cotangent, ok bool) {
	c.Value, c.Normal, c.WitnessA, c.WitnessB, ok = solve(poseA, poseB)
	return c, ok
}

// displaced moves a pose by a vector and a rotation vector in world axes.
func displaced(p geom.Pose, by, rotation r3.Vec) geom.Pose {
	p.Position = r3.Add(p.Position, by)
	half := quat.Number{Imag: rotation.X / 2, Jmag: rotation.Y / 2, Kmag: rotation.Z / 2}
	p.Rotation = quat.Mul(quat.Exp(half), p.Rotation)
	return p
}

// complete fills in the columns of A: a motion of A is one of both bodies less one of B.
func complete(j *[10]Twists, r *Row) {
	between := r3.Sub(r.PoseB.Position, r.PoseA.Position)
	for i := range 6 {
		var t Twists
		t[i] = 1
		v, omega := vec(&t, 0), vec(&t, 3)
		t.spin(6, r3.Add(v, r3.Cross(omega, between)))
		t.spin(9, omega)
		common := Cotangent{
			Normal:   r3.Cross(omega, r.Normal),
			WitnessA: r3.Add(v, r3.Cross(omega, r3.Sub(r.WitnessA, r.PoseA.Position))),
			WitnessB: r3.Add(v, r3.Cross(omega, r3.Sub(r.WitnessB, r.PoseA.Position))),
		}
		for k, x := range common.components() {
			for c := 6; c < 12; c++ {
				x -= j[k][c] * t[c]
			}
			j[k][i] = x
		}
	}
}
