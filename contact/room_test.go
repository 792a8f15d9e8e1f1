package contact

import (
	"errors"
	"math"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/memory"
)

// TestRoomOfSimulations: a simulation for which there is no memory is refused before it is allocated, whichever size is
// the large one.
func TestRoomOfSimulations(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{{Shape: 0, Pose: geom.IdentityPose()}}}})
	if err != nil {
		t.Fatal(err)
	}
	scene := func(bodies int, mass float64) *Scene {
		s := &Scene{Bodies: table, Body: make([]int32, bodies), Mass: make([]float64, bodies)}
		for i := range s.Mass {
			s.Mass[i] = mass
		}
		return s
	}
	for _, c := range []struct {
		name             string
		s                *Scene
		worlds, contacts int
		refused          bool
	}{
		{"small", scene(10, 1), 100, 0, false},
		{"a limit, which takes no memory", scene(1, 1), 1, math.MaxInt32, false},
		{"a limit of many worlds", scene(1, 1), 1 << 10, 1 << 30, false},
		{"contacts of worlds", scene(100, 1), 1 << 24, 0, true},
		{"worlds", scene(4, 1), 1 << 40, 0, true},
		{"bodies", scene(3<<20, 1), 1, 0, true},
		{"bodies that do not move", scene(1<<20, math.Inf(1)), 1, 1, false},
	} {
		err := checkRoom(c.s, c.worlds, c.contacts)
		var room *memory.Error
		if c.refused != errors.As(err, &room) || !c.refused && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
