package clearance_test

import (
	"context"
	"fmt"
	"log"

	"clearance"
	"clearance/batch"
	"clearance/geom"
	"clearance/rollout"

	"gonum.org/v1/gonum/spatial/r3"
)

// hammers returns bodies: 0 is a hammer of two parts, 1 a post.
func hammers() *batch.Bodies {
	lib, err := batch.NewLibrary([]geom.Shape{
		geom.Capsule{R: 0.02, HalfLength: 0.15},
		geom.Box{HalfExtents: r3.Vec{X: 0.03, Y: 0.06, Z: 0.03}},
		geom.Cylinder{R: 0.1, HalfLength: 1},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{
		{Name: "hammer", Parts: []batch.Part{
			{Shape: 0, Pose: geom.IdentityPose()},          // handle
			{Shape: 1, Pose: geom.Translate(0, 0, 0.17)}}}, // head
		{Name: "post", Parts: []batch.Part{{Shape: 2, Pose: geom.IdentityPose()}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	return bodies
}

// One number per world: the least distance of a hammer from two posts in three worlds. Pairs beyond half a metre are
// not solved; the last world has one post only.
func ExampleHandle_Rollout() {
	c, err := clearance.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	worlds := &batch.Worlds{
		M: 3, Bodies: []int32{0, 1, 1, 0, 1, 1, 0, 1, batch.Absent}, // one list per world
		TemplateA: []int32{0, 0}, TemplateB: []int32{1, 2}, // the hammer and each post
	}
	for _, x := range []float64{0.4, 0.1, 5} { // of the first post; the second stands at y = 2
		worlds.Poses = append(worlds.Poses, 0, 0, 0, 1, 0, 0, 0)
		worlds.Poses = append(worlds.Poses, x, 0, 0, 1, 0, 0, 0)
		worlds.Poses = append(worlds.Poses, 0, 2, 0, 1, 0, 0, 0)
	}
	res, report, err := c.Rollout(context.Background(), hammers(), worlds, rollout.Options{
		MaxDistance: 0.5, HasMaxDistance: true, Reduce: rollout.ReduceWorld})
	if err == nil {
		err = report.Err() // every world must have an answer
	}
	if err != nil {
		log.Fatal(err)
	}
	for w := range res.N {
		if res.Pair[w] < 0 { // all pairs were culled
			fmt.Printf("world %d: at least %.1f m\n", w, res.Distance().At(w)-float64(res.Gap()[w]))
			continue
		}
		fmt.Printf("world %d: %+.2f m, pair %d, part %d, %d in contact\n", w, res.Distance().At(w), res.Pair[w],
			res.PartA[w], res.Contacts[w])
	}
	fmt.Printf("%d of %d pairs of parts solved\n", report.Solved, report.PartPairs)
	// Output:
	// world 0: +0.27 m, pair 0, part 1, 0 in contact
	// world 1: -0.03 m, pair 0, part 1, 1 in contact
	// world 2: at least 3.8 m
	// 4 of 10 pairs of parts solved
}

// A rollout of several steps: a hammer falls onto a post in two worlds. The rollout is held, so that no step
// allocates results.
func ExampleHandle_HoldRollout() {
	c, err := clearance.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	worlds := &batch.Worlds{
		Bodies:    []int32{0, 1}, // the same in both worlds
		Poses:     []float64{0, 0, 1.5, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1.7, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0},
		TemplateA: []int32{0}, TemplateB: []int32{1},
	}
	held, err := c.HoldRollout(hammers(), worlds, rollout.Options{Reduce: rollout.ReduceWorld})
	if err != nil {
		log.Fatal(err)
	}
	defer held.Close()
	for step := range 3 {
		for w := range 2 {
			worlds.Poses[14*w+2] -= 0.15
		}
		if err := held.Update(worlds); err != nil {
			log.Fatal(err)
		}
		res, _, err := held.Run(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("step %d: %+.2f m, %+.2f m\n", step, res.Distance().At(0), res.Distance().At(1))
	}
	// Output:
	// step 0: +0.18 m, +0.38 m
	// step 1: +0.03 m, +0.23 m
	// step 2: -0.12 m, +0.08 m
}
