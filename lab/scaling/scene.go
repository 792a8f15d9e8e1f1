package scaling

import (
	"context"
	"math/rand/v2"
	"runtime"

	"clearance/batch"
	"clearance/dataset/generate"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/spatial/r3"
)

// distinct is how many different pairs a batch holds; longer ones repeat them, since placing a pair takes longer than
// answering it.
const distinct = 1 << 16

// scene is the input of the paths of a set.
type scene struct {
	library *batch.Library
	bodies  *batch.Bodies
	pairs   *batch.Pairs
	worlds  *batch.Worlds  // with a template
	all     *batch.Worlds  // the same of all pairs
	motions *batch.Motions // the worlds at way point 0
}

// Worlds have the shapes of an arm and of what stands around it: every body of the arm is in a pair with every other
// one.
const (
	armBodies  = 8
	obstacles  = 12
	worldEdge  = 6.0 // metres; bodies have extents of 0.1 to 1 m
	moveLength = 0.3 // metres from way point 0 to 1
)

func newScene(ctx context.Context, set string, seed uint64, rows int) (*scene, error) {
	gen, err := generate.New(set, seed, generate.Options{})
	if err != nil {
		return nil, err
	}
	s := &scene{library: gen.Library(), pairs: batch.NewPairs(rows)}
	drawn := min(rows, distinct)
	const block = 256
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for lo := 0; lo < drawn && ctx.Err() == nil; lo += block {
		g.Go(func() error {
			gen.Fill(s.pairs.Slice(lo, min(lo+block, drawn)), lo)
			return nil
		})
	}
	_ = g.Wait() // Fill cannot fail
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var row batch.Row
	for i := drawn; i < rows; i++ {
		s.pairs.Row(i%drawn, &row)
		s.pairs.SetRow(i, &row)
	}
	s.bodies = batch.BodiesOfShapes(s.library)
	s.place(rand.New(rand.NewPCG(seed, 0)), max(1, rows/(armBodies*obstacles)))
	return s, nil
}

// place makes the worlds and motions. The rotations are those of the pairs.
func (s *scene) place(rng *rand.Rand, count int) {
	const m = armBodies + obstacles
	s.worlds = &batch.Worlds{}
	for k := range int32(m) {
		s.worlds.Bodies = append(s.worlds.Bodies, k%int32(s.library.Len()))
	}
	for a := range int32(armBodies) {
		for o := range int32(obstacles) {
			s.worlds.TemplateA = append(s.worlds.TemplateA, a)
			s.worlds.TemplateB = append(s.worlds.TemplateB, armBodies+o)
		}
	}
	anywhere := func(edge float64) r3.Vec {
		return r3.Vec{X: edge * (rng.Float64() - 0.5), Y: edge * (rng.Float64() - 0.5), Z: edge * (rng.Float64() - 0.5)}
	}
	s.motions = &batch.Motions{Bodies: s.worlds.Bodies, TemplateA: s.worlds.TemplateA, TemplateB: s.worlds.TemplateB}
	for w := range count {
		var begin, end []float64
		for k := range m {
			i := (w*m + k) % s.pairs.Len()
			p, q := anywhere(worldEdge), s.pairs.RotationA[4*i:4*i+4]
			to := r3.Add(p, anywhere(2*moveLength))
			begin = append(append(begin, p.X, p.Y, p.Z), q...)
			end = append(append(end, to.X, to.Y, to.Z), q...)
		}
		s.worlds.Poses = append(s.worlds.Poses, begin...)
		s.motions.Poses = append(append(s.motions.Poses, begin...), end...)
	}
	all := *s.worlds
	all.TemplateA, all.TemplateB, all.AllPairs = nil, nil, true
	s.all = &all
}

// firstMotions are the motions of the first worlds.
func (s *scene) firstMotions(count int) *batch.Motions {
	m := *s.motions
	m.Poses = m.Poses[:min(len(m.Poses), count*m.WayPoints()*m.BodiesPerWorld()*7)]
	return &m
}
