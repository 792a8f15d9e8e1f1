package ref

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
)

// TestTinyOnHuge has tiny shapes touch huge polytopes, or nearly: the face of D there is 1e8 times as large
// as the part of it where witnesses may be, and every witness has to lie there.
func TestTinyOnHuge(t *testing.T) {
	n := 60_000
	if testing.Short() {
		n = 20_000
	}
	g := rand.New(rand.NewPCG(5, 6))
	tiny := []geom.Shape{geom.Cylinder{R: 1e-4, HalfLength: 5e-5}, ellipsoid(vec(1e-4, 5e-5, 7e-5)),
		geom.Box{HalfExtents: vec(1e-4, 5e-5, 7e-5)}, mustConvex(vec(0, 0, 0), vec(1e-4, 0, 0), vec(0, 1e-4, 0),
			vec(0, 0, 1e-4)), geom.Box{HalfExtents: vec(0.1, 0.1, 0.1)}}
	huge := []geom.Shape{geom.Box{HalfExtents: vec(1e4, 5e3, 7e3)}, mustConvex(vec(0, 0, 0), vec(1e4, 0, 0),
		vec(0, 1e4, 0), vec(0, 0, 1e4))}
	var ws Workspace
	bad := 0
	for i := range n {
		q := placed{a: tiny[g.IntN(len(tiny))], b: huge[g.IntN(len(huge))], pa: poseAt(g, 3), pb: poseAt(g, 3)}
		if g.IntN(2) == 0 {
			q.a, q.b = q.b, q.a
		}
		q.pb.Position = r3.Add(q.pa.Position, r3.Scale(4e4, testkit.Unit(g)))
		off := []float64{0, 0, 1e-9, -1e-9, 1e-6, -1e-6}[g.IntN(6)]
		for range 3 { // to contact
			p := q.pair()
			r := Solve(&p, Options{}, &ws)
			q.pb.Position = r3.Sub(q.pb.Position, r3.Scale(r.Distance-off, p.DirToWorld(r.Normal)))
		}
		p := q.pair()
		o := Options{}
		r := Solve(&p, o, &ws)
		verdict := Solve(&p, Options{Boolean: true}, &ws)
		if err := q.aligned(&o, &r); err != nil || r.Status == Undecided || verdict.Status == Undecided {
			if bad++; bad < 6 {
				t.Errorf("row %d, %v, %v: %v\n%+v\n%s", i, r.Status, verdict.Status, err, r, q.describe())
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d", bad, n)
	}
}

const (
	testGravity = 9.81
	testStep    = 0.01
)

// up is the frame of a contact with the ground, rotated by an angle about the vertical.
func up(angle float64) [3]r3.Vec {
	s, c := math.Sincos(angle)
	return [3]r3.Vec{{X: c, Y: s}, {X: -s, Y: c}, {Z: 1}}
}

// cuboid is a box with half-widths h that fell for a step, and moves with v besides.
func cuboid(mass float64, h, v r3.Vec) ContactBody {
	f := mass / 3
	return ContactBody{Mass: mass,
		Inertia:  [6]float64{f * (h.Y*h.Y + h.Z*h.Z), f * (h.X*h.X + h.Z*h.Z), f * (h.X*h.X + h.Y*h.Y)},
		Velocity: [6]float64{v.X, v.Y, v.Z - testGravity*testStep}}
}

// corners4 are the four contacts of the lower corners of box b with what lies below it, a, whose center is drop below.
func corners4(a, b int, h r3.Vec, drop, mu, angle float64) (list []ContactPoint) {
	for _, s := range [4][2]float64{{-1, -1}, {-1, 1}, {1, -1}, {1, 1}} {
		arm := r3.Vec{X: s[0] * h.X, Y: s[1] * h.Y, Z: -h.Z}
		list = append(list, ContactPoint{A: a, B: b, ArmB: arm, ArmA: r3.Add(arm, r3.Vec{Z: drop}), Frame: up(angle),
			Friction: mu})
	}
	return list
}

// contactsOf is a problem whose own numbers are in SI units.
func contactsOf(t *testing.T, bodies []ContactBody, points []ContactPoint) *Contacts {
	t.Helper()
	p, err := contactsIn(siUnits, bodies, points)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tower is a stack of boxes at rest; the topmost is pushed.
func tower(t *testing.T, boxes int, push float64) *Contacts {
	var bodies []ContactBody
	var points []ContactPoint
	for i := range boxes {
		h := r3.Vec{X: 0.1, Y: 0.09, Z: 0.08}
		v := r3.Vec{}
		if i == boxes-1 {
			v = r3.Vec{X: push, Y: push / 3}
		}
		bodies = append(bodies, cuboid(1, h, v))
		points = append(points, corners4(i-1, i, h, 2*h.Z, 0.5, 0)...)
	}
	return contactsOf(t, bodies, points)
}

// randomContact is the block of a random body with one contact, and its velocity without impulse, of which the
// normal component closes.
func randomContact(rng *rand.Rand) (g [3][3]float64, c [3]float64) {
	var a [3][3]float64
	for i := range a {
		for j := range a[i] {
			a[i][j] = rng.NormFloat64()
		}
		c[i] = rng.NormFloat64()
	}
	for i := range g {
		for j := range g[i] {
			g[i][j] = a[i][0]*a[j][0] + a[i][1]*a[j][1] + a[i][2]*a[j][2]
		}
		g[i][i] += 0.1
	}
	c[2] = -math.Abs(c[2])
	return g, c
}
