package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
)

// TestOutputBeyondDisk: every command that writes a table estimates it before it runs, and refuses one beyond the disk
// with both sizes; nothing is left beside it.
func TestOutputBeyondDisk(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	worlds := at("worlds.parquet")
	writeWideWorlds(t, at("shapes.json"), worlds)
	before, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	// As many steps as states have room for three times, of which the problems have none.
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); err != nil {
		t.Fatal(err)
	}
	states := 3 * 100 * rowBytes(stateColumns(5))
	steps := strconv.Itoa(min(int(float64(disk.Bavail)*float64(disk.Bsize)/states), math.MaxInt32))
	for _, args := range [][]string{
		{"step", "--scene", "stack4", "--count", "100", "--steps", steps, "--out", at("x.npz"), "--problems",
			at("p.npz")},
		{"step", "--scene", "stack4", "--count", "100", "--steps", steps, "--out", at("x.npz"), "--problems",
			at("p.parquet")},
		{"generate", "--set", "boxes", "--pairs", "1000000000000", "--shapes", at("x.json"), "--out", at("x.npz")},
		{"generate", "--set", "boxes", "--pairs", "1000000000000", "--shapes", at("x.json"), "--out",
			at("x.parquet")},
		{"step", "--scene", "stack4", "--count", "1000", "--steps", "2000000000", "--out", at("x.npz")},
		{"step", "--scene", "stack4", "--count", "1000", "--steps", "2000000000", "--out", at("x.parquet")},
		{"rollout", "--shapes", at("shapes.json"), "--worlds", worlds, "--out", at("x.npz")},
		{"rollout", "--shapes", at("shapes.json"), "--worlds", worlds, "--out", at("x.parquet")},
		{"rollout", "--shapes", at("shapes.json"), "--worlds", worlds, "--out", at("parts") + "/"},
	} {
		command(args...).want(t, exitBadInput).says(t, "would take ").says(t, " is free there")
	}
	after, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != len(before) {
		t.Errorf("files are left: %v", after)
	}
}

// writeWideWorlds writes a file of some megabytes whose results, a row for each of 10^5 pairs of 2·10^5 worlds, take
// terabytes.
func writeWideWorlds(t *testing.T, shapes, worlds string) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, []string{"ball"})
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.WriteLibrary(shapes, lib); err != nil {
		t.Fatal(err)
	}
	const w, p = 200_000, 100_000
	table := batch.BodiesOfShapes(lib)
	in := &batch.Worlds{M: 2, Bodies: []int32{0, 0}, TemplateA: make([]int32, p),
		TemplateB: slices.Repeat([]int32{1}, p),
		Poses:     slices.Repeat([]float64{0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 1, 0, 0, 0}, w)}
	if err := dataset.WriteRollout(worlds, in, table); err != nil {
		t.Fatal(err)
	}
}
