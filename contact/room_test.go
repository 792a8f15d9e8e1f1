package contact

import (
	"errors"
	"math"
	"testing"

	"clearance/batch"
	"clearance/contact/lanes"
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

// TestRoomOfSolutions: the same of problems, for which fewer workers are taken where there is memory for these alone.
func TestRoomOfSolutions(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Problem
	}{
		{"worlds", Problem{Worlds: 1 << 45, Bodies: 1, Contacts: 1}},
		{"bodies of a world", Problem{Worlds: 1, Bodies: 1 << 30}},
		{"contacts of a world", Problem{Worlds: 1, Bodies: 1, Contacts: 1 << 31, Count: []int32{math.MaxInt32}}},
		{"room for contacts", Problem{Worlds: 1, Bodies: 1, Contacts: 1 << 45, Count: []int32{0}}},
	} {
		var refused *memory.Error
		if n, err := new(Solver).room(&c.p, 1, &Solution{}); !errors.As(err, &refused) {
			t.Errorf("%s: %d workers, %v", c.name, n, err)
		}
	}
	var s Solver
	small := Problem{Worlds: 100, Bodies: 4, Contacts: 16, Count: make([]int32, 100)}
	if n, err := s.room(&small, 7, &Solution{}); n != 7 || err != nil {
		t.Errorf("a small problem: %d workers, %v", n, err)
	}
	one := float64(bodyOfWorld) + lanes.SweepBytes(1<<20, 0)/(1<<20)
	if bodies := 0.4 * memory.Available() / one; bodies < 1<<30 {
		if n, err := s.room(&Problem{Worlds: 64, Bodies: int(bodies), Count: make([]int32, 64)}, 4,
			&Solution{Velocity: make([]float64, 0)}); n == 4 || err == nil && n < 1 {
			t.Errorf("a large world: %d workers, %v", n, err)
		}
	}
}
