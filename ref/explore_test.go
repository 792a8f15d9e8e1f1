package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

func mkShapes(g *rand.Rand) []geom.Shape {
	cv := func(p ...r3.Vec) geom.Shape {
		c, err := geom.NewConvex(p)
		if err != nil {
			panic(err)
		}
		return c
	}
	V := func(x, y, z float64) r3.Vec { return r3.Vec{X: x, Y: y, Z: z} }
	return []geom.Shape{
		geom.Sphere{R: 0.5}, geom.Sphere{R: 1e-4}, geom.Sphere{R: 1e4},
		geom.Capsule{R: 0.3, HalfLength: 0.5}, geom.Capsule{R: 1e-4, HalfLength: 1}, geom.Capsule{R: 0.1, HalfLength: 0},
		geom.Cylinder{R: 0.3, HalfLength: 0.5}, geom.Cylinder{R: 1, HalfLength: 1e-4}, geom.Cylinder{R: 1e-4, HalfLength: 1},
		geom.Cone{R: 0.3, HalfLength: 0.5}, geom.Cone{R: 1e-3, HalfLength: 1}, geom.Cone{R: 1, HalfLength: 1e-3},
		geom.Frustum{RBottom: 0.4, RTop: 0.2, HalfLength: 0.3}, geom.Frustum{RBottom: 0, RTop: 0.2, HalfLength: 0.3},
		geom.Box{HalfExtents: V(0.5, 0.5, 0.5)}, geom.Box{HalfExtents: V(1, 1, 1e-4)}, geom.Box{HalfExtents: V(1, 1e-4, 1e-4)}, geom.Box{HalfExtents: V(1e4, 1e4, 1e4)}, geom.Box{HalfExtents: V(1e-4, 1e-4, 1e-4)},
		geom.Ellipsoid{SemiAxes: V(0.5, 0.3, 0.2)}, geom.Ellipsoid{SemiAxes: V(1, 1, 1e-3)}, geom.Ellipsoid{SemiAxes: V(1, 1e-3, 1e-3)}, geom.Ellipsoid{SemiAxes: V(0.5, 0.5, 0.5)}, geom.Ellipsoid{SemiAxes: V(0.5, 0.5, 0.499)},
		geom.Superquadric{SemiAxes: V(0.5, 0.4, 0.3), Alpha1: 1, Alpha2: 1}, geom.Superquadric{SemiAxes: V(0.5, 0.4, 0.3), Alpha1: 0.3, Alpha2: 0.3}, geom.Superquadric{SemiAxes: V(0.5, 0.4, 0.3), Alpha1: 1.7, Alpha2: 1.5},
		cv(V(0.1, 0.2, 0.3)), cv(V(-0.5, 0, 0), V(0.5, 0.1, 0)), cv(V(0, 0, 0), V(1, 0, 0), V(0, 1, 0)), cv(V(-1, -1, 0), V(1, -1, 0), V(1, 1, 0), V(-1, 1, 0)),
		cv(V(-1, -1, 0), V(1, -1, 0), V(1, 1, 0), V(-1, 1, 1e-9), V(0, 0, 1e-6)),
		geom.WithMargin(geom.Box{HalfExtents: V(0.2, 0.3, 0.4)}, 0.1), geom.WithMargin(cv(V(0, 0, 0), V(1, 0, 0), V(0, 1, 0)), 0.01),
		geom.Halfspace{}, geom.WithMargin(geom.Halfspace{}, 0.1),
	}
}

func TestAdv(t *testing.T) {
	g := rand.New(rand.NewPCG(5, 5))
	shapes := mkShapes(g)
	var ws Workspace
	special := []quat.Number{{Real: 1}, {Imag: 1}, {Real: math.Sqrt(.5), Imag: math.Sqrt(.5)}, {Real: math.Sqrt(.5), Kmag: math.Sqrt(.5)}, {Real: math.Sqrt(.5), Jmag: math.Sqrt(.5)}}
	bad := map[string]int{}
	ex := map[string]string{}
	tot, und := 0, 0
	var slow time.Duration
	for ia, a := range shapes {
		for ib, b := range shapes {
			if a.Kind() == geom.KindHalfspace && b.Kind() == geom.KindHalfspace {
				continue
			}
			for k := range 40 {
				pa, pb := geom.IdentityPose(), geom.IdentityPose()
				if k%2 == 0 {
					pa.Rotation, pb.Rotation = randomRotation(g), randomRotation(g)
				} else {
					pa.Rotation, pb.Rotation = special[g.IntN(5)], special[g.IntN(5)]
				}
				size := min(a.BoundingRadius(), 1e5) + min(b.BoundingRadius(), 1e5)
				switch k % 5 {
				case 0: // coincident
				case 1:
					pb.Position = r3.Scale(size*g.Float64(), randomUnit(g))
				case 2:
					pb.Position = r3.Vec{X: size * 0.1 * float64(g.IntN(5)), Y: size * 0.1 * float64(g.IntN(5))}
				default: // touching
					if a.Kind() == geom.KindHalfspace || b.Kind() == geom.KindHalfspace {
						break
					}
					pb.Position = r3.Scale(2*size, randomUnit(g))
					p := NewPair(a, b, pa, pb)
					r := GJK(&p, Options{}, nil)
					d := 0.0
					if k%5 == 4 {
						d = -math.Pow(10, -12+12*g.Float64()) * size
					}
					pb.Position = r3.Add(pb.Position, r3.Scale(d-r.Distance, p.DirToWorld(r.Normal)))
				}
				p := NewPair(a, b, pa, pb)
				t0 := time.Now()
				r := Solve(&p, Options{}, &ws)
				el := time.Since(t0)
				slow = max(slow, el)
				tot++
				if r.Status == Undecided {
					t.Logf("poses %v %v eroded %v", pa, pb, p.erodeA)
					x := ws.e.poly
					for _, f := range x.faces {
						if !f.dead {
							t.Log(f.v, f.n, f.key, f.sliver, f.out)
						}
					}
					for _, v := range x.verts {
						t.Log(v.W)
					}
					t.Log(ws.e.lower, ws.e.upper, ws.e.axis, ws.e.near.W)
				}
				if r.Status == Undecided || el > 20*time.Millisecond {
					und++
					key := fmt.Sprintf("%T%v|%T%v", a, a.BoundingRadius(), b, b.BoundingRadius())
					_ = key
					key = fmt.Sprintf("%d-%d", ia, ib)
					bad[key]++
					ex[key] = fmt.Sprintf("k%d %T %T [%g %g] gap/size %.2g it %d %v %v", k, a, b, r.Lower, r.Upper, r.Gap()/p.Size(), r.Iterations, el, r.Status)
				}
			}
		}
	}
	t.Logf("total %d undecided/slow %d slowest %v", tot, und, slow)
	n := 0
	for k, v := range bad {
		n++
		if n < 60 {
			t.Log(k, v, ex[k])
		}
	}
}
