package hull

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

// FuzzBuild reads points from bytes: small integers, whose sets are full of
// degeneracies, or raw floats.
func FuzzBuild(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, false)
	f.Add([]byte{3, 3, 3, 1, 2, 3}, false)
	f.Add(binary.LittleEndian.AppendUint64(make([]byte, 16), math.Float64bits(1e-300)), true)
	f.Add([]byte("00000000000000100000000 000000000000000000000000"), true) // coordinates that count as zero
	f.Fuzz(func(t *testing.T, data []byte, raw bool) {
		var pts []r3.Vec
		if raw {
			for ; len(data) >= 24 && len(pts) < 60; data = data[24:] {
				x := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:])) }
				pts = append(pts, vec(x(0), x(1), x(2)))
			}
		} else {
			for ; len(data) >= 3 && len(pts) < 60; data = data[3:] {
				x := func(i int) float64 { return float64(int8(data[i])) / 3 }
				pts = append(pts, vec(x(0), x(1), x(2)))
			}
		}
		h, err := Build(pts)
		if err != nil {
			return
		}
		checkStructure(t, h, pts)
		checkContainment(t, h, pts)
		checkSupport(t, h, rand.New(rand.NewPCG(1, 2)), 20)
	})
}
