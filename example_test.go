package clearance_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"clearance"
	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// The signed distances of two pairs: one sphere is 3 m away from a box, the other
// penetrates its top by 0.25 m.
func Example() {
	c, err := clearance.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	shapes := []geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, geom.Sphere{R: 0.5}}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		log.Fatal(err)
	}
	pairs := batch.NewPairs(2)
	for i, pose := range []geom.Pose{geom.Translate(4.5, 0, 0), geom.Translate(0, 0, 1.25)} {
		pairs.SetRow(i, &batch.Row{ShapeA: 0, ShapeB: 1, PoseA: geom.IdentityPose(), PoseB: pose})
	}
	res, report, err := c.Distance(context.Background(), lib, pairs)
	if err != nil {
		log.Fatal(err) // the call failed as a whole
	}
	if err := report.Err(); err != nil {
		log.Print(err) // some rows have no answer; all others are valid
	}
	for i := range res.N {
		fmt.Printf("%v, %.3f m, to the micrometre: %t\n", batch.Status(res.Status()[i]), res.Distance().At(i),
			res.Gap()[i] <= 1e-6)
	}
	// Output:
	// separated, 3.000 m, to the micrometre: true
	// penetrating, -0.250 m, to the micrometre: true
}

// A row with invalid input is not an error of the call: the report lists it, its status
// is invalid, and the other rows are answered.
func ExampleHandle_Distance() {
	c, err := clearance.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	pairs := batch.NewPairs(3) // every pose is the identity until it is set
	for i, x := range []float64{2.5, math.NaN(), 1.5} {
		pairs.PositionB[3*i] = x
	}
	res, report, err := c.Distance(context.Background(), lib, pairs)
	if err != nil {
		log.Fatal(err)
	}
	for i := range res.N {
		fmt.Printf("%v %.1f\n", batch.Status(res.Status()[i]), res.Distance().At(i))
	}
	fmt.Printf("%d of %d rows invalid\n", report.Counts[batch.Invalid], report.Rows)
	for _, row := range report.RowErrors {
		fmt.Println(row)
	}
	// Output:
	// separated 0.5
	// invalid NaN
	// penetrating -0.5
	// 1 of 3 rows invalid
	// row 1, column position_b: (NaN, 0, 0), want finite coordinates of at most 1e+09 m
}

// A query with options: distances in double precision, without normals and witnesses.
func ExampleHandle_Run() {
	c, err := clearance.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	lib, err := batch.NewLibrary([]geom.Shape{geom.Cylinder{R: 1, HalfLength: 2}, geom.Sphere{R: 0.5}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	pairs := batch.NewPairs(1)
	pairs.ShapeB[0], pairs.PositionB[0], pairs.PositionB[2] = 1, 4, 6
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{
		Precision: batch.Double,
		Columns:   batch.ColDistance | batch.ColGap | batch.ColStatus,
	}}
	if _, err := c.Run(context.Background(), job); err != nil {
		log.Fatal(err)
	}
	res := job.Results
	fmt.Printf("%.9f m, proved to 1e-11 m: %t\n", res.Distance().At(0), res.Gap()[0] <= 1e-11)
	// Output:
	// 4.500000000 m, proved to 1e-11 m: true
}

// A rollout in one call: a robot of two bodies and an obstacle in three worlds. The pairs
// of bodies are the same in every world; row w·P + p is pair p of world w.
func Example_worlds() {
	c, err := clearance.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	lib, err := batch.NewLibrary([]geom.Shape{
		geom.Capsule{R: 0.1, HalfLength: 0.5},
		geom.Sphere{R: 0.2},
		geom.Box{HalfExtents: r3.Vec{X: 0.5, Y: 0.5, Z: 0.5}},
	}, []string{"arm", "hand", "obstacle"})
	if err != nil {
		log.Fatal(err)
	}
	worlds := &batch.Worlds{
		Shapes:    []int32{0, 1, 2},
		TemplateA: []int32{0, 1}, TemplateB: []int32{2, 2}, // the arm and the hand, each with the obstacle
	}
	for _, x := range []float64{1, 0.65, 0.55} { // of the obstacle; a pose is x, y, z, then the quaternion w, x, y, z
		worlds.Poses = append(worlds.Poses, 0, 0, 0, 1, 0, 0, 0)
		worlds.Poses = append(worlds.Poses, 0, 0, 0.5, 1, 0, 0, 0)
		worlds.Poses = append(worlds.Poses, x, 0, 0, 1, 0, 0, 0)
	}
	res, report, err := c.Collide(context.Background(), lib, worlds)
	if err == nil {
		err = report.Err() // every row must have an answer
	}
	if err != nil {
		log.Fatal(err)
	}
	for i := range res.N {
		w, p := i/len(worlds.TemplateA), i%len(worlds.TemplateA)
		fmt.Printf("world %d, %s: contact %t\n", w, lib.Name(worlds.Shapes[worlds.TemplateA[p]]), res.Bit(i))
	}
	// Output:
	// world 0, arm: contact false
	// world 0, hand: contact false
	// world 1, arm: contact false
	// world 1, hand: contact true
	// world 2, arm: contact true
	// world 2, hand: contact true
}

// A rollout of several steps: in each of four worlds a sphere moves towards a box. The
// batch is held, so only poses and results are transferred in each step.
func ExampleHandle_Hold() {
	c, err := clearance.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	shapes := []geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, geom.Sphere{R: 0.5}}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		log.Fatal(err)
	}
	const worlds, bodies = 4, 2
	in := &batch.Worlds{
		Shapes:    []int32{0, 1}, // body 0 is the box, body 1 the sphere
		Poses:     make([]float64, 7*worlds*bodies),
		TemplateA: []int32{0}, TemplateB: []int32{1},
	}
	sphere := func(w int) []float64 { return in.Poses[7*(bodies*w+1):][:7] }
	for w := range worlds {
		in.Poses[7*bodies*w+3] = 1             // the box at the origin
		copy(sphere(w), []float64{0, 0, 2, 1}) // the sphere 0.5 m above it
	}

	ctx := context.Background()
	rollout, err := c.Hold(ctx, lib, in, batch.Options{Columns: batch.ColDistance | batch.ColStatus})
	if err != nil {
		log.Fatal(err)
	}
	defer rollout.Close()
	for step := range 3 {
		for w := range worlds {
			sphere(w)[2] -= 0.1 * float64(w)
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
			fmt.Printf(" %+.2f %v", res.Distance().At(i), batch.Status(res.Status()[i]))
		}
		fmt.Println()
	}
	// Output:
	// step 0: +0.50 separated +0.40 separated +0.30 separated +0.20 separated
	// step 1: +0.50 separated +0.30 separated +0.10 separated -0.10 penetrating
	// step 2: +0.50 separated +0.20 separated -0.10 penetrating -0.40 penetrating
}
