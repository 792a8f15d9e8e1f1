package engine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unsafe"

	"clearance/engine/internal/vk"
	"clearance/internal/layout"
	"clearance/shaders"
)

// Proof is the arithmetic that proves the answers of single precision on a device. Those of double precision are always
// proved in double precision.
type Proof int

// The proofs.
const (
	// ProofAuto is ProofTwoFloats on devices without double precision and on those on which it is slow, by a table of
	// kinds of devices; nothing is measured. Else it is ProofFloat64.
	ProofAuto Proof = iota
	// ProofFloat64 takes double precision.
	ProofFloat64
	// ProofTwoFloats takes sums of two floats, see shaders/two_floats.glsl. Rows that they do not prove are continued
	// in double precision where the device has it, and are else declined.
	ProofTwoFloats
)

// String returns the name of the arithmetic.
func (p Proof) String() string {
	switch p {
	case ProofFloat64:
		return "double precision"
	case ProofTwoFloats:
		return "two floats"
	}
	return "auto"
}

// arithmetic is the arithmetic of the pipelines of a device.
type arithmetic struct {
	float64   bool // the device has double precision
	twoFloats bool // proofs of single precision take sums of two floats
	fused     bool // fma() of floats rounds once
}

// slowFloat64 lists the vendors, by their number in Vulkan, whose GPUs compute at most an eighth as many operations in
// double precision as in single precision, each with parts of the names of those that do not.
var slowFloat64 = map[uint32][]string{
	vendorNVIDIA: {"A100", "A30 ", "A800", "B100", "B200", "GB200", "GH200", "GP100", "GV100", "H100", "H20", "H200",
		"H800", "P100", "TITAN V", "V100"},
	vendorAMD: {"Instinct", "MI100", "MI200", "MI210", "MI250", "MI300", "MI50", "MI60", "Radeon VII", "Vega 20",
		"VEGA20", "gfx906", "gfx908", "gfx90a", "gfx942"},
	vendorIntel: {"Data Center GPU Max"},
}

// Numbers of vendors in Vulkan.
const (
	vendorAMD    = 0x1002
	vendorNVIDIA = 0x10de
	vendorIntel  = 0x8086
)

// describeProof names the arithmetic of proofs on a device for [batch.Device].
func describeProof(p Proof, float64 bool) string {
	if !float64 {
		return p.String() + ", no double precision"
	}
	return p.String()
}

// proofFor returns the arithmetic of proofs on a device.
func (o *Options) proofFor(d *vk.DeviceInfo) Proof {
	switch {
	case !o.features(d).Has(vk.Float64):
		return ProofTwoFloats
	case o.Proof != ProofAuto:
		return o.Proof
	}
	fast, slow := slowFloat64[d.VendorID]
	slow = slow && (d.Type == vk.Discrete || d.Type == vk.Integrated) &&
		!slices.ContainsFunc(fast, func(part string) bool { return strings.Contains(d.Name, part) })
	if !slow && !o.slow {
		return ProofFloat64
	}
	return ProofTwoFloats
}

// ProofOf returns the proof that a discrete GPU with double precision gets by its vendor and its name.
func ProofOf(vendor, name string) (Proof, error) {
	number, ok := map[string]uint32{"AMD": vendorAMD, "Intel": vendorIntel, "NVIDIA": vendorNVIDIA}[vendor]
	if !ok {
		return ProofAuto, fmt.Errorf("engine: the vendor %q is not in the table", vendor)
	}
	d := vk.DeviceInfo{Name: name, VendorID: number, Type: vk.Discrete, Features: vk.Float64}
	return new(Options).proofFor(&d), nil
}

// features returns what a device can do, without what a test takes from it.
func (o *Options) features(d *vk.DeviceInfo) vk.Feature { return d.Features &^ o.disable }

// checkProof reports that a device cannot prove as it is told to.
func (o *Options) checkProof(d *vk.DeviceInfo) error {
	if o.Proof == ProofFloat64 && !o.features(d).Has(vk.Float64) {
		return fmt.Errorf("engine: %s has no %v, so that it cannot prove in double precision", d.Name, vk.Float64)
	}
	return nil
}

// testRows is the number of operands that the self-test tries.
const testRows = 256

// Sums, differences and products are to be rounded to nearest, as IEEE 754 has it: the
// bounds of the certificates count on half a unit in the last place for each. Vulkan
// promises less of quotients and roots, and they only make points and directions whose
// errors are bounded afterwards; more than quotientUnits units in the last place and they
// would not be doubles.
const quotientUnits = 4

// testData is the input of the self-test.
type testData struct {
	shapes    [2]layout.ShapeRecord64
	poses     [2]layout.PoseRecord
	templates [2]layout.TemplateRecord
	query     layout.QueryRecord
	numbers   [testRows][3]float64
}

// newTestData makes records that differ in every number, and operands of all sizes.
func newTestData() *testData {
	d := new(testData)
	random := rand.New(rand.NewPCG(20, 11))
	number := func() float64 { return math.Ldexp(1+random.Float64(), random.IntN(200)-100) }
	for i := range d.shapes {
		s := &d.shapes[i]
		for k := range s.Params {
			s.Params[k] = number()
		}
		s.Center = [3]float64{number(), -number(), number()}
		s.Bounding, s.Reach, s.Radius, s.Erode = number(), number(), number(), number()
		s.GrowthCenter = [3]float64{number(), -number(), number()}
		s.GrowthOffset, s.GrowthInradius = number(), number()
		s.Kind, s.VertexOffset, s.VertexCount = random.Uint32(), random.Uint32(), random.Uint32()
		p := &d.poses[i]
		p.Position = [3]float64{number(), number(), -number()}
		p.Rotation = [4]float64{number(), number(), number(), number()}
		d.templates[i] = layout.TemplateRecord{BodyA: random.Uint32(), BodyB: random.Uint32(), ShapeA: random.Uint32(),
			ShapeB: random.Uint32()}
	}
	d.query = layout.QueryRecord{
		Rows: testRows, Flags: random.Uint32(), Tolerance: float32(number()),
		Exact: [6]uint32{random.Uint32(), random.Uint32(), random.Uint32(), random.Uint32(), random.Uint32(),
			random.Uint32()},
		First: random.Uint32(), Templates: random.Uint32(), Bodies: random.Uint32(), FirstDepth: random.Uint32(),
	}
	for i := range d.numbers {
		x, y := number(), number()
		if i%2 == 1 { // of like size, where the last digits count
			y = x * (1 + random.Float64())
		}
		if i%3 == 1 {
			x = -x
		}
		d.numbers[i] = [3]float64{x, y, -(x * y)}
	}
	return d
}

// echo is the expected copy of the records.
func (d *testData) echo() (words []uint32) {
	double := func(values ...float64) {
		for _, v := range values {
			bits := math.Float64bits(v)
			words = append(words, uint32(bits), uint32(bits>>32))
		}
	}
	s, p, t, q := &d.shapes[1], &d.poses[1], &d.templates[1], &d.query
	double(s.Params[:]...)
	double(s.Center[:]...)
	double(s.Bounding, s.Reach, s.Radius, s.Erode)
	double(s.GrowthCenter[:]...)
	double(s.GrowthOffset, s.GrowthInradius)
	words = append(words, s.Kind, s.VertexOffset, s.VertexCount)
	double(p.Position[:]...)
	double(p.Rotation[:]...)
	words = append(words, t.BodyA, t.BodyB, t.ShapeA, t.ShapeB)
	words = append(words, q.Rows, q.Flags, math.Float32bits(q.Tolerance))
	words = append(words, q.Exact[:]...)
	return append(words, q.First, q.Templates, q.Bodies, q.FirstDepth)
}

// checkEcho compares the records that the device read with those that were written.
func (d *testData) checkEcho(echo []uint32) error {
	for i, want := range d.echo() {
		if echo[i] != want {
			return fmt.Errorf("word %d of the records reads %#x, %#x was written", i, echo[i], want)
		}
	}
	return nil
}

// check compares the results of the device with the results of the host on the same data.
func (d *testData) check(results [][7]float64, echo []uint32) error {
	if err := d.checkEcho(echo); err != nil {
		return err
	}
	for i, n := range d.numbers {
		x, y, got := n[0], n[1], &results[i]
		for k, op := range [...]struct {
			name  string
			want  float64
			units float64
		}{
			{"+", x + y, 0}, {"-", x - y, 0}, {"*", x * y, 0}, {"* and + at once", 0, 0},
			{"/", x / y, quotientUnits}, {"root", math.Sqrt(math.Abs(x)), quotientUnits},
			{"inverse root", 1 / math.Sqrt(math.Abs(x)), quotientUnits},
		} {
			unit := math.Nextafter(math.Abs(op.want), math.Inf(1)) - math.Abs(op.want)
			if !(math.Abs(got[k]-op.want) <= op.units*unit) {
				return fmt.Errorf("%g %s %g gives %.17g, not %.17g", x, op.name, y, got[k], op.want)
			}
		}
	}
	return nil
}

// selfTest refuses a device that does not compute as certificates need it.
func (b *Backend) selfTest() error {
	d := newTestData()
	results, echo, err := answersOf[float64](b, d, shaders.Get("selftest"), bytesOf(d.numbers[:]), 7)
	if err != nil {
		return fmt.Errorf("engine: self-test of %s: %w", b.info.Name, err)
	}
	if err := d.check(recordsIn[[7]float64](bytesOf(results)), echo); err != nil {
		return fmt.Errorf("engine: %s failed the self-test: %w; its driver cannot be trusted with doubles, update it "+
			"or use the CPU back end", b.info.Name, err)
	}
	return nil
}

// answersOf has the device work on test data. It returns so many results for each row of numbers.
func answersOf[T float32 | float64](b *Backend, d *testData, shader *shaders.Shader, numbers []byte,
	perRow int) (results []T, echo []uint32, err error) {
	pipeline, err := b.device.NewPipeline(shader.Code, vk.PipelineOptions{
		Name: shader.Name, Bindings: len(shader.Buffers), PushConstantSize: int(unsafe.Sizeof(d.query)),
		Spec: map[uint32]uint32{0: groupSize},
	})
	if err != nil {
		return nil, nil, err
	}
	defer pipeline.Close()
	inputs := [][]byte{bytesOf(d.shapes[:]), bytesOf(d.poses[:]), bytesOf(d.templates[:]), numbers}
	var memory [6]mirror
	plan := plan{b: b}
	for i, data := range inputs {
		plan.input(&memory[i], uint64(len(data)))
	}
	words := len(d.echo())
	plan.output(&memory[4], uint64(len(bytesOf(make([]T, testRows*perRow)))))
	plan.output(&memory[5], 4*uint64(words))
	blocks, err := plan.allocate()
	if err != nil {
		return nil, nil, err
	}
	defer free(blocks)
	s, err := b.device.NewStream(vk.StreamOptions{})
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	if err := s.Begin(); err != nil {
		return nil, nil, err
	}
	buffers := make([]vk.Buffer, len(memory))
	for i := range memory {
		m := &memory[i]
		buffers[i] = m.device
		if i >= len(inputs) {
			continue
		}
		copy(m.host.Bytes(), inputs[i])
		if err := m.wrote(m.host.Size()); err != nil {
			return nil, nil, err
		}
		if !b.direct {
			s.Copy(m.device, m.host)
		}
	}
	s.Barrier(vk.StageTransfer, vk.StageCompute)
	s.Bind(pipeline, buffers...)
	s.Push(bytesOf([]layout.QueryRecord{d.query}))
	s.Dispatch(testRows/groupSize, 1, 1)
	if !b.direct {
		s.Barrier(vk.StageCompute, vk.StageTransfer)
		for _, m := range memory[len(inputs):] {
			s.Copy(m.host, m.device)
		}
	}
	if err := s.Submit(); err != nil {
		return nil, nil, err
	}
	if err := s.Wait(context.Background(), b.options.Timeout); err != nil {
		return nil, nil, err
	}
	for _, m := range memory[len(inputs):] {
		if err := m.host.Invalidate(); err != nil {
			return nil, nil, err
		}
	}
	results = append(results, recordsIn[T](memory[4].host.Bytes())[:testRows*perRow]...)
	return results, append(echo, recordsIn[uint32](memory[5].host.Bytes())...), nil
}

// faithful32 bounds the relative error of a sum or product of floats on a device that may round either way.
const faithful32 = 0x1p-23

// inverseRootUnits bounds the error of an inverse root as a sum of two floats, in squares of faithful32: twice what
// two_floats.glsl grants, so that the rounding of this test does not count.
const inverseRootUnits = 80

// newTwoFloatsOperands returns operands with all bits in use, of like and of different sizes.
func newTwoFloatsOperands() (numbers [testRows][2]float32) {
	random := rand.New(rand.NewPCG(24, 11))
	number := func(range_ int) float32 {
		return float32(math.Ldexp(1+random.Float64(), random.IntN(range_)-range_/2)) * float32(1-2*random.IntN(2))
	}
	for i := range numbers {
		x, y := number(28), number(28)
		switch i % 4 {
		case 1: // cancels
			y = -x * float32(1+0x1p-20*random.Float64())
		case 2:
			y = x * float32(1+random.Float64())
		case 3: // the sum is off by about half a unit
			y = x * float32(0x1p-24*(1+random.Float64()))
		}
		numbers[i] = [2]float32{x, y}
	}
	return numbers
}

// checkTwoFloats compares sums and products with their errors. All of them are exact in double precision, since the
// exponents differ by 27 at most. It reports whether fma() rounds once.
func checkTwoFloats(numbers *[testRows][2]float32, results [][7]float32) (fused bool, err error) {
	fused = true
	for i, n := range numbers {
		x, y, got := float64(n[0]), float64(n[1]), &results[i]
		sum := x + y
		rest := sum - float64(got[0])
		if !(math.Abs(rest) <= faithful32*math.Abs(sum)) ||
			!(math.Abs(float64(got[1])-rest) <= faithful32*math.Abs(rest)) {
			return false, fmt.Errorf("%g + %g gives %g and the error %g, not %g", x, y, got[0], got[1], rest)
		}
		product := x * y
		rest = product - float64(got[2])
		if !(math.Abs(rest) <= faithful32*math.Abs(product)) || float64(got[3]) != rest {
			return false, fmt.Errorf("%g * %g gives %g and the error %g, not %g", x, y, got[2], got[3], rest)
		}
		fused = fused && float64(got[4]) == rest
		root := 1 / math.Sqrt(math.Abs(x))
		if !(math.Abs(float64(got[5])+float64(got[6])-root) <= inverseRootUnits*faithful32*faithful32*root) {
			return false, fmt.Errorf("the inverse root of %g is %.17g, not %.17g", math.Abs(x),
				float64(got[5])+float64(got[6]), root)
		}
	}
	return fused, nil
}

// selfTestTwoFloats reports whether fma() rounds once, and an error where sums of two floats cannot be trusted.
func (b *Backend) selfTestTwoFloats() (fused bool, err error) {
	d, numbers := newTestData(), newTwoFloatsOperands()
	results, echo, err := answersOf[float32](b, d, shaders.Get("selftest_two_floats"), bytesOf(numbers[:]), 7)
	if err != nil {
		return false, fmt.Errorf("engine: self-test of %s: %w", b.info.Name, err)
	}
	if err = d.checkEcho(echo); err == nil {
		fused, err = checkTwoFloats(&numbers, recordsIn[[7]float32](bytesOf(results)))
	}
	if err != nil {
		return false, fmt.Errorf("engine: %s failed the self-test: %w; its driver cannot be trusted with sums of two "+
			"floats, update it or use the CPU back end", b.info.Name, err)
	}
	return fused, nil
}
