package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/engine"
	"clearance/internal/console"
)

// TestOutputNeverEatsInput: an output that is an input or another output, by whatever path,
// is refused before anything is read or written.
func TestOutputNeverEatsInput(t *testing.T) {
	f := newFiles(t, ".npz")
	f.ballAndBox(t, 10, nil)
	f.score().want(t, exitGood)
	link, hard := filepath.Join(f.dir, "link.npz"), filepath.Join(f.dir, "hard.npz")
	if err := os.Symlink(f.pairs, link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if err := os.Link(f.pairs, hard); err != nil {
		t.Skipf("no links here: %v", err)
	}
	folder := filepath.Join(f.dir, "folder")
	if err := os.Symlink(f.dir, folder); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(f.dir, "new.npz")
	mesh, meshes := filepath.Join(f.dir, "part.obj"), filepath.Join(f.dir, "meshes.json")
	for path, text := range map[string]string{mesh: "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n",
		meshes: `{"version": 1, "shapes": [{"kind": "convex", "mesh": "part.obj"}]}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	contents := func() string {
		var b strings.Builder
		for _, path := range []string{f.shapes, f.pairs, f.results, mesh, meshes} {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%x\n", data)
		}
		return b.String() + strings.Join(names(t, f.dir), " ")
	}
	before := contents()
	score := func(args ...string) []string {
		return append([]string{"score", "--shapes", f.shapes, "--pairs", f.pairs}, args...)
	}
	verify := func(args ...string) []string {
		return append([]string{"verify", "--shapes", f.shapes, "--pairs", f.pairs, "--results", f.results}, args...)
	}
	for _, args := range [][]string{
		score("--out", f.pairs), score("--out", link), score("--out", hard),
		score("--out", filepath.Join(folder, "pairs.npz")), score("--out", fresh, "--json", f.shapes),
		score("--out", fresh, "--json", f.pairs), score("--out", fresh, "--json", fresh),
		score("--out", fresh, "--json", filepath.Join(folder, "new.npz")),
		verify("--json", f.results), verify("--json", f.shapes), verify("--json", link),
		{"generate", "--set", "boxes", "--shapes", f.pairs, "--out", hard},
		{"generate", "--set", "boxes", "--shapes", fresh, "--out", fresh},
		{"score", "--shapes", meshes, "--pairs", f.pairs, "--out", fresh, "--json", mesh},
		{"verify", "--shapes", meshes, "--pairs", f.pairs, "--results", f.results, "--json",
			filepath.Join(folder, "part.obj")},
		{"run", "--sets", "mesh", "--mesh", mesh, "--json", mesh},
		{"throughput", "--set", "mesh", "--mesh", f.dir, "--json", mesh},
	} {
		command(args...).want(t, exitBadInput).says(t, "are one file")
		if contents() != before {
			t.Fatalf("%v changed a file", args)
		}
	}
}

// TestGenerateBoth: where one of both files cannot be written, the other is not written.
func TestGenerateBoth(t *testing.T) {
	f := newFiles(t, ".npz")
	if err := os.Mkdir(f.shapes, 0o700); err != nil {
		t.Fatal(err)
	}
	command("generate", "--set", "boxes", "--pairs", "10", "--shapes", f.shapes, "--out", f.pairs).want(t,
		exitBadInput).says(t, "directory")
	if list := names(t, f.dir); len(list) != 1 {
		t.Errorf("wrote %v", list)
	}
}

// liar writes results that claim to answer a question and are wrong by eight metres.
func (f files) liar(t *testing.T, columns batch.Columns, claims map[string]string) {
	t.Helper()
	w, err := dataset.CreateResults(f.results, columns, batch.Single, 1)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range claims {
		w.Describe(k, v)
	}
	res := batch.NewResults(1, &batch.Options{Columns: columns})
	if columns&batch.ColStatus != 0 {
		res.Status()[0] = uint8(batch.Separated)
	}
	if columns&batch.ColDistance != 0 {
		res.Distance().Set(0, 3+8)
	}
	if columns&batch.ColGap != 0 {
		res.Gap()[0] = 100
	}
	if columns&batch.ColNormal != 0 {
		res.Normal().Set(0, 1)
	}
	if err := w.Write(res); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestVerifyBelievesNothing: no claim of a file makes its wrong answers good.
func TestVerifyBelievesNothing(t *testing.T) {
	f := newFiles(t, ".parquet")
	f.ballAndBox(t, 1, nil)
	const columns = batch.ColDistance | batch.ColGap | batch.ColStatus
	for _, c := range []struct {
		claims map[string]string
		code   int
		says   string
	}{
		{nil, exitWrong, "wrong answer"},
		{map[string]string{metaTolerance: "1e9"}, exitWrong, "wrong answer"},
		{map[string]string{metaCutOff: "-5"}, exitWrong, "wrong answer"},
		{map[string]string{metaTolerance: "1e9", metaCutOff: "-5", metaQuery: "distance"}, exitWrong, "wrong answer"},
		{map[string]string{metaQuery: "penetration"}, exitBadInput, `claims to answer the query "penetration"`},
		{map[string]string{metaQuery: "\x1b[2Jgood"}, exitBadInput, `unknown query "\x1b[2Jgood"`},
	} {
		f.liar(t, columns, c.claims)
		o := f.verify().want(t, c.code).says(t, c.says)
		if strings.Contains(o.stderr+o.stdout, "\x1b") {
			t.Error("the text of the file reached the terminal as it is")
		}
		if c.claims[metaTolerance] != "" && !strings.Contains(o.stdout, "the file claims: ") {
			t.Errorf("the claims are not printed: %s", o.stdout)
		}
	}
	f.liar(t, columns, nil)
	f.verify("--precision", "double").want(t, exitBadInput).says(t, "precision single")
	for _, columns := range []batch.Columns{batch.ColNormal, batch.ColGap} {
		f.liar(t, columns, nil)
		f.verify().want(t, exitBadInput).says(t, "not enough to audit")
	}
	f.score("--columns", "normal,gap", "--audit").want(t, exitBadInput).says(t, "not enough to audit")
}

// TestDeviceMustExist: a device that is named and does not exist is an error whatever back
// end answers.
func TestDeviceMustExist(t *testing.T) {
	for _, backend := range []string{"auto", "cpu", "ref", "vulkan"} {
		run := []string{"run", "--pairs", "100", "--sets", "boxes", "--backend", backend}
		command(append(run, "--device", "no such device")...).want(t, exitNoBackend).says(t, "no such device")
		t.Run(backend, func(t *testing.T) {
			t.Setenv(engine.DeviceVariable, "no such device")
			command(run...).want(t, exitNoBackend).says(t, "no such device")
		})
	}
}

// TestFlagRange: values beyond any use are refused, not tried.
func TestFlagRange(t *testing.T) {
	const huge = "9223372036854775807"
	for _, args := range [][]string{
		{"run", "--rounds", huge}, {"run", "--workers", huge}, {"run", "--pairs", huge},
		{"run", "--max-iterations", huge},
		{"fit", "--mesh", "none.obj", "--shapes", "s.json", "--vertices", huge},
		{"fit", "--mesh", "none.obj", "--shapes", "s.json", "--vertices", "3"},
		{"throughput", "--sizes", "268435457"}, {"throughput", "--link", "1,Inf"},
		{"generate", "--set", "boxes", "--shapes", "s.json", "--out", "p.npz", "--pairs", huge},
	} {
		o := command(args...).want(t, exitBadInput).says(t, "want ")
		flag, value := args[len(args)-2], strings.TrimPrefix(args[len(args)-1], "1,")
		if !strings.Contains(o.stderr, flag) || !strings.Contains(o.stderr, value) {
			t.Errorf("%v: %s", args, o.stderr)
		}
	}
}

// TestPrintable: what a terminal gets has no control characters and a bounded length.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain ünd": "plain ünd", "a\x1b[2Jb": `a\x1b[2Jb`, "a\u202eb": `a\u202eb`, "\xff\u009b": `\xff\u009b`,
		"0123456789ab": "0123456789…",
	} {
		if got := console.Printable(in, 10); got != want {
			t.Errorf("%q is printed as %q, want %q", in, got, want)
		}
	}
}
