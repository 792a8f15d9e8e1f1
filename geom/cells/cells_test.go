package cells

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

func sphere(n int) []r3.Vec {
	rng := rand.New(rand.NewPCG(7, 8))
	points := make([]r3.Vec, n)
	for i := range points {
		points[i] = testkit.Unit(rng)
	}
	return points
}

// The support point along a direction is in the list of its cell, and a support point
// along a corner of a cell in those of all cells there, whatever the grid.
func TestCut(t *testing.T) {
	points := sphere(300)
	highest := func(d r3.Vec) int32 {
		best := 0
		for i, p := range points {
			if r3.Dot(d, p) > r3.Dot(d, points[best]) {
				best = i
			}
		}
		return int32(best)
	}
	rng := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{1, 2, 3, 5, 8} {
		lists := Cut(points, n, Options{Margin: 1e-6, Slack: 1e-14})
		if len(lists) != 6*n*n {
			t.Fatalf("grid %d: %d lists", n, len(lists))
		}
		for cell, list := range lists {
			if !slices.IsSorted(list) || len(list) == 0 || len(list) == len(points) && n > 1 {
				t.Fatalf("grid %d, cell %d: list of %d", n, cell, len(list))
			}
			face, row, col := cell/(n*n), cell/n%n, cell%n
			for k := range 30 {
				x, y := rng.Float64(), rng.Float64()
				if k < 4 {
					x, y = float64(k&1), float64(k>>1)
				}
				d := Direction(face, 2*(float64(row)+x)/float64(n)-1, 2*(float64(col)+y)/float64(n)-1)
				if !slices.Contains(list, highest(d)) {
					t.Fatalf("grid %d, cell %d: the support point along %v is missing", n, cell, d)
				}
			}
		}
	}
}

// Lists keep no more than they must: of a point that is in one, no other is above it at
// all corners.
func TestCutIsThorough(t *testing.T) {
	points := sphere(200)
	const n = 4
	for cell, list := range Cut(points, n, Options{}) {
		face, row, col := cell/(n*n), cell/n%n, cell%n
		for _, i := range list {
			for j := range points {
				above := true
				for k := range 4 {
					d := Direction(face, 2*float64(row+(k>>1))/n-1, 2*float64(col+(k&1))/n-1)
					above = above && r3.Dot(d, points[j]) > r3.Dot(d, points[i])
				}
				if above {
					t.Fatalf("cell %d lists %d, and %d is above it", cell, i, j)
				}
			}
		}
	}
}

func TestRoom(t *testing.T) {
	points := sphere(100)
	entries := 0
	for _, l := range Cut(points, 4, Options{}) {
		entries += len(l)
	}
	if Cut(points, 4, Options{Room: entries}) == nil {
		t.Errorf("no lists in room for %d entries, which they have", entries)
	}
	if Cut(points, 4, Options{Room: entries - 1}) != nil {
		t.Errorf("%d entries in room for one less", entries)
	}
}

// Points that are level along all directions of a cell are all kept.
func TestLevelPoints(t *testing.T) {
	var ring []r3.Vec
	for i := range 2 * rivals {
		s, c := math.Sincos(2 * math.Pi * float64(i) / (2 * rivals))
		ring = append(ring, r3.Vec{X: c, Y: s})
	}
	for face, list := range Cut(ring, 1, Options{Slack: 1e-14}) {
		if up := face/2 == 2; up && len(list) != len(ring) {
			t.Errorf("face %d: %d of %d points", face, len(list), len(ring))
		} else if !up && len(list) > len(ring)*6/10 {
			t.Errorf("face %d: %d points", face, len(list))
		}
	}
}

// Fit halves the cells until the lists have room, and Transpose moves the list of a cell to where its transposed
// coordinates stand.
func TestFit(t *testing.T) {
	g := rand.New(rand.NewPCG(9, 10))
	points := make([]r3.Vec, 200)
	for i := range points {
		points[i] = testkit.Unit(g)
	}
	count := func(n int) (entries int) {
		for _, l := range Cut(points, n, Options{}) {
			entries += len(l)
		}
		return entries
	}
	for _, want := range []int{8, 4, 2, 1} {
		if n, lists := Fit(points, 8, Options{Room: count(want)}); n != want || len(lists) != 6*n*n {
			t.Errorf("room for %d cells along an edge: %d, %d lists", want, n, len(lists))
		}
	}
	if n, lists := Fit(points, 8, Options{Room: 1}); n != 0 || lists != nil {
		t.Errorf("no room: %d, %d lists", n, len(lists))
	}
	const n = 4
	before, after := Cut(points, n, Options{}), Cut(points, n, Options{})
	Transpose(after, n)
	for face := range 6 {
		for i := range n {
			for j := range n {
				row, col := i, j
				if face/2 == 1 {
					row, col = j, i
				}
				if !slices.Equal(after[(face*n+row)*n+col], before[(face*n+i)*n+j]) {
					t.Fatalf("face %d: cell (%d, %d) is not at (%d, %d)", face, i, j, row, col)
				}
			}
		}
	}
}
