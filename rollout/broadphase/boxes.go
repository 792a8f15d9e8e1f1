package broadphase

import "fmt"

// Boxes are n closed axis-aligned boxes, as one array per axis and side: box i is the set of points p with
// Lo[k][i] ≤ p[k] ≤ Hi[k][i] for the axes k = 0, 1, 2. Bounds may be infinite.
type Boxes struct {
	Lo, Hi [3][]float64 // [n] each
}

// MaxBoxes is the largest number of boxes of a call.
const MaxBoxes = 1 << 28

// NewBoxes returns n boxes that all are the origin.
func NewBoxes(n int) *Boxes {
	b := new(Boxes)
	b.Resize(n)
	return b
}

// Resize sets the number of boxes. It reuses the memory; the boxes keep no particular values.
func (b *Boxes) Resize(n int) {
	for k := range 3 {
		b.Lo[k], b.Hi[k] = resized(b.Lo[k], n), resized(b.Hi[k], n)
	}
}

// Len returns the number of boxes.
func (b *Boxes) Len() int { return len(b.Lo[0]) }

// Set sets box i to the bounds lo and hi.
func (b *Boxes) Set(i int, lo, hi [3]float64) {
	for k := range 3 {
		b.Lo[k][i], b.Hi[k][i] = lo[k], hi[k]
	}
}

// BoxError is the error of a box that is not one.
type BoxError struct {
	Box    int // index
	Axis   int // 0, 1, 2
	Lo, Hi float64
}

func (e *BoxError) Error() string {
	return fmt.Sprintf("broadphase: box %d: from %g to %g along %c, want numbers in ascending order", e.Box, e.Lo, e.Hi,
		"xyz"[e.Axis])
}

// Check returns an error if the arrays differ in length, or a *[BoxError] for the first box with a NaN or with a lower
// bound above the upper one.
func (b *Boxes) Check() error {
	n := b.Len()
	if n > MaxBoxes {
		return fmt.Errorf("broadphase: %d boxes, want at most %d", n, MaxBoxes)
	}
	for k := range 3 {
		if len(b.Lo[k]) != n || len(b.Hi[k]) != n {
			return fmt.Errorf("broadphase: %d lower and %d upper bounds along %c, want %d", len(b.Lo[k]), len(b.Hi[k]),
				"xyz"[k], n)
		}
	}
	for i := range n {
		for k := range 3 {
			if !(b.Lo[k][i] <= b.Hi[k][i]) {
				return &BoxError{Box: i, Axis: k, Lo: b.Lo[k][i], Hi: b.Hi[k][i]}
			}
		}
	}
	return nil
}

// Meet reports whether boxes i and j have a common point.
func (b *Boxes) Meet(i, j int) bool {
	return b.Lo[0][i] <= b.Hi[0][j] && b.Lo[0][j] <= b.Hi[0][i] &&
		b.Lo[1][i] <= b.Hi[1][j] && b.Lo[1][j] <= b.Hi[1][i] &&
		b.Lo[2][i] <= b.Hi[2][j] && b.Lo[2][j] <= b.Hi[2][i]
}

// resized returns a slice of length n, in the memory of s if that suffices.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
