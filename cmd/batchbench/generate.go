package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"clearance/batch"
	"clearance/dataset"
	"clearance/dataset/fit"
	"clearance/dataset/generate"
	"clearance/geom"
	"clearance/internal/console"
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

// fitFlags are the flags of `fit`.
type fitFlags struct {
	kind     string
	vertices int
	meshes   []string
	shapes   string
	json     string
}

// fitRow is the result for one mesh.
type fitRow struct {
	Name      string     `json:"name"`
	Kind      string     `json:"kind"`
	Vertices  int        `json:"hull_vertices"` // of the mesh
	Size      float64    `json:"bounding_radius_m"`
	Errors    fit.Errors `json:"errors"`
	Hausdorff float64    `json:"hausdorff_m"`
	Relative  float64    `json:"relative"` // Hausdorff distance over bounding radius
	Sharpness float64    `json:"sharpness,omitempty"`
	// Pose of a superquadric in the frame of the mesh: position, and quaternion w, x, y, z.
	Position *[3]float64 `json:"position,omitempty"`
	Rotation *[4]float64 `json:"rotation,omitempty"`
}

func newFit(e *env) *cobra.Command {
	var f fitFlags
	c := &cobra.Command{
		Use:   "fit --mesh FILE|DIR --shapes shapes.json",
		Short: "fit smooth shapes to the convex hulls of meshes",
		Long: `Fits a smooth hull of a few vertices, or a superquadric, to the convex hull of every mesh
(of every group, if the file is named *_parts.obj), writes the shapes to a file that
'score' reads, and prints their errors: outside is the largest distance by which the
smooth shape extends beyond the hull, inside the largest by which it falls short, over all
directions.

A smooth hull has the frame of its mesh. A superquadric is centered at its own origin; its
pose in the frame of the mesh is in the report that --json writes.`,
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runFit(c.Context(), e, &f) },
	}
	fs := c.Flags()
	fs.StringVar(&f.kind, "kind", geom.KindSmoothHull.String(), "smooth_hull or superquadric")
	fs.IntVar(&f.vertices, "vertices", 20, "vertices of a smooth hull")
	fs.StringSliceVar(&f.meshes, "mesh", nil, "mesh file (OBJ, STL, PLY) or directory; may be repeated")
	fs.StringVar(&f.shapes, "shapes", "", "file of shapes to write, .json")
	fs.StringVar(&f.json, "json", "", "write the report as JSON to this file, - for standard output")
	return c
}

func runFit(ctx context.Context, e *env, f *fitFlags) error {
	if err := needFlags("mesh", strings.Join(f.meshes, ""), "shapes", f.shapes); err != nil {
		return err
	}
	if f.kind != geom.KindSmoothHull.String() && f.kind != geom.KindSuperquadric.String() {
		return fmt.Errorf("--kind %s: want smooth_hull or superquadric", f.kind)
	}
	if f.vertices < fit.MinVertices || f.vertices > fit.MaxVertices {
		return fmt.Errorf("--vertices %d: want %d to %d", f.vertices, fit.MinVertices, fit.MaxVertices)
	}
	if err := checkOutputs(meshInputs(f.meshes), []namedFile{{"shapes", f.shapes}, {"json", f.json}}); err != nil {
		return err
	}
	gen, err := openSet("mesh", 1, f.meshes)
	if err != nil {
		return err
	}
	lib := gen.Library()
	var shapes []geom.Shape
	var names []string
	var rows []fitRow
	bar := e.Progress("fit", int64(lib.Len()))
	defer bar.Done()
	for i := range int32(lib.Len()) {
		if err := ctx.Err(); err != nil {
			return err
		}
		body, ok := lib.Shape(i).(*geom.Convex)
		if !ok {
			return fmt.Errorf("%s is a %s, not a hull", lib.Name(i), lib.Shape(i).Kind())
		}
		s, row, err := fitOne(body, f)
		if err != nil {
			return fmt.Errorf("%s: %w", lib.Name(i), err)
		}
		row.Name = lib.Name(i)
		shapes, names, rows = append(shapes, s), append(names, row.Name), append(rows, row)
		bar.Add(1)
	}
	bar.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := dataset.WriteShapes(f.shapes, shapes, names); err != nil {
		return err
	}
	if f.json != "" {
		if err := console.WriteJSON(e.Stdout, f.json, rows); err != nil || f.json == "-" {
			return err
		}
	}
	return printFit(e, rows)
}

func fitOne(body *geom.Convex, f *fitFlags) (geom.Shape, fitRow, error) {
	row := fitRow{Kind: f.kind, Vertices: len(body.Hull().Vertices), Size: body.BoundingRadius()}
	pose := geom.IdentityPose()
	var shape geom.Shape
	if f.kind == geom.KindSuperquadric.String() {
		s, at, err := fit.Superquadric(body)
		if err != nil {
			return nil, row, err
		}
		p, q := at.Position, at.Rotation
		row.Position, row.Rotation = &[3]float64{p.X, p.Y, p.Z}, &[4]float64{q.Real, q.Imag, q.Jmag, q.Kmag}
		shape, pose = s, at
	} else {
		s, err := fit.SmoothHull(body, f.vertices)
		if err != nil {
			return nil, row, err
		}
		row.Sharpness = s.Sharpness()
		shape = s
	}
	row.Errors = fit.Measure(body, shape, pose)
	row.Hausdorff = row.Errors.Hausdorff()
	row.Relative = row.Hausdorff / row.Size
	return shape, row, nil
}

func printFit(e *env, rows []fitRow) error {
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "mesh\thull vertices\tradius, mm\toutside, mm\tinside, mm\trms, mm\tworst/radius\tsharpness\t")
	for _, r := range rows {
		sharp := "-"
		if r.Sharpness > 0 {
			sharp = fmt.Sprintf("%.3g", r.Sharpness)
		}
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.2f\t%.2f\t%.2f\t%.1f %%\t%s\t\n", console.Printable(r.Name, 60),
			r.Vertices, 1e3*r.Size,
			1e3*r.Errors.Outside, 1e3*r.Errors.Inside, 1e3*r.Errors.RMS, 100*r.Relative, sharp)
	}
	return w.Flush()
}
