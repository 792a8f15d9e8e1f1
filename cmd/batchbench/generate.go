package main

import (
	"context"
	"fmt"

	"clearance/batch"
	"clearance/dataset"

	"github.com/spf13/cobra"
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
		Args: noArgs,
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
	bar := e.progress("generate", f.pairs)
	defer bar.done()
	buf := batch.NewPairs(int(min(f.pairs, chunkRows)))
	for first := int64(0); first < f.pairs; first += chunkRows {
		rows := buf.Slice(0, int(min(f.pairs-first, chunkRows)))
		if err := fillRows(ctx, gen, rows, first); err != nil {
			return err
		}
		if err := w.Write(rows); err != nil {
			return err
		}
		bar.add(rows.Len())
	}
	if err := w.CloseWithLibrary(f.shapes, gen.Library()); err != nil {
		return err
	}
	bar.done()
	_, err = fmt.Fprintf(e.stdout, "%s of set %s, seed %d: %s; %s: %s\n",
		plural(f.pairs, "pair"), f.set, f.seed, f.out, plural(gen.Library().Len(), "shape"), f.shapes)
	return err
}
