package derive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sort"

	"clearance/batch"
	"clearance/internal/fault"
)

// FirstContacts are rows of sweeps in any selection: of all pairs of a scene, of those that were found, or one of each
// world. All columns have a row each; those that the caller gives for the answers may be nil.
type FirstContacts struct {
	World          []int32 // ascending
	PlaceA, PlaceB []int32 // of the bodies in the world; -1 for no pair
	State          []uint8 // codes of [batch.SweepState]
	T1             []float64
	PartA, PartB   []int32

	// Weights are the gradient of a scalar with respect to the times. A row without a derivative contributes nothing,
	// whatever its weight.
	Weights []float64

	Time       []float64 // answers: the times at which the parts touch, T1 where they are not regular
	Smoothness []uint8   // codes of [TimeSmoothness]
}

// Check reports columns of unequal length, worlds that do not ascend, and indices out of range.
func (f *FirstContacts) Check(motions *batch.Motions) error {
	n := len(f.World)
	for _, length := range []int{len(f.PlaceA), len(f.PlaceB), len(f.State), len(f.T1), len(f.PartA), len(f.PartB)} {
		if length != n {
			return fmt.Errorf("derive: first contacts of %d rows have a column of %d", n, length)
		}
	}
	for _, length := range []int{len(f.Weights), len(f.Time), len(f.Smoothness)} {
		if length != 0 && length != n {
			return fmt.Errorf("derive: first contacts of %d rows have a column of %d", n, length)
		}
	}
	if !slices.IsSorted(f.World) || n > 0 && (f.World[0] < 0 || int(f.World[n-1]) >= motions.Count()) {
		return fmt.Errorf("derive: worlds of first contacts, want %d of them in ascending order", motions.Count())
	}
	places := int32(motions.BodiesPerWorld())
	for _, column := range [][]int32{f.PlaceA, f.PlaceB} {
		for i, place := range column {
			if place < -1 || place >= places {
				return fmt.Errorf("derive: row %d: place %d of %d bodies, want -1 for none", i, place, places)
			}
		}
	}
	return nil
}

// ContactTimes differentiates the times of first contacts: gradients, [W,T,M,6] like the poses, become those of the
// weighted sum of the times with respect to the twists of the way points. It may be nil, as the answers of f may be.
// Workers (0: GOMAXPROCS) share worlds, and add the rows of each in their order: bits do not depend on their number.
func ContactTimes(ctx context.Context, bodies *batch.Bodies, motions *batch.Motions, f *FirstContacts,
	gradients []float64, workers int) error {
	if err := motions.CheckBodies(bodies); err != nil {
		return err
	}
	if err := f.Check(motions); err != nil {
		return err
	}
	places, points := motions.BodiesPerWorld(), motions.WayPoints()
	size := BodyWidth * points * places
	if gradients != nil && (len(gradients) != size*motions.Count() || f.Weights == nil && len(f.World) > 0) {
		return errors.New("derive: gradients of times are [W,T,M,6], and need the weights of the rows")
	}
	clear(gradients)
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return fault.Blocks(ctx, workers, motions.Count(), 1, func(_ int, blocks iter.Seq2[int, int]) {
		var w Workspace
		for lo := range blocks {
			first := sort.Search(len(f.World), func(i int) bool { return int(f.World[i]) >= lo })
			for i := first; i < len(f.World) && int(f.World[i]) == lo; i++ {
				c := w.contactTime(bodies, motions, &touch{World: lo, Place: [2]int32{f.PlaceA[i], f.PlaceB[i]},
					Part: [2]int32{f.PartA[i], f.PartB[i]}, Time: f.T1[i],
					Decided: batch.SweepState(f.State[i]) == batch.SweepContact})
				f.store(i, &c)
				if gradients == nil || !c.Regular {
					continue
				}
				for side, g := range [2]*[2][BodyWidth]float64{&c.A, &c.B} {
					for k := range g {
						at := ((c.WayPoint+k)*places + int([2]int32{f.PlaceA[i], f.PlaceB[i]}[side])) * BodyWidth
						to := gradients[size*lo+at:][:BodyWidth]
						for j := range to {
							to[j] += f.Weights[i] * g[k][j]
						}
					}
				}
			}
		}
	})
}

func (f *FirstContacts) store(i int, c *ContactTime) {
	if len(f.Time) > 0 {
		if f.Time[i] = f.T1[i]; c.Regular {
			f.Time[i] = c.Time
		}
	}
	if len(f.Smoothness) > 0 {
		f.Smoothness[i] = uint8(c.Smoothness)
	}
}
