package papers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// rtrTolerance is ϵ_g = ϵ_EPA of [RTR, sec. V-]A, metres.
const rtrTolerance = 1e-4

// RTRResults are those of the Riemannian trust region method beside GJK and EPA ([RTR]).
type RTRResults struct {
	Cells  []RTRCell   `json:"cells"`  // Table II
	Starts []int       `json:"starts"` // of RTR, as in Depths
	Depths []RTRDepth  `json:"depths"` // local minima by depth, all cells together
	Times  []RTRTime   `json:"times"`  // Fig. 6
	Choice []RTRChoice `json:"choice"` // what method auto rests on
	Meshes []RTRMesh   `json:"meshes"` // Fig. 8
}

// RTRCell is what was found for one pair of shapes. Depths are upper bounds, right to the
// tolerance for EPA and for certified answers.
type RTRCell struct {
	A             string  `json:"a"`
	B             string  `json:"b"`
	Pairs         int     `json:"pairs"`
	EPA           float64 `json:"epa_us"` // a pair
	RTR           float64 `json:"rtr_us"`
	Certified     float64 `json:"certified_us"` // RTR and the proof that its depth is the global one
	EPASteps      float64 `json:"epa_steps"`    // support evaluations, mean
	RTRSteps      float64 `json:"rtr_steps"`
	EPAOptimality float64 `json:"epa_optimality"` // eq. 20, median
	RTROptimality float64 `json:"rtr_optimality"`
	Smaller       int     `json:"smaller"` // RTR's depths below EPA's by more than the tolerance
	Equal         int     `json:"equal"`   // within the tolerance
	NotAbove      int     `json:"not_above"`
	Local         int     `json:"local"` // RTR's depths above the certified one by more than the tolerance
	Worst         float64 `json:"worst_m"`
	Undecided     int     `json:"undecided"` // certified answers that are none
}

// RTRDepth counts local minima of overlaps of Lo to Hi, depths over the sum of the bounding radii.
type RTRDepth struct {
	Lo    float64   `json:"lo"`
	Hi    float64   `json:"hi"`
	Pairs int       `json:"pairs"`
	Local []int     `json:"local"` // by number of starts
	Time  []float64 `json:"us"`    // a pair, likewise
}

// namedShape is one of the eight shapes of [RTR, Table I].
type namedShape struct {
	name  string
	shape geom.Shape
}

// rtrShapes builds them. Table I does not give the sizes of cubes and cylinder; these are our
// choice: an edge of 1 m, and a cylinder of radius 0.5 m and length 1.2 m.
func rtrShapes() ([]namedShape, error) {
	quadric := func(a, b, c, a1, a2 float64) geom.Shape {
		return geom.Superquadric{SemiAxes: r3.Vec{X: a, Y: b, Z: c}, Alpha1: a1, Alpha2: a2}
	}
	list := []namedShape{
		{"ellipsoid", geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.5, Z: 0.7}}},
		{"superellipsoid", quadric(0.7, 0.7, 0.35, 1, 1.5)},
		{"double cone", quadric(0.5, 0.5, 0.7, 1.5, 1)},
		{"double pyramid", quadric(0.6, 0.6, 0.6, 1.5, 1.5)},
	}
	var corners []r3.Vec
	for i := range 8 {
		sign := func(bit int) float64 { return float64(1-2*(i>>bit&1)) / 2 }
		corners = append(corners, r3.Vec{X: sign(0), Y: sign(1), Z: sign(2)})
	}
	for k, beta := range []float64{5, 10, 50} {
		s, err := geom.NewSmoothHull(corners, beta, r3.Vec{})
		if err != nil {
			return nil, err
		}
		list = append(list, namedShape{fmt.Sprintf("cube %d", k+1), s})
	}
	s, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.5, Y: 0.6}, {X: 0.5, Y: -0.6}}, 40, 1e-3)
	if err != nil {
		return nil, err
	}
	return append(list, namedShape{"cylinder", s}), nil
}

// paperRTR holds the microseconds of [RTR, Table II] by row and column of rtrShapes:
// GJK-EPA, and the authors' RTR, from the diagonal on.
var paperRTR = [8][8][2]float64{
	{{58, 14}, {68, 30}, {73, 37}, {67, 31}, {66, 25}, {65, 22}, {59, 24}, {68, 56}},
	{1: {72, 52}, 2: {77, 61}, 3: {67, 43}, 4: {65, 27}, 5: {63, 29}, 6: {53, 37}, 7: {68, 57}},
	{2: {69, 56}, 3: {67, 50}, 4: {78, 35}, 5: {71, 38}, 6: {64, 45}, 7: {79, 72}},
	{3: {68, 36}, 4: {67, 25}, 5: {59, 26}, 6: {55, 33}, 7: {71, 47}},
	{4: {67, 12}, 5: {65, 15}, 6: {54, 22}, 7: {68, 32}},
	{5: {55, 15}, 6: {51, 22}, 7: {68, 35}},
	{6: {50, 25}, 7: {67, 42}},
	{7: {83, 60}},
}

// rtr compares RTR with GJK and EPA.
func rtr(ctx context.Context, lab *Lab, r *Results) error {
	shapes, err := rtrShapes()
	if err != nil {
		return err
	}
	out := &RTRResults{Starts: []int{1, 2, 3, 5}}
	for lo := 0; lo < len(depthEdges)-1; lo++ {
		out.Depths = append(out.Depths, RTRDepth{
			Lo: depthEdges[lo], Hi: depthEdges[lo+1], Local: make([]int, len(out.Starts)),
			Time: make([]float64, len(out.Starts)),
		})
	}
	pairs, rounds := lab.pick(12, 1000), lab.pick(1, 3)
	var ws ref.Workspace
	for i, a := range shapes {
		for j := i; j < len(shapes); j++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			poses := overlapping(a.shape, shapes[j].shape, uint64(7000+8*i+j), pairs, &ws)
			c := RTRCell{A: a.name, B: shapes[j].name, Pairs: pairs}
			if err := c.measure(poses, rounds, out, &ws); err != nil {
				return err
			}
			out.Cells = append(out.Cells, c)
		}
	}
	for k := range out.Depths {
		d := &out.Depths[k]
		for s := range d.Time {
			d.Time[s] /= float64(max(d.Pairs, 1))
		}
	}
	out.Times = rtrTimes(shapes[4], lab, &ws)
	if out.Choice, err = rtrChoice(ctx, shapes, lab, &ws); err != nil {
		return err
	}
	if out.Meshes, err = rtrMeshes(ctx, lab, &ws); err != nil {
		return err
	}
	r.RTR = out
	return nil
}

// overlapping draws poses at which two shapes intersect: uniform rotations, and B in a uniform
// direction at a uniform distance up to the sum of the bounding radii.
func overlapping(a, b geom.Shape, stream uint64, pairs int, ws *ref.Workspace) []ref.Pair {
	g := generator(stream)
	poses := make([]ref.Pair, 0, pairs)
	for len(poses) < pairs {
		at := r3.Scale(g.Float64()*(a.BoundingRadius()+b.BoundingRadius()), randomUnit(g))
		p := ref.NewPair(a, b, geom.Pose{Rotation: randomRotation(g)},
			geom.Pose{Position: at, Rotation: randomRotation(g)})
		if r := ref.Solve(&p, ref.Options{Boolean: true}, ws); r.Status == ref.Penetrating {
			poses = append(poses, p)
		}
	}
	return poses
}

// asker answers one pair.
type asker func(*ref.Pair, *ref.Workspace) ref.Result

// The ways of the comparison, all with the tolerance of the paper.
func byEPA(p *ref.Pair, ws *ref.Workspace) ref.Result {
	return ref.Solve(p, ref.Options{Tolerance: rtrTolerance}, ws)
}
func byRTR(p *ref.Pair, ws *ref.Workspace) ref.Result {
	return ref.RTR(p, ref.Options{Tolerance: rtrTolerance}, ws)
}
func byCertifiedRTR(p *ref.Pair, ws *ref.Workspace) ref.Result {
	return ref.Solve(p, ref.Options{Tolerance: rtrTolerance, Method: ref.MethodRTR}, ws)
}

// take returns the time per pair of every way, µs: the median over rounds in which they alternate.
func take(poses []ref.Pair, rounds int, ws *ref.Workspace, ways ...asker) []float64 {
	all := make([][]float64, len(ways))
	for range rounds {
		for k, ask := range ways {
			began := time.Now()
			for i := range poses {
				ask(&poses[i], ws)
			}
			all[k] = append(all[k], time.Since(began).Seconds()*1e6/float64(len(poses)))
		}
	}
	out := make([]float64, len(ways))
	for k := range all {
		out[k] = median(all[k])
	}
	return out
}

// optimality is the measure of eq. 20, of the support points along the normal.
func optimality(p *ref.Pair, r *ref.Result) float64 {
	d := p.Support(r.Normal).W
	if n := r3.Norm(d); n > 0 {
		return r3.Norm(r3.Cross(r.Normal, d)) / n
	}
	return 0
}

// measure fills a cell, and its part of the local minima by depth. It is an error if RTR's depth
// is below the one that is certified.
func (c *RTRCell) measure(poses []ref.Pair, rounds int, all *RTRResults, ws *ref.Workspace) error {
	t := take(poses, rounds, ws, byEPA, byRTR, byCertifiedRTR)
	c.EPA, c.RTR, c.Certified = t[0], t[1], t[2]
	n := float64(len(poses))
	oe, or := make([]float64, len(poses)), make([]float64, len(poses))
	for i := range poses {
		p := &poses[i]
		epa, got, sure := byEPA(p, ws), byRTR(p, ws), byCertifiedRTR(p, ws)
		c.EPASteps += float64(epa.Iterations) / n
		c.RTRSteps += float64(got.Iterations) / n
		oe[i], or[i] = optimality(p, &epa), optimality(p, &got)
		if sure.Status == ref.Undecided {
			c.Undecided++
		}
		if -got.Distance < -sure.Upper-4*p.Roundoff() {
			return fmt.Errorf("%s and %s: RTR's depth %g is below the %g that is proved", c.A, c.B, -got.Distance,
				-sure.Upper)
		}
		switch over := epa.Distance - got.Distance; {
		case over < -rtrTolerance:
			c.Smaller++
		case over <= rtrTolerance:
			c.Equal++
		}
		if -got.Distance <= -epa.Distance {
			c.NotAbove++
		}
		if over := sure.Distance - got.Distance; over > rtrTolerance {
			c.Local++
			c.Worst = max(c.Worst, over)
		}
		all.count(p, &sure, ws)
	}
	slices.Sort(oe)
	slices.Sort(or)
	c.EPAOptimality, c.RTROptimality = oe[len(oe)/2], or[len(or)/2]
	return nil
}

// depthEdges are the limits of the rows of Depths.
var depthEdges = []float64{0, 0.05, 0.1, 0.2, 0.3, 0.4, 1}

// count runs RTR with every number of starts and enters the outcome by depth.
func (r *RTRResults) count(p *ref.Pair, sure *ref.Result, ws *ref.Workspace) {
	relative := -sure.Distance / p.Size()
	k := 0
	for k < len(r.Depths)-1 && relative >= r.Depths[k].Hi {
		k++
	}
	d := &r.Depths[k]
	d.Pairs++
	for s, starts := range r.Starts {
		began := time.Now()
		got := ref.RTR(p, ref.Options{Tolerance: rtrTolerance, Starts: starts}, ws)
		d.Time[s] += time.Since(began).Seconds() * 1e6
		if sure.Distance-got.Distance > rtrTolerance {
			d.Local[s]++
		}
	}
}
