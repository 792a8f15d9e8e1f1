package tests

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestImportTable: the tables of packages in ARCHITECTURE.md and, for the laboratory, in lab/README.md are the one that
// the layering test enforces.
func TestImportTable(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "../ARCHITECTURE.md"), "\n## Packages\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, lab, _ := strings.Cut(read(t, "../lab/README.md"), "\n## Packages\n")
	name := regexp.MustCompile("`([a-z0-9./]+)`")
	documented := map[string][]string{}
	for line := range strings.Lines(section + lab) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		var imports []string
		switch what := strings.TrimSpace(cells[3]); what {
		case "–":
		case "any package":
			imports = []string{anything}
		default:
			imports = strings.Split(what, ", ")
		}
		for _, m := range name.FindAllStringSubmatch(cells[1], -1) {
			documented[m[1]] = imports
		}
	}
	for pkg, want := range layers {
		got, ok := documented[pkg]
		if !ok {
			t.Errorf("ARCHITECTURE.md lacks package %s", pkg)
			continue
		}
		got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
		if !slices.Equal(got, want) {
			t.Errorf("ARCHITECTURE.md says that %s may import %v; tests/layering_test.go says %v", pkg, got, want)
		}
	}
	for pkg := range documented {
		if _, ok := layers[pkg]; !ok {
			t.Errorf("ARCHITECTURE.md has package %s, which tests/layering_test.go lacks", pkg)
		}
	}
}

// TestMapOfKernels: ARCHITECTURE.md names every header of the kernels, and shaders/doc.go every shader.
func TestMapOfKernels(t *testing.T) {
	page, passes := read(t, "../ARCHITECTURE.md"), read(t, "../shaders/doc.go")
	headers, shaders := 0, 0
	for _, path := range walk(t) {
		name := filepath.Base(path)
		if ok, _ := filepath.Match("shaders/*.comp", path); ok {
			shaders++
			if !regexp.MustCompile(`[^\w]` + regexp.QuoteMeta(name)).MatchString(passes) {
				t.Errorf("shaders/doc.go does not name %s", path)
			}
		}
		if ok, _ := filepath.Match("kernels/*/*.h", path); !ok || strings.HasPrefix(path, "kernels/contact/") {
			continue
		}
		headers++
		if !strings.Contains(page, "["+name+"]") && !strings.Contains(page, "`"+name+"`") {
			t.Errorf("ARCHITECTURE.md does not name %s", path)
		}
	}
	if headers < 30 || shaders < 15 {
		t.Fatalf("found %d headers and %d shaders; the walk did not see them", headers, shaders)
	}
}
