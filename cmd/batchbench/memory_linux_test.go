package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
)

// TestLittleMemory: small files that ask for much end with code 2 and name the file, in an address space of 2 GiB, and
// what there is room for is answered. Worlds have invalid poses, which is code 2 as well.
func TestLittleMemory(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	document := map[string]any{"version": 1, "shapes": []any{map[string]any{"kind": "sphere", "radius": 0.5}}}
	var parts []any
	for range 8192 {
		parts = append(parts, map[string]any{"shape": 0})
	}
	document["bodies"] = []any{map[string]any{"name": "ball", "parts": parts[:1]},
		map[string]any{"name": "many", "parts": parts}}
	writeText(t, at("shapes.json"), document)

	// The hull of 20,000 vertices, named 2,000 times.
	var mesh strings.Builder
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		x, y, z := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		r := math.Sqrt(x*x + y*y + z*z)
		fmt.Fprintf(&mesh, "v %.9f %.9f %.9f\n", x/r, y/r, z/r)
	}
	mesh.WriteString("f 1 2 3\n")
	if err := os.WriteFile(at("ball.obj"), []byte(mesh.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var shapes []any
	for range 2000 {
		shapes = append(shapes, map[string]any{"kind": "convex", "mesh": "ball.obj"})
	}
	writeText(t, at("meshes.json"), map[string]any{"version": 1, "shapes": shapes})
	command("generate", "--set", "boxes", "--pairs", "2", "--shapes", at("b.json"), "--out", at("pairs.npz")).want(t,
		exitGood)

	const w, pairs = 60, 200_000
	write := func(path string, arrays map[string]uniform) {
		t.Helper()
		writeUniform(t, path, arrays)
	}
	write(at("large.npz"), map[string]uniform{"bodies": zeros("<i4", 2), "poses": zeros("<f8", 10_000_000, 2, 7),
		"template_a": zeros("<i4", 1), "template_b": zeros("<i4", 1)})
	write(at("rows.npz"), map[string]uniform{"bodies": zeros("<i4", 2), "poses": zeros("<f8", w, 2, 7),
		"skip_a": zeros("<i4", 0), "skip_b": zeros("<i4", 0), "template_a": zeros("<i4", pairs),
		"template_b": ones("<i4", pairs)})
	write(at("motions.npz"), map[string]uniform{"bodies": zeros("<i4", 2), "poses": zeros("<f8", w, 2, 2, 7),
		"template_a": zeros("<i4", pairs), "template_b": ones("<i4", pairs)})
	write(at("same.npz"), map[string]uniform{"bodies": zeros("<i4", 20_000), "poses": ones("<f8", 1, 20_000, 7)})
	write(at("many.npz"), map[string]uniform{"bodies": ones("<i4", 2), "poses": ones("<f8", 1, 2, 7),
		"template_a": zeros("<i4", 1), "template_b": ones("<i4", 1)})
	write(at("results.npz"), map[string]uniform{"part_a": zeros("<i4", 200_000_000),
		"part_b": zeros("<i4", 200_000_000), "status": zeros("|u1", 200_000_000)})

	answer := func(command, worlds string, more ...string) []string {
		return append([]string{command, "--backend", "cpu", "--shapes", at("shapes.json"), "--worlds", at(worlds),
			"--out", at("out.npz")}, more...)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"1.1 GB in an NPZ file", answer("rollout", "large.npz"), exitBadInput, "large.npz"},
		{"1.2e7 rows, all of them answered", answer("rollout", "rows.npz"), exitBadInput, "12,000,000 rows"},
		{"1.2e7 rows of sweeps", answer("sweep", "motions.npz"), exitBadInput, "12,000,000 rows"},
		{"2e8 pairs", answer("rollout", "same.npz", "--max-distance", "1"), exitBadInput, "same.npz"},
		{"2e8 pairs, every one asked", answer("rollout", "same.npz", "--query", "growth", "--reduce", "world"),
			exitBadInput, "same.npz"},
		{"7e7 pairs of parts", answer("rollout", "many.npz", "--no-culling"), exitBadInput, "many.npz"},
		{"results", []string{"verify", "rollout", "--shapes", at("shapes.json"), "--worlds", at("many.npz"),
			"--results", at("results.npz"), "--query", "collide"}, exitBadInput, "results.npz"},
		{"one mesh named 2,000 times", []string{"score", "--backend", "cpu", "--shapes", at("meshes.json"), "--pairs",
			at("pairs.npz"), "--out", at("out.npz")}, exitGood, ""},
	} {
		limited(t, self, c.name, 2, c.args, c.code, c.says)
	}
}

// limited runs a command in an address space of so many GiB and fails unless it ends with the code and says the text.
func limited(t *testing.T, self, name string, gib int, args []string, code int, says string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // what is refused takes a part of a second
	defer cancel()
	shell := fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, gib<<20)
	run := exec.CommandContext(ctx, "bash", append([]string{"-c", shell, self}, args...)...)
	// The C library reserves 64 MB of addresses for the heap of each thread, which count here: as many threads and
	// heaps on every machine.
	run.Env = append(os.Environ(), actAsMain+"=1", "CLEARANCE_DEVICE=", "VK_ICD_FILENAMES=/none",
		"VK_DRIVER_FILES=/none", "GOMAXPROCS=2", "MALLOC_ARENA_MAX=1")
	var stderr bytes.Buffer
	run.Stderr = &stderr
	_ = run.Run()
	said := stderr.String()
	if got := run.ProcessState.ExitCode(); got != code || !strings.Contains(said, says) ||
		strings.Contains(said, "goroutine ") {
		t.Errorf("%s: exit code %d, want %d and %q in\n%.1500s", name, got, code, says, said)
	}
}

func writeText(t *testing.T, path string, document any) {
	t.Helper()
	data, err := json.Marshal(document)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// uniform is an array of zeros, or of ones.
type uniform struct {
	typ   string
	shape []int
	one   bool
}

func zeros(typ string, shape ...int) uniform { return uniform{typ, shape, false} }
func ones(typ string, shape ...int) uniform  { return uniform{typ, shape, true} }

// writeUniform writes a compressed NPZ file of such arrays.
func writeUniform(t *testing.T, path string, arrays map[string]uniform) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 1) })
	for name, a := range arrays {
		member, err := z.Create(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		dims, n := "", int(a.typ[2]-'0')
		for _, d := range a.shape {
			dims += fmt.Sprintf("%d, ", d)
			n *= d
		}
		header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", a.typ, dims)
		block := make([]byte, 1<<16)
		if a.one {
			for i := 0; i < len(block); i += int(a.typ[2] - '0') {
				if block[i] = 1; a.typ == "<f8" {
					copy(block[i:], []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f})
				}
			}
		}
		fmt.Fprintf(member, "\x93NUMPY\x01\x00%c%c%s", byte(len(header)), 0, header)
		for n > 0 {
			k := min(n, len(block))
			if _, err := member.Write(block[:k]); err != nil {
				t.Fatal(err)
			}
			n -= k
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOutputBeyondDisk: every command that writes a table estimates it before it runs, and refuses one beyond the disk
// with both sizes; nothing is left beside it.
func TestOutputBeyondDisk(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	worlds := at("worlds.parquet")
	writeWideWorlds(t, at("shapes.json"), worlds)
	before, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	// As many steps as states have room for three times, of which the problems have none.
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); err != nil {
		t.Fatal(err)
	}
	states := 3 * 100 * rowBytes(stateColumns(5))
	steps := strconv.Itoa(min(int(float64(disk.Bavail)*float64(disk.Bsize)/states), math.MaxInt32))
	for _, args := range [][]string{
		{"step", "--scene", "stack4", "--count", "100", "--steps", steps, "--out", at("x.npz"), "--problems",
			at("p.npz")},
		{"step", "--scene", "stack4", "--count", "100", "--steps", steps, "--out", at("x.npz"), "--problems",
			at("p.parquet")},
		{"generate", "--set", "boxes", "--pairs", "1000000000000", "--shapes", at("x.json"), "--out", at("x.npz")},
		{"generate", "--set", "boxes", "--pairs", "1000000000000", "--shapes", at("x.json"), "--out",
			at("x.parquet")},
		{"step", "--scene", "stack4", "--count", "1000", "--steps", "2000000000", "--out", at("x.npz")},
		{"step", "--scene", "stack4", "--count", "1000", "--steps", "2000000000", "--out", at("x.parquet")},
		{"rollout", "--shapes", at("shapes.json"), "--worlds", worlds, "--out", at("x.npz")},
		{"rollout", "--shapes", at("shapes.json"), "--worlds", worlds, "--out", at("x.parquet")},
		{"rollout", "--shapes", at("shapes.json"), "--worlds", worlds, "--out", at("parts") + "/"},
	} {
		command(args...).want(t, exitBadInput).says(t, "would take ").says(t, " is free there")
	}
	after, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != len(before) {
		t.Errorf("files are left: %v", after)
	}
}

// writeWideWorlds writes a file of some megabytes whose results, a row for each of 10^5 pairs of 2·10^5 worlds, take
// terabytes.
func writeWideWorlds(t *testing.T, shapes, worlds string) {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, []string{"ball"})
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.WriteLibrary(shapes, lib); err != nil {
		t.Fatal(err)
	}
	const w, p = 200_000, 100_000
	table := batch.BodiesOfShapes(lib)
	in := &batch.Worlds{M: 2, Bodies: []int32{0, 0}, TemplateA: make([]int32, p),
		TemplateB: slices.Repeat([]int32{1}, p),
		Poses:     slices.Repeat([]float64{0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 1, 0, 0, 0}, w)}
	if err := dataset.WriteRollout(worlds, in, table); err != nil {
		t.Fatal(err)
	}
}
