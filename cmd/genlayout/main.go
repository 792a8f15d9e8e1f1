// Command genlayout writes the record layouts, codes and limits of package layout as a GLSL include and as a C header,
// so that shaders, SIMD kernels and Go share one source of truth. It writes modules of the Python package: the tables
// of kinds and attributes of package geom, the result columns of package batch, which are a part of the C interface,
// too, and the C interface. With -constants it writes the numbers that kernels and shaders share with Go packages, from
// the source of these. `make generate` runs it.
//
// With a folder of sources it writes only what these name, so that the file declares nothing that
// is not read.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"clearance/internal/layout"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run is main with its arguments and outputs as parameters. It returns the exit code: 0, 1
// if a file cannot be written, 2 on wrong usage.
func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("genlayout", flag.ContinueOnError)
	flags.SetOutput(stderr)
	glslPath := flags.String("glsl", "", "write the GLSL include to this `file`")
	shaders := flags.String("shaders", "", "write only what the shaders in this `folder` name")
	cPath := flags.String("c", "", "write the C header to this `file`")
	kernels := flags.String("kernels", "", "write only what the C sources in this `folder` name")
	pythonPath := flags.String("python", "", "write the Python module of shapes to this `file`")
	abi := flags.String("abi", "", "write the codes of the result columns into this C `header`")
	columns := flags.String("columns", "", "write the Python module of result columns to this `file`")
	native := flags.String("native", "", "write the Python module of the C interface to this `file`")
	declared := flags.String("header", "", "the `header` of the C interface")
	constants := flags.String("constants", "", "with -glsl and -c, of the Go packages in these `folders`, a,b")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || (*glslPath == "" && *cPath == "" && *pythonPath == "" && *abi == "" && *columns == "" &&
		*native == "") {
		fmt.Fprintln(stderr, "genlayout: name a file with -glsl, -c, -python, -abi, -columns or -native")
		return 2
	}
	if *constants != "" {
		if err := writeConstants(strings.Split(*constants, ","), *glslPath, *shaders, *cPath, *kernels); err != nil {
			fmt.Fprintln(stderr, "genlayout:", err)
			return 1
		}
		return 0
	}
	err := errors.Join(writeGLSL(*glslPath, *shaders), writeC(*cPath, *kernels), writePython(*pythonPath),
		writeABI(*abi), writeColumns(*columns), writeInterface(*native, *declared))
	if err != nil {
		fmt.Fprintln(stderr, "genlayout:", err)
		return 1
	}
	return 0
}

func writeGLSL(path, sources string) error {
	h := header{layout.GLSLConstants(), layout.Records()}
	if sources != "" {
		used, err := identifiers(sources, ".glsl", ".comp")
		if err != nil {
			return err
		}
		h = h.only(used, func(name string) string { return name })
	}
	return write(path, h, generateGLSL)
}

func writeC(path, sources string) error {
	h := header{groups: layout.CConstants()}
	if sources != "" {
		used, err := identifiers(sources, ".h", ".c")
		if err != nil {
			return err
		}
		h = h.only(used, cConstant)
	}
	return write(path, h, generateC)
}

func writePython(path string) error {
	if path == "" {
		return nil
	}
	return writeFile(path, generatePython())
}

// write writes a generated file; without a path it does nothing.
func write(path string, h header, generate func(header) ([]byte, error)) error {
	if path == "" {
		return nil
	}
	text, err := generate(h)
	if err != nil {
		return err
	}
	return writeFile(path, text)
}

func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

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
