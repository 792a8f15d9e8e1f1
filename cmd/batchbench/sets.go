package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/dataset/generate"

	"golang.org/x/sync/errgroup"
)

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
