package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/dataset"
	"clearance/dataset/generate"
	"clearance/internal/console"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// generateFlags are the flags of `generate`.
type generateFlags struct {
	set    string
	pairs  int64
	seed   uint64
	out    string
	shapes string
	meshes []string
}

func newGenerate(e *env) *cobra.Command {
	var f generateFlags
	c := &cobra.Command{
		Use:   "generate --set NAME --shapes shapes.json --out pairs.parquet|pairs.npz",
		Short: "write a seeded set of pairs and its shapes to files",
		Long: `Writes a seeded set of pairs and its shapes to files that 'score' reads. The same
set and seed give the same pairs on every machine of one processor architecture.

` + setsText(),
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return generateFiles(c.Context(), e, &f)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.set, "set", "", "name of the set")
	fs.Int64Var(&f.pairs, "pairs", 100_000, "number of pairs")
	fs.Uint64Var(&f.seed, "seed", 1, "seed")
	fs.StringVar(&f.out, "out", "", "file of pairs to write, .parquet or .npz")
	fs.StringVar(&f.shapes, "shapes", "", "file of shapes to write, .json")
	fs.StringSliceVar(&f.meshes, "mesh", nil, "mesh file (OBJ, STL, PLY) or directory for the set mesh; may be "+
		"repeated")
	return c
}

func generateFiles(ctx context.Context, e *env, f *generateFlags) error {
	if err := needFlags("set", f.set, "shapes", f.shapes, "out", f.out); err != nil {
		return err
	}
	if f.pairs < 1 || f.pairs > maxPairs {
		return fmt.Errorf("--pairs %d: want 1 to %d", f.pairs, int64(maxPairs))
	}
	if err := checkOutputs(meshInputs(f.meshes), []namedFile{{"shapes", f.shapes}, {"out", f.out}}); err != nil {
		return err
	}
	gen, err := openSet(f.set, f.seed, f.meshes)
	if err != nil {
		return err
	}
	w, err := dataset.CreatePairs(f.out, f.pairs)
	if err != nil {
		return err
	}
	defer w.Abort()
	bar := e.Progress("generate", f.pairs)
	defer bar.Done()
	buf := batch.NewPairs(int(min(f.pairs, chunkRows)))
	for first := int64(0); first < f.pairs; first += chunkRows {
		rows := buf.Slice(0, int(min(f.pairs-first, chunkRows)))
		if err := fillRows(ctx, gen, rows, first); err != nil {
			return err
		}
		if err := w.Write(rows); err != nil {
			return err
		}
		bar.Add(rows.Len())
	}
	if err := w.CloseWithLibrary(f.shapes, gen.Library()); err != nil {
		return err
	}
	bar.Done()
	_, err = fmt.Fprintf(e.Stdout, "%s of set %s, seed %d: %s; %s: %s\n",
		plural(f.pairs, "pair"), f.set, f.seed, f.out, plural(gen.Library().Len(), "shape"), f.shapes)
	return err
}

// chunkRows is the number of pairs in memory at a time: about 16 MB of pairs and 8 MB of
// results in single precision.
const chunkRows = 1 << 17

// benchmarkSets are the default sets of `run`: all but the adversarial rows, which are not
// typical, and the hulls of meshes, which need files.
func benchmarkSets() []string {
	return slices.DeleteFunc(generate.Names(), func(name string) bool {
		return name == "adversarial" ||
			name == "mesh"
	})
}

// setsText lists the sets, for the help of commands.
func setsText() string {
	return "Sets: " + strings.Join(generate.Names(), ", ") + "."
}

// checkSets returns an error if a flag lists no sets, or unknown ones.
func checkSets(flag string, sets []string) error {
	if len(sets) == 0 {
		return fmt.Errorf("%s is empty; want some of %s", flag, strings.Join(generate.Names(), ", "))
	}
	for _, name := range sets {
		if !slices.Contains(generate.Names(), name) {
			return fmt.Errorf("%s: unknown set %q, want some of %s", flag, name, strings.Join(generate.Names(), ", "))
		}
	}
	return nil
}

// openSet returns the generator of a set. The set mesh uses the mesh files.
func openSet(name string, seed uint64, meshes []string) (*generate.Generator, error) {
	var o generate.Options
	if name == "mesh" {
		if len(meshes) == 0 {
			return nil, fmt.Errorf("set mesh needs --mesh FILE, once for each file (OBJ, STL or PLY) or directory")
		}
		o.Meshes = meshes
	}
	return generate.New(name, seed, o)
}

// fillRows sets the rows of dst to rows first, first+1, … of the set, on all
// processors, since placing a pair takes a solver.
func fillRows(ctx context.Context, gen *generate.Generator, dst *batch.Pairs, first int64) error {
	const block = 128 // some milliseconds of work
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for lo := 0; lo < dst.Len() && ctx.Err() == nil; lo += block {
		g.Go(func() error {
			gen.Fill(dst.Slice(lo, min(lo+block, dst.Len())), int(first)+lo)
			return nil
		})
	}
	_ = g.Wait() // Fill cannot fail
	return ctx.Err()
}
