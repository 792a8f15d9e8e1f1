package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
)

// anchors returns the fragments that the headings of a page have, as GitHub and pkg.go.dev
// derive them: lower case, punctuation dropped, spaces as hyphens.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(m[1]) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || r > 127:
				b.WriteRune(r)
			}
		}
		all[b.String()] = true
	}
	return all
}

// brokenLinks returns the relative links of a page that lead to no file or to no heading.
// read returns a file or folder relative to the root of the module.
func brokenLinks(path, page string, read func(string) (string, error)) (broken []string) {
	for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		target, fragment, _ := strings.Cut(m[1], "#")
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		to, text := path, page
		if target != "" {
			to = filepath.ToSlash(filepath.Join(filepath.Dir(path), target))
			var err error
			if text, err = read(to); err != nil {
				broken = append(broken, m[1])
				continue
			}
		}
		if fragment != "" && strings.HasSuffix(to, ".md") && !anchors(text)[fragment] {
			broken = append(broken, m[1])
		}
	}
	return broken
}

// TestLinks: every relative link of a document leads to a file or folder of the module, and
// its fragment to a heading.
func TestLinks(t *testing.T) {
	pages := markdown(t)
	links := 0
	for _, path := range pages {
		page := read(t, filepath.Join("..", path))
		links += len(link.FindAllString(page, -1))
		for _, l := range brokenLinks(path, page, readAny) {
			t.Errorf("%s: the link to %s leads nowhere", path, l)
		}
	}
	if len(pages) < 10 || links < 50 {
		t.Fatalf("found %d links in %d pages; the walk did not see the documents", links, len(pages))
	}
}

// TestBrokenLinks: a missing file, a missing heading and a link out of the module are found.
func TestBrokenLinks(t *testing.T) {
	files := map[string]string{"docs/a.md": "# A b, c-d\n", "docs": ""}
	find := func(path string) (string, error) {
		if s, ok := files[path]; ok {
			return s, nil
		}
		return "", os.ErrNotExist
	}
	page := "# Top\n[1](docs/a.md) [2](docs/a.md#a-b-c-d) [3](#top) [4](docs) [5](https://go.dev/x)\n" +
		"[6](docs/b.md) [7](docs/a.md#b) [8](#bottom) [9](../x)\n```\n[10](none)\n```\n"
	got := strings.Join(brokenLinks("README.md", page, find), " ")
	if want := "docs/b.md docs/a.md#b #bottom ../x"; got != want {
		t.Errorf("broken links %q, want %q", got, want)
	}
}

// maxPage is the size of a document in bytes that readers can still be expected to read;
// generated tables of results are longer.
const maxPage = 24 << 10

// TestPageSize keeps documents short.
func TestPageSize(t *testing.T) {
	for _, path := range markdown(t) {
		if n := len(read(t, filepath.Join("..", path))); n > maxPage && !strings.HasPrefix(path, "lab/results/") {
			t.Errorf("%s has %d bytes, the limit is %d: split it by subject", path, n, maxPage)
		}
	}
}

// readAny returns the text of a file, or nothing of a folder.
func readAny(path string) (string, error) {
	info, err := os.Stat(filepath.Join("..", path))
	if err != nil || info.IsDir() || !strings.HasSuffix(path, ".md") {
		return "", err
	}
	data, err := os.ReadFile(filepath.Join("..", path))
	return string(data), err
}

// markdown lists the Markdown pages of the module.
func markdown(t *testing.T) (pages []string) {
	t.Helper()
	for _, path := range walk(t) {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
	}
	return pages
}
