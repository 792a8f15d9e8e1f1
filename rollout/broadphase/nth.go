package broadphase

import "slices"

// nth reorders s so that the centers of s[:k] are at most, and those of s[k:] at least, that of s[k], along an axis:
// Hoare's selection. The pivots of long ranges are taken from a sample at pseudorandom places [Floyd1975], a little
// to that side of rank k on which more items are, so that two pivots leave few; so no order of the input is a bad
// one. The result depends on the input alone.
func nth(s []item, k, axis int) {
	seed := uint64(len(s))
	lo, hi := 0, len(s)-1
	for hi > lo {
		n := hi - lo + 1
		if n <= 12 {
			insertion(s[lo:hi+1], axis)
			return
		}
		p := median3(s[lo].center[axis], s[lo+n/2].center[axis], s[hi].center[axis])
		if n > 4*pivots {
			p = pivot(s[lo:hi+1], k-lo, axis, &seed)
		}
		i, j := partition(s, lo, hi, axis, p)
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
}

// partition reorders s[lo:hi+1] so that the centers of s[lo:i] are at most p, and those of s[j+1:hi+1] at least p, with
// j < i and p between: p is the center of one of them. Places to exchange are listed in blocks without branches on
// comparisons, which a processor cannot predict [Edelkamp2016].
func partition(s []item, lo, hi, axis int, p float64) (i, j int) {
	const block = 64
	var left, right [block]uint8
	i, j = lo, hi
	for j-i+1 >= 2*block {
		l, r := 0, 0
		for k := range block {
			left[l&(block-1)] = uint8(k)
			l += one(s[i+k].center[axis] >= p)
			right[r&(block-1)] = uint8(k)
			r += one(s[j-k].center[axis] <= p)
		}
		n := min(l, r)
		for k := range n {
			a, b := &s[i+int(left[k])], &s[j-int(right[k])]
			*a, *b = *b, *a
		}
		// What has no partner stays: the next block begins there.
		if l == n {
			i += block
		} else {
			i += int(left[n])
		}
		if r == n {
			j -= block
		} else {
			j -= int(right[n])
		}
	}
	for i <= j {
		for s[i].center[axis] < p {
			i++
		}
		for s[j].center[axis] > p {
			j--
		}
		if i <= j {
			s[i], s[j] = s[j], s[i]
			i++
			j--
		}
	}
	return i, j
}

// one returns 1 for true.
func one(b bool) (n int) {
	if b {
		n = 1
	}
	return n
}

// pivots is the size of a sample.
const pivots = 64

// pivot returns the center of a sampled item of a rank near k, beyond k as seen from the nearer end.
func pivot(s []item, k, axis int, seed *uint64) float64 {
	const margin = 6 // in ranks of the sample, of which 4 are a standard deviation
	var sample [pivots]float64
	for i := range sample {
		sample[i] = s[place(seed, 0, len(s))].center[axis]
	}
	slices.Sort(sample[:])
	rank := k * pivots / len(s)
	if 2*k < len(s) {
		rank += margin
	} else {
		rank -= margin
	}
	return sample[min(max(rank, 0), pivots-1)]
}

// place returns a pseudorandom index in [lo, lo+n), by the generator SplitMix64.
func place(seed *uint64, lo, n int) int {
	*seed += 0x9e3779b97f4a7c15
	z := *seed
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return lo + int((z^z>>31)%uint64(n))
}

func median3(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }

// insertion sorts s along an axis.
func insertion(s []item, axis int) {
	for i := 1; i < len(s); i++ {
		x, j := s[i], i
		for ; j > 0 && s[j-1].center[axis] > x.center[axis]; j-- {
			s[j] = s[j-1]
		}
		s[j] = x
	}
}
