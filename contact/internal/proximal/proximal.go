// Package proximal has what the proximal Newton methods of packages contact and contact/system share: the weights of
// the proximal steps from one step to the next, and the limits of the line searches. Package contact derives the
// method.
package proximal

import "math"

const (
	proxCCP, proxNCP = 1e-3, 1e-2 // ρ at the start
	proxMost         = 0.1
	stuck            = 0.99 // part of a residual that outer steps leave which only add internal forces
	leastStuck       = 1e-3 // of the least ρ is allowed then
)

// Limits of an inner solve and its line search.
const (
	Inexactness      = 0.05 // of the end of an inner solve, relative to its proximal step
	InnerLimit       = 30   // steps of an inner solve of the NCP
	Armijo           = 1e-4
	Shortest         = 2e-3  // step length at which the line search of the NCP fails
	ShortestCCP      = 1e-12 // the same of the CCP
	CostRounding     = 1e-13 // of the cost, below which its differences mean nothing
	GradientRounding = 1e-14 // of the energy norm
)

// Schedule is the weight ρ of the next proximal step. A step of the NCP whose line search fails is followed by two
// steps of the CCP with Γ frozen and a larger weight.
type Schedule struct {
	Rho float64

	ccp         bool
	frozen      int
	least, last float64
}

// Start returns the schedule of a solve of the CCP, or of the NCP, with a least weight.
func Start(ccp bool, least float64) Schedule {
	s := Schedule{Rho: proxNCP, ccp: ccp, least: least, last: math.Inf(1)}
	if ccp {
		s.Rho = proxCCP
	}
	return s
}

// Convex reports whether the next step is one of the CCP.
func (s *Schedule) Convex() bool { return s.ccp || s.frozen > 0 }

// Fails takes it that the line search of a step of the NCP failed.
func (s *Schedule) Fails() { s.frozen, s.Rho = 2, min(10*s.Rho, proxMost) }

// Ends takes it that a step ended after so many factorizations, with a residual e.
func (s *Schedule) Ends(used int, e float64) {
	switch {
	case used > 8:
		s.Rho = min(3*s.Rho, proxMost)
	case e > s.last/5 && s.frozen == 0:
		floor := s.least
		if e > stuck*s.last && s.Rho <= s.least {
			floor *= leastStuck
		}
		s.Rho = max(0.3*s.Rho, floor)
	case s.Rho < s.least:
		s.Rho = s.least
	}
	s.frozen = max(0, s.frozen-1)
	s.last = e
}
