package derive

import (
	"math"
	"math/bits"
)

// philox is the counter-based generator Philox4x32-10 [Salmon2011]: a bijection of counters that a key selects. A draw
// depends on its counter alone, so that estimates depend neither on chunks nor on workers.
func philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	c := counter
	for range 10 {
		h0, l0 := bits.Mul32(0xD2511F53, c[0])
		h1, l1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{h1 ^ c[1] ^ key[0], l1, h0 ^ c[3] ^ key[1], l0}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return c
}

// noise draws standard normal numbers of one row.
type noise struct {
	key     [2]uint32
	row     uint64
	stopped func() bool // reports whether samples are to end; nil for never
}

func newNoise(seed, row uint64) noise {
	return noise{key: [2]uint32{uint32(seed), uint32(seed >> 32)}, row: row}
}

// normals returns four independent standard normal numbers of a sample: Box and Muller's transform of the block.
func (g *noise) normals(sample, block uint32) (z [4]float64) {
	x := philox([4]uint32{uint32(g.row), uint32(g.row >> 32), sample, block}, g.key)
	for i := 0; i < 4; i += 2 {
		// Uniform in (0, 1): never 0, of which the logarithm is infinite.
		u, v := (float64(x[i])+0.5)*0x1p-32, (float64(x[i+1])+0.5)*0x1p-32
		r := math.Sqrt(-2 * math.Log(u))
		sin, cos := math.Sincos(2 * math.Pi * v)
		z[i], z[i+1] = r*cos, r*sin
	}
	return z
}
