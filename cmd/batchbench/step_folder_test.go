package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/contact/scenes"
	"clearance/cpu"
)

// TestStepFolder: a run that goes on takes no altered part and no altered state, two runs do not share a folder, and
// files of others are kept.
func TestStepFolder(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "o.npz")
	args := []string{"step", "--scene", "ground", "--count", "2", "--steps", "6", "--save-every", "2", "--out", out}
	r := &stepRun{folder: out + ".parts"}
	if err := r.lock(); err != nil {
		t.Fatal(err)
	}
	refused := func(want string, args ...string) {
		t.Helper()
		command(args...).want(t, exitBadInput).says(t, want)
	}
	refused("another run writes to it", args...)
	r.locked.Close()

	foreign := filepath.Join(r.folder, "samples-000001.npz")
	if err := os.WriteFile(foreign, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	refused("samples-000001.npz, which is not that of a run", args...)
	if _, err := os.Stat(foreign); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(foreign); err != nil {
		t.Fatal(err)
	}

	refused("want a file .parquet or .npz", "step", "--scene", "ground", "--out", filepath.Join(dir, "o.txt"))
	for _, flag := range []string{"--friction", "--restitution", "--density"} {
		refused(flag, append(args, flag, "nan")...)
	}
	refused("of memory", append(args, "--count", "2000000000000")...)

	// An interrupted run, of which a part, or the state behind it, is altered.
	flags := &stepFlags{out: out, every: 1, steps: 6, saveEvery: 2}
	begin := groundRuns(t)
	interrupted, err := begin(flags)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := interrupted.advance(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := interrupted.save(); err != nil {
		t.Fatal(err)
	}
	interrupted.locked.Close()
	flags.resume = true
	again := func() error {
		r, err := begin(flags)
		if r != nil {
			r.locked.Close()
		}
		return err
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"states-000000.npz", runFile} {
		path := filepath.Join(out+".parts", name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		altered := bytes.Replace(whole, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, []byte{0, 0, 0, 0, 0, 0, 0xf1, 0x3f}, 1)
		if bytes.Equal(altered, whole) {
			t.Fatalf("%s has no number 1", name)
		}
		if err := os.WriteFile(path, altered, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := again(); err == nil {
			t.Errorf("%s: taken although it was altered", name)
		}
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	flags.kernels = "others"
	if err := again(); err == nil || !strings.Contains(err.Error(), "of another run") {
		t.Errorf("other kernels: %v", err)
	}
}

// TestPartsOfLargeRows: a run whose rows would fill the memory that they may take is saved before, and its results are
// those of a run that was not.
func TestPartsOfLargeRows(t *testing.T) {
	run := func() (list [][]byte) {
		folder := t.TempDir()
		names := []string{"states.npz", "problems.npz", "contacts.npz"}
		args := []string{"step", "--scene", "stack4", "--count", "3", "--steps", "20"}
		for i, flag := range []string{"--out", "--problems", "--contacts"} {
			args = append(args, flag, filepath.Join(folder, names[i]))
		}
		command(args...).want(t, exitGood)
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, data)
		}
		return list
	}
	want := run()
	defer func(n int64) { partBytes = n }(partBytes)
	partBytes = 1 << 12
	for i, data := range run() {
		if !bytes.Equal(data, want[i]) {
			t.Errorf("file %d differs", i)
		}
	}
}

// groundRuns returns a function that begins runs of two worlds of boxes on the ground.
func groundRuns(t *testing.T) (begin func(*stepFlags) (*stepRun, error)) {
	t.Helper()
	scene, state, err := scenes.Simulation("ground", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	solver, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { solver.Close() })
	return func(f *stepFlags) (*stepRun, error) {
		f.options.TimeStep = 0.005
		f.options.Gravity.Z = -9.81
		return f.begin(scene, state, solver)
	}
}
