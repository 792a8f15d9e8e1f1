package gpucost

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"clearance/tests/need"
)

func TestMain(m *testing.M) {
	if InChild() {
		os.Exit(Child(os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// results is the folder of the committed results.
const results = "../results"

// TestCommitted compiles for RDNA2 and compares with the committed results. In make test it compiles the calls of a set
// of all kinds, which have every stage; those of the other sets have stages for fewer kinds.
func TestCommitted(t *testing.T) {
	committed, err := read(filepath.Join(results, resultsFile))
	if err != nil {
		t.Fatal(err)
	}
	// RADV is not required where Vulkan is: another driver serves all other tests.
	if err := askDriver(committed); errors.Is(err, errNoRADV) || errors.Is(err, errOtherCompiler) {
		t.Skip("SKIPPED: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	set, pipelines, uses := "", 40, 80
	if !need.All() {
		set, pipelines, uses = "mixed", 20, 15
		committed.Uses = slices.DeleteFunc(committed.Uses, func(u Use) bool { return u.Library != set })
	}
	now, err := inChild(families[0].name, set, false)
	if err != nil {
		t.Fatal(err)
	}
	stages := map[string]bool{}
	for i := range now.Pipelines {
		stages[now.Pipelines[i].Stage] = true
	}
	for i := range committed.Pipelines {
		if stage := committed.Pipelines[i].Stage; !stages[stage] {
			t.Errorf("no pipeline of stage %s", stage)
		}
	}
	if len(now.Pipelines) < pipelines || len(now.Uses) < uses {
		t.Errorf("%d pipelines for %d calls: some are missing", len(now.Pipelines), len(now.Uses))
	}
	found, err := compare(committed, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range found {
		t.Error(line)
	}
	if len(found) > 0 {
		t.Log("where these are meant, run 'make gpu-cost' and commit the results")
	}
}

// TestPage: the committed page is that of the committed results.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{resultsFile, nvidiaFile} {
		data, err := os.ReadFile(filepath.Join(results, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := writePage(dir); err != nil {
		t.Fatal(err)
	}
	var pages [2]string
	for i, folder := range []string{results, dir} {
		page, err := os.ReadFile(filepath.Join(folder, pageFile))
		if err != nil {
			t.Fatal(err)
		}
		pages[i] = string(page)
	}
	if pages[0] != pages[1] {
		t.Error("gpu-cost.md is not the page of the results; run 'lab gpu-cost --print-only'")
	}
}

// example is a report of one GPU with two calls that share their first stage.
func example() *Report {
	cost := map[string]Cost{"gpu": {Registers: 100, Spills: 10, Waves: 4, Instructions: 1000, Code: 8000}}
	return &Report{
		Shaders: "0123",
		Targets: []Target{{"gpu", "A", "compiler 1"}},
		Pipelines: []Pipeline{
			{"first", map[uint32]uint32{0: 64}, cost}, {"second", map[uint32]uint32{0: 64, 2: 7}, cost},
			{"second", map[uint32]uint32{0: 64, 2: 8}, cost},
		},
		Uses: []Use{
			{"boxes", "distance", "auto", "single", []int{0, 1}},
			{"hulls", "distance", "auto", "single", []int{0, 2}},
		},
	}
}

func TestCompare(t *testing.T) {
	set := func(c Cost) func(*Report) {
		return func(r *Report) { r.Pipelines[2].Costs = map[string]Cost{"gpu": c} }
	}
	for name, c := range map[string]struct {
		change func(*Report)
		want   string // parts of the lines, apart from each other by |; "": no line
	}{
		"equal":  {func(*Report) {}, ""},
		"better": {set(Cost{Registers: 64, Instructions: 10, Code: 80}), ""},
		"within": {set(Cost{Registers: 110, Spills: 11, Instructions: 1100, Code: 8800}), ""},
		"spills": {set(Cost{Spills: 12}),
			"hulls, single distance, auto: stage second: 12 spilled registers, 10 before"},
		"scalar spills": {set(Cost{Spills: 8, ScalarSpills: 4}), "12 spilled registers, 10 before"},
		"registers":     {set(Cost{Registers: 111}), "111 registers, 100 before"},
		"instructions":  {set(Cost{Instructions: 1101}), "1101 instructions, 1000 before"},
		"code":          {set(Cost{Code: 8801}), "8801 bytes of code"},
		"constants":     {func(r *Report) { r.Pipelines[1].Constants = map[uint32]uint32{9: 9} }, ""},
		"new call": {func(r *Report) { r.Uses[0].Query = "collide" },
			"collide, auto: not in the committed results|boxes, single distance, auto: only in the committed results"},
		"new stage": {func(r *Report) { r.Pipelines[1].Stage = "third" },
			"stage third is not in the committed|stage second is only in the committed"},
		"fewer stages": {func(r *Report) { r.Uses[1].Pipelines = []int{0} },
			"hulls, single distance, auto: stage second is only in the committed"},
		"fewer calls": {func(r *Report) { r.Uses = r.Uses[:1] },
			"hulls, single distance, auto: only in the committed"},
		"new GPU": {func(r *Report) { r.Targets[0].Name = "other" }, "other: not in the committed results"},
	} {
		now := example()
		c.change(now)
		found, err := compare(example(), now)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if c.want != "" {
			want = strings.Split(c.want, "|")
		}
		if !slices.EqualFunc(found, want, strings.Contains) {
			t.Errorf("%s: %q, want %q", name, found, want)
		}
	}
	now := example()
	now.Targets[0].Compiler = "compiler 2"
	if _, err := compare(example(), now); !errors.Is(err, errOtherCompiler) {
		t.Errorf("another compiler: %v", err)
	}
}

// TestManifest: the driver is that of the architecture of the process.
func TestManifest(t *testing.T) {
	both := []string{"/d/radeon_icd.i686.json", "/d/radeon_icd.x86_64.json"}
	for _, c := range []struct {
		arch  string
		files []string
		want  string
	}{
		{"amd64", both, both[1]}, {"386", both, both[0]}, {"arm64", both, ""}, {"amd64", both[:1], ""},
		{"arm64", append(both, "/d/radeon_icd.json"), "/d/radeon_icd.json"}, {"riscv64", both, ""}, {"amd64", nil, ""},
	} {
		if got := manifestFor(c.arch, c.files); got != c.want {
			t.Errorf("%s, %v: %q, want %q", c.arch, c.files, got, c.want)
		}
	}
}

// TestNVIDIASources: the report of compilers that take sources says which these were, whatever the report has whose
// pipelines they compile.
func TestNVIDIASources(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := (&cuda{shaders: dir}).report(&Report{Shaders: "0123"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Shaders != hashOfShaders() {
			t.Errorf("shaders %s, want %s", r.Shaders, hashOfShaders())
		}
		return r.Sources
	}
	seen := map[string]bool{}
	for _, f := range [][2]string{{"a.comp", "x"}, {"b.glsl", "y"}, {"b.glsl", "z"}, {"a.comp", "xx"}} {
		seen[put(f[0], f[1])] = true
	}
	if len(seen) != 4 || !seen[put("embed.go", "no shader")] {
		t.Errorf("sources %v", seen)
	}
	file := filepath.Join(dir, resultsFile)
	want := Report{Shaders: "0123", Sources: "4567"}
	if err := want.write(file); err != nil {
		t.Fatal(err)
	}
	if back, err := read(file); err != nil || back.Sources != "4567" {
		t.Errorf("read back %+v, %v", back, err)
	}
}

// TestRoundTrip: what is written is read back, and a pipeline that is not there is refused.
func TestRoundTrip(t *testing.T) {
	file := filepath.Join(t.TempDir(), resultsFile)
	if err := example().write(file); err != nil {
		t.Fatal(err)
	}
	back, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, example()) {
		t.Errorf("read back %+v", back)
	}
	wrong := example()
	wrong.Uses[1].Pipelines[1] = 3
	if err := wrong.write(file); err != nil {
		t.Fatal(err)
	}
	if _, err := read(file); err == nil || !strings.Contains(err.Error(), "no pipeline 3") {
		t.Errorf("a pipeline that is not there: %v", err)
	}
}

// TestAdd: reports of two GPUs have the same calls and stages, or are refused.
func TestAdd(t *testing.T) {
	other := func() *Report {
		r := example()
		r.Targets[0].Name = "other"
		for i := range r.Pipelines {
			r.Pipelines[i].Costs = map[string]Cost{"other": {Registers: 1}}
		}
		return r
	}
	all := new(Report)
	for _, r := range []*Report{example(), other()} {
		if err := all.add(r); err != nil {
			t.Fatal(err)
		}
	}
	if len(all.Targets) != 2 || len(all.Pipelines) != 3 || len(all.Uses) != 2 {
		t.Errorf("%d GPUs, %d pipelines, %d calls", len(all.Targets), len(all.Pipelines), len(all.Uses))
	}
	for _, p := range all.Pipelines {
		if len(p.Costs) != 2 || p.Costs["other"].Registers != 1 || p.Costs["gpu"].Registers != 100 {
			t.Errorf("costs %v", p.Costs)
		}
	}
	third := other()
	third.Pipelines[2].Constants = map[uint32]uint32{2: 9}
	if err := all.add(third); err == nil {
		t.Error("other pipelines for the same call are merged")
	}
}
