package main

import "testing"

// TestSampleShares: the shares of the chunks add up to the sample.
func TestSampleShares(t *testing.T) {
	for _, c := range []checker{{total: 10, sample: 3}, {total: 1000003, sample: 1000}, {total: 7, sample: 7},
		{total: 5, sample: 0}, {total: 1 << 62, sample: 1 << 61}} {
		var sum, last int64
		step := c.total/1000 + 3
		for row := int64(0); row < c.total; row += step {
			hi := min(row+step, c.total)
			n := c.share(hi) - c.share(row)
			if n < 0 || n > hi-row {
				t.Fatalf("%d rows of [%d, %d) in the sample", n, row, hi)
			}
			sum, last = sum+n, hi
		}
		if sum != c.sample || last != c.total {
			t.Errorf("a sample of %d of %d rows became %d", c.sample, c.total, sum)
		}
	}
}
