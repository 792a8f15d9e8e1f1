package engine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
	"clearance/geom"
	"clearance/internal/layout"
	"clearance/internal/testkit"
	"clearance/internal/testkit/rowcheck"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestOpenClose: opening, computing and closing again and again beside a goroutine that
// makes garbage leaves nothing behind: no handle, file, goroutine or memory.
func TestOpenClose(t *testing.T) {
	lib, pairs := set(t, "boxes", 0, 100)
	c := processor(t)
	times := size(4, 4, 20)
	before := fmt.Sprint(vk.LiveHandles())
	if os.Getenv("CLEARANCE_SOAK") != "" {
		times = 200
	}
	defer testkit.Garbage()()
	var first, last usage
	for k := range times {
		validated := k%4 == 0
		b, err := Open(Options{Validation: validated, staged: k%2 == 0, generic: !need.All(), CacheDir: testCache})
		if err != nil {
			open(t, Options{}) // skips, or says the same
			t.Fatal(err)
		}
		run(t, &batch.Job{Library: lib, Input: pairs}, dispatch.Options{}, b, c)
		h, err := b.Hold(t.Context(), lib, pairs)
		if err != nil {
			t.Fatal(err)
		}
		if k%3 == 0 { // or it goes with the back end
			err = h.Close()
		}
		for range 2 {
			if e := b.Close(); err == nil {
				err = e
			}
		}
		if e := h.Close(); err == nil {
			err = e
		}
		if err != nil {
			t.Fatal(err)
		}
		if live := fmt.Sprint(vk.LiveHandles()); live != before {
			t.Fatalf("handles left: %s, before %s", live, before)
		}
		if m := b.Messages(); len(m) > 0 {
			t.Fatalf("validation: %s", m[0])
		}
		if k == times/2 {
			first = measure(t, nil)
		}
	}
	last = measure(t, nil)
	// A process settles over some tens of times: memory is judged after many.
	if last.files > first.files || last.goroutines > first.goroutines || times >= 200 &&
		last.resident > first.resident+first.resident/10+16 {
		t.Errorf("%+v became %+v", first, last)
	}
	t.Logf("opened %d times: %d MiB, %d files, %d goroutines became %d MiB, %d files, %d goroutines",
		times, first.resident, first.files, first.goroutines, last.resident, last.files, last.goroutines)
}

// TestInvalidRows: bad rows are invalid, cost no other row, and are not handed on.
func TestInvalidRows(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	lib, pairs := set(t, "ellipsoids", 0, 200)
	pairs.ShapeA[3] = 64
	pairs.PositionA[3*64] = math.NaN()
	clear(pairs.RotationB[4*130 : 4*131])
	for _, o := range []batch.Options{{}, {Query: batch.Collide}, {Precision: batch.Double, Columns: batch.ColNormal}} {
		job := &batch.Job{Library: lib, Input: pairs, Options: o}
		rep := run(t, job, dispatch.Options{}, b, c)
		if rep.Counts[batch.Invalid] != 3 || len(rep.RowErrors) != 3 || rep.Counts[batch.Undecided] != 0 ||
			rep.RowErrors[1].Row != 64 {
			t.Errorf("statuses %v, errors %v", rep.Counts, rep.RowErrors)
		}
		if n := job.Results.Normal(); n.Len() > 0 && (!math.IsNaN(n.At(3*64)) || math.IsNaN(n.At(0))) {
			t.Errorf("normals %v, %v", n.At(3*64), n.At(0))
		}
		rowcheck.Audit(t, job)
	}
}

// TestKinds: every pair of kinds that has a shader is answered on the device where the shapes
// are separated, and its distance along the axis is the closed form.
func TestKinds(t *testing.T) {
	b := open(t, Options{})
	tetra, err := geom.NewConvex([]r3.Vec{{X: 1}, {X: -1, Y: 1}, {X: -1, Y: -1, Z: 1}, {X: -1, Y: -1, Z: -1}})
	if err != nil {
		t.Fatal(err)
	}
	shapes := []geom.Shape{ // all reach from x = -1 to x = 1
		geom.Sphere{R: 1},
		geom.Capsule{R: 1, HalfLength: 2},
		geom.Cylinder{R: 1, HalfLength: 2},
		geom.Cone{R: 1, HalfLength: 2},
		geom.Frustum{RBottom: 0.5, RTop: 1, HalfLength: 2},
		geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 0.3}},
		tetra,
		geom.WithMargin(geom.Box{HalfExtents: r3.Vec{X: 0.75, Y: 1, Z: 1}}, 0.25),
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(0)
	identity := []float64{1, 0, 0, 0}
	for i := range shapes {
		for j := range shapes {
			pairs.ShapeA, pairs.ShapeB = append(pairs.ShapeA, int32(i)), append(pairs.ShapeB, int32(j))
			pairs.PositionA = append(pairs.PositionA, 0, 0, 0)
			pairs.PositionB = append(pairs.PositionB, 2.5, 0, 0)
			pairs.RotationA, pairs.RotationB = append(pairs.RotationA, identity...),
				append(pairs.RotationB, identity...)
		}
	}
	for _, m := range []batch.Method{batch.GJK, batch.Nesterov, batch.Polyak} {
		job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Precision: batch.Double, Method: m}}
		if rep, err := dispatch.New(b).Run(t.Context(), job, dispatch.Options{}); err != nil ||
			rep.Counts[batch.Separated] != pairs.Len() {
			t.Fatalf("statuses %v, error %v", rep.Counts, err)
		}
		for i := range pairs.Len() {
			a, z := shapes[pairs.ShapeA[i]], shapes[pairs.ShapeB[i]]
			// The tetrahedron has its edge at -1 level with the middle of the others.
			d := job.Results.Distance().At(i)
			if want := 0.5; math.Abs(d-want) > 1e-11 && a.Kind() != geom.KindCone && z.Kind() != geom.KindCone &&
				a.Kind() != geom.KindFrustum && z.Kind() != geom.KindFrustum {
				t.Errorf("%v: %v and %v are %.17g apart, want %g", m, a.Kind(), z.Kind(), d, want)
			}
		}
		rowcheck.Audit(t, job)
	}
}

// TestDeclines: a row is declined for the reason that is counted.
func TestDeclines(t *testing.T) {
	b := open(t, Options{})
	const corners = 24000
	var many []r3.Vec
	for i := range corners { // a flat polygon: near its normal all corners are candidates
		s, c := math.Sincos(2 * math.Pi * float64(i) / corners)
		many = append(many, r3.Vec{X: c, Y: s})
	}
	big, err := geom.NewConvex(many)
	if err != nil {
		t.Fatal(err)
	}
	box := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	lib, err := batch.NewLibrary([]geom.Shape{box, geom.Superquadric{SemiAxes: r3.Vec{X: 1, Y: 1, Z: 1}, Alpha1: 0.8,
		Alpha2: 0.8}, big}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(4)
	for i := range 4 {
		pairs.SetRow(i, &batch.Row{ShapeB: []int32{0, 0, 1, 2}[i], ShapeA: []int32{0, 0, 0, 2}[i],
			PoseA: geom.IdentityPose(), PoseB: geom.IdentityPose()})
	}
	pairs.PositionB[0] = 3
	// The polygons cross, so that the search does not end before its limit.
	pairs.PositionB[9], pairs.RotationB[12], pairs.RotationB[13] = 0.5, math.Sqrt2/2, math.Sqrt2/2
	job := &batch.Job{Library: lib, Input: pairs}
	rep, err := dispatch.New(b).Run(t.Context(), job, dispatch.Options{})
	if err != nil || rep.Counts != [batch.StatusCount]int{batch.Separated: 1, batch.Penetrating: 2,
		batch.Undecided: 1} {
		t.Fatalf("statuses %v, error %v", rep.Counts, err)
	}
	if got, want := b.Stats().Declined, (DeclinedRows{Budget: 1}); got != want {
		t.Errorf("declined %+v, want %+v", got, want)
	}
	if rep = run(t, job, dispatch.Options{}, b, processor(t)); rep.Counts[batch.Undecided] != 0 || rep.Declined() != 1 {
		t.Errorf("report %+v", rep)
	}
	rowcheck.Audit(t, job)
}

// TestLibraries: more libraries than are kept, used in turn by several goroutines beside
// one that allocates, give the answers of a fresh back end.
func TestLibraries(t *testing.T) {
	b, c := open(t, Options{ChunkRows: 128}), processor(t)
	stop := make(chan struct{})
	var churn sync.WaitGroup
	churn.Go(func() {
		var keep [][]byte
		for {
			select {
			case <-stop:
				return
			default:
				if keep = append(keep, make([]byte, 1<<16)); len(keep) > 100 {
					keep = nil
					runtime.GC()
				}
			}
		}
	})
	rounds := size(1, 1, 3)
	var wg sync.WaitGroup
	for g := range 3 {
		wg.Go(func() {
			for round := range rounds {
				for k := range maxLibraries/2 + 2 {
					// A box of size k+1 at x = 0 and a ball of radius 1 at x = 2k+5.
					lib,
						err := batch.NewLibrary([]geom.Shape{geom.Box{HalfExtents: r3.Vec{X: float64(k + 1), Y: 1,
						Z: 1}}, geom.Sphere{R: 1}}, nil)
					if err != nil {
						t.Error(err)
						return
					}
					pairs := batch.NewPairs(300)
					for i := range 300 {
						pose := geom.IdentityPose()
						pose.Position.X = float64(2*k + 5)
						pairs.SetRow(i, &batch.Row{ShapeB: 1, PoseA: geom.IdentityPose(), PoseB: pose})
					}
					job := &batch.Job{Library: lib, Input: pairs}
					if _, err := dispatch.New(b, c).Run(t.Context(), job,
						dispatch.Options{Backend: b.Name()}); err != nil {
						t.Error(err)
						return
					}
					for i := range 300 {
						if d := job.Results.Distance().At(i); d != float64(k+3) {
							t.Errorf("goroutine %d, round %d: distance %g, want %d", g, round, d, k+3)
							return
						}
					}
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	churn.Wait()
}

func TestChoose(t *testing.T) {
	limits := vk.Limits{MaxStorageBuffers: maxBindings()}
	devices := []vk.DeviceInfo{
		{Name: "llvmpipe", Type: vk.CPU, Features: vk.Float64, Limits: limits},
		{Name: "Old GPU", Type: vk.Discrete, Features: vk.Float64, Limits: vk.Limits{MaxStorageBuffers: 4}},
		{Name: "Intel Graphics", Type: vk.Integrated, Features: vk.Float64, Limits: limits},
		{Name: "GeForce 5090", Type: vk.Discrete, Features: vk.Float64, Limits: limits},
		{Name: "Phone", Type: vk.Discrete, Limits: limits}, // without shaderFloat64
	}
	for _, c := range []struct {
		device string
		want   int
		err    string
	}{
		{"", 3, ""}, {"0", 0, ""}, {"intel", 2, ""}, {"GeForce", 3, ""},
		{"1", 0, "4 buffers"}, {"old", 0, "4 buffers"}, {"phone", 4, ""},
		{"5", 0, `no Vulkan device "5"`}, {"-1", 0, "no Vulkan device"},
		{"radeon", 0, "0: llvmpipe; 1: Old GPU (its shaders"},
	} {
		got, err := choose(devices, c.device, reason)
		if c.err == "" && (err != nil || got != c.want) || c.err != "" &&
			(err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q: %d, %v", c.device, got, err)
		}
	}
	// Hardware without double precision comes after hardware with it, and before software.
	if i, err := choose([]vk.DeviceInfo{devices[0], devices[4], devices[2]}, "", reason); i != 2 || err != nil {
		t.Errorf("device %d, %v", i, err)
	}
	if i, err := choose([]vk.DeviceInfo{devices[0], devices[4]}, "", reason); i != 1 || err != nil {
		t.Errorf("device %d, %v", i, err)
	}
	if _, err := choose(devices[1:2], "", reason); err == nil || !strings.Contains(err.Error(),
		"no usable Vulkan device: 0: Old GPU") {
		t.Errorf("error %v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{ChunkRows: -1}, {ChunkRows: 1<<30 + 1}, {Timeout: -1}} {
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "engine: ") {
			t.Errorf("%+v: error %v", o, err)
		}
	}
	t.Setenv(DeviceVariable, "gpu of the variable")
	o := Options{}
	if o.ensureDefaults(); o.Device != "gpu of the variable" {
		t.Errorf("device %q", o.Device)
	}
	o = Options{Device: "1"}
	if o.ensureDefaults(); o.Device != "1" {
		t.Errorf("device %q", o.Device)
	}
}

// TestColumnsRefused: a query for a column that the shaders do not compute is refused, by name; no column that they do
// compute is.
func TestColumnsRefused(t *testing.T) {
	for q := range batch.QueryCount {
		for _, c := range append(q.Available().Each(), 1<<40, batch.ColPoint) {
			o := batch.Options{Query: q, Columns: c}
			known := layout.Served&c != 0 && q.Available()&c != 0
			err := check(&o, nil)
			if (err == nil) != known || !known && !errors.Is(err, batch.ErrNotAvailable) {
				t.Errorf("%v, column %v: %v", q, c, err)
			}
		}
	}
}

// TestChunkRows: chunks keep to every limit of a device.
func TestChunkRows(t *testing.T) {
	info := vk.DeviceInfo{
		Limits: vk.Limits{MaxStorageBufferRange: 1 << 27, MaxAllocationSize: 1 << 30,
			MaxWorkGroupCount: [3]uint32{65535, 1, 1}},
		Memory: []vk.MemoryType{{}}, Heaps: []vk.MemoryHeap{{Size: 1 << 33}},
	}
	if got := chunkRows(&info, 0); got != defaultChunkRows {
		t.Errorf("%d rows", got)
	}
	if got := chunkRows(&info, 100); got != 128 {
		t.Errorf("%d rows for 100", got)
	}
	for what, change := range map[string]func(i *vk.DeviceInfo){
		"a range":       func(i *vk.DeviceInfo) { i.Limits.MaxStorageBufferRange = 1 << 20 },
		"an allocation": func(i *vk.DeviceInfo) { i.Limits.MaxAllocationSize = 1 << 20 },
		"a heap": func(i *vk.DeviceInfo) {
			i.Heaps = []vk.MemoryHeap{{Size: 1 << 24}}
			i.Limits.MaxAllocationSize = 1 << 24
		},
		"a work group": func(i *vk.DeviceInfo) { i.Limits.MaxWorkGroupCount[0] = 10 },
	} {
		small := info
		change(&small)
		got := chunkRows(&small, 0)
		if got >= defaultChunkRows/2 || got < 64 || got%64 != 0 {
			t.Errorf("%s: %d rows", what, got)
		}
	}
}

func TestLayout(t *testing.T) {
	for _, p := range []batch.Precision{batch.Single, batch.Double} {
		for _, cols := range []batch.Columns{batch.AllColumns, batch.ColStatus, batch.ColGap | batch.ColNormal |
			batch.ColStatus, batch.ColDistance | batch.ColBits} {
			for _, n := range []int{1, 63, 64, 1001} {
				out := batch.NewResults(n, &batch.Options{Precision: p, Columns: cols})
				l := placementOf(out, n)
				var q layout.QueryRecord
				l.putIn(&q)
				what := fmt.Sprintf("%v, %v, %d rows", p, cols, n)
				if q.Columns != uint32(cols&layout.Stored|batch.ColStatus) || int(q.Rows) != n {
					t.Errorf("%s: %+v", what, q)
				}
				if l.bytes > uint64(n+1)*columnBytes || l.bytes < uint64(n)*layout.PackedBits/8 {
					t.Errorf("%s: %d bytes", what, l.bytes)
				}
				for i := range layout.Columns {
					if l.offset[i]%2 != 0 {
						t.Errorf("%s: %s begins at word %d, which no double may", what, layout.Columns[i].Name,
							l.offset[i])
					}
				}
			}
		}
	}
}
