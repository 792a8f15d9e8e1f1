package dataset

import (
	"archive/zip"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"clearance/batch"
)

// motionsFile writes worlds of moving bodies, each with bodies of its own, and returns them.
func motionsFile(t *testing.T, path string, worlds int) *batch.Motions {
	t.Helper()
	const m, way = 3, 2
	rng := rand.New(rand.NewPCG(30, 3))
	motions := &batch.Motions{M: m, T: way, TemplateA: []int32{0}, TemplateB: []int32{2}}
	for range worlds * m {
		motions.Bodies = append(motions.Bodies, rng.Int32N(3)-1)
	}
	for range worlds * way * m * 7 {
		motions.Poses = append(motions.Poses, rng.Float64())
	}
	if err := WriteMotions(path, motions, someBodies(t)); err != nil {
		t.Fatal(err)
	}
	return motions
}

// deflated compresses the arrays of an NPZ file.
func deflated(t *testing.T, path string) {
	t.Helper()
	old, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	out, err := os.Create(path + ".new")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := zip.NewWriter(out)
	for _, member := range old.File {
		from, err := member.Open()
		if err != nil {
			t.Fatal(err)
		}
		to, err := w.Create(member.Name)
		if err == nil {
			_, err = io.Copy(to, from)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestWorldRanges: ranges of a file, also with gaps, are the same as slices of the whole, in files of several row
// groups and of arrays that are stored or deflated.
func TestWorldRanges(t *testing.T) {
	bodies := someBodies(t)
	const worlds = rowGroup/3 + 7 // of 6 rows in Parquet: more than two row groups
	for _, file := range []string{"stored.npz", "deflated.npz", "w.parquet"} {
		path := filepath.Join(t.TempDir(), file)
		all := motionsFile(t, path, worlds)
		if file == "deflated.npz" {
			deflated(t, path)
		}
		for _, ranges := range [][][2]int{
			{{0, worlds}},
			{{0, 1}, {1, 1}, {1, worlds / 2}, {worlds / 2, worlds}},
			{{3, 5}, {7, 8}, {worlds - 2, worlds - 1}},
			{{worlds - 1, worlds}, {worlds, worlds}},
			{{rowGroup / 6, rowGroup/6 + 2}},
		} {
			r, err := OpenMotions(path, bodies)
			if err != nil {
				t.Fatal(err)
			}
			if r.Count() != worlds || r.BodiesPerWorld() != 3 || r.WayPoints() != 2 || r.RowsPerWorld() != 1 {
				t.Fatalf("%s: %d worlds of %d bodies, %d way points, %d pairs", file, r.Count(), r.BodiesPerWorld(),
					r.WayPoints(), r.RowsPerWorld())
			}
			for _, k := range ranges {
				got, err := r.Worlds(k[0], k[1])
				if err != nil {
					t.Fatalf("%s, worlds %v: %v", file, k, err)
				}
				want := all.Slice(k[0], k[1])
				if got.Count() != k[1]-k[0] || !slices.Equal(got.Poses, want.Poses) {
					t.Fatalf("%s, worlds %v: other poses", file, k)
				}
				for w := range got.Count() {
					for b := range int32(3) {
						if got.Body(w, b) != want.Body(w, b) {
							t.Fatalf("%s, worlds %v: other bodies in world %d", file, k, w)
						}
					}
				}
			}
			if last := ranges[len(ranges)-1][1]; last > 0 {
				if _, err := r.Worlds(last-1, last); err == nil {
					t.Errorf("%s: world %d read again", file, last-1)
				}
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestShardReadsItsRange: the last world is read whatever the bytes of worlds before it are, and an error names
// the world of the file.
func TestShardReadsItsRange(t *testing.T) {
	bodies := someBodies(t)
	for _, ext := range formats {
		path := filepath.Join(t.TempDir(), "w"+ext)
		const worlds = rowGroup/3 + 7
		motionsFile(t, path, worlds)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := len(data) * 6 / 10; i < len(data)*8/10; i++ { // of the poses, or of the second of three row groups
			data[i] ^= 0x55
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadMotions(path, bodies); err == nil {
			t.Errorf("%s: a damaged file was read", ext)
		}
		r, err := OpenMotions(path, bodies)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Worlds(worlds-1, worlds); err != nil {
			t.Errorf("%s: the last world: %v", ext, err)
		}
		r.Close()
	}
	path := filepath.Join(t.TempDir(), "w.npz")
	motions := motionsFile(t, path, 9)
	motions.Bodies[3*7+1] = 1
	if err := WriteMotions(path, motions, bodies); err != nil {
		t.Fatal(err)
	}
	one, err := batch.NewBodies(bodies.Library(), []batch.Body{{Parts: bodies.Parts(0)}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenMotions(path, one)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Worlds(7, 8)
	wantError(t, err, path, "bodies[22] (world 7, body 1) = 1")
}
