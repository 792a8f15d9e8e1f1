package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"clearance/internal/layout"
)

// comments are those of GLSL and C. No source here has "//" or "/*" in a string.
var comments = regexp.MustCompile(`//[^\n]*|(?s:/\*.*?\*/)`)

var identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*`)

// identifiers returns the identifiers in the sources below a folder, in files with one of the
// extensions. Comments and generated files do not count.
func identifiers(folder string, extensions ...string) (map[string]bool, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains(extensions, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || strings.HasPrefix(string(text), notice) {
			return err
		}
		for _, name := range identifier.FindAllString(comments.ReplaceAllString(string(text), " "), -1) {
			found[name] = true
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		err = errors.New("no sources there")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return found, nil
}

// only leaves what the sources name, in their spelling of constants.
func (h header) only(used map[string]bool, constant func(string) string) (out header) {
	for _, g := range h.groups {
		kept := layout.ConstantGroup{Doc: g.Doc}
		for _, c := range g.Constants {
			if used[constant(c.Name)] {
				kept.Constants = append(kept.Constants, c)
			}
		}
		for _, a := range g.Arrays {
			if used[constant(a.Name)] {
				kept.Arrays = append(kept.Arrays, a)
			}
		}
		if len(kept.Constants)+len(kept.Arrays) > 0 {
			out.groups = append(out.groups, kept)
		}
	}
	for _, r := range h.records {
		if used[r.Name] {
			out.records = append(out.records, r)
		}
	}
	return out
}
