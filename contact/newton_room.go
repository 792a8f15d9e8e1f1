package contact

import (
	"clearance/contact/lanes"
	"clearance/internal/memory"
)

// factorBytes is the memory of a block of the matrix of Newton's method in Go: 6 by 6 numbers, and its entry of the
// pattern.
const factorBytes = 36*8 + 1

// mayFactor reports whether there is memory for Newton's method, in package lanes first if its kernel solves it, of
// all workers at once. It takes that of the blocks of all pairs of bodies that contacts join. Without it the best
// impulses of the sweeps stand, and a world whose residual exceeds the tolerance is undecided.
func (s *worldSolver) mayFactor(o *Options, kernel bool) bool {
	n := len(s.rows)
	joined := float64(min(len(s.mass), 2*n))
	bytes := factorBytes * joined * joined
	if kernel {
		bytes += lanes.NewtonBytes(len(s.mass), n)
	}
	if bytes *= float64(max(o.Workers, 1)); bytes <= s.granted {
		return true
	}
	if memory.Check("Newton's method", bytes) != nil {
		return false
	}
	s.granted = bytes
	return true
}
