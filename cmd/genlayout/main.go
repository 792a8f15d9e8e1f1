// Command genlayout writes the record layouts, codes and limits of package batch as
// a GLSL include and as a C header, so that shaders, SIMD kernels and Go share one
// source of truth. `go generate ./batch` runs it.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run is main with its surroundings as parameters. It returns the exit code: 0, 1
// if a file cannot be written, 2 on wrong usage.
func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("genlayout", flag.ContinueOnError)
	flags.SetOutput(stderr)
	glslPath := flags.String("glsl", "", "write the GLSL include to this `file`")
	cPath := flags.String("c", "", "write the C header to this `file`")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || (*glslPath == "" && *cPath == "") {
		fmt.Fprintln(stderr, "genlayout: name a file with -glsl or -c")
		return 2
	}
	for _, f := range []struct {
		path     string
		generate func() ([]byte, error)
	}{{*glslPath, generateGLSL}, {*cPath, generateC}} {
		if f.path == "" {
			continue
		}
		text, err := f.generate()
		if err == nil {
			err = os.MkdirAll(filepath.Dir(f.path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(f.path, text, 0o644)
		}
		if err != nil {
			fmt.Fprintln(stderr, "genlayout:", err)
			return 1
		}
	}
	return 0
}
