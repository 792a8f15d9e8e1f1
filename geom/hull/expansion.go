package hull

import "math"

// An expansion is a sum of floats that overlap in no bit, smallest magnitude
// first, without zeros: an exact real number. The empty expansion is zero. The
// routines append their result to dst, which callers keep on the stack.
type expansion []float64

// sign returns -1, 0 or 1. The last component is larger than the sum of the others.
func (e expansion) sign() int {
	if len(e) == 0 {
		return 0
	}
	if e[len(e)-1] > 0 {
		return 1
	}
	return -1
}

// estimate returns the value of e with a relative error of a few units of roundoff.
func (e expansion) estimate() float64 {
	var s float64
	for _, x := range e {
		s += x
	}
	return s
}

// twoSum returns a+b rounded and its rounding error (Shewchuk, Theorem 7).
func twoSum(a, b float64) (sum, tail float64) {
	sum = a + b
	bv := sum - a
	av := sum - bv
	return sum, (a - av) + (b - bv)
}

// fastTwoSum is twoSum for |a| ≥ |b| (Shewchuk, Theorem 6).
func fastTwoSum(a, b float64) (sum, tail float64) {
	sum = a + b
	return sum, b - (sum - a)
}

// twoProduct returns a·b rounded and its rounding error. The conversion keeps the
// compiler from fusing the product into a later operation.
func twoProduct(a, b float64) (product, tail float64) {
	product = float64(a * b)
	return product, math.FMA(a, b, -product)
}

// diff2 is the exact difference of two floats: head + tail.
type diff2 struct{ head, tail float64 }

func exactDiff(a, b float64) diff2 {
	h, t := twoSum(a, -b)
	return diff2{h, t}
}

// appendSum appends e + f: the merge of Shewchuk's FAST-EXPANSION-SUM (Theorem 13)
// with zero elimination.
func appendSum(dst, e, f expansion) expansion {
	i, j := 0, 0
	next := func() float64 {
		if j >= len(f) || i < len(e) && math.Abs(e[i]) < math.Abs(f[j]) {
			i++
			return e[i-1]
		}
		j++
		return f[j-1]
	}
	total := len(e) + len(f)
	if total == 0 {
		return dst
	}
	q := next()
	for k := 1; k < total; k++ {
		var tail float64
		q, tail = twoSum(q, next())
		if tail != 0 {
			dst = append(dst, tail)
		}
	}
	if q != 0 {
		dst = append(dst, q)
	}
	return dst
}

// appendScaled appends b·e: SCALE-EXPANSION (Shewchuk, Theorem 19) with zero
// elimination. It adds at most 2·len(e) components.
func appendScaled(dst, e expansion, b float64) expansion {
	if len(e) == 0 || b == 0 {
		return dst
	}
	q, tail := twoProduct(e[0], b)
	if tail != 0 {
		dst = append(dst, tail)
	}
	for _, x := range e[1:] {
		p, pt := twoProduct(x, b)
		var s float64
		s, tail = twoSum(q, pt)
		if tail != 0 {
			dst = append(dst, tail)
		}
		q, tail = fastTwoSum(p, s)
		if tail != 0 {
			dst = append(dst, tail)
		}
	}
	if q != 0 {
		dst = append(dst, q)
	}
	return dst
}

// appendProduct appends a·b, at most 8 components.
func appendProduct(dst expansion, a, b diff2) expansion {
	var buf [2]float64
	var head, tail [4]float64
	e := expansion(buf[:0])
	if a.tail != 0 {
		e = append(e, a.tail)
	}
	if a.head != 0 {
		e = append(e, a.head)
	}
	return appendSum(dst, appendScaled(head[:0], e, b.head), appendScaled(tail[:0], e, b.tail))
}

// appendDet2 appends a·d − b·c, at most 16 components.
func appendDet2(dst expansion, a, b, c, d diff2) expansion {
	var ad, bc [8]float64
	c.head, c.tail = -c.head, -c.tail
	return appendSum(dst, appendProduct(ad[:0], a, d), appendProduct(bc[:0], b, c))
}

// appendTimes appends e·b for an expansion of at most 16 components: at most 64.
func appendTimes(dst, e expansion, b diff2) expansion {
	var head, tail [32]float64
	return appendSum(dst, appendScaled(head[:0], e, b.head), appendScaled(tail[:0], e, b.tail))
}
