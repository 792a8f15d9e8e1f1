package batch

import "fmt"

// Sums says which rows of a product count, and how their gradients are added up by body: [W,M,6]. Rows are pairs of
// parts. Those of two bodies form a set, and sets form groups, of which the row of the least value counts alone, the
// first of equals: a group is the parts of two bodies, or of all pairs of bodies of a world. Operands are those of the
// groups. The gradient of a part moves to its body: with the part at ρ from the position of the body,
// ω_body = ω_part + ρ × v_part. The gradients of a body are added in the order of its sets.
type Sums struct {
	Sets   []int32 // set s is rows Sets[s] to Sets[s+1]-1; [S+1], from 0 to the number of rows, ascending
	Groups []int32 // group g is sets Groups[g] to Groups[g+1]-1; [G+1], from 0 to S, ascending
	Worlds []int32 // world w is groups Worlds[w] to Worlds[w+1]-1; [W+1], from 0 to G, ascending

	// Others are the least lower and upper bounds of pairs of a group that are no rows, [G,2]: +Inf if there are none,
	// -Inf if the group has no answer. A group whose bounds are not those of the row that counts is left to the host.
	Others []float64

	Bodies    []int32   // the two bodies of each set, in its world, [S,2]
	PerWorld  int       // M
	Positions []float64 // of the bodies, [W,M,3]
}

func (s *Sums) sets() int   { return len(s.Sets) - 1 }
func (s *Sums) groups() int { return len(s.Groups) - 1 }
func (s *Sums) worlds() int { return len(s.Worlds) - 1 }

// RowsTo returns the number of rows of the worlds before w.
func (s *Sums) RowsTo(w int) int { return int(s.Sets[s.Groups[s.Worlds[w]]]) }

// check returns an error if sums are not those of n rows.
func (s *Sums) check(n int) error {
	if err := checkEnds("sets", s.Sets, n); err != nil {
		return err
	}
	if err := checkEnds("groups", s.Groups, s.sets()); err != nil {
		return err
	}
	if err := checkEnds("worlds", s.Worlds, s.groups()); err != nil {
		return err
	}
	if len(s.Others) != 2*s.groups() || len(s.Bodies) != 2*s.sets() ||
		len(s.Positions) != 3*s.worlds()*s.PerWorld {
		return fmt.Errorf("arrays of %d, %d and %d numbers for %d groups, %d sets and %d worlds", len(s.Others),
			len(s.Bodies), len(s.Positions), s.groups(), s.sets(), s.worlds())
	}
	for i, b := range s.Bodies {
		if b < 0 || int(b) >= s.PerWorld {
			return fmt.Errorf("body %d of set %d, of %d bodies", b, i/2, s.PerWorld)
		}
	}
	return nil
}
