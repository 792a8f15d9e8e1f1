package dataset

import (
	"errors"
	"fmt"
	"slices"

	"clearance/batch"
	"clearance/rollout"
)

// The arrays of worlds of bodies, besides poses and templates, see rollout.Worlds.
const (
	worldBodies = "bodies"
	worldSkipA  = "skip_a"
	worldSkipB  = "skip_b"
)

// rolloutArrays are the arrays of a file of worlds of bodies.
func rolloutArrays() []column {
	index := []dtype{typeInt32, typeInt64}
	return []column{
		{worldBodies, 1, index}, {worldPoses, 1, []dtype{typeFloat64, typeFloat32}},
		{worldTemplateA, 1, index}, {worldTemplateB, 1, index}, {worldSkipA, 1, index}, {worldSkipB, 1, index},
	}
}

// HasBodies reports whether an NPZ file of worlds has the array bodies: whether [ReadRollout] reads it, and not
// [ReadWorlds].
func HasBodies(path string) (bool, error) {
	if f, err := formatOf(path); err != nil || f != formatNPZ {
		return false, fmt.Errorf("dataset: %s: worlds are read from .npz files", path)
	}
	z, err := openNPZ(path)
	if err != nil {
		return false, err
	}
	defer z.Close()
	return z.arrays[worldBodies] != nil, nil
}

// ReadRollout reads worlds of bodies from an NPZ file: bodies int32 [M], or [W,M] with -1 for none; poses float64
// [W,M,7] (position, then quaternion w, x, y, z); and either template_a and template_b int32 [P] or, for all pairs of
// bodies, skip_a and skip_b int32 [S], which may be missing. int64 indices and float32 poses are read too.
func ReadRollout(path string, bodies *batch.Bodies) (*rollout.Worlds, error) {
	if f, err := formatOf(path); err != nil || f != formatNPZ {
		return nil, fmt.Errorf("dataset: %s: worlds are read from .npz files", path)
	}
	z, err := openNPZ(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	w := &rollout.Worlds{}
	if err := readRollout(z, w); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	if err := w.CheckShape(bodies); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return w, nil
}

func readRollout(z *npzFile, w *rollout.Worlds) error {
	cols := rolloutArrays()
	for _, name := range z.names() {
		if err := checkName(name, cols); err != nil {
			return err
		}
	}
	ranks := map[string][]int{worldBodies: {1, 2}, worldPoses: {3}}
	for i := range cols {
		c, a := &cols[i], z.arrays[cols[i].name]
		if a == nil {
			continue
		}
		want := ranks[c.name]
		if want == nil {
			want = []int{1}
		}
		switch {
		case !c.accepts(a.header.typ):
			return fmt.Errorf("array %s is %s, want %s", c.name, a.header.typ, c.types())
		case !slices.Contains(want, len(a.header.shape)):
			return fmt.Errorf("array %s has shape %s, want one of %d dimensions", c.name, a.header.shapeString(),
				want[len(want)-1])
		}
	}
	bodies, poses := z.arrays[worldBodies], z.arrays[worldPoses]
	if bodies == nil || poses == nil {
		return fmt.Errorf("array %s or %s is missing, want [M] or [W,M], and [W,M,7]", worldBodies, worldPoses)
	}
	list, p := bodies.header.shape, poses.header.shape
	if m := list[len(list)-1]; p[1] != m || p[2] != 7 || len(list) == 2 && list[0] != p[0] {
		return fmt.Errorf("array %s has shape %s, want [W,%d,7] for bodies of shape %s", worldPoses,
			poses.header.shapeString(), m, bodies.header.shapeString())
	}
	w.M = int(p[1])
	w.AllPairs = z.arrays[worldTemplateA] == nil && z.arrays[worldTemplateB] == nil
	return errors.Join(readInto(z, worldBodies, &w.Bodies), readInto(z, worldPoses, &w.Poses),
		readInto(z, worldTemplateA, &w.TemplateA), readInto(z, worldTemplateB, &w.TemplateB),
		readInto(z, worldSkipA, &w.SkipA), readInto(z, worldSkipB, &w.SkipB))
}

// readInto reads an array, if the file has it.
func readInto[T any](z *npzFile, name string, to *[]T) (err error) {
	if a := z.arrays[name]; a != nil {
		*to, err = readWhole[T](a)
	}
	return err
}

// WriteRollout writes worlds of bodies as an NPZ file.
func WriteRollout(path string, w *rollout.Worlds, bodies *batch.Bodies) error {
	if f, err := formatOf(path); err != nil || f != formatNPZ {
		return fmt.Errorf("dataset: %s: worlds are written to .npz files", path)
	}
	if err := w.CheckShape(bodies); err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	m, worlds := int64(w.BodiesPerWorld()), int64(w.Len())
	shape := []int64{m}
	if int64(len(w.Bodies)) != m {
		shape = []int64{worlds, m}
	}
	specs := []arraySpec{{worldBodies, typeInt32, shape}, {worldPoses, typeFloat64, []int64{worlds, m, 7}}}
	values := []any{w.Bodies, w.Poses}
	pairs := []struct {
		name string
		col  []int32
	}{{worldTemplateA, w.TemplateA}, {worldTemplateB, w.TemplateB}}
	if w.AllPairs {
		pairs[0].name, pairs[0].col = worldSkipA, w.SkipA
		pairs[1].name, pairs[1].col = worldSkipB, w.SkipB
	}
	for _, p := range pairs {
		specs, values = append(specs, arraySpec{p.name, typeInt32, []int64{int64(len(p.col))}}), append(values, p.col)
	}
	z, err := createNPZ(osFS{}, path, specs)
	if err != nil {
		return err
	}
	for i, v := range values {
		if err := z.append(i, v); err != nil {
			z.abort()
			return fmt.Errorf("dataset: cannot write %s: %w", path, err)
		}
	}
	return z.commit()
}
