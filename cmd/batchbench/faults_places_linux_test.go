package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clearance/dataset"
)

// Outputs in the place of something else: of inputs, links, files and folders.

// inputsOf are the files that a command reads.
func inputsOf(args []string) (list []string) {
	for i, a := range args[1:] {
		if strings.HasPrefix(args[i], "--") && args[i] != "--scene" && filepath.Ext(a) != "" && filepath.IsAbs(a) {
			list = append(list, a)
		}
	}
	return list
}

// withFiles are the cases, and those of `contact` and `step` that read files.
func withFiles(t *testing.T, dir string) []faultCase {
	t.Helper()
	list := faultCases(t, dir)
	problems := filepath.Join(dir, "problems.npz")
	for _, c := range list {
		if c.name == "contact" {
			c.run(problems).want(t, exitGood)
		}
	}
	const worlds = 300
	b := newColumnBuffer([]dataset.ColumnSpec{{Name: "velocity", Width: 6}})
	b.add(worlds, make([]float64, 6*worlds))
	velocities := filepath.Join(dir, "velocities.npz")
	if err := b.write(velocities); err != nil {
		t.Fatal(err)
	}
	return append(list, faultCase{"contact of a file", []string{"contact", "--problems", problems}, formats},
		faultCase{"step of files", []string{"step", "--shapes", dir + "/shapes.json", "--worlds", dir + "/worlds.npz",
			"--velocities", velocities, "--density", "1000", "--gravity", "0,0,0", "--steps", "6", "--save-every", "2"},
			formats})
}

// TestOutputIsInput: an output that is one of the inputs of a command, or a link to it, is refused, and the input keeps
// its bytes.
func TestOutputIsInput(t *testing.T) {
	tried := 0
	for _, c := range withFiles(t, t.TempDir()) {
		for _, input := range inputsOf(c.args) {
			before := bytesOf(t, input)
			link := filepath.Join(t.TempDir(), "link"+filepath.Ext(input))
			if err := os.Symlink(input, link); err != nil {
				t.Fatal(err)
			}
			outs := []string{input, link}
			if c.args[0] == "step" {
				if filepath.Ext(input) == ".json" {
					continue // no output has that extension
				}
				fresh := filepath.Join(t.TempDir(), "out.npz")
				c.run(fresh, "--contacts", input).want(t, exitBadInput).says(t, "one file")
				c.run(fresh, "--problems", link).want(t, exitBadInput).says(t, "one file")
			}
			for _, out := range outs {
				c.run(out).want(t, exitBadInput).says(t, "are one file").says(t, out)
			}
			if !bytes.Equal(bytesOf(t, input), before) {
				t.Fatalf("%s has changed %s", c.name, input)
			}
			tried++
		}
	}
	if tried < 13 {
		t.Errorf("%d inputs", tried)
	}
}

// TestLinksToFolders: a link to an empty folder stays, and the results are in that folder; one to nothing is refused
// before the work, and kept.
func TestLinksToFolders(t *testing.T) {
	eachFault(t, func(t *testing.T, c faultCase, out string) {
		if !strings.HasSuffix(out, "/") {
			return
		}
		place := filepath.Clean(out)
		real := filepath.Join(t.TempDir(), "real")
		if err := os.Symlink(real, place); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		e := &env{Program: program, Stdout: new(bytes.Buffer), Stderr: &stderr, At: func(string, int) {
			t.Error("it has begun to work")
		}}
		if code := e.Run(t.Context(), newRoot(e), slices.Concat(c.args, []string{"--out", out})); code != exitBadInput {
			t.Errorf("exit code %d: %s", code, &stderr)
		}
		if list := names(t, filepath.Dir(place)); !slices.Equal(list, []string{"out"}) {
			t.Errorf("left %v", list)
		}
		if err := os.Mkdir(real, 0o700); err != nil {
			t.Fatal(err)
		}
		c.run(out).want(t, exitGood)
		if info, err := os.Lstat(place); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is no link: %v, %v", info, err)
		}
		if len(names(t, real)) == 0 {
			t.Error("there are no results in the folder that the link names")
		}
		c.run(out).want(t, exitBadInput).says(t, "not empty")
	})
}

// TestFilesAlone: `contact` and `step` write no folders, and say so before the work.
func TestFilesAlone(t *testing.T) {
	for _, c := range faultCases(t, t.TempDir()) {
		if slices.Contains(c.formats, "/") {
			continue
		}
		dir := t.TempDir()
		c.run(filepath.Join(dir, "out")+"/").want(t, exitBadInput).says(t, "want a file .parquet or .npz")
		c.run(dir).want(t, exitBadInput).says(t, dir)
		c.run(filepath.Join(dir, "out.txt")).want(t, exitBadInput).says(t, "out.txt")
		if list := names(t, dir); len(list) > 0 {
			t.Errorf("%s left %v", c.name, list)
		}
	}
}

// TestPlaceOfParts: a file in the place of the folder of a saved run is refused and kept; a link to a folder is
// followed, removed at the end, and its folder stays.
func TestPlaceOfParts(t *testing.T) {
	cases := faultCases(t, t.TempDir())
	c := cases[len(cases)-1]
	out := filepath.Join(t.TempDir(), "out.npz")
	if err := os.WriteFile(out+".parts", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.run(out).want(t, exitBadInput).says(t, out+".parts")
	if string(bytesOf(t, out+".parts")) != "mine" {
		t.Error("the file has changed")
	}
	real := t.TempDir()
	mine := filepath.Join(real, "mine")
	err := errors.Join(os.Remove(out+".parts"), os.Symlink(real, out+".parts"),
		os.WriteFile(mine, []byte("mine"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	c.run(out).want(t, exitBadInput).says(t, "has the file mine")
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	c.run(out).want(t, exitGood)
	if list := names(t, filepath.Dir(out)); !slices.Equal(list, []string{"out.npz"}) {
		t.Errorf("there are %v", list)
	}
	if list := names(t, real); len(list) > 0 {
		t.Errorf("there are %v", list)
	}
}
