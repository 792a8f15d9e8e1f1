package kinematics

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// frame is a pose as a quaternion of gonum and a vector.
type frame struct {
	p r3.Vec
	q quat.Number
}

func number(q []float64) quat.Number {
	return quat.Number{Real: q[0], Imag: q[1], Jmag: q[2], Kmag: q[3]}
}

// then returns the pose in the world of (p, q) in a frame, by gonum's products.
func (f frame) then(p r3.Vec, q quat.Number) frame {
	return frame{r3.Add(f.p, r3.Rotation(f.q).Rotate(p)), quat.Mul(f.q, q)}
}

func of(p Pose) frame { return frame{r3.Vec{X: p[0], Y: p[1], Z: p[2]}, number(p[3:])} }

// reference places the frames of a configuration one after the other.
func reference(joints []Joint, values []float64, base Pose) []frame {
	frames := []frame{of(base)}
	for _, j := range joints {
		axis := r3.Vec{X: j.Axis[0], Y: j.Axis[1], Z: j.Axis[2]}
		at := of(j.Place)
		to := frames[j.Above].then(at.p, at.q)
		var value float64
		if j.Kind == Revolute || j.Kind == Prismatic {
			value = j.Multiplier*values[j.Index] + j.Offset
		}
		switch j.Kind {
		case Revolute:
			to = to.then(r3.Vec{}, quat.Number(r3.NewRotation(value, axis)))
		case Prismatic:
			to = to.then(r3.Scale(value, axis), quat.Number{Real: 1})
		case Ball:
			q := number(values[j.Index:])
			to = to.then(r3.Vec{}, quat.Scale(1/quat.Abs(q), q))
		case Free:
			to = of(Pose(values[j.Index:]))
			to.q = quat.Scale(1/quat.Abs(to.q), to.q)
		}
		frames = append(frames, to)
	}
	return frames
}

func randomPose(rng *rand.Rand) (p Pose) {
	for i := range p {
		p[i] = rng.NormFloat64()
	}
	*(*[4]float64)(p[3:]) = unit([4]float64(p[3:]))
	return p
}

// randomTree has joints of all kinds, each below any of those before it.
func randomTree(rng *rand.Rand, n int) (joints []Joint, dof int) {
	for i := range n {
		j := Joint{Kind: Kind(rng.IntN(int(KindCount))), Above: int32(rng.IntN(i + 1)), Place: randomPose(rng),
			Multiplier: rng.NormFloat64(), Offset: rng.NormFloat64()}
		axis := r3.Unit(r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()})
		j.Axis = [3]float64{axis.X, axis.Y, axis.Z}
		j.Index = int32(dof)
		dof += j.Kind.width()
		joints = append(joints, j)
	}
	return joints, dof
}

// TestTrees: poses of random trees agree with gonum's quaternions, a joint after the other; numbers of other places
// of a world stay as they are.
func TestTrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		joints, dof := randomTree(rng, rng.IntN(12))
		worlds, others := rng.IntN(40), rng.IntN(3)
		var places []Place
		for range rng.IntN(6) {
			p := Place{Frame: int32(rng.IntN(len(joints) + 1)), Within: rest}
			if rng.IntN(2) == 0 {
				p.Within = randomPose(rng)
			}
			places = append(places, p)
		}
		values := make([]float64, worlds*dof)
		for i := range values {
			values[i] = 2 * rng.NormFloat64()
		}
		base, each := []float64(nil), rng.IntN(3)
		for range []int{0, 1, worlds}[each] {
			p := randomPose(rng)
			base = append(base, p[:]...)
		}
		tree, err := New(joints, places, dof)
		if err != nil {
			t.Fatal(err)
		}
		stride := 7 * (len(places) + others)
		out := slices.Repeat([]float64{-5}, worlds*stride)
		tree.Write(out, stride, values, base, worlds)
		for w := range worlds {
			root := rest
			switch each {
			case 1:
				root = Pose(base)
			case 2:
				root = Pose(base[7*w:])
			}
			frames := reference(joints, values[w*dof:(w+1)*dof], root)
			for k, p := range places {
				within := of(p.Within)
				want := frames[p.Frame].then(within.p, within.q)
				got := of(Pose(out[w*stride+7*k:]))
				// Positions of ten frames lie within some 30 m.
				if r3.Norm(r3.Sub(got.p, want.p)) > 1e-13 || quat.Abs(quat.Sub(got.q, want.q)) > 1e-14 {
					t.Fatalf("round %d, world %d, place %d: %v, want %v", round, w, k, got, want)
				}
			}
			for _, x := range out[w*stride+7*len(places) : (w+1)*stride] {
				if x != -5 {
					t.Fatalf("round %d, world %d: the place of another body is %v", round, w, x)
				}
			}
		}
	}
}

// TestPlanarArm: two links of 2 m and 1 m with hinges about z, in closed form; and a slide at their end.
func TestPlanarArm(t *testing.T) {
	z := [3]float64{0, 0, 1}
	joints := []Joint{
		{Kind: Revolute, Place: rest, Axis: z, Multiplier: 1},
		{Kind: Revolute, Above: 1, Index: 1, Place: Pose{0: 2, 3: 1}, Axis: z, Multiplier: -1, Offset: 0.25},
		{Kind: Prismatic, Above: 2, Index: 2, Place: Pose{0: 1, 3: 1}, Axis: [3]float64{1, 0, 0}, Multiplier: 1},
	}
	tree, err := New(joints, []Place{{3, rest}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range [][]float64{{0, 0.25, 0}, {math.Pi / 2, 0.25, 0.5}, {0.3, -0.4, -2}, {-9, 100, 0}} {
		out := make([]float64, 7)
		tree.Write(out, 7, q, nil, 1)
		a := q[0]
		b := a + 0.25 - q[1]
		want := []float64{2*math.Cos(a) + (1+q[2])*math.Cos(b), 2*math.Sin(a) + (1+q[2])*math.Sin(b), 0,
			math.Cos(b / 2), 0, 0, math.Sin(b / 2)}
		for i := range want {
			if math.Abs(out[i]-want[i]) > 1e-14 {
				t.Errorf("%v: %v, want %v", q, out, want)
				break
			}
		}
	}
}

// TestBlocks: the bits of a configuration do not depend on how many there are, nor on which.
func TestBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	joints, dof := randomTree(rng, 20)
	places := []Place{{20, rest}, {7, randomPose(rng)}}
	tree, err := New(joints, places, dof)
	if err != nil {
		t.Fatal(err)
	}
	const worlds = 301
	values := make([]float64, worlds*dof)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	all, one := make([]float64, worlds*14), make([]float64, 14)
	tree.Write(all, 14, values, nil, worlds)
	for w := range worlds {
		tree.Write(one, 14, values[w*dof:(w+1)*dof], nil, 1)
		if !slices.Equal(one, all[14*w:14*w+14]) {
			t.Fatalf("world %d: %v alone, %v among others", w, one, all[14*w:14*w+14])
		}
	}
}

// TestSincos compares with package math over all quadrants, next to their bounds, and where the reduction ends.
func TestSincos(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	values := []float64{0, math.Copysign(0, -1), reduced, -reduced, math.Nextafter(reduced, 2*reduced), 1e18, 1e-300}
	for n := range 4000 {
		at := float64(n-2000) * math.Pi / 4
		values = append(values, at, math.Nextafter(at, 9e9), math.Nextafter(at, -9e9), 10*rng.NormFloat64(),
			reduced*(2*rng.Float64()-1))
	}
	for _, x := range values {
		s, c := sincos(x)
		wantS, wantC := math.Sincos(x)
		if !(math.Abs(s-wantS) <= 0x1p-51) || !(math.Abs(c-wantC) <= 0x1p-51) {
			t.Fatalf("%v: %v and %v, want %v and %v", x, s, c, wantS, wantC)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if s, c := sincos(x); !math.IsNaN(s) || !math.IsNaN(c) {
			t.Errorf("%v: %v and %v", x, s, c)
		}
	}
}

// TestNotFinite: values that are no numbers, and quaternions of length 0, give poses that no query takes for good, in
// their own configuration alone.
func TestNotFinite(t *testing.T) {
	joints := []Joint{
		{Kind: Revolute, Place: rest, Axis: [3]float64{0, 0, 1}, Multiplier: 1},
		{Kind: Ball, Above: 1, Index: 1, Place: rest},
	}
	tree, err := New(joints, []Place{{2, rest}}, 5)
	if err != nil {
		t.Fatal(err)
	}
	values := []float64{
		math.Inf(1), 1, 0, 0, 0,
		0, 1, 0, 0, 0,
		math.NaN(), 1, 0, 0, 0,
		0, 0, 0, 0, 0,
	}
	out := make([]float64, 28)
	tree.Write(out, 7, values, nil, 4)
	for w := range 4 {
		if bad := math.IsNaN(out[7*w+3]); bad != (w != 1) {
			t.Errorf("configuration %d: %v", w, out[7*w:7*w+7])
		}
	}
}

// TestRefused: trees with indices out of range.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		want   string
		joints []Joint
		places []Place
	}{
		{"place 0 is in frame 1 of 1", nil, []Place{{Frame: 1}}},
		{"place 0 is in frame -1 of 1", nil, []Place{{Frame: -1}}},
		{"joint 0 is below frame 1", []Joint{{Above: 1}}, nil},
		{"joint 0 is of kind 5", []Joint{{Kind: KindCount}}, nil},
		{"joint 0 reads 1 numbers", []Joint{{Kind: Revolute, Index: 6}}, nil},
		{"joint 0 reads 7 numbers", []Joint{{Kind: Free, Index: math.MaxInt32}}, nil},
	} {
		if _, err := New(c.joints, c.places, 6); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// BenchmarkArm: 4,096 configurations of seven hinges, of which eight places are written among 28.
func BenchmarkArm(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	var joints []Joint
	places := []Place{{Within: rest}}
	for i := range 7 {
		joints = append(joints, Joint{Kind: Revolute, Above: int32(i), Index: int32(i), Place: randomPose(rng),
			Axis: [3]float64{0, 0, 1}, Multiplier: 1})
		places = append(places, Place{Frame: int32(i + 1), Within: rest})
	}
	tree, err := New(joints, places, 7)
	if err != nil {
		b.Fatal(err)
	}
	const worlds, stride = 4096, 7 * 28
	values, out := make([]float64, 7*worlds), make([]float64, stride*worlds)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	for b.Loop() {
		tree.Write(out, stride, values, nil, worlds)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/worlds/7, "ns/joint")
}
