package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"clearance/dataset"
	"clearance/internal/console"
)

// checkTable is checkWritable of a folder of parts.
func checkTable(path string) error {
	if err := dataset.CheckTable(path); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "dataset: "))
	}
	return nil
}

// namedFile is a file of the command line and the flag that names it; results may be a folder of parts, too.
type namedFile struct{ flag, path string }

// isResults reports whether it is one of results.
func (f namedFile) isResults() bool { return f.flag == "out" }

// checkOutputs reports an output that cannot be written, or that is one file with an input or
// with another output, the same path or a link to the same file; and one in the folder of an input.
func checkOutputs(inputs, outputs []namedFile) error {
	for i, out := range outputs {
		if out.path == "" || out.path == "-" {
			continue
		}
		for _, other := range append(inputs[:len(inputs):len(inputs)], outputs[:i]...) {
			if other.path != "" && other.path != "-" && console.SameFile(out.path, other.path) {
				return fmt.Errorf("--%s and --%s are one file, %s", other.flag, out.flag, out.path)
			}
			if other.flag == "model" && out.flag == "json" && other.path != "" && mayBeMesh(out.path) {
				return fmt.Errorf("--json %s is there, and might be a mesh of --model: give a name with .json",
					out.path)
			}
			if other.flag == "mesh" || other.path == "" { // of a folder of meshes other files are not read
				continue
			}
			if err := dataset.CheckBeside(other.path, out.path); err != nil {
				return fmt.Errorf("--%s: %w", out.flag, err)
			}
		}
	}
	for _, out := range outputs {
		check := console.CheckWritable
		if out.isResults() && dataset.IsFolder(out.path) {
			check = checkTable
		}
		if err := check(out.path); err != nil {
			return fmt.Errorf("--%s: %w", out.flag, err)
		}
	}
	return nil
}

// mayBeMesh reports whether a file exists that a model may name: the Python package alone knows its meshes.
func mayBeMesh(path string) bool {
	_, err := os.Stat(path)
	return err == nil && strings.ToLower(filepath.Ext(path)) != ".json"
}

// meshInputs lists mesh files and the files of mesh folders as inputs.
func meshInputs(paths []string) []namedFile {
	var list []namedFile
	for _, p := range paths {
		list = append(list, namedFile{"mesh", p})
		entries, err := os.ReadDir(p)
		if err != nil {
			continue // no folder
		}
		for _, e := range entries {
			list = append(list, namedFile{"mesh", filepath.Join(p, e.Name())})
		}
	}
	return list
}

// needFlags returns an error for the first of the named flags that is empty.
func needFlags(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			return fmt.Errorf("--%s is missing; see --help", pairs[i])
		}
	}
	return nil
}
