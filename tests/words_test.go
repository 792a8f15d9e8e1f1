package tests

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWords scans comments, string literals and documents for the patterns in the second
// table of docs/glossary.md.
func TestWords(t *testing.T) {
	rules := wordRules(t)
	scanned := 0
	for _, path := range sources(t) {
		scanned++
		for _, x := range textsOf(path, read(t, filepath.Join("..", path))) {
			for _, r := range rules {
				for _, at := range r.find(x.text) {
					t.Errorf("%s:%d: %q: say %s", path, x.lineOf(at[0]), excerpt(x.text, at), r.instead)
				}
			}
		}
	}
	if scanned < 300 {
		t.Fatalf("scanned %d files; the walk did not see the module", scanned)
	}
}

// A wordRule is a row of the glossary's second table.
type wordRule struct {
	examples, instead string
	patterns, except  []*regexp.Regexp
}

// find returns the places of text that a pattern matches and no exception covers.
func (r *wordRule) find(text string) (places [][]int) {
	text = lower(text)
	var blank []byte
	for _, e := range r.except {
		for _, at := range e.FindAllStringIndex(text, -1) {
			if blank == nil {
				blank = []byte(text)
			}
			for i := at[0]; i < at[1]; i++ {
				blank[i] = '.'
			}
		}
	}
	if blank != nil {
		text = string(blank)
	}
	for _, p := range r.patterns {
		places = append(places, p.FindAllStringIndex(text, -1)...)
	}
	return places
}

// lower returns a text in lower case, byte by byte, so that places stay places; patterns are
// in lower case, which is several times as fast as ignoring the case in each.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// wordRules reads the second table of docs/glossary.md.
func wordRules(t *testing.T) (rules []wordRule) {
	t.Helper()
	_, table, found := strings.Cut(read(t, "../docs/glossary.md"), "## Words that this project does not use")
	if !found {
		t.Fatal("docs/glossary.md lacks the table of words to avoid")
	}
	spans := regexp.MustCompile("`([^`]+)`")
	compile := func(cell string) (list []*regexp.Regexp) {
		for _, m := range spans.FindAllStringSubmatch(cell, -1) {
			p, err := regexp.Compile(m[1])
			if err != nil {
				t.Fatalf("docs/glossary.md: %v", err)
			}
			list = append(list, p)
		}
		return list
	}
	const pipe = "\x00" // stands for an escaped bar while cells are cut
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, pipe), "|")
		if len(cells) != 6 || strings.HasPrefix(cells[1], "---") || cells[1] == " not this " {
			continue
		}
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), pipe, "|")
		}
		rules = append(rules, wordRule{cells[1], cells[2], compile(cells[3]), compile(cells[4])})
	}
	if len(rules) < 20 {
		t.Fatalf("read %d rows of the table of words to avoid", len(rules))
	}
	return rules
}

// TestWordRules: every row's pattern matches each of its own examples, and no pattern matches
// what a row recommends.
func TestWordRules(t *testing.T) {
	rules := wordRules(t)
	for _, r := range rules {
		for example := range strings.SplitSeq(r.examples, ", ") {
			if len(r.find(example)) == 0 {
				t.Errorf("no pattern of its row matches %q", example)
			}
		}
		for _, other := range rules {
			if at := other.find(r.instead); at != nil {
				t.Errorf("%q is recommended, and ruled out by the row of %q", r.instead, other.examples)
			}
		}
	}
}

// TestWordTexts: the texts of a source are its comments and string literals, comments on
// adjacent lines joined.
func TestWordTexts(t *testing.T) {
	for _, test := range []struct{ path, source, want string }{
		{"a.go", "package a // one\n\n// two\n// three\nvar mend = \"four\" + `five`\n", "one|two three|four|five"},
		{"a.glsl", "float mend; // one\n\n/* two\n * three */ int x;\n", "one|two three"},
		{"a.h", "#include \"mend.h\"\n#define X \"one\" // two\n", "one|two"},
		{"a.md", "one\n*two*\n", "one *two*"},
	} {
		var got []string
		for _, x := range textsOf(test.path, test.source) {
			got = append(got, strings.TrimSpace(x.text))
		}
		if s := strings.Join(got, "|"); s != test.want {
			t.Errorf("%s: texts %q, want %q", test.path, s, test.want)
		}
	}
}

// sources lists the files that TestWords scans, relative to the root of the module.
func sources(t *testing.T) (paths []string) {
	t.Helper()
	skipped := []string{"docs/glossary.md", "docs/references.md", "CHANGELOG.md", "tests/words_test.go"}
	kinds := []string{".go", ".c", ".h", ".glsl", ".comp", ".py", ".sh", ".md", ".tmpl"}
	for _, path := range walk(t) {
		known := slices.Contains(kinds, filepath.Ext(path)) || filepath.Base(path) == "Makefile"
		if known && !slices.Contains(skipped, path) && !strings.HasPrefix(path, "lab/results/") {
			paths = append(paths, path)
		}
	}
	return paths
}

// walk lists the files of the module but for test data and what is built, relative to its root.
func walk(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path = strings.TrimPrefix(filepath.ToSlash(path), "../")
		if !d.IsDir() {
			paths = append(paths, path)
			return nil
		}
		hidden := strings.HasPrefix(d.Name(), ".") && path != ".."
		if hidden || slices.Contains([]string{"testdata", "bin", "build", "shared"}, d.Name()) {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// excerpt returns a match with some words on either side.
func excerpt(text string, at []int) string {
	lo, hi := max(at[0]-25, 0), min(at[1]+25, len(text))
	return strings.ToValidUTF8(text[lo:hi], "")
}
