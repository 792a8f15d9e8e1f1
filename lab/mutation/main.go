// Command mutation scores the tests: it breaks lines of the source at random, one at a time in a copy of the
// tree, and runs the tests of the package and of those that guard it until one fails.
//
//	go run ./lab/mutation -n 20 -seed 1
//
// The draw depends on the seed and on the source alone. A change that does not compile is drawn again. A
// change that survives is either a hole in the tests or equivalent to the original; lab/notebook/tests.md
// has the scores and says of the latter why.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// guards are the folders that are broken, each with the packages whose tests may notice, in the order in which
// they run.
var guards = []struct {
	dir   string
	tests []string
}{
	{"geom", []string{"./geom", "./ref", "./verify"}},
	{"geom/hull", []string{"./geom/hull", "./geom", "./ref"}},
	{"geom/cells", []string{"./geom/cells", "./batch", "./kernels", "./cpu"}},
	{"ref", []string{"./ref", "./verify", "./tests/conformance", "./tests"}},
	{"batch", []string{"./batch", "./dispatch", "./cpu", "./dataset", "./tests"}},
	{"dispatch", []string{"./dispatch", ".", "./tests"}},
	{"dataset", []string{"./dataset", "./cmd/batchbench"}},
	{"verify", []string{"./verify", "./tests/conformance", "./cmd/batchbench"}},
	{"cpu", []string{"./cpu", "./tests/conformance", "./tests"}},
	{"kernels/hullcells", []string{"./kernels/hullcells", "./kernels", "./cpu"}},
	{"kernels", []string{"./kernels", "./cpu", "./tests/conformance", "./tests"}},
	{"kernels/isa", []string{"./kernels", "./cpu", "./tests/conformance", "./tests"}},
	{"kernels/shape", []string{"./kernels", "./cpu", "./tests/conformance", "./tests"}},
	{"kernels/pairs", []string{"./kernels", "./cpu", "./tests/conformance", "./tests"}},
	{"kernels/growth", []string{"./kernels", "./cpu", "./tests/conformance", "./tests"}},
	{"kernels/boxes", []string{"./kernels", "./cpu", "./rollout", "./rollout/broadphase", "./tests"}},
	{"contact", []string{"./contact", "./verify", "./tests"}},
	{"kernels/contact", []string{"./contact", "./tests"}},
	{"kernels/contact/include", []string{"./contact", "./tests"}},
	{"derive", []string{"./derive", "./internal/audit"}},
	{"kernels/derive", []string{"./derive", "./kernels/derive"}},
	{"kernels/derive/include", []string{"./derive", "./kernels"}},
}

// otherMachines are parts of names of files that this machine does not compile.
var otherMachines = []string{"_test.go", "neon", "arm64", "other", "nocgo", "doc.go"}

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutation: ")
	count := flag.Int("n", 20, "lines to break")
	seed := flag.Uint64("seed", 1, "seed of the draw")
	dir := flag.String("dir", ".", "root of the module")
	limit := flag.Duration("limit", 4*time.Minute, "processor time of each test run")
	flag.Parse()
	if err := score(*dir, *count, *seed, *limit); err != nil {
		log.Fatal(err)
	}
}

func score(dir string, count int, seed uint64, limit time.Duration) error {
	tree, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	if err := copyTree(dir, tree); err != nil {
		return err
	}
	files, err := sources(tree)
	if err != nil {
		return err
	}
	if err := sound(tree, limit); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	caught := 0
	for k := 0; k < count; {
		m, ok := draw(rng, files)
		if !ok {
			continue
		}
		start := time.Now()
		by, err := m.judge(tree, limit)
		if err != nil {
			return err
		}
		if by == notCompiled {
			continue
		}
		k++
		verdict := "SURVIVED"
		if by != "" {
			verdict = "caught by " + by
			caught++
		}
		fmt.Printf("%2d %s:%d %s, %s (%.0f s)\n   - %s\n   + %s\n", k, m.file.name, m.line+1, m.operator, verdict,
			time.Since(start).Seconds(), strings.TrimSpace(m.file.lines[m.line]), strings.TrimSpace(m.text))
	}
	fmt.Printf("seed %d: caught %d of %d\n", seed, caught, count)
	return nil
}

// copyTree copies the files that git knows, and has the kernels compiled in a third of the time.
func copyTree(from, to string) error {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = from
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, "kernels/") && strings.HasSuffix(name, ".go") {
			data = []byte(strings.Replace(string(data), "CFLAGS: -O3", "CFLAGS: -O1 -DCLR_GENERIC", 1))
		}
		info, err := os.Stat(filepath.Join(from, name))
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, info.Mode()); err != nil {
			return err
		}
	}
	return nil
}

// sound checks that all tests pass as long as nothing is broken.
func sound(tree string, limit time.Duration) error {
	seen := map[string]bool{}
	for _, g := range guards {
		for _, tests := range g.tests {
			if seen[tests] {
				continue
			}
			if out, err := test(tree, tests, limit); err != nil {
				return fmt.Errorf("the tests of %s fail before anything is broken: %w\n%s", tests, err, out)
			}
			seen[tests] = true
		}
	}
	return nil
}

// notCompiled is the verdict on a change that does not compile.
const notCompiled = "the compiler"

// judge breaks the line, runs the tests until one fails and restores the line. It returns the package whose
// tests noticed, "" for none.
func (m *mutant) judge(tree string, limit time.Duration) (by string, err error) {
	path := filepath.Join(tree, m.file.name)
	broken := append([]string(nil), m.file.lines...)
	broken[m.line] = m.text
	if err := os.WriteFile(path, []byte(strings.Join(broken, "\n")), 0o644); err != nil {
		return "", err
	}
	defer func() {
		if e := os.WriteFile(path, []byte(strings.Join(m.file.lines, "\n")), 0o644); err == nil {
			err = e
		}
	}()
	if _, err := run(tree, "build", "./"+filepath.Dir(m.file.name)); err != nil {
		return notCompiled, nil
	}
	for _, tests := range m.file.tests {
		if _, err := test(tree, tests, limit); err != nil {
			return tests, nil
		}
	}
	return "", nil
}

// test runs the tests of a package. The limit is on processor time, so that a busy machine fails none.
func test(tree, tests string, limit time.Duration) (out []byte, err error) {
	limited := fmt.Sprintf(`sh -c 'ulimit -t %d; exec "$0" "$@"'`, int(limit.Seconds()))
	return run(tree, "test", "-short", "-timeout", "2h", "-exec", limited, tests)
}

func run(dir string, args ...string) (out []byte, err error) {
	c := exec.Command("go", args...)
	c.Dir = dir
	return c.CombinedOutput()
}
