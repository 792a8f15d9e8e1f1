package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"clearance/batch"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/internal/console"
	"clearance/internal/score"
)

// inputFlags name the input files.
type inputFlags struct {
	shapes string
	pairs  string // or worlds
	worlds string
	modelFlags
}

// addPairs registers the flags of the commands of pairs.
func (f *inputFlags) addPairs(fs *pflag.FlagSet) {
	f.addShapes(fs)
	f.modelFlags.add(fs)
	fs.StringVar(&f.pairs, "pairs", "", "file of pairs, .parquet or .npz, or a folder of such files")
	fs.StringVar(&f.worlds, "worlds", "", "in place of --pairs: worlds of shapes and the pairs that they share, "+
		".parquet or .npz")
}

// addWorlds registers the flags of the commands of worlds of bodies, or of motions.
func (f *inputFlags) addWorlds(fs *pflag.FlagSet, what string) {
	f.addShapes(fs)
	fs.StringVar(&f.worlds, "worlds", "", "file of "+what+", .parquet or .npz")
}

func (f *inputFlags) addShapes(fs *pflag.FlagSet) {
	fs.StringVar(&f.shapes, "shapes", "", "file of shapes, .json")
}

// checkPairs returns an error if a file of pairs is missing from the command line or redundant, or if the file of
// worlds is one for the commands prefix+"rollout" and prefix+"sweep".
func (f *inputFlags) checkPairs(prefix string) error {
	if err := f.modelFlags.check(f.shapes); err != nil {
		return err
	}
	switch {
	case f.pairs == "all":
		return fmt.Errorf("--pairs all belongs to another command: see '%srollout --all-pairs'", prefix)
	case f.pairs == "" && f.worlds == "":
		return needFlags("shapes", f.shapes+f.model, "pairs", f.pairs)
	case f.pairs != "" && f.worlds != "":
		return errors.New("--pairs and --worlds are two forms of the same input; give one of them")
	}
	if err := needFlags("shapes", f.shapes+f.model); err != nil || f.worlds == "" {
		return err
	}
	bodies, err := dataset.HasBodies(f.worlds)
	if err == nil && bodies {
		return fmt.Errorf("%s has bodies: see '%srollout', and '%ssweep' for motions", f.worlds, prefix, prefix)
	}
	return err
}

// checkWorlds returns an error if a file of worlds is missing from the command line.
func (f *inputFlags) checkWorlds() error {
	if err := f.modelFlags.check(f.shapes); err != nil {
		return err
	}
	return needFlags("shapes", f.shapes+f.model, "worlds", f.worlds)
}

// files lists the input files; those of meshes, which the shapes name, only where a report is written, since results
// have other extensions.
func (f *inputFlags) files(report string) []namedFile {
	list := []namedFile{{"shapes", f.shapes}, {"model", f.model}, {"srdf", f.srdf}, {"pairs", f.pairs},
		{"worlds", f.worlds}}
	if report != "" && report != "-" {
		for _, mesh := range dataset.MeshFiles(f.shapes) {
			list = append(list, namedFile{"shapes", mesh})
		}
	}
	return list
}

// path is the path of the file of the rows.
func (f *inputFlags) path() string {
	if f.worlds != "" {
		return f.worlds
	}
	return f.pairs
}

// ofFile names the file of worlds in an error of the call, such as one of too little memory.
func (f *inputFlags) ofFile(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%s: %w", f.worlds, err)
}

// pairStream has pairs in any form of input.
type pairStream interface {
	dispatch.Source
	Len() int // number of pairs
	Close() error
}

// openPairs opens the rows.
func (f *inputFlags) openPairs() (pairStream, error) {
	if f.worlds != "" {
		w, err := dataset.OpenWorldRows(f.worlds)
		if err != nil {
			return nil, err
		}
		return w, nil
	}
	r, err := dataset.OpenPairs(f.pairs)
	if err != nil {
		return nil, err
	}
	if r.Len() > maxRows {
		r.Close()
		return nil, fmt.Errorf("%s declares %d pairs, more than %d", f.pairs, r.Len(), int64(maxRows))
	}
	return fileStream{r}, nil
}

// maxRows is the largest number of rows that fits an int.
const maxRows = int64(^uint(0) >> 1)

// fileStream is a file of pairs.
type fileStream struct{ *dataset.PairReader }

func (s fileStream) Len() int { return int(s.PairReader.Len()) }

// openAnswered opens the inputs and a results file of as many rows. The caller closes pairs and results.
func (f *inputFlags) openAnswered(ctx context.Context, e *env, path string) (lib *batch.Library, pairs pairStream,
	results *dataset.ResultReader, err error) {
	if lib, err = f.library(ctx, e); err != nil {
		return nil, nil, nil, err
	}
	if pairs, err = f.openPairs(); err != nil {
		return nil, nil, nil, err
	}
	if results, err = dataset.OpenResults(path); err != nil {
		pairs.Close()
		return nil, nil, nil, err
	}
	if n := int64(pairs.Len()); results.Len() != n {
		err = fmt.Errorf("%s holds %s, %s holds %s; they do not belong together", f.path(), plural(n, "pair"), path,
			plural(results.Len(), "row"))
		results.Close()
		pairs.Close()
		return nil, nil, nil, err
	}
	return lib, pairs, results, nil
}

// rowsFlag is the flag --rows: rows lo to hi of a file, hi not included.
type rowsFlag struct {
	given  bool
	lo, hi int
}

func (r *rowsFlag) Type() string { return "lo:hi" }

func (r *rowsFlag) String() string {
	if !r.given {
		return ""
	}
	return fmt.Sprintf("%d:%d", r.lo, r.hi)
}

func (r *rowsFlag) Set(s string) error {
	lo, hi, both := strings.Cut(s, ":")
	a, errA := strconv.Atoi(lo)
	b, errB := strconv.Atoi(hi)
	if !both || errA != nil || errB != nil || a < 0 || b < a {
		return fmt.Errorf("%q, want two row numbers lo:hi, lo at most hi", s)
	}
	*r = rowsFlag{true, a, b}
	return nil
}

// of returns the rows of a file of n: all without the flag.
func (r *rowsFlag) of(n int) (score.Rows, error) {
	if !r.given {
		return score.Rows{Hi: n, Of: n}, nil
	}
	if r.hi > n {
		return score.Rows{}, fmt.Errorf("--rows %v: the file has %d rows", r, n)
	}
	return score.Rows{Lo: r.lo, Hi: r.hi, Of: n}, nil
}

// worlds returns the worlds of the rows, of worlds of that many pairs each: all without the flag.
func (r *rowsFlag) worlds(worlds, pairs int) (score.Rows, error) {
	var none score.Rows
	if !r.given {
		return score.Rows{Hi: worlds, Of: worlds}, nil
	}
	if pairs == 0 {
		return none, fmt.Errorf("--rows %v: the worlds have no list of pairs, so their rows have no numbers", r)
	}
	if r.lo%pairs != 0 || r.hi%pairs != 0 {
		return none, fmt.Errorf("--rows %v: each world has %d rows, want multiples of it", r, pairs)
	}
	if r.hi > worlds*pairs {
		return none, fmt.Errorf("--rows %v: the file has %d rows", r, worlds*pairs)
	}
	return score.Rows{Lo: r.lo / pairs, Hi: r.hi / pairs, Of: worlds}, nil
}

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
