package clearance_test

import (
	"context"
	"fmt"
	"log"

	"clearance"
	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// One ball is 3 m away from a box, the other has sunk 0.25 m into its top.
func Example() {
	c, err := clearance.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	lib, err := batch.NewLibrary([]geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, geom.Sphere{R: 0.5}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	pairs := batch.NewPairs(2)
	for i, at := range []r3.Vec{{X: 4.5}, {Z: 1.25}} {
		ball := geom.Pose{Position: at, Rotation: geom.IdentityPose().Rotation}
		pairs.SetRow(i, &batch.Row{ShapeA: 0, ShapeB: 1, PoseA: geom.IdentityPose(), PoseB: ball})
	}
	res, err := c.Distance(context.Background(), lib, pairs)
	if err != nil {
		log.Fatal(err)
	}
	for i := range res.N {
		fmt.Printf("%v, %.3f m, to the micrometre: %t\n", batch.Status(res.Status[i]), res.Distance.At(i), res.Gap[i] <= 1e-6)
	}
	// Output:
	// separated, 3.000 m, to the micrometre: true
	// penetrating, -0.250 m, to the micrometre: true
}

// A rollout: in each of four worlds a ball falls onto a box. The batch is held, so that in
// every step only the poses and the answers move.
func ExampleHandle_Hold() {
	c, err := clearance.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	lib, err := batch.NewLibrary([]geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, geom.Sphere{R: 0.5}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	const worlds, bodies = 4, 2
	in := &batch.Worlds{
		Shapes:    []int32{0, 1}, // body 0 is the box, body 1 the ball
		Poses:     make([]float64, 7*worlds*bodies),
		TemplateA: []int32{0}, TemplateB: []int32{1},
	}
	ball := func(w int) []float64 { return in.Poses[7*(bodies*w+1):][:7] }
	for w := range worlds {
		in.Poses[7*bodies*w+3] = 1           // the box at the origin, not turned
		copy(ball(w), []float64{0, 0, 2, 1}) // the ball 0.5 m above it
	}

	ctx := context.Background()
	rollout, err := c.Hold(ctx, lib, in, batch.Options{Columns: batch.ColDistance | batch.ColStatus})
	if err != nil {
		log.Fatal(err)
	}
	defer rollout.Close()
	for step := range 3 {
		for w := range worlds {
			ball(w)[2] -= 0.1 * float64(w) // the higher the number, the faster
		}
		if err := rollout.Update(ctx, in); err != nil {
			log.Fatal(err)
		}
		res, report, err := rollout.Run(ctx)
		if err == nil {
			err = report.Err()
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("step %d:", step)
		for i := range res.N {
			fmt.Printf(" %+.2f %v", res.Distance.At(i), batch.Status(res.Status[i]))
		}
		fmt.Println()
	}
	// Output:
	// step 0: +0.50 separated +0.40 separated +0.30 separated +0.20 separated
	// step 1: +0.50 separated +0.30 separated +0.10 separated -0.10 penetrating
	// step 2: +0.50 separated +0.20 separated -0.10 penetrating -0.40 penetrating
}
