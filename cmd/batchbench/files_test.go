package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
)

// TestWorlds scores and verifies a rollout: three worlds of three bodies on a line,
// two pairs of bodies each.
func TestWorlds(t *testing.T) {
	f := newFiles(t, ".npz")
	f.ballAndBox(t, 1, nil)
	w := &batch.Worlds{Shapes: []int32{0, 1, 1}, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}
	for world := range 3 {
		for body := range 3 {
			w.Poses = append(w.Poses, float64(body*(world+2)), 0, 0, 1, 0, 0, 0)
		}
	}
	worlds := filepath.Join(f.dir, "worlds.npz")
	if err := dataset.WriteWorlds(worlds, w); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"distance", "growth"} {
		in := []string{"--shapes", f.shapes, "--worlds", worlds, "--query", query}
		command(append([]string{"score", "--out", f.results}, in...)...).want(t, exitGood)
		command(append([]string{"verify", "--results", f.results, "--all"}, in...)...).want(t, exitGood)
		res := readResults(t, f.results)
		if res.N != 6 {
			t.Fatalf("%d answers, want 6", res.N)
		}
		for i := range res.N {
			step := float64(i/2 + 2)
			want := []float64{step - 1.5, step - 1}[i%2] // box and ball, ball and ball
			if query == "growth" {
				want = []float64{step / 1.5, step}[i%2]
			}
			if d := res.Distance().At(i); math.Abs(d-want) > 1e-6 {
				t.Errorf("row %d: %s %g, want %g", i, query, d, want)
			}
		}
	}

	// The rows of an invalid body are invalid.
	w.Poses[7*4+3] = 0
	if err := dataset.WriteWorlds(worlds, w); err != nil {
		t.Fatal(err)
	}
	command("score", "--shapes", f.shapes, "--worlds", worlds, "--out", f.results).want(t, exitBadInput).
		says(t, worlds+": row 2, column rotation_b").says(t, "2 rows of 6")
	command("score", "--shapes", f.shapes, "--worlds", worlds, "--pairs", f.pairs, "--out", f.results).want(t,
		exitBadInput).
		says(t, "give one of them")
	command("score", "--shapes", f.shapes, "--worlds", f.pairs, "--out", f.results).want(t, exitBadInput).says(t,
		f.pairs)
	command("score", "--shapes", f.shapes, "--out", f.results).want(t, exitBadInput).says(t, "--pairs is missing")
}

// TestScoreRows: parts of a file have the answers of the whole, and number its rows.
func TestScoreRows(t *testing.T) {
	for _, ext := range formats {
		f := newFiles(t, ext)
		f.ballAndBox(t, 50, func(p *batch.Pairs) {
			for i := range p.Len() {
				p.PositionB[3*i] += 0.1 * float64(i)
			}
			p.RotationA[4*33] = math.NaN()
		})
		f.score().want(t, exitBadInput).says(t, "row 33")
		whole := readResults(t, f.results)
		var distance []float32
		for _, rows := range [][2]int{{0, 7}, {7, 7}, {7, 30}, {30, 50}} {
			code, says := exitGood, ""
			if rows[1] == 50 {
				code, says = exitBadInput, "row 33"
			}
			f.score("--rows", fmt.Sprintf("%d:%d", rows[0], rows[1])).want(t, code).says(t, says)
			part := readResults(t, f.results)
			if part.N != rows[1]-rows[0] {
				t.Fatalf("rows %v: %d answers", rows, part.N)
			}
			distance = append(distance, part.Distance().F32...)
		}
		same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
		if !slices.EqualFunc(distance, whole.Distance().F32, same) {
			t.Errorf("%s: parts have other distances than the whole", ext)
		}
		for rows, says := range map[string]string{"0:51": "50 rows", "7": "lo:hi", "9:7": "lo at most hi",
			"-1:3": "lo:hi", "a:b": "lo:hi"} {
			f.score("--rows="+rows).want(t, exitBadInput).says(t, says)
		}
		f.score("--rows", "0:7", "--audit").want(t, exitBadInput).says(t, "--audit")
	}
}

// TestRowsOfWorlds: parts of worlds begin and end with worlds, and number those of the whole.
func TestRowsOfWorlds(t *testing.T) {
	dir := t.TempDir()
	shapes, worlds, out := ballsFile(t, dir), filepath.Join(dir, "worlds.npz"), filepath.Join(dir, "results.npz")
	w := &batch.Worlds{Shapes: []int32{0, 0, 0}, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}
	for i := range 6 {
		for k := range 3 {
			w.Poses = append(w.Poses, float64(k)*(1.5+float64(i)), 0, 0, 1, 0, 0, 0)
		}
	}
	w.Poses[7*3*4] = math.NaN() // of world 4
	if err := dataset.WriteWorlds(worlds, w); err != nil {
		t.Fatal(err)
	}
	in := []string{"--shapes", shapes, "--worlds", worlds, "--out", out}
	answer := func(args ...string) outcome {
		return command(append(append([]string{"rollout", "--max-distance", "2"}, in...), args...)...)
	}
	answer().want(t, exitBadInput).says(t, "world 4")
	whole, _, err := dataset.ReadRolloutResults(out)
	if err != nil {
		t.Fatal(err)
	}
	answer("--rows", "4:10").want(t, exitBadInput).says(t, "world 4")
	part, meta, err := dataset.ReadRolloutResults(out)
	if err != nil {
		t.Fatal(err)
	}
	if meta["rows"] != "4:10" || meta["worlds"] != "2:5" || !slices.Equal(part.Status(), whole.Status()[4:10]) {
		t.Errorf("%v, statuses %v, want %v", meta, part.Status(), whole.Status()[4:10])
	}
	answer("--rows", "3:10").want(t, exitBadInput).says(t, "multiples")
	answer("--rows", "4:14").want(t, exitBadInput).says(t, "12 rows")
	answer("--all-pairs", "--rows", "4:10").want(t, exitBadInput).says(t, "no list of pairs")
	command(append([]string{"score", "--rows", "3:7"}, in...)...).want(t, exitGood) // of shapes, which are pairs
	if r := readResults(t, out); r.N != 4 || !slices.Equal(r.Status(), whole.Status()[3:7]) {
		t.Errorf("%d rows, statuses %v, want %v", r.N, r.Status(), whole.Status()[3:7])
	}
}

// TestAuditOfRollout: results of worlds are audited before they have their name as 'verify rollout' audits them, with
// the same report: files, folders, reductions, all pairs, and some worlds of a file.
func TestAuditOfRollout(t *testing.T) {
	dir := t.TempDir()
	shapes, worlds := ballsFile(t, dir), filepath.Join(dir, "worlds.npz")
	w := &batch.Worlds{Shapes: []int32{0, 0, 0}, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}
	for i := range 6 {
		for k := range 3 {
			w.Poses = append(w.Poses, float64(k)*(1.5+float64(i)), 0, 0, 1, 0, 0, 0)
		}
	}
	if err := dataset.WriteWorlds(worlds, w); err != nil {
		t.Fatal(err)
	}
	audited := func(args ...string) (audit map[string]any) {
		var report struct{ Audit map[string]any }
		o := command(append(args, "--shapes", shapes, "--worlds", worlds, "--json", "-")...).want(t, exitGood)
		if err := json.Unmarshal([]byte(o.stdout), &report); err != nil {
			t.Fatal(err)
		}
		return report.Audit
	}
	for i, c := range []struct {
		out    string
		asked  []string
		worlds float64
	}{
		{"a.parquet", nil, 6}, {"a.npz", []string{"--reduce", "world"}, 6}, {"parts/", nil, 6},
		{"all.npz", []string{"--all-pairs", "--max-distance", "2"}, 6},
		{"all.parquet", []string{"--all-pairs", "--max-distance", "2"}, 6},
		{"some.parquet", []string{"--rows", "4:10"}, 3},
	} {
		out := filepath.Join(dir, fmt.Sprint(i)) + c.out
		found := audited(append([]string{"rollout", "--audit", "--out", out}, c.asked...)...)
		want := audited(append([]string{"verify", "rollout", "--results", out}, c.asked...)...)
		if !reflect.DeepEqual(found, want) || found["of_worlds"] != c.worlds || found["refuted"] != 0.0 {
			t.Errorf("%s %v: audit %v, that of 'verify rollout' is %v", c.out, c.asked, found, want)
		}
	}
}

// TestRowsOfSweeps: parts of motions begin and end with worlds.
func TestRowsOfSweeps(t *testing.T) {
	dir := t.TempDir()
	shapes, bodies := ballBodies(t, dir)
	motions, out := filepath.Join(dir, "motions.npz"), filepath.Join(dir, "results.npz")
	m := &batch.Motions{T: 2, Bodies: []int32{0, 0}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for world := range 4 {
		for _, x := range []float64{-4, 2} {
			m.Poses = append(m.Poses, 0, 0, 0, 1, 0, 0, 0, x, float64(world), 0, 1, 0, 0, 0)
		}
	}
	if err := dataset.WriteMotions(motions, m, bodies); err != nil {
		t.Fatal(err)
	}
	in := []string{"sweep", "--shapes", shapes, "--worlds", motions, "--out", out}
	command(in...).want(t, exitGood)
	whole, _, err := dataset.ReadSweepResults(out)
	if err != nil {
		t.Fatal(err)
	}
	command(append(in, "--rows", "1:3")...).want(t, exitGood)
	part, meta, err := dataset.ReadSweepResults(out)
	if err != nil {
		t.Fatal(err)
	}
	if meta["rows"] != "1:3" || meta["worlds"] != "1:3" || !slices.Equal(part.Lower, whole.Lower[1:3]) ||
		!slices.Equal(part.State, whole.State[1:3]) {
		t.Errorf("%v, lower bounds %v, want %v", meta, part.Lower, whole.Lower[1:3])
	}
	command(append(in, "--rows", "1:5")...).want(t, exitBadInput).says(t, "4 rows")
}

// TestScoreRowsOfOtherColumns: results of some rows cannot carry the other columns of a file, and say so.
func TestScoreRowsOfOtherColumns(t *testing.T) {
	f := newFiles(t, ".npz")
	f.ballAndBox(t, 4, nil)
	old, err := zip.OpenReader(f.pairs)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, file := range old.File {
		if err := w.Copy(file); err != nil {
			t.Fatal(err)
		}
	}
	label, err := w.Create("label.npy")
	if err != nil {
		t.Fatal(err)
	}
	header := fmt.Sprintf("%-117s\n", "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }")
	if _, err := label.Write([]byte("\x93NUMPY\x01\x00\x76\x00" + header + "abcd")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.pairs, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f.score().want(t, exitGood)
	f.score("--rows", "0:4").want(t, exitGood) // all of them
	f.score("--rows", "0:3").want(t, exitBadInput).says(t, "(label)")
}

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
