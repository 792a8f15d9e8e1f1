package engine

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"clearance/tests/need"
)

// Numbers per row of testdata/two_floats_operations.glsl.
const (
	twoFloatsOperands = 12
	twoFloatsResults  = 40
	twoFloatsShrink   = 0x1p-40 // SHRINK there
)

// twoFloatsBounds returns the constants of two_floats.glsl by name.
func twoFloatsBounds(t *testing.T) map[string]float64 {
	t.Helper()
	text, err := os.ReadFile("../shaders/two_floats.glsl")
	if err != nil {
		t.Fatal(err)
	}
	bounds := map[string]float64{}
	for _, m := range regexp.MustCompile(`const float (\w+) = ([\d.e-]+);`).FindAllStringSubmatch(string(text), -1) {
		if bounds[m[1]], err = strconv.ParseFloat(m[2], 64); err != nil {
			t.Fatal(err)
		}
	}
	return bounds
}

// twoFloatsData returns operands: pairs of vectors as sums of two floats, whose low parts are ε of the high ones at
// most. Of each eight rows one is random, the others are near what an operation finds hard.
func twoFloatsData(rows int) []float32 {
	g := rand.New(rand.NewPCG(7, 3))
	float := func() float32 { // any leading bits, any of the sizes that proofs come upon
		bits := g.Uint32() & 0x807fffff
		switch g.IntN(4) {
		case 0:
			bits &= 0x807ff000 | 0x7<<g.IntN(20) // few bits
		case 1:
			bits |= 0x007fffff &^ (g.Uint32() & 0xff) // many bits
		}
		return math.Float32frombits(bits | uint32(127-24+g.IntN(32))<<23)
	}
	lowOf := func(high float32) float32 {
		switch g.IntN(8) {
		case 0:
			return 0
		case 1:
			return high * 0x1p-24 // half a unit of a power of two
		case 2:
			return -high * 0x1p-24
		}
		return float32(float64(high) * 0x1p-24 * (2*g.Float64() - 1))
	}
	near := func(x float32) float32 { // a few units from x
		return math.Float32frombits(math.Float32bits(x) + uint32(g.IntN(9)) - 4)
	}
	numbers := make([]float32, 0, rows*twoFloatsOperands)
	for row := range rows {
		var ah, al, bh, bl [3]float32
		for k := range 3 {
			ah[k], bh[k] = float(), float()
			switch row % 8 {
			case 1: // cancels
				bh[k] = -near(ah[k])
			case 2: // of like size
				bh[k] = near(ah[k])
			case 3: // powers of two and their neighbours
				ah[k] = near(float32(math.Ldexp(1, g.IntN(20)-10)))
				bh[k] = -near(float32(math.Ldexp(1, g.IntN(20)-10)))
			case 4: // the error of the sum is half a unit
				bh[k] = ah[k] * 0x1p-24 * float32(1-2*g.IntN(2))
			case 5: // the difference of the halves
				bh[k] = near(-ah[k] / 2)
			case 6:
				if g.IntN(3) == 0 {
					bh[k] = 0
				}
			}
		}
		if row%8 == 7 && bh[2] != 0 { // a product of vectors that are almost orthogonal
			ah[2] = float32(-(float64(ah[0])*float64(bh[0]) + float64(ah[1])*float64(bh[1])) / float64(bh[2]))
		}
		for k := range 3 {
			al[k], bl[k] = lowOf(ah[k]), lowOf(bh[k])
			if row%8 == 1 && g.IntN(2) == 0 {
				bl[k] = -al[k]
			}
		}
		for _, v := range [4][3]float32{ah, al, bh, bl} {
			numbers = append(numbers, v[:]...)
		}
	}
	return numbers
}

// exact is a number of 300 bits, more than any sum or product here has.
func exact(values ...float32) *big.Float {
	sum := new(big.Float).SetPrec(300)
	for _, v := range values {
		sum.Add(sum, new(big.Float).SetFloat64(float64(v)))
	}
	return sum
}

func product(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(300).Mul(a, b) }

func plus(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(300).Add(a, b) }

// twoFloatsErrors is the largest error of each operation, in the unit of its bound.
type twoFloatsErrors map[string]float64

// measure compares the results of a row with exact arithmetic. epsilon is the error of one operation.
func (e twoFloatsErrors) measure(t *testing.T, in, out []float32, epsilon float64) {
	t.Helper()
	note := func(name string, got []float32, want *big.Float, scale float64) {
		d, _ := plus(exact(got...), new(big.Float).Neg(want)).Float64()
		units := math.Abs(d) / (scale * epsilon * epsilon)
		if d == 0 {
			units = 0
		}
		// Third-order terms of the low part.
		if low := math.Abs(float64(got[1])); low > epsilon*(math.Abs(float64(got[0]))+10*epsilon*scale) {
			t.Fatalf("%s of %v: low part %g of %g", name, in, got[1], got[0])
		}
		if !(units <= e[name]) {
			e[name] = units
		}
	}
	var a, b [3]*big.Float
	var fa, fb, dot, square float64
	exactDot, exactSquare := exact(), exact()
	for k := range 3 {
		a[k], b[k] = exact(in[k], in[3+k]), exact(in[6+k], in[9+k])
		fa, fb = math.Abs(float64(in[k])), math.Abs(float64(in[6+k]))
		p := product(a[k], b[k])
		note("TWO_SUM_ERROR", out[2*k:][:2], exact(in[k], in[6+k]), math.Abs(float64(in[k])+float64(in[6+k])))
		note("TWO_PRODUCT_ERROR", out[6+2*k:][:2], product(exact(in[k]), exact(in[6+k])), fa*fb)
		note("ADD_ERROR", out[12+2*k:][:2], plus(a[k], b[k]), fa+fb)
		note("MULTIPLY_ERROR", out[18+2*k:][:2], p, fa*fb)
		dot, square = dot+fa*fb, square+fa*fa
		exactDot, exactSquare = plus(exactDot, p), plus(exactSquare, product(a[k], a[k]))
	}
	fa, fb = math.Abs(float64(in[0])), math.Abs(float64(in[6]))
	note("SCALE_ERROR", out[24:26], product(a[0], exact(in[6])), fa*fb)
	note("DOT_ERROR", out[26:28], exactDot, dot)
	root := new(big.Float).SetPrec(300).Sqrt(new(big.Float).Abs(a[0]))
	note("INVERSE_ROOT_ERROR", out[28:30], new(big.Float).SetPrec(300).Quo(big.NewFloat(1), root), 1/math.Sqrt(fa))
	norm := new(big.Float).SetPrec(300).Sqrt(exactSquare)
	for k := range 3 {
		note("UNIT_ERROR", out[30+2*k:][:2], new(big.Float).SetPrec(300).Quo(a[k], norm), 1)
	}
	note("UNIT_ERROR", out[36:38], product(norm, exact(twoFloatsShrink)), twoFloatsShrink*math.Sqrt(square))
	if out[38] != 0 {
		t.Fatalf("inverse roots of %v: the device's is too far off", in)
	}
}

// check compares the largest errors with their bounds.
func (e twoFloatsErrors) check(t *testing.T, nearest bool) {
	t.Helper()
	bounds := twoFloatsBounds(t)
	bounds["TWO_SUM_ERROR"] = 1
	if nearest {
		bounds["TWO_SUM_ERROR"] = 0
	}
	bounds["TWO_PRODUCT_ERROR"] = 0
	for name, worst := range e {
		bound, ok := bounds[name]
		if !ok || !(worst <= bound) {
			t.Errorf("%s: %.3g measured, bound %g (stated: %v)", name, worst, bound, ok)
		}
		// The bounds add what never is at its largest together; far below them nothing is measured.
		if worst < bound/20 {
			t.Errorf("%s: %.3g measured of %g: the operands measure no rounding", name, worst, bound)
		}
	}
	t.Logf("largest errors, in squares of the error of an operation: %s", e)
}

func (e twoFloatsErrors) String() (text string) {
	for _, name := range []string{"TWO_SUM", "TWO_PRODUCT", "ADD", "MULTIPLY", "SCALE", "DOT", "INVERSE_ROOT", "UNIT"} {
		text += fmt.Sprintf(" %s %.2f", name, e[name+"_ERROR"])
	}
	return text
}

func measureTwoFloats(t *testing.T, numbers, results []float32, nearest bool) {
	t.Helper()
	errors, epsilon := twoFloatsErrors{}, 0x1p-23
	if nearest {
		epsilon = 0x1p-24
	}
	for row := range len(numbers) / twoFloatsOperands {
		errors.measure(t, numbers[row*twoFloatsOperands:][:twoFloatsOperands],
			results[row*twoFloatsResults:][:twoFloatsResults], epsilon)
	}
	errors.check(t, nearest)
}

// TestTwoFloats: on a device every operation of two_floats.glsl keeps its bound against exact arithmetic.
func TestTwoFloats(t *testing.T) {
	b := open(t, Options{})
	rows := size(20_000, 50_000, 1_000_000)
	numbers := twoFloatsData(rows)
	code := compile(t, "../shaders/testdata/two_floats.comp")
	var results []float32
	const most = 200_000 // fewer bytes than a binding may have
	for part := range slices.Chunk(numbers, most*twoFloatsOperands) {
		results = append(results,
			evaluateWith(t, b, code, nil, part, len(part)/twoFloatsOperands, twoFloatsResults)...)
	}
	measureTwoFloats(t, numbers, results, b.info.Floats.RoundToNearest32)
}

// TestTwoFloatsRounding: the same source, compiled for the processor, keeps the bounds in every rounding mode, and has
// the same bits with fma().
func TestTwoFloatsRounding(t *testing.T) {
	compiler, err := exec.LookPath("c++")
	if err != nil {
		need.Compiler(t, "no C++ compiler: the rounding of devices is not simulated")
	}
	build := func(name string, more ...string) string {
		program := filepath.Join(t.TempDir(), name)
		if out, err := exec.Command(compiler, append(more, "-std=c++20", "-O1", "-frounding-math", "-ffp-contract=off",
			"-fsingle-precision-constant", "-I../shaders", "-o", program,
			"../shaders/testdata/two_floats.cpp")...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return program
	}
	split, fused := build("split"), build("fused", "-DWITH_FMA")
	rows := size(20_000, 50_000, 1_000_000)
	numbers := twoFloatsData(rows)
	for _, mode := range []string{"nearest", "zero", "up", "down"} {
		t.Run(mode, func(t *testing.T) {
			results := simulated(t, split, mode, numbers)
			measureTwoFloats(t, numbers, results, mode == "nearest")
			if !slices.Equal(simulated(t, fused, mode, numbers), results) {
				t.Error("other bits with fma()")
			}
		})
	}
}

// simulated returns the results of a program made from testdata/two_floats.cpp.
func simulated(t *testing.T, program, mode string, numbers []float32) []float32 {
	t.Helper()
	results := make([]float32, len(numbers)/twoFloatsOperands*twoFloatsResults)
	run := exec.Command(program, mode)
	run.Stdin = bytes.NewReader(bytesOf(numbers))
	out, err := run.Output()
	if err != nil || len(out) != len(bytesOf(results)) {
		t.Fatalf("%d bytes, %v", len(out), err)
	}
	copy(bytesOf(results), out)
	return results
}
