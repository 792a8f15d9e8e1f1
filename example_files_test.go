package clearance_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"clearance"
	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
	"clearance/verify"

	"gonum.org/v1/gonum/spatial/r3"
)

// spheresOverFloor returns n spheres of radius 0.1 over a floor, sphere i centered 0.001·i
// above it.
func spheresOverFloor(n int) (*batch.Library, *batch.Pairs) {
	floor := geom.Box{HalfExtents: r3.Vec{X: 5, Y: 5, Z: 1}}
	lib, err := batch.NewLibrary([]geom.Shape{floor, geom.Sphere{R: 0.1}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	pairs := batch.NewPairs(n)
	for i := range n {
		pairs.ShapeB[i] = 1
		pairs.PositionB[3*i+2] = 1 + 0.001*float64(i)
	}
	return lib, pairs
}

// A file of pairs is answered chunk by chunk into a file of results. Neither has to fit in
// memory.
func ExampleHandle_RunStream() {
	folder, err := os.MkdirTemp("", "clearance")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	pairsPath, resultsPath := filepath.Join(folder, "pairs.parquet"), filepath.Join(folder, "results.parquet")
	lib, pairs := spheresOverFloor(1000)
	if err := dataset.WritePairs(pairsPath, pairs); err != nil {
		log.Fatal(err)
	}

	c, err := clearance.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	in, err := dataset.OpenPairs(pairsPath)
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	options := batch.Options{Columns: batch.ColDistance | batch.ColGap | batch.ColStatus}
	out, err := dataset.CreateResults(resultsPath, options.Columns, options.Precision, in.Len())
	if err != nil {
		log.Fatal(err)
	}
	defer out.Abort() // does nothing after Close
	report, err := c.RunStream(context.Background(), lib, in, options, out)
	if err != nil {
		log.Fatal(err)
	}
	if err := out.Close(); err != nil { // the file appears now
		log.Fatal(err)
	}
	counts := report.Counts
	fmt.Println(counts[batch.Separated], "separated,", counts[batch.Touching], "touching,", counts[batch.Penetrating],
		"penetrating")
	// Output:
	// 899 separated, 1 touching, 100 penetrating
}

// Results are audited from the shapes and the poses alone, without a solver, and a sample
// of them is compared with the reference solvers.
func Example_audit() {
	c, err := clearance.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	ctx := context.Background()
	lib, pairs := spheresOverFloor(1000)
	job := &batch.Job{Library: lib, Input: pairs}
	if _, err := c.Run(ctx, job); err != nil {
		log.Fatal(err)
	}
	audit, err := verify.Audit(ctx, job, verify.Options{})
	if err != nil {
		log.Fatal(err)
	}
	comparison, err := verify.Compare(ctx, job, verify.CompareOptions{Sample: 100})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(audit.Rows, "rows audited,", audit.Wrong(), "wrong;", comparison.Compared, "compared,",
		comparison.Wrong(), "wrong")

	job.Results.Distance().Set(500, 1) // a wrong answer: row 500 is 0.4 m away
	if audit, err = verify.Audit(ctx, job, verify.Options{}); err != nil {
		log.Fatal(err)
	}
	plane := audit.Check("plane") // the normal's support plane bounds the distance from below
	fmt.Printf("%d wrong: row %d fails check %s\n", audit.Wrong(), plane.Worst[0].Row, plane.Name)
	// Output:
	// 1000 rows audited, 0 wrong; 100 compared, 0 wrong
	// 1 wrong: row 500 fails check plane
}
