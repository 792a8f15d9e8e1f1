package tests

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestApexShare: an apex has the support value of its cap at tan²θ = share·t², where t is the size of the proved cap.
// Beyond 1 it would cover directions for which nothing is proved. The C kernels and the shaders use the same share.
func TestApexShare(t *testing.T) {
	var shares []float64
	for file, declaration := range map[string]string{
		"kernels/pairs/depth_certificate.h": `(?m)^#define APEX_SHARE ([0-9.]+)$`,
		"shaders/hessian_bounds.glsl":       `(?m)^const double APEX_SHARE = ([0-9.]+)lf;$`,
		"ref/depth_certificate.go":          `(?m)^const apexShare = ([0-9.]+)$`,
	} {
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(declaration).FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s declares no share", file)
		}
		share, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil || !(share < 1) {
			t.Errorf("%s: a share of %s, %v", file, m[1], err)
		}
		if filepath.Ext(file) != ".go" {
			shares = append(shares, share)
		}
	}
	if shares[0] != shares[1] {
		t.Errorf("the C kernels and the shaders have shares of %v", shares)
	}
}

// typedTwice are numbers that the C kernels and the shaders both have under one name, and why they are not generated.
var typedTwice = map[string]string{
	"APEX_SHARE": "TestApexShare compares them",
	"CAP_RATIO":  "each has caps of its own, which halve by it",
	"MAX_MINIMA": "each has lists of its own",
	"MAX_STEPS":  "each ends its own searches",
}

// TestConstantsAreTypedOnce: a number that the kernels or the shaders of derivatives share with package derive is
// generated from that, as is one that the kernels of contacts share with package contact, and no number with a name
// stands in the kernels and in the shaders, unless a reason is given.
func TestConstantsAreTypedOnce(t *testing.T) {
	const value = `(-?[0-9][0-9a-fxp.+-]*?)(?:l?f|u)?`
	inC := numbersIn(t, "../kernels", `#define (\w+) \(?`+value+`\)?(?:\s|$)`, ".h", ".c")
	inGLSL := numbersIn(t, "../shaders", `\b([A-Z][A-Z0-9_]+) = `+value+`[,;]`, ".glsl", ".comp")
	const inGoFiles = `(?:^const|^\t)\s*([a-zA-Z]\w+)\s+= ` + value + `(?:\s|$)`
	inGo := numbersIn(t, "../derive", inGoFiles, ".go")
	if len(inC) < 50 || len(inGLSL) < 50 || len(inGo) < 20 {
		t.Fatalf("%d numbers in C, %d in GLSL, %d in derive: the test does not find them", len(inC), len(inGLSL),
			len(inGo))
	}
	used := map[string]bool{}
	for name, of := range inC {
		for _, a := range of {
			for _, b := range inGLSL[name] {
				if a.value != b.value {
					continue
				}
				if used[name] = true; typedTwice[name] == "" {
					t.Errorf("%s and %s both say that %s is %v", a.file, b.file, name, a.value)
				}
			}
		}
	}
	for name := range typedTwice {
		if !used[name] {
			t.Errorf("%s is not typed twice any more", name)
		}
	}
	ofDerivatives := regexp.MustCompile(`kernels/derive/|shaders/(derivat|feature)`)
	for name, of := range inGo {
		name = cName(name)
		for _, n := range append(slices.Clone(inC[name]), inGLSL[name]...) {
			if ofDerivatives.MatchString(n.file) {
				t.Errorf("%s and %s both have the number %s: use the generated one", of[0].file, n.file, name)
			}
		}
	}

	// Of contacts, enumerators and variables of files count as well, and so does a fraction that has another name.
	ofContacts := numbersIn(t, "../kernels/contact", `#define (\w+) \(?`+value+`\)?(?:\s|$)`, ".h", ".c")
	for before := range 16 { // others in the same declaration
		declaration := fmt.Sprintf(`^(?:enum|static const)\b(?:[^,;]*,){%d}[^,;=]*?\b(\w+) = `, before)
		for name, of := range numbersIn(t, "../kernels/contact", declaration+value+`[\s,;]`, ".h", ".c") {
			name = strings.ToUpper(name)
			ofContacts[name] = append(ofContacts[name], of...)
		}
	}
	inContact := numbersIn(t, "../contact", inGoFiles, ".go")
	for name, of := range numbersIn(t, "../kernels/contact", inGoFiles, ".go") {
		inContact[name] = append(inContact[name], of...)
	}
	if len(ofContacts) < 3 || len(inContact) < 50 {
		t.Fatalf("contacts: %d numbers in C, %d in Go: the test does not find them", len(ofContacts), len(inContact))
	}
	for name, of := range inContact {
		for other, numbers := range ofContacts {
			for _, n := range numbers {
				if other == cName(name) || n.value == of[0].value && n.value != math.Trunc(n.value) {
					t.Errorf("%s has %s, and %s has %s: use the generated number", of[0].file, name, n.file, other)
				}
			}
		}
	}
}

// cName is the name that the generator gives a constant in Go.
func cName(name string) string {
	return strings.ToUpper(regexp.MustCompile(`([^A-Z])([A-Z])`).ReplaceAllString(name, "${1}_$2"))
}

// typed is a number in a file.
type typed struct {
	file  string
	value float64
}

// numbersIn returns the constants by their names that the files below a folder declare; generated files do not count.
func numbersIn(t *testing.T, folder, declaration string, extensions ...string) map[string][]typed {
	t.Helper()
	find := regexp.MustCompile(`(?m)` + declaration)
	found := map[string][]typed{}
	err := filepath.WalkDir(filepath.FromSlash(folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains(extensions, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || strings.HasPrefix(string(text), "// Code generated") {
			return err
		}
		for _, m := range find.FindAllStringSubmatch(string(text), -1) {
			if x, err := strconv.ParseFloat(m[2], 64); err == nil {
				found[m[1]] = append(found[m[1]], typed{filepath.ToSlash(path), x})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
