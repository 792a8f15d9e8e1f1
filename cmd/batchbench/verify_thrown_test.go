package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/internal/testkit"
)

// thrownFiles writes worlds of thin bodies that are thrown on a plate, some of whose steps are made in parts.
func thrownFiles(t *testing.T, dir string, worlds int) (scene []string, velocities string) {
	t.Helper()
	shapes, file := filepath.Join(dir, "s.json"), filepath.Join(dir, "w.npz")
	document := `{"version": 1, "shapes": [{"kind": "box", "name": "plate", "half_extents": [1, 1, 0.01]},
		{"kind": "ellipsoid", "name": "needle", "semi_axes": [0.2, 0.01, 0.01]},
		{"kind": "cylinder", "name": "log", "radius": 0.05, "half_length": 0.15},
		{"kind": "box", "name": "stick", "half_extents": [0.01, 0.01, 0.2]}],
		"bodies": [{"name": "plate", "fixed": true, "parts": [{"shape": "plate"}]},
		{"name": "needle", "mass": 1, "parts": [{"shape": "needle"}]},
		{"name": "log", "mass": 1, "parts": [{"shape": "log"}]},
		{"name": "stick", "mass": 1, "parts": [{"shape": "stick"}]},
		{"name": "two", "mass": 1, "parts": [{"shape": "log"}, {"shape": "needle", "position": [0, 0.1, 0]}]}]}`
	if err := os.WriteFile(shapes, []byte(document), 0o666); err != nil {
		t.Fatal(err)
	}
	bodies, err := dataset.ReadBodies(shapes)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(45, 3))
	w := &batch.Worlds{M: 5, AllPairs: true}
	first := newColumnBuffer([]dataset.ColumnSpec{{Name: "velocity", Width: 15}, {Name: "spin", Width: 15}})
	for range worlds {
		velocity, spin := make([]float64, 15), make([]float64, 15)
		for b := range w.M {
			p := testkit.Pose(rng, 0.3)
			p.Position.Z = 0.5 + 0.3*rng.Float64()
			if b == 0 {
				p.Position.X, p.Position.Y, p.Position.Z = 0, 0, 0
				p.Rotation.Real, p.Rotation.Imag, p.Rotation.Jmag, p.Rotation.Kmag = 1, 0, 0, 0
			} else {
				velocity[3*b+2] = -20 * rng.Float64()
				for i := range 3 {
					spin[3*b+i] = 10 * rng.NormFloat64()
				}
			}
			w.Bodies = append(w.Bodies, int32(b))
			w.Poses = append(w.Poses, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
				p.Rotation.Jmag, p.Rotation.Kmag)
		}
		first.add(1, velocity, spin)
	}
	if err := dataset.WriteRollout(file, w, bodies); err != nil {
		t.Fatal(err)
	}
	velocities = filepath.Join(dir, "v.npz")
	if err := first.write(velocities); err != nil {
		t.Fatal(err)
	}
	return []string{"--shapes", shapes, "--worlds", file}, velocities
}

// TestVerifyThrown: no contact of bodies that are thrown is refuted, nor its impulse, and those of steps in parts are
// said to be not audited.
func TestVerifyThrown(t *testing.T) {
	dir := t.TempDir()
	scene, velocities := thrownFiles(t, dir, 12)
	_, full := steppedFiles(t, dir, "thrown", append(scene, "--velocities", velocities), "--steps", "60")
	full = append(full[:8:8], scene...)
	o := command(append(full, "--json", "-")...).want(t, exitWrong).says(t, "of steps in parts")
	r := decode[verifyContactReport](t, []byte(o.stdout))
	for _, f := range r.Failures {
		t.Error(f)
	}
	if r.Listed.Contacts < 1000 || r.Listed.Earlier == 0 || r.Listed.Places > r.Listed.Contacts/4 {
		t.Errorf("%+v", *r.Listed)
	}
}
