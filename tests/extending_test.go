package tests

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"clearance/contact"
	"clearance/geom"
)

// extension is a section of docs/extending.md that is compared with the tree: a present kind, query, … stands for the
// next one. Files of the product that name it have to be in the tables of the section.
type extension struct {
	title  string
	takes  int            // files of the first table, as the section says; tables of optional files follow
	naming *regexp.Regexp // what the sources of the representative name
	listed []string       // files for NAME, which may lack the name

	// elsewhere are other files that name it, and why the next one does not take them.
	elsewhere map[string]string
}

var extensions = []extension{
	{
		title: "A kind of shape", takes: 8,
		naming: regexp.MustCompile("\\bgeom\\.(Kind)?Cone\\b|\\bKindCone\\b|\\bKIND_CONE\\b|\\bdef cone\\b|" +
			"\"cone\"|`cone`"),
		listed: []string{"geom/round.go"},
		elsewhere: map[string]string{
			"contact/scenes/scenes.go":        "a seeded set",
			"dataset/generate/adversarial.go": "a seeded set",
			"dataset/generate/shapes.go":      "seeded sets",
			"dataset/shapes.go":               "an example",
			"internal/testkit/testkit.go":     "shapes of tests",
			"scripts/same-bits.py":            "a set by which versions are compared",
		},
	},
	{
		title: "An attribute of shapes", takes: 2,
		naming:    regexp.MustCompile(`\bAttributeCenter\b`),
		elsewhere: map[string]string{"batch/library.go": "the query growth uses the attribute"},
	},
	{
		title: "A query", takes: 3,
		naming: regexp.MustCompile(`\bbatch\.Penetration\b|(?m)^\tPenetration: \{|\bQUERY_PENETRATION\b`),
		listed: []string{"ref/solve.go"},
	},
	{
		title: "A pass of the shaders", takes: 3,
		naming:    regexp.MustCompile(`"box_axes"|\bbox_axes\.comp\b`),
		listed:    []string{"shaders/box_axes.comp"},
		elsewhere: map[string]string{"internal/layout/records.go": "the list that the pass takes"},
	},
	{
		title: "A column of the results of pairs", takes: 3,
		naming: regexp.MustCompile(`\bColPoint\b|\bCOLUMN_POINT\b|\bCLR_COLUMN_POINT\b|` +
			`\.Point\(\)|\bPoint\(\) \*Values`),
	},
}

// code are the spans of code in a text.
var code = regexp.MustCompile("`([^`]+)`")

// rowsOf returns the tables of a section of docs/extending.md: of each the cells of its rows.
func rowsOf(page, title string) (tables [][][]string) {
	_, section, _ := strings.Cut(page, "\n## "+title+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		switch {
		case len(cells) != 5:
		case strings.TrimSpace(cells[1]) == "file":
			tables = append(tables, nil)
		case !strings.HasPrefix(cells[1], "---"):
			last := len(tables) - 1
			tables[last] = append(tables[last], cells[1:4])
		}
	}
	return tables
}

// paths returns the files that a cell names. Names of functions, which have no slash and no extension, are none.
func paths(cell string) (all []string) {
	for _, m := range code.FindAllStringSubmatch(cell, -1) {
		if strings.Contains(m[1], "/") || strings.Contains(m[1], ".") {
			all = append(all, m[1])
		}
	}
	return all
}

// TestExtendingPaths: every file and test that docs/extending.md names exists. NAME stands for any.
func TestExtendingPaths(t *testing.T) {
	page := read(t, "../docs/extending.md")
	tests, targets := map[string]bool{}, read(t, "../Makefile")
	head := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, file := range walk(t) {
		if strings.HasSuffix(file, "_test.go") {
			for _, m := range head.FindAllStringSubmatch(read(t, filepath.Join("..", file)), -1) {
				tests[m[1]] = true
			}
		}
	}
	rows := 0
	for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(page, -1) {
		for _, table := range rowsOf(page, m[1]) {
			for _, row := range table {
				rows++
				for _, name := range append(paths(row[0]), paths(row[2])...) {
					found, err := filepath.Glob(filepath.Join("..", strings.ReplaceAll(name, "NAME", "*")))
					if err != nil || len(found) == 0 {
						t.Errorf("docs/extending.md, %s: there is no %s", m[1], name)
					}
				}
				for _, c := range code.FindAllStringSubmatch(row[2], -1) {
					target, isTarget := strings.CutPrefix(c[1], "make ")
					switch {
					case strings.HasPrefix(c[1], "Test") && !tests[c[1]],
						isTarget && !strings.Contains(targets, "\n"+target+":"):
						t.Errorf("docs/extending.md, %s: there is no %s", m[1], c[1])
					}
				}
			}
		}
	}
	if rows < 50 {
		t.Errorf("docs/extending.md has %d rows of tables; they are not read", rows)
	}
}

// TestExtensions: the tables of docs/extending.md list the files of the product that name a present kind, attribute,
// query, pass and column, and no others; the first of a section has as many as it says.
func TestExtensions(t *testing.T) {
	page := read(t, "../docs/extending.md")
	sources := map[string]string{}
	for _, file := range walk(t) {
		if isProduct(file) {
			if text := read(t, filepath.Join("..", file)); !strings.Contains(text[:min(len(text), 200)], "generated") &&
				!strings.Contains(text[:min(len(text), 200)], "Generated") {
				sources[file] = text
			}
		}
	}
	for i := range extensions {
		e := &extensions[i]
		t.Run(e.title, func(t *testing.T) {
			tables := rowsOf(page, e.title)
			if len(tables) == 0 {
				t.Fatal("docs/extending.md has no such section")
			}
			listed := map[string]bool{}
			for _, file := range e.listed {
				listed[file] = true
			}
			for k, table := range tables {
				files := map[string]bool{}
				for _, row := range table {
					for j, name := range paths(row[0]) {
						listed[name] = true
						if j == 0 || !strings.Contains(row[0], ", or ") {
							files[name] = true
						}
					}
				}
				if k == 0 && len(files) != e.takes {
					t.Errorf("the first table has %d files, want %d: %v", len(files), e.takes,
						slices.Sorted(maps.Keys(files)))
				}
			}
			found := 0
			for _, file := range slices.Sorted(maps.Keys(sources)) {
				_, other := e.elsewhere[file]
				switch names := e.naming.MatchString(sources[file]); {
				case names && !listed[file] && !other:
					t.Errorf("%s names it, and docs/extending.md does not list the file", file)
				case other && (!names || listed[file]):
					t.Errorf("%s is no exception", file)
				case names:
					found++
				}
			}
			for file := range e.elsewhere {
				if _, ok := sources[file]; !ok {
					t.Errorf("there is no %s", file)
				}
			}
			for _, row := range tables[0] {
				for _, name := range paths(row[0]) {
					text, ok := sources[name]
					if ok && !strings.Contains(name, "NAME") && !e.naming.MatchString(text) &&
						!strings.Contains(row[0], ", or ") && name != "batch/results.go" {
						t.Errorf("%s is listed and names it nowhere", name)
					}
				}
			}
			if found < e.takes-2 {
				t.Errorf("%d files name it; the sources are not read", found)
			}
		})
	}
}

// isProduct reports whether a file, by its path from the root, may be part of an extension: no test, no page of
// documentation but docs/command-line.md, nothing of the laboratory.
func isProduct(file string) bool {
	top, _, _ := strings.Cut(file, "/")
	base := path.Base(file)
	switch {
	case file == "docs/command-line.md":
		return true
	case slices.Contains([]string{"lab", "docs", "examples", "tests"}, top) &&
		!strings.HasPrefix(file, "tests/conformance/"),
		strings.HasPrefix(file, "python/tests/"), strings.HasSuffix(base, "_test.go"):
		return false
	}
	return slices.Contains([]string{".go", ".c", ".h", ".glsl", ".comp", ".py", ".sh"}, path.Ext(base))
}

// TestKindsAreListed: docs/command-line.md and the Python package have every kind of shape.
func TestKindsAreListed(t *testing.T) {
	_, list, _ := strings.Cut(read(t, "../docs/command-line.md"), "\nKinds: ")
	list, _, _ = strings.Cut(list, ". ")
	methods := read(t, "../python/src/clearance/_library.py")
	for k := range geom.KindCount {
		if !strings.Contains(list, "`"+k.String()+"`") {
			t.Errorf("docs/command-line.md lacks the kind %v", k)
		}
		if !strings.Contains(methods, "\n    def "+k.String()+"(") {
			t.Errorf("_library.py has no method for the kind %v", k)
		}
	}
}

// TestContactColumns: every field of contact.Contacts has a row of its table; the C interface and Python have the
// columns, and no others.
func TestContactColumns(t *testing.T) {
	var c contact.Contacts
	fields := map[any]string{}
	of := reflect.ValueOf(&c).Elem()
	for i := range of.NumField() {
		fields[of.Field(i).Addr().Interface()] = of.Type().Field(i).Name
	}
	header, err := os.ReadFile("../cmd/libclearance/clearance.h")
	if err != nil {
		t.Fatal(err)
	}
	_, comment, _ := strings.Cut(string(header), "\n// clearance_simulation_contacts sets ")
	comment, _, _ = strings.Cut(comment, "\nint32_t ")
	_, class, _ := strings.Cut(read(t, "../python/src/clearance/_points.py"), "\nclass Contacts:\n")
	class, rest, _ := strings.Cut(class, "\n    def ")
	_, types, _ := strings.Cut(rest, "\n_CONTACT_COLUMNS: ")
	types, _, _ = strings.Cut(types, "\n}\n")
	for _, k := range contact.ContactColumns {
		var field any
		of := "np.float64"
		switch {
		case k.Ints != nil:
			field, of = k.Ints(&c), "np.int32"
		case k.Reals != nil:
			field = k.Reals(&c)
		default:
			field, of = k.IDs(&c), "np.uint64"
		}
		if fields[field] == "" {
			t.Errorf("%s has no field of its own", k.Name)
		}
		delete(fields, field)
		width := "0"
		if k.Width > 1 {
			width = string(rune('0' + k.Width))
		}
		if !strings.Contains(types, "\n    \""+k.Name+"\": ("+of+", "+width+"),") {
			t.Errorf("_points.py: _CONTACT_COLUMNS lacks %s of type %s and width %s", k.Name, of, width)
		}
		if !strings.Contains(class, "\n    "+k.Name+": ") {
			t.Errorf("_points.py: Contacts has no field %s", k.Name)
		}
		if !regexp.MustCompile(`\b` + k.Name + `\b`).MatchString(comment) {
			t.Errorf("clearance.h: clearance_simulation_contacts does not name %s", k.Name)
		}
	}
	for _, name := range fields {
		t.Errorf("contact.ContactColumns lacks %s", name)
	}
	if n := strings.Count(types, "): (") + strings.Count(types, "\": ("); n != len(contact.ContactColumns) {
		t.Errorf("_points.py: _CONTACT_COLUMNS has %d columns, want %d", n, len(contact.ContactColumns))
	}
}
