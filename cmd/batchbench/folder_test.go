package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
)

// Pairs and results in folders of parts are answered, audited and derived as files are, and answers are the same.
func TestFolders(t *testing.T) {
	f := newFiles(t, ".parquet")
	f.ballAndBox(t, 3000, func(p *batch.Pairs) {
		for i := range p.Len() {
			p.PositionB[3*i+1] = 1e-4 * float64(i)
		}
	})
	f.score().want(t, exitGood)
	whole, err := dataset.ReadPairs(f.pairs)
	if err != nil {
		t.Fatal(err)
	}

	parts := f
	parts.pairs, parts.results = filepath.Join(f.dir, "pairs"), filepath.Join(f.dir, "results")+"/"
	if err := os.Mkdir(parts.pairs, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, lo := range []int{0, 1000, 1700} {
		hi := []int{1000, 1700, 3000}[i]
		path := filepath.Join(parts.pairs, []string{"8.parquet", "9.parquet", "10.parquet"}[i])
		if err := dataset.WritePairs(path, whole.Slice(lo, hi)); err != nil {
			t.Fatal(err)
		}
	}
	if text := parts.score("--audit").want(t, exitGood).stdout; !strings.Contains(text, "audit of "+parts.results) {
		t.Errorf("standard output = %q", text)
	}
	parts.verify().want(t, exitGood)
	parts.score().want(t, exitBadInput).says(t, "not empty")
	parts.derive("--out", filepath.Join(f.dir, "gradients")+"/").want(t, exitGood)

	want, got := readAll(t, f.results), readAll(t, parts.results)
	for i := range want.N {
		if c := got.Differs(i, want, i); got.N != want.N || c != 0 {
			t.Fatalf("row %d of %d: column %v differs", i, got.N, c)
		}
	}
	if err := os.Remove(filepath.Join(parts.pairs, "9.parquet")); err != nil {
		t.Fatal(err)
	}
	parts.verify().want(t, exitBadInput).says(t, "do not belong together")
}

// Results of worlds and of motions in a folder of parts are those in a file, and are audited as these are.
func TestFoldersOfWorlds(t *testing.T) {
	dir := t.TempDir()
	shapes, bodies := ballBodies(t, dir)
	w := &batch.Worlds{Bodies: []int32{0, 0, 0}, TemplateA: []int32{0, 0}, TemplateB: []int32{1, 2}}
	for world := range 40 {
		for k := range 3 {
			w.Poses = append(w.Poses, float64(k)*(2+0.01*float64(world)), 0, 0, 1, 0, 0, 0)
		}
	}
	m := &batch.Motions{T: 2, Bodies: w.Bodies, TemplateA: w.TemplateA, TemplateB: w.TemplateB, Poses: w.Poses}
	worlds, motions := filepath.Join(dir, "worlds.npz"), filepath.Join(dir, "motions.npz")
	err := errors.Join(dataset.WriteRollout(worlds, w, bodies), dataset.WriteMotions(motions, m, bodies))
	if err != nil {
		t.Fatal(err)
	}
	file, folder := filepath.Join(dir, "results.parquet"), filepath.Join(dir, "results")+"/"
	in := func(query, input string, flags ...string) []string {
		return append([]string{query, "--shapes", shapes, "--worlds", input}, flags...)
	}
	for _, flags := range [][]string{nil, {"--reduce", "world"}, {"--all-pairs", "--max-distance", "3"}} {
		command(in("rollout", worlds, append(flags, "--columns", "all", "--out", file)...)...).want(t, exitGood)
		command(in("rollout", worlds, append(flags, "--columns", "all", "--out", folder)...)...).want(t, exitGood)
		a, _, errA := dataset.ReadRolloutResults(file)
		b, meta, errB := dataset.ReadRolloutResults(folder)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) || meta["worlds"] != "40" {
			t.Errorf("%v: results in a folder are others than in a file", flags)
		}
		check := append([]string{"verify"}, in("rollout", worlds, append(flags, "--results", folder, "--all")...)...)
		command(check...).want(t, exitGood)
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	command(in("sweep", motions, "--out", file)...).want(t, exitGood)
	command(in("sweep", motions, "--out", folder)...).want(t, exitGood)
	a, _, errA := dataset.ReadSweepResults(file)
	b, _, errB := dataset.ReadSweepResults(folder)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(a) != fmt.Sprint(b) { // NaNs are equal in text
		t.Error("results of sweeps in a folder are others than in a file")
	}
	command(append([]string{"verify"}, in("sweep", motions, "--results", folder, "--all")...)...).want(t, exitGood)
}

// readAll reads a file or a folder of results.
func readAll(t *testing.T, path string) *batch.Results {
	t.Helper()
	r, err := dataset.OpenResults(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := batch.NewResults(int(r.Len()), &batch.Options{Columns: r.Columns(), Precision: r.Precision()})
	for at := 0; at < all.N; {
		n, err := r.Next(all.Slice(at, all.N))
		if err != nil {
			t.Fatal(err)
		}
		at += n
	}
	return all
}

// A file whose middle is damaged, within its row groups, leaves no results: neither a file nor a folder.
func TestDamagedMiddle(t *testing.T) {
	for _, ext := range []string{".parquet", ".npz"} {
		f := newFiles(t, ext)
		f.ballAndBox(t, 1<<18, nil)
		data, err := os.ReadFile(f.pairs)
		if err != nil {
			t.Fatal(err)
		}
		clear(data[2*len(data)/5 : 3*len(data)/5])
		if err := os.WriteFile(f.pairs, data, 0o600); err != nil {
			t.Fatal(err)
		}
		before := names(t, f.dir)
		for _, out := range []string{f.results, filepath.Join(f.dir, "results") + "/"} {
			g := f
			g.results = out
			g.score().want(t, exitBadInput).says(t, f.pairs)
			if after := names(t, f.dir); !slices.Equal(before, after) {
				t.Errorf("left %v, there was %v", after, before)
			}
		}
	}
}

// TestOutputsInInputs: an output in the folder of an input would leave it unreadable. It is refused, whatever links
// lead there, and nothing is written.
func TestOutputsInInputs(t *testing.T) {
	f := newFiles(t, ".parquet")
	f.ballAndBox(t, 10, nil)
	f.score().want(t, exitGood)
	shapes, _ := ballBodies(t, t.TempDir())
	folder, link := filepath.Join(f.dir, "pairs"), filepath.Join(f.dir, "link")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(f.pairs, filepath.Join(folder, "0.parquet")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder, link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	score := []string{"score", "--shapes", f.shapes, "--pairs", folder}
	verify := append([]string{"verify"}, append(score[1:len(score):len(score)], "--results", f.results)...)
	derive := append([]string{"derive"}, append(score[1:len(score):len(score)], "--results", f.results)...)
	fresh := filepath.Join(f.dir, "new.npz")
	for _, args := range [][]string{
		append(score, "--out", folder+"/out/"), append(score, "--out", link+"/out.parquet"),
		append(score, "--out", folder+"/1.parquet"), append(score, "--out", fresh, "--json", folder+"/report.json"),
		append(derive, "--out", folder+"/out/"), append(derive, "--out", folder+"/out.npz"),
		append(verify, "--json", folder+"/report.json"),
		{"verify", "--shapes", f.shapes, "--pairs", f.pairs, "--results", folder, "--json", folder + "/report.json"},
		{"rollout", "--shapes", shapes, "--worlds", folder, "--out", folder + "/out/"},
		{"sweep", "--shapes", shapes, "--worlds", folder, "--out", link + "/out/"},
		{"step", "--shapes", shapes, "--worlds", folder, "--out", folder + "/out.npz"},
		{"step", "--scene", "ground", "--velocities", folder, "--out", fresh, "--contacts", folder + "/out.npz"},
		{"contact", "--problems", folder, "--out", folder + "/out.npz"},
	} {
		command(args...).want(t, exitBadInput).says(t, "lies in the folder")
		if list := names(t, folder); !slices.Equal(list, []string{"0.parquet"}) {
			t.Fatalf("%v left %v", args, list)
		}
	}
	// Names that begin with an underscore are not read; an empty folder of results gets no report.
	command(append(score, "--out", folder+"/_out/")...).want(t, exitGood)
	command(append(score, "--out", fresh)...).want(t, exitGood)
	empty := t.TempDir()
	command(append(score, "--out", empty, "--json", filepath.Join(empty, "report.json"))...).want(t,
		exitBadInput).says(t, "lies in the folder")
}
