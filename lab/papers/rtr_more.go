package papers

import (
	"context"
	"fmt"
	"math"
	"slices"

	"clearance/dataset/fit"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// RTRTime is the time at one depth [RTR, Fig. 6], cube 1 with itself.
type RTRTime struct {
	Depth     float64 `json:"depth_m"` // median of the group
	Pairs     int     `json:"pairs"`
	EPA       float64 `json:"epa_us"`
	RTR       float64 `json:"rtr_us"`
	Certified float64 `json:"certified_us"`
}

// rtrTimes sorts penetrating pairs of a shape with itself by depth, and times them in groups.
func rtrTimes(s namedShape, lab *Lab, ws *ref.Workspace) []RTRTime {
	groups, each := lab.pick(3, 12), lab.pick(10, 200)
	poses := overlapping(s.shape, s.shape, 7100, groups*each, ws)
	depth := func(p ref.Pair) float64 { r := byEPA(&p, ws); return -r.Distance }
	slices.SortFunc(poses, func(p, q ref.Pair) int {
		if depth(p) < depth(q) {
			return -1
		}
		return 1
	})
	var out []RTRTime
	for k := range groups {
		group := poses[k*each : (k+1)*each]
		t := take(group, lab.pick(1, 5), ws, byEPA, byRTR, byCertifiedRTR)
		out = append(out, RTRTime{depth(group[each/2]), each, t[0], t[1], t[2]})
	}
	return out
}

// RTRChoice is the time of the methods on pairs of one shape with itself, apart or overlapping:
// what ref's method auto rests on.
type RTRChoice struct {
	Shape     string  `json:"shape"`
	Apart     bool    `json:"apart"`
	Tolerance float64 `json:"tolerance"` // of the size
	GJK       float64 `json:"gjk_us"`    // with EPA
	RTR       float64 `json:"rtr_us"`    // certified
	Auto      float64 `json:"auto_us"`
	Taken     float64 `json:"rtr_taken"` // share of the pairs on which auto took RTR
}

// rtrChoice measures every shape with itself at two tolerances.
func rtrChoice(ctx context.Context, shapes []namedShape, lab *Lab, ws *ref.Workspace) ([]RTRChoice, error) {
	pairs, rounds := lab.pick(10, 300), lab.pick(1, 5)
	long := namedShape{"ellipsoid 0.2, 0.4, 0.7", geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.4, Z: 0.7}}}
	var out []RTRChoice
	for i, s := range append([]namedShape{long}, shapes...) {
		over := overlapping(s.shape, s.shape, uint64(7200+i), pairs, ws)
		away := make([]ref.Pair, 0, pairs)
		g := generator(uint64(7300 + i))
		for len(away) < pairs {
			at := r3.Scale((0.4+g.Float64())*2*s.shape.BoundingRadius(), randomUnit(g))
			p := ref.NewPair(s.shape, s.shape, geom.Pose{Rotation: randomRotation(g)},
				geom.Pose{Position: at, Rotation: randomRotation(g)})
			if r := ref.Solve(&p, ref.Options{Boolean: true}, ws); r.Status == ref.Separated {
				away = append(away, p)
			}
		}
		for _, apart := range []bool{true, false} {
			for _, tolerance := range []float64{1e-6, 1e-9} {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				poses := over
				if apart {
					poses = away
				}
				taken := 0
				by := func(m ref.Method) asker {
					return func(p *ref.Pair, ws *ref.Workspace) ref.Result {
						r := ref.Solve(p, ref.Options{Tolerance: tolerance * p.Size(), Method: m}, ws)
						if m == ref.MethodAuto && r.Method == ref.MethodRTR {
							taken++
						}
						return r
					}
				}
				t := take(poses, rounds, ws, by(ref.MethodGJK), by(ref.MethodRTR), by(ref.MethodAuto))
				out = append(out, RTRChoice{s.name, apart, tolerance, t[0], t[1], t[2],
					float64(taken) / float64(rounds*pairs)})
			}
		}
	}
	return out, nil
}

// RTRMesh compares an object's hull of some vertices with the smooth hull of 20 that is fitted to
// the whole hull [RTR, Fig. 8]: the object with itself, overlapping.
type RTRMesh struct {
	Mesh      string     `json:"mesh"`
	Errors    fit.Errors `json:"errors"`
	Size      float64    `json:"bounding_radius_m"`
	Sharpness float64    `json:"sharpness"`
	Vertices  []int      `json:"vertices"` // of the hulls
	Hull      []float64  `json:"hull_us"`  // GJK and EPA on them
	FitEPA    float64    `json:"fit_epa_us"`
	FitRTR    float64    `json:"fit_rtr_us"`
	Certified float64    `json:"fit_certified_us"`
	Local     int        `json:"local"`
	Pairs     int        `json:"pairs"`
}

// fitVertices is the number that the paper fits with.
const fitVertices = 20

// rtrMeshes measures the objects. Tolerances are a thousandth of the paper's for its
// shapes of a metre: 1e-5 of the bounding radius.
func rtrMeshes(ctx context.Context, lab *Lab, ws *ref.Workspace) ([]RTRMesh, error) {
	pairs, rounds := lab.pick(10, 300), lab.pick(1, 3)
	objects := lab.meshes()
	if lab.Quick {
		objects = objects[:1]
	}
	var out []RTRMesh
	for i, m := range objects {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, err := fit.SmoothHull(m.Hull, fitVertices)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		size := m.Hull.BoundingRadius()
		by := func(method ref.Method) asker {
			return func(p *ref.Pair, ws *ref.Workspace) ref.Result {
				return ref.Solve(p, ref.Options{Tolerance: rtrTolerance * size, Method: method}, ws)
			}
		}
		alone := func(p *ref.Pair, ws *ref.Workspace) ref.Result {
			return ref.RTR(p, ref.Options{Tolerance: rtrTolerance * size}, ws)
		}
		row := RTRMesh{Mesh: m.Name, Errors: fit.Measure(m.Hull, s, geom.IdentityPose()), Size: size,
			Sharpness: s.Sharpness(), Pairs: pairs}
		poses := overlapping(s, s, uint64(7400+i), pairs, ws)
		t := take(poses, rounds, ws, by(ref.MethodGJK), alone, by(ref.MethodRTR))
		row.FitEPA, row.FitRTR, row.Certified = t[0], t[1], t[2]
		for j := range poses {
			got, sure := alone(&poses[j], ws), by(ref.MethodRTR)(&poses[j], ws)
			if sure.Distance-got.Distance > rtrTolerance*size {
				row.Local++
			}
		}
		for n := fitVertices; ; n *= 4 {
			hull := m.Hull
			if all := len(m.Hull.Hull().Vertices); n < all {
				if hull, err = coarser(m.Hull, n); err != nil {
					return nil, fmt.Errorf("%s: %w", m.Name, err)
				}
			}
			poses := overlapping(hull, hull, uint64(7500+i), pairs, ws)
			row.Vertices = append(row.Vertices, len(hull.Hull().Vertices))
			row.Hull = append(row.Hull, take(poses, rounds, ws, by(ref.MethodGJK))[0])
			if hull == m.Hull {
				break
			}
		}
		out = append(out, row)
	}
	return out, nil
}

// coarser returns the hull of at most n vertices of c, spread over its directions.
func coarser(c *geom.Convex, n int) (*geom.Convex, error) {
	var points []r3.Vec
	for _, d := range sphere(n, 1) {
		points = append(points, c.CoreSupport(d))
	}
	return geom.NewConvex(points)
}

// totals sums the cells.
func (r *RTRResults) totals() (sum RTRCell) {
	for _, c := range r.Cells {
		sum.Pairs, sum.Smaller, sum.Equal, sum.NotAbove = sum.Pairs+c.Pairs, sum.Smaller+c.Smaller, sum.Equal+c.Equal,
			sum.NotAbove+c.NotAbove
		sum.Local, sum.Undecided, sum.Worst = sum.Local+c.Local, sum.Undecided+c.Undecided, math.Max(sum.Worst, c.Worst)
	}
	return sum
}
