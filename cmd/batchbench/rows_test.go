package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/dataset"
)

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
