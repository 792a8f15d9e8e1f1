package score

import (
	"fmt"
	"strings"

	"clearance/batch"
	"clearance/contact"
	"clearance/dataset"
)

// Simulation returns the scene of a simulation of worlds, which were read from a file over a file of shapes: of the
// pairs of the worlds, with the physics that the file of shapes states, completed by defaults. The state is at rest.
// Errors name one of the files.
func Simulation(shapes, worlds string, bodies *batch.Bodies, w *batch.Worlds, defaults batch.Physics) (*contact.Scene,
	*contact.State, error) {
	file, err := dataset.ReadScene(shapes)
	if err != nil {
		return nil, nil, err
	}
	if !file.Listed || bodies.Len() != file.Bodies.Len() {
		file.Physics = nil
	}
	if bodies.Len() != file.Bodies.Len() {
		file.Surfaces = nil
	}
	list := w.Bodies
	if list == nil {
		list = w.Shapes
	}
	m := w.BodiesPerWorld()
	for i, b := range list {
		if b < 0 || b != list[i%m] {
			return nil, nil, fmt.Errorf("%s: world %d, body %d: the worlds of a simulation all have the same bodies, "+
				"without gaps", worlds, i/m, i%m)
		}
	}
	scene, err := contact.NewScene(bodies, list[:m:m], file.Physics, defaults)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %s", shapes, strings.TrimPrefix(err.Error(), "contact: scene: "))
	}
	if err := scene.SetPairs(file.Surfaces); err != nil {
		return nil, nil, fmt.Errorf("%s: %s", shapes, strings.TrimPrefix(err.Error(), "contact: scene: "))
	}
	scene.SkipA, scene.SkipB = w.SkipA, w.SkipB
	if !w.AllPairs {
		scene.SkipA, scene.SkipB = complement(m, w.TemplateA, w.TemplateB)
	}
	return scene, &contact.State{Worlds: w.Count(), Pose: w.Poses}, nil
}

// complement lists the pairs of m bodies that are not in a list.
func complement(m int, a, b []int32) (skipA, skipB []int32) {
	asked := map[[2]int32]bool{}
	for i := range a {
		asked[[2]int32{min(a[i], b[i]), max(a[i], b[i])}] = true
	}
	for j := range int32(m) {
		for i := range j {
			if !asked[[2]int32{i, j}] {
				skipA, skipB = append(skipA, i), append(skipB, j)
			}
		}
	}
	return skipA, skipB
}
