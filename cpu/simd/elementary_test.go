//go:build cgo

package simd_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// The logarithm and the exponential of every instruction set of this machine stay within the
// errors that elementary.h states, in units of 2⁻²⁴ and 2⁻⁵³ of the result.
func TestElementary(t *testing.T) {
	args := elementaryArguments()
	var in bytes.Buffer
	if err := binary.Write(&in, binary.LittleEndian, args); err != nil {
		t.Fatal(err)
	}
	eachVariant(t, func(t *testing.T, variant string) {
		for _, bits := range []int{32, 64} {
			t.Run(fmt.Sprintf("float%d", bits), func(t *testing.T) {
				out := runProgram(t, variant, "elementary.c", in.Bytes(), fmt.Sprintf("-DREAL_BITS=%d", bits))
				got := make([][3]float64, len(args))
				if err := binary.Read(bytes.NewReader(out), binary.LittleEndian, got); err != nil {
					t.Fatal(err)
				}
				checkElementary(t, args, got, bits)
			})
		}
	})
}

// elementaryArguments are positive numbers that float32 holds: near 1, where the logarithm
// vanishes, with all exponents, powers of two and their neighbors, and in [0, 1].
func elementaryArguments() (x []float64) {
	rng := rand.New(rand.NewPCG(63, 64))
	add := func(v float64) { x = append(x, float64(float32(v))) }
	for range 4000 {
		add(rng.Float64())
		add(math.Exp2(-125 * rng.Float64()))
		add(1 + math.Ldexp(rng.Float64()-0.5, -int(20*rng.Float64())))
		add(math.Sqrt2 * (1 + math.Ldexp(rng.Float64()-0.5, -int(20*rng.Float64()))) / 2)
		add((math.Sqrt2 - 1) * (1 + math.Ldexp(rng.Float64()-0.5, -int(20*rng.Float64()))))
		add(100 * rng.Float64())
	}
	for k := range 120 {
		p := math.Ldexp(1, -k)
		add(p)
		x = append(x, float64(math.Nextafter32(float32(p), 0)), float64(math.Nextafter32(float32(p), 2)))
	}
	return x
}

func checkElementary(t *testing.T, args []float64, got [][3]float64, bits int) {
	unit, logs := 0x1p-24, 8.0
	if bits == 64 {
		unit, logs = 0x1p-53, 6
	}
	var names = strings.Fields("log2 log2_1p exp2")
	limit := [3]float64{logs, logs, 3}
	var worst [3]float64
	for i, x := range args {
		want := [3]float64{math.Log2(x), math.Log1p(x) / math.Ln2, math.Exp2(-x)}
		if x > 0.7 && x < 1.5 { // where the logarithm of package math cancels
			want[0] = math.Log1p(x-1) / math.Ln2
		}
		for k := range want {
			if k == 1 && x > 1 || k == 2 && x > 125 {
				continue // outside the domain of the function
			}
			if want[k] == 0 {
				if got[i][k] != 0 {
					t.Fatalf("%s(%g) = %g, want 0", names[k], x, got[i][k])
				}
				continue
			}
			e := math.Abs(got[i][k]-want[k]) / math.Abs(want[k]) / unit
			if !(e <= limit[k]) {
				t.Fatalf("%s(%g) = %.17g, want %.17g: off by %g units, more than %g", names[k], x, got[i][k], want[k],
					e, limit[k])
			}
			worst[k] = max(worst[k], e)
		}
	}
	t.Logf("at most %.2f units off: log2 %.2f, log2_1p %.2f, exp2 %.2f", max(worst[0], worst[1], worst[2]), worst[0],
		worst[1], worst[2])
}
