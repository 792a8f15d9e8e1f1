package gpucost

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// rewrites are changes of the sources for Slang 2026.14, which drops atomic operations on buffers. It also takes a
// variable that enters a loop undefined for the other value of it, so the sources define all of these. Registers and
// instructions are those of the changed text, which differs by the kind of memory operation.
var rewrites = []struct{ file, from, to string }{
	{"list.glsl", "uint at = atomicAdd(counts[LIST_WORDS * list + LIST_ROWS], 1u);",
		"uint at = counts[LIST_WORDS * list + LIST_ROWS]; counts[LIST_WORDS * list + LIST_ROWS] = at + 1u;"},
	{"list.glsl", "atomicAdd(counts[LIST_WORDS * (list + dispatch)], 1u);",
		"counts[LIST_WORDS * (list + dispatch)] = counts[LIST_WORDS * (list + dispatch)] + 1u;"},
	{"status.glsl", "atomicAnd(words[at], (code << shift) | ~(mask << shift));",
		"words[at] = words[at] & ((code << shift) | ~(mask << shift));"},
}

var constant = regexp.MustCompile(`layout\(constant_id = (\d+)\) const uint (\w+) = \w+;`)

// sourcesIn returns the files of the shaders in a folder, in the order of their names.
func sourcesIn(folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.*"))
	return slices.DeleteFunc(files, func(file string) bool {
		ext := filepath.Ext(file)
		return ext != ".comp" && ext != ".glsl"
	}), err
}

// hashOfSources is of the names and the texts of the shaders in a folder.
func hashOfSources(folder string) (string, error) {
	files, err := sourcesIn(folder)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", filepath.Base(file), len(data))
		h.Write(data)
	}
	return fmt.Sprintf("%.8x", h.Sum(nil)), nil
}

// specialise writes the sources of the shaders in folder from into folder to, with the values of a pipeline in place
// of specialisation constants. A constant without a value keeps that of its text, as in Vulkan.
func specialise(from, to string, constants map[uint32]uint32) error {
	files, err := sourcesIn(from)
	if err != nil {
		return err
	}
	for _, file := range files {
		name := filepath.Base(file)
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text := string(data)
		for _, r := range rewrites {
			if r.file != name {
				continue
			}
			if !strings.Contains(text, r.from) {
				return fmt.Errorf("%s: there is no %q to rewrite for Slang", name, r.from)
			}
			text = strings.ReplaceAll(text, r.from, r.to)
		}
		text = constant.ReplaceAllStringFunc(text, func(s string) string {
			m := constant.FindStringSubmatch(s)
			var id uint32
			fmt.Sscan(m[1], &id)
			if v, ok := constants[id]; ok {
				return fmt.Sprintf("const uint %s = %du;", m[2], v)
			}
			return strings.TrimPrefix(s, "layout(constant_id = "+m[1]+") ")
		})
		text = strings.ReplaceAll(text, "local_size_x_id = 0", fmt.Sprintf("local_size_x = %d", constants[0]))
		text = strings.ReplaceAll(text, "writeonly buffer", "buffer")
		if err := os.WriteFile(filepath.Join(to, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
