package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/internal/memory"
)

// rolloutTable writes a file of results of a rollout by hand: columns that are int32 or uint8, and metadata.
func rolloutTable(t *testing.T, ext string, columns map[string]any, meta map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "results"+ext)
	var cols []column
	var values []any
	n := 0
	for name, v := range columns {
		typ := typeInt32
		if list, ok := v.([]int32); ok {
			n = len(list)
		} else {
			typ, n = typeUint8, len(v.([]uint8))
		}
		cols, values = append(cols, column{name, 1, []dtype{typ}}), append(values, v)
	}
	writeTable(t, path, cols, meta, values, n)
	return path
}

// writeTable writes a file of columns and metadata as they are.
func writeTable(t *testing.T, path string, columns []column, meta map[string]string, values []any, n int) {
	t.Helper()
	out, err := createTable(osFS{}, path, columns, int64(n))
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range meta {
		out.describe(key, text)
	}
	if err := out.write(values, n); err != nil {
		t.Fatal(err)
	}
	if err := out.commit(); err != nil {
		t.Fatal(err)
	}
}

// TestRowsOfSomeWorlds: rows of all pairs of some worlds of a file have the numbers of their worlds in it.
func TestRowsOfSomeWorlds(t *testing.T) {
	for _, ext := range formats {
		o := batch.RolloutOptions{}
		r := batch.NewRolloutResults(3, &o)
		r.BodyA, r.BodyB, r.Offsets = []int32{0, 0, 1}, []int32{1, 2, 2}, []int64{0, 2, 2, 3}
		path := filepath.Join(t.TempDir(), "results"+ext)
		w := CreateRolloutResults(path, &o, 3, UnknownRows, map[string]string{MetaWorlds: "5:8"})
		w.From(5)
		if err := errors.Join(w.Write(r), w.Close()); err != nil {
			t.Fatal(err)
		}
		got, meta, err := ReadRolloutResults(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := []int64{0, 0, 0, 0, 0, 0, 2, 2, 3}; meta["worlds"] != "5:8" || !slices.Equal(got.Offsets, want) {
			t.Errorf("%s: worlds %s, offsets %v, want 5:8, %v", ext, meta["worlds"], got.Offsets, want)
		}
	}
}

// TestRowsOfAllPairsBeyondDisk: results of all pairs that are known to have more rows than the disk has room for are
// refused at their first row, in a file and in a folder of parts.
func TestRowsOfAllPairsBeyondDisk(t *testing.T) {
	o := batch.RolloutOptions{}
	r := batch.NewRolloutResults(1, &o)
	r.BodyA, r.BodyB, r.Offsets = []int32{0}, []int32{1}, []int64{0, 1}
	for _, name := range []string{"results.npz", "results.parquet", "results" + string(filepath.Separator)} {
		folder := t.TempDir()
		w := CreateRolloutResults(folder+string(filepath.Separator)+name, &o, 1, UnknownRows, nil)
		w.AtLeast(1 << 50)
		var refused *memory.DiskError
		if err := w.Write(r); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
		w.Abort()
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", name, left, err)
		}
	}
}

// TestContactsComplete: a file says whether the contacts of its worlds are all of them.
func TestContactsComplete(t *testing.T) {
	for _, ext := range formats {
		for _, complete := range []bool{false, true} {
			o := batch.RolloutOptions{Reduce: batch.ReduceWorld}
			r := batch.NewRolloutResults(2, &o)
			r.ContactsComplete = complete
			path := filepath.Join(t.TempDir(), "results"+ext)
			if err := WriteRolloutResults(path, r, &o, 2, nil); err != nil {
				t.Fatal(err)
			}
			got, meta, err := ReadRolloutResults(path)
			if err != nil {
				t.Fatal(err)
			}
			if got.ContactsComplete != complete || (meta["contacts_complete"] == "true") != complete {
				t.Errorf("%s: complete %t, metadata %q, want %t", ext, got.ContactsComplete, meta["contacts_complete"],
					complete)
			}
		}
		part := []int32{0}
		bad := rolloutTable(t, ext, map[string]any{"part_a": part, "part_b": part},
			map[string]string{"contacts_complete": "perhaps"})
		_, _, err := ReadRolloutResults(bad)
		wantError(t, err, bad, "metadata contacts_complete", `"perhaps"`)
	}
}

// TestWorldsOfTinyFile: the number of worlds that metadata state does not make a small file large.
func TestWorldsOfTinyFile(t *testing.T) {
	part := []int32{0}
	for _, ext := range formats {
		columns := map[string]any{"part_a": part, "part_b": part, "body_a": part, "body_b": part, "world": part}
		for _, worlds := range []string{"100000000", "2147483647", "99999999999999", "-1", "many", ""} {
			path := rolloutTable(t, ext, columns, map[string]string{"worlds": worlds})
			_, _, err := ReadRolloutResults(path)
			wantError(t, err, path, "metadata worlds", worlds)
		}
		path := rolloutTable(t, ext, columns, map[string]string{"worlds": "1000"})
		if _, _, err := ReadRolloutResults(path, WithMemory(1000)); err == nil && ext == ".npz" {
			t.Error("offsets of 8008 bytes in a budget of 1000")
		}
		if r, _, err := ReadRolloutResults(path); err != nil || len(r.Offsets) != 1001 || r.Offsets[1] != 1 {
			t.Errorf("%s: 1000 worlds: %v", ext, err)
		}
	}
}

// TestSolversOfRollouts: codes of solvers are those of the names in the metadata.
func TestSolversOfRollouts(t *testing.T) {
	part := []int32{0, 0}
	for _, ext := range formats {
		columns := map[string]any{"part_a": part, "part_b": part, "method": []uint8{1, 9}}
		path := rolloutTable(t, ext, columns, map[string]string{"solvers": "1=epa,9=bounds"})
		r, _, err := ReadRolloutResults(path)
		if err != nil {
			t.Fatal(err)
		}
		if r.Method()[0] != uint8(batch.SolverEPA) || r.Method()[1] != uint8(batch.SolverBounds) {
			t.Errorf("%s: solvers %v", ext, r.Method())
		}
		path = rolloutTable(t, ext, columns, map[string]string{"solvers": "1=epa,9=warp"})
		_, _, err = ReadRolloutResults(path)
		wantError(t, err, path, "row 1", "column method", `"warp"`)
	}
}

// TestIncompleteRollouts: a file without a column that its others need is refused.
func TestIncompleteRollouts(t *testing.T) {
	part, status := []int32{0}, []uint8{0}
	for _, ext := range formats {
		for missing, columns := range map[string]map[string]any{
			"part_a":   {"status": status},
			"part_b":   {"status": status, "part_a": part},
			"contacts": {"part_a": part, "part_b": part, "pair": part, "failed": part, "any": status},
			"pair":     {"part_a": part, "part_b": part, "any": status},
			"body_b":   {"part_a": part, "part_b": part, "body_a": part},
			"body_a":   {"part_a": part, "part_b": part, "world": part},
		} {
			path := rolloutTable(t, ext, columns, map[string]string{"worlds": "1"})
			_, _, err := ReadRolloutResults(path)
			wantError(t, err, path, "column "+missing+" is missing")
		}
	}
}
