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
