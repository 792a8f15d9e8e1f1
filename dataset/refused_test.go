package dataset

import (
	"path/filepath"
	"testing"

	"clearance/batch"
)

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
		wantError(t, pairs.Write(short), "position_b")
		pairs.Abort()
		wantError(t, WritePairs(filepath.Join(dir, "pairs"+ext), short), "position_b")

		path := filepath.Join(dir, "results"+ext)
		_, err = CreateResults(path, 0, batch.PrecisionCount, 2)
		wantError(t, err, path, "unknown precision")
		results, err := CreateResults(path, batch.ColStatus|batch.ColGap, batch.Single, 2)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, results.DescribeQuery(batch.QueryCount, nil), path, "query")
		wantError(t, results.Write(testResults(2, batch.ColStatus, batch.Single)), path, "takes columns (gap, status)")
		wantError(t, results.Write(testResults(2, batch.ColStatus|batch.ColGap, batch.Double)), path,
			"in single precision, not")
		cut := testResults(2, batch.ColStatus|batch.ColGap, batch.Single)
		cut.SetColumn(batch.ColGap, batch.Values{F32: cut.Gap()[:1]})
		wantError(t, results.Write(cut), "gap")
		results.Abort()
		emptyDir(t, dir)
	}
	dir := t.TempDir()
	wantError(t, WriteWorlds(filepath.Join(dir, "w.csv"), new(batch.Worlds)), "want .parquet or .npz")
	w := &batch.Worlds{Shapes: []int32{0, 0}, Poses: make([]float64, 13), TemplateA: []int32{0}, TemplateB: []int32{1}}
	for _, ext := range formats {
		wantError(t, WriteWorlds(filepath.Join(dir, "w"+ext), w), "w"+ext, "poses")
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
		wantError(t, err, "rotation_a")
		_, err = r.Next(batch.NewPairs(0))
		wantError(t, err, path, "no room for a row")
		got := batch.NewPairs(3)
		if n, err := r.Next(got); n != 3 {
			t.Errorf("%d rows, %v", n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
