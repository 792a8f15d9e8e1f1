package contact

import (
	"fmt"
	"unsafe"

	"clearance/contact/lanes"
	"clearance/internal/memory"

	"gonum.org/v1/gonum/spatial/r3"
)

// worldBytes and bodyBytes are the memory of a world and of a body of a simulation, but for contacts and pairs: its
// state, the columns of the problem and of its solution, and what a step keeps of it, rounded up.
const (
	worldBytes = 256
	bodyBytes  = int(unsafe.Sizeof(bodyState{})+unsafe.Sizeof(bounce{})) + 8*(7+3+3+1+1+6+6+6)
)

// checkRoom returns an error if the simulation of a scene in a number of worlds takes more memory than there is. It
// looks before anything is allocated. The number of pairs of parts is bounded from above: of all parts, but of those of
// bodies that do not move.
func checkRoom(s *Scene, worlds, limit int) error {
	all, fixed := 0.0, 0.0
	for b, body := range s.Body {
		n := float64(len(s.Bodies.Parts(body)))
		all += n
		if !s.movable(int32(b)) {
			fixed += n
		}
	}
	contacts := firstCapacity(len(s.Body), limit)
	pairs, w := (all*all-fixed*fixed)/2, float64(worlds)
	bytes := pairs*float64(unsafe.Sizeof(partPair{})+unsafe.Sizeof(lanes.Pair{})) +
		w*(pairs*float64(unsafe.Sizeof(nearPair{}))+worldBytes+float64(len(s.Body)*bodyBytes)+
			float64(contacts)*float64(contactBytes))
	what := fmt.Sprintf("%d worlds of %d bodies with up to %.0f pairs of parts and %d contacts", worlds, len(s.Body),
		pairs, contacts)
	if err := memory.Check(what, bytes); err != nil {
		return fmt.Errorf("contact: %w", err)
	}
	return nil
}

// bodyOfWorld and contactOfWorld are the memory that a worldSolver has of a body and of a contact of a world, but for
// the matrix of Newton's method, which is asked for when its pattern is known: the problem in units of its own, its
// islands, the vectors of Newton's method and those of the bound of the error.
const (
	bodyOfWorld = 2*8 + 2*int(unsafe.Sizeof(sym3{})) + 8 + 2*int(unsafe.Sizeof(twist{})) + 3*8 + 3*8 +
		6*int(unsafe.Sizeof(twist{})) + 2*int(unsafe.Sizeof(twist{})) +
		int(unsafe.Sizeof(twistSize{})+unsafe.Sizeof(islandBound{}))
	contactOfWorld = int(unsafe.Sizeof(row{})) + 7*int(unsafe.Sizeof(r3.Vec{})) + 8*(9+36) + 5*8
)

// room returns how many of the workers of a call there is memory for beside the columns of the solution, and an error
// if there is none for one. It looks before anything is allocated, and says nothing of what earlier calls have taken.
func (s *Solver) room(p *Problem, workers int, out *Solution) (int, error) {
	columns := out.growth(p) + float64(max(p.Worlds-cap(s.groups.worlds), 0))*float64(unsafe.Sizeof(world{}))
	each := func(contacts int) float64 {
		return float64(p.Bodies+1)*float64(bodyOfWorld) + float64(contacts)*float64(contactOfWorld) +
			lanes.SweepBytes(p.Bodies, min(lanes.Width, p.Worlds)*contacts)
	}
	need := each(p.Contacts)
	if columns+float64(workers)*need > coarse { // of the contacts that there are
		most := 0
		for _, n := range p.Count {
			most = max(most, min(int(n), p.Contacts))
		}
		need = each(most)
	}
	if columns == 0 && float64(workers)*need <= s.granted {
		return workers, nil
	}
	what := fmt.Sprintf("the solution of %d worlds of %d bodies and %d contacts", p.Worlds, p.Bodies, p.Contacts)
	for {
		err := memory.Check(what, columns+float64(workers)*need)
		if err == nil {
			s.granted = max(s.granted, float64(workers)*need)
			return workers, nil
		}
		if workers == 1 {
			return 0, fmt.Errorf("contact: %w", err)
		}
		workers /= 2
	}
}

// coarse is the memory of a call beyond which its contacts are counted: it is far below what [memory.Check] looks at.
const coarse = 1 << 20

// growth is the memory of the columns of a solution of a problem that it does not have yet.
func (s *Solution) growth(p *Problem) float64 {
	w := float64(p.Worlds)
	bytes := 8*max(3*w*float64(p.Contacts)-float64(cap(s.Impulse)), 0) +
		8*max(6*w*float64(p.Bodies)-float64(cap(s.Velocity)), 0)
	for _, c := range []*[]float64{&s.Residual, &s.Scale, &s.Primal, &s.Dual, &s.Complementarity, &s.Bound} {
		bytes += 8 * max(w-float64(cap(*c)), 0)
	}
	return bytes + 4*max(w-float64(cap(s.Sweeps)), 0) + 4*max(w-float64(cap(s.Steps)), 0) +
		max(w-float64(cap(s.Status)), 0)
}
