package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// noSize are the flags whose texts are names: of what is there, of files to write, or of files that the Python package
// reads.
var noSize = []string{"backend", "device", "simd", "columns", "set", "sets", "scene", "kind", "beside", "concave",
	"package", "json", "out", "srdf", "step --problems", "step --contacts", "generate --shapes", "fit --shapes"}

// sized reports whether a flag of a command takes a size: a number of something, or a file that may be large.
func sized(command string, f *pflag.Flag) bool {
	kinds := []string{"int", "int64", "intSlice", "lo:hi", "string", "stringSlice", "stringArray"}
	return slices.Contains(kinds, f.Value.Type()) && !slices.Contains(noSize, f.Name) &&
		!slices.Contains(noSize, command+" --"+f.Name)
}

// commands yields all commands of the program that have flags of their own, by their names below the root.
func commands(c *cobra.Command, path string, yield func(path string, c *cobra.Command)) {
	for _, sub := range c.Commands() {
		name := strings.TrimSpace(path + " " + sub.Name())
		if !sub.DisableFlagParsing {
			yield(name, sub)
		}
		commands(sub, name, yield)
	}
}

// sizeCase is a size that is too large, of a flag.
type sizeCase struct {
	flag     string
	commands []string // that read the flag by one function, which the first of them runs
	args     []string // behind the command
	code     int
	says     string
}

// sizeCases are sizes too large, by flag. The code is 0 where a size is a limit, which takes no memory.
func sizeCases(t *testing.T, at func(name string) string) []sizeCase {
	t.Helper()
	const most, many = "9000000000000000000", "1500000000" // values, of 6 and 12 GB
	solved := func(args ...string) { t.Helper(); command(args...).want(t, exitGood) }
	solved("generate", "--set", "boxes", "--pairs", "20", "--shapes", at("boxes.json"), "--out", at("pairs.npz"))
	pairs := []string{"--shapes", at("boxes.json"), "--pairs", at("pairs.npz")}
	solved(append([]string{"score", "--backend", "cpu", "--columns", "distance,normal,witness_a,witness_b,gap,status",
		"--out",
		at("results.npz")}, pairs...)...)
	solved(append([]string{"derive", "--results", at("results.npz"), "--out", at("derivatives.npz")}, pairs...)...)
	solved("contact", "--scene", "slide", "--worlds", "3", "--out", at("problems.npz"))
	solved("step", "--scene", "ground", "--count", "2", "--steps", "2", "--out", at("s.npz"), "--problems",
		at("steps.npz"), "--contacts", at("contacts.npz"))

	two := []int{2}
	poses := func(worlds ...int) uniform { return ones("<f8", append(worlds, 2, 7)...) }
	worlds := func(list string, with map[string]uniform, worlds ...int) map[string]uniform {
		all := map[string]uniform{list: zeros("<i4", two...), "poses": poses(worlds...), "template_a": zeros("<i4", 1),
			"template_b": ones("<i4", 1)}
		for name, a := range with {
			all[name] = a
		}
		return all
	}
	template := map[string]uniform{"template_a": zeros("<i4", 1_500_000_000), "template_b": zeros("<i4", 1_500_000_000)}
	writeUniform(t, at("few.npz"), worlds("bodies", nil, 2))
	writeUniform(t, at("moves.npz"), worlds("bodies", nil, 2, 2))
	writeClaims(t, at("bodies.npz"), worlds("bodies", template, 2))
	writeClaims(t, at("shapes.npz"), worlds("shapes", template, 2))
	writeClaims(t, at("motions.npz"), worlds("bodies", template, 2, 2))
	writeClaims(t, at("manyworlds.npz"), worlds("bodies", nil, 50_000_000))
	writeClaims(t, at("velocities.npz"), map[string]uniform{"velocity": zeros("<f8", 50_000_000, 27)})
	claimed := func(n, b, c int) map[string]uniform {
		return map[string]uniform{"mass": ones("<f8", n, b), "inertia": ones("<f8", n, b, 6),
			"velocity": zeros("<f8", n, b, 6), "count": zeros("<i4", n), "body_a": zeros("<i4", n, c),
			"body_b": zeros("<i4", n, c), "arm_a": zeros("<f8", n, c, 3), "arm_b": zeros("<f8", n, c, 3),
			"frame": zeros("<f8", n, c, 9), "friction": zeros("<f8", n, c)}
	}
	writeClaims(t, at("claims.npz"), claimed(10_000_000, 4, 8))
	writeClaims(t, at("listed.npz"), map[string]uniform{"step": zeros("<i4", 1_500_000_000),
		"world": zeros("<i4", 1_500_000_000)})
	writeClaims(t, at("answers.npz"), map[string]uniform{"distance": zeros("<f8", 20), "status": zeros("|u1", 20)})
	writeClaims(t, at("rows.npz"), map[string]uniform{"part_a": zeros("<i4", 1_500_000_000),
		"part_b": zeros("<i4", 1_500_000_000), "status": zeros("|u1", 1_500_000_000)})
	writeClaims(t, at("sweeps.npz"), map[string]uniform{"part_a": zeros("<i4", 1_500_000_000),
		"part_b": zeros("<i4", 1_500_000_000), "state": zeros("|u1", 1_500_000_000),
		"lower": zeros("<f8", 1_500_000_000), "upper": zeros("<f8", 1_500_000_000),
		"closest": zeros("<f8", 1_500_000_000), "t0": zeros("<f8", 1_500_000_000), "t1": zeros("<f8", 1_500_000_000),
		"evaluations": zeros("<i4", 1_500_000_000)})
	for _, name := range []string{"huge.json", "huge.stl"} { // without a block on the disk
		f, err := os.Create(at(name))
		if err == nil {
			err = errors.Join(f.Truncate(9<<30), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	of := strings.Fields
	files := func(shapes, worlds string, more ...string) []string {
		return append([]string{"--shapes", at(shapes), "--worlds", at(worlds)}, more...)
	}
	out, results := []string{"--out", at("out.npz")}, []string{"--results", at("results.npz")}
	with := func(args []string, more ...string) []string { return append(args[:len(args):len(args)], more...) }
	pairCommands := []string{"score", "derive", "verify", "verify derivatives"}
	solvers := []string{"run", "throughput", "score", "rollout", "sweep", "derive", "verify", "verify rollout",
		"verify sweep", "verify derivatives"}
	run := of("--sets boxes --pairs 20 --rounds 1 --backend cpu")
	motions := []string{"sweep", "verify sweep"}
	bodies := []string{"rollout", "verify rollout", "step", "verify contact"}
	audits := []string{"verify", "verify rollout", "verify sweep", "verify derivatives"}
	return []sizeCase{
		{"workers", solvers, of("--workers 2000000000"), exitBadInput, "--workers 2000000000"},
		{"workers", []string{"contact"}, of("--workers 2000000000"), exitBadInput, "--workers 2000000000"},
		{"workers", []string{"step"}, with(of("--scene ground --workers 2000000000"), out...), exitBadInput,
			"--workers 2000000000"},
		{"max-iterations", solvers[:4], with(run, "--max-iterations", "2147483647"), exitGood, ""},
		{"rounds", []string{"run"}, of("--rounds " + most), exitBadInput, "--rounds " + most},
		{"sample", []string{"run"}, with(run, "--sample", most), exitGood, ""},
		{"sample", audits, with(pairs, with(results, "--sample", most)...), exitGood, ""},
		{"prove", audits[:1], with(pairs, with(results, "--prove", most)...), exitGood, ""},
		{"pairs", []string{"run"}, of("--pairs " + most), exitBadInput, "--pairs " + most},
		{"pairs", []string{"generate"}, with(of("--set boxes --pairs 1000000000000 --shapes "+at("x.json")), out...),
			exitBadInput, "1000000000000 rows would take"},
		{"sizes", []string{"throughput"}, of("--sizes 1e8"), exitBadInput, "100000000 pairs"},
		{"vertices", []string{"fit"}, of("--vertices 2000000000 --mesh x.obj --shapes " + at("x.json")), exitBadInput,
			"--vertices 2000000000"},
		{"limit", []string{"contact"}, of("--scene slide --worlds 2 --reference --limit " + most), exitGood, ""},
		{"worlds", []string{"contact"}, of("--worlds 100000000"), exitBadInput, "100000000 worlds"},
		{"count", []string{"step", "verify contact"}, with(of("--scene stack4 --count 20000000"), out...), exitBadInput,
			"20000000 worlds"},
		{"count", []string{"step", "verify contact"}, with(of("--scene stack4 --count 2000000"), out...), exitBadInput,
			"2000000 worlds"},
		{"steps", []string{"step"}, with(of("--scene stack4 --count 1000 --steps 2000000000"), out...), exitBadInput,
			"is free there"},
		{"every", []string{"step"}, with(of("--scene ground --count 2 --steps 2 --every "+most), out...), exitGood, ""},
		{"save-every", []string{"step"}, with(of("--scene ground --count 2 --steps 2 --save-every "+most), out...),
			exitGood, ""},
		{"max-contacts", []string{"step"}, with(of("--scene ground --count 2 --steps 2 --max-contacts 2147483647"),
			out...), exitGood, ""},
		{"velocities", []string{"step"}, with(of("--scene ground --count 2 --velocities "+at("velocities.npz")),
			out...),
			exitBadInput, "50000000 rows"},
		{"samples", []string{"derive", "score", "verify derivatives"}, with(pairs, with(results, "--samples",
			"2000000000",
			"--out", at("out.npz"))...), exitBadInput, "2000000000 samples"},
		{"rings", []string{"derive", "score", "verify derivatives"}, with(pairs, with(results, "--derivative", "gumbel",
			"--rings", most, "--out", at("out.npz"))...), exitGood, ""},
		{"max-evaluations", motions[:1], files("boxes.json", "moves.npz", with(out, "--max-evaluations", most)...),
			exitGood, ""},
		{"rows", []string{"score", "rollout", "sweep"}, with(pairs, with(out, "--rows", "0:"+most)...), exitBadInput,
			"0:" + most},
		{"rows", []string{"verify rollout", "verify sweep"}, files("boxes.json", "few.npz", with(results, "--rows",
			"0:"+most)...), exitBadInput, "0:" + most},
		{"pairs", pairCommands, []string{"--shapes", at("boxes.json"), "--pairs", at("claims.npz"), "--out",
			at("o.npz")},
			exitBadInput, "claims.npz"},
		{"shapes", pairCommands, []string{"--shapes", at("huge.json"), "--pairs", at("pairs.npz"), "--out",
			at("o.npz")},
			exitBadInput, "9663676416 bytes"},
		{"shapes", append(bodies, motions...), files("huge.json", "few.npz", out...), exitBadInput, "9663676416 bytes"},
		{"model", append(solvers[2:5:5], "derive", "verify", "verify rollout", "verify sweep", "verify derivatives"),
			[]string{"--model", at("huge.stl"), "--pairs", at("pairs.npz"), "--out", at("o.npz")}, exitBadInput,
			"huge.stl"},
		{"mesh", []string{"generate", "run", "throughput", "fit"},
			of("--set mesh --mesh " + at("huge.stl") + " --shapes " +
				at("x.json") + " --out " + at("o.npz")), exitBadInput, "huge.stl"},
		{"worlds", pairCommands, files("boxes.json", "shapes.npz", out...), exitBadInput, many},
		{"worlds", bodies[:2], files("boxes.json", "bodies.npz", out...), exitBadInput, many},
		{"worlds", bodies[2:], files("boxes.json", "manyworlds.npz", out...), exitBadInput, "50000000"},
		{"worlds", motions, files("boxes.json", "motions.npz", out...), exitBadInput, many},
		{"results", []string{"derive", "verify", "verify derivatives"}, with(pairs, "--results", at("rows.npz"),
			"--out",
			at("o.npz")), exitBadInput, "rows.npz"},
		{"answers", audits[3:], with(pairs, "--results", at("derivatives.npz"), "--answers", at("rows.npz")),
			exitBadInput, "rows.npz"},
		{"results", audits[1:2], files("boxes.json", "few.npz", "--results", at("rows.npz")), exitBadInput, "rows.npz"},
		{"results", audits[2:3], files("boxes.json", "moves.npz", "--results", at("sweeps.npz")), exitBadInput,
			"sweeps.npz"},
		{"problems", []string{"contact"}, []string{"--problems", at("claims.npz")}, exitBadInput, "10000000 rows"},
		{"results", []string{"verify contact"}, []string{"--results", at("claims.npz")}, exitBadInput, "10000000 rows"},
		{"contacts", []string{"verify contact"}, []string{"--results", at("steps.npz"), "--contacts", at("listed.npz")},
			exitBadInput, "1500000000 rows"},
		{"states", []string{"verify contact"}, []string{"--results", at("steps.npz"), "--contacts", at("contacts.npz"),
			"--scene", "ground", "--count", "2", "--states", at("listed.npz")}, exitBadInput, "1500000000 rows"},
	}
}

// value is the bytes of a value.
func (a uniform) value() []byte {
	v := make([]byte, a.typ[2]-'0')
	if a.one {
		if v[0] = 1; a.typ == "<f8" {
			copy(v, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f})
		}
	}
	return v
}

// writeClaims writes an NPZ file whose large members have the header of an array and the length of its values, but not
// these: what is read of it must be refused by its size.
func writeClaims(t *testing.T, path string, arrays map[string]uniform) {
	t.Helper()
	const small = 1 << 20
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, a := range arrays {
		n := int(a.typ[2] - '0')
		var shape strings.Builder
		for _, d := range a.shape {
			fmt.Fprintf(&shape, "%d, ", d)
			n *= d
		}
		header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", a.typ, shape.String())
		header = fmt.Sprintf("\x93NUMPY\x01\x00%c%c%s", byte(len(header)), 0, header)
		var packed bytes.Buffer
		w, err := flate.NewWriter(&packed, 1)
		if err == nil {
			_, err = w.Write([]byte(header))
			if err == nil { // all of a small array, else what is read ahead
				_, err = w.Write(bytes.Repeat(a.value(), min(n, small)/len(a.value())))
			}
			err = errors.Join(err, w.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		if n > small { // as much as values that are all the same would take
			packed.Write(make([]byte, n/1000))
		}
		member, err := z.CreateRaw(&zip.FileHeader{Name: name + ".npy", Method: zip.Deflate,
			UncompressedSize64: uint64(len(header) + n), CompressedSize64: uint64(packed.Len())})
		if err == nil {
			_, err = member.Write(packed.Bytes())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestSizes: every flag of every command that takes a size, a number or a file, refuses what there is no memory or disk
// for, with exit code 2 and the size, in an address space of 4 GiB. A flag without a case fails.
func TestSizes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	cases := sizeCases(t, at)
	commands(newRoot(&env{}), "", func(path string, c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !sized(path, f) {
				return
			}
			if !slices.ContainsFunc(cases, func(k sizeCase) bool {
				return k.flag == f.Name && slices.Contains(k.commands, path)
			}) {
				t.Errorf("%s --%s takes a size (%s) that no case is too large for", path, f.Name, f.Value.Type())
			}
		})
	})
	for _, c := range cases {
		name := c.commands[0] + " --" + c.flag
		t.Run(name, func(t *testing.T) {
			limited(t, self, name, 4, append(strings.Fields(c.commands[0]), c.args...), c.code, c.says)
		})
	}
}
