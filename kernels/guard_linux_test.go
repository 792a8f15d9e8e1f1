//go:build cgo

package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/kernels"

	"gonum.org/v1/gonum/spatial/r3"
)

// fenced returns a copy of s between two inaccessible pages: it ends at the
// second, or begins at the first. An access out of bounds ends the test program with a fault.
func fenced[T any](t *testing.T, s []T, atEnd bool) []T {
	t.Helper()
	if len(s) == 0 {
		return nil
	}
	page := syscall.Getpagesize()
	bytes := len(s) * int(unsafe.Sizeof(s[0]))
	inner := (bytes + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, inner+2*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatalf("mmap: %v", err)
	}
	t.Cleanup(func() { syscall.Munmap(m) })
	for _, at := range []int{0, page + inner} {
		if err := syscall.Mprotect(m[at:at+page], syscall.PROT_NONE); err != nil {
			t.Fatalf("mprotect: %v", err)
		}
	}
	from := page
	if atEnd {
		from = page + inner - bytes
	}
	out := unsafe.Slice((*T)(unsafe.Pointer(&m[from])), len(s))
	copy(out, s)
	return out
}

// An access beyond a fence faults.
func TestFences(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, atEnd := range []bool{false, true} {
		s := fenced(t, make([]float64, 5), atEnd)
		at := -1
		if atEnd {
			at = 5
		}
		faulted := func() (faulted bool) {
			defer func() { faulted = recover() != nil }()
			p := (*float64)(unsafe.Add(unsafe.Pointer(&s[0]), 8*at))
			*p = 1
			return
		}()
		if !faulted {
			t.Errorf("value %d beside 5 was written", at)
		}
	}
}

// fenceTable moves every slice of a table between fences.
func fenceTable(t *testing.T, table *kernels.Table, atEnd bool) {
	t.Helper()
	moved := 0
	for _, field := range reflect.VisibleFields(reflect.TypeFor[kernels.Table]()) {
		f := reflect.ValueOf(table).Elem().FieldByIndex(field.Index)
		if f.Kind() != reflect.Slice {
			continue
		}
		size := f.Len() * int(f.Type().Elem().Size())
		if size == 0 {
			t.Errorf("the table has no %s, so that no access to it is tested", field.Name)
			continue
		}
		from := unsafe.Slice((*byte)(f.UnsafePointer()), size)
		to := unsafe.Pointer(unsafe.SliceData(fenced(t, from, atEnd)))
		place := reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem() // the field, which is not exported
		place.Set(reflect.SliceAt(f.Type().Elem(), to, f.Len()))
		moved++
	}
	if moved == 0 {
		t.Error("the table has no slices")
	}
}

// fenceResults returns results whose columns have fences.
func fenceResults(t *testing.T, n int, o *batch.Options, atEnd bool) *batch.Results {
	r := batch.NewResults(n, o)
	for _, c := range o.EffectiveColumns().Each() {
		v := r.Column(c)
		v.F32, v.F64 = fenced(t, v.F32, atEnd), fenced(t, v.F64, atEnd)
		v.U8, v.U16, v.Bits = fenced(t, v.U8, atEnd), fenced(t, v.U16, atEnd), fenced(t, v.Bits, atEnd)
	}
	return r
}

// fenceLibrary has shapes of every class and form.
func fenceLibrary(t *testing.T) *batch.Library {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	hull := func(n int) geom.Shape {
		points := make([]r3.Vec, n)
		for i := range points {
			points[i] = r3.Scale(0.5, testkit.Unit(rng))
		}
		h, err := geom.NewConvex(points)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	smooth := func(n int) geom.Shape {
		s, err := geom.NewSmoothHull(hull(n).(*geom.Convex).Hull().Vertices, 20, r3.Vec{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	lib, err := batch.NewLibrary([]geom.Shape{
		geom.Sphere{R: 0.3}, geom.Capsule{R: 0.2, HalfLength: 0.5},
		geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.4}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.3, Z: 0.4}}, geom.Cylinder{R: 0.3, HalfLength: 0.4},
		geom.Cone{R: 0.3, HalfLength: 0.4},
		geom.Halfspace{}, hull(4), hull(16), hull(17), hull(41), hull(150),
		geom.Superquadric{SemiAxes: r3.Vec{X: 0.2, Y: 0.3, Z: 0.4}, Alpha1: 0.5, Alpha2: 1.5},
		smooth(8), smooth(17), smooth(300), // the last has no kernel
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// Kernels access nothing outside the columns, the shapes and the vertices, for any number
// of rows, and their answers are the same as without fences.
func TestKernelsStayWithinColumns(t *testing.T) {
	lib := fenceLibrary(t)
	rng := rand.New(rand.NewPCG(1, 2))
	const most = 67
	p := batch.NewPairs(most)
	warm := make([]float64, 3*most)
	for i := range most {
		// Every class against every other within the first rows of some length.
		p.ShapeA[i], p.ShapeB[i] = int32(i%lib.Len()), int32((i/lib.Len()+i)%lib.Len())
	}
	for _, c := range [][]float64{p.PositionA, p.PositionB, p.RotationA, p.RotationB, warm} {
		for i := range c {
			c[i] = rng.NormFloat64()
		}
	}
	for i := range p.PositionA {
		p.PositionB[i] *= 0.8
	}
	p.RotationA[4*13] = math.NaN()
	all := batch.AllColumns
	for _, variant := range kernels.Supported() {
		for _, o := range []batch.Options{
			{Columns: all}, {Columns: all, Precision: batch.Double, WarmStart: warm}, {Columns: all, Method: batch.GJK,
				Query: batch.Penetration},
			{Query: batch.Collide, WarmStart: warm}, {Query: batch.Collide, Columns: all, Precision: batch.Double},
			{Query: batch.Growth, Columns: all | batch.ColPoint},
			{Query: batch.Growth, Columns: all | batch.ColPoint, Precision: batch.Double},
		} {
			for _, atEnd := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%v/%v/%v/%t", variant, o.Query, o.Precision, o.Method, atEnd),
					func(t *testing.T) {
						table := kernels.NewTable(lib, variant)
						fenceTable(t, table, atEnd)
						answered := 0
						step := 1
						if testing.Short() {
							step = 3
						}
						for n := 1; n <= most; n += step {
							answered += compareFenced(t, variant, table, &batch.Job{Library: lib, Input: p.Slice(0, n),
								Options: o}, atEnd)
							answered += compareFenced(t, variant, table, &batch.Job{Library: lib, Input: worldsOf(p, n),
								Options: o}, atEnd)
							if t.Failed() {
								t.Fatalf("%d rows", n)
							}
						}
						if answered < most*most/4/step {
							t.Errorf("%d rows answered, too few to tell anything", answered)
						}
					})
			}
		}
	}
}

// worldsOf makes n worlds of two bodies, one template pair, of the poses of p.
func worldsOf(p *batch.Pairs, n int) *batch.Worlds {
	w := &batch.Worlds{Shapes: []int32{p.ShapeA[n-1], p.ShapeB[n-1]}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for i := range n {
		w.Poses = append(append(w.Poses, p.PositionA[3*i:3*i+3]...), p.RotationA[4*i:4*i+4]...)
		w.Poses = append(append(w.Poses, p.PositionB[3*i:3*i+3]...), p.RotationB[4*i:4*i+4]...)
	}
	return w
}

// compareFenced runs a job with and without fences and returns how many rows were answered.
func compareFenced(t *testing.T, variant string, table *kernels.Table, job *batch.Job, atEnd bool) (answered int) {
	t.Helper()
	n := job.Input.Len()
	if job.Options.WarmStart != nil {
		job.Options.WarmStart = job.Options.WarmStart[:3*n]
	}
	run := func(table *kernels.Table, in batch.Input, o batch.Options, out *batch.Results) []int32 {
		c, ok := kernels.NewCall(table, &batch.Job{Library: job.Library, Input: in, Options: o, Results: out}, 0, out)
		if !ok {
			t.Fatal("the kernels do not support the job")
		}
		defer c.Close()
		left := kernels.NewSolver(variant).Run(c, 0, n)
		return append([]int32(nil), left...)
	}
	fence := func(in batch.Input) batch.Input {
		switch in := in.(type) {
		case *batch.Pairs:
			return &batch.Pairs{
				ShapeA: fenced(t, in.ShapeA, atEnd), ShapeB: fenced(t, in.ShapeB, atEnd),
				PositionA: fenced(t, in.PositionA, atEnd), PositionB: fenced(t, in.PositionB, atEnd),
				RotationA: fenced(t, in.RotationA, atEnd), RotationB: fenced(t, in.RotationB, atEnd),
			}
		case *batch.Worlds:
			return &batch.Worlds{
				Shapes: fenced(t, in.Shapes, atEnd), Poses: fenced(t, in.Poses, atEnd),
				TemplateA: fenced(t, in.TemplateA, atEnd), TemplateB: fenced(t, in.TemplateB, atEnd),
			}
		}
		panic("no such input")
	}
	want, got := batch.NewResults(n, &job.Options), fenceResults(t, n, &job.Options, atEnd)
	wantLeft := run(kernels.NewTable(job.Library, variant), job.Input, job.Options, want)
	o := job.Options
	o.WarmStart = fenced(t, o.WarmStart, atEnd)
	gotLeft := run(table, fence(job.Input), o, got)
	if !reflect.DeepEqual(wantLeft, gotLeft) {
		t.Errorf("rows left: %v with fences, %v without", gotLeft, wantLeft)
	}
	for i := range n {
		if want.Status()[i] != got.Status()[i] || want.Gap() != nil &&
			math.Float32bits(want.Gap()[i]) != math.Float32bits(got.Gap()[i]) {
			t.Errorf("row %d of %d: status %d with fences, %d without", i, n, got.Status()[i], want.Status()[i])
		}
	}
	return n - len(gotLeft)
}
