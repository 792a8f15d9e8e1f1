package rollout

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/geom/mesh"
	"clearance/internal/testkit"
	"clearance/rollout/broadphase"

	"gonum.org/v1/gonum/spatial/r3"
)

// envBoxes names a folder into which BenchmarkGrid writes the boxes of its scenes, for
// lab/peers/drivers/broadphase.cpp: float64, lower and upper corner of each.
const envBoxes = "CLEARANCE_BOXES"

// envMeshes names a folder of mesh files, of which BenchmarkGrid places the hulls in place of random ones: a body
// for each file *_parts.obj, whose groups are its parts.
const envMeshes = "CLEARANCE_MESHES"

// objects returns the bodies of a folder of mesh files.
func objects(t testing.TB, folder string) *batch.Bodies {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_parts.obj"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *_parts.obj in %s: %v", folder, err)
	}
	var shapes []geom.Shape
	var bodies []batch.Body
	for _, file := range files {
		groups, err := mesh.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		body := batch.Body{Name: filepath.Base(file)}
		for i := range groups {
			s, err := geom.NewConvex(groups[i].Vertices)
			if err != nil {
				t.Fatalf("%s: group %d: %v", file, i, err)
			}
			body.Parts = append(body.Parts, batch.Part{Shape: int32(len(shapes)), Pose: geom.IdentityPose()})
			shapes = append(shapes, s)
		}
		bodies = append(bodies, body)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := batch.NewBodies(lib, bodies)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// hulls returns bodies of one hull each, of the sizes of household objects.
func hulls(t testing.TB) *batch.Bodies {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var shapes []geom.Shape
	for range 20 {
		size := r3.Vec{X: 0.02 + 0.06*rng.Float64(), Y: 0.02 + 0.06*rng.Float64(), Z: 0.02 + 0.1*rng.Float64()}
		shapes = append(shapes, testkit.Hull(rng, size, 64))
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return batch.BodiesOfShapes(lib)
}

// grid returns one world of n bodies at the places of a cubic grid, rotated at random.
func grid(bodies *batch.Bodies, n int) *batch.Worlds {
	const spacing = 0.14 // metres
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	side := int(math.Ceil(math.Cbrt(float64(n))))
	w := &batch.Worlds{AllPairs: true}
	for i := range n {
		p := testkit.Pose(rng, 0)
		p.Position = r3.Vec{X: spacing * float64(i%side), Y: spacing * float64(i/side%side),
			Z: spacing * float64(i/side/side)}
		w.Bodies, w.Poses = append(w.Bodies, rng.Int32N(int32(bodies.Len()))), appendPose(w.Poses, &p)
	}
	return w
}

// boxesOf returns the boxes of the bodies of a world, enlarged for a largest distance.
func boxesOf(t testing.TB, bodies *batch.Bodies, w *batch.Worlds, d float64) *broadphase.Boxes {
	t.Helper()
	job := &Job{Bodies: bodies, Worlds: w, Options: Options{MaxDistance: d, HasMaxDistance: true}}
	b, err := newBatch(dispatcher(t), job, dispatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cell := &tile{c: b, place: b.pool[0]}
	cell.place.place(0)
	cell.place.near.at = b.used
	cell.boxes()
	cell.within(d)
	if cell.err != nil {
		t.Fatal(cell.err)
	}
	return &cell.place.near.boxes
}

// BenchmarkGrid is one scene of hulls of which neighbors nearly touch: the broad phase alone, from boxes, in a new
// order and in that of the last call after all boxes have moved by a millimeter; and the whole call, from poses to
// distances.
func BenchmarkGrid(b *testing.B) {
	const d = 0.01
	bodies := hulls(b)
	if folder := os.Getenv(envMeshes); folder != "" {
		bodies = objects(b, folder)
	}
	backends := dispatcher(b)
	for _, n := range []int{1000, 10_000, 100_000} {
		w := grid(bodies, n)
		boxes := boxesOf(b, bodies, w, d)
		if dir := os.Getenv(envBoxes); dir != "" {
			writeBoxes(b, filepath.Join(dir, fmt.Sprintf("grid%d.bin", n)), boxes)
		}
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d/new/workers=%d", n, workers), func(b *testing.B) {
				f := broadphase.Finder{SIMD: broadPhaseOf(b, backends), Workers: workers}
				less := broadphase.NewBoxes(n - 1) // another number of boxes, so that no order is kept
				for k := range 3 {
					copy(less.Lo[k], boxes.Lo[k])
					copy(less.Hi[k], boxes.Hi[k])
				}
				pairs := 0
				begin := testkit.CPUTime(b)
				for i := 0; b.Loop(); i++ {
					pairs += find(b, &f, []*broadphase.Boxes{boxes, less}[i%2])
				}
				perPair(b, pairs, begin)
			})
			b.Run(fmt.Sprintf("%d/moved/workers=%d", n, workers), func(b *testing.B) {
				f := broadphase.Finder{SIMD: broadPhaseOf(b, backends), Workers: workers}
				moved := [2]*broadphase.Boxes{boxes, broadphase.NewBoxes(n)}
				rng := rand.New(rand.NewPCG(5, 6))
				for k := range 3 {
					for i := range n {
						by := 0.001 * rng.NormFloat64()
						moved[1].Lo[k][i], moved[1].Hi[k][i] = boxes.Lo[k][i]+by, boxes.Hi[k][i]+by
					}
				}
				pairs := 0
				begin := testkit.CPUTime(b)
				for i := 0; b.Loop(); i++ {
					pairs += find(b, &f, moved[i%2])
				}
				perPair(b, pairs, begin)
			})
			b.Run(fmt.Sprintf("%d/distances/workers=%d", n, workers), func(b *testing.B) {
				o := Options{MaxDistance: d, HasMaxDistance: true, Workers: workers}
				o.Columns = batch.ColDistance | batch.ColGap | batch.ColStatus
				held, err := Hold(backends, bodies, w, o, dispatch.Options{Backend: "cpu"})
				if err != nil {
					b.Fatal(err)
				}
				defer held.Close()
				rows, begin := 0, testkit.CPUTime(b)
				for b.Loop() {
					r, _, err := held.Run(context.Background())
					if err != nil {
						b.Fatal(err)
					}
					rows += r.N
				}
				perPair(b, rows, begin)
			})
		}
	}
}

func find(b *testing.B, f *broadphase.Finder, boxes *broadphase.Boxes) int {
	p, err := f.Find(boxes)
	if err != nil {
		b.Fatal(err)
	}
	return p.Len()
}

// perPair reports the time of each of all pairs of a benchmark, by the clock and of processors since it began.
func perPair(b *testing.B, pairs int, begin time.Duration) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(pairs), "ns/pair")
	b.ReportMetric(float64((testkit.CPUTime(b)-begin).Nanoseconds())/float64(pairs), "cpu-ns/pair")
	b.ReportMetric(float64(pairs)/float64(b.N), "pairs")
}

func writeBoxes(b *testing.B, path string, boxes *broadphase.Boxes) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range boxes.Len() {
		corners := []float64{boxes.Lo[0][i], boxes.Lo[1][i], boxes.Lo[2][i], boxes.Hi[0][i], boxes.Hi[1][i],
			boxes.Hi[2][i]}
		if err := binary.Write(w, binary.LittleEndian, corners); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// TestGrid compares the pairs of a grid with those of all pairs of boxes' distances by a template.
func TestGrid(t *testing.T) {
	bodies, d := hulls(t), dispatcher(t)
	w := grid(bodies, 120)
	o := Options{MaxDistance: 0.02, HasMaxDistance: true}
	got, _ := mustRun(t, d, bodies, w, o, "cpu")
	o.NoCulling = true
	want, _ := mustRun(t, d, bodies, templates(w), o, "cpu")
	compareSparse(t, "grid", w, &o, got, want)
	if got.N < 60 || slices.Max(got.BodyB) < 100 {
		t.Errorf("%d rows of a dense grid", got.N)
	}
}
