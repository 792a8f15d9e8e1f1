package main

import (
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
)

// TestVerifyOpenWorlds: what the sample leaves unproved is said, and is not exit code 0. Rows of bodies of one part
// prove themselves.
func TestVerifyOpenWorlds(t *testing.T) {
	dir := t.TempDir()
	shapes, worlds := filepath.Join(dir, "shapes.json"), filepath.Join(dir, "worlds.npz")
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.5}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	part := batch.Part{Pose: geom.IdentityPose()}
	other := part
	other.Pose.Position.Y = 0.5
	bodies, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{part}}, {Parts: []batch.Part{part, other}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.WriteBodies(shapes, bodies); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body           int32
		flags, columns string
		open, code     int
	}{
		{0, "", "default", 0, exitGood},
		{1, "", "default", 4, exitWrong},
		{0, "--reduce world", "default", 4, exitWrong},
		{0, "--max-distance 0.2", "default", 2, exitWrong},
		{0, "", "distance,status,gap", 4, exitWrong},
		{0, "--query collide", "status", 4, exitWrong},
	} {
		w := &batch.Worlds{Bodies: []int32{0, c.body}, TemplateA: []int32{0}, TemplateB: []int32{1}}
		for k := range 5 {
			w.Poses = append(w.Poses, 0, 0, 0, 1, 0, 0, 0, 0.6+0.3*float64(k), 0, 0, 1, 0, 0, 0)
		}
		if err := dataset.WriteRollout(worlds, w, bodies); err != nil {
			t.Fatal(err)
		}
		in := append([]string{"--shapes", shapes, "--worlds", worlds}, strings.Fields(c.flags)...)
		out := filepath.Join(dir, "results.npz")
		score := append([]string{"rollout", "--out", out}, in...)
		if c.columns != "default" {
			score = append(score, "--columns", c.columns)
		}
		command(score...).want(t, exitGood)
		verify := append([]string{"verify", "rollout", "--results", out}, in...)
		o := command(append(verify, "--sample", "1")...).want(t, c.code)
		if c.code != exitGood {
			o.says(t, plural(c.open, "world")+" not solved by the reference")
		}
		command(append(verify, "--all")...).want(t, exitGood)
	}
}
