package geom_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

func TestNormalized(t *testing.T) {
	half := math.Sqrt(0.5)
	for _, c := range []struct{ in, want quat.Number }{
		{quat.Number{Real: 1}, quat.Number{Real: 1}},
		{quat.Number{Real: -7}, quat.Number{Real: -1}},
		{quat.Number{Imag: 3, Kmag: 4}, quat.Number{Imag: 0.6, Kmag: 0.8}},
		{quat.Number{Real: 1e-300, Jmag: 1e-300}, quat.Number{Real: half, Jmag: half}},
		{quat.Number{Real: 1e300, Jmag: -1e300}, quat.Number{Real: half, Jmag: -half}},
		{quat.Number{Real: math.MaxFloat64, Imag: math.MaxFloat64, Jmag: math.MaxFloat64, Kmag: math.MaxFloat64},
			quat.Number{Real: 0.5, Imag: 0.5, Jmag: 0.5, Kmag: 0.5}},
		{quat.Number{Kmag: 5e-324}, quat.Number{Kmag: 1}},
		{quat.Number{Real: 5e-324, Imag: 5e-324}, quat.Number{Real: half, Imag: half}},
		{quat.Number{Real: 1e300, Imag: 1e-300}, quat.Number{Real: 1}},
	} {
		p, err := geom.Pose{Rotation: c.in}.Normalized()
		if err != nil || quat.Abs(quat.Sub(p.Rotation, c.want)) > 4*eps {
			t.Errorf("normalised %v = %v, %v, want %v", c.in, p.Rotation, err, c.want)
		}
	}
}

func TestNormalizedRejects(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	one := quat.Number{Real: 1}
	for _, p := range []geom.Pose{
		{},
		{Rotation: quat.Number{Real: nan}},
		{Rotation: quat.Number{Real: 1, Kmag: nan}},
		{Rotation: quat.Number{Imag: nan, Jmag: 1}},
		{Rotation: quat.Number{Real: inf}},
		{Rotation: quat.Number{Real: 1, Jmag: -inf}},
		{Rotation: quat.Number{Real: nan, Jmag: inf}},
		{Position: vec(nan, 0, 0), Rotation: one},
		{Position: vec(0, inf, 0), Rotation: one},
		{Position: vec(0, 0, -inf), Rotation: one},
	} {
		if q, err := p.Normalized(); err == nil {
			t.Errorf("%+v was accepted as %+v", p, q)
		}
	}
}

func TestFinite(t *testing.T) {
	nan, inf, huge := math.NaN(), math.Inf(1), math.MaxFloat64
	for _, c := range []struct {
		v    r3.Vec
		want bool
	}{
		{vec(0, 0, 0), true}, {vec(huge, -huge, huge), true}, {vec(5e-324, 1, -1), true},
		{vec(nan, 0, 0), false}, {vec(0, nan, 0), false}, {vec(0, 0, nan), false},
		{vec(inf, 0, 0), false}, {vec(0, -inf, 0), false}, {vec(inf, -inf, 0), false},
	} {
		if got := geom.Finite(c.v); got != c.want {
			t.Errorf("Finite(%v) = %v", c.v, got)
		}
	}
}

// Rotations by 90° fix the handedness and the order of the components.
func TestPoseQuarterTurns(t *testing.T) {
	h := math.Sqrt(0.5)
	for _, c := range []struct {
		q       quat.Number
		in, out r3.Vec
	}{
		{quat.Number{Real: h, Imag: h}, vec(0, 1, 0), vec(0, 0, 1)},
		{quat.Number{Real: h, Jmag: h}, vec(0, 0, 1), vec(1, 0, 0)},
		{quat.Number{Real: h, Kmag: h}, vec(1, 0, 0), vec(0, 1, 0)},
	} {
		p := geom.Pose{Position: vec(10, 20, 30), Rotation: c.q}
		if got, want := p.Apply(c.in), r3.Add(c.out, p.Position); r3.Norm(r3.Sub(got, want)) > 64*eps {
			t.Errorf("%v turns %v into %v, want %v", c.q, c.in, got, want)
		}
	}
	if got := geom.IdentityPose().Apply(vec(1, 2, 3)); got != vec(1, 2, 3) {
		t.Errorf("the identity moves the point to %v", got)
	}
}

// Apply and ApplyInverse undo each other, Compose applies one after the other, the
// matrix is a rotation, and gonum's quaternion product agrees with it.
func TestPoseProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for range 500 {
		p, q := testkit.Pose(rng, 1), testkit.Pose(rng, 1)
		v := testkit.Normal(rng)
		scale := r3.Norm(v) + r3.Norm(p.Position) + r3.Norm(q.Position)
		near := func(what string, got, want r3.Vec) {
			t.Helper()
			if d := r3.Norm(r3.Sub(got, want)); !(d <= 32*eps*scale) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		near("inverse of apply", p.ApplyInverse(p.Apply(v)), v)
		near("apply of inverse", p.Apply(p.ApplyInverse(v)), v)
		near("compose", p.Compose(q).Apply(v), p.Apply(q.Apply(v)))
		r := quat.Mul(quat.Mul(p.Rotation, quat.Number{Imag: v.X, Jmag: v.Y, Kmag: v.Z}), quat.Conj(p.Rotation))
		near("quaternion product", p.Apply(v), r3.Add(vec(r.Imag, r.Jmag, r.Kmag), p.Position))

		m := p.Matrix()
		mtm := geom.TransposeMul(&m, &m)
		id := geom.Identity3()
		for i := range id {
			if math.Abs(mtm[i]-id[i]) > 16*eps {
				t.Errorf("MᵀM[%d] = %g", i, mtm[i])
			}
		}
		rowX, rowY, rowZ := vec(m[0], m[1], m[2]), vec(m[3], m[4], m[5]), vec(m[6], m[7], m[8])
		if det := r3.Dot(r3.Cross(rowX, rowY), rowZ); math.Abs(det-1) > 16*eps {
			t.Errorf("det M = %g", det)
		}
	}
}

func TestMat3(t *testing.T) {
	a := geom.Mat3{1, 2, 3, 4, 5, 6, 7, 8, 10}
	b := geom.Mat3{2, 0, 1, -1, 3, 5, 4, -2, 6}
	v := vec(1, -2, 3)
	if got := a.MulVec(v); got != vec(6, 12, 21) {
		t.Errorf("a·v = %v", got)
	}
	if got := a.MulVecT(v); got != vec(14, 16, 21) {
		t.Errorf("aᵀ·v = %v", got)
	}
	if got, want := geom.Mul(&a, &b), (geom.Mat3{12, 0, 29, 27, 3, 65, 46, 4, 107}); got != want {
		t.Errorf("a·b = %v, want %v", got, want)
	}
	at := geom.Mat3{1, 4, 7, 2, 5, 8, 3, 6, 10}
	if got, want := geom.TransposeMul(&a, &b), geom.Mul(&at, &b); got != want {
		t.Errorf("aᵀ·b = %v, want %v", got, want)
	}
	id := geom.Identity3()
	if got := geom.Mul(&id, &a); got != a {
		t.Errorf("1·a = %v", got)
	}
}

// Poses that are built move points as they say.
func TestBuildPoses(t *testing.T) {
	near := func(what string, got, want r3.Vec) {
		t.Helper()
		if !(r3.Norm(r3.Sub(got, want)) <= 8*eps*(1+r3.Norm(want))) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	p := vec(1, 2, 3)
	near("Translate", geom.Translate(4, -5, 6).Apply(p), vec(5, -3, 9))
	quarter := math.Pi / 2
	near("about x", geom.Rotate(vec(1, 0, 0), quarter).Apply(p), vec(1, -3, 2))
	near("about y", geom.Rotate(vec(0, 1e200, 0), quarter).Apply(p), vec(3, 2, -1))
	near("about z", geom.Rotate(vec(0, 0, 1e-200), quarter).Apply(p), vec(-2, 1, 3))
	near("about the diagonal", geom.Rotate(vec(-5, -5, -5), -2*math.Pi/3).Apply(p), vec(3, 1, 2))
	near("about z, then moved", geom.Translate(0, 0, 1).Compose(geom.Rotate(vec(0, 0, 2), quarter)).Apply(p),
		vec(-2, 1, 4))
	pose := geom.Translate(0.5, -1, 2).Compose(geom.Rotate(vec(1, 2, -3), 0.7))
	near("there and back", pose.Inverse().Apply(pose.Apply(p)), p)
	near("back and there", pose.Compose(pose.Inverse()).Apply(p), p)
	for _, bad := range []geom.Pose{
		geom.Rotate(r3.Vec{}, 1), geom.Rotate(vec(math.NaN(), 0, 1), 1), geom.Rotate(vec(0, math.Inf(1), 1), 1),
		geom.Rotate(vec(0, 0, 1), math.Inf(1)), geom.Translate(0, math.NaN(), 0),
	} {
		if _, err := bad.Normalized(); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}
