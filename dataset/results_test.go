package dataset

import (
	"archive/zip"
	"path/filepath"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/dataset/parquet"
	"clearance/dataset/table"
	"clearance/internal/testkit"
)

// methodFile writes a file whose method column holds given codes, with lines of metadata.
func methodFile(t *testing.T, ext string, codes []uint8, meta map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "results"+ext)
	r := batch.NewResults(len(codes), &batch.Options{Columns: batch.ColMethod})
	copy(r.Method(), codes)
	w, err := CreateResults(path, batch.ColMethod, batch.Single, int64(len(codes)))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for key, text := range meta {
		w.Describe(key, text)
	}
	if err := w.Write(r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// readMethods reads the method column in two parts.
func readMethods(path string) ([]uint8, error) {
	r, err := OpenResults(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	res := batch.NewResults(int(r.Len()), &batch.Options{Columns: batch.ColMethod})
	half := res.N / 2
	for _, part := range []*batch.Results{res.Slice(0, half), res.Slice(half, res.N)} {
		if _, err := r.Next(part); err != nil {
			return nil, err
		}
	}
	return res.Method(), nil
}

// Names in the file decide what a code means, whatever version wrote it.
func TestSolverNamesOfFiles(t *testing.T) {
	codes := []uint8{0, 1, 7, 2}
	for _, ext := range formats {
		for _, c := range []struct {
			table string
			want  []uint8
		}{
			{batch.SolverNames(), codes},
			{"0=none,1=epa,2=newton,7=gjk,9=warp",
				[]uint8{0, uint8(batch.SolverEPA), uint8(batch.SolverGJK), uint8(batch.SolverNewton)}},
			{"1=rtr", []uint8{0, uint8(batch.SolverRTR), 7, 2}}, // codes without a name stay
		} {
			got, err := readMethods(methodFile(t, ext, codes, map[string]string{"solvers": c.table}))
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: codes %v, want %v (%v)", ext, c.table, got, c.want, err)
			}
		}
		_, err := readMethods(methodFile(t, ext, codes, map[string]string{"solvers": "0=none,1=gjk,2=warp"}))
		testkit.WantError(t, err, "results"+ext, "row 3", "column method", `code 2 is "warp"`)
		for _, table := range []string{"gjk", "x=gjk", "1=", "256=gjk", "1=gjk,1=epa", ""} {
			_, err := readMethods(methodFile(t, ext, codes, map[string]string{"solvers": table}))
			testkit.WantError(t, err, "results"+ext, "metadata solvers")
		}
	}
}

// The table of earlier versions is read under its old key.
func TestOldSolverNames(t *testing.T) {
	for _, c := range []struct {
		meta map[string]string
		want batch.Solver
	}{
		{map[string]string{"method_codes": "1=epa"}, batch.SolverEPA},
		{map[string]string{"method_codes": "1=epa", "solvers": "1=rtr"}, batch.SolverRTR},
		{nil, batch.SolverGJK},
	} {
		path := filepath.Join(t.TempDir(), "old.parquet")
		out, err := parquet.Create(output.Disk{}, path, []table.Column{{Name: "method", Width: 1, Types: table.Codes}},
			nil)
		if err != nil {
			t.Fatal(err)
		}
		for key, text := range c.meta {
			out.Describe(key, text)
		}
		if err := out.Write([]any{[]uint8{1, 1}}, 2); err != nil {
			t.Fatal(err)
		}
		if err := out.Commit(); err != nil {
			t.Fatal(err)
		}
		if got, err := readMethods(path); err != nil || !slices.Equal(got, []uint8{uint8(c.want), uint8(c.want)}) {
			t.Errorf("%v: codes %v, want %v (%v)", c.meta, got, c.want, err)
		}
	}
}

// Texts of NPZ files are arrays of no dimension: any text comes back, also under the name of a
// column, and the last one of a key counts.
func TestTextsOfNPZ(t *testing.T) {
	texts := map[string]string{
		"method": "gjk", "status_text_text": "x", "tolerance": "", "note": "α ≤ 1 \U0001F4D0", "query": "collide",
	}
	path := methodFile(t, ".npz", []uint8{1, 1}, texts)
	r, err := OpenResults(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for key, want := range texts {
		if got, ok := r.Metadata()[key]; !ok || got != want {
			t.Errorf("%s is %q (there: %t), want %q", key, got, ok, want)
		}
	}
	column := npyFile{"method", dict("|u1", "(2,)"), make([]byte, 2)}
	for what, f := range map[string]npyFile{
		"more characters than the file holds": {"note", dict("<U3", "()"), make([]byte, 8)},
		"a text of any length":                {"note", dict("<U4294967295", "()"), nil},
		"no character":                        {"note", dict("<U1", "()"), []byte{0xff, 0xff, 0xff, 0x7f}},
		"a column that is a text":             {"status", dict("<U1", "()"), make([]byte, 4)},
	} {
		if _, err := OpenResults(testkit.TempFile(t, "x.npz", zipped(t, []npyFile{column, f}, zip.Store))); err == nil {
			t.Errorf("%s is read", what)
		}
	}
}

// Writers refuse columns of other lengths, other columns and precisions, and queries that cannot be, and leave no file.
func TestWritersRefuse(t *testing.T) {
	for _, ext := range formats {
		dir := t.TempDir()
		pairs, err := CreatePairs(filepath.Join(dir, "pairs"+ext), 2)
		if err != nil {
			t.Fatal(err)
		}
		short := testPairs(2)
		short.PositionB = short.PositionB[:5]
		testkit.WantError(t, pairs.Write(short), "position_b")
		pairs.Abort()
		testkit.WantError(t, WritePairs(filepath.Join(dir, "pairs"+ext), short), "position_b")

		path := filepath.Join(dir, "results"+ext)
		_, err = CreateResults(path, 0, batch.PrecisionCount, 2)
		testkit.WantError(t, err, path, "unknown precision")
		results, err := CreateResults(path, batch.ColStatus|batch.ColGap, batch.Single, 2)
		if err != nil {
			t.Fatal(err)
		}
		testkit.WantError(t, results.DescribeQuery(batch.QueryCount, nil), path, "query")
		testkit.WantError(t, results.Write(testResults(2, batch.ColStatus, batch.Single)), path,
			"takes columns (gap, status)")
		testkit.WantError(t, results.Write(testResults(2, batch.ColStatus|batch.ColGap, batch.Double)), path,
			"in single precision, not")
		cut := testResults(2, batch.ColStatus|batch.ColGap, batch.Single)
		cut.SetColumn(batch.ColGap, batch.Values{F32: cut.Gap()[:1]})
		testkit.WantError(t, results.Write(cut), "gap")
		results.Abort()
		emptyDir(t, dir)
	}
	dir := t.TempDir()
	testkit.WantError(t, WriteWorlds(filepath.Join(dir, "w.csv"), new(batch.Worlds)), "want .parquet or .npz")
	w := &batch.Worlds{Shapes: []int32{0, 0}, Poses: make([]float64, 13), TemplateA: []int32{0}, TemplateB: []int32{1}}
	for _, ext := range formats {
		testkit.WantError(t, WriteWorlds(filepath.Join(dir, "w"+ext), w), "w"+ext, "poses")
	}
	emptyDir(t, dir)
}

// Readers refuse destinations whose columns do not fit together, and read on afterwards.
func TestReadersRefuse(t *testing.T) {
	for _, ext := range formats {
		path := filepath.Join(t.TempDir(), "pairs"+ext)
		if err := WritePairs(path, testPairs(3)); err != nil {
			t.Fatal(err)
		}
		r, err := OpenPairs(path)
		if err != nil {
			t.Fatal(err)
		}
		short := testPairs(3)
		short.RotationA = short.RotationA[:11]
		_, err = r.Next(short)
		testkit.WantError(t, err, "rotation_a")
		_, err = r.Next(batch.NewPairs(0))
		testkit.WantError(t, err, path, "no room for a row")
		got := batch.NewPairs(3)
		if n, err := r.Next(got); n != 3 {
			t.Errorf("%d rows, %v", n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
