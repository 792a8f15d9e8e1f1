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

// ZerothOrder returns the estimate of [Zeroth] for row number index of a batch. B moves; the derivatives along
// motions of A follow, since the answer moves along with both. A sample that is not answered leaves the row
// NearSingular, with the exact derivative of the value alone.
func (w *Workspace) ZerothOrder(r *Row, o *Options, index uint64, solve Solver) Derivative {
	d := w.Exact(r)
	if d.smoothness == None {
		return d
	}
	epsilon, samples := o.Noise()
	here := Cotangent{r.Value, r.Normal, r.WitnessA, r.WitnessB}
	x0 := here.components()
	g := newNoise(o.Seed, index)
	length := [6]float64{d.p.size, d.p.size, d.p.size, 1, 1, 1}
	var j [10]Twists
	for m := range samples {
		first, second := g.normals(uint32(m), 0), g.normals(uint32(m), 1)
		z := [6]float64{first[0], first[1], first[2], first[3], second[0], second[1]}
		step := Twists{}
		for i := range z {
			step[6+i] = epsilon * length[i] * z[i]
		}
		there, ok := answerOf(solve, r.PoseA, displaced(r.PoseB, vec(&step, 6), vec(&step, 9)))
		if !ok {
			n, a, b := d.s.n, d.s.a.point, d.s.b.point
			d.s.asReported(&d.p, n, a, b, d.s.value)
			d.smoothness = NearSingular
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
