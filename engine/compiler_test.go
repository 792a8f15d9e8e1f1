package engine

import (
	"math"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/layout"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestChunkOf: the memory of a chunk has the rows of the list, their refusals, and the places of the columns.
func TestChunkOf(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(3)
	pairs.ShapeB[1], pairs.ShapeB[2] = 1, 7 // there is no shape 7
	pairs.PositionB[3] = 5
	pairs.RotationA[8] = math.NaN()
	for _, p := range []batch.Precision{batch.Single, batch.Double} {
		c, err := ChunkOf(lib, pairs, &batch.Options{Precision: p})
		if err != nil {
			t.Fatal(err)
		}
		poses := recordsIn[layout.PoseRecord](c.Buffers["Poses"])
		templates := recordsIn[layout.TemplateRecord](c.Buffers["Templates"])
		if len(poses) != 6 || len(templates) != 3 {
			t.Fatalf("%d poses, %d templates", len(poses), len(templates))
		}
		if templates[1] != (layout.TemplateRecord{BodyA: 2, BodyB: 3, ShapeA: 0, ShapeB: 1}) {
			t.Errorf("row 1: %+v", templates[1])
		}
		if templates[2].ShapeA != layout.NoShape {
			t.Errorf("row 2 has a shape that is not there: %+v", templates[2])
		}
		if poses[3].Position != [3]float64{5, 0, 0} || poses[4].Rotation != [4]float64{} {
			t.Errorf("poses %+v", poses)
		}
		q := recordsIn[layout.QueryRecord](c.Query)[0]
		if q.Rows != 3 || q.Templates != 3 || q.Columns&uint32(batch.ColDistance) == 0 ||
			q.Columns&uint32(batch.ColStatus) == 0 {
			t.Errorf("query %+v", q)
		}
		recordsIn[layout.PairRecord](c.Buffers["Pairs"])[1] = layout.PairRecord{
			Translation: [3]float32{1, 2, 3}, TranslationLow: [3]float32{0x1p-30},
		}
		if at := c.Translation(1); at != [3]float64{1 + 0x1p-30, 2, 3} {
			t.Errorf("translation %v", at)
		}
		columns := c.Buffers["Columns"] // of which the distance is the first
		if p == batch.Double {
			recordsIn[float64](columns)[2] = 2.5
		} else {
			recordsIn[float32](columns)[2] = 2.5
		}
		if d := c.Distance(2); d != 2.5 {
			t.Errorf("%v: distance %g, want 2.5", p, d)
		}
	}
}
