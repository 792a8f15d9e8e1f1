package contact

import (
	"fmt"
	"unsafe"

	"clearance/contact/lanes"
	"clearance/internal/memory"
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
