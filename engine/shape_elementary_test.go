package engine

import (
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"clearance/engine/internal/vk"
	"clearance/tests/need"
)

// compile compiles a shader that only tests use.
func compile(t *testing.T, source string) []byte {
	t.Helper()
	return compileWith(t, "../shaders", source)
}

// compileWith is compile with the includes of a folder.
func compileWith(t *testing.T, includes, source string) []byte {
	t.Helper()
	if _, err := exec.LookPath("glslc"); err != nil {
		need.Vulkan(t, "glslc is not installed")
	}
	to := filepath.Join(t.TempDir(), "test.spv")
	if out, err := exec.Command("glslc", "--target-env=vulkan1.1", "-O", "-I"+includes, "-o", to,
		source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	code, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// evaluate runs a shader of two buffers, numbers in and perRow results a row out, and of the
// further ones given.
func evaluate(t *testing.T, b *Backend, code []byte, numbers []float64, rows, perRow int, more ...vk.Buffer) []float64 {
	t.Helper()
	return evaluateWith(t, b, code, nil, numbers, rows, perRow, more...)
}

// evaluateWith is evaluate with values of specialisation constants, and numbers of either type.
func evaluateWith[T float32 | float64](t *testing.T, b *Backend, code []byte, spec map[uint32]uint32, numbers []T, rows,
	perRow int, more ...vk.Buffer) []T {
	t.Helper()
	all := map[uint32]uint32{0: groupSize}
	maps.Copy(all, spec)
	p, err := b.device.NewPipeline(code, vk.PipelineOptions{Name: "test", Bindings: 2 + len(more), PushConstantSize: 4,
		Spec: all})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var in, out mirror
	plan := plan{b: b}
	size := uint64(len(bytesOf(numbers)))
	plan.input(&in, size)
	plan.output(&out, size/uint64(len(numbers))*uint64(rows*perRow))
	blocks, err := plan.allocate()
	if err != nil {
		t.Fatal(err)
	}
	defer free(blocks)
	copy(in.host.Bytes(), bytesOf(numbers))
	if err := in.wrote(size); err != nil {
		t.Fatal(err)
	}
	s, err := b.device.NewStream(vk.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	if !b.direct {
		s.Copy(in.device, in.host)
		s.Barrier(vk.StageTransfer, vk.StageCompute)
	}
	s.Bind(p, append([]vk.Buffer{in.device, out.device}, more...)...)
	s.Push(bytesOf([]uint32{uint32(rows)}))
	s.Dispatch(uint32((rows+groupSize-1)/groupSize), 1, 1)
	if !b.direct {
		s.Barrier(vk.StageCompute, vk.StageTransfer)
		s.Copy(out.host, out.device)
	}
	if err := s.Submit(); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), b.options.Timeout); err != nil {
		t.Fatal(err)
	}
	if err := out.host.Invalidate(); err != nil {
		t.Fatal(err)
	}
	return append([]T(nil), recordsIn[T](out.host.Bytes())[:rows*perRow]...)
}

// bigExp is e^x in 200 bits, of which squaring loses 40.
func bigExp(x float64) *big.Float {
	const prec, halvings = 200, 40 // e^x = (e^(x/2^k))^(2^k)
	r := new(big.Float).SetPrec(prec).SetMantExp(big.NewFloat(x), -halvings)
	sum, term := big.NewFloat(1).SetPrec(prec), big.NewFloat(1).SetPrec(prec)
	for k := 1; k < 12; k++ {
		term.Mul(term, r)
		term.Quo(term, big.NewFloat(float64(k)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog is ln x: ln x = y + ln(x·e^-y) for the float y nearest to it, and what is left is
// a series.
func bigLog(x *big.Float) *big.Float {
	f, _ := x.Float64()
	y := math.Log(f)
	z := new(big.Float).SetPrec(200).Mul(x, bigExp(-y))
	z.Sub(z, big.NewFloat(1))
	sum, term := new(big.Float).SetPrec(200), big.NewFloat(-1).SetPrec(200)
	for k := 1; k < 12; k++ {
		term.Mul(term, z)
		term.Neg(term)
		sum.Add(sum, new(big.Float).Quo(term, big.NewFloat(float64(k))))
	}
	return sum.Add(sum, big.NewFloat(y))
}

// TestElementary: logarithms and exponentials of doubles are right to the units of
// 2⁻⁵³ that elementary.glsl states, against series in 200 bits.
func TestElementary(t *testing.T) {
	b := open(t, Options{})
	g := rand.New(rand.NewPCG(1, 4))
	numbers := []float64{1, 0x1p-1022, 0x1p-1000, 0.5, math.Sqrt2, math.Sqrt2 / 2, math.Sqrt2 - 1, 708, 707.9999, 1e-18,
		math.Nextafter(1, 0), math.Nextafter(1, 2), 0.99999, 1.00001, 0.41421356237309503, 0.4142135623730951}
	n := size(4000, 10000, 40000)
	for len(numbers) < n {
		switch x := g.Float64(); len(numbers) % 5 {
		case 0:
			numbers = append(numbers, x)
		case 1:
			numbers = append(numbers, 708*x)
		case 2:
			numbers = append(numbers, math.Ldexp(1+x, -g.IntN(1000)))
		case 3:
			numbers = append(numbers, 1+(x-0.5)*math.Ldexp(1, -g.IntN(50)))
		case 4:
			// where e^x changes its power of two
			numbers = append(numbers, math.Ln2*(float64(g.IntN(1000))+0.5)+x*1e-10)
		}
	}
	got := evaluate(t, b, compile(t, "../shaders/testdata/elementary.comp"), numbers, len(numbers), 3)
	one := big.NewFloat(1).SetPrec(200)
	var worst [3]float64
	for i, x := range numbers {
		q := new(big.Float).SetPrec(200).SetFloat64(math.Min(x, 1))
		log1p := bigLog(new(big.Float).Add(q, one))
		if x < 1e-20 { // the sum has lost digits, q - q²/2 is right to q³
			log1p = new(big.Float).Mul(q, new(big.Float).Sub(one, new(big.Float).Quo(q, big.NewFloat(2))))
		}
		for k, want := range [3]*big.Float{bigLog(new(big.Float).SetPrec(200).SetFloat64(x)), log1p, bigExp(-x)} {
			if k == 2 && x > 708 {
				continue
			}
			y := got[3*i+k]
			if y < 0 != (want.Sign() < 0) && want.Sign() != 0 {
				t.Fatalf("function %d of %g is %g, want %g", k, x, y, want)
			}
			e := new(big.Float).SetPrec(200).SetFloat64(y)
			e.Sub(e, want)
			if want.Sign() != 0 {
				e.Quo(e, want)
			}
			f, _ := e.Float64()
			worst[k] = max(worst[k], math.Abs(f)*0x1p53)
		}
	}
	t.Logf("largest errors in units of 2^-53: log %.2f, log1p %.2f, exp %.2f", worst[0], worst[1], worst[2])
	for k, limit := range [3]float64{3, 3, 2} {
		if !(worst[k] <= limit) {
			t.Errorf("function %d is off by %.2f units, the bounds grant %g", k, worst[k], limit)
		}
		if worst[k] < 0.25 {
			t.Errorf("function %d is off by %.2f units only: the test does not measure rounding", k, worst[k])
		}
	}
}
