package engine

import (
	"fmt"
	"math"
	"math/rand/v2"

	"clearance/shaders"
)

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
